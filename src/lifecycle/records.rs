//! What a build found and installed, as it was observed: immutable, and readable after the close (B-72 to B-75).

#[cfg(test)]
mod tests;

use crate::lifecycle::capacity::GpuDeviceCapacity;
use crate::lifecycle::config::{
    DeviceCapabilities, GpuDeviceMemoryLimit, GpuMemoryOwnership, MemoryManagerOptions, ValidatedGpuBackendDevice,
};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::inventory::{BackendKind, DeviceFacts};
use crate::lifecycle::standing;

/// What admission may use of a device, frozen after its discovery (B-75).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceResourceProfile {
    /// The device.
    pub device_ordinal: usize,
    /// What queries and the cache share, in bytes.
    pub managed_capacity_bytes: u64,
    /// The most bytes of resident cache.
    pub cache_cap_bytes: u64,
    /// What is left to queries, in bytes.
    pub query_share_bytes: u64,
    /// The grant of a request that names none, in bytes.
    pub default_query_limit_bytes: u64,
    /// The most attempts at once.
    pub max_active_attempts: usize,
    /// Auxiliary source work of each attempt.
    pub source_work_per_attempt: usize,
    /// What the device can do.
    pub device_capabilities: DeviceCapabilities,
}

/// How a memory manager was installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryManagerInstallation {
    /// The options in effect; `None` when the installation reports none.
    pub effective_options: Option<MemoryManagerOptions>,
}

/// One device as it was installed (B-73).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuBackendDeviceStartupRecord {
    /// The device.
    pub device_ordinal: usize,
    /// Its model, where known.
    pub model_name: Option<String>,
    /// Its UUID, where known.
    pub uuid: Option<String>,
    /// The management library's memory figure, where known.
    pub physical_total_bytes: Option<u64>,
    /// All that was discovered.
    pub facts: DeviceFacts,
    /// Managed capacity in bytes (B-50).
    pub capacity_bytes: u64,
    /// What admission may use.
    pub resource_profile: DeviceResourceProfile,
    /// The deployment's promise.
    pub memory_ownership: GpuMemoryOwnership,
    /// The policy as declared, unresolved.
    pub memory_limit: GpuDeviceMemoryLimit,
    /// Bytes kept out of the managed capacity.
    pub backend_reserve_bytes: u64,
    /// The most attempts at once.
    pub max_active_attempts: usize,
    /// Whether telemetry was asked for.
    pub install_telemetry: bool,
    /// Exclusive streams, as validated.
    pub stream_pool_size: usize,
    /// Lanes, as validated.
    pub lane_count: usize,
    /// Workers that are installed, those for lifecycle work among them.
    pub worker_count: usize,
    /// The memory manager, as installed.
    pub memory_manager_installation: MemoryManagerInstallation,
    /// Grows when the device is declared unhealthy; survives rebuilds.
    pub device_health_generation: u64,
    /// Unique for each published core.
    pub backend_health_generation: u64,
}

/// What the installed services say of themselves. Pairs begin with the ordinal, or with facts that have it.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) devices: Vec<(DeviceFacts, GpuDeviceCapacity)>,
    pub(crate) memory_managers: Vec<(usize, MemoryManagerInstallation)>,
    /// Workers, those for lifecycle work among them.
    pub(crate) worker_pools: Vec<(usize, usize)>,
}

/// The records of a build, from what was observed. Whatever differs from what was validated was not approved (B-72).
///
/// # Errors
///
/// The first difference, by its reason of docs/BACKEND.md.
pub(crate) fn startup_records(
    validated: &[ValidatedGpuBackendDevice],
    observed: &Observed,
    kind: BackendKind,
    backend_health_generation: u64,
) -> QueryResult<Vec<GpuBackendDeviceStartupRecord>> {
    let (devices, pools) = (observed.devices.len(), observed.worker_pools.len());
    if devices != validated.len() || pools != validated.len() {
        let message = "what was installed is not what was declared: another number of devices or worker pools";
        return Err(mismatch("incomplete_device_startup_records", message)
            .with_fact("profile_count", validated.len())
            .with_fact("device_record_count", devices)
            .with_fact("worker_pool_count", pools));
    }
    validated.iter().map(|device| record(device, observed, kind, backend_health_generation)).collect()
}

