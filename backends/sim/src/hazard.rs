//! Finds work on shared memory that nothing orders. A real device runs such work in some order, mostly the right one; here the
//! first call that leaves the order open is misuse, whatever order was run.
//!
//! Each stream has a vector clock: how far into every stream its next command is certain to come after. Events carry it to
//! those who wait for them, and to the host when it sees them passed.

use std::collections::{BTreeMap, HashMap};

use graphreel::sync::Arc;

use crate::exec::Exec;
use crate::failure::{Fail, Rule};
use crate::fault::RunKind;
use crate::graph::Plan;
use crate::op::{Use, Work};
use crate::state::State;

/// Entries of one allocation that are looked through; beyond them the oldest are forgotten, and what they meet is missed.
const HISTORY_MAX: usize = 4_096;
/// Nodes of the largest graph whose inner order is checked: the sets of what comes before each grow with the square.
const NODES_MAX: usize = 4_096;

/// Bytes that work reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) of: Use,
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) write: bool,
}

impl Access {
    fn meets(&self, other: &Self) -> bool {
        let apart = self.start + self.bytes <= other.start || other.start + other.bytes <= self.start;
        (self.write || other.write) && self.bytes > 0 && other.bytes > 0 && !apart
    }

    /// Whether whoever meets `other` meets this as well.
    fn covers(&self, other: &Self) -> bool {
        let inside = self.start <= other.start && other.start + other.bytes <= self.start + self.bytes;
        inside && (self.write || !other.write)
    }
}

/// How far into each stream one is certain to come after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(BTreeMap<u64, u64>);

impl Clock {
    fn merge(&mut self, other: &Self) {
        for (stream, reached) in &other.0 {
            let own = self.0.entry(*stream).or_default();
            *own = (*own).max(*reached);
        }
    }

    fn is_after(&self, stream: u64, number: u64) -> bool {
        self.0.get(&stream).is_some_and(|reached| *reached >= number)
    }

    fn tick(&mut self, stream: u64) -> u64 {
        let own = self.0.entry(stream).or_default();
        *own += 1;
        *own
    }
}

/// What was enqueued lately on each allocation, and what the host has seen done.
#[derive(Debug, Default)]
pub(crate) struct Hazards {
    host: Clock,
    streams: HashMap<u64, Clock>,
    history: HashMap<Use, Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    access: Access,
    stream: u64,
    number: u64,
    kind: RunKind,
}

impl Hazards {
    fn clock(&mut self, stream: u64) -> &mut Clock {
        let clock = self.streams.entry(stream).or_default();
        clock.merge(&self.host);
        clock
    }

    /// Enqueue work on a stream, or say with what earlier work it is not ordered.
    fn enqueue(&mut self, stream: u64, works: &[Arc<Work>]) -> Result<(), String> {
        let mut clock = self.clock(stream).clone();
        let number = clock.tick(stream);
        let accesses = || works.iter().flat_map(|work| work.accesses.iter().map(|access| (work.op.kind(), access)));
        for (kind, access) in accesses() {
            let earlier = self.history.get(&access.of).into_iter().flatten();
            let open = |entry: &&Entry| {
                access.meets(&entry.access) && entry.stream != stream && !clock.is_after(entry.stream, entry.number)
            };
            if let Some(entry) = { earlier }.find(open) {
                let (before, other) = (verb(entry.kind, entry.access.write), entry.stream);
                return Err(format!("{} on s{stream} and {before} on s{other}", verb(kind, access.write)));
            }
        }
        for (kind, access) in accesses() {
            let history = self.history.entry(access.of).or_default();
            history.retain(|entry| !(access.covers(&entry.access) && clock.is_after(entry.stream, entry.number)));
            if history.len() >= HISTORY_MAX {
                history.remove(0);
            }
            history.push(Entry { access: *access, stream, number, kind });
        }
        self.streams.insert(stream, clock);
        Ok(())
    }
}

