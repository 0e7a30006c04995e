//! Load on a whole backend in virtual time: 64 producers by seed, sizes up to 1.2 times what a device shares, nearly a third
//! cancelled, a fifth past their deadline. 30,000 requests, a million with `GRAPHREEL_THOROUGH=1`; `GRAPHREEL_SEED` draws
//! other ones.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use graphreel::Config;
use graphreel::clock::{Clock, Deadline, Tick};
use graphreel::lifecycle::admission::AdmissionCounters;
use graphreel::lifecycle::{
    Admission, AdmissionClass, AttemptBegin, AttemptDisposition, AttemptOutcome, BackendDiagnostics,
    BackendMetricsSnapshot, BeginAttemptRequest, CancellationToken, GpuBackendCore, GpuBackendSession,
    QueryAdmissionRequest, QueryError, QueryHandle, QueryResult, one_claiming_test,
};
use graphreel_sim::SimFactory;

use crate::rig::{LONG, SHARE, close, profile, simulators, valid};

pub(crate) const PRODUCERS: u64 = 64;
/// How often a waiter may be passed.
pub(crate) const OVERTAKES_MAX: u64 = 64;
const DEVICES: usize = 2;
const ACTIVE_MAX: usize = 8;
/// Every so many grants one is used.
const WORK_EVERY: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Submit(u64),
    /// The producer gives up: its request leaves the queue, or its attempt ends early.
    Cancel(u64),
    Finish(u64),
}

enum Stage {
    Waiting(Admission),
    Held(QueryHandle),
}

struct Open {
    begin: AttemptBegin,
    stage: Stage,
    deadline: Duration,
    token: CancellationToken,
}

/// Notes who is to be polled.
struct Named {
    name: u64,
    ready: Arc<Mutex<Vec<u64>>>,
}

impl Wake for Named {
    fn wake(self: Arc<Self>) {
        self.ready.lock().unwrap().push(self.name);
    }
}

/// What became of requests and attempts.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    refused: u64,
    expired: u64,
    cancelled: u64,
    done: u64,
    failed: u64,
}

struct Load {
    rng: fastrand::Rng,
    core: GpuBackendCore,
    session: GpuBackendSession,
    factory: SimFactory,
    clock: Clock,
    now: Duration,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    open: HashMap<u64, Open>,
    ready: Arc<Mutex<Vec<u64>>>,
    deadlines: BTreeSet<(Duration, u64)>,
    /// Reports by request.
    reports: Arc<Mutex<Vec<u8>>>,
    next: u64,
    requests: u64,
    /// Committed bytes and grants by device, counted apart from the ledgers.
    used: [(u64, usize); DEVICES],
    ends: Ends,
}

/// A backend whose devices run `active_max` attempts each, on `clock`.
pub(crate) fn backend(clock: Clock, devices: usize, active_max: usize) -> (GpuBackendCore, SimFactory) {
    let factory = simulators(devices);
    let profiles = (0..devices).map(|ordinal| profile(ordinal).with_derived_installation_bounds(active_max)).collect();
    let server = Config { clock, ..Config::default() };
    let core = GpuBackendCore::with_config(valid(profiles), &factory, server).unwrap();
    (core, factory)
}

/// Sums and bounds that hold at every moment.
pub(crate) fn assert_sums(found: &BackendDiagnostics) -> AdmissionCounters {
    let (admission, counters) = (&found.admission, found.admission.counters);
    let queued = counters.submitted - counters.refused_at_once - counters.declined - counters.placed_at_once;
    assert_eq!(counters.queued_total, queued, "{admission:?}");
    let after = counters.granted - counters.placed_at_once;
    let left = counters.expired + counters.cancelled + counters.refused_in_queue + admission.queued as u64;
    assert_eq!(counters.queued_total, after + left, "{admission:?}");
    let active: usize = admission.devices.iter().map(|device| device.active).sum();
    assert_eq!(counters.granted, counters.released + active as u64, "{admission:?}");
    for device in &admission.devices {
        assert!(device.committed_bytes <= device.capacity_bytes, "{device:?}");
        assert!(device.active <= device.max_active && device.source_slots_in_use <= device.source_slots, "{device:?}");
    }
    assert!(admission.queued <= admission.max_queued_requests && counters.overtakes_max <= OVERTAKES_MAX);
    counters
}

