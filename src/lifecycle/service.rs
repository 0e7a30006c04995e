//! The installed devices of one backend, and the admission over them: what close releases first.

use std::time::{Duration, Instant};

use crate::Device;
use crate::lifecycle::admission::controller::AdmissionController;
use crate::lifecycle::admit::RequestHold;
use crate::lifecycle::cache::ResidentCache;
use crate::lifecycle::capacity::GpuDeviceCapacity;
use crate::lifecycle::config::SourceSchedulerPolicy;
use crate::lifecycle::context::DeviceContext;
use crate::lifecycle::inventory::{BackendKind, DeviceFacts};
use crate::lifecycle::lanes::LaneSet;
use crate::lifecycle::memory::DeviceMemoryManager;
use crate::lifecycle::pool::GpuExecutionPool;
use crate::lifecycle::streams::ServiceStreamPool;
use crate::lifecycle::telemetry::TelemetrySource;
use crate::sync::Arc;

/// How long the timer's thread is waited for: it has nothing left to do.
const TIMER_SLICE: Duration = Duration::from_secs(5);

/// Every device of a backend with its admission.
#[derive(Debug)]
pub(crate) struct BackendService {
    pub(crate) kind: BackendKind,
    pub(crate) admission: AdmissionController<RequestHold>,
    /// In the order of their ordinals.
    pub(crate) devices: Vec<Arc<DeviceService>>,
}

/// One device as it is installed. Clones of what it holds are in the journal too.
#[derive(Debug)]
pub(crate) struct DeviceService {
    pub(crate) facts: DeviceFacts,
    pub(crate) capacity: GpuDeviceCapacity,
    pub(crate) source_policy: SourceSchedulerPolicy,
    /// Auxiliary streams of each attempt.
    pub(crate) auxiliary_streams: usize,
    pub(crate) memory: DeviceMemoryManager,
    pub(crate) streams: ServiceStreamPool,
    pub(crate) context: DeviceContext,
    pub(crate) pool: GpuExecutionPool,
    pub(crate) lanes: LaneSet,
    pub(crate) cache: ResidentCache,
    /// Whether telemetry was asked for, and where it comes from if there is such a place.
    pub(crate) telemetry: Option<Option<Arc<dyn TelemetrySource>>>,
}

impl DeviceService {
    /// The device's number within the backend.
    pub(crate) fn ordinal(&self) -> usize {
        self.facts.device
    }

    /// The device that attempts run on.
    pub(crate) fn device(&self) -> &Device {
        self.context.device()
    }
}

impl BackendService {
    /// The device of that ordinal.
    pub(crate) fn device(&self, ordinal: usize) -> Option<&Arc<DeviceService>> {
        self.devices.iter().find(|device| device.ordinal() == ordinal)
    }
}

impl Drop for BackendService {
    fn drop(&mut self) {
        // Nobody can ask any more: the last permit is gone. The timer's thread ends here, and what stays resident goes
        // before the streams are drained.
        if !self.admission.shutdown(Instant::now() + TIMER_SLICE) {
            tracing::warn!("the timer of a backend's admission has not ended yet; it ends by itself");
        }
        self.devices.iter().for_each(|device| device.cache.revoke("its backend has closed; build a new one"));
    }
}

#[cfg(test)]
impl Default for BackendService {
    /// A service without devices, for tests of what holds one.
    fn default() -> Self {
        let (clock, bounds) = (crate::clock::Clock::system(), crate::lifecycle::config::QueueBounds::default());
        let envelope = crate::lifecycle::admission::ledger::DeviceEnvelope {
            max_active: 1,
            capacity_bytes: 1,
            ..Default::default()
        };
        let admission = AdmissionController::new(clock, &bounds, vec![envelope]).expect("the defaults are valid");
        Self { kind: BackendKind::Sim, admission, devices: Vec::new() }
    }
}
