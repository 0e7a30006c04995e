//! The controller by example: outcomes through futures and waits, cancels, closures, and what requests hold meanwhile.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::{assert_sums, bounds, bytes, controller, envelope, until};
use crate::clock::{Clock, Deadline, Tick};
use crate::lifecycle::admission::cancel::CancellationToken;
use crate::lifecycle::admission::controller::AdmissionController;
use crate::lifecycle::admission::ledger::{DeviceClosure, DeviceEnvelope};
use crate::lifecycle::admission::request::GrantRequest;
use crate::lifecycle::config::{DeviceCapabilities, QueueBounds, RequiredCapabilities};
use crate::lifecycle::error::{QueryErrorCode, QueryResult};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn reason<T>(result: QueryResult<T>) -> Option<String> {
    result.err().and_then(|error| error.reason().map(str::to_owned))
}

fn quarantine() -> DeviceClosure {
    DeviceClosure::Quarantined { reason: "asked for".to_owned() }
}

/// A permit, as far as admission knows: it counts those that are held.
#[derive(Debug)]
struct Permit(Arc<AtomicUsize>);

impl Permit {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Default)]
struct CountedWake(AtomicUsize);

impl Wake for CountedWake {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// B-110: placed within the call, with the device's default where the request names no bytes.
#[test]
fn a_request_that_fits_is_placed_within_the_call() {
    let admission = controller(&Clock::manual(), vec![envelope(3, 100, 4)]);
    let pending = admission.request(GrantRequest::default(), "held");
    assert!(pending.is_settled());
    let (grant, payload) = pollster::block_on(pending).unwrap();
    assert_eq!((grant.ordinal(), grant.bytes(), grant.queue_wait(), payload), (3, 25, Duration::ZERO, "held"));
    let device = &admission.snapshot().devices[0];
    assert_eq!((device.committed_bytes, device.active, device.source_slots_in_use), (25, 1, 1));
    drop(grant);
    let snapshot = admission.snapshot();
    assert_eq!((snapshot.devices[0].committed_bytes, snapshot.devices[0].active), (0, 0));
    assert_sums(snapshot.counters, 0, 0);
    assert!(admission.shutdown(soon()));
}

/// B-117: waiting is by waker, the last one that polled; nothing blocks.
#[test]
fn a_future_is_woken_once_when_room_is_given_back() {
    let admission = controller(&Clock::manual(), vec![envelope(0, 100, 1)]);
    let (held, ()) = admission.request(bytes(60), ()).wait().unwrap();
    let mut pending = pin!(admission.request(bytes(60), ()));
    let (first, last) = (Arc::new(CountedWake::default()), Arc::new(CountedWake::default()));
    for wake in [&first, &last, &last] {
        let waker = Waker::from(wake.clone());
        assert!(pending.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(held);
    assert_eq!((first.0.load(Ordering::SeqCst), last.0.load(Ordering::SeqCst)), (0, 1));
    let Poll::Ready(outcome) = pending.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!("ready") };
    assert_eq!(outcome.unwrap().0.bytes(), 60);
}

/// XB-14, B-98, B-99, B-108: a full queue refuses at once and holds nothing.
#[test]
fn a_full_queue_refuses_at_once() {
    let permits = Arc::new(AtomicUsize::new(0));
    let bounds = QueueBounds::new(2, Duration::from_secs(9));
    let admission = AdmissionController::new(Clock::manual(), &bounds, vec![envelope(0, 100, 1)]).unwrap();
    let ask = || admission.request(bytes(1), Permit::new(&permits));
    let (held, waiting) = (ask().wait().unwrap(), [ask(), ask()]);
    let refused = ask();
    assert!(refused.is_settled());
    assert_eq!(permits.load(Ordering::SeqCst), 3, "the refused one holds nothing, polled or not");
    let error = refused.wait().unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("admission_queue_full")));
    assert_eq!(error.fact_value("max_queued_requests"), Some("2"));
    drop((held, waiting));
    assert_eq!(permits.load(Ordering::SeqCst), 0);
    let snapshot = admission.snapshot();
    assert_eq!((snapshot.devices[0].committed_bytes, snapshot.queued), (0, 0));
    assert_sums(snapshot.counters, 0, 0);
}

