//! Those that wait, in the order in which they are served: a line for each class, in which the earlier request is ahead,
//! and before all of them the line of those that were passed as often as is allowed (B-113, QB-7).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::clock::Tick;
use crate::lifecycle::admission::devices::DeviceSet;
use crate::lifecycle::admission::ledger::{DeviceLedger, best_fit};
use crate::lifecycle::admission::request::AdmissionClass;

/// How often a waiter that cannot be placed may be passed. Then nothing else is placed on its devices before it.
pub(crate) const OVERTAKES_MAX: u64 = 64;

/// After this long in a line a waiter moves to the line of the next higher class, at its place by arrival.
pub(crate) const AGEING_STEP: Duration = Duration::from_secs(1);

/// Lines: 0 for those that nothing passes, then one for each class.
const LINES: usize = 4;
const UNPASSABLE: usize = 0;

/// What a waiter needs, resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) bytes: Option<u64>,
    pub(crate) class: AdmissionClass,
    /// Devices with the capabilities, closed or too small ones among them.
    pub(crate) capable: DeviceSet,
    /// Those of them that are open and large enough.
    pub(crate) devices: DeviceSet,
    pub(crate) deadline: Tick,
}

/// One that waits, with what its request left in trust.
#[derive(Debug)]
pub(crate) struct Waiter<W> {
    pub(crate) demand: Demand,
    pub(crate) since: Tick,
    pub(crate) waiting: W,
    line: usize,
    ages_at: Option<Tick>,
}

/// The part of a waiter that every decision reads.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    bytes: Option<u64>,
    devices: DeviceSet,
    overtakes: u64,
}

/// A request that is about to get a grant, as those that it passes see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    id: u64,
    line: usize,
    index: usize,
}

/// The latest of those in one line, for the same devices, that were passed as often as is allowed.
#[derive(Clone, Copy, Debug)]
struct Mark {
    line: usize,
    id: u64,
    devices: DeviceSet,
}

impl Mark {
    fn join(self, marks: &mut Vec<Self>) {
        match marks.iter_mut().find(|mark| (mark.line, mark.devices) == (self.line, self.devices)) {
            Some(mark) => mark.id = mark.id.max(self.id),
            None => marks.push(self),
        }
    }

    fn covers(&self, line: usize, entry: &Entry) -> bool {
        let shares = !entry.devices.intersection(self.devices).is_empty();
        line <= self.line && entry.id <= self.id && shares
    }
}

#[derive(Debug)]
pub(crate) struct WaitQueue<W> {
    waiters: BTreeMap<u64, Waiter<W>>,
    /// Each in the order of arrival, which is that of ids.
    lines: [VecDeque<Entry>; LINES],
    ageing: BTreeSet<(Tick, u64)>,
    deadlines: BTreeSet<(Tick, u64)>,
    next_id: u64,
}

fn line_of(class: AdmissionClass) -> usize {
    match class {
        AdmissionClass::High => 1,
        AdmissionClass::Normal => 2,
        AdmissionClass::Low => 3,
    }
}

impl<W> WaitQueue<W> {
    pub(crate) fn new() -> Self {
        Self {
            waiters: BTreeMap::new(),
            lines: Default::default(),
            ageing: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            next_id: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(crate) fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.waiters.values().map(|waiter| &waiter.demand)
    }

    /// What one that waits needs.
    pub(crate) fn demand(&self, id: u64) -> Demand {
        self.waiters[&id].demand
    }

    /// The oldest waiter.
    pub(crate) fn first(&self) -> Option<u64> {
        self.waiters.keys().next().copied()
    }

    pub(crate) fn push(&mut self, demand: Demand, since: Tick, waiting: W) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let line = line_of(demand.class);
        let ages_at = next_step(line, since);
        self.lines[line].push_back(Entry { id, bytes: demand.bytes, devices: demand.devices, overtakes: 0 });
        self.ageing.extend(ages_at.map(|at| (at, id)));
        self.deadlines.insert((demand.deadline, id));
        self.waiters.insert(id, Waiter { demand, since, waiting, line, ages_at });
        id
    }

    /// Take a waiter out, wherever it stands.
    pub(crate) fn remove(&mut self, id: u64) -> Option<Waiter<W>> {
        let waiter = self.waiters.remove(&id)?;
        self.take_entry(waiter.line, id);
        if let Some(at) = waiter.ages_at {
            self.ageing.remove(&(at, id));
        }
        self.deadlines.remove(&(waiter.demand.deadline, id));
        Some(waiter)
    }

    pub(crate) fn next_deadline(&self) -> Option<Tick> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The next whose deadline has come.
    pub(crate) fn first_expired(&self, now: Tick) -> Option<u64> {
        self.deadlines.first().filter(|(deadline, _)| *deadline <= now).map(|(_, id)| *id)
    }

    /// Move those that have waited a step to the line of the next higher class.
    pub(crate) fn age(&mut self, now: Tick) {
        while let Some((at, id)) = self.ageing.first().copied().filter(|(at, _)| *at <= now) {
            self.ageing.pop_first();
            let line = self.waiters[&id].line - 1;
            self.change_line(id, line);
            let waiter = self.waiters.get_mut(&id).expect("what ages waits");
            waiter.ages_at = next_step(line, at);
            self.ageing.extend(waiter.ages_at.map(|at| (at, id)));
        }
    }

