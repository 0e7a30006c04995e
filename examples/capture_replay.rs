//! Record work once, replay it many times, and change a parameter in between.
//!
//! Run it with `cargo run -p graphreel-examples --example capture_replay`.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use graphreel::{Device, Grid, Kernel, Wgsl};
use graphreel_backends::Select;

/// One step of a small simulation: a value decays, and heat from outside is added.
const STEP: &str = r"
struct Scalars { keep: f32 }
var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> heat: array<f32>;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;

@compute @workgroup_size(64)
fn step(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&state) {
        state[id.x] = scalars.keep * state[id.x] + heat[id.x];
    }
}";

const CELLS: usize = 1_000;
const STEPS_PER_GRAPH: usize = 8;

/// The same on the host, for the check.
fn on_the_host(state: f32, keep: f32, heat: f32) -> f32 {
    (0..STEPS_PER_GRAPH).fold(state, |state, _| keep * state + heat)
}

/// Run the example.
pub(crate) fn run(select: &Select) -> Result<(), Box<dyn Error>> {
    let device = graphreel_backends::open(select)?;
    let kernel = device.kernel(Wgsl::new(STEP).entry("step"))?;
    simulate(&device, &kernel)
}

fn simulate(device: &Device, kernel: &Kernel) -> Result<(), Box<dyn Error>> {
    let heat = device.upload(&[1.0_f32; CELLS])?;
    let state = device.upload(&[0.0_f32; CELLS])?;

    // The closure runs once and launches nothing: `state` still holds zeros afterwards. What goes through `c` is recorded;
    // a plain scalar would be frozen in the graph, and `c.param` makes one that can be changed by its name.
    let (graph, ()) = device.capture(|c| {
        let keep = c.param("keep", 0.5_f32);
        for _ in 0..STEPS_PER_GRAPH {
            c.launch(kernel, Grid::cover(CELLS as u64), (&heat, &state, &keep))?;
        }
        Ok(())
    })?;

    // The report says how the graph runs and what it holds.
    let report = graph.report();
    println!("recorded {} nodes, tier {} ({})", report.nodes, report.tier, report.why);

    // A replay returns at once, and is ordered after every earlier use of the buffers that it touches.
    graph.replay()?;
    let mut expected = on_the_host(0.0, 0.5, 1.0);
    expect("one replay", &state.read()?, expected)?;

    // Inputs are written as ever: the next replay sees them.
    heat.write(&[2.0_f32; CELLS])?;
    graph.replay()?;
    expected = on_the_host(expected, 0.5, 2.0);
    expect("new input", &state.read()?, expected)?;

    // A parameter is changed for the replays issued from here on; nothing is recorded again.
    graph.update(|change| change.set("keep", 0.25_f32))?;
    let done = graph.replay()?;
    // One may wait for a replay itself, too; `done.await` works on any executor.
    done.wait()?;
    expected = on_the_host(expected, 0.25, 2.0);
    expect("new parameter", &state.read()?, expected)?;
    println!("three replays, all right; every cell holds {expected}");
    Ok(())
}

fn expect(what: &str, got: &[f32], expected: f32) -> Result<(), Box<dyn Error>> {
    // The device may fuse a multiplication and an addition, so the last bit is its own.
    let near = |value: &f32| (value - expected).abs() <= 1e-5 * expected.abs();
    if got.len() == CELLS && got.iter().all(near) {
        return Ok(());
    }
    Err(format!("{what}: expected {expected}, found {:?}..", &got[..got.len().min(4)]).into())
}

fn main() -> Result<(), Box<dyn Error>> {
    // So that it runs on any machine. A program that wants a device, and no simulator, says `Select::Auto`.
    run(&Select::AutoOrSim)
}
