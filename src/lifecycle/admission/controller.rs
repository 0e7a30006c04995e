//! Admission for many threads: the pure state under one lock, and each decision delivered outside of it. Wakers and the
//! destructors of what requests hold are callers' code; they may call back in.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::clock::{Clock, Deadline, Tick};
use crate::lifecycle::admission::grant::{Grant, GrantHome};
use crate::lifecycle::admission::ledger::{DeviceClosure, DeviceEnvelope, DeviceLedger, Placement};
use crate::lifecycle::admission::outcome::Outcome;
use crate::lifecycle::admission::pending::{PendingGrant, Queued};
use crate::lifecycle::admission::request::GrantRequest;
use crate::lifecycle::admission::snapshot::AdmissionSnapshot;
use crate::lifecycle::admission::state::{AdmissionState, Arrival, Decision};
use crate::lifecycle::admission::timer::Timer;
use crate::lifecycle::config::{BACKEND_METRIC_DEVICE_CAPACITY, QueueBounds};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::sync::{Arc, Condvar, Mutex};

/// The admission of one backend. `P` is what a request holds from before it queues until its outcome: its permits (B-98).
pub(crate) struct AdmissionController<P: Send + 'static> {
    hub: Arc<Hub<P>>,
    timer: Timer,
}

/// What the controller, its timer, its grants and its requests share.
pub(crate) struct Hub<P> {
    pub(crate) clock: Clock,
    pub(crate) state: Mutex<HubState<P>>,
    /// The next deadline came nearer, or the timer is to end or has ended.
    pub(crate) rearmed: Condvar,
}

pub(crate) struct HubState<P> {
    admission: AdmissionState<Waiting<P>>,
    pub(crate) timer_stops: bool,
    pub(crate) timer_has_ended: bool,
}

/// What a waiter leaves in trust.
pub(crate) struct Waiting<P> {
    payload: P,
    outcome: Arc<Outcome<P>>,
}

type Decisions<P> = Vec<Decision<Waiting<P>>>;

impl<P: Send + 'static> AdmissionController<P> {
    /// An empty queue over the devices, and its timer.
    ///
    /// # Errors
    ///
    /// `InvalidConfiguration` for devices or bounds that cannot work; `admission_timer_spawn_failed`.
    pub(crate) fn new(clock: Clock, bounds: &QueueBounds, devices: Vec<DeviceEnvelope>) -> QueryResult<Self> {
        let hub = Hub::new(clock, bounds, devices)?;
        let timer = Timer::spawn(&hub)?;
        Ok(Self { hub, timer })
    }

    /// Ask for a grant. One that fits now is placed before this returns; the future of one that waits is woken.
    pub(crate) fn request(&self, request: GrantRequest, payload: P) -> PendingGrant<P> {
        self.hub.request(request, payload)
    }

    /// Ask for a grant now: `None` when there is no room, and then nothing waits (B-101).
    ///
    /// # Errors
    ///
    /// As a request that is refused without waiting.
    pub(crate) fn try_request(&self, request: GrantRequest, payload: P) -> QueryResult<Option<(Grant, P)>> {
        self.hub.try_request(&request, payload)
    }

    /// Take a device out of service: it gets no grant any more, and waiters that have no other device are refused (B-112).
    /// True when it was out of service before.
    ///
    /// # Errors
    ///
    /// `quarantine_device_not_installed`.
    #[cfg(any(test, feature = "qualification"))]
    pub(crate) fn close_device(&self, ordinal: usize, closure: DeviceClosure) -> QueryResult<bool> {
        self.hub.close_device(ordinal, closure)
    }

    /// As [`AdmissionController::close_device`], but whoever waits hears of it by the drop of what this returns: for a caller
    /// with a lock. Nothing when the device is not installed.
    pub(crate) fn close_device_quietly(&self, ordinal: usize, closure: DeviceClosure) -> Option<Undelivered<P>> {
        let close = |state: &mut HubState<P>, now, decisions: &mut _| {
            state.admission.close_device(now, ordinal, closure, decisions)
        };
        let (closed, decisions) = self.hub.decide(close);
        let undelivered = Undelivered { hub: self.hub.clone(), decisions };
        closed.map(|_| undelivered)
    }

    /// Admission as it is now (B-118).
    pub(crate) fn snapshot(&self) -> AdmissionSnapshot {
        self.hub.snapshot()
    }

    /// Refuse those whose deadline has come, without waiting for the timer: for tests with a clock that is moved by hand.
    #[cfg(any(test, feature = "test-hooks"))]
    pub(crate) fn expire_due(&self) {
        self.hub.expire_due();
    }

    /// Refuse all that wait and all that come, end the timer and wait for its end, at most until `until`. False when it had
    /// not ended by then, or when this is the timer's own thread. A close comes here last: requests that wait hold its
    /// scope open until their own deadlines (B-114, QB-6).
    pub(crate) fn shutdown(&self, until: Instant) -> bool {
        self.hub.end();
        self.timer.join(&self.hub, until)
    }
}

