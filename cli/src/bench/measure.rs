//! One row: first the proof that every way to run the work gives the host's bytes, then the times, then the proof again.
//!
//! The ways take turns, forwards and backwards, so that a machine that slows down slows all of them.

use std::time::{Duration, Instant};

use graphreel::device::Graph;
use graphreel::{CapturePolicy, ServerError};

#[cfg(feature = "wgpu")]
use super::baseline::Baseline;
use super::baseline_run::Run;
use super::case::{Case, Work};
#[cfg(not(feature = "wgpu"))]
use super::no_baseline::Baseline;
use super::plan::Plan;
use super::row::{Row, micros};
use super::stopwatch::{Samples, Stopwatch};
use super::target::{Bound, Target};
use crate::digits::{Batches, accuracy};
use crate::failure::Failure;
use crate::simulated::is_simulated;

/// Rounds of measurement unless the caller says how many.
const ROUNDS: u32 = 30;
/// Fewer, but no fewer than this, for a row that takes longer than [`ROW_TIME`].
const ROUNDS_MIN: u32 = 3;
/// How long a row is measured unless the caller says how often.
const ROW_TIME: Duration = Duration::from_millis(700);
/// Nodes of a submit that the hand-written side is tried with.
const CUTS: [usize; 4] = [16, 32, 64, 128];
/// The longest that one replay may take.
const REPLAY_MAX: Duration = Duration::from_secs(120);

/// How to measure.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Tiers that captures may use.
    pub(crate) policy: CapturePolicy,
    /// Rounds, where the caller says.
    pub(crate) replays: Option<u32>,
    /// Whether anything is timed; if not, results are proved and that is all.
    pub(crate) timed: bool,
}

