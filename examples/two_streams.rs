//! Two threads, two streams, one buffer between them: the order follows the data, and nobody writes a fence.
//!
//! Run it with `cargo run -p graphreel-examples --example two_streams`.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::thread;

use graphreel::{Buffer, Device, Grid, Wgsl};
use graphreel_backends::Select;

const KERNELS: &str = r"
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

@compute @workgroup_size(64)
fn square(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&output) { output[id.x] = input[id.x] * input[id.x]; }
}

@compute @workgroup_size(64)
fn add_into(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&output) { output[id.x] = output[id.x] + input[id.x]; }
}";

const N: u32 = 4_096;
const ROUNDS: u32 = 20;

/// Run the example.
pub(crate) fn run(select: &Select) -> Result<(), Box<dyn Error>> {
    let device = graphreel_backends::open(select)?;
    let square = device.kernel(Wgsl::new(KERNELS).entry("square"))?;
    let add_into = device.kernel(Wgsl::new(KERNELS).entry("add_into"))?;

    let input = device.upload(&vec![0_u32; N as usize])?;
    let squares = device.upload(&vec![0_u32; N as usize])?;
    let total = device.upload(&vec![0_u32; N as usize])?;

    // A stream is a name for work in order. Each thread has one of its own; these two are named, so that either may be
    // used from anywhere.
    let (producer, consumer) = (device.new_stream(), device.new_stream());

    for round in 1..=ROUNDS {
        // The producer's stream: a new input, then its squares.
        producer.write(&input, &vec![round; N as usize])?;
        producer.launch(&square, Grid::cover(N.into()), (&input, &squares))?;
        // The consumer's stream reads what the producer's just wrote. It is ordered after it; and the producer's next round
        // is ordered after this reader, so it cannot overwrite the squares too early.
        consumer.launch(&add_into, Grid::cover(N.into()), (&squares, &total))?;
    }

    let expected: u32 = (1..=ROUNDS).map(|round| round * round).sum();
    let result: Vec<u32> = consumer.read(&total)?;
    if result.iter().any(|sum| *sum != expected) {
        return Err(format!("two streams: expected {expected}, found {:?}..", &result[..4]).into());
    }
    println!("{ROUNDS} rounds over two streams, all right; every sum is {expected}");
    independent(&device)
}

/// Threads that share nothing do not wait for each other; handles are cheap to clone and free to move.
fn independent(device: &Device) -> Result<(), Box<dyn Error>> {
    let fill = |word: u32| {
        let device = device.clone();
        thread::spawn(move || -> graphreel::Result<Buffer> {
            // Plain calls go to the calling thread's own stream.
            let buffer = device.alloc_for::<u32>(N.into())?;
            buffer.fill(word)?;
            Ok(buffer)
        })
    };
    let threads = [fill(7), fill(9)];
    for (thread, word) in threads.into_iter().zip([7, 9]) {
        let buffer = thread.join().map_err(|_| "a thread panicked")??;
        let words: Vec<u32> = buffer.read()?;
        if words.iter().any(|found| *found != word) {
            return Err(format!("a thread's buffer does not hold {word}").into());
        }
    }
    println!("two threads filled a buffer each, all right");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // So that it runs on any machine. A program that wants a device, and no simulator, says `Select::Auto`.
    run(&Select::AutoOrSim)
}
