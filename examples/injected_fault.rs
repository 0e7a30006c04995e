//! Make a driver call fail, and see what a program is told: on the simulator, which needs no device.
//!
//! Run it with `cargo run -p graphreel-examples --example injected_fault`.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use graphreel::{Config, Device, Grid, ServerError};
use graphreel_sim::{Failure, FaultPlan, SimOptions, Then, When};

const DOUBLE: &str = r"
@group(0) @binding(0) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&words) { words[id.x] = 2u * words[id.x]; }
}";

/// Run the example.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    // Seeded: the same calls make the same run, whatever the machine does besides.
    let config = Config::default();
    let server = graphreel_sim::open(SimOptions::seeded(7), config.clone())?;
    // The probe looks into the simulator from outside, and holds the levers on its faults.
    let probe = server.driver().probe();
    let device = Device::new(Box::new(server), config);

    let double = device.kernel(DOUBLE)?;
    let words = device.upload(&[1_u32, 2, 3])?;
    let (graph, ()) = device.capture(|c| c.launch(&double, Grid::cover(3), (&words,)))?;
    graph.replay()?;
    assert_eq!(words.read::<u32>()?, [2, 4, 6]);

    // The next launch of a graph is refused by the driver.
    probe.arm(FaultPlan::one(When::Nth { call: "exec_launch", nth: 0 }, Then::Before(Failure::REFUSED)));
    let refused = graph.replay().and_then(|done| done.wait()).err().ok_or("this replay was to fail")?;
    println!("the replay: {refused}");

    // What it would have written is no stale answer: a read names the cause, on any stream, until something is written.
    let tainted = words.read::<u32>().err().ok_or("this read was to fail")?;
    assert!(matches!(tainted, ServerError::Tainted { .. }));
    println!("the read:   {tainted}");

    // Nothing ran, and the device is as good as ever.
    words.write(&[5_u32, 6, 7])?;
    graph.replay()?;
    assert_eq!(words.read::<u32>()?, [10, 12, 14]);
    println!("written again and replayed, all right; the driver was misused {} times", probe.misuse_count());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run()
}
