//! Admission as a pure state machine: events with their time in, decisions out. After every event nothing waits that has
//! room and is not held back by one that was passed as often as is allowed.

use std::time::Duration;

use crate::clock::{Deadline, Tick};
use crate::lifecycle::admission::devices::DeviceSet;
use crate::lifecycle::admission::ledger::{DeviceClosure, DeviceLedger, Placement, best_fit};
use crate::lifecycle::admission::queue::{Demand, Passing, WaitQueue};
use crate::lifecycle::admission::refusal::Refusal;
use crate::lifecycle::admission::request::GrantRequest;
use crate::lifecycle::admission::snapshot::{AdmissionCounters, AdmissionSnapshot, DeviceAdmissionSnapshot};
use crate::lifecycle::config::QueueBounds;

/// What becomes of a request as it arrives.
#[derive(Debug)]
pub(crate) enum Arrival {
    Placed(Placement),
    /// No room now: it may be queued.
    MustWait(Demand),
    Refused(Refusal),
}

/// What was decided for one that waits. Each waiter gets one.
#[derive(Debug)]
pub(crate) enum Decision<W> {
    Granted { id: u64, waiting: W, placement: Placement, queue_wait: Duration },
    Refused { id: u64, waiting: W, refusal: Refusal },
}

/// The ledgers and the queue. `W` is what a waiter leaves in trust; it comes back with its decision.
#[derive(Debug)]
pub(crate) struct AdmissionState<W> {
    /// By ordinal.
    ledgers: Vec<DeviceLedger>,
    queue: WaitQueue<W>,
    counters: AdmissionCounters,
    bounds: QueueBounds,
    /// The latest time that was told; time does not go back.
    now: Tick,
    has_ended: bool,
}

impl<W> AdmissionState<W> {
    /// Nothing granted, nothing waiting. The ledgers are in the order of ordinals.
    pub(crate) fn new(ledgers: Vec<DeviceLedger>, bounds: QueueBounds) -> Self {
        Self {
            ledgers,
            queue: WaitQueue::new(),
            counters: AdmissionCounters::default(),
            bounds,
            now: Tick(Duration::ZERO),
            has_ended: false,
        }
    }

    /// Time has passed: those whose deadline has come are refused, others age. Every event does this first, so that
    /// nothing is granted at or after its deadline, however late the timer is.
    pub(crate) fn advance(&mut self, now: Tick, decisions: &mut Vec<Decision<W>>) {
        self.now = self.now.max(now);
        let before = decisions.len();
        while let Some(id) = self.queue.first_expired(self.now) {
            self.refuse_waiter(id, Refusal::WaitElapsed, decisions);
        }
        self.queue.age(self.now);
        if decisions.len() > before {
            // One that nothing passes may have left.
            self.serve(decisions);
        }
    }

    /// A request arrives: placed now, to wait, or refused. One that must wait is queued by [`AdmissionState::enqueue`] or
    /// dropped by [`AdmissionState::decline`], under the same lock.
    pub(crate) fn arrive(&mut self, now: Tick, request: &GrantRequest, decisions: &mut Vec<Decision<W>>) -> Arrival {
        self.advance(now, decisions);
        self.counters.submitted += 1;
        match self.resolve(request) {
            Err(refusal) => {
                self.counters.refused_at_once += 1;
                Arrival::Refused(refusal)
            }
            Ok(demand) => {
                let usable = demand.devices.without(self.queue.kept());
                match best_fit(&self.ledgers, usable, demand.bytes) {
                    None => Arrival::MustWait(demand),
                    Some(index) => {
                        let passing = self.queue.arriving(demand.class, index);
                        self.count_overtakes(passing);
                        self.counters.placed_at_once += 1;
                        self.counters.granted += 1;
                        Arrival::Placed(self.ledgers[index].commit(index, demand.bytes))
                    }
                }
            }
        }
    }