/// XB-14, B-109: to the tick on a clock moved by hand; what the request held is gone although nobody polls.
#[test]
fn a_deadline_comes_to_the_tick() {
    let (clock, permits) = (Clock::manual(), Arc::new(AtomicUsize::new(0)));
    let admission = controller(&clock, vec![envelope(0, 100, 1)]);
    let (held, _permit) = admission.request(bytes(1), Permit::new(&permits)).wait().unwrap();
    let at = Tick(Duration::from_millis(5));
    let pending = admission.request(until(bytes(1), at), Permit::new(&permits));
    clock.advance(Duration::from_millis(5) - Duration::from_nanos(1));
    admission.expire_due();
    assert!(!pending.is_settled());
    clock.advance(Duration::from_nanos(1));
    admission.expire_due();
    assert!(pending.is_settled());
    assert_eq!(permits.load(Ordering::SeqCst), 1);
    let error = pending.wait().unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("admission_wait_elapsed")));
    let past = admission.request(until(bytes(1), at), Permit::new(&permits));
    assert_eq!(reason(past.wait()).as_deref(), Some("admission_wait_elapsed"), "the past is over at once");
    drop(held);
    let past = admission.request(until(bytes(1), at), Permit::new(&permits));
    assert_eq!(reason(past.wait()).as_deref(), Some("admission_wait_elapsed"), "with room too");
    assert_eq!(admission.snapshot().counters.expired, 1);
}

/// B-109: the timer tells of a deadline by itself; nothing else happens here.
#[test]
fn the_timer_tells_of_a_deadline_by_itself() {
    for clock in [Clock::system(), Clock::manual()] {
        let admission = controller(&clock, vec![envelope(0, 100, 1)]);
        let (_held, ()) = admission.request(bytes(1), ()).wait().unwrap();
        let in_ms = |ms| until(bytes(1), clock.deadline_in(Duration::from_millis(ms)).tick().unwrap());
        // The later one first, so that the timer must be set anew for the earlier.
        let _late = admission.request(in_ms(600_000), ());
        std::thread::sleep(Duration::from_millis(50));
        let early = admission.request(in_ms(30), ());
        let started = Instant::now();
        clock.advance(Duration::from_millis(30));
        assert_eq!(reason(pollster::block_on(early)).as_deref(), Some("admission_wait_elapsed"));
        assert!(started.elapsed() < Duration::from_secs(20));
        assert!(admission.shutdown(soon()));
    }
}

/// B-107: a request without a deadline, or with the one that never comes, waits as long as the queue's bounds say.
#[test]
fn no_deadline_is_the_default_wait() {
    let clock = Clock::manual();
    let bounds = QueueBounds::new(9, Duration::from_secs(2));
    let admission = AdmissionController::new(clock.clone(), &bounds, vec![envelope(0, 100, 1)]).unwrap();
    let (_held, ()) = admission.request(bytes(1), ()).wait().unwrap();
    let never = GrantRequest { deadline: Some(Deadline::NEVER), ..bytes(1) };
    let pending = [admission.request(bytes(1), ()), admission.request(never, ())];
    clock.advance(Duration::from_millis(1999));
    admission.expire_due();
    assert!(pending.iter().all(|pending| !pending.is_settled()));
    clock.advance(Duration::from_millis(1));
    for pending in pending {
        assert_eq!(reason(pending.wait()).as_deref(), Some("admission_wait_elapsed"));
    }
}