fn verb(kind: RunKind, write: bool) -> &'static str {
    match (kind, write) {
        (RunKind::Copy, true) => "a copy's write",
        (RunKind::Copy, false) => "a copy's read",
        (RunKind::Fill, _) => "a fill",
        (RunKind::Launch, true) => "a kernel's write",
        (RunKind::Launch, false) => "a kernel's read",
    }
}

/// The first two nodes of a graph that meet in memory with no path between them. Nodes come in an order of their edges.
fn unordered(plan: &Plan, works: &[Arc<Work>]) -> Option<(u32, u32)> {
    let row = works.len().div_ceil(64);
    // For each node the set of nodes before it, as bits.
    let mut before = vec![0u64; works.len() * row];
    let is_before = |before: &[u64], a: u32, b: u32| before[b as usize * row + a as usize / 64] >> (a % 64) & 1 == 1;
    let mut last: HashMap<Use, Vec<(u32, Access)>> = HashMap::new();
    for node in plan.order() {
        for access in &works[node as usize].accesses {
            let earlier = last.entry(access.of).or_default();
            let open = |(other, met): &&(u32, Access)| {
                *other != node && met.meets(access) && !is_before(&before, *other, node)
            };
            if let Some((other, _)) = earlier.iter().find(open) {
                return Some((*other, node));
            }
            earlier.retain(|(other, met)| !(access.covers(met) && is_before(&before, *other, node)));
            earlier.push((node, *access));
        }
        for next in plan.next(node) {
            for word in 0..row {
                before[*next as usize * row + word] |= before[node as usize * row + word];
            }
            before[*next as usize * row + node as usize / 64] |= 1 << (node % 64);
        }
    }
    None
}

impl State {
    /// Refuse work that nothing orders with earlier work on the same bytes.
    pub(crate) fn ordered(&mut self, stream: u64, works: &[Arc<Work>]) -> Result<(), Fail> {
        let Some(hazards) = &mut self.hazards else { return Ok(()) };
        hazards.enqueue(stream, works).or_else(|detail| Fail::misuse(Rule::Unordered, detail))
    }

    /// What comes after all that the stream has now.
    pub(crate) fn clock_of(&mut self, stream: u64) -> Clock {
        self.hazards.as_mut().map(|hazards| hazards.clock(stream).clone()).unwrap_or_default()
    }

    /// Later work of the stream comes after this.
    pub(crate) fn comes_after(&mut self, stream: u64, clock: &Clock) {
        if let Some(hazards) = &mut self.hazards {
            hazards.clock(stream).merge(clock);
        }
    }

    /// The host saw that this is done.
    pub(crate) fn host_saw(&mut self, clock: &Clock) {
        if let Some(hazards) = &mut self.hazards {
            hazards.host.merge(clock);
        }
    }

    /// The host knows that nothing is pending.
    pub(crate) fn host_saw_all(&mut self) {
        let Some(hazards) = &mut self.hazards else { return };
        for clock in hazards.streams.values() {
            hazards.host.merge(clock);
        }
    }

    pub(crate) fn forget_history(&mut self, of: &Use) {
        if let Some(hazards) = &mut self.hazards {
            hazards.history.remove(of);
        }
    }

    /// Refuse a graph two of whose nodes meet in memory and may run in either order. Looked at once for each update.
    pub(crate) fn ordered_inside(&mut self, exec: u64) -> Result<(), Fail> {
        if self.hazards.is_none() {
            return Ok(());
        }
        let Exec { plan, works, checked, .. } = self.exec(exec);
        if std::mem::replace(checked, true) || works.len() > NODES_MAX {
            return Ok(());
        }
        match unordered(plan, works) {
            None => Ok(()),
            Some((a, b)) => Fail::misuse(Rule::Unordered, format!("nodes .{a} and .{b} of x{exec}")),
        }
    }
}
