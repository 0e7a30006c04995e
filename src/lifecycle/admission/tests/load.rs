//! Load in virtual time: 64 producers by seed, sizes up to 1.2 times what a device has, nearly a third of them cancelled,
//! a fifth past their deadline. 50,000 requests, a million with `GRAPHREEL_THOROUGH=1`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use super::{assert_sums, envelope, thorough};
use crate::clock::{Deadline, Tick};
use crate::lifecycle::admission::ledger::{DeviceLedger, Placement};
use crate::lifecycle::admission::queue::OVERTAKES_MAX;
use crate::lifecycle::admission::refusal::Refusal;
use crate::lifecycle::admission::request::{AdmissionClass, GrantRequest};
use crate::lifecycle::admission::state::{AdmissionState, Arrival, Decision};
use crate::lifecycle::config::QueueBounds;

const PRODUCERS: u64 = 64;
const CAPACITY: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Submit(u64),
    /// The producer gives up on request `.0`: it leaves the queue, or gives its grant back early.
    Cancel(u64),
    Finish(u64),
}

enum Stage {
    Waiting { id: u64, deadline: Duration },
    Held(Placement),
}

struct Load {
    rng: fastrand::Rng,
    state: AdmissionState<u64>,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    /// Requests without an outcome, or with a grant.
    open: HashMap<u64, Stage>,
    now: Duration,
    next: u64,
    requests: u64,
    held: usize,
    waiting: usize,
    /// Committed bytes and grants by device, counted apart from the ledgers.
    used: Vec<(u64, usize)>,
    outcomes: u64,
}

impl Load {
    fn new(seed: u64, requests: u64) -> Self {
        let devices: Vec<_> = (0..4).map(|ordinal| envelope(ordinal, CAPACITY, 8)).collect();
        let used = vec![(0, 0); devices.len()];
        let ledgers = devices.into_iter().map(DeviceLedger::new).collect();
        let state = AdmissionState::new(ledgers, QueueBounds::new(256, Duration::from_secs(30)));
        let mut load = Self {
            rng: fastrand::Rng::with_seed(seed),
            state,
            events: BinaryHeap::new(),
            open: HashMap::new(),
            now: Duration::ZERO,
            next: 0,
            requests,
            held: 0,
            waiting: 0,
            used,
            outcomes: 0,
        };
        for producer in 0..PRODUCERS {
            load.plan(Event::Submit(producer), 1000);
        }
        load
    }

    fn plan(&mut self, event: Event, within_ms: u64) {
        let at = self.now + Duration::from_micros(self.rng.u64(..within_ms * 1000));
        let order = self.rng.u64(..);
        self.events.push(Reverse((at, order, event)));
    }

    fn request(&mut self) -> (GrantRequest, Duration) {
        let rng = &mut self.rng;
        let bytes = match rng.u8(..10) {
            0 => rng.u64(CAPACITY / 2..CAPACITY * 6 / 5),
            1..4 => rng.u64(..CAPACITY / 3),
            _ => rng.u64(..CAPACITY / 16),
        };
        let class = [AdmissionClass::High, AdmissionClass::Normal, AdmissionClass::Low][rng.usize(..3)];
        let deadline = match rng.u8(..20) {
            0 => self.now.saturating_sub(Duration::from_micros(rng.u64(..50))),
            1..4 => self.now + Duration::from_micros(rng.u64(1..400_000)),
            _ => self.now + Duration::from_secs(30),
        };
        let request = GrantRequest {
            bytes: Some(bytes),
            class,
            deadline: Some(Deadline::at(Tick(deadline))),
            ..GrantRequest::default()
        };
        (request, deadline)
    }

    fn submit(&mut self, producer: u64) {
        if self.next == self.requests {
            return;
        }
        let name = self.next;
        self.next += 1;
        self.plan(Event::Submit(producer), 1300);
        let (request, deadline) = self.request();
        let mut decisions = Vec::new();
        match self.state.arrive(Tick(self.now), &request, &mut decisions) {
            Arrival::Refused(refusal) => {
                let is_too_large = matches!(refusal, Refusal::ExceedsCapacity { .. });
                assert_eq!(is_too_large, request.bytes > Some(CAPACITY), "{refusal:?}");
                assert!(is_too_large || (refusal == Refusal::WaitElapsed && deadline <= self.now), "{refusal:?}");
                self.outcomes += 1;
            }
            Arrival::Placed(placement) => {
                assert!(deadline > self.now, "a grant past its deadline");
                self.grant(name, placement);
            }
            Arrival::MustWait(demand) => match self.state.enqueue(demand, name) {
                Ok(id) => {
                    self.open.insert(name, Stage::Waiting { id, deadline });
                    self.waiting += 1;
                }
                Err((refusal, back)) => {
                    assert_eq!((refusal, back, self.waiting), (Refusal::QueueFull { bound: 256 }, name, 256));
                    self.outcomes += 1;
                }
            },
        }
        if self.rng.u8(..10) < 3 {
            self.plan(Event::Cancel(name), 500);
        }
        self.deliver(decisions);
    }

