//! Runs the invocations of a workgroup: each until it ends or waits, then those that wait for one another together.

use super::Epoch;
use super::inst::{Lane, SLICE, Stop};
use super::program::{Code, Given, Wait};
use super::subgroup::{Exchange, Meeting, Members};
use super::view::Bound;
use super::watch::Watch;

/// What is the same for every workgroup of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) code: &'a Code,
    pub(super) bound: &'a [Bound<'a>],
    pub(super) groups: [u32; 3],
    pub(super) size: [u32; 3],
    pub(super) subgroup_size: u32,
    pub(super) steps_max: u64,
    pub(super) epoch: Option<Epoch<'a>>,
}

/// Why a workgroup cannot go on, and at which instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) pc: usize,
    pub(super) problem: String,
}

/// How far an invocation is.
#[derive(Clone, Copy, Debug)]
struct Progress {
    state: State,
    steps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It goes on at the instruction.
    Ready(usize),
    /// It waits at the instruction.
    Waits(usize),
    Ended,
}

/// Memory for the workgroups that one thread runs, one after the other.
#[derive(Debug)]
pub(super) struct Crew<'a> {
    setting: Setting<'a>,
    slots: Vec<u64>,
    group: Vec<u64>,
    progress: Vec<Progress>,
    pub(super) watch: Option<Watch>,
}

impl<'a> Crew<'a> {
    pub(super) fn new(setting: Setting<'a>, sanitize: bool) -> Self {
        let code = setting.code;
        let invocations = setting.size.iter().map(|side| *side as usize).product();
        // Without a wait each invocation ends before the next begins, so that all use the same slots.
        let waits = !code.tables.waits.is_empty();
        let mut slots = vec![0; code.slots * if waits { invocations } else { 1 }];
        for lane in slots.chunks_exact_mut(code.slots.max(1)) {
            lane[..code.pool.len()].copy_from_slice(&code.pool);
        }
        Self {
            setting,
            slots,
            group: vec![0; code.group],
            progress: vec![Progress { state: State::Ended, steps: 0 }; if waits { invocations } else { 0 }],
            watch: sanitize.then(|| Watch::new(setting.subgroup_size, invocations, code.group)),
        }
    }

    /// Run a workgroup to its end.
    pub(super) fn run(&mut self, workgroup: [u32; 3], number: u64) -> Result<(), Stuck> {
        self.group.fill(0);
        if let Some(watch) = &mut self.watch {
            watch.begin(workgroup, number);
        }
        if self.progress.is_empty() { self.run_apart(workgroup) } else { self.run_together(workgroup) }
    }

    /// Invocations that never wait, one after the other.
    fn run_apart(&mut self, workgroup: [u32; 3]) -> Result<(), Stuck> {
        let setting = self.setting;
        for (index, local) in places(setting.size).enumerate() {
            introduce(&setting, &mut self.slots, workgroup, local, index);
            let (mut progress, code) = (Progress { state: State::Ended, steps: setting.steps_max }, setting.code);
            let watch = self.watch.as_mut();
            go_on(&setting, (&mut self.slots, &mut self.group), watch, (index, code.entry), &mut progress)?;
        }
        Ok(())
    }

    /// Invocations that wait for one another.
    fn run_together(&mut self, workgroup: [u32; 3]) -> Result<(), Stuck> {
        let setting = self.setting;
        let stride = setting.code.slots;
        for (index, local) in places(setting.size).enumerate() {
            let slots = &mut self.slots[index * stride..(index + 1) * stride];
            introduce(&setting, slots, workgroup, local, index);
            self.progress[index] = Progress { state: State::Ready(setting.code.entry), steps: setting.steps_max };
        }
        loop {
            for (index, slots) in self.slots.chunks_exact_mut(stride.max(1)).enumerate() {
                let progress = &mut self.progress[index];
                if let State::Ready(pc) = progress.state {
                    go_on(&setting, (slots, &mut self.group), self.watch.as_mut(), (index, pc), progress)?;
                }
            }
            if !self.meet() && !self.pass_barrier()? {
                return Ok(());
            }
        }
    }

    /// Let each subgroup do the first operation that some of its invocations wait at. Whether any did.
    fn meet(&mut self) -> bool {
        let size = self.setting.subgroup_size as usize;
        let mut met = false;
        for first in (0..self.progress.len()).step_by(size) {
            let count = size.min(self.progress.len() - first);
            let members = &self.progress[first..first + count];
            let waiting = members.iter().filter_map(|progress| match progress.state {
                State::Waits(pc) => self.exchange(pc).map(|exchange| (pc, *exchange)),
                _ => None,
            });
            // Those that are behind in the code come first, so that the others can be caught up with.
            let Some((pc, exchange)) = waiting.min_by_key(|(pc, _)| *pc) else { continue };
            met = true;
            let here = members.iter().enumerate().filter(|(_, progress)| progress.state == State::Waits(pc));
            let active = here.fold(0u128, |mask, (member, _)| mask | 1 << member);
            if let Some(watch) = &mut self.watch {
                if matches!(exchange.meeting, Meeting::Barrier) {
                    watch.subgroup_barrier(first / size);
                }
                if active.count_ones() as usize != count {
                    watch.divergence(&self.setting.code.tables, pc, active.count_ones(), count);
                }
            }
            let stride = self.setting.code.slots;
            Members { slots: &mut self.slots, stride, first, count, active }.meet(&exchange);
            for progress in &mut self.progress[first..first + count] {
                if progress.state == State::Waits(pc) {
                    progress.state = State::Ready(pc + 1);
                }
            }
        }
        met
    }