/// A size: most are small, one in ten is large and perhaps too large.
pub(crate) fn size(rng: &mut fastrand::Rng) -> u64 {
    match rng.u8(..10) {
        0 => rng.u64(SHARE / 2..SHARE * 6 / 5),
        1..4 => rng.u64(1 << 16..SHARE / 3),
        _ => rng.u64(1 << 16..SHARE / 16),
    }
}

pub(crate) fn class(rng: &mut fastrand::Rng) -> AdmissionClass {
    [AdmissionClass::High, AdmissionClass::Normal, AdmissionClass::Low][rng.usize(..3)]
}

/// Attempts that ended so, whatever they did.
pub(crate) fn completed(metrics: &BackendMetricsSnapshot, outcome: AttemptOutcome) -> u64 {
    AttemptDisposition::ALL.iter().map(|disposition| metrics.attempts.completed(*disposition, outcome)).sum()
}

/// Something on the device, with a result that is checked.
pub(crate) fn work(handle: &QueryHandle, value: u32) {
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[value; 16]).unwrap();
    assert_eq!(context.stream().read::<u32>(&buffer).unwrap(), [value; 16]);
}

impl Load {
    fn new(seed: u64, requests: u64) -> Self {
        let clock = Clock::manual();
        let (core, factory) = backend(clock.clone(), DEVICES, ACTIVE_MAX);
        let mut load = Self {
            rng: fastrand::Rng::with_seed(seed),
            session: core.session_capability(),
            core,
            factory,
            clock,
            now: Duration::ZERO,
            events: BinaryHeap::new(),
            open: HashMap::new(),
            ready: Arc::default(),
            deadlines: BTreeSet::new(),
            reports: Arc::new(Mutex::new(vec![0; requests as usize])),
            next: 0,
            requests,
            used: [(0, 0); DEVICES],
            ends: Ends::default(),
        };
        (0..PRODUCERS).for_each(|producer| load.plan(Event::Submit(producer), 1000));
        load
    }

    fn plan(&mut self, event: Event, within_ms: u64) {
        let at = self.now + Duration::from_micros(self.rng.u64(..within_ms * 1000));
        let order = self.rng.u64(..);
        self.events.push(Reverse((at, order, event)));
    }

    /// When a request gives up waiting: one in twenty before it comes, three soon after.
    fn deadline(&mut self) -> Duration {
        match self.rng.u8(..20) {
            0 => self.now.saturating_sub(Duration::from_micros(self.rng.u64(..50))),
            1..4 => self.now + Duration::from_micros(self.rng.u64(1..400_000)),
            _ => self.now + Duration::from_secs(30),
        }
    }

