//! A backend under test beside its model: what each step does to both.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use graphreel::clock::Clock;
use graphreel::lifecycle::config::{
    DeviceCapabilities, GpuBackendConfig, GpuBackendDeviceConfig, GpuDeviceMemoryLimit, GpuMemoryOwnership,
    QueryExecutionConfig, QueueBounds, RequiredCapabilities,
};
use graphreel::lifecycle::{
    Admission, AdmissionClass, AttemptCompletionReceiver, AttemptOutcome, AttemptOwner, BeginAttemptRequest,
    CacheEntry, CancellationToken, GpuBackendCore, GpuBackendSession, QueryActivityLease, QueryAdmissionRequest,
    QueryAttemptReport, QueryContext, QueryError, QueryErrorCode, QueryHandle,
};
use graphreel::{Buffer, Config, Graph};
use graphreel_sim::SimFactory;

use super::plain::{ABANDONED_MAX, Answer, Asked, DEFAULT_WAIT, Plain, PlainDevice, QUEUED_MAX};
use super::resident::{ENTRIES_MAX, PlainCache};
use super::seen::{Seen, check_report};
use super::steps::{Ask, REQUESTS_MAX, TOKENS, Which};
use crate::rig::{LONG, MIB, SHARE, claimable, clean, profile, simulators};

/// Whether a life has failed, and shorter ones are tried: then each one that fails costs less.
pub(super) static SHRINKING: AtomicBool = AtomicBool::new(false);

/// How long what other threads do may take.
fn settle_max() -> Duration {
    Duration::from_millis(if SHRINKING.load(Ordering::SeqCst) { 200 } else { 10_000 })
}

pub(super) const ENTRY_BYTES: u64 = 64 << 10;
const DEVICES: usize = 2;
const CAPABILITIES: [&[&str]; DEVICES] = [&["f16", "f64"], &["f16"]];
const SHARES: [u64; DEVICES] = [SHARE, SHARE / 2];
const ACTIVE_MAX: [usize; DEVICES] = [2, 3];
const DEFAULTS: [u64; DEVICES] = [4 * MIB, 2 * MIB];

pub(super) struct RealAttempt {
    pub(super) owner: Option<AttemptOwner>,
    pub(super) receiver: Option<AttemptCompletionReceiver>,
    /// What its sink was given.
    pub(super) reports: Arc<Mutex<Vec<QueryAttemptReport>>>,
    pub(super) handle: Option<QueryHandle>,
    pub(super) context: Option<QueryContext>,
    /// What its latest work made.
    pub(super) made: Option<(Buffer, Graph)>,
    checked: bool,
}

struct RealRequest {
    admission: Option<Admission>,
    woken: Arc<Woken>,
    awaited: bool,
}

/// How often a life came to what is named.
pub(super) type Shown = [(&'static str, u64); 14];

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(super) struct World {
    pub(super) plain: Plain,
    pub(super) caches: Vec<PlainCache>,
    pub(super) cores: Vec<GpuBackendCore>,
    pub(super) sessions: Vec<GpuBackendSession>,
    pub(super) attempts: Vec<RealAttempt>,
    requests: Vec<RealRequest>,
    pub(super) entries: Vec<(usize, usize, CacheEntry)>,
    tokens: Vec<CancellationToken>,
    clock: Clock,
    pub(super) factory: SimFactory,
    /// What every request carries as its activity.
    activity: Arc<()>,
}

/// One of `len` by the drawn number: of those that `prefer` says, if there are any and it was not drawn very high.
pub(super) fn pick(which: Which, len: usize, prefer: impl Fn(usize) -> bool) -> Option<usize> {
    let preferred: Vec<usize> = (0..len).filter(|index| prefer(*index)).collect();
    let of = if which < 230 && !preferred.is_empty() { preferred } else { (0..len).collect() };
    (!of.is_empty()).then(|| of[usize::from(which) % of.len()])
}

pub(super) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + settle_max();
    while !done() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_micros(100));
    }
}

