//! The sanitizer: which invocation touched which bytes since the last barrier, and what was found.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::program::Tables;
use super::view::Bound;
use super::{Finding, FindingKind};

/// The most places that one worker reports.
const PLACES_MAX: usize = 64;

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
}

impl Touch {
    const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite)
    }

    /// Whether two touches of the same bytes by two invocations are a race.
    const fn races(self, other: Self) -> bool {
        let atomic = matches!(self, Self::AtomicRead | Self::AtomicWrite)
            && matches!(other, Self::AtomicRead | Self::AtomicWrite);
        (self.writes() || other.writes()) && !atomic
    }
}

/// A touch, with who did it, where, and how many barriers its subgroup had passed.
#[derive(Clone, Copy, Debug)]
struct Seen {
    lane: u32,
    line: u32,
    touch: Touch,
    subgroup_barriers: u32,
}

/// What was last seen of one place: a write, and reads by up to two invocations, which are enough to show a third any race.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Option<Seen>,
    reads: [Option<Seen>; 2],
}

/// Watches the invocations of one worker, a workgroup at a time.
#[derive(Debug)]
pub(super) struct Watch {
    /// The workgroup, and its number in the grid.
    pub(super) workgroup: [u32; 3],
    pub(super) number: u64,
    /// The invocation that runs.
    pub(super) lane: u32,
    subgroup_size: u32,
    /// Barriers that each subgroup has passed.
    subgroup_barriers: Vec<u32>,
    /// Two bytes each, by their address in this process.
    buffers: HashMap<u64, Cell>,
    group: HashMap<usize, Cell>,
    found: Found,
}

/// A kind of finding and its place: for a race both lines, the later one first.
type Place = (FindingKind, u32, u32);

/// What was found, with the number of the workgroup that showed it first.
pub(super) type Found = BTreeMap<Place, (u64, Finding)>;

impl Watch {
    pub(super) fn new(subgroup_size: u32, invocations: usize) -> Self {
        Self {
            workgroup: [0; 3],
            number: 0,
            lane: 0,
            subgroup_size,
            subgroup_barriers: vec![0; invocations.div_ceil(subgroup_size as usize)],
            buffers: HashMap::new(),
            group: HashMap::new(),
            found: BTreeMap::new(),
        }
    }

    /// The next workgroup begins.
    pub(super) fn begin(&mut self, workgroup: [u32; 3], number: u64) {
        (self.workgroup, self.number) = (workgroup, number);
        self.barrier(true, true);
    }

    /// All invocations passed a barrier, which orders one memory or both.
    pub(super) fn barrier(&mut self, storage: bool, workgroup: bool) {
        if storage {
            self.buffers.clear();
        }
        if workgroup {
            self.group.clear();
        }
    }

    /// A subgroup passed a barrier of its own.
    pub(super) fn subgroup_barrier(&mut self, subgroup: usize) {
        self.subgroup_barriers[subgroup] += 1;
    }

    pub(super) fn found(self) -> Found {
        self.found
    }

    fn note(&mut self, kind: FindingKind, (line, other): (u32, u32), text: impl FnOnce(&Self) -> String) {
        let place = (kind, line, other);
        if self.found.len() < PLACES_MAX && !self.found.contains_key(&place) {
            let text = text(self);
            self.found.insert(place, (self.number, Finding { kind, line, text }));
        }
    }

    fn here(&self) -> String {
        let [x, y, z] = self.workgroup;
        format!("of workgroup ({x}, {y}, {z})")
    }

    /// Slots of workgroup memory are touched.
    pub(super) fn group(&mut self, tables: &Tables, pc: usize, slot: usize, count: usize, touch: Touch) {
        for slot in slot..slot + count {
            let (mut cell, seen) =
                (self.group.get(&slot).copied().unwrap_or_default(), self.seen(touch, tables.line(pc)));
            let other = self.check(&mut cell, seen);
            self.group.insert(slot, cell);
            if let Some(other) = other {
                let name = tables.group_ends.iter().find(|(end, _)| slot < *end as usize).map_or(0, |(_, name)| *name);
                self.race(tables, name, "workgroup variable", (seen, other));
                return;
            }
        }
    }

