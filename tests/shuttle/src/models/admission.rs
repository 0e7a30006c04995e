//! Admission under several producers, with cancels, deadlines, a device that closes, and the end of it all.

use std::time::{Duration, Instant};

use crate::clock::{Clock, Deadline, Tick};
use crate::lifecycle::admission::cancel::CancellationToken;
use crate::lifecycle::admission::controller::AdmissionController;
use crate::lifecycle::admission::ledger::{DeviceClosure, DeviceEnvelope};
use crate::lifecycle::admission::request::{AdmissionClass, GrantRequest};
use crate::lifecycle::config::QueueBounds;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, thread};

const PRODUCERS: u64 = 3;
const REQUESTS: u64 = 4;
const ACTIVE: usize = 2;

#[derive(Default)]
struct Counts {
    permits: AtomicUsize,
    active: [AtomicUsize; 2],
    outcomes: AtomicUsize,
}

/// What a request holds: it counts those that are left.
struct Permit(Arc<Counts>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.permits.fetch_sub(1, Ordering::SeqCst);
    }
}

fn request(index: u64, token: &CancellationToken) -> GrantRequest {
    GrantRequest {
        bytes: Some([1, 4, 7, 2][index as usize % 4]),
        class: [AdmissionClass::High, AdmissionClass::Normal, AdmissionClass::Low][index as usize % 3],
        devices: index.is_multiple_of(5).then(|| [0].into()),
        deadline: index.is_multiple_of(2).then(|| Deadline::at(Tick(Duration::from_secs(1 + index % 3)))),
        cancel: Some(token.clone()),
        ..GrantRequest::default()
    }
}

fn produce(admission: &AdmissionController<Permit>, counts: &Arc<Counts>, producer: u64) {
    for index in producer..producer + REQUESTS {
        let token = CancellationToken::new();
        counts.permits.fetch_add(1, Ordering::SeqCst);
        let pending = admission.request(request(index, &token), Permit(counts.clone()));
        match index % 4 {
            0 => {
                drop(pending);
                counts.outcomes.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            1 => token.cancel(),
            _ => {}
        }
        if let Ok((grant, _permit)) = pending.wait() {
            let active = &counts.active[grant.ordinal()];
            assert!(active.fetch_add(1, Ordering::SeqCst) < ACTIVE, "more attempts than slots");
            thread::yield_now();
            active.fetch_sub(1, Ordering::SeqCst);
            drop(grant);
        }
        counts.outcomes.fetch_add(1, Ordering::SeqCst);
    }
}

/// Every request has one outcome, whatever happens meanwhile, and at the end nothing is held.
pub fn producers_cancels_closure_and_shutdown() {
    let (clock, counts) = (Clock::manual(), Arc::new(Counts::default()));
    let device = |ordinal| DeviceEnvelope {
        ordinal,
        capacity_bytes: 8,
        default_bytes: 4,
        max_active: ACTIVE,
        source_slots: ACTIVE,
        source_slots_per_attempt: 1,
        ..DeviceEnvelope::default()
    };
    let bounds = QueueBounds::new(4, Duration::from_secs(60));
    let admission = AdmissionController::new(clock.clone(), &bounds, vec![device(0), device(1)]);
    let admission = Arc::new(admission.expect("the devices work"));
    let mut threads: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let (admission, counts) = (admission.clone(), counts.clone());
            thread::spawn(move || produce(&admission, &counts, producer))
        })
        .collect();
    threads.push(thread::spawn({
        let admission = admission.clone();
        move || {
            clock.advance(Duration::from_secs(1));
            admission.expire_due();
            let closure = DeviceClosure::Faulted { reason: "lost".to_owned() };
            assert!(!admission.close_device(0, closure).expect("it is installed"));
            clock.advance(Duration::from_secs(1));
            admission.expire_due();
            assert!(admission.shutdown(Instant::now() + Duration::from_secs(3600)));
        }
    }));
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    let snapshot = admission.snapshot();
    for device in &snapshot.devices {
        assert_eq!((device.active, device.committed_bytes, device.source_slots_in_use), (0, 0, 0));
    }
    let counters = snapshot.counters;
    assert_eq!(counters.submitted, PRODUCERS * REQUESTS);
    assert_eq!(counters.submitted, counters.refused_at_once + counters.placed_at_once + counters.queued_total);
    let refused = counters.expired + counters.cancelled + counters.refused_in_queue;
    assert_eq!(counters.queued_total, counters.granted - counters.placed_at_once + refused);
    assert_eq!((counters.granted, snapshot.queued), (counters.released, 0));
    assert_eq!(counts.outcomes.load(Ordering::SeqCst) as u64, PRODUCERS * REQUESTS);
    assert_eq!(counts.permits.load(Ordering::SeqCst), 0);
}