    /// The devices that are kept for those that nothing passes.
    pub(crate) fn kept(&self) -> DeviceSet {
        self.lines[UNPASSABLE].iter().fold(DeviceSet::default(), |kept, entry| kept.union(entry.devices))
    }

    /// The first in order that has room now, and the device for it.
    pub(crate) fn first_placeable(&self, ledgers: &[DeviceLedger]) -> Option<(u64, usize)> {
        if self.waiters.is_empty() {
            return None;
        }
        let with_slot = |(index, ledger): (usize, &DeviceLedger)| ledger.has_slot().then_some(index);
        let mut usable: DeviceSet = ledgers.iter().enumerate().filter_map(with_slot).collect();
        let placed = |entry: &Entry, usable: DeviceSet| {
            best_fit(ledgers, entry.devices.intersection(usable), entry.bytes).map(|index| (entry.id, index))
        };
        for entry in &self.lines[UNPASSABLE] {
            if let found @ Some(_) = placed(entry, usable) {
                return found;
            }
            usable = usable.without(entry.devices);
        }
        if usable.is_empty() {
            return None;
        }
        self.lines[1..].iter().flatten().find_map(|entry| placed(entry, usable))
    }

    /// A waiter that gets a grant on device `index`.
    pub(crate) fn passing(&self, id: u64, index: usize) -> Passing {
        Passing { id, line: self.waiters[&id].line, index }
    }

    /// A request that gets a grant as it arrives: it is later than all that wait.
    pub(crate) fn arriving(&self, class: AdmissionClass, index: usize) -> Passing {
        Passing { id: self.next_id, line: line_of(class), index }
    }

    /// Count a pass for every waiter that could have used the device, cannot be placed before the commit, and is ahead in
    /// order or came earlier. Returns the highest count of them.
    pub(crate) fn note_overtakes(&mut self, passing: Passing, ledgers: &[DeviceLedger]) -> u64 {
        let kept = self.kept();
        let (mut most, mut full) = (0, Vec::new());
        for (line, entries) in self.lines.iter_mut().enumerate().skip(1) {
            for entry in entries {
                if line >= passing.line && entry.id >= passing.id {
                    break;
                }
                let is_passed = entry.devices.contains(passing.index)
                    && (line <= passing.line || best_fit(ledgers, entry.devices.without(kept), entry.bytes).is_none());
                if is_passed {
                    entry.overtakes += 1;
                    most = most.max(entry.overtakes);
                    if entry.overtakes == OVERTAKES_MAX {
                        Mark { line, id: entry.id, devices: entry.devices }.join(&mut full);
                    }
                }
            }
        }
        if !full.is_empty() {
            self.keep_for(&full);
        }
        most
    }

    /// Let nothing pass the marked ones any more. Those that came earlier and are ahead of one of them do not pass it: they
    /// move along, so that the order inside a class stays that of arrival.
    fn keep_for(&mut self, full: &[Mark]) {
        let lines = self.lines.iter().enumerate().skip(1);
        let entries = lines.flat_map(|(line, entries)| entries.iter().map(move |entry| (line, entry)));
        let moved = entries.filter(|(line, entry)| full.iter().any(|mark| mark.covers(*line, entry)));
        let moved: Vec<u64> = moved.map(|(_, entry)| entry.id).collect();
        for id in moved {
            let waiter = self.waiters.get_mut(&id).expect("what is passed waits");
            if let Some(at) = waiter.ages_at.take() {
                self.ageing.remove(&(at, id));
            }
            self.change_line(id, UNPASSABLE);
        }
    }

    /// Forget a device. Returns those that now have none.
    pub(crate) fn forget_device(&mut self, index: usize) -> Vec<u64> {
        for entry in self.lines.iter_mut().flatten() {
            entry.devices.remove(index);
        }
        let mut stranded = Vec::new();
        for (id, waiter) in &mut self.waiters {
            waiter.demand.devices.remove(index);
            if waiter.demand.devices.is_empty() {
                stranded.push(*id);
            }
        }
        stranded
    }

    fn change_line(&mut self, id: u64, line: usize) {
        let waiter = self.waiters.get_mut(&id).expect("what changes lines waits");
        let from = std::mem::replace(&mut waiter.line, line);
        let entry = self.take_entry(from, id);
        let entries = &mut self.lines[line];
        let at = entries.partition_point(|other| other.id < id);
        entries.insert(at, entry);
    }

    fn take_entry(&mut self, line: usize, id: u64) -> Entry {
        let entries = &mut self.lines[line];
        let at = entries.partition_point(|other| other.id < id);
        entries.remove(at).filter(|entry| entry.id == id).expect("a waiter stands in its line")
    }
}

/// When one in `line` since `at` moves on.
fn next_step(line: usize, at: Tick) -> Option<Tick> {
    (line > line_of(AdmissionClass::High)).then(|| Tick(at.0.saturating_add(AGEING_STEP)))
}
