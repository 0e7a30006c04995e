//! Admission between two threads that race for one outcome: it is delivered or given back, never both and never lost.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crate::clock::{Clock, Deadline, Tick};
use crate::lifecycle::admission::cancel::CancellationToken;
use crate::lifecycle::admission::controller::AdmissionController;
use crate::lifecycle::admission::grant::Grant;
use crate::lifecycle::admission::ledger::{DeviceClosure, DeviceEnvelope};
use crate::lifecycle::admission::pending::PendingGrant;
use crate::lifecycle::admission::request::GrantRequest;
use crate::lifecycle::config::QueueBounds;
use crate::lifecycle::error::QueryResult;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Condvar, Mutex, thread};

/// What a request holds: it counts those that are left.
struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One device with one slot, which is taken, and a request that waits for it.
struct Scene {
    clock: Clock,
    permits: Arc<AtomicUsize>,
    admission: Arc<AdmissionController<Permit>>,
    held: Grant,
}

const DEADLINE: Duration = Duration::from_secs(1);

impl Scene {
    fn new() -> Self {
        let (clock, permits) = (Clock::manual(), Arc::new(AtomicUsize::new(0)));
        let device = DeviceEnvelope { capacity_bytes: 9, default_bytes: 9, max_active: 1, ..DeviceEnvelope::default() };
        let admission = AdmissionController::new(clock.clone(), &QueueBounds::default(), vec![device]);
        let admission = Arc::new(admission.expect("the device works"));
        let permit = Permit(permits.clone());
        permits.fetch_add(1, Ordering::SeqCst);
        let (held, permit) = admission.request(GrantRequest::default(), permit).wait().expect("there is room");
        drop(permit);
        Self { clock, permits, admission, held }
    }

    fn ask(&self, token: Option<&CancellationToken>) -> PendingGrant<Permit> {
        self.permits.fetch_add(1, Ordering::SeqCst);
        let request = GrantRequest {
            deadline: Some(Deadline::at(Tick(DEADLINE))),
            cancel: token.cloned(),
            devices: Some(BTreeSet::from([0])),
            ..GrantRequest::default()
        };
        self.admission.request(request, Permit(self.permits.clone()))
    }
}

/// Nothing is granted, nothing is held, and the timer goes.
fn finish(admission: &AdmissionController<Permit>, permits: &AtomicUsize) {
    let snapshot = admission.snapshot();
    assert_eq!((snapshot.devices[0].active, snapshot.devices[0].committed_bytes, snapshot.queued), (0, 0, 0));
    let counters = snapshot.counters;
    assert_eq!(counters.granted, counters.released);
    let refused = counters.expired + counters.cancelled + counters.refused_in_queue;
    assert_eq!(counters.queued_total, counters.granted - counters.placed_at_once + refused);
    assert_eq!(permits.load(Ordering::SeqCst), 0);
    assert!(admission.shutdown(Instant::now() + Duration::from_secs(3600)));
}

fn reason(outcome: QueryResult<(Grant, Permit)>) -> Option<&'static str> {
    let error = outcome.err()?;
    ["admission_cancelled", "admission_wait_elapsed", "backend_closing", "no_healthy_device"]
        .into_iter()
        .find(|known| error.reason() == Some(known))
}

/// The slot comes back while the request is cancelled by its token.
pub fn grant_versus_cancel() {
    let scene = Scene::new();
    let token = CancellationToken::new();
    let pending = scene.ask(Some(&token));
    let Scene { admission, permits, held, .. } = scene;
    let other = thread::spawn(move || drop(held));
    token.cancel();
    let outcome = reason(pending.wait());
    other.join().expect("it does not panic");
    let counters = admission.snapshot().counters;
    let expected = if counters.cancelled == 1 { Some("admission_cancelled") } else { None };
    assert_eq!((outcome, counters.granted), (expected, 2 - counters.cancelled));
    finish(&admission, &permits);
}

/// The slot comes back while the future is dropped.
pub fn grant_versus_drop() {
    let scene = Scene::new();
    let (dropped, last) = (scene.ask(None), scene.ask(None));
    let Scene { admission, permits, held, .. } = scene;
    let other = thread::spawn(move || drop(held));
    drop(dropped);
    assert_eq!(reason(last.wait()), None, "the next gets it in each case");
    other.join().expect("it does not panic");
    finish(&admission, &permits);
}