    fn submit(&mut self, producer: u64) {
        if self.next == self.requests {
            return;
        }
        let name = self.next;
        self.next += 1;
        self.plan(Event::Submit(producer), 1300);
        let (bytes, class, deadline) = (size(&mut self.rng), class(&mut self.rng), self.deadline());
        let begin = self.session.begin_attempt(BeginAttemptRequest::default()).unwrap();
        let reports = self.reports.clone();
        begin.owner.register_sealed_report_sink(move |_| reports.lock().unwrap()[name as usize] += 1).unwrap();
        let token = CancellationToken::new();
        let request = QueryAdmissionRequest::new(begin.owner.admission_binding())
            .with_byte_limit(bytes)
            .with_class(class)
            .with_deadline(Deadline::at(Tick(deadline)))
            .with_cancellation(token.clone());
        let mut admission = self.session.admit_async_with_request(request);
        let waker = Waker::from(Arc::new(Named { name, ready: self.ready.clone() }));
        match Pin::new(&mut admission).poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => {
                assert!(bytes <= SHARE && deadline > self.now);
                self.deadlines.insert((deadline, name));
                self.open.insert(name, Open { begin, stage: Stage::Waiting(admission), deadline, token });
            }
            Poll::Ready(Ok(handle)) => {
                assert!(deadline > self.now, "a grant past its deadline");
                self.grant(name, begin, handle, deadline, token);
            }
            Poll::Ready(Err(error)) => {
                let reason = error.reason().unwrap_or_default().to_owned();
                let due = match (bytes > SHARE, deadline <= self.now) {
                    (true, _) => "grant_exceeds_device_capacity",
                    (false, true) => "admission_wait_elapsed",
                    (false, false) => "admission_queue_full",
                };
                assert_eq!(reason, due, "{error}");
                self.ends.refused += 1;
                begin.owner.commit_failed(error).unwrap();
            }
        }
        if self.rng.u8(..10) < 3 {
            self.plan(Event::Cancel(name), 500);
        }
    }

    fn grant(
        &mut self,
        name: u64,
        begin: AttemptBegin,
        handle: QueryHandle,
        deadline: Duration,
        token: CancellationToken,
    ) {
        let used = &mut self.used[handle.device_ordinal()];
        *used = (used.0 + handle.granted_bytes(), used.1 + 1);
        if name.is_multiple_of(WORK_EVERY) {
            work(&handle, name as u32);
        }
        self.open.insert(name, Open { begin, stage: Stage::Held(handle), deadline, token });
        self.plan(Event::Finish(name), 800);
    }

    /// A request that waited has its answer.
    fn answered(
        &mut self,
        name: u64,
        begin: AttemptBegin,
        answer: QueryResult<QueryHandle>,
        open: (Duration, CancellationToken),
    ) {
        let (deadline, token) = open;
        assert!(self.deadlines.remove(&(deadline, name)));
        match answer {
            Ok(handle) => {
                assert!(deadline > self.now, "a grant past its deadline");
                self.grant(name, begin, handle, deadline, token);
            }
            Err(error) => {
                match error.reason() {
                    Some("admission_wait_elapsed") => {
                        assert_eq!(deadline, self.now, "told at its tick");
                        self.ends.expired += 1;
                    }
                    Some("admission_cancelled") => {
                        assert!(token.is_cancelled(), "{error}");
                        self.ends.cancelled += 1;
                    }
                    _ => panic!("{error}"),
                }
                begin.owner.commit_failed(error).unwrap();
            }
        }
    }

    /// Poll whoever was woken, until all that the backend has decided is answered.
    fn settle(&mut self) {
        let until = Instant::now() + LONG;
        loop {
            let names = std::mem::take(&mut *self.ready.lock().unwrap());
            for name in names {
                let Some(Open { begin, stage: Stage::Waiting(mut admission), deadline, token }) =
                    self.open.remove(&name)
                else {
                    panic!("request {name} was woken and did not wait")
                };
                let polled = Pin::new(&mut admission).poll(&mut Context::from_waker(Waker::noop()));
                let Poll::Ready(answer) = polled else { panic!("request {name} was woken for nothing") };
                self.answered(name, begin, answer, (deadline, token));
            }
            let found = self.session.diagnostics().unwrap();
            let counters = assert_sums(&found);
            assert_eq!(counters.submitted, self.next);
            if found.admission.queued == self.deadlines.len() {
                for (ledger, used) in found.admission.devices.iter().zip(&self.used) {
                    assert_eq!((ledger.committed_bytes, ledger.active), *used, "{ledger:?}");
                }
                return;
            }
            assert!(Instant::now() < until, "a decision was not delivered");
            std::thread::yield_now();
        }
    }

    fn end(&mut self, open: &Open, handle: &QueryHandle, outcome: AttemptOutcome) {
        let used = &mut self.used[handle.device_ordinal()];
        *used = (used.0 - handle.granted_bytes(), used.1 - 1);
        open.begin.owner.commit_terminal(outcome).unwrap();
        // One that was used gives back on another thread.
        let report = open.begin.completion.wait_timeout(LONG).expect("each attempt reports");
        assert_eq!((report.outcome, report.granted_bytes), (outcome, handle.granted_bytes()));
        assert_eq!(report.device_ordinal, Some(handle.device_ordinal()));
    }

    fn finish(&mut self, name: u64) {
        let Some(open) = self.open.remove(&name) else { return };
        let Stage::Held(handle) = &open.stage else { panic!("request {name} was granted") };
        if self.rng.u8(..10) == 0 {
            self.ends.failed += 1;
            self.end(&open, handle, AttemptOutcome::Failed);
        } else {
            self.ends.done += 1;
            self.end(&open, handle, AttemptOutcome::Succeeded);
        }
    }

    fn cancel(&mut self, name: u64) {
        let Some(open) = self.open.remove(&name) else { return };
        match (&open.stage, self.rng.u8(..3)) {
            (Stage::Held(handle), _) => {
                self.ends.cancelled += 1;
                self.end(&open, handle, AttemptOutcome::Cancelled);
            }
            (Stage::Waiting(_), 0) => {
                let token = open.token.clone();
                self.open.insert(name, open);
                token.cancel();
            }
            // The end of the attempt, or the drop of the future, takes the request out.
            (Stage::Waiting(_), way) => {
                assert!(self.deadlines.remove(&(open.deadline, name)));
                self.ends.cancelled += 1;
                let Open { begin, stage, .. } = open;
                if way == 1 {
                    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
                    assert!(begin.completion.is_ready(), "it held nothing");
                }
                drop(stage);
                let _ = begin.owner.commit_terminal(AttemptOutcome::Cancelled);
                // Its waker was called as it was taken out.
                self.ready.lock().unwrap().retain(|woken| *woken != name);
            }
        }
    }

    /// Go to `at`: before the first deadline that comes until then nobody hears of it, at its tick all do.
    fn go_to(&mut self, at: Duration) {
        while let Some(due) = self.deadlines.first().map(|(due, _)| *due).filter(|due| *due <= at) {
            let expired = self.ends.expired;
            let before = due - Duration::from_nanos(1);
            if before > self.now {
                self.advance_to(before);
                assert_eq!(self.ends.expired, expired, "a deadline was told too early");
            }
            self.advance_to(due);
            assert!(self.deadlines.first().is_none_or(|(next, _)| *next > due) && self.ends.expired > expired);
        }
        self.advance_to(at);
    }

    fn advance_to(&mut self, at: Duration) {
        if at > self.now {
            self.clock.advance(at - self.now);
            self.now = at;
            self.session.expire_due().unwrap();
            self.settle();
        }
    }

    fn run(&mut self) {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            self.go_to(at);
            match event {
                Event::Submit(producer) => self.submit(producer),
                Event::Cancel(name) => self.cancel(name),
                Event::Finish(name) => self.finish(name),
            }
            self.settle();
        }
        assert!(self.open.is_empty() && self.deadlines.is_empty());
    }
}

