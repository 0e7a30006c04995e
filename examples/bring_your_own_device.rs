//! Graphreel over the application's own wgpu device: its queue, its buffers, and its own commands before and after ours.
//!
//! Run it with `cargo run -p graphreel-examples --example bring_your_own_device`.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use graphreel::{Config, Device, Grid, StreamId, Wgsl};
use graphreel_wgpu::WgpuServer;

const DOUBLE: &str = r"
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&output) { output[id.x] = 2u * input[id.x]; }
}";

const N: u32 = 1_000;
const BYTES: u64 = 4 * N as u64;

/// What an application has already: a device and a queue that it made for itself.
fn application() -> Result<(wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    Ok(pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?)
}

/// Run the example.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let (wgpu_device, queue) = application()?;

    // Graphreel works over that device. Both sides keep using it.
    let server = WgpuServer::from_device(wgpu_device.clone(), queue.clone(), Config::default())?;
    let device = Device::new(Box::new(server), Config::default());

    // A buffer of the application becomes one of ours; nothing is copied. It needs these three usages.
    let theirs = wgpu_device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("input of the application"),
        size: BYTES,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let wrap = |server: &mut WgpuServer| server.wrap_buffer(StreamId::current(), theirs.clone());
    let handle = device.with_server(wrap).ok_or("this device is not a wgpu one")??;
    let input = device.adopt(handle.binding())?;

    let double = device.kernel(Wgsl::new(DOUBLE))?;
    let output = device.alloc(BYTES)?;
    let (graph, ()) = device.capture(|c| c.launch(&double, Grid::cover(N.into()), (&input, &output)))?;

    for round in 1..=3_u32 {
        // The application writes its buffer by its own means, and says so: the graph's next replay sees the bytes.
        let words: Vec<u8> = (0..N).flat_map(|index| (index * round).to_le_bytes()).collect();
        queue.write_buffer(&theirs, 0, &words);
        input.external_write()?;
        graph.replay()?;

        // It reads our result by its own means, too: our buffer is a part of a wgpu buffer, at an offset.
        let find = |server: &mut WgpuServer| server.raw_buffer(&output.binding());
        let ours = device.with_server(find).ok_or("this device is not a wgpu one")??;
        let found = read_back(&wgpu_device, &queue, &ours)?;
        if found.iter().zip(0..).any(|(word, index): (&u32, u32)| *word != 2 * index * round) {
            return Err(format!("round {round}: the result is wrong: {:?}..", &found[..4]).into());
        }
        // Or through the handle.
        if output.read::<u32>()? != found {
            return Err("both ways of reading should give the same bytes".into());
        }
    }
    println!("three replays over {} of the application, all right", device.info().name);
    Ok(())
}

/// The application's own commands: copy the bytes into a buffer that can be mapped, wait, and look.
fn read_back(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    ours: &graphreel_wgpu::RawBuffer,
) -> Result<Vec<u32>, Box<dyn Error>> {
    let target = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: ours.bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(&ours.buffer, ours.offset, &target, 0, ours.bytes);
    queue.submit([encoder.finish()]);
    target.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let view = target.get_mapped_range(..)?;
    Ok(view.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    run()
}