    fn exchange(&self, pc: usize) -> Option<&'a Exchange> {
        match wait(self.setting.code, pc) {
            Wait::Subgroup(exchange) => Some(exchange),
            Wait::Barrier { .. } => None,
        }
    }

    /// Let the workgroup pass the barrier that all wait at. Whether there is one.
    fn pass_barrier(&mut self) -> Result<bool, Stuck> {
        let all = self.progress.len();
        let waiting = self.progress.iter().filter_map(|progress| match progress.state {
            State::Waits(pc) => Some(pc),
            _ => None,
        });
        let Some(pc) = waiting.clone().min() else { return Ok(false) };
        let (here, anywhere) = (waiting.clone().filter(|other| *other == pc).count(), waiting.count());
        if here < all {
            let elsewhere = match anywhere - here {
                0 => String::new(),
                others => format!(", {others} wait at another one"),
            };
            let ended = match all - anywhere {
                0 => String::new(),
                ended => format!(", {ended} have ended"),
            };
            return Err(Stuck {
                pc,
                problem: format!(
                    "only {here} of the {all} invocations of a workgroup come to this barrier{elsewhere}{ended}; \
                     let all of them come to it"
                ),
            });
        }
        if let Wait::Barrier { storage, workgroup } = *wait(self.setting.code, pc) {
            if storage {
                // What workgroups tell one another through storage is seen in the order in which it was written.
                graphreel::sync::atomic::fence(graphreel::sync::atomic::Ordering::SeqCst);
            }
            if let Some(watch) = &mut self.watch {
                watch.barrier(storage, workgroup);
            }
        }
        for progress in &mut self.progress {
            progress.state = State::Ready(pc + 1);
        }
        Ok(true)
    }
}

/// What an instruction waits for.
fn wait(code: &Code, pc: usize) -> &Wait {
    &code.tables.waits[code.code[pc].a as usize]
}

/// Run an invocation until it stops.
fn go_on(
    setting: &Setting<'_>,
    (slots, group): (&mut [u64], &mut [u64]),
    mut watch: Option<&mut Watch>,
    (index, pc): (usize, usize),
    progress: &mut Progress,
) -> Result<(), Stuck> {
    if let Some(watch) = &mut watch {
        watch.lane = u32::try_from(index).unwrap_or(u32::MAX);
    }
    let (tables, epoch, steps) = (&setting.code.tables, setting.epoch, progress.steps.min(SLICE));
    // Asked here too, since many short invocations take as long as one that loops.
    if epoch.is_some_and(|epoch| epoch.is_over()) {
        return Err(called_off(pc));
    }
    let (bound, later) = (setting.bound, progress.steps - steps);
    let mut lane = Lane { slots, group, bound, tables, steps, later, epoch, stop: Stop::Ended, watch };
    lane.run(&setting.code.code, pc);
    progress.steps = lane.steps + lane.later;
    progress.state = match lane.stop {
        Stop::CalledOff(pc) => return Err(called_off(pc)),
        Stop::Ended => State::Ended,
        Stop::Waits(pc) => State::Waits(pc),
        Stop::Endless(pc) => {
            return Err(Stuck {
                pc,
                problem: format!(
                    "an invocation took more than {} steps; end the loop, or allow more",
                    setting.steps_max
                ),
            });
        }
    };
    Ok(())
}

fn called_off(pc: usize) -> Stuck {
    Stuck { pc, problem: "the run was called off".to_owned() }
}

/// The places of a grid, x first.
fn places(size: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [x, y, z] = size;
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}

/// Tell an invocation who it is.
fn introduce(setting: &Setting<'_>, slots: &mut [u64], workgroup: [u32; 3], local: [u32; 3], index: usize) {
    let (index, size) = (index as u64, setting.size);
    let subgroup_size = u64::from(setting.subgroup_size);
    for (given, slot) in &setting.code.builtins {
        let slots = &mut slots[*slot as usize..];
        let mut three = |values: [u32; 3]| slots.iter_mut().zip(values).for_each(|(to, value)| *to = u64::from(value));
        match given {
            Given::GlobalId => {
                three(std::array::from_fn(|k| workgroup[k].wrapping_mul(size[k]).wrapping_add(local[k])));
            }
            Given::LocalId => three(local),
            Given::WorkgroupId => three(workgroup),
            Given::WorkgroupSize => three(size),
            Given::Workgroups => three(setting.groups),
            Given::LocalIndex => slots[0] = index,
            Given::SubgroupSize => slots[0] = subgroup_size,
            Given::SubgroupLane => slots[0] = index % subgroup_size,
            Given::SubgroupId => slots[0] = index / subgroup_size,
            Given::Subgroups => {
                let invocations: u64 = size.iter().map(|side| u64::from(*side)).product();
                slots[0] = invocations.div_ceil(subgroup_size);
            }
        }
    }
}
