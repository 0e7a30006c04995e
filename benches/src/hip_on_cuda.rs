//! The HIP backend over HIP's interface on NVIDIA's driver, against the CUDA backend on the same card: what the one adds to a launch and
//! to a replay on the host may not be much more than what the other does. Both are in one process and take turns; every result is
//! checked before anything is timed, and at the end.

use std::time::Instant;

use graphreel::recording::CapturePolicy;
use graphreel::{Buffer, Device, Graph, Grid, Kernel, Tier};

use crate::{Finding, median};

/// Adds `a` times one vector to another, over `n` elements.
const SAXPY: &str = "
    struct P { a: f32, n: u32 }
    var<immediate> p: P;
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < p.n { y[id.x] += p.a * x[id.x]; }
    }";

/// Elements of a vector: one workgroup, so that the device is done soon.
const ELEMENTS: u32 = 256;

/// Launches in one timed run: fewer than the driver queues before it makes the caller wait.
const LAUNCHES: u32 = 200;

/// Replays in one timed run, each of which is waited for outside of the time.
const REPLAYS: u32 = 20;

/// Nodes of the graphs: launches that follow each other.
const LENGTHS: [u32; 3] = [10, 100, 1000];

/// What the name of a card ends with that is behind HIP's interface.
const SUFFIX: &str = "(HIP on CUDA)";

/// The most that HIP may take of what CUDA does.
const MOST: f64 = 1.10;

type Said<T> = Result<T, String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// One backend's work.
struct Side {
    device: Device,
    kernel: Kernel,
    ones: Buffer,
    sum: Buffer,
    /// What has been added to each element.
    added: f32,
}

impl Side {
    fn new(device: &Device) -> Said<Self> {
        let kernel = device.kernel(SAXPY).map_err(text)?;
        let ones = device.upload(&[1f32; ELEMENTS as usize]).map_err(text)?;
        let sum = device.upload(&[0f32; ELEMENTS as usize]).map_err(text)?;
        Ok(Self { device: device.clone(), kernel, ones, sum, added: 0.0 })
    }

    /// Microseconds of an eager launch until it is issued.
    fn launches(&mut self) -> Said<f64> {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            let args = (&self.ones, &self.sum, 1f32, ELEMENTS);
            self.device.launch(&self.kernel, Grid::groups(1), args).map_err(text)?;
        }
        let issued = start.elapsed().as_secs_f64() * 1e6 / f64::from(LAUNCHES);
        self.device.sync().map_err(text)?;
        self.added += LAUNCHES as f32;
        Ok(issued)
    }

    fn graph(&self, length: u32, tier: Tier) -> Said<Graph> {
        let record = |c: &mut graphreel::Capture| {
            let args = || (&self.ones, &self.sum, 1f32, ELEMENTS);
            (0..length).try_for_each(|_| c.launch(&self.kernel, Grid::groups(1), args()))
        };
        let (graph, ()) = self.device.capture_as(CapturePolicy::Require(vec![tier]), record).map_err(text)?;
        Ok(graph)
    }

    /// Microseconds of a replay until it is issued, the median of a run: the device is idle at the beginning of each.
    fn replays(&mut self, graph: &Graph, length: u32) -> Said<f64> {
        let mut times = Vec::new();
        for _ in 0..REPLAYS {
            let start = Instant::now();
            let done = graph.replay().map_err(text)?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
            done.wait().map_err(text)?;
            self.added += length as f32;
        }
        Ok(median(times))
    }

    /// Start again at zero, which keeps sums exact.
    fn clear(&mut self) -> Said<()> {
        self.sum.fill(0).map_err(text)?;
        self.added = 0.0;
        Ok(())
    }

    fn check(&self) -> Said<()> {
        let found = self.sum.read::<f32>().map_err(text)?;
        if found.iter().all(|value| *value == self.added) {
            return Ok(());
        }
        let backend = &self.device.info().backend;
        Err(format!("{backend}: not all sums are {}, the first is {}", self.added, found[0]))
    }
}

/// Medians of both sides, which take turns; `run` is one timed run of a side.
fn turns(rounds: u32, sides: &mut [Side; 2], mut run: impl FnMut(usize, &mut Side) -> Said<f64>) -> Said<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for turn in 0..2 {
            let index = (round as usize + turn) % 2;
            sides[index].clear()?;
            let time = run(index, &mut sides[index])?;
            sides[index].check()?;
            // The first round brings both up to speed.
            if round > 0 {
                times[index].push(time);
            }
        }
    }
    Ok(times.map(median))
}

/// Every figure.
///
/// # Errors
///
/// What a call that had to work answered, or a wrong result.
pub fn findings(hip: &Device, cuda: &Device, rounds: u32) -> Said<Vec<Finding>> {
    for (device, backend) in [(hip, "hip"), (cuda, "cuda")] {
        if device.info().backend != backend {
            return Err(format!("{} is a device of {}, not of {backend}", device.info().name, device.info().backend));
        }
    }
    let (named, card) = (&hip.info().name, &cuda.info().name);
    if !named.ends_with(SUFFIX) || !named.starts_with(card.as_ref() as &str) {
        return Err(format!(
            "{named} is not {card} behind HIP's interface: let GRAPHREEL_HIP_LIBRARY name that library"
        ));
    }
    let mut sides = [Side::new(hip)?, Side::new(cuda)?];
    let finding = |what: String, [ours, theirs]: [f64; 2]| {
        let (figure, sides) = (ours / theirs, format!("{ours:.2} / {theirs:.2} us"));
        Finding { target: "HIP on CUDA", what, sides, figure, bound: "<= 1.10", kept: figure <= MOST }
    };
    let eager = turns(rounds, &mut sides, |_, side| side.launches())?;
    let mut found = vec![finding(format!("{LAUNCHES} eager launches, issue of one"), eager)];
    for length in LENGTHS {
        for tier in [Tier::Captured, Tier::Built] {
            let graphs = [sides[0].graph(length, tier)?, sides[1].graph(length, tier)?];
            let issue = turns(rounds, &mut sides, |index, side| side.replays(&graphs[index], length))?;
            found.push(finding(format!("chain, {length} nodes, {tier}: issue of a replay"), issue));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_to_be_what_they_are_called() {
        let device = crate::hardware::open().expect("it does nothing");
        let error = findings(&device, &device, 1).expect_err("it is neither");
        assert!(error.contains("not of hip"), "{error}");
    }
}