/// XB-14, B-109, B-116: by token or by dropping the future; the permit goes at once, and the ledger is untouched.
#[test]
fn a_cancelled_request_leaves_the_queue() {
    let permits = Arc::new(AtomicUsize::new(0));
    let admission = controller(&Clock::manual(), vec![envelope(0, 100, 1)]);
    let ask = |token: Option<&CancellationToken>| {
        admission.request(GrantRequest { cancel: token.cloned(), ..bytes(1) }, Permit::new(&permits))
    };
    let token = CancellationToken::new();
    let held = ask(Some(&token)).wait().unwrap();
    let (by_token, by_drop, last) = (ask(Some(&token)), ask(None), ask(None));
    token.cancel();
    assert!(token.is_cancelled() && by_token.is_settled());
    drop(by_drop);
    assert_eq!(permits.load(Ordering::SeqCst), 2);
    let error = by_token.wait().unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::Cancelled, Some("admission_cancelled")));
    assert_eq!(reason(ask(Some(&token)).wait()).as_deref(), Some("admission_cancelled"), "before it queues");
    let tried = admission.try_request(GrantRequest { cancel: Some(token.clone()), ..bytes(1) }, Permit::new(&permits));
    assert_eq!(reason(tried).as_deref(), Some("admission_cancelled"));
    assert_eq!(admission.snapshot().devices[0].active, 1, "what has its grant keeps it");
    drop(held);
    assert!(last.is_settled());
    let counters = admission.snapshot().counters;
    assert_eq!((counters.cancelled, counters.refused_at_once), (2, 2));
    drop(last);
    assert_eq!((permits.load(Ordering::SeqCst), admission.snapshot().devices[0].active), (0, 0), "given back unread");
}

/// B-109: from elsewhere, as an attempt that ends does to its request.
#[test]
fn a_canceller_withdraws_what_still_waits() {
    let admission = controller(&Clock::manual(), vec![envelope(0, 100, 1)]);
    let at_once = admission.request(bytes(1), ());
    assert!(at_once.canceller().is_none());
    let (waiting, next) = (admission.request(bytes(1), ()), admission.request(bytes(1), ()));
    let cancellers = [&waiting, &next].map(|pending| pending.canceller().unwrap());
    cancellers[0].cancel();
    assert_eq!(reason(waiting.wait()).as_deref(), Some("admission_cancelled"));
    drop(at_once);
    cancellers.iter().for_each(|canceller| canceller.cancel());
    assert!(next.wait().is_ok(), "what has its grant keeps it");
    drop(admission);
    cancellers.iter().for_each(|canceller| canceller.cancel());
}

/// B-109: a grant that was delivered and never read goes back with its future, and serves the next.
#[test]
fn a_delivered_grant_that_nobody_reads_goes_back() {
    let admission = controller(&Clock::manual(), vec![envelope(0, 100, 1)]);
    let held = admission.request(bytes(1), ()).wait().unwrap();
    let (unread, next) = (admission.request(bytes(1), ()), admission.request(bytes(1), ()));
    drop(held);
    assert!(unread.is_settled() && !next.is_settled());
    drop(unread);
    assert!(next.is_settled());
    drop(next);
    let snapshot = admission.snapshot();
    assert_eq!((snapshot.devices[0].active, snapshot.counters.released), (0, 3));
    assert_sums(snapshot.counters, 0, 0);
}

/// B-101.
#[test]
fn a_try_is_placed_now_or_leaves_nothing() {
    let permits = Arc::new(AtomicUsize::new(0));
    let admission = controller(&Clock::manual(), vec![envelope(0, 100, 1)]);
    let (held, _permit) = admission.try_request(bytes(1), Permit::new(&permits)).unwrap().unwrap();
    assert!(admission.try_request(bytes(1), Permit::new(&permits)).unwrap().is_none());
    assert_eq!(permits.load(Ordering::SeqCst), 1);
    let error = admission.try_request(bytes(101), Permit::new(&permits)).unwrap_err();
    assert_eq!(error.reason(), Some("grant_exceeds_device_capacity"));
    drop(held);
    let counters = admission.snapshot().counters;
    assert_eq!((counters.declined, counters.queued_total, counters.refused_at_once), (1, 0, 1));
    assert_sums(counters, 0, 0);
}

