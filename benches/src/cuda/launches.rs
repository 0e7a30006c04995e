//! P3: an eager launch against the driver's by hand. P9: a replay of kernels that keep the device busy against eager launches of
//! them, where all that is ours should not be seen.

use std::time::Instant;

use graphreel::{Buffer, Device, Grid, Kernel, shaders};

use super::raw::Said;
use super::steps::{ELEMENTS, SOURCE, prepared};
use super::{Sides, Volume, micros, more, text};
use crate::{Finding, median};

/// Launches in one timed run of P3: fewer than the driver queues before it makes the caller wait.
const LAUNCHES: u32 = 200;

/// Nodes of P9, and how long each should take; 100 microseconds are asked for.
const BUSY_NODES: u32 = 100;
const BUSY_US: f64 = 170.0;

/// Elements of a busy node: one to an invocation.
const BUSY_ELEMENTS: u32 = 4096;

/// P3. The time is the caller's; the work is waited for between runs.
///
/// # Errors
///
/// What a call that had to work answered, or a wrong result.
pub fn eager(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let (device, kernel) = (&sides.device, sides.kernel(SOURCE)?);
    let ones = device.upload(&[1f32; ELEMENTS as usize]).map_err(text)?;
    let sum = device.upload(&[0f32; ELEMENTS as usize]).map_err(text)?;
    let (_hand_ones, hand_sums, launches) = prepared(sides, 1)?;
    let ours = || {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            device.launch(&kernel, Grid::groups(1), (&ones, &sum, 1f32, ELEMENTS)).map_err(text)?;
        }
        let issued = micros(start.elapsed()) / f64::from(LAUNCHES);
        device.sync().map_err(text)?;
        Said::Ok(issued)
    };
    let by_hand = || {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            launches[0].issue(&sides.stream)?;
        }
        let issued = micros(start.elapsed()) / f64::from(LAUNCHES);
        sides.stream.wait()?;
        Said::Ok(issued)
    };
    let check = |runs: u32| {
        let wanted = (runs * LAUNCHES) as f32;
        let right = |values: &[f32]| values.iter().all(|value| *value == wanted);
        let right = right(&sum.read::<f32>().map_err(text)?) && right(&hand_sums[0].read()?);
        if right { Ok(()) } else { Err(format!("after {runs} runs of {LAUNCHES} launches not all sums are {wanted}")) }
    };
    let (mut ours_us, mut hand_us) = (vec![ours()?], vec![by_hand()?]);
    check(1)?;
    ours_us.clear();
    hand_us.clear();
    for round in 0..volume.rounds {
        if round % 2 == 0 {
            ours_us.push(ours()?);
            hand_us.push(by_hand()?);
        } else {
            hand_us.push(by_hand()?);
            ours_us.push(ours()?);
        }
    }
    check(1 + volume.rounds)?;
    let what = format!("{LAUNCHES} eager launches, 2 buffers and 2 scalars each");
    Ok(vec![more("P3 eager", what, [median(ours_us), median(hand_us)], (1.0, "<= 1 us more"))])
}

/// P9.
///
/// # Errors
///
/// What a call that had to work answered, or a wrong result.
pub fn device_bound(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let (device, kernel) = (&sides.device, sides.kernel(shaders::SPIN)?);
    let output = device.alloc_for::<u32>(u64::from(BUSY_ELEMENTS)).map_err(text)?;
    let steps = calibrated(device, &kernel, &output)?;
    let grid = Grid::cover(u64::from(BUSY_ELEMENTS));
    let record =
        |c: &mut graphreel::Capture| (0..BUSY_NODES).try_for_each(|_| c.launch(&kernel, grid, (&output, steps)));
    let (graph, ()) = device.capture(record).map_err(text)?;
    let eager = || {
        let start = Instant::now();
        for _ in 0..BUSY_NODES {
            device.launch(&kernel, grid, (&output, steps)).map_err(text)?;
        }
        device.sync().map_err(text)?;
        Said::Ok(micros(start.elapsed()))
    };
    let replayed = || {
        let start = Instant::now();
        graph.replay().and_then(|done| done.wait()).map_err(text)?;
        Said::Ok(micros(start.elapsed()))
    };
    eager()?;
    replayed()?;
    check_spin(&output, steps)?;
    let (mut eager_us, mut replay_us) = (Vec::new(), Vec::new());
    for _ in 0..volume.rounds.div_ceil(3) {
        eager_us.push(eager()?);
        replay_us.push(replayed()?);
    }
    check_spin(&output, steps)?;
    let (eager, replay) = (median(eager_us), median(replay_us));
    let figure = eager / replay;
    Ok(vec![Finding {
        target: "P9 control",
        what: format!("{BUSY_NODES} nodes of {:.0} us, eager against a replay", replay / f64::from(BUSY_NODES)),
        sides: format!("{eager:.0} / {replay:.0} us"),
        figure,
        bound: "0.98 to 1.02",
        kept: (0.98..=1.02).contains(&figure),
    }])
}

/// Steps of `spin` that take about [`BUSY_US`].
fn calibrated(device: &Device, kernel: &Kernel, output: &Buffer) -> Said<u32> {
    const TRIED: u32 = 100_000;
    let launch = |c: &mut graphreel::Capture| c.launch(kernel, Grid::cover(u64::from(BUSY_ELEMENTS)), (output, TRIED));
    // The first brings the device up to speed.
    let mut nanoseconds = None;
    for _ in 0..3 {
        let (profile, ()) = device.profile(launch).map_err(text)?;
        nanoseconds = profile.operations.first().and_then(|time| time.nanoseconds);
    }
    let nanoseconds = nanoseconds.ok_or("the device cannot time its work")?;
    Ok((f64::from(TRIED) * BUSY_US * 1e3 / nanoseconds.max(1) as f64).max(1.0) as u32)
}

fn check_spin(output: &Buffer, steps: u32) -> Said<()> {
    let values = output.read::<u32>().map_err(text)?;
    // Every 64th, since the host takes its time for each.
    for (index, value) in values.iter().enumerate().step_by(64) {
        let mut wanted = index as u32 + 1;
        for _ in 0..steps {
            wanted ^= wanted << 13;
            wanted ^= wanted >> 17;
            wanted ^= wanted << 5;
        }
        if *value != wanted {
            return Err(format!("element {index} is {value} after {steps} steps, not {wanted}"));
        }
    }
    Ok(())
}
