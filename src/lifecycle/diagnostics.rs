//! What the installed services of a backend say of themselves, read once (B-183, B-184).

use crate::lifecycle::admission::{AdmissionSnapshot, DeviceAdmissionSnapshot};
use crate::lifecycle::cache::ResidentCacheReport;
use crate::lifecycle::capacity::GpuDeviceCapacity;
use crate::lifecycle::identity::GpuBackendCoreIdentity;
use crate::lifecycle::inventory::{BackendKind, DeviceFacts};
use crate::lifecycle::metrics::gauges::{AdmissionGauges, DeviceAdmissionGauges};
use crate::lifecycle::pool::ExecutionPoolReport;
use crate::lifecycle::records::MemoryManagerInstallation;
use crate::lifecycle::service::{BackendService, DeviceService};
use crate::lifecycle::streams::StreamPoolReport;
use crate::lifecycle::telemetry::DeviceTelemetrySnapshot;
use crate::memory::MemoryUsage;
use crate::server::Counters;

/// Everything that a backend's services report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BackendDiagnostics {
    /// Which backend.
    pub identity: GpuBackendCoreIdentity,
    /// Of which kind its devices are.
    pub kind: BackendKind,
    /// Ledgers and queue.
    pub admission: AdmissionSnapshot,
    /// Each device, in the order of their ordinals.
    pub devices: Vec<DeviceDiagnostics>,
}

/// Everything that one device's services report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceDiagnostics {
    /// What was discovered, with where each size comes from (B-202).
    pub facts: DeviceFacts,
    /// What its declaration came to.
    pub capacity: GpuDeviceCapacity,
    /// Its streams.
    pub streams: StreamPoolReport,
    /// Its workers.
    pub pool: ExecutionPoolReport,
    /// Lanes in which an attempt executes.
    pub lanes_taken: usize,
    /// Its memory manager.
    pub memory_manager: MemoryManagerInstallation,
    /// What its allocator holds.
    pub memory: MemoryUsage,
    /// Its resident cache.
    pub cache: ResidentCacheReport,
    /// What its server did.
    pub counters: Counters,
    /// Why it is lost, if it is.
    pub lost: Option<String>,
}

pub(crate) fn read(service: &BackendService, identity: GpuBackendCoreIdentity) -> BackendDiagnostics {
    BackendDiagnostics {
        identity,
        kind: service.kind,
        admission: service.admission.snapshot(),
        devices: service.devices.iter().map(|device| device_diagnostics(device)).collect(),
    }
}

fn device_diagnostics(device: &DeviceService) -> DeviceDiagnostics {
    DeviceDiagnostics {
        facts: device.facts.clone(),
        capacity: device.capacity,
        streams: device.streams.report(),
        pool: device.pool.report(),
        lanes_taken: device.lanes.taken(),
        memory_manager: device.memory.installation(),
        memory: device.device().memory_usage(),
        cache: device.cache.report(),
        counters: device.device().counters(),
        lost: device.device().lost().map(|error| error.to_string()),
    }
}

pub(crate) fn telemetry(service: &BackendService) -> Vec<DeviceTelemetrySnapshot> {
    let sampled = service.devices.iter().filter_map(|device| {
        let source = device.telemetry.as_ref()?;
        Some(DeviceTelemetrySnapshot::of(device.ordinal(), source.as_deref()))
    });
    sampled.collect()
}

/// Admission in the terms of the metrics.
pub(crate) fn gauges(admission: &AdmissionSnapshot) -> AdmissionGauges {
    let device = |device: &DeviceAdmissionSnapshot| DeviceAdmissionGauges {
        device_ordinal: device.ordinal,
        capacity_bytes: device.capacity_bytes,
        committed_bytes: device.committed_bytes,
        active_attempts: device.active as u64,
        max_active_attempts: device.max_active as u64,
        open: !device.is_closed(),
    };
    AdmissionGauges {
        queued_requests: admission.queued as u64,
        max_queued_requests: admission.max_queued_requests as u64,
        devices: admission.devices.iter().map(device).collect(),
    }
}