/// B-100, B-112: before anything queues, while the device is busy.
#[test]
fn what_can_never_be_placed_is_refused_before_it_queues() {
    let limited = |ordinal, names: &[&str]| DeviceEnvelope {
        capabilities: DeviceCapabilities::only(names.iter().copied()),
        ..envelope(ordinal, 100 + ordinal as u64, 1)
    };
    let admission = controller(&Clock::manual(), vec![limited(1, &["f16"]), limited(0, &[])]);
    let _held = [admission.request(bytes(1), ()).wait().unwrap(), admission.request(bytes(1), ()).wait().unwrap()];
    let needs = |name: &str| GrantRequest { required: RequiredCapabilities::new([name]), ..bytes(1) };
    let on = |ordinal: usize| GrantRequest { devices: Some([ordinal].into()), ..bytes(1) };
    for (request, code, expected) in [
        (needs("f64"), QueryErrorCode::NoCapableDevice, "no_capable_device"),
        (on(7), QueryErrorCode::NoCapableDevice, "no_capable_device"),
        (
            GrantRequest { devices: Some([0].into()), ..needs("f16") },
            QueryErrorCode::NoCapableDevice,
            "no_capable_device",
        ),
        (bytes(102), QueryErrorCode::GrantExceedsDeviceCapacity, "grant_exceeds_device_capacity"),
        (
            GrantRequest { bytes: Some(101), ..on(0) },
            QueryErrorCode::GrantExceedsDeviceCapacity,
            "grant_exceeds_device_capacity",
        ),
    ] {
        let pending = admission.request(request, ());
        assert!(pending.is_settled());
        let error = pending.wait().unwrap_err();
        assert_eq!((error.code(), error.reason()), (code, Some(expected)));
    }
    assert_eq!(admission.snapshot().counters.queued_total, 2 - 2);
    admission.close_device(1, quarantine()).unwrap();
    let error = admission.request(needs("f16"), ()).wait().unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::NoHealthyDevice, Some("no_healthy_device")));
    let error = admission.request(bytes(101), ()).wait().unwrap_err();
    assert_eq!(error.fact_value("largest_query_share_bytes"), Some("100"), "of those in service");
}

/// XB-15, B-112: one of two devices goes out of service, then both.
#[test]
fn a_closed_device_is_passed_by_and_waiters_without_another_are_refused() {
    let admission = controller(&Clock::manual(), vec![envelope(0, 100, 1), envelope(1, 100, 1)]);
    let on = |ordinal| GrantRequest { devices: Some([ordinal].into()), ..bytes(1) };
    let held = [admission.request(bytes(1), ()).wait().unwrap(), admission.request(bytes(1), ()).wait().unwrap()];
    let (bound, free) = (admission.request(on(0), ()), admission.request(bytes(1), ()));
    assert!(!admission.close_device(0, quarantine()).unwrap());
    assert!(admission.close_device(0, quarantine()).unwrap(), "it was closed before");
    assert_eq!(reason(bound.wait()).as_deref(), Some("no_healthy_device"));
    assert!(!free.is_settled());
    let devices = admission.snapshot().devices;
    assert_eq!((devices[0].is_closed(), devices[0].queued, devices[1].queued), (true, 0, 1));
    drop(held);
    let (grant, ()) = free.wait().unwrap();
    assert_eq!(grant.ordinal(), 1);
    let waiting = admission.request(bytes(1), ());
    admission.close_device(1, DeviceClosure::Faulted { reason: "lost".to_owned() }).unwrap();
    assert_eq!(reason(waiting.wait()).as_deref(), Some("no_healthy_device"));
    assert_eq!(reason(admission.request(bytes(1), ()).wait()).as_deref(), Some("no_healthy_device"));
    drop(grant);
    let snapshot = admission.snapshot();
    assert!(snapshot.devices.iter().all(|device| (device.committed_bytes, device.active) == (0, 0)));
    assert_sums(snapshot.counters, 0, 0);
    let error = admission.close_device(7, quarantine()).unwrap_err();
    assert_eq!(error.reason(), Some("quarantine_device_not_installed"));
    assert_eq!((error.code(), error.fact_value("device_ordinal")), (QueryErrorCode::InvalidConfiguration, Some("7")));
}

/// The timer goes with the shutdown; whoever still waits hears of it, and a dropped controller too ends them.
#[test]
fn a_shutdown_ends_the_timer_and_everybodys_wait() {
    for is_dropped in [false, true] {
        let permits = Arc::new(AtomicUsize::new(0));
        let admission = controller(&Clock::system(), vec![envelope(0, 100, 1)]);
        let held = admission.request(bytes(1), Permit::new(&permits)).wait().unwrap();
        let waiting = admission.request(bytes(1), Permit::new(&permits));
        if is_dropped {
            drop(admission);
        } else {
            assert!(admission.shutdown(soon()));
            assert!(admission.shutdown(soon()), "again");
            let late = admission.request(bytes(1), Permit::new(&permits));
            assert_eq!(reason(late.wait()).as_deref(), Some("backend_closing"));
        }
        assert_eq!(permits.load(Ordering::SeqCst), 1);
        assert_eq!(reason(waiting.wait()).as_deref(), Some("backend_closing"));
        drop(held);
        assert_eq!(permits.load(Ordering::SeqCst), 0);
    }
}

