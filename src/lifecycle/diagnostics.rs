//! What the installed services of a backend say of themselves, read once (B-183, B-184).

use crate::lifecycle::admission::AdmissionSnapshot;
use crate::lifecycle::cache::CacheSnapshot;
use crate::lifecycle::capacity::GpuDeviceCapacity;
use crate::lifecycle::identity::GpuBackendCoreIdentity;
use crate::lifecycle::inventory::{BackendKind, DeviceFacts};
use crate::lifecycle::pool::ExecutionPoolReport;
use crate::lifecycle::records::MemoryManagerInstallation;
use crate::lifecycle::service::{BackendService, DeviceService};
use crate::lifecycle::streams::StreamPoolReport;
use crate::lifecycle::telemetry::TelemetrySample;
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
    pub cache: CacheSnapshot,
    /// What its server did.
    pub counters: Counters,
    /// Why it is lost, if it is.
    pub lost: Option<String>,
}

/// A sample of one device's telemetry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceTelemetrySnapshot {
    /// The device.
    pub device_ordinal: usize,
    /// The sample, or why there is none.
    pub sample: Result<TelemetrySample, TelemetryUnavailable>,
}

/// Why a device has no telemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TelemetryUnavailable {
    /// This backend has no source for the device.
    NoSource,
    /// The source answered an error.
    Failed(String),
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
        cache: device.cache.snapshot(),
        counters: device.device().counters(),
        lost: device.device().lost().map(|error| error.to_string()),
    }
}

pub(crate) fn telemetry(service: &BackendService) -> Vec<DeviceTelemetrySnapshot> {
    let sampled = service.devices.iter().filter_map(|device| {
        let source = device.telemetry.as_ref()?;
        let sample = match source {
            None => Err(TelemetryUnavailable::NoSource),
            Some(source) => source.sample().map_err(|error| TelemetryUnavailable::Failed(error.to_string())),
        };
        Some(DeviceTelemetrySnapshot { device_ordinal: device.ordinal(), sample })
    });
    sampled.collect()
}