/// Why a row failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RowError {
    #[error("{0}")]
    Device(#[from] ServerError),
    #[error("{0}")]
    Work(#[from] Failure),
    #[error("{run} gave a wrong result: {difference}")]
    Wrong { run: &'static str, difference: String },
    #[error("hand-written wgpu: {0}")]
    Baseline(String),
}

/// Measure one case. A failure is part of the row.
pub(crate) fn row(target: &mut Target, case: Case, settings: &Settings) -> Row {
    let info = target.device.info();
    let mut row = Row {
        backend: info.backend.clone(),
        device: info.name.clone(),
        simulated: is_simulated(info),
        workload: case.name(),
        nodes: case.nodes(),
        policy: policy_name(&settings.policy),
        ..Row::default()
    };
    let filled = case.work(target).map_err(RowError::from).and_then(|work| fill(&mut row, target, &work, settings));
    match filled {
        Ok(()) => row.verified = true,
        Err(error) => row.error = Some(error.to_string()),
    }
    row
}

fn policy_name(policy: &CapturePolicy) -> String {
    let names = |tiers: &[graphreel::Tier]| tiers.iter().map(|tier| tier.name()).collect::<Vec<_>>().join(",");
    match policy {
        CapturePolicy::Best => "best".to_owned(),
        CapturePolicy::Prefer(tiers) => format!("prefer:{}", names(tiers)),
        CapturePolicy::Require(tiers) => format!("require:{}", names(tiers)),
        CapturePolicy::AllowEager => "allow-eager".to_owned(),
    }
}

/// The row of a plan whose input does not change.
pub(crate) fn row_of(target: &mut Target, plan: &Plan, settings: &Settings) -> Result<Row, RowError> {
    let mut row = Row::default();
    fill_plan(&mut row, target, plan, None, settings)?;
    Ok(row)
}

fn fill(row: &mut Row, target: &mut Target, work: &Work, settings: &Settings) -> Result<(), RowError> {
    fill_plan(row, target, &work.plan, work.batches.as_ref(), settings)
}

fn fill_plan(
    row: &mut Row,
    target: &mut Target,
    plan: &Plan,
    batches: Option<&Batches>,
    settings: &Settings,
) -> Result<(), RowError> {
    row.nodes = plan.nodes.len();
    let bound = target.bind(plan)?;
    proved(&bound, "the eager run", || bound.eager())?;
    let graph = capture(row, &bound, settings)?;
    proved(&bound, "the replay", || replay(&graph).map(|_| ()))?;
    if settings.timed {
        time(row, &bound, &graph, settings)?;
    }
    if let Some(batches) = batches {
        read_digits(row, &bound, &graph, batches)?;
    }
    Ok(())
}

/// The times of every way to run it, and the proof that the results were right to the end.
fn time(row: &mut Row, bound: &Bound<'_>, graph: &Graph, settings: &Settings) -> Result<(), RowError> {
    let baseline = baseline(row, bound)?;
    let cut = baseline
        .as_ref()
        .map(|baseline| tuned_cut(baseline, row.nodes))
        .transpose()
        .map_err(RowError::Baseline)?
        .flatten();
    let times = rounds(bound, graph, baseline.as_ref().map(|baseline| (baseline, cut)), settings)?;
    times.write(row, cut);
    unchanged(bound, "the last timed run")?;
    // The ways take turns, so that run need not have been a replay.
    proved(bound, "a replay after the timing", || replay(graph).map(|_| ()))
}

/// Run `work` from poisoned buffers and hold its results against the host's.
fn proved(bound: &Bound<'_>, run: &'static str, work: impl FnOnce() -> graphreel::Result<()>) -> Result<(), RowError> {
    bound.poison()?;
    work()?;
    unchanged(bound, run)
}

fn unchanged(bound: &Bound<'_>, run: &'static str) -> Result<(), RowError> {
    bound.check()?.map_err(|difference| RowError::Wrong { run, difference })
}

fn capture(row: &mut Row, bound: &Bound<'_>, settings: &Settings) -> Result<Graph, RowError> {
    bound.settle()?;
    let stopwatch = Stopwatch::start();
    let graph = bound.capture(settings.policy.clone())?;
    row.capture_us = Some(micros(stopwatch.elapsed()));
    let report = graph.report();
    row.seal_us = Some(micros(report.seal_time));
    row.pinned_bytes = Some(report.pinned_bytes);
    row.submits = Some(report.submits);
    row.tier = Some(report.tier.name());
    row.nodes = report.nodes;
    Ok(graph)
}

/// The hand-written side, proved; none where the device is not wgpu's, or the reason in the row.
fn baseline(row: &mut Row, bound: &Bound<'_>) -> Result<Option<Baseline>, RowError> {
    let baseline = match Baseline::of(bound.device(), bound.plan()) {
        Ok(baseline) => baseline,
        Err(why) => {
            row.baseline_absent = Some(why);
            None
        }
    };
    let Some(baseline) = baseline else { return Ok(None) };
    for (run, cut) in [("hand-written wgpu in one submit", usize::MAX), ("hand-written wgpu in cut submits", CUTS[0])] {
        baseline.poison();
        baseline.run(cut).map_err(RowError::Baseline)?;
        baseline.check(&bound.plan().expected).map_err(|difference| RowError::Wrong { run, difference })?;
    }
    Ok(Some(baseline))
}

/// The number of nodes in a submit that is fastest by hand; none where there are too few nodes to cut.
fn tuned_cut(baseline: &Baseline, nodes: usize) -> Result<Option<usize>, String> {
    let mut best: Option<(Duration, usize)> = None;
    let started = Instant::now();
    for cut in CUTS.into_iter().filter(|cut| *cut < nodes) {
        let mut samples = Samples::default();
        samples.push(baseline.run(cut)?.total);
        // Long work is told apart by one run.
        while samples.len() < 3 && started.elapsed() < ROW_TIME / 2 {
            samples.push(baseline.run(cut)?.total);
        }
        let time = samples.median().unwrap_or(Duration::MAX);
        if best.is_none_or(|(shortest, _)| time < shortest) {
            best = Some((time, cut));
        }
    }
    Ok(best.map(|(_, cut)| cut))
}

/// What one replay took.
struct Replay {
    issue: Duration,
    total: Duration,
    cpu: Option<Duration>,
}

fn replay(graph: &Graph) -> graphreel::Result<Replay> {
    let stopwatch = Stopwatch::start();
    let done = graph.replay()?;
    let issue = stopwatch.elapsed();
    done.wait_for(REPLAY_MAX)?;
    Ok(Replay { issue, total: stopwatch.elapsed(), cpu: stopwatch.cpu() })
}

/// All measurements of a row.
#[derive(Default)]
struct Times {
    rounds: u32,
    eager: Samples,
    issue: Samples,
    total: Samples,
    cpu: Samples,
    one: Samples,
    one_cpu: Samples,
    cut: Samples,
    cut_cpu: Samples,
}

fn rounds(
    bound: &Bound<'_>,
    graph: &Graph,
    baseline: Option<(&Baseline, Option<usize>)>,
    settings: &Settings,
) -> Result<Times, RowError> {
    let mut times = Times::default();
    let started = Instant::now();
    let enough = |rounds: u32| match settings.replays {
        Some(wanted) => rounds >= wanted,
        None => rounds >= ROUNDS || rounds >= ROUNDS_MIN && started.elapsed() > ROW_TIME,
    };
    while !enough(times.rounds) {
        let order = if times.rounds % 2 == 0 { [0, 1, 2, 3] } else { [3, 2, 1, 0] };
        for way in order {
            bound.settle()?;
            match (way, baseline) {
                (0, _) => times.eager.push(eager(bound)?),
                (1, _) => times.add_replay(replay(graph)?),
                (2, Some((baseline, _))) => {
                    let run = baseline.run(usize::MAX).map_err(RowError::Baseline)?;
                    Times::add_run(&mut times.one, &mut times.one_cpu, run);
                }
                (3, Some((baseline, Some(cut)))) => {
                    let run = baseline.run(cut).map_err(RowError::Baseline)?;
                    Times::add_run(&mut times.cut, &mut times.cut_cpu, run);
                }
                _ => {}
            }
        }
        times.rounds += 1;
    }
    Ok(times)
}

fn eager(bound: &Bound<'_>) -> graphreel::Result<Duration> {
    let stopwatch = Stopwatch::start();
    bound.eager()?;
    bound.settle()?;
    Ok(stopwatch.elapsed())
}

impl Times {
    fn add_replay(&mut self, replay: Replay) {
        self.issue.push(replay.issue);
        self.total.push(replay.total);
        replay.cpu.into_iter().for_each(|cpu| self.cpu.push(cpu));
    }

    fn add_run(total: &mut Samples, cpu: &mut Samples, run: Run) {
        total.push(run.total);
        run.cpu.into_iter().for_each(|time| cpu.push(time));
    }

    fn write(&self, row: &mut Row, cut: Option<usize>) {
        let time = |samples: &Samples| samples.median().map(micros);
        let nodes = row.nodes.max(1) as f64;
        row.replays = Some(self.rounds);
        row.eager_us = time(&self.eager);
        row.issue_us = time(&self.issue);
        row.total_us = time(&self.total);
        row.cpu_us_per_node = time(&self.cpu).map(|cpu| cpu / nodes);
        row.baseline_one_submit_us = time(&self.one);
        row.baseline_cut_submits_us = time(&self.cut);
        row.baseline_cut_nodes = cut;
        let cut_is_better = self.cut.median().zip(self.one.median()).is_some_and(|(cut, one)| cut < one);
        let better = if cut_is_better { &self.cut_cpu } else { &self.one_cpu };
        row.baseline_cpu_us_per_node = time(better).map(|cpu| cpu / nodes);
    }
}

/// Replay the graph for every batch of images, and hold each prediction against the host's.
fn read_digits(row: &mut Row, bound: &Bound<'_>, graph: &Graph, batches: &Batches) -> Result<(), RowError> {
    let mut predictions: Vec<u32> = Vec::with_capacity(batches.predictions.len());
    bound.poison()?;
    for pixels in &batches.pixels {
        bound.buffer(batches.input).write(pixels)?;
        graph.replay()?.wait_for(REPLAY_MAX)?;
        predictions.extend(bound.buffer(batches.output).read::<u32>()?);
    }
    predictions.truncate(batches.labels.len());
    let mut pairs = predictions.iter().zip(&batches.predictions);
    if let Some(image) = pairs.position(|(device, host)| device != host) {
        let (device, host) = (predictions[image], batches.predictions[image]);
        let difference = format!("image {image} is read as {device}, and as {host} on the host");
        return Err(RowError::Wrong { run: "the replay for each batch", difference });
    }
    row.accuracy = Some(accuracy(&predictions, &batches.labels));
    row.images = Some(predictions.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plan::Contents;
    use super::super::target::wgpu_device;
    use super::super::topology::{Shape, launch_bound};
    use super::*;

    /// The error of a row whose plan was changed by `change`; none where there is no device.
    fn error_of(change: impl FnOnce(&mut Work)) -> Option<String> {
        let device = wgpu_device()?;
        let mut target = Target::new(device);
        let mut work = Work { plan: launch_bound(Shape::Chain, 5), batches: None };
        change(&mut work);
        let settings = Settings { policy: CapturePolicy::Best, replays: Some(1), timed: true };
        let error = fill(&mut Row::default(), &mut target, &work, &settings).expect_err("the work is not as expected");
        Some(error.to_string())
    }

    #[test]
    fn one_wrong_bit_fails_the_row() {
        let Some(error) = error_of(|work| work.plan.expected[0].bytes[17] ^= 1) else { return };
        assert!(error.starts_with("the eager run gave a wrong result: 1 of 256 words"), "{error}");
        assert!(error.contains("first word 4"), "{error}");
    }

    #[test]
    fn a_node_that_is_left_out_fails_the_row() {
        let Some(error) = error_of(|work| drop(work.plan.nodes.remove(2))) else { return };
        assert!(error.contains("differ from the host's"), "{error}");
    }

    #[test]
    fn work_that_never_runs_fails_the_row() {
        let forget = |work: &mut Work| {
            let Plan { buffers, expected, .. } = &mut work.plan;
            buffers.push(Contents::Result(1024));
            expected[0].buffer = buffers.len() - 1;
        };
        let Some(error) = error_of(forget) else { return };
        assert!(error.contains("256 of 256 words") && error.contains("0xdeadbeef"), "{error}");
    }
}