/// What a request holds may panic as it goes; the next hears of its outcome all the same.
#[test]
fn a_panic_of_what_a_request_holds_costs_nobody_else() {
    struct Panics(bool);
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(!self.0, "it panics");
        }
    }
    let clock = Clock::manual();
    let admission = controller(&clock, vec![envelope(0, 100, 1)]);
    let _held = admission.request(bytes(1), Panics(false)).wait().unwrap();
    let at = Tick(Duration::from_millis(1));
    let pending = [true, false].map(|panics| admission.request(until(bytes(1), at), Panics(panics)));
    clock.advance(Duration::from_millis(1));
    admission.expire_due();
    for pending in pending {
        assert_eq!(reason(pending.wait()).as_deref(), Some("admission_wait_elapsed"));
    }
    assert!(admission.shutdown(soon()), "the timer lives");
}

/// No lock is held while what a request holds goes, or a waker is called: both ask admission again.
#[test]
fn callers_code_may_ask_again() {
    struct Asks(Arc<AdmissionController<()>>);
    impl Drop for Asks {
        fn drop(&mut self) {
            assert!(self.0.request(bytes(1), ()).wait().is_ok());
        }
    }
    struct Looks(Arc<AdmissionController<()>>);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            assert_eq!(self.0.snapshot().queued, 0);
        }
    }
    let clock = Clock::manual();
    let inner = Arc::new(controller(&clock, vec![envelope(0, 100, 1)]));
    let admission = controller(&clock, vec![envelope(0, 100, 1)]);
    let _held = admission.request(bytes(1), Asks(inner.clone())).wait().unwrap();
    drop(admission.request(bytes(1), Asks(inner.clone())));
    let held = inner.request(bytes(1), ()).wait().unwrap();
    let mut pending = Box::pin(inner.request(bytes(1), ()));
    let waker = Waker::from(Arc::new(Looks(inner.clone())));
    assert!(pending.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(held);
    drop(pending);
    assert_eq!(inner.snapshot().counters.submitted, 3, "one asked again");
}

#[test]
fn devices_that_cannot_work_are_refused() {
    let new = |devices| reason(AdmissionController::<()>::new(Clock::manual(), &bounds(), devices));
    let good = || envelope(0, 100, 2);
    let table = [
        (vec![], "no_devices"),
        (vec![good(), good()], "duplicate_device_ordinal"),
        (vec![envelope(64, 100, 2)], "backend_metrics_device_ordinal_out_of_range"),
        (vec![DeviceEnvelope { max_active: 0, ..good() }], "zero"),
        (vec![DeviceEnvelope { default_bytes: 101, ..good() }], "default_query_limit_exceeds_query_share"),
        (vec![DeviceEnvelope { source_slots: 0, ..good() }], "stream_pool_below_required_formula"),
    ];
    for (devices, expected) in table {
        assert_eq!(new(devices).as_deref(), Some(expected));
    }
    let zero = QueueBounds::new(0, Duration::from_secs(1));
    assert_eq!(reason(AdmissionController::<()>::new(Clock::manual(), &zero, vec![good()])).as_deref(), Some("zero"));
}

/// A token that outlives its requests does not collect them.
#[test]
fn a_token_forgets_requests_that_are_over() {
    let admission = controller(&Clock::manual(), vec![envelope(0, 100, 1)]);
    let token = CancellationToken::new();
    let _held = admission.request(bytes(1), ()).wait().unwrap();
    for _ in 0..3 {
        drop(admission.request(GrantRequest { cancel: Some(token.clone()), ..bytes(1) }, ()));
    }
    let waiting = admission.request(GrantRequest { cancel: Some(token.clone()), ..bytes(1) }, ());
    assert_eq!(token.registered(), 1);
    token.cancel();
    token.cancel();
    assert_eq!(reason(waiting.wait()).as_deref(), Some("admission_cancelled"));
    assert_eq!(token.registered(), 0);
}
