//! A request for a device, from its permits through the queue to the handle of an admitted attempt (B-97 to B-118).

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock::Deadline;
use crate::lifecycle::admission::cancel::CancellationToken;
use crate::lifecycle::admission::grant::Grant;
use crate::lifecycle::admission::pending::{Canceller, PendingGrant};
use crate::lifecycle::admission::request::{AdmissionClass, GrantRequest};
use crate::lifecycle::admitted::Admitted;
use crate::lifecycle::attempt::activity::{QueryActivityLease, TailLease};
use crate::lifecycle::attempt::binding::{AttachRefusal, AttemptBinding};
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::config::RequiredCapabilities;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::gate::ObservationPermit;
use crate::lifecycle::handle::QueryHandle;
use crate::lifecycle::resource::{AcquiredResource, GpuResourcePermit, ResourceCore, acquire_resource};
use crate::lifecycle::service::BackendService;
use crate::sync::{Arc, Mutex, Weak};

/// What an attempt asks of a device (B-107).
#[derive(Debug)]
pub struct QueryAdmissionRequest {
    binding: AttemptBinding,
    activity: Option<QueryActivityLease>,
    byte_limit: Option<u64>,
    class: AdmissionClass,
    required: RequiredCapabilities,
    devices: Option<BTreeSet<usize>>,
    wait: Wait,
    cancellation: Option<CancellationToken>,
}

#[derive(Clone, Copy, Debug)]
enum Wait {
    Default,
    For(Duration),
    Until(Deadline),
}

impl QueryAdmissionRequest {
    /// A request for the attempt of `binding`, with the device's default grant and the queue's default wait.
    pub fn new(binding: AttemptBinding) -> Self {
        Self {
            binding,
            activity: None,
            byte_limit: None,
            class: AdmissionClass::Normal,
            required: RequiredCapabilities::default(),
            devices: None,
            wait: Wait::Default,
            cancellation: None,
        }
    }

    /// Attach an object that is dropped as the very last step of the attempt, or of the refusal (B-102, B-103).
    #[must_use]
    pub fn with_runtime_observation_activity(self, activity: QueryActivityLease) -> Self {
        Self { activity: Some(activity), ..self }
    }

    /// Ask for `bytes` of device memory instead of the device's default.
    #[must_use]
    pub fn with_byte_limit(self, bytes: u64) -> Self {
        Self { byte_limit: Some(bytes), ..self }
    }

    /// Ask in another class than the normal one.
    #[must_use]
    pub fn with_class(self, class: AdmissionClass) -> Self {
        Self { class, ..self }
    }

    /// Ask for a device that has these.
    #[must_use]
    pub fn with_required_capabilities(self, required: RequiredCapabilities) -> Self {
        Self { required, ..self }
    }

    /// Ask for one of these devices.
    #[must_use]
    pub fn with_devices(self, ordinals: impl IntoIterator<Item = usize>) -> Self {
        Self { devices: Some(ordinals.into_iter().collect()), ..self }
    }

    /// Wait for at most `wait`, counted from the call that admits.
    #[must_use]
    pub fn with_wait(self, wait: Duration) -> Self {
        Self { wait: Wait::For(wait), ..self }
    }

    /// Wait until `deadline` on the backend's clock.
    #[must_use]
    pub fn with_deadline(self, deadline: Deadline) -> Self {
        Self { wait: Wait::Until(deadline), ..self }
    }

    /// Leave the queue when `token` is cancelled.
    #[must_use]
    pub fn with_cancellation(self, token: CancellationToken) -> Self {
        Self { cancellation: Some(token), ..self }
    }
}

/// What a request holds while it is queued: both permits, so that a close waits for it (B-98).
pub(crate) struct RequestHold {
    parts: Option<HoldParts>,
}

/// In the order in which they are given back (B-93, B-102).
struct HoldParts {
    gpu: GpuResourcePermit,
    observation: ObservationPermit,
    /// Dropped on its own lane, where its destructor may close.
    activity: Option<TailLease>,
    binding: AttemptBinding,
    /// Whether the attempt knows of this request.
    noted: bool,
}

impl RequestHold {
    /// Let the attempt know of the request, so that its end takes it out of the queue with `cancel`.
    fn note(&mut self, cancel: impl FnOnce() + Send + 'static) -> QueryResult {
        let parts = self.parts.as_mut().expect("a request holds its parts until it is placed");
        parts.binding.attach_pending(cancel).map_err(|refusal| refused(parts.binding.attempt_id(), refusal))?;
        parts.noted = true;
        Ok(())
    }

