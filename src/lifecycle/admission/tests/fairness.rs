//! Who goes first, by example: classes, ageing, and how often one that cannot fit is passed.

use std::time::Duration;

use super::{MIB, bounds, bytes, class, envelope};
use crate::clock::Tick;
use crate::lifecycle::admission::ledger::{DeviceEnvelope, DeviceLedger, Placement};
use crate::lifecycle::admission::queue::OVERTAKES_MAX;
use crate::lifecycle::admission::request::{AdmissionClass, GrantRequest};
use crate::lifecycle::admission::state::{AdmissionState, Arrival, Decision};

/// A state with its grants under the names of their requests.
struct Desk {
    state: AdmissionState<u64>,
    now: Tick,
    held: Vec<(u64, Placement)>,
    order: Vec<u64>,
}

impl Desk {
    fn new(devices: Vec<DeviceEnvelope>) -> Self {
        let ledgers = devices.into_iter().map(DeviceLedger::new).collect();
        let state = AdmissionState::new(ledgers, bounds());
        Self { state, now: Tick(Duration::ZERO), held: Vec::new(), order: Vec::new() }
    }

    fn take(&mut self, decisions: Vec<Decision<u64>>) {
        for decision in decisions {
            let Decision::Granted { waiting, placement, .. } = decision else { panic!("nothing is refused here") };
            self.order.push(waiting);
            self.held.push((waiting, placement));
        }
    }

    /// Whether the request was placed as it arrived.
    fn ask(&mut self, name: u64, request: &GrantRequest) -> bool {
        let mut decisions = Vec::new();
        let placed = match self.state.arrive(self.now, request, &mut decisions) {
            Arrival::Placed(placement) => {
                self.order.push(name);
                self.held.push((name, placement));
                true
            }
            Arrival::MustWait(demand) => {
                self.state.enqueue(demand, name).unwrap();
                false
            }
            Arrival::Refused(refusal) => panic!("{refusal:?}"),
        };
        self.take(decisions);
        placed
    }

    fn release(&mut self, name: u64) {
        let index = self.held.iter().position(|(held, _)| *held == name).expect("it has a grant");
        let (_, placement) = self.held.swap_remove(index);
        let mut decisions = Vec::new();
        self.state.release(self.now, placement, &mut decisions);
        self.take(decisions);
    }

    fn pass_time(&mut self, by: Duration) {
        self.now = Tick(self.now.0 + by);
    }
}

/// B-113: high before normal before low, and in a class the earlier.
#[test]
fn classes_go_in_order_and_a_class_in_that_of_arrival() {
    use AdmissionClass::{High, Low, Normal};
    let mut desk = Desk::new(vec![envelope(0, 100, 1)]);
    assert!(desk.ask(0, &bytes(1)));
    for (name, of) in [(1, Low), (2, Normal), (3, High), (4, Low), (5, Normal), (6, High)] {
        assert!(!desk.ask(name, &class(1, of)));
    }
    for name in [0, 3, 6, 2, 5, 1, 4] {
        desk.release(name);
    }
    assert_eq!(desk.order, [0, 3, 6, 2, 5, 1, 4]);
}

/// B-113: to the nanosecond.
#[test]
fn a_waiter_moves_up_after_each_second_at_its_place_by_arrival() {
    use AdmissionClass::{High, Low, Normal};
    let second = Duration::from_secs(1);
    for (waited, order) in [
        (second - Duration::from_nanos(1), [3, 2, 1]),
        (second, [3, 1, 2]),
        (2 * second - Duration::from_nanos(1), [3, 1, 2]),
        (2 * second, [1, 3, 2]),
        (9 * second, [1, 3, 2]),
    ] {
        let mut desk = Desk::new(vec![envelope(0, 100, 1)]);
        desk.ask(0, &bytes(1));
        desk.ask(1, &class(1, Low));
        desk.pass_time(waited);
        desk.ask(2, &class(1, Normal));
        desk.ask(3, &class(1, High));
        for name in [0, order[0], order[1]] {
            desk.release(name);
        }
        assert_eq!(desk.order[1..], order, "after {waited:?}");
    }
}

