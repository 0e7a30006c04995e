//! The shortest whole program: one kernel, two buffers, one scalar, and the result checked on the host.
//!
//! Run it with `cargo run -p graphreel-examples --example saxpy`.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use graphreel::{Grid, Wgsl};
use graphreel_backends::Select;

/// A kernel is plain WGSL. Storage buffers are the arguments `x` and `y`, in order of their binding numbers; scalars are
/// the members of the one `var<immediate>`.
const SAXPY: &str = r"
struct Scalars { a: f32 }
var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) {
        y[id.x] = scalars.a * x[id.x] + y[id.x];
    }
}";

/// Run the example: `y = a * x + y`.
pub(crate) fn run(select: &Select) -> Result<(), Box<dyn Error>> {
    // The best device of this machine. A software Vulkan driver counts, after every real one.
    let device = graphreel_backends::open(select)?;

    let n = 10_000_u16;
    let a = 0.5_f32;
    let xs: Vec<f32> = (0..n).map(f32::from).collect();
    let ys = vec![1.0_f32; usize::from(n)];

    // Compiled once. A mistake in the WGSL is an error here, with its line and column.
    let kernel = device.kernel(Wgsl::new(SAXPY).entry("saxpy"))?;
    let (x, y) = (device.upload(&xs)?, device.upload(&ys)?);

    // Arguments are checked against the kernel before anything runs. The call does not wait for the device.
    device.launch(&kernel, Grid::cover(n.into()), (&x, &y, a))?;

    // A read waits for everything that writes the buffer.
    let result: Vec<f32> = y.read()?;

    let right = result.iter().zip(&xs).all(|(got, x)| *got == a * x + 1.0);
    if !right {
        return Err("saxpy: the device and the host differ".into());
    }
    println!("saxpy on {}: {n} elements, all right; the last is {}", device.info().name, result[usize::from(n) - 1]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // So that it runs on any machine. A program that wants a device, and no simulator, says `Select::Auto`.
    run(&Select::AutoOrSim)
}
