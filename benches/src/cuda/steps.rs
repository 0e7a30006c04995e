//! The work of the targets on graphs: chains of small kernels, each over 256 elements and after the one before it. As a graph
//! of ours, and as one by hand. How often a chain ran is what its vector says.

use std::time::Instant;

use graphreel::recording::CapturePolicy;
use graphreel::{Buffer, Graph, Grid, Tier};

use super::raw::{Argument, Executable, Launch, Memory, Said};
use super::{Sides, Volume, micros, text};
use crate::median;

/// Elements of a node: one block.
pub const ELEMENTS: u32 = 256;

/// Adds a multiple of one vector to another; with a multiple of 1 and ones to add, each run adds 1.
pub const SOURCE: &str = "
    struct Scalars { a: f32, n: u32 }
    var<immediate> s: Scalars;
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(256) fn step(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < s.n { y[id.x] += s.a * x[id.x]; }
    }";

/// Chains side by side, and nodes of each.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Chains that know nothing of each other.
    pub chains: usize,
    /// Nodes of each.
    pub length: usize,
}

impl Shape {
    /// The chain of each node, in the order of recording: step by step over all chains.
    fn nodes(self) -> impl Iterator<Item = usize> {
        (0..self.length).flat_map(move |_| 0..self.chains)
    }
}

/// How a graph by hand is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nodes added one by one, with the true dependences.
    Explicit,
    /// A capture of one stream.
    OneStream,
}

/// Microseconds until a launch was issued, and until its work was done.
#[derive(Clone, Debug, Default)]
pub struct Times {
    issue: Vec<f64>,
    total: Vec<f64>,
}

impl Times {
    /// The median until issued, and until done.
    pub fn medians(&self) -> [f64; 2] {
        [median(self.issue.clone()), median(self.total.clone())]
    }
}

/// One of the sides.
pub trait Side {
    /// Issue it once and wait for it.
    ///
    /// # Errors
    ///
    /// What went wrong.
    fn run(&mut self, times: &mut Times) -> Said<()>;

    /// Hold the vectors against how often it ran.
    ///
    /// # Errors
    ///
    /// Which is wrong.
    fn check(&self) -> Said<()>;
}

/// Let two sides take turns, each first as often as the other, and give the times of both.
///
/// # Errors
///
/// What went wrong, a wrong result among it.
pub fn turns(volume: Volume, ours: &mut dyn Side, theirs: &mut dyn Side) -> Said<[Times; 2]> {
    let mut times = [Times::default(), Times::default()];
    ours.run(&mut Times::default()).and_then(|()| ours.check())?;
    theirs.run(&mut Times::default()).and_then(|()| theirs.check())?;
    for round in 0..volume.rounds {
        for turn in [round % 2, (round + 1) % 2] {
            let side: &mut dyn Side = if turn == 0 { ours } else { theirs };
            side.run(&mut Times::default())?;
            for _ in 0..volume.repeats {
                side.run(&mut times[turn as usize])?;
            }
        }
    }
    ours.check()?;
    theirs.check()?;
    Ok(times)
}

/// A graph of ours.
#[derive(Debug)]
pub struct Ours {
    graph: Graph,
    sums: Vec<Buffer>,
    shape: Shape,
    runs: usize,
}

impl Ours {
    /// Record the shape, in this tier and no other.
    ///
    /// # Errors
    ///
    /// What the device answers.
    pub fn new(sides: &Sides, shape: Shape, tier: Tier) -> Said<Self> {
        let (device, kernel) = (&sides.device, sides.kernel(SOURCE)?);
        let ones = device.upload(&[1f32; ELEMENTS as usize]).map_err(text)?;
        let sums = (0..shape.chains).map(|_| device.upload(&[0f32; ELEMENTS as usize]));
        let sums: Vec<Buffer> = sums.collect::<graphreel::Result<_>>().map_err(text)?;
        let recorded = device.capture_as(CapturePolicy::Require(vec![tier]), |c| {
            let grid = Grid::groups(1);
            shape.nodes().try_for_each(|chain| c.launch(&kernel, grid, (&ones, &sums[chain], 1f32, ELEMENTS)))
        });
        let (graph, ()) = recorded.map_err(text)?;
        Ok(Self { graph, sums, shape, runs: 0 })
    }
}

impl Side for Ours {
    fn run(&mut self, times: &mut Times) -> Said<()> {
        let start = Instant::now();
        let done = self.graph.replay().map_err(text)?;
        let issued = start.elapsed();
        done.wait().map_err(text)?;
        times.total.push(micros(start.elapsed()));
        times.issue.push(micros(issued));
        self.runs += 1;
        Ok(())
    }