    /// A request that its caller withdrew before it arrived.
    pub(crate) fn arrive_cancelled(&mut self) -> Refusal {
        self.counters.submitted += 1;
        self.counters.refused_at_once += 1;
        Refusal::Cancelled
    }

    /// Queue what [`AdmissionState::arrive`] found no room for. A full queue gives it back.
    pub(crate) fn enqueue(&mut self, demand: Demand, waiting: W) -> Result<u64, (Refusal, W)> {
        let bound = self.bounds.max_queued_requests();
        if self.queue.len() >= bound {
            self.counters.refused_at_once += 1;
            return Err((Refusal::QueueFull { bound }, waiting));
        }
        self.counters.queued_total += 1;
        Ok(self.queue.push(demand, self.now, waiting))
    }

    /// Do not queue it.
    pub(crate) fn decline(&mut self) {
        self.counters.declined += 1;
    }

    /// A grant comes back.
    pub(crate) fn release(&mut self, now: Tick, placement: Placement, decisions: &mut Vec<Decision<W>>) {
        self.ledgers[placement.index].release(placement);
        self.counters.released += 1;
        self.advance(now, decisions);
        self.serve(decisions);
    }

    /// A waiter is withdrawn; false if it does not wait any more.
    pub(crate) fn cancel(&mut self, now: Tick, id: u64, decisions: &mut Vec<Decision<W>>) -> bool {
        self.advance(now, decisions);
        let found = self.refuse_waiter(id, Refusal::Cancelled, decisions);
        if found {
            self.serve(decisions);
        }
        found
    }

    /// A device admits nothing from now on; waiters that have no other are refused (B-112). `None` when there is no such
    /// device, else whether it was closed before.
    pub(crate) fn close_device(
        &mut self,
        now: Tick,
        ordinal: usize,
        closure: DeviceClosure,
        decisions: &mut Vec<Decision<W>>,
    ) -> Option<bool> {
        self.advance(now, decisions);
        let index = self.ledgers.iter().position(|ledger| ledger.envelope.ordinal == ordinal)?;
        let was_closed = self.ledgers[index].close(closure);
        if !was_closed {
            for id in self.queue.forget_device(index) {
                let demand = self.queue.demand(id);
                let refusal = self.eligible(demand.capable, demand.bytes).err().unwrap_or(Refusal::NoHealthyDevice);
                self.refuse_waiter(id, refusal, decisions);
            }
            self.serve(decisions);
        }
        Some(was_closed)
    }

    /// Admit nothing from now on and refuse all that wait.
    pub(crate) fn end(&mut self, decisions: &mut Vec<Decision<W>>) {
        self.has_ended = true;
        while let Some(id) = self.queue.first() {
            self.refuse_waiter(id, Refusal::Closing, decisions);
        }
    }

    /// When [`AdmissionState::advance`] is due.
    pub(crate) fn next_deadline(&self) -> Option<Tick> {
        self.queue.next_deadline()
    }

    pub(crate) fn snapshot(&self) -> AdmissionSnapshot {
        let mut queued_by_class = [0; 3];
        let mut queued = vec![0; self.ledgers.len()];
        for demand in self.queue.demands() {
            queued_by_class[demand.class as usize] += 1;
            demand.devices.iter().for_each(|index| queued[index] += 1);
        }
        let device = |(ledger, queued): (&DeviceLedger, usize)| DeviceAdmissionSnapshot {
            ordinal: ledger.envelope.ordinal,
            capacity_bytes: ledger.envelope.capacity_bytes,
            committed_bytes: ledger.committed_bytes,
            active: ledger.active,
            max_active: ledger.envelope.max_active,
            source_slots_in_use: ledger.source_slots_in_use,
            source_slots: ledger.envelope.source_slots,
            queued,
            closure: ledger.closure.clone(),
        };
        AdmissionSnapshot {
            devices: self.ledgers.iter().zip(queued).map(device).collect(),
            queued_by_class,
            queued: self.queue.len(),
            max_queued_requests: self.bounds.max_queued_requests(),
            counters: self.counters,
        }
    }

