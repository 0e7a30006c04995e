//! What a launch costs beside wgpu: ours less hand-written encoding of the same launches, and whether that grows with the
//! number of buffers alive.

use graphreel::{Buffer, Device};
use graphreel_cli::Measured;

use crate::{Finding, median};

/// Launches in one run; ours are submitted as often as by hand.
const LAUNCHES: u32 = 1000;
const CUT: usize = 64;
/// Buffers alive in the second run of [`alive_buffers`].
const BUFFERS: usize = 20_000;

/// CPU time of an eager launch: ours less wgpu's own.
///
/// # Errors
///
/// Why it could not be measured, or what was wrong with the results.
pub fn eager_launch(device: &Device, rounds: u32) -> Result<Finding, String> {
    difference(device, rounds, "eager launch", format!("chain, {LAUNCHES} launches, submits of {CUT}"))
}

/// As [`eager_launch`], with many buffers alive: our bookkeeping is per binding, whatever wgpu's own does.
///
/// # Errors
///
/// As [`eager_launch`].
pub fn alive_buffers(device: &Device, rounds: u32) -> Result<Finding, String> {
    let alive: Result<Vec<Buffer>, _> = (0..BUFFERS).map(|_| device.alloc(4)).collect();
    let _alive = alive.map_err(|error| error.to_string())?;
    difference(device, rounds, "alive buffers", format!("the same with {BUFFERS} more buffers alive"))
}

fn difference(device: &Device, rounds: u32, target: &'static str, what: String) -> Result<Finding, String> {
    let (ours, theirs) = launch_cpu(device, rounds)?;
    let (figure, sides) = (ours - theirs, format!("{ours:.2} - {theirs:.2} us"));
    Ok(Finding { target, what, sides, figure, bound: "<= 2 us", kept: figure <= 2.0 })
}

/// Microseconds of CPU for one launch, ours and by hand.
fn launch_cpu(device: &Device, rounds: u32) -> Result<(f64, f64), String> {
    let mut measured = Measured::new(device, "chain", LAUNCHES).ok_or("no such workload")?;
    let mut problem = None;
    let sides = measured.bound(|graph, runs| {
        let by_hand = match runs.by_hand() {
            Ok(Some(by_hand)) => by_hand,
            Ok(None) => {
                problem = Some("the device is not wgpu's".to_owned());
                return Ok((Vec::new(), Vec::new()));
            }
            Err(text) => {
                problem = Some(text);
                return Ok((Vec::new(), Vec::new()));
            }
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6 / f64::from(LAUNCHES);
        for _ in 0..rounds {
            ours.extend(runs.issue_cpu()?.map(micros));
            match by_hand.issue_cpu(CUT) {
                Ok(cpu) => theirs.extend(cpu.map(micros)),
                Err(text) => problem = Some(text),
            }
        }
        // An eager run moves the chain on; the check that follows wants the graph's own result.
        runs.restore(graph)?;
        Ok((ours, theirs))
    })?;
    match problem {
        Some(text) => Err(text),
        None if sides.0.is_empty() || sides.1.is_empty() => Err("this system tells no CPU time of a thread".to_owned()),
        None => Ok((median(sides.0), median(sides.1))),
    }
}