    fn grant(&mut self, name: u64, placement: Placement) {
        let used = &mut self.used[placement.index];
        *used = (used.0 + placement.bytes, used.1 + 1);
        self.held += 1;
        self.outcomes += 1;
        self.open.insert(name, Stage::Held(placement));
        self.plan(Event::Finish(name), 800);
    }

    fn deliver(&mut self, decisions: Vec<Decision<u64>>) {
        for decision in decisions {
            match decision {
                Decision::Granted { waiting, placement, .. } => {
                    let stage = self.open.remove(&waiting);
                    let Some(Stage::Waiting { deadline, .. }) = stage else { panic!("request {waiting} did not wait") };
                    assert!(deadline > self.now, "a grant past its deadline");
                    self.waiting -= 1;
                    self.grant(waiting, placement);
                }
                Decision::Refused { id, waiting, refusal } => {
                    let Some(Stage::Waiting { id: known, deadline }) = self.open.remove(&waiting) else {
                        panic!("request {waiting} did not wait")
                    };
                    assert_eq!(id, known);
                    match refusal {
                        Refusal::WaitElapsed => assert_eq!(deadline, self.now, "told at its tick"),
                        other => assert_eq!(other, Refusal::Cancelled),
                    }
                    self.waiting -= 1;
                    self.outcomes += 1;
                }
            }
        }
        self.check();
    }

    fn check(&self) {
        for (ledger, used) in self.state.ledgers().iter().zip(&self.used) {
            assert_eq!((ledger.committed_bytes, ledger.active), *used);
            assert!(used.0 <= CAPACITY && used.1 <= 8);
        }
        let counters = self.state.counters();
        assert_sums(counters, self.waiting, self.held);
        assert_eq!(counters.submitted, self.next);
        assert!(counters.overtakes_max <= OVERTAKES_MAX);
    }

    /// Give a grant back, if it is still held.
    fn finish(&mut self, name: u64) {
        match self.open.remove(&name) {
            Some(Stage::Held(placement)) => {
                let used = &mut self.used[placement.index];
                *used = (used.0 - placement.bytes, used.1 - 1);
                self.held -= 1;
                let mut decisions = Vec::new();
                self.state.release(Tick(self.now), placement, &mut decisions);
                self.deliver(decisions);
            }
            Some(waiting) => {
                self.open.insert(name, waiting);
            }
            None => {}
        }
    }

    fn cancel(&mut self, name: u64) {
        if let Some(Stage::Waiting { id, .. }) = self.open.get(&name) {
            let mut decisions = Vec::new();
            assert!(self.state.cancel(Tick(self.now), *id, &mut decisions));
            self.deliver(decisions);
        } else {
            self.finish(name);
        }
    }

    fn run(mut self) -> AdmissionState<u64> {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            while let Some(due) = self.state.next_deadline().filter(|due| due.0 <= at) {
                self.now = due.0;
                let mut decisions = Vec::new();
                self.state.advance(due, &mut decisions);
                assert!(!decisions.is_empty(), "the timer was set for nothing");
                self.deliver(decisions);
            }
            self.now = at;
            match event {
                Event::Submit(producer) => self.submit(producer),
                Event::Cancel(name) => self.cancel(name),
                Event::Finish(name) => self.finish(name),
            }
        }
        assert_eq!((self.outcomes, self.open.len()), (self.requests, 0), "each request has one outcome");
        assert_sums(self.state.counters(), 0, 0);
        self.state
    }
}

/// XB-14, B-109, B-110: each request has one outcome, deadlines to the tick, and no ledger is ever exceeded.
#[test]
fn a_million_requests_in_virtual_time() {
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    let requests = if thorough() { 1_000_000 } else { 50_000 };
    let state = Load::new(seed, requests).run();
    let counters = state.counters();
    for count in [counters.expired, counters.cancelled, counters.refused_at_once, counters.placed_at_once] {
        assert!(count > requests / 100, "the load is lopsided: {counters:?}");
    }
    assert!(counters.granted - counters.placed_at_once > requests / 100, "the load is lopsided: {counters:?}");
    assert_eq!(counters.overtakes_max, OVERTAKES_MAX, "large ones are passed: {counters:?}");
    for device in state.snapshot().devices {
        assert_eq!((device.committed_bytes, device.active, device.source_slots_in_use, device.queued), (0, 0, 0, 0));
    }
}