    #[cfg(test)]
    pub(crate) fn ledgers(&self) -> &[DeviceLedger] {
        &self.ledgers
    }

    #[cfg(test)]
    pub(crate) fn counters(&self) -> AdmissionCounters {
        self.counters
    }

    /// What a request comes to here, or why it can never be placed.
    fn resolve(&self, request: &GrantRequest) -> Result<Demand, Refusal> {
        if self.has_ended {
            return Err(Refusal::Closing);
        }
        let is_named = |ordinal| request.devices.as_ref().is_none_or(|devices| devices.contains(&ordinal));
        let is_capable = |(index, ledger): (usize, &DeviceLedger)| {
            let envelope = &ledger.envelope;
            (is_named(envelope.ordinal) && envelope.capabilities.accepts(&request.required)).then_some(index)
        };
        let capable: DeviceSet = self.ledgers.iter().enumerate().filter_map(is_capable).collect();
        let devices = self.eligible(capable, request.bytes)?;
        let default = Tick(self.now.0.saturating_add(self.bounds.default_wait()));
        let deadline = request.deadline.and_then(Deadline::tick).unwrap_or(default);
        if deadline <= self.now {
            return Err(Refusal::WaitElapsed);
        }
        Ok(Demand { bytes: request.bytes, class: request.class, capable, devices, deadline })
    }

    /// The open ones of the capable devices that could ever grant so much.
    fn eligible(&self, capable: DeviceSet, bytes: Option<u64>) -> Result<DeviceSet, Refusal> {
        if capable.is_empty() {
            return Err(Refusal::NoCapableDevice);
        }
        let open: DeviceSet = capable.iter().filter(|index| self.ledgers[*index].is_open()).collect();
        if open.is_empty() {
            return Err(Refusal::NoHealthyDevice);
        }
        let is_large = |index: &usize| {
            let ledger = &self.ledgers[*index];
            ledger.need(bytes) <= ledger.envelope.capacity_bytes
        };
        let eligible: DeviceSet = open.iter().filter(is_large).collect();
        if eligible.is_empty() {
            let largest = open.iter().map(|index| self.ledgers[index].envelope.capacity_bytes).max();
            let (bytes, largest) = (bytes.unwrap_or_default(), largest.unwrap_or_default());
            return Err(Refusal::ExceedsCapacity { bytes, largest });
        }
        Ok(eligible)
    }

    /// Place those that have room, in order.
    fn serve(&mut self, decisions: &mut Vec<Decision<W>>) {
        while let Some((id, index)) = self.queue.first_placeable(&self.ledgers) {
            let passing = self.queue.passing(id, index);
            self.count_overtakes(passing);
            let waiter = self.queue.remove(id).expect("what was found waits");
            let placement = self.ledgers[index].commit(index, waiter.demand.bytes);
            let queue_wait = self.now.0.saturating_sub(waiter.since.0);
            self.counters.granted += 1;
            decisions.push(Decision::Granted { id, waiting: waiter.waiting, placement, queue_wait });
        }
    }

    fn count_overtakes(&mut self, passing: Passing) {
        let most = self.queue.note_overtakes(passing, &self.ledgers);
        self.counters.overtakes_max = self.counters.overtakes_max.max(most);
    }

    fn refuse_waiter(&mut self, id: u64, refusal: Refusal, decisions: &mut Vec<Decision<W>>) -> bool {
        let Some(waiter) = self.queue.remove(id) else { return false };
        match refusal {
            Refusal::WaitElapsed => self.counters.expired += 1,
            Refusal::Cancelled => self.counters.cancelled += 1,
            _ => self.counters.refused_in_queue += 1,
        }
        decisions.push(Decision::Refused { id, waiting: waiter.waiting, refusal });
        true
    }
}
