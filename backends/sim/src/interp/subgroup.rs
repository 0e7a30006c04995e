//! Subgroup operations: what invocations that wait for one another exchange, done for all of them at once.

use super::kind::Bits;
use super::ops::Two;

/// Where an invocation's value comes from. The number is a slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    First,
    Lane(u32),
    Up(u32),
    Down(u32),
    Xor(u32),
    /// A place within its four neighbours.
    Quad(u32),
    /// The neighbour whose place differs in these bits.
    QuadXor(u32),
}

/// Which values a collective operation joins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scan {
    /// All.
    Reduce,
    /// Those up to and with its own.
    Inclusive,
    /// Those before its own; the first has none.
    Exclusive { neutral: u64 },
}

/// What a subgroup meets for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meeting {
    Barrier,
    /// Which of them hold true; all that are there, where no condition is given.
    Ballot {
        all: bool,
    },
    Gather(From),
    Collective {
        two: Two,
        scan: Scan,
    },
}

/// A meeting, with the slots of argument and result and how many they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) meeting: Meeting,
    pub(super) argument: u32,
    pub(super) n: u32,
    pub(super) dst: u32,
}

/// The invocations of a workgroup as a subgroup sees them.
pub(super) struct Members<'a> {
    /// The slots of every invocation of the workgroup.
    pub(super) slots: &'a mut [u64],
    /// Slots of one invocation.
    pub(super) stride: usize,
    /// The first invocation of the subgroup, and how many it has.
    pub(super) first: usize,
    pub(super) count: usize,
    /// Which of its invocations take part, as bits.
    pub(super) active: u128,
}

impl Members<'_> {
    fn get(&self, member: usize, slot: u32) -> u64 {
        self.slots[(self.first + member) * self.stride + slot as usize]
    }

    fn set(&mut self, member: usize, slot: u32, value: u64) {
        self.slots[(self.first + member) * self.stride + slot as usize] = value;
    }

    fn present(&self) -> impl Iterator<Item = usize> + use<> {
        let (active, count) = (self.active, self.count);
        (0..count).filter(move |member| active >> member & 1 == 1)
    }

    /// Do a meeting for those that take part.
    pub(super) fn meet(&mut self, exchange: &Exchange) {
        match exchange.meeting {
            Meeting::Barrier => {}
            Meeting::Ballot { all } => self.ballot(exchange, all),
            Meeting::Gather(from) => self.gather(exchange, from),
            Meeting::Collective { two, scan } => self.collective(exchange, two, scan),
        }
    }

    fn ballot(&mut self, exchange: &Exchange, all: bool) {
        let holds = |member: &usize| all || bool::of(self.get(*member, exchange.argument));
        let mask = self.present().filter(holds).fold(0u128, |mask, member| mask | 1 << member);
        for member in self.present() {
            for (word, slot) in (0..4).zip(exchange.dst..) {
                self.set(member, slot, u64::from((mask >> (32 * word)) as u32));
            }
        }
    }

    /// The member that `member` takes its value from. One that is not there gives its own, as CUDA's shuffles do; WGSL leaves
    /// it open.
    fn source(&self, member: usize, from: From) -> usize {
        let number = |slot: u32| self.get(member, slot) as u32 as usize;
        let source = match from {
            From::First => self.present().next(),
            From::Lane(slot) => Some(number(slot)),
            From::Up(slot) => member.checked_sub(number(slot)),
            From::Down(slot) => member.checked_add(number(slot)),
            From::Xor(slot) => Some(member ^ number(slot)),
            From::Quad(slot) => Some(member & !3 | number(slot) & 3),
            From::QuadXor(bits) => Some(member ^ bits as usize),
        };
        source.filter(|source| *source < self.count && self.active >> source & 1 == 1).unwrap_or(member)
    }

    fn gather(&mut self, exchange: &Exchange, from: From) {
        let sources: Vec<(usize, usize)> = self.present().map(|member| (member, self.source(member, from))).collect();
        for k in 0..exchange.n {
            let values: Vec<u64> = sources.iter().map(|(_, source)| self.get(*source, exchange.argument + k)).collect();
            for ((member, _), value) in sources.iter().zip(values) {
                self.set(*member, exchange.dst + k, value);
            }
        }
    }

    fn collective(&mut self, exchange: &Exchange, two: Two, scan: Scan) {
        for k in 0..exchange.n {
            let mut joined: Option<u64> = None;
            for member in self.present() {
                let value = self.get(member, exchange.argument + k);
                let with = joined.map_or(value, |joined| two(joined, value));
                match scan {
                    Scan::Reduce => {}
                    Scan::Inclusive => self.set(member, exchange.dst + k, with),
                    Scan::Exclusive { neutral } => self.set(member, exchange.dst + k, joined.unwrap_or(neutral)),
                }
                joined = Some(with);
            }
            if let (Scan::Reduce, Some(joined)) = (scan, joined) {
                for member in self.present() {
                    self.set(member, exchange.dst + k, joined);
                }
            }
        }
    }
}