    fn service(&self) -> QueryResult<Arc<BackendService>> {
        let parts = self.parts.as_ref().expect("a request holds its parts until it is placed");
        parts.gpu.generation().published().cloned()
    }
}

impl fmt::Debug for RequestHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempt = self.parts.as_ref().map(|parts| parts.binding.attempt_id());
        f.debug_struct("RequestHold").field("attempt", &attempt).finish()
    }
}

impl Drop for RequestHold {
    /// A request that came to nothing: its attempt may ask again, and the parts go in their order.
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take()
            && parts.noted
        {
            parts.binding.clear_pending();
        }
    }
}

/// Ask for admission. Whatever is known at once is in the answer at once.
pub(crate) fn admit(
    resource: &Weak<ResourceCore>,
    observation: &Arc<ObservationCore>,
    request: QueryAdmissionRequest,
) -> Admission {
    let span = tracing::debug_span!("admit", attempt_id = request.binding.attempt_id(), class = ?request.class);
    let _entered = span.enter();
    Admission(match enter(resource, observation, request) {
        Ok(pending) => State::Pending(pending),
        Err(error) => State::Refused(error),
    })
}

/// Admit now, or leave the queue (B-101).
#[cfg_attr(not(any(test, feature = "test-hooks")), expect(dead_code, reason = "for tests alone (B-97)"))]
pub(crate) fn try_admit(
    resource: &Weak<ResourceCore>,
    observation: &Arc<ObservationCore>,
    request: QueryAdmissionRequest,
) -> QueryResult<Option<QueryHandle>> {
    let (mut hold, asked) = acquire(resource, observation, request)?;
    let service = hold.service()?;
    hold.note(|| {})?;
    match service.admission.try_request(asked, hold)? {
        Some((grant, hold)) => place(grant, hold).map(Some),
        None => Ok(None),
    }
}

fn enter(
    resource: &Weak<ResourceCore>,
    observation: &Arc<ObservationCore>,
    request: QueryAdmissionRequest,
) -> QueryResult<PendingGrant<RequestHold>> {
    let (mut hold, asked) = acquire(resource, observation, request)?;
    let service = hold.service()?;
    let way_out = WayOut::default();
    hold.note({
        let way_out = way_out.clone();
        move || way_out.take()
    })?;
    let pending = service.admission.request(asked, hold);
    way_out.open(pending.canceller());
    Ok(pending)
}

/// The permits in their order, and what is asked of the ledgers (B-89).
fn acquire(
    resource: &Weak<ResourceCore>,
    observation: &Arc<ObservationCore>,
    request: QueryAdmissionRequest,
) -> QueryResult<(RequestHold, GrantRequest)> {
    let QueryAdmissionRequest { binding, activity, byte_limit, class, required, devices, wait, cancellation } = request;
    let activity = activity.map(|activity| activity.on_tail(observation.dispatcher()));
    let AcquiredResource { gpu, observation: permit } = acquire_resource(resource, observation.lifecycle())?;
    let clock = observation.clock();
    let deadline = match wait {
        Wait::Default => None,
        Wait::For(wait) => Some(clock.deadline_in(wait)),
        Wait::Until(deadline) => Some(deadline),
    };
    let parts = HoldParts { gpu, observation: permit, activity, binding, noted: false };
    let asked = GrantRequest { bytes: byte_limit, class, required, devices, deadline, cancel: cancellation };
    Ok((RequestHold { parts: Some(parts) }, asked))
}

/// How the end of an attempt takes its request out of the queue: known only once the request is in it, while the attempt may
/// end before.
#[derive(Clone, Default)]
struct WayOut(Arc<Mutex<Way>>);

#[derive(Default)]
enum Way {
    #[default]
    Closed,
    Open(Canceller),
    Taken,
}

impl WayOut {
    /// The attempt has ended.
    fn take(&self) {
        let way = std::mem::replace(&mut *self.0.lock(), Way::Taken);
        if let Way::Open(canceller) = way {
            canceller.cancel();
        }
    }