/// The slot comes back while the deadline does.
pub fn grant_versus_expire() {
    let scene = Scene::new();
    let pending = scene.ask(None);
    let Scene { admission, permits, held, clock } = scene;
    let other = thread::spawn(move || drop(held));
    clock.advance(DEADLINE);
    admission.expire_due();
    let outcome = reason(pending.wait());
    other.join().expect("it does not panic");
    let counters = admission.snapshot().counters;
    let expected = if counters.expired == 1 { Some("admission_wait_elapsed") } else { None };
    assert_eq!((outcome, counters.granted), (expected, 2 - counters.expired));
    finish(&admission, &permits);
}

/// The deadline comes while the request is cancelled: one of the two is told.
pub fn expire_versus_cancel() {
    let scene = Scene::new();
    let token = CancellationToken::new();
    let pending = scene.ask(Some(&token));
    let Scene { admission, permits, held, clock } = scene;
    let other = thread::spawn(move || token.cancel());
    clock.advance(DEADLINE);
    admission.expire_due();
    let outcome = reason(pending.wait());
    other.join().expect("it does not panic");
    let counters = admission.snapshot().counters;
    let expected = if counters.expired == 1 { "admission_wait_elapsed" } else { "admission_cancelled" };
    assert_eq!((outcome, counters.expired + counters.cancelled), (Some(expected), 1));
    drop(held);
    finish(&admission, &permits);
}

/// A request is handed in while its token is cancelled: it never stays in the queue.
pub fn request_versus_cancel() {
    let scene = Scene::new();
    let token = CancellationToken::new();
    let other = thread::spawn({
        let token = token.clone();
        move || token.cancel()
    });
    let pending = scene.ask(Some(&token));
    assert_eq!(reason(pending.wait()), Some("admission_cancelled"));
    other.join().expect("it does not panic");
    let Scene { admission, permits, held, .. } = scene;
    drop(held);
    finish(&admission, &permits);
}

struct Flag(Mutex<bool>, Condvar);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        *self.0.lock() = true;
        self.1.notify_all();
    }
}

/// The slot comes back while the future is polled: the wake-up is not lost.
pub fn grant_versus_poll() {
    let scene = Scene::new();
    let mut pending = pin!(scene.ask(None));
    let Scene { admission, permits, held, .. } = scene;
    let other = thread::spawn(move || drop(held));
    let flag = Arc::new(Flag(Mutex::new(false), Condvar::new()));
    let waker = Waker::from(flag.clone());
    let outcome = loop {
        if let Poll::Ready(outcome) = pending.as_mut().poll(&mut Context::from_waker(&waker)) {
            break outcome;
        }
        let mut woken = flag.0.lock();
        while !*woken {
            woken = flag.1.wait(woken);
        }
        *woken = false;
    };
    assert_eq!(reason(outcome), None);
    other.join().expect("it does not panic");
    finish(&admission, &permits);
}

/// The slot comes back while its device goes out of service.
pub fn grant_versus_closure() {
    let scene = Scene::new();
    let pending = scene.ask(None);
    let Scene { admission, permits, held, .. } = scene;
    let other = thread::spawn(move || drop(held));
    let closure = DeviceClosure::Quarantined { reason: "asked for".to_owned() };
    assert!(!admission.close_device(0, closure).expect("it is installed"));
    let outcome = reason(pending.wait());
    other.join().expect("it does not panic");
    let refused = admission.snapshot().counters.refused_in_queue;
    assert_eq!(outcome, (refused == 1).then_some("no_healthy_device"));
    finish(&admission, &permits);
}

/// The slot comes back while admission ends.
pub fn grant_versus_shutdown() {
    let scene = Scene::new();
    let pending = scene.ask(None);
    let Scene { admission, permits, held, .. } = scene;
    let other = thread::spawn(move || drop(held));
    assert!(admission.shutdown(Instant::now() + Duration::from_secs(3600)));
    let outcome = reason(pending.wait());
    other.join().expect("it does not panic");
    let refused = admission.snapshot().counters.refused_in_queue;
    assert_eq!(outcome, (refused == 1).then_some("backend_closing"));
    finish(&admission, &permits);
}