impl<P: Send + 'static> Drop for AdmissionController<P> {
    fn drop(&mut self) {
        // The timer ends by itself: a destructor waits for nothing.
        self.hub.end();
    }
}

impl<P: Send + 'static> fmt::Debug for AdmissionController<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmissionController").field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}

/// Decisions on their way to those who wait; delivered by its drop.
pub(crate) struct Undelivered<P: Send + 'static> {
    hub: Arc<Hub<P>>,
    decisions: Decisions<P>,
}

impl<P: Send + 'static> Undelivered<P> {
    /// Whether nobody has anything to hear.
    pub(crate) fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }
}

impl<P: Send + 'static> Drop for Undelivered<P> {
    fn drop(&mut self) {
        self.hub.deliver(std::mem::take(&mut self.decisions));
    }
}

impl<P: Send + 'static> Hub<P> {
    pub(crate) fn new(clock: Clock, bounds: &QueueBounds, devices: Vec<DeviceEnvelope>) -> QueryResult<Arc<Self>> {
        bounds.validate()?;
        let ledgers = ledgers(devices)?;
        let state = HubState {
            admission: AdmissionState::new(ledgers, bounds.clone()),
            timer_stops: false,
            timer_has_ended: false,
        };
        Ok(Arc::new(Self { clock, state: Mutex::new(state), rearmed: Condvar::new() }))
    }

    pub(crate) fn request(self: &Arc<Self>, request: GrantRequest, payload: P) -> PendingGrant<P> {
        let is_cancelled = request.cancel.as_ref().is_some_and(|token| token.is_cancelled());
        let (settled, decisions) = self.decide(|state, now, decisions| {
            if is_cancelled {
                return Err((state.admission.arrive_cancelled(), payload));
            }
            match state.admission.arrive(now, &request, decisions) {
                Arrival::Refused(refusal) => Err((refusal, payload)),
                Arrival::Placed(placement) => Ok(Entered::Placed(placement, payload)),
                Arrival::MustWait(demand) => {
                    let outcome = Arc::new(Outcome::new());
                    let waiting = Waiting { payload, outcome: outcome.clone() };
                    let earlier = state.admission.next_deadline().is_some_and(|next| next <= demand.deadline);
                    match state.admission.enqueue(demand, waiting) {
                        Err((refusal, waiting)) => Err((refusal, waiting.payload)),
                        Ok(id) => Ok(Entered::Queued { id, deadline: demand.deadline, outcome, rearms: !earlier }),
                    }
                }
            }
        });
        self.deliver(decisions);
        match settled {
            Err((refusal, payload)) => {
                drop(payload);
                PendingGrant::at_once(Err(refusal.into_error()))
            }
            Ok(Entered::Placed(placement, payload)) => {
                PendingGrant::at_once(Ok((Grant::new(self.clone(), placement, Default::default()), payload)))
            }
            Ok(Entered::Queued { id, deadline, outcome, rearms }) => {
                if rearms {
                    self.rearmed.notify_all();
                }
                let mut queued = Queued { hub: self.clone(), id, deadline, outcome, registration: None };
                if let Some(token) = &request.cancel {
                    let home: Arc<dyn GrantHome> = self.clone();
                    queued.registration = token.register(Arc::downgrade(&home), id);
                    if queued.registration.is_none() {
                        self.cancel(id);
                    }
                }
                PendingGrant::queued(queued)
            }
        }
    }

    pub(crate) fn try_request(self: &Arc<Self>, request: &GrantRequest, payload: P) -> QueryResult<Option<(Grant, P)>> {
        let is_cancelled = request.cancel.as_ref().is_some_and(|token| token.is_cancelled());
        let (arrival, decisions) = self.decide(|state, now, decisions| {
            if is_cancelled {
                return Arrival::Refused(state.admission.arrive_cancelled());
            }
            let arrival = state.admission.arrive(now, request, decisions);
            if let Arrival::MustWait(_) = arrival {
                state.admission.decline();
            }
            arrival
        });
        self.deliver(decisions);
        match arrival {
            Arrival::Placed(placement) => Ok(Some((Grant::new(self.clone(), placement, Default::default()), payload))),
            Arrival::MustWait(_) => Ok(None),
            Arrival::Refused(refusal) => Err(refusal.into_error()),
        }
    }

    #[cfg(any(test, feature = "qualification"))]
    pub(crate) fn close_device(self: &Arc<Self>, ordinal: usize, closure: DeviceClosure) -> QueryResult<bool> {
        self.update(|state, now, decisions| state.admission.close_device(now, ordinal, closure, decisions)).ok_or_else(
            || {
                let message = format!("device {ordinal} is not installed in this backend; name one that is");
                QueryError::new(QueryErrorCode::InvalidConfiguration, operation::ADMISSION, message)
                    .with_reason("quarantine_device_not_installed")
                    .with_fact("device_ordinal", ordinal)
            },
        )
    }

    pub(crate) fn cancel(self: &Arc<Self>, id: u64) {
        self.update(|state, now, decisions| state.admission.cancel(now, id, decisions));
    }

    pub(crate) fn expire_due(self: &Arc<Self>) {
        self.update(|state, now, decisions| state.admission.advance(now, decisions));
    }

    pub(crate) fn end(self: &Arc<Self>) {
        self.update(|state, _, decisions| {
            state.timer_stops = true;
            state.admission.end(decisions);
        });
        self.rearmed.notify_all();
    }

    pub(crate) fn snapshot(&self) -> AdmissionSnapshot {
        self.state.lock().admission.snapshot()
    }

    /// Make decisions under the lock and deliver them outside.
    fn update<R>(self: &Arc<Self>, change: impl FnOnce(&mut HubState<P>, Tick, &mut Decisions<P>) -> R) -> R {
        let (result, decisions) = self.decide(change);
        self.deliver(decisions);
        result
    }

    /// Time is read under the lock, so that events have it in their order.
    fn decide<R>(&self, change: impl FnOnce(&mut HubState<P>, Tick, &mut Decisions<P>) -> R) -> (R, Decisions<P>) {
        let mut decisions = Vec::new();
        let mut state = self.state.lock();
        let now = self.clock.now();
        (change(&mut state, now, &mut decisions), decisions)
    }

    /// Deliver in order. A grant that nobody waits for any more goes back, and what that decides is delivered too: in a
    /// loop, since one after the other may have gone.
    pub(crate) fn deliver(self: &Arc<Self>, mut decisions: Decisions<P>) {
        while !decisions.is_empty() {
            let mut more = Vec::new();
            for decision in decisions {
                if let Some((placement, payload)) = self.deliver_one(decision) {
                    let ((), decided) =
                        self.decide(|state, now, decisions| state.admission.release(now, placement, decisions));
                    more.extend(decided);
                    guarded("dropping what a request held", || drop(payload));
                }
            }
            decisions = more;
        }
    }

    /// Returns what goes back because nobody waits for it.
    fn deliver_one(self: &Arc<Self>, decision: Decision<Waiting<P>>) -> Option<(Placement, P)> {
        let (outcome, settled) = match decision {
            Decision::Granted { id, waiting: Waiting { payload, outcome }, placement, queue_wait } => {
                tracing::debug!(request = id, ?queue_wait, "a request that waited is granted");
                (outcome, Ok((Grant::new(self.clone(), placement, queue_wait), payload)))
            }
            Decision::Refused { id, waiting: Waiting { payload, outcome }, refusal } => {
                tracing::debug!(request = id, ?refusal, "a request that waited is refused");
                // Before anybody hears of it, and also if nobody ever asks (B-98).
                guarded("dropping what a request held", || drop(payload));
                (outcome, Err(refusal.into_error()))
            }
        };
        match outcome.settle(settled) {
            Ok(waker) => {
                guarded("waking a request", || waker.into_iter().for_each(|waker| waker.wake()));
                None
            }
            Err(unclaimed) => {
                let (grant, payload) = unclaimed.ok()?;
                grant.into_placement().map(|placement| (placement, payload))
            }
        }
    }
}