fn record(
    validated: &ValidatedGpuBackendDevice,
    observed: &Observed,
    kind: BackendKind,
    backend_health_generation: u64,
) -> QueryResult<GpuBackendDeviceStartupRecord> {
    let (config, bounds) = (validated.config(), validated.installation_bounds());
    let device_ordinal = config.device_ordinal();
    let missing = |reason, what: &str| {
        let message = format!("no {what} of device {device_ordinal} was installed");
        mismatch(reason, &message).with_fact("device_ordinal", device_ordinal)
    };
    let (facts, capacity) = observed
        .devices
        .iter()
        .find(|(facts, _)| facts.device == device_ordinal)
        .ok_or_else(|| missing("device_startup_record_missing", "record"))?;
    let (_, worker_count) = observed
        .worker_pools
        .iter()
        .find(|(ordinal, _)| *ordinal == device_ordinal)
        .ok_or_else(|| missing("device_worker_pool_missing", "worker pool"))?;
    if *worker_count != bounds.worker_count {
        let message = format!("device {device_ordinal} was installed with another number of workers than declared");
        return Err(mismatch("device_worker_pool_mismatch", &message)
            .with_fact("device_ordinal", device_ordinal)
            .with_fact("profile_worker_count", bounds.worker_count)
            .with_fact("installed_worker_count", worker_count));
    }
    let manager = observed.memory_managers.iter().find(|(ordinal, _)| *ordinal == device_ordinal);
    let installation = manager.map(|(_, installation)| *installation).unwrap_or_default();
    let expected = validated.allocation_limit_bytes();
    if installation.effective_options.map(|options| options.allocation_limit_bytes) != Some(expected) {
        let message = format!("device {device_ordinal} was installed with another memory cap than declared");
        return Err(mismatch("device_memory_manager_record_mismatch", &message)
            .with_fact("device_ordinal", device_ordinal)
            .with_fact("expected_allocation_limit_bytes", format!("{expected:?}"))
            .with_fact("installed_options", format!("{:?}", installation.effective_options)));
    }
    Ok(GpuBackendDeviceStartupRecord {
        device_ordinal,
        model_name: facts.model_name.clone(),
        uuid: facts.uuid.clone(),
        physical_total_bytes: facts.physical_total_bytes,
        facts: facts.clone(),
        capacity_bytes: capacity.managed_capacity_bytes,
        resource_profile: DeviceResourceProfile {
            device_ordinal,
            managed_capacity_bytes: capacity.managed_capacity_bytes,
            cache_cap_bytes: capacity.cache_cap_bytes,
            query_share_bytes: capacity.query_share_bytes,
            default_query_limit_bytes: capacity.default_query_limit_bytes,
            max_active_attempts: config.max_active_attempts(),
            source_work_per_attempt: config.source_work_per_attempt(),
            device_capabilities: config.device_capabilities().clone(),
        },
        memory_ownership: config.memory_ownership(),
        memory_limit: config.memory_limit(),
        backend_reserve_bytes: config.backend_reserve_bytes(),
        max_active_attempts: config.max_active_attempts(),
        install_telemetry: config.install_telemetry(),
        stream_pool_size: bounds.stream_pool_size,
        lane_count: bounds.lane_count,
        worker_count: *worker_count,
        memory_manager_installation: installation,
        device_health_generation: standing::generation(kind, device_ordinal),
        backend_health_generation,
    })
}

fn mismatch(reason: &'static str, message: &str) -> QueryError {
    let message = format!("{message}; this is a fault of the installation, report it");
    QueryError::new(QueryErrorCode::Internal, operation::BUILD, message).with_reason(reason)
}
