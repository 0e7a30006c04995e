//! What `benches/` asks of a workload: the figures of its row, and runs of its own kind on the same plan.

use std::time::Duration;

use graphreel::CapturePolicy;
use graphreel::device::{Device, Graph};

#[cfg(feature = "wgpu")]
use super::baseline::Baseline;
use super::measure::{self, Settings};
#[cfg(not(feature = "wgpu"))]
use super::no_baseline::Baseline;
use super::plan::Plan;
use super::stopwatch::Stopwatch;
use super::target::{Bound, Target};
use super::topology::{Shape, launch_bound};

/// A launch-bound workload on a device, checked against the host before anything is timed.
pub struct Measured {
    plan: Plan,
    target: Target,
}

/// The figures of one row, in microseconds; absent where not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// A replay until it is done.
    pub total_us: Option<f64>,
    /// CPU time of a replay for each node.
    pub cpu_us_per_node: Option<f64>,
    /// Hand-written wgpu in one submit.
    pub one_submit_us: Option<f64>,
    /// Hand-written wgpu in cut submits.
    pub cut_submits_us: Option<f64>,
    /// CPU time of the one whose total is shorter, for each node.
    pub by_hand_cpu_us_per_node: Option<f64>,
}

impl Measured {
    /// The workload named `chain`, `independent`, `fanout` or `diamond` with so many nodes; `None` for another name.
    pub fn new(device: &Device, workload: &str, nodes: u32) -> Option<Self> {
        let shape = match workload {
            "chain" => Shape::Chain,
            "independent" => Shape::Independent,
            "fanout" => Shape::Fanout,
            "diamond" => Shape::Diamond,
            _ => return None,
        };
        Some(Self { plan: launch_bound(shape, nodes), target: Target::new(device.clone()) })
    }

    /// The row of `graphreel bench` with so many rounds.
    ///
    /// # Errors
    ///
    /// Why the row failed: a wrong result, or what the device answered.
    pub fn figures(&mut self, rounds: u32) -> Result<Figures, String> {
        let settings = Settings { policy: CapturePolicy::Best, replays: Some(rounds), timed: true };
        let row = measure::row_of(&mut self.target, &self.plan, &settings).map_err(|error| error.to_string())?;
        Ok(Figures {
            total_us: row.total_us,
            cpu_us_per_node: row.cpu_us_per_node,
            one_submit_us: row.baseline_one_submit_us,
            cut_submits_us: row.baseline_cut_submits_us,
            by_hand_cpu_us_per_node: row.baseline_cpu_us_per_node,
        })
    }

    /// Run `with` on the workload, bound and captured: the graph, and a way to launch its nodes one by one with
    /// `after` called behind each.
    ///
    /// # Errors
    ///
    /// What the device answers, or a result that differs from the host's.
    pub fn bound<R>(&mut self, with: impl FnOnce(&Graph, &Runs<'_>) -> graphreel::Result<R>) -> Result<R, String> {
        let bound = self.target.bind(&self.plan).map_err(|error| error.to_string())?;
        let run = |bound: &Bound<'_>| {
            let graph = bound.capture(CapturePolicy::Best)?;
            bound.poison()?;
            graph.replay()?.wait()?;
            Ok(graph)
        };
        let graph = run(&bound).map_err(|error: graphreel::ServerError| error.to_string())?;
        bound.check().map_err(|error| error.to_string())??;
        let answer = with(&graph, &Runs(&bound)).map_err(|error| error.to_string())?;
        bound.check().map_err(|error| error.to_string())??;
        Ok(answer)
    }
}

/// Other ways to run a bound workload.
pub struct Runs<'b>(&'b Bound<'b>);

impl Runs<'_> {
    /// Launch every node with a submission of its own, and wait for the last: wall time.
    ///
    /// # Errors
    ///
    /// What the device answers.
    pub fn one_submit_a_launch(&self) -> graphreel::Result<Duration> {
        let stopwatch = Stopwatch::start();
        let stream = self.0.device().stream();
        self.0.eager_with(|| stream.flush())?;
        self.0.settle()?;
        Ok(stopwatch.elapsed())
    }

    /// Launch every node and hand the last batch over: CPU time of this thread where the system tells it, without the wait
    /// that follows.
    ///
    /// # Errors
    ///
    /// What the device answers.
    pub fn issue_cpu(&self) -> graphreel::Result<Option<Duration>> {
        let stopwatch = Stopwatch::start();
        self.0.eager()?;
        self.0.device().stream().flush()?;
        let cpu = stopwatch.cpu();
        self.0.settle()?;
        Ok(cpu)
    }

    /// Put the buffers back to what one replay from the start leaves.
    ///
    /// # Errors
    ///
    /// What the device answers.
    pub fn restore(&self, graph: &Graph) -> graphreel::Result<()> {
        self.0.poison()?;
        graph.replay()?.wait().map(|_| ())
    }

    /// As [`Runs::issue_cpu`], by hand: encoded and submitted every `cut` nodes. Absent where the device is not wgpu's.
    ///
    /// # Errors
    ///
    /// What wgpu answers, as text.
    pub fn by_hand(&self) -> Result<Option<ByHand>, String> {
        Ok(Baseline::of(self.0.device(), self.0.plan())?.map(ByHand))
    }
}

/// The workload as hand-written wgpu on the same device.
pub struct ByHand(Baseline);

impl ByHand {
    /// Encode and submit every `cut` nodes: CPU time until the last submission, without the wait that follows.
    ///
    /// # Errors
    ///
    /// What wgpu answers, as text.
    pub fn issue_cpu(&self, cut: usize) -> Result<Option<Duration>, String> {
        self.0.issue(cut)
    }
}