enum Entered<P> {
    Placed(Placement, P),
    Queued { id: u64, deadline: Tick, outcome: Arc<Outcome<P>>, rearms: bool },
}

impl<P> HubState<P> {
    /// When the timer is due.
    pub(crate) fn next_deadline(&self) -> Deadline {
        self.admission.next_deadline().map_or(Deadline::NEVER, Deadline::at)
    }
}

impl<P: Send + 'static> GrantHome for Hub<P> {
    fn give_back(self: Arc<Self>, placement: Placement) {
        self.update(|state, now, decisions| state.admission.release(now, placement, decisions));
    }

    fn cancel_request(self: Arc<Self>, id: u64) {
        self.cancel(id);
    }
}

/// Run a caller's code so that its panic costs nobody else their outcome.
fn guarded(what: &str, callers_code: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(callers_code)).is_err() {
        tracing::error!("{what} panicked; admission goes on");
    }
}

/// The devices as ledgers by ordinal, checked: a device that could never grant its default would keep requests for nothing.
fn ledgers(mut devices: Vec<DeviceEnvelope>) -> QueryResult<Vec<DeviceLedger>> {
    let refuse = |message: String, reason| {
        Err(QueryError::new(QueryErrorCode::InvalidConfiguration, operation::ADMISSION, message).with_reason(reason))
    };
    devices.sort_by_key(|device| device.ordinal);
    if devices.is_empty() {
        return refuse("there is no device to admit to; declare one".to_owned(), "no_devices");
    }
    for (index, device) in devices.iter().enumerate() {
        let ordinal = device.ordinal;
        if index > 0 && devices[index - 1].ordinal == ordinal {
            return refuse(format!("device {ordinal} is there twice; name it once"), "duplicate_device_ordinal");
        }
        if ordinal >= BACKEND_METRIC_DEVICE_CAPACITY {
            let message = format!("device {ordinal} is beyond the {BACKEND_METRIC_DEVICE_CAPACITY} that are counted");
            return refuse(message, "backend_metrics_device_ordinal_out_of_range");
        }
        if device.max_active == 0 {
            return refuse(format!("device {ordinal} runs no attempts; allow at least one"), "zero");
        }
        if device.default_bytes > device.capacity_bytes {
            let message = format!("device {ordinal} has a default grant above its query share; lower it");
            return refuse(message, "default_query_limit_exceeds_query_share");
        }
        if device.source_slots < device.source_slots_per_attempt {
            let message = format!("device {ordinal} has too few source slots for one attempt; install more");
            return refuse(message, "stream_pool_below_required_formula");
        }
    }
    Ok(devices.into_iter().map(DeviceLedger::new).collect())
}
