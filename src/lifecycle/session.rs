//! What downstream code is given: it can begin, admit and look, and keeps no device owned (B-83 to B-87).

use crate::lifecycle::admission::DeviceClosure;
use crate::lifecycle::admit::{self, Admission, QueryAdmissionRequest};
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::ledger::AttemptCountersSnapshot;
use crate::lifecycle::attempt::owner::{AttemptBegin, BeginAttemptRequest};
use crate::lifecycle::attempt::report::QueryAttemptReport;
use crate::lifecycle::diagnostics::{self, BackendDiagnostics};
use crate::lifecycle::error::QueryResult;
#[cfg(any(test, feature = "test-hooks"))]
use crate::lifecycle::handle::QueryHandle;
use crate::lifecycle::health::{DeviceClosedReason, DeviceHealthInput};
use crate::lifecycle::identity::GpuBackendCoreIdentity;
use crate::lifecycle::metrics::gauges::AdmissionGauges;
use crate::lifecycle::metrics::store::BackendMetricsSnapshot;
use crate::lifecycle::resource::{ResourceCore, with_service};
use crate::lifecycle::service::BackendService;
use crate::lifecycle::standing;
use crate::lifecycle::telemetry::DeviceTelemetrySnapshot;
use crate::sync::{Arc, Weak};

/// A capability to use a backend. Any number of them neither delays its close nor keeps a device owned.
#[derive(Clone, Debug)]
pub struct GpuBackendSession {
    pub(crate) resource: Weak<ResourceCore>,
    pub(crate) observation: Arc<ObservationCore>,
    pub(crate) identity: GpuBackendCoreIdentity,
}

impl GpuBackendSession {
    /// Which backend it is of.
    pub fn identity(&self) -> GpuBackendCoreIdentity {
        self.identity
    }

    /// Whether `other` is of the same backend.
    pub fn same_backend(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// Whether close was signalled. Advisory: only beginning and admitting decide (B-87).
    pub fn is_closing(&self) -> bool {
        self.observation.lifecycle().is_closing()
    }

    /// Begin an attempt. It takes no device: that is for its admission (B-106).
    ///
    /// # Errors
    ///
    /// `backend_closing`; nothing is counted then.
    pub fn begin_attempt(&self, request: BeginAttemptRequest) -> QueryResult<AttemptBegin> {
        self.observation.begin_attempt(request)
    }

    /// Admit an attempt: await what it returns on any executor, or block on it with [`Admission::wait`]. The permits are
    /// taken, and the place in the queue too, before this returns.
    ///
    /// # Errors
    ///
    /// Of the admission: `backend_closing`; `no_capable_device`, `no_healthy_device`, `grant_exceeds_device_capacity` and
    /// `admission_queue_full` at once; `admission_wait_elapsed`, `admission_cancelled`.
    pub fn admit_async_with_request(&self, request: QueryAdmissionRequest) -> Admission {
        admit::admit(&self.resource, &self.observation, request)
    }

    /// As [`GpuBackendSession::admit_async_with_request`], parking this thread.
    ///
    /// # Errors
    ///
    /// As there.
    #[cfg(any(test, feature = "test-hooks"))]
    pub fn admit_query_with_request(&self, request: QueryAdmissionRequest) -> QueryResult<QueryHandle> {
        self.admit_async_with_request(request).wait()
    }

    /// Begin a test's attempt and admit it with the defaults; its handle can end it.
    ///
    /// # Errors
    ///
    /// As [`GpuBackendSession::admit_async_with_request`].
    #[cfg(any(test, feature = "test-hooks"))]
    pub fn admit_query(&self) -> QueryResult<QueryHandle> {
        let begin = self.begin_attempt(BeginAttemptRequest::default())?;
        let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
        Ok(self.admit_query_with_request(request)?.with_attempt(begin))
    }

    /// Admit now, or not at all: `None` where it would have had to wait.
    ///
    /// # Errors
    ///
    /// As [`GpuBackendSession::admit_async_with_request`], but for those of waiting.
    #[cfg(any(test, feature = "test-hooks"))]
    pub fn try_admit_query_with_request(&self, request: QueryAdmissionRequest) -> QueryResult<Option<QueryHandle>> {
        admit::try_admit(&self.resource, &self.observation, request)
    }

    /// Refuse the requests whose deadline has come, without waiting for the timer: for a clock that is moved by hand.
    ///
    /// # Errors
    ///
    /// `backend_closing` once close was signalled.
    #[cfg(any(test, feature = "test-hooks"))]
    pub fn expire_due(&self) -> QueryResult {
        with_service(&self.resource, self.observation.lifecycle(), |service| service.admission.expire_due())
    }

    /// Everything that the installed services report, read once.
    ///
    /// # Errors
    ///
    /// `backend_closing` once close was signalled.
    pub fn diagnostics(&self) -> QueryResult<BackendDiagnostics> {
        with_service(&self.resource, self.observation.lifecycle(), |service| diagnostics::read(service, self.identity))
    }

    /// A sample of each device with telemetry installed; one without a source says that it is unavailable.
    ///
    /// # Errors
    ///
    /// `backend_closing` once close was signalled.
    pub fn device_telemetry_snapshots(&self) -> QueryResult<Vec<DeviceTelemetrySnapshot>> {
        with_service(&self.resource, self.observation.lifecycle(), |service| diagnostics::telemetry(service))
    }

    /// How each device stands; none once close was signalled.
    pub(crate) fn device_standings(&self) -> Vec<DeviceHealthInput> {
        let read = with_service(&self.resource, self.observation.lifecycle(), |service| {
            let one_way = standing::is_one_way(service.kind);
            let standing = |device: &crate::lifecycle::admission::DeviceAdmissionSnapshot| DeviceHealthInput {
                device_ordinal: device.ordinal,
                closed: device.closure.as_ref().map(|closure| match closure {
                    DeviceClosure::Quarantined { reason } => {
                        DeviceClosedReason { reason: reason.clone(), one_way: false }
                    }
                    DeviceClosure::Faulted { reason } => DeviceClosedReason { reason: reason.clone(), one_way },
                }),
            };
            service.admission.snapshot().devices.iter().map(standing).collect()
        });
        read.unwrap_or_default()
    }

    /// What admission holds, for the metrics; nothing once close was signalled.
    pub(crate) fn admission_gauges(&self) -> Option<AdmissionGauges> {
        let read = |service: &Arc<BackendService>| diagnostics::gauges(&service.admission.snapshot());
        with_service(&self.resource, self.observation.lifecycle(), read).ok()
    }

    /// Sealed attempts by disposition and outcome, with their durations. Works after close.
    pub fn backend_metrics_snapshot(&self) -> BackendMetricsSnapshot {
        self.observation.metrics().snapshot()
    }

    /// Attempts begun and reports made. Works after close.
    pub fn attempt_counters_snapshot(&self) -> AttemptCountersSnapshot {
        self.observation.counters_snapshot()
    }

    /// Up to `max` reports that nobody was left to receive, oldest first. Works after close.
    pub fn take_abandoned_attempt_reports(&self, max: usize) -> Vec<Arc<QueryAttemptReport>> {
        self.observation.take_abandoned_attempt_reports(max)
    }
}