    /// Bytes of a binding are touched.
    pub(super) fn buffer(
        &mut self,
        tables: &Tables,
        pc: usize,
        (binding, bound): (u32, &Bound<'_>),
        bytes: Range<u64>,
        touch: Touch,
    ) {
        for byte in bytes.step_by(2) {
            let (key, seen) = (bound.identity(byte) | byte & 2, self.seen(touch, tables.line(pc)));
            let mut cell = self.buffers.get(&key).copied().unwrap_or_default();
            let other = self.check(&mut cell, seen);
            self.buffers.insert(key, cell);
            if let Some(other) = other {
                let name = tables.bindings.get(binding as usize).copied().unwrap_or(0);
                self.race(tables, name, &format!("byte {byte} of"), (seen, other));
                return;
            }
        }
    }

    fn seen(&self, touch: Touch, line: u32) -> Seen {
        let subgroup = (self.lane / self.subgroup_size) as usize;
        Seen { lane: self.lane, line, touch, subgroup_barriers: self.subgroup_barriers[subgroup] }
    }

    /// Whether nothing orders two touches.
    fn unordered(&self, now: Seen, before: Seen) -> bool {
        let same_subgroup = now.lane / self.subgroup_size == before.lane / self.subgroup_size;
        let ordered = same_subgroup && now.subgroup_barriers > before.subgroup_barriers;
        now.lane != before.lane && !ordered
    }

    /// Keep a touch, and answer one that it races with.
    fn check(&self, cell: &mut Cell, now: Seen) -> Option<Seen> {
        let before = cell.reads.into_iter().chain([cell.write]).flatten();
        let race = before.into_iter().find(|before| self.unordered(now, *before) && now.touch.races(before.touch));
        if now.touch.writes() {
            cell.write = Some(now);
        } else {
            let own = cell.reads.iter().position(|read| read.is_none_or(|read| read.lane == now.lane));
            cell.reads[own.unwrap_or(1)] = Some(now);
        }
        race
    }

    fn race(&mut self, tables: &Tables, name: u32, what: &str, (now, before): (Seen, Seen)) {
        let verb = |touch: Touch| if touch.writes() { "writes" } else { "reads" };
        let lines = (now.line.max(before.line), now.line.min(before.line));
        self.note(FindingKind::Race, lines, |watch| {
            format!(
                "invocation {} {} {what} `{}` (line {}), which invocation {} {} (line {}) with no barrier between, {}",
                now.lane,
                verb(now.touch),
                tables.names[name as usize],
                now.line,
                before.lane,
                verb(before.touch),
                before.line,
                watch.here()
            )
        });
    }

    /// An index was brought back into its range.
    pub(super) fn out_of_range(&mut self, tables: &Tables, pc: usize, index: u32, elements: u32) {
        self.note(FindingKind::OutOfRange, (tables.line(pc), 0), |watch| {
            let of = match tables.indexed_name(pc) {
                "" => String::new(),
                name => format!(" of `{name}`"),
            };
            format!(
                "index {index}{of} is not below its {elements} elements, in invocation {} {}",
                watch.lane,
                watch.here()
            )
        });
    }

    /// Only some invocations of a subgroup came to an operation.
    pub(super) fn divergence(&mut self, tables: &Tables, pc: usize, came: u32, of: usize) {
        self.note(FindingKind::Divergence, (tables.line(pc), 0), |watch| {
            format!("only {came} of the {of} invocations of a subgroup come to this operation, {}", watch.here())
        });
    }
}

/// Put together what two workers found: of each place, what the first workgroup showed.
pub(super) fn join(mut all: Found, more: Found) -> Found {
    for (place, (number, finding)) in more {
        let entry = all.entry(place).or_insert_with(|| (number, finding.clone()));
        if number < entry.0 {
            *entry = (number, finding);
        }
    }
    all
}