/// L39, XB-31, B-113: one waits for 8 MiB where 7.98 MiB are free, and 1 MiB requests run past it, 64 times and no more.
#[test]
fn one_that_cannot_fit_is_passed_at_most_64_times() {
    let mut desk = Desk::new(vec![envelope(0, 16 * MIB, 40)]);
    let taken = 16 * MIB - (798 * MIB / 100);
    assert!(desk.ask(0, &bytes(taken)));
    assert!(!desk.ask(1, &bytes(8 * MIB)));
    let mut passed = 0;
    for name in 2..202 {
        if desk.ask(name, &bytes(MIB)) {
            passed += 1;
            desk.release(name);
        }
    }
    assert_eq!(passed, OVERTAKES_MAX, "the small ones run while they may");
    assert_eq!(desk.state.counters().overtakes_max, OVERTAKES_MAX);
    desk.release(0);
    assert_eq!(desk.order[65..68], [1, 66, 67], "then it is the first, and the others follow in order");
}

/// B-113: what queues first and is served later passes as what is placed at once does, and a higher class passes too
/// where the waiter could not use the room.
#[test]
fn a_higher_class_passes_one_that_cannot_fit_no_more_often() {
    let mut desk = Desk::new(vec![envelope(0, 10, 100)]);
    for name in 0..8 {
        assert!(desk.ask(name, &bytes(1)));
    }
    assert!(!desk.ask(1000, &class(8, AdmissionClass::Low)));
    assert!(desk.ask(8, &bytes(1)) && desk.ask(9, &bytes(1)));
    for name in 10..200 {
        assert!(!desk.ask(name, &class(1, AdmissionClass::High)));
        // With room for one byte at a time the high ones run, as long as the low one may be passed.
        if desk.state.counters().overtakes_max < OVERTAKES_MAX {
            desk.release(name - 10);
            assert_eq!(desk.order.last(), Some(&name));
        }
    }
    assert_eq!(desk.state.counters().overtakes_max, OVERTAKES_MAX);
    let high = desk.order.len();
    for _ in 0..8 {
        assert_eq!(desk.order.len(), high, "all that is free is kept");
        let name = desk.held[0].0;
        desk.release(name);
    }
    assert_eq!(desk.order[high..], [1000]);
    let name = desk.held[0].0;
    desk.release(name);
    assert_eq!(desk.order.len(), high + 2, "then the high ones go on");
}

/// B-113: a class is not turned around by the bound: one that would fit and is only of a lower class is not passed.
#[test]
fn equal_sizes_wait_for_their_class_as_long_as_they_are_young() {
    let mut desk = Desk::new(vec![envelope(0, 100, 1)]);
    assert!(desk.ask(0, &bytes(1)));
    assert!(!desk.ask(1, &class(1, AdmissionClass::Low)));
    for name in 2..200 {
        assert!(!desk.ask(name, &class(1, AdmissionClass::High)));
        desk.release(if name == 2 { 0 } else { name - 1 });
        assert_eq!(desk.order.last(), Some(&name));
    }
    assert_eq!(desk.state.counters().overtakes_max, 0);
    desk.release(199);
    assert_eq!(desk.order.last(), Some(&1));
}

/// B-113: what is kept for one that nothing passes is its own devices alone.
#[test]
fn one_that_nothing_passes_keeps_its_own_devices_alone() {
    let mut desk = Desk::new(vec![envelope(0, 10, 100), envelope(1, 10, 100)]);
    let on = |device, size| GrantRequest { devices: Some([device].into()), ..bytes(size) };
    assert!(desk.ask(0, &on(0, 5)));
    assert!(!desk.ask(1, &on(0, 8)));
    for name in 2..70 {
        let placed = desk.ask(name, &on(0, 1));
        assert_eq!(placed, name < 2 + OVERTAKES_MAX, "{name}");
        if placed {
            desk.release(name);
        }
    }
    assert!(desk.ask(1000, &on(1, 1)), "the other device is not kept");
    assert!(desk.ask(1001, &bytes(1)), "nor for those that may use both");
    assert_eq!(desk.held.iter().filter(|(name, held)| *name >= 1000 && held.ordinal == 1).count(), 2);
}
