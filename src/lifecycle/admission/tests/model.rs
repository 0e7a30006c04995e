//! Admission as plainly as it can be written: lists that are searched and sorted for every decision.

use std::time::Duration;

use crate::lifecycle::admission::queue::{AGEING_STEP, OVERTAKES_MAX};
use crate::lifecycle::admission::refusal::Refusal;
use crate::lifecycle::admission::snapshot::AdmissionCounters;

/// What was decided for a waiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Granted { id: u64, device: usize, bytes: u64, wait: Duration },
    Refused { id: u64, refusal: Refusal },
}

/// What became of a request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Placed { device: usize, bytes: u64 },
    Queued(u64),
    Declined,
    Refused(Refusal),
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) bytes: Option<u64>,
    /// 1 high, 2 normal, 3 low.
    pub(super) class: u64,
    pub(super) devices: Vec<usize>,
    pub(super) deadline: Duration,
    pub(super) queues: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) capacity: u64,
    pub(super) default: u64,
    pub(super) max_active: usize,
    pub(super) sources: usize,
    pub(super) sources_each: usize,
    pub(super) is_closed: bool,
    /// The bytes of each grant.
    pub(super) held: Vec<u64>,
}

impl Device {
    fn free(&self) -> u64 {
        self.capacity - self.held.iter().sum::<u64>()
    }

    fn need(&self, bytes: Option<u64>) -> u64 {
        bytes.unwrap_or(self.default)
    }

    fn fits(&self, bytes: Option<u64>) -> bool {
        let count = self.held.len();
        !self.is_closed
            && count < self.max_active
            && (count + 1) * self.sources_each <= self.sources
            && self.need(bytes) <= self.free()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) id: u64,
    pub(super) asked: Asked,
    since: Duration,
    /// Open devices that are large enough.
    pub(super) devices: Vec<usize>,
    passed: u64,
    is_kept_for: bool,
}

pub(super) struct Model {
    pub(super) devices: Vec<Device>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) counters: AdmissionCounters,
    pub(super) now: Duration,
    pub(super) bound: usize,
    next_id: u64,
}

impl Model {
    pub(super) fn new(devices: Vec<Device>, bound: usize) -> Self {
        let counters = AdmissionCounters::default();
        Self { devices, waiters: Vec::new(), counters, now: Duration::ZERO, bound, next_id: 0 }
    }

    /// Where a waiter stands: smaller is earlier.
    fn place(&self, waiter: &Waiter) -> (u64, u64) {
        let steps = ((self.now - waiter.since).as_nanos() / AGEING_STEP.as_nanos()) as u64;
        let line = waiter.asked.class.saturating_sub(steps).max(1);
        (if waiter.is_kept_for { 0 } else { line }, waiter.id)
    }

    /// The device for somebody at that place.
    fn room(&self, place: (u64, u64), devices: &[usize], bytes: Option<u64>) -> Option<usize> {
        let ahead = self.waiters.iter().filter(|other| other.is_kept_for && self.place(other) < place);
        let kept: Vec<usize> = ahead.flat_map(|other| other.devices.clone()).collect();
        let usable = devices.iter().copied().filter(|device| !kept.contains(device));
        let fitting = usable.filter(|device| self.devices[*device].fits(bytes));
        fitting.max_by_key(|device| (self.devices[*device].free(), std::cmp::Reverse(*device)))
    }

    fn room_of(&self, waiter: &Waiter) -> Option<usize> {
        self.room(self.place(waiter), &waiter.devices, waiter.asked.bytes)
    }

    fn pass(&mut self, place: (u64, u64), device: usize) {
        let is_passed = |waiter: &Waiter| {
            let is_later = place.1 > waiter.id && self.room_of(waiter).is_none();
            let shares = waiter.devices.contains(&device) && waiter.id != place.1;
            shares && (self.place(waiter) < place || is_later)
        };
        let earlier_ahead = |one: &Waiter, other: &Waiter| {
            let shares = one.devices.iter().any(|device| other.devices.contains(device));
            one.id < other.id && self.place(one).0 <= self.place(other).0 && shares
        };
        let passed: Vec<bool> = self.waiters.iter().map(is_passed).collect();
        let is_full = |index: usize| passed[index] && self.waiters[index].passed + 1 >= OVERTAKES_MAX;
        let kept: Vec<bool> = (0..self.waiters.len())
            .map(|one| {
                let behind = |other| is_full(other) && earlier_ahead(&self.waiters[one], &self.waiters[other]);
                is_full(one) || (0..self.waiters.len()).any(behind)
            })
            .collect();
        for (index, waiter) in self.waiters.iter_mut().enumerate() {
            waiter.passed += u64::from(passed[index]);
            waiter.is_kept_for |= kept[index];
            assert!(waiter.passed <= OVERTAKES_MAX, "{waiter:?} was passed too often");
            self.counters.overtakes_max = self.counters.overtakes_max.max(waiter.passed);
        }
    }