    fn check(&self) -> Said<()> {
        let sums: graphreel::Result<Vec<_>> = self.sums.iter().map(Buffer::read::<f32>).collect();
        check("ours", sums.map_err(text)?, self.shape, self.runs)
    }
}

/// A graph by hand.
#[derive(Debug)]
pub struct ByHand<'a> {
    executable: Executable,
    sides: &'a Sides,
    sums: Vec<Memory>,
    /// What the kernels read.
    _ones: Memory,
    shape: Shape,
    runs: usize,
}

impl<'a> ByHand<'a> {
    /// Make the shape.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn new(sides: &'a Sides, shape: Shape, how: How) -> Said<Self> {
        let (ones, sums, launches) = prepared(sides, shape.chains)?;
        let executable = match how {
            How::OneStream => {
                let nodes: Vec<&Launch> = shape.nodes().map(|chain| &launches[chain]).collect();
                Executable::captured(&sides.stream, &nodes)?
            }
            How::Explicit => {
                let nodes = shape.nodes().enumerate();
                let nodes = nodes.map(|(index, chain)| (&launches[chain], index.checked_sub(shape.chains)));
                Executable::explicit(&nodes.collect::<Vec<_>>())?
            }
        };
        Ok(Self { executable, sides, sums, _ones: ones, shape, runs: 0 })
    }
}

/// The vector of ones, the sums, and a launch for each of these.
///
/// # Errors
///
/// What the driver answers.
pub fn prepared(sides: &Sides, chains: usize) -> Said<(Memory, Vec<Memory>, Vec<Launch>)> {
    let ones = sides.raw.upload(&[1f32; ELEMENTS as usize])?;
    let sums = (0..chains).map(|_| sides.raw.upload(&[0f32; ELEMENTS as usize])).collect::<Said<Vec<Memory>>>()?;
    let launch = |sum| {
        let arguments = [Argument::Memory(&ones), Argument::Memory(sum), Argument::F32(1.0), Argument::U32(ELEMENTS)];
        sides.module.launch("step", [1, 1, 1], [ELEMENTS, 1, 1], &arguments)
    };
    let launches = sums.iter().map(launch).collect::<Said<Vec<Launch>>>()?;
    Ok((ones, sums, launches))
}

impl Side for ByHand<'_> {
    fn run(&mut self, times: &mut Times) -> Said<()> {
        let start = Instant::now();
        self.executable.issue(&self.sides.stream)?;
        let issued = start.elapsed();
        self.sides.stream.wait()?;
        times.total.push(micros(start.elapsed()));
        times.issue.push(micros(issued));
        self.runs += 1;
        Ok(())
    }

    fn check(&self) -> Said<()> {
        let sums: Said<Vec<_>> = self.sums.iter().map(Memory::read).collect();
        check("by hand", sums?, self.shape, self.runs)
    }
}

/// Each element of each sum is as many as nodes ran on it: exact up to 2^24, which no run here comes near.
fn check(side: &str, sums: Vec<Vec<f32>>, shape: Shape, runs: usize) -> Said<()> {
    let wanted = (shape.length * runs) as f32;
    let wrong = sums.iter().flatten().find(|value| **value != wanted);
    match wrong {
        None => Ok(()),
        Some(value) => Err(format!("{shape:?} {side} computed {value}, not {wanted}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_recorded_step_by_step() {
        assert_eq!(Shape { chains: 2, length: 3 }.nodes().collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn a_sum_says_how_often_its_chain_ran() {
        let shape = Shape { chains: 2, length: 3 };
        assert_eq!(check("ours", vec![vec![6.0; 4]; 2], shape, 2), Ok(()));
        let error = check("ours", vec![vec![6.0; 4], vec![6.0, 5.0]], shape, 2).expect_err("one is less");
        assert!(error.contains("computed 5, not 6"), "{error}");
    }

    #[test]
    fn both_sides_take_as_many_turns_and_are_checked() {
        struct Counted(u32, std::cell::Cell<u32>);
        impl Side for Counted {
            fn run(&mut self, times: &mut Times) -> Said<()> {
                self.0 += 1;
                times.issue.push(1.0);
                times.total.push(f64::from(self.0));
                Ok(())
            }

            fn check(&self) -> Said<()> {
                self.1.set(self.1.get() + 1);
                Ok(())
            }
        }
        let (mut ours, mut theirs) = (Counted(0, 0.into()), Counted(0, 0.into()));
        let volume = Volume { rounds: 5, repeats: 2, ..Volume::QUICK };
        let times = turns(volume, &mut ours, &mut theirs).expect("all goes well");
        assert_eq!(times.each_ref().map(|times| (times.issue.len(), times.total.len())), [(10, 10); 2]);
        // One before all, and one before each turn, are not timed.
        assert_eq!([(ours.0, ours.1.get()), (theirs.0, theirs.1.get())], [(16, 2); 2]);
    }
}
