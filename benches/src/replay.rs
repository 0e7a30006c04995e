//! P5: a replay against the better of hand-written one submit and hand-written cut submits. P8: against a submission for
//! each launch.

use std::time::Instant;

use graphreel::Device;
use graphreel_cli::Measured;

use crate::{Finding, median};

/// P5 for one workload and size: CPU per node, and total.
///
/// # Errors
///
/// Why it could not be measured, or what was wrong with the results.
pub fn against_by_hand(device: &Device, workload: &str, nodes: u32, rounds: u32) -> Result<Vec<Finding>, String> {
    let mut measured = Measured::new(device, workload, nodes).ok_or("no such workload")?;
    let figures = measured.figures(rounds)?;
    let what = format!("{workload}, {nodes} nodes");
    let mut findings = Vec::new();
    if let (Some(ours), Some(theirs)) = (figures.cpu_us_per_node, figures.by_hand_cpu_us_per_node) {
        let ratio = ours / theirs;
        findings.push(Finding {
            target: "P5 CPU",
            what: what.clone(),
            sides: format!("{ours:.2} / {theirs:.2} us a node"),
            figure: ratio,
            bound: "<= 1.10",
            kept: ratio <= 1.10,
        });
    }
    let by_hand = figures.one_submit_us.into_iter().chain(figures.cut_submits_us).reduce(f64::min);
    if let (Some(ours), Some(theirs)) = (figures.total_us, by_hand) {
        let ratio = ours / theirs;
        let sides = format!("{ours:.0} / {theirs:.0} us");
        // Equal sides differ by this much from run to run.
        findings.push(Finding {
            target: "P5 total",
            what,
            sides,
            figure: ratio,
            bound: "<= 1.03",
            kept: ratio <= 1.03,
        });
    }
    Ok(findings)
}

/// P8 for a chain: a replay against the same launches with a submission each; the bound is for a software device.
///
/// # Errors
///
/// As [`against_by_hand`].
pub fn against_one_submit_a_launch(device: &Device, nodes: u32, rounds: u32, bound: f64) -> Result<Finding, String> {
    let mut measured = Measured::new(device, "chain", nodes).ok_or("no such workload")?;
    let (eager, replay) = measured.bound(|graph, runs| {
        let (mut eager, mut replay) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            eager.push(runs.one_submit_a_launch()?.as_secs_f64() * 1e6);
            let started = Instant::now();
            graph.replay()?.wait()?;
            replay.push(started.elapsed().as_secs_f64() * 1e6);
        }
        Ok((median(eager), median(replay)))
    })?;
    let figure = eager / replay;
    Ok(Finding {
        target: "P8",
        what: format!("chain, {nodes} nodes"),
        sides: format!("{eager:.0} / {replay:.0} us"),
        figure,
        bound: if bound > 2.0 { ">= 4" } else { ">= 2" },
        kept: figure >= bound,
    })
}