impl World {
    pub(super) fn new() -> Self {
        let (factory, clock) = (simulators(DEVICES), Clock::manual());
        let cap = ENTRY_BYTES * ENTRIES_MAX as u64;
        let device = |ordinal: usize| {
            let profile = profile(ordinal)
                .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: SHARES[ordinal] + cap })
                .with_cache_cap_bytes(cap)
                .with_default_query_limit_bytes(DEFAULTS[ordinal])
                .with_device_capabilities(DeviceCapabilities::only(CAPABILITIES[ordinal].iter().copied()))
                .with_derived_installation_bounds(ACTIVE_MAX[ordinal]);
            GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive)
        };
        let queue = QueueBounds::new(QUEUED_MAX, DEFAULT_WAIT);
        let config = GpuBackendConfig::new((0..DEVICES).map(device).collect(), QueryExecutionConfig::default(), queue)
            .with_attempt_completion_queue_capacity(ABANDONED_MAX)
            .validate()
            .unwrap();
        let server = Config { clock: clock.clone(), ..Config::default() };
        let core = GpuBackendCore::with_config(config, &factory, server).unwrap();
        let plain = |ordinal: usize| PlainDevice {
            capacity: SHARES[ordinal],
            default: DEFAULTS[ordinal],
            active_max: ACTIVE_MAX[ordinal],
            capabilities: CAPABILITIES[ordinal],
            quarantined: false,
            lost: false,
            held: Vec::new(),
        };
        Self {
            plain: Plain::new((0..DEVICES).map(plain).collect(), TOKENS),
            caches: vec![PlainCache::default(); DEVICES],
            sessions: vec![core.session_capability()],
            // The last one's drop closes, so most lives keep one.
            cores: vec![core; 3],
            attempts: Vec::new(),
            requests: Vec::new(),
            entries: Vec::new(),
            tokens: (0..TOKENS).map(|_| CancellationToken::new()).collect(),
            clock,
            factory,
            activity: Arc::new(()),
        }
    }

    pub(super) fn session(&self) -> Option<GpuBackendSession> {
        self.sessions.last().cloned().or_else(|| self.cores.first().map(|core| core.session_capability()))
    }

    /// The backend against the model: what other threads still do is waited for.
    pub(super) fn compare(&mut self) {
        let until = Instant::now() + settle_max();
        let due = Seen::due(self);
        loop {
            let seen = Seen::now(self);
            if seen == due {
                break;
            }
            if Instant::now() >= until {
                assert_eq!(seen, due, "seen, and what must be");
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        for index in 0..self.attempts.len() {
            if self.attempts[index].checked || self.plain.attempts[index].end.is_none() {
                continue;
            }
            self.assert_taken_back(index);
            let attempt = &mut self.attempts[index];
            attempt.checked = true;
            check_report(&self.plain, index, &attempt.reports.lock().unwrap()[0]);
            if let Some(receiver) = &attempt.receiver {
                let report = receiver.wait_timeout(settle_max()).expect("a report that sinks saw is shown");
                assert_eq!(report.attempt_id, index as u64 + 1);
            }
        }
        for (id, request) in self.requests.iter().enumerate() {
            let waits = self.plain.requests[id].stage == super::plain::Stage::Waiting;
            if request.awaited && request.admission.is_some() {
                let woken = || request.woken.0.load(Ordering::SeqCst);
                assert!(!waits || !woken(), "request {id} was woken for nothing");
                eventually("a waker of a request that is decided", || waits || woken());
            }
        }
    }

    pub(super) fn begin(&mut self) {
        let begun = match (self.session(), self.cores.first()) {
            (Some(session), _) => session.begin_attempt(BeginAttemptRequest::default()),
            (None, Some(core)) => core.begin_attempt(BeginAttemptRequest::default()),
            (None, None) => return,
        };
        if self.plain.closing {
            return assert_refused(&begun.unwrap_err(), QueryErrorCode::Cancelled, "backend_closing");
        }
        let begun = begun.unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let sink = reports.clone();
        begun.owner.register_sealed_report_sink(move |report| sink.lock().unwrap().push(report.clone())).unwrap();
        let (owner, receiver) = (Some(begun.owner), Some(begun.completion));
        let (handle, context, made, checked) = (None, None, None, false);
        self.attempts.push(RealAttempt { owner, receiver, reports, handle, context, made, checked });
        self.plain.begin();
    }

    pub(super) fn ask(&mut self, which: Which, ask: &Ask) {
        let is_free = |index: usize| {
            let attempt = &self.plain.attempts[index];
            attempt.end.is_none() && attempt.pending.is_none() && attempt.placed.is_none()
        };
        let Some(index) = pick(which, self.attempts.len(), is_free) else { return };
        let (Some(session), Some(owner)) = (self.session(), &self.attempts[index].owner) else { return };
        if self.requests.len() == REQUESTS_MAX {
            return;
        }
        let class = [AdmissionClass::High, AdmissionClass::Normal, AdmissionClass::Low][ask.class];
        let mut request = QueryAdmissionRequest::new(owner.admission_binding())
            .with_class(class)
            .with_required_capabilities(RequiredCapabilities::new(ask.needs))
            .with_runtime_observation_activity(QueryActivityLease::new(self.activity.clone()));
        let named: Vec<usize> = (0..3).filter(|bit| ask.devices.is_none_or(|set| set & (1 << bit) != 0)).collect();
        let bytes = ask.parts.map(|parts| parts * SHARE / 64);
        let wait = ask.wait_ms.map(Duration::from_millis);
        if ask.devices.is_some() {
            request = request.with_devices(named.iter().copied());
        }
        if let Some(bytes) = bytes {
            request = request.with_byte_limit(bytes);
        }
        if let Some(wait) = wait {
            request = request.with_wait(wait);
        }
        if let Some(token) = ask.token {
            request = request.with_cancellation(self.tokens[token].clone());
        }
        let admission = Some(session.admit_async_with_request(request));
        self.requests.push(RealRequest { admission, woken: Arc::default(), awaited: false });
        let devices = named.into_iter().filter(|ordinal| *ordinal < DEVICES).collect();
        let needs = ask.needs.into_iter().collect();
        self.plain.ask(Asked { attempt: index, bytes, class: ask.class, devices, needs, wait, token: ask.token });
    }

    fn any_request(&self, which: Which) -> Option<usize> {
        pick(which, self.requests.len(), |id| self.requests[id].admission.is_some())
    }

    pub(super) fn poll_one(&mut self, which: Which) {
        let Some(id) = self.any_request(which) else { return };
        self.poll(id);
    }

    pub(super) fn poll(&mut self, id: usize) {
        let request = &mut self.requests[id];
        let waker = Waker::from(request.woken.clone());
        let Some(admission) = request.admission.as_mut() else { return };
        let mut polled = || Pin::new(&mut *admission).poll(&mut Context::from_waker(&waker));
        let due = self.plain.poll(id);
        let mut answer = polled();
        if due == Answer::Pending {
            assert!(answer.is_pending(), "request {id} waits, and {answer:?} was answered");
            self.requests[id].awaited = true;
            return;
        }
        eventually("the answer to a request that is decided", || {
            if answer.is_pending() {
                answer = polled();
            }
            answer.is_ready()
        });
        let Poll::Ready(answer) = answer else { unreachable!("it was waited for") };
        self.requests[id].admission = None;
        match (due, answer) {
            (Answer::Handle(placed), Ok(handle)) => {
                assert_eq!((handle.device_ordinal(), handle.granted_bytes()), (placed.device, placed.bytes));
                let attempt = self.plain.requests[id].asked.attempt;
                assert_eq!(handle.attempt_id(), attempt as u64 + 1);
                self.attempts[attempt].handle = Some(handle);
            }
            (Answer::Refused(reason), Err(error)) => assert_eq!(error.reason(), Some(reason), "{error}"),
            (due, answer) => panic!("request {id}: {due:?} was due, and {answer:?} came"),
        }
    }

    pub(super) fn drop_future(&mut self, which: Which) {
        let Some(id) = self.any_request(which) else { return };
        if self.requests[id].admission.take().is_some() {
            self.plain.drop_future(id);
        }
    }

    pub(super) fn cancel(&mut self, token: usize) {
        self.tokens[token].cancel();
        self.plain.cancel(token);
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
        self.plain.advance(by);
        let Some(session) = self.session() else { return };
        match session.expire_due() {
            Ok(()) => assert!(!self.plain.closing),
            Err(error) => {
                assert!(self.plain.closing);
                assert_refused(&error, QueryErrorCode::Cancelled, "backend_closing");
            }
        }
    }

    pub(super) fn open_attempt(&self, which: Which) -> Option<usize> {
        pick(which, self.attempts.len(), |index| self.plain.attempts[index].end.is_none())
    }

    pub(super) fn plan(&mut self, which: Which) {
        let Some(index) = self.open_attempt(which) else { return };
        let Some(owner) = &self.attempts[index].owner else { return };
        owner.mark_planned();
        let (now, attempt) = (self.plain.now, &mut self.plain.attempts[index]);
        if attempt.end.is_none() {
            attempt.planned_at.get_or_insert(now);
        }
    }

    pub(super) fn end(&mut self, which: Which, outcome: AttemptOutcome) {
        let Some(index) = self.open_attempt(which) else { return };
        let Some(owner) = &self.attempts[index].owner else { return };
        let committed = if outcome == AttemptOutcome::Failed {
            let error = QueryError::new(QueryErrorCode::Internal, "test", "asked to fail");
            owner.commit_failed(error.with_reason("test_failure"))
        } else {
            owner.commit_terminal(outcome)
        };
        match committed {
            Ok(()) => assert!(self.plain.end(index, outcome), "attempt {index} ended twice"),
            Err(error) => {
                assert!(!self.plain.end(index, outcome), "attempt {index} did not end: {error}");
                assert_refused(&error, QueryErrorCode::Internal, "attempt_already_terminal");
            }
        }
        self.assert_over(index);
    }

    pub(super) fn drop_owner(&mut self, index: usize) {
        if self.attempts[index].owner.take().is_some() {
            self.plain.end(index, AttemptOutcome::Dropped);
            self.assert_over(index);
        }
    }

    pub(super) fn drop_receiver(&mut self, which: Which) {
        let Some(index) = self.open_attempt(which) else { return };
        self.attempts[index].receiver = None;
        self.plain.attempts[index].has_receiver = false;
    }

    pub(super) fn take_abandoned(&mut self) {
        let Some(session) = self.session() else { return };
        let taken = session.take_abandoned_attempt_reports(2);
        let due: Vec<u64> = (0..2).filter_map(|_| self.plain.abandoned.pop_front()).map(|i| i as u64 + 1).collect();
        assert_eq!(taken.iter().map(|report| report.attempt_id).collect::<Vec<_>>(), due);
    }

    pub(super) fn quarantine(&mut self, device: usize) {
        let Some(core) = self.cores.first() else { return };
        let injected = core.fault_injector().quarantine_device(device);
        if self.plain.closing {
            assert_refused(&injected.unwrap_err(), QueryErrorCode::Cancelled, "backend_closing");
        } else if device >= DEVICES {
            let reason = "quarantine_device_not_installed";
            assert_refused(&injected.unwrap_err(), QueryErrorCode::InvalidConfiguration, reason);
        } else {
            assert_eq!(injected.unwrap().already_quarantined, self.plain.close_device(device, false));
        }
    }

    pub(super) fn close(&mut self) {
        let Some(core) = self.cores.first() else { return };
        assert_eq!(core.close(), !self.plain.closing, "one call closes");
        self.plain.closing = true;
    }

    /// A close that does not wait names what is held.
    pub(super) fn close_and_look(&mut self) {
        let Some(core) = self.cores.first() else { return };
        let closed = core.close_and_wait(Duration::ZERO);
        self.plain.closing = true;
        let held = [self.plain.gpu_permits(), self.plain.observation_permits()];
        match closed {
            Ok(snapshot) => assert!(held == [0, 0] && snapshot.gpu_resource_quiescent, "{held:?} are held"),
            Err(error) => {
                assert_refused(&error, QueryErrorCode::ServiceOverloaded, "backend_close_timeout");
                let keys = ["active_gpu_permits", "active_observation_permits"];
                assert_eq!(keys.map(|key| error.fact_value(key).unwrap().to_owned()), held.map(|n| n.to_string()));
            }
        }
    }

    pub(super) fn drop_core(&mut self) {
        if self.cores.pop().is_some() && self.cores.is_empty() {
            self.plain.closing = true;
        }
    }

    /// End everything, close, and hold what is left against the rules. Returns what the life has shown.
    pub(super) fn finish(mut self) -> Shown {
        (0..self.requests.len()).rev().step_by(2).for_each(|id| self.poll(id));
        self.compare();
        for index in 0..self.attempts.len() {
            // One after the other: what it gives back goes to those that still wait.
            self.drop_owner(index);
            self.compare();
        }
        (0..self.requests.len()).for_each(|id| self.poll(id));
        self.compare();
        assert_eq!((self.plain.gpu_permits(), self.plain.observation_permits()), (0, 0));
        if let Some(core) = self.cores.first().cloned() {
            let closed = core.close_and_wait(LONG).unwrap();
            assert!(closed.gpu_resource_quiescent && closed.observation_quiescent, "{closed:?}");
            self.plain.closing = true;
            self.compare();
            self.begin();
            self.quarantine(0);
        }
        self.advance(Duration::from_secs(1));
        if let Some(session) = self.session() {
            let error = session.diagnostics().unwrap_err();
            assert_refused(&error, QueryErrorCode::Cancelled, "backend_closing");
            let metrics = session.backend_metrics_snapshot();
            assert_eq!(metrics.generation, self.attempts.len() as u64, "each report is counted once");
        }
        (0..self.attempts.len()).for_each(|index| self.assert_over(index));
        let shown = self.shown();
        let Self { cores, sessions, attempts, requests, entries, factory, activity, .. } = self;
        drop(cores);
        claimable();
        eventually("every activity goes", || Arc::strong_count(&activity) == 1);
        let kept: Vec<_> =
            attempts.into_iter().map(|attempt| (attempt.owner, attempt.receiver, attempt.handle)).collect();
        drop(entries);
        clean(&factory);
        drop((kept, requests, sessions));
        shown
    }

    fn shown(&self) -> Shown {
        let (plain, counters) = (&self.plain, self.plain.counters);
        let count = |is: &dyn Fn(&super::plain::PlainAttempt) -> bool| {
            plain.attempts.iter().filter(|attempt| is(attempt)).count() as u64
        };
        [
            ("granted after a wait", counters.granted - counters.placed_at_once),
            ("expired", counters.expired),
            ("cancelled", counters.cancelled),
            ("refused at once", counters.refused_at_once),
            ("refused in the queue", counters.refused_in_queue),
            ("passed", counters.overtakes_max),
            ("native", count(&|attempt| attempt.used)),
            ("lost under work", count(&|attempt| attempt.end.is_some_and(|end| end.lost))),
            ("ended while closing", count(&|attempt| attempt.end.is_some_and(|end| end.was_closing))),
            ("reports kept", plain.pushed),
            ("reports over the edge", plain.overflowed),
            ("cache hits", self.caches.iter().map(|cache| cache.hits).sum()),
            ("evictions", self.caches.iter().map(|cache| cache.evictions).sum()),
            ("no room in the cache", self.caches.iter().map(|cache| cache.failures).sum()),
        ]
    }
}

pub(super) fn assert_refused(error: &QueryError, code: QueryErrorCode, reason: &str) {
    assert_eq!((error.code(), error.reason()), (code, Some(reason)), "{error}");
}
