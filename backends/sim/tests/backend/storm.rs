//! The load of [`crate::load`] from 64 threads in real time, with somebody who cancels and somebody who looks all the while.
//! 2,000 requests, a hundred thousand with `GRAPHREEL_THOROUGH=1`.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use graphreel::clock::Clock;
use graphreel::lifecycle::{
    AttemptBegin, AttemptOutcome, BeginAttemptRequest, CancellationToken, GpuBackendSession, QueryAdmissionRequest,
    QueryError, QueryHandle, one_claiming_test,
};

use crate::load::{PRODUCERS, assert_sums, backend, class, completed, size, work};
use crate::rig::{LONG, SHARE, close};

/// As few as there are, so that every stream that an attempt gives back is needed at once.
const ACTIVE_MAX: usize = 2;

#[derive(Default)]
struct Storm {
    /// Of requests that may be cancelled at any moment.
    tokens: Mutex<Vec<CancellationToken>>,
    is_over: AtomicBool,
    reports: AtomicU64,
    /// By the order of [`AttemptOutcome::ALL`].
    outcomes: [AtomicU64; AttemptOutcome::ALL.len()],
    granted: AtomicU64,
    expired: AtomicU64,
}

/// Ends the watchers also when the load panics.
struct OnDrop<'a>(&'a Storm);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

impl Storm {
    fn end(&self, begin: &AttemptBegin, outcome: AttemptOutcome, error: Option<QueryError>) {
        match error {
            Some(error) => begin.owner.commit_failed(error).unwrap(),
            None => begin.owner.commit_terminal(outcome).unwrap(),
        }
        let report = begin.completion.wait_timeout(LONG).expect("each attempt reports");
        assert_eq!(report.outcome, outcome, "{report:?}");
        self.outcomes[outcome as usize].fetch_add(1, Ordering::SeqCst);
    }

    fn one(self: &Arc<Self>, session: &GpuBackendSession, rng: &mut fastrand::Rng) {
        let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
        let storm = self.clone();
        let count = move |_: &_| {
            storm.reports.fetch_add(1, Ordering::SeqCst);
        };
        begin.owner.register_sealed_report_sink(count).unwrap();
        let (bytes, is_short) = (size(rng), rng.u8(..5) == 0);
        let wait = if is_short { Duration::from_micros(rng.u64(..2_000)) } else { LONG };
        let token = CancellationToken::new();
        let request = QueryAdmissionRequest::new(begin.owner.admission_binding())
            .with_byte_limit(bytes)
            .with_class(class(rng))
            .with_wait(wait)
            .with_cancellation(token.clone());
        let started = Instant::now();
        let mut admission = session.admit_async_with_request(request);
        match rng.u8(..20) {
            // Three in ten are given up, in one of three ways.
            0..2 => self.tokens.lock().unwrap().push(token),
            2..4 => {
                let polled = Pin::new(&mut admission).poll(&mut Context::from_waker(Waker::noop()));
                drop(admission);
                drop(polled);
                return self.end(&begin, AttemptOutcome::Cancelled, None);
            }
            4..6 => {
                self.end(&begin, AttemptOutcome::Cancelled, None);
                let reason = admission.wait().map(drop).map_err(|error| error.reason().unwrap_or_default().to_owned());
                let reasons = ["admission_cancelled", "admission_wait_elapsed", "grant_exceeds_device_capacity"];
                return assert!(reasons.contains(&reason.as_ref().unwrap_err().as_str()), "{reason:?}");
            }
            _ => {}
        }
        match admission.wait() {
            Ok(handle) => self.held(&begin, handle, rng),
            Err(error) => {
                let outcome = match error.reason() {
                    Some("admission_wait_elapsed") => {
                        assert!(is_short && started.elapsed() >= wait, "{error}");
                        self.expired.fetch_add(1, Ordering::SeqCst);
                        AttemptOutcome::Rejected
                    }
                    Some("grant_exceeds_device_capacity") if bytes > SHARE => AttemptOutcome::Rejected,
                    Some("admission_cancelled") => AttemptOutcome::Cancelled,
                    _ => panic!("{error}"),
                };
                self.end(&begin, outcome, Some(error));
            }
        }
    }

