//! What is to be measured: workloads at their sizes, made from the command line.

use graphreel::Result;

use super::plan::Plan;
use super::stopwatch::Stopwatch;
use super::target::Target;
use super::topology::{Shape, gpu_bound, launch_bound};
use crate::args::{BenchArgs, WorkloadArg};
use crate::digits::{self, Batches};
use crate::failure::Failure;

/// Sizes unless the caller names some.
const NODES: [u32; 4] = [1, 10, 100, 1000];
/// Under the sanitizer, which is slow, and sees in a long graph what it saw in a short one.
const NODES_SANITIZED: [u32; 2] = [1, 10];
/// A GPU-bound node takes at least this long beyond the launch of a small one.
const NODE_MICROS_MIN: u128 = 150;
/// No device needs more steps for that.
const ROUNDS_MAX: u32 = 1 << 22;

/// One workload at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    workload: WorkloadArg,
    nodes: u32,
}

/// A case as a plan; with batches where its input changes from run to run.
pub(crate) struct Work {
    pub(crate) plan: Plan,
    pub(crate) batches: Option<Batches>,
}

impl Case {
    /// Every case that the arguments ask for, each once.
    pub(crate) fn all(args: &BenchArgs) -> Vec<Self> {
        use WorkloadArg::{All, Chain, Diamond, Digits, Fanout, GpuBound, Independent};
        let mut cases = Vec::new();
        let default = if args.sanitize { &NODES_SANITIZED[..] } else { &NODES[..] };
        let nodes = if args.nodes.is_empty() { default } else { &args.nodes };
        for asked in &args.workload {
            let workloads = match asked {
                All => vec![Chain, Independent, Fanout, Diamond, GpuBound, Digits],
                one => vec![*one],
            };
            for workload in workloads {
                let sizes = if workload == Digits { &[0][..] } else { nodes };
                cases.extend(sizes.iter().map(|nodes| Self { workload, nodes: *nodes }));
            }
        }
        let mut once = Vec::with_capacity(cases.len());
        cases.into_iter().for_each(|case| {
            if !once.contains(&case) {
                once.push(case)
            }
        });
        once
    }

    /// The workload's name, as on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self.workload {
            WorkloadArg::All => "all",
            WorkloadArg::Chain => "chain",
            WorkloadArg::Independent => "independent",
            WorkloadArg::Fanout => "fanout",
            WorkloadArg::Diamond => "diamond",
            WorkloadArg::GpuBound => "gpu-bound",
            WorkloadArg::Digits => "digits",
        }
    }

    /// The nodes asked for; 0 where the workload decides.
    pub(crate) fn nodes(self) -> usize {
        self.nodes as usize
    }

    /// The work itself. `target` is asked how fast it is where that decides.
    pub(crate) fn work(self, target: &mut Target) -> Result<Work, Failure> {
        let shaped = |shape| Work { plan: launch_bound(shape, self.nodes), batches: None };
        Ok(match self.workload {
            WorkloadArg::All | WorkloadArg::Chain => shaped(Shape::Chain),
            WorkloadArg::Independent => shaped(Shape::Independent),
            WorkloadArg::Fanout => shaped(Shape::Fanout),
            WorkloadArg::Diamond => shaped(Shape::Diamond),
            WorkloadArg::GpuBound => Work { plan: gpu_bound(self.nodes, rounds(target)?), batches: None },
            WorkloadArg::Digits => {
                let (plan, batches) = digits::plan(&digits::network()?, &digits::images()?);
                Work { plan, batches: Some(batches) }
            }
        })
    }
}

/// How many steps a GPU-bound node does on this device: found once, by doubling until a node takes long enough.
fn rounds(target: &mut Target) -> Result<u32> {
    if let Some(rounds) = target.rounds {
        return Ok(rounds);
    }
    let launch = shortest_micros(target, &launch_bound(Shape::Chain, 1))?;
    let mut rounds = 1;
    while rounds < ROUNDS_MAX
        && shortest_micros(target, &gpu_bound(1, rounds))?.saturating_sub(launch) < NODE_MICROS_MIN
    {
        rounds *= 2;
    }
    target.rounds = Some(rounds);
    Ok(rounds)
}

/// The shortest of a few eager runs, in microseconds: what disturbs a run only makes it longer.
fn shortest_micros(target: &mut Target, plan: &Plan) -> Result<u128> {
    let bound = target.bind(plan)?;
    let mut shortest = u128::MAX;
    for _ in 0..5 {
        bound.settle()?;
        let stopwatch = Stopwatch::start();
        bound.eager()?;
        bound.settle()?;
        shortest = shortest.min(stopwatch.elapsed().as_micros());
    }
    Ok(shortest)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn cases(line: &[&str]) -> Vec<Case> {
        let cli = Cli::try_parse_from(["graphreel", "bench"].iter().chain(line)).expect("valid");
        let Command::Bench(args) = cli.command else { panic!("bench was asked for") };
        Case::all(&args)
    }

    #[test]
    fn digits_has_one_case_and_the_others_one_for_each_size() {
        assert_eq!(cases(&[]).len(), 5 * 4 + 1);
        assert_eq!(cases(&["--workload", "digits", "--nodes", "1,2,3"]).len(), 1);
        assert_eq!(cases(&["--sanitize"]).len(), 5 * 2 + 1);
    }

    #[test]
    fn what_is_named_twice_is_run_once() {
        assert_eq!(cases(&["--workload", "chain,chain", "--nodes", "5,5"]).len(), 1);
    }
}