    /// The request is in the queue, unless it was decided at once.
    fn open(&self, canceller: Option<Canceller>) {
        let Some(canceller) = canceller else { return };
        let late = {
            let mut way = self.0.lock();
            match *way {
                Way::Taken => Some(canceller),
                Way::Closed | Way::Open(_) => {
                    *way = Way::Open(canceller);
                    None
                }
            }
        };
        if let Some(canceller) = late {
            canceller.cancel();
        }
    }
}

/// Put a granted request on its device.
fn place(grant: Grant, mut hold: RequestHold) -> QueryResult<QueryHandle> {
    let parts = hold.parts.take().expect("a granted request still holds its permits");
    let HoldParts { gpu, observation, activity, binding, noted } = parts;
    let queue_wait = grant.queue_wait();
    let unplaced = |gpu: GpuResourcePermit, grant: Grant, observation: ObservationPermit, activity| {
        drop(grant);
        RequestHold { parts: Some(HoldParts { gpu, observation, activity, binding: binding.clone(), noted }) }
    };
    let admitted = match Admitted::install(binding.attempt_id(), gpu, grant) {
        Ok(admitted) => admitted,
        Err((error, gpu, grant)) => {
            drop(unplaced(gpu, grant, observation, activity));
            return Err(error);
        }
    };
    match binding.attach(Box::new(admitted.clone()), queue_wait) {
        Ok(()) => {
            let (attempt_id, device_ordinal, bytes) = (admitted.attempt(), admitted.ordinal(), admitted.bytes());
            tracing::debug!(attempt_id, device_ordinal, bytes, ?queue_wait, "an attempt is admitted");
            // The attempt's own permit holds the observation scope from here on. This one goes before an activity that the
            // attempt, if it has ended by now, drops at once (B-103).
            drop(observation);
            if let Some(activity) = activity {
                binding.attach_activity(activity);
            }
            Ok(QueryHandle::new(admitted))
        }
        Err(refused) => {
            drop(refused);
            let (gpu, grant) = admitted.uninstall();
            drop(unplaced(gpu, grant, observation, activity));
            let message = format!("attempt {} ended before it was admitted; begin another one", binding.attempt_id());
            let error = QueryError::new(QueryErrorCode::Cancelled, operation::ADMISSION, message);
            Err(error.with_reason("admission_cancelled"))
        }
    }
}

/// An admission to come: await it on any executor. Dropping it leaves the queue, or gives back a grant that was delivered
/// and not yet taken.
#[must_use = "a dropped admission leaves the queue"]
#[derive(Debug)]
pub struct Admission(State);

#[derive(Debug)]
enum State {
    Pending(PendingGrant<RequestHold>),
    Refused(QueryError),
    Taken,
}

impl Admission {
    /// Block until it is decided. Bounded by the request's deadline.
    ///
    /// # Errors
    ///
    /// As `admit_async_with_request`.
    pub fn wait(self) -> QueryResult<QueryHandle> {
        match self.0 {
            State::Pending(pending) => pending.wait().and_then(|(grant, hold)| place(grant, hold)),
            State::Refused(error) => Err(error),
            State::Taken => Err(taken()),
        }
    }
}

impl Future for Admission {
    type Output = QueryResult<QueryHandle>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::Pending(pending) = &mut self.0 {
            let Poll::Ready(decided) = Pin::new(pending).poll(context) else { return Poll::Pending };
            self.0 = State::Taken;
            return Poll::Ready(decided.and_then(|(grant, hold)| place(grant, hold)));
        }
        match std::mem::replace(&mut self.0, State::Taken) {
            State::Refused(error) => Poll::Ready(Err(error)),
            State::Pending(_) | State::Taken => Poll::Ready(Err(taken())),
        }
    }
}

/// The attempt takes no request (B-107).
fn refused(attempt: u64, refusal: AttachRefusal) -> QueryError {
    let (reason, text) = match refusal {
        AttachRefusal::Terminal => ("attempt_already_terminal", "has ended; begin another one"),
        AttachRefusal::Busy => {
            ("attempt_already_admitted", "asks for a device or has one; end it, and begin another one")
        }
    };
    let message = format!("attempt {attempt} {text}");
    QueryError::new(QueryErrorCode::Internal, operation::ADMISSION, message).with_reason(reason)
}

fn taken() -> QueryError {
    let message = "the answer of this admission was taken already; keep the handle";
    QueryError::new(QueryErrorCode::Internal, operation::ADMISSION, message).with_reason("admission_answer_taken")
}