/// XB-14, XB-31, B-109, B-110, B-113, B-118, B-120, B-130: each request has one outcome and each attempt one report, deadlines
/// to the tick, no ledger is ever exceeded, and nothing is left.
#[test]
fn many_requests_in_virtual_time() {
    let _one = one_claiming_test();
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse().ok()).unwrap_or(7);
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let requests = if thorough { 1_000_000 } else { 30_000 };
    let mut load = Load::new(seed, requests);
    load.run();
    let Load { core, session, factory, ends, reports, .. } = load;
    let counters = assert_sums(&session.diagnostics().unwrap());
    assert_eq!(counters.granted, counters.released, "each grant is freed once");
    let admitted = counters.placed_at_once + counters.queued_total;
    assert_eq!(admitted, ends.done + ends.failed + ends.cancelled + ends.expired, "{counters:?}, {ends:?}");
    assert_eq!((ends.refused, ends.expired), (counters.refused_at_once, counters.expired));
    for count in [ends.expired, ends.cancelled, ends.refused, ends.failed, counters.granted - counters.placed_at_once] {
        assert!(count > requests / 100, "the load is lopsided: {counters:?}, {ends:?}");
    }
    assert_eq!(counters.overtakes_max, OVERTAKES_MAX, "large ones are passed: {counters:?}");
    close(core, &factory);
    let (begun, metrics) = (session.attempt_counters_snapshot(), session.backend_metrics_snapshot());
    assert_eq!((begun.attempts_begun, begun.reports_ready), (requests, requests));
    assert!(reports.lock().unwrap().iter().all(|count| *count == 1), "one report each");
    let by_outcome = [
        (AttemptOutcome::Succeeded, ends.done),
        (AttemptOutcome::Failed, ends.failed),
        (AttemptOutcome::Cancelled, ends.cancelled),
        (AttemptOutcome::Rejected, ends.refused + ends.expired),
        (AttemptOutcome::Dropped, 0),
    ];
    assert_eq!(by_outcome.map(|(outcome, _)| completed(&metrics, outcome)), by_outcome.map(|(_, count)| count));
    // What was refused for its code alone is refused again.
    assert_eq!(session.begin_attempt(BeginAttemptRequest::default()).map(drop).map_err(closing), Err(true));
}

fn closing(error: QueryError) -> bool {
    error.reason() == Some("backend_closing")
}
