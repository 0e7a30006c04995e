//! One instruction, and the state of the invocation that it changes.

use super::Epoch;
use super::kind::Bits;
use super::program::Tables;
use super::view::Bound;
use super::watch::Watch;

/// Does an instruction and answers which comes next. `STOP` ends or suspends the invocation.
pub(super) type Run = for<'l, 'a> fn(&'l mut Lane<'a>, &Inst, usize) -> usize;

/// No instruction: the invocation stops, and [`Lane::stop`] says why.
pub(super) const STOP: usize = usize::MAX;

/// Steps between two looks at whether the run was called off: a fraction of a millisecond.
pub(super) const SLICE: u64 = 1 << 14;

/// An instruction. What the operands mean is the function's business; most are slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    pub(super) run: Run,
    pub(super) dst: u32,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) c: u32,
    /// How many components.
    pub(super) n: u32,
    pub(super) m: u32,
}

/// Why an invocation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It returned from the entry point.
    Ended,
    /// It waits for others at the instruction.
    Waits(usize),
    /// It used up its steps at the instruction.
    Endless(usize),
    /// Nobody wants its result any more.
    CalledOff(usize),
}

/// An invocation while it runs.
pub(super) struct Lane<'a> {
    /// Its registers and its function and private variables.
    pub(super) slots: &'a mut [u64],
    /// Its workgroup's variables.
    pub(super) group: &'a mut [u64],
    /// The bindings, and behind them the immediate data.
    pub(super) bound: &'a [Bound<'a>],
    pub(super) tables: &'a Tables,
    /// Steps that it may take until it looks around, and those that it may take later.
    pub(super) steps: u64,
    pub(super) later: u64,
    pub(super) epoch: Option<Epoch<'a>>,
    pub(super) stop: Stop,
    pub(super) watch: Option<&'a mut Watch>,
}

impl Lane<'_> {
    #[inline(always)]
    pub(super) fn get<T: Bits>(&self, slot: u32) -> T {
        T::of(self.slots[slot as usize])
    }

    #[inline(always)]
    pub(super) fn set<T: Bits>(&mut self, slot: u32, value: T) {
        self.slots[slot as usize] = value.bits();
    }

    /// Run from an instruction until the invocation stops.
    pub(super) fn run(&mut self, code: &[Inst], mut pc: usize) {
        while let Some(inst) = code.get(pc) {
            pc = (inst.run)(self, inst, pc);
        }
    }

    /// Pay for going back to an earlier instruction, or into a function.
    #[inline(always)]
    pub(super) fn pay(&mut self, steps: u32, pc: usize, next: usize) -> usize {
        match self.steps.checked_sub(u64::from(steps)) {
            Some(left) => {
                self.steps = left;
                next
            }
            None => self.look_around(u64::from(steps), pc, next),
        }
    }

    /// A slice of steps is used up.
    #[cold]
    #[inline(never)]
    fn look_around(&mut self, steps: u64, pc: usize, next: usize) -> usize {
        if self.epoch.is_some_and(|epoch| epoch.is_over()) {
            self.stop = Stop::CalledOff(pc);
            return STOP;
        }
        let Some(left) = (self.steps + self.later).checked_sub(steps) else {
            self.stop = Stop::Endless(pc);
            return STOP;
        };
        self.steps = left.min(SLICE);
        self.later = left - self.steps;
        next
    }
}