    fn serve(&mut self, told: &mut Vec<Told>) {
        loop {
            let mut order: Vec<&Waiter> = self.waiters.iter().collect();
            order.sort_by_key(|waiter| self.place(waiter));
            let found = order.into_iter().find_map(|waiter| Some((waiter.clone(), self.room_of(waiter)?)));
            let Some((waiter, device)) = found else { return };
            self.assert_first_of_its_kind(&waiter);
            self.pass(self.place(&waiter), device);
            self.waiters.retain(|other| other.id != waiter.id);
            let bytes = self.devices[device].need(waiter.asked.bytes);
            self.devices[device].held.push(bytes);
            self.counters.granted += 1;
            told.push(Told::Granted { id: waiter.id, device, bytes, wait: self.now - waiter.since });
        }
    }

    /// In one class the earlier goes first, unless it needs more or could use other devices.
    fn assert_first_of_its_kind(&self, served: &Waiter) {
        let is_before = |other: &&Waiter| {
            other.id < served.id
                && other.asked.class == served.asked.class
                && other.devices == served.devices
                && other.asked.bytes.is_some() == served.asked.bytes.is_some()
                && other.asked.bytes <= served.asked.bytes
        };
        let before = self.waiters.iter().find(is_before);
        assert!(before.is_none(), "{served:?} was served before {before:?}");
    }

    fn refuse(&mut self, index: usize, refusal: Refusal, told: &mut Vec<Told>) {
        let waiter = self.waiters.remove(index);
        match refusal {
            Refusal::WaitElapsed => self.counters.expired += 1,
            Refusal::Cancelled => self.counters.cancelled += 1,
            _ => self.counters.refused_in_queue += 1,
        }
        told.push(Told::Refused { id: waiter.id, refusal });
    }

    pub(super) fn advance(&mut self, now: Duration, told: &mut Vec<Told>) {
        self.now = now;
        loop {
            let due = self.waiters.iter().enumerate().filter(|(_, waiter)| waiter.asked.deadline <= now);
            let Some((index, _)) = due.min_by_key(|(_, waiter)| (waiter.asked.deadline, waiter.id)) else { break };
            self.refuse(index, Refusal::WaitElapsed, told);
        }
        self.serve(told);
    }

    fn eligible(&self, asked: &Asked) -> Result<Vec<usize>, Refusal> {
        if asked.devices.is_empty() {
            return Err(Refusal::NoCapableDevice);
        }
        let open: Vec<usize> =
            asked.devices.iter().copied().filter(|device| !self.devices[*device].is_closed).collect();
        let largest = open.iter().map(|device| self.devices[*device].capacity).max();
        let Some(largest) = largest else { return Err(Refusal::NoHealthyDevice) };
        let is_large = |device: &usize| self.devices[*device].need(asked.bytes) <= self.devices[*device].capacity;
        let large: Vec<usize> = open.into_iter().filter(is_large).collect();
        if large.is_empty() {
            return Err(Refusal::ExceedsCapacity { bytes: asked.bytes.unwrap(), largest });
        }
        Ok(large)
    }

    pub(super) fn ask(&mut self, now: Duration, asked: Asked, told: &mut Vec<Told>) -> Answer {
        self.advance(now, told);
        self.counters.submitted += 1;
        let eligible = self.eligible(&asked);
        let refusal = match eligible {
            Err(refusal) => refusal,
            Ok(_) if asked.deadline <= now => Refusal::WaitElapsed,
            Ok(devices) => {
                let place = (asked.class, self.next_id);
                if let Some(device) = self.room(place, &devices, asked.bytes) {
                    self.pass(place, device);
                    let bytes = self.devices[device].need(asked.bytes);
                    self.devices[device].held.push(bytes);
                    self.counters.placed_at_once += 1;
                    self.counters.granted += 1;
                    return Answer::Placed { device, bytes };
                }
                if !asked.queues {
                    self.counters.declined += 1;
                    return Answer::Declined;
                }
                if self.waiters.len() < self.bound {
                    let id = self.next_id;
                    self.next_id += 1;
                    self.counters.queued_total += 1;
                    self.waiters.push(Waiter { id, asked, since: now, devices, passed: 0, is_kept_for: false });
                    return Answer::Queued(id);
                }
                Refusal::QueueFull { bound: self.bound }
            }
        };
        self.counters.refused_at_once += 1;
        Answer::Refused(refusal)
    }

    pub(super) fn release(&mut self, now: Duration, device: usize, bytes: u64, told: &mut Vec<Told>) {
        let held = &mut self.devices[device].held;
        let index = held.iter().position(|held| *held == bytes).expect("what is given back was granted");
        held.swap_remove(index);
        self.counters.released += 1;
        self.advance(now, told);
    }

    pub(super) fn cancel(&mut self, now: Duration, id: u64, told: &mut Vec<Told>) -> bool {
        self.advance(now, told);
        let Some(index) = self.waiters.iter().position(|waiter| waiter.id == id) else { return false };
        self.refuse(index, Refusal::Cancelled, told);
        self.serve(told);
        true
    }

    pub(super) fn close(&mut self, now: Duration, device: usize, told: &mut Vec<Told>) -> bool {
        self.advance(now, told);
        if std::mem::replace(&mut self.devices[device].is_closed, true) {
            return true;
        }
        for waiter in &mut self.waiters {
            waiter.devices.retain(|other| *other != device);
        }
        while let Some(index) = self.waiters.iter().position(|waiter| waiter.devices.is_empty()) {
            let refusal = self.eligible(&self.waiters[index].asked).unwrap_err();
            self.refuse(index, refusal, told);
        }
        self.serve(told);
        false
    }
}