    fn held(&self, begin: &AttemptBegin, handle: QueryHandle, rng: &mut fastrand::Rng) {
        self.granted.fetch_add(1, Ordering::SeqCst);
        if rng.u8(..4) > 0 {
            // The context goes right before the attempt: its cleanup runs beside the end.
            work(&handle, rng.u32(..));
        } else {
            std::thread::sleep(Duration::from_micros(rng.u64(..500)));
        }
        self.end(begin, AttemptOutcome::Succeeded, None);
        assert!(handle.is_over());
    }

    fn cancel_some(&self) {
        while !self.is_over.load(Ordering::SeqCst) {
            let tokens = std::mem::take(&mut *self.tokens.lock().unwrap());
            tokens.iter().for_each(CancellationToken::cancel);
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn look(&self, session: &GpuBackendSession) {
        while !self.is_over.load(Ordering::SeqCst) {
            // Nobody sees a report that is not counted, nor more reports than begins.
            let reports = self.outcomes.iter().map(|count| count.load(Ordering::SeqCst)).sum::<u64>();
            let counters = session.attempt_counters_snapshot();
            assert!(reports <= counters.reports_ready && counters.reports_ready <= counters.attempts_begun);
            assert_sums(&session.diagnostics().unwrap());
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

/// XB-13, XB-14, XB-31, B-109, B-110, B-116, B-118, B-120, B-124, B-130, B-173: as in virtual time, while all of it races.
#[test]
fn many_requests_from_many_threads() {
    let _one = one_claiming_test();
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let each = if thorough { 100_000 } else { 2_000 } / PRODUCERS + 1;
    let (core, factory) = backend(Clock::system(), 2, ACTIVE_MAX);
    let (storm, session) = (Arc::new(Storm::default()), core.session_capability());
    std::thread::scope(|scope| {
        let _over = OnDrop(&storm);
        scope.spawn(|| storm.cancel_some());
        scope.spawn(|| storm.look(&session));
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|seed| {
                let (storm, session) = (&storm, &session);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    (0..each).for_each(|_| storm.one(session, &mut rng));
                })
            })
            .collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
    });
    let requests = each * PRODUCERS;
    let found = session.diagnostics().unwrap();
    let counters = assert_sums(&found);
    assert_eq!((counters.submitted, counters.granted), (requests, counters.released), "each grant is freed once");
    let (granted, expired) = (storm.granted.load(Ordering::SeqCst), storm.expired.load(Ordering::SeqCst));
    assert!(granted <= counters.granted && granted > requests / 10 && expired > 0, "{counters:?}");
    for device in &found.devices {
        assert_eq!((device.lanes_taken, device.streams.checked_out, device.streams.exhausted), (0, 0, 0), "{device:?}");
    }
    close(core, &factory);
    let (begun, metrics) = (session.attempt_counters_snapshot(), session.backend_metrics_snapshot());
    let reports = storm.reports.load(Ordering::SeqCst);
    assert_eq!((begun.attempts_begun, begun.reports_ready, reports), (requests, requests, requests), "one report each");
    let outcomes = storm.outcomes.each_ref().map(|count| count.load(Ordering::SeqCst));
    assert_eq!(AttemptOutcome::ALL.map(|outcome| completed(&metrics, outcome)), outcomes);
}

/// B-102, B-173: whoever is granted next has the streams too, also where the cleanup of the context before is late.
#[test]
fn a_grant_comes_with_its_streams() {
    let _one = one_claiming_test();
    let (core, factory) = backend(Clock::system(), 1, 1);
    let session = core.session_capability();
    for _ in 0..2000 {
        let first = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
        let admit = |begin: &AttemptBegin| {
            session.admit_async_with_request(QueryAdmissionRequest::new(begin.owner.admission_binding()))
        };
        let handle = admit(&first).wait().unwrap();
        let second = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
        let waiting = admit(&second);
        drop(handle.acquire_context().unwrap());
        drop(first);
        drop(waiting.wait().unwrap());
    }
    close(core, &factory);
}
