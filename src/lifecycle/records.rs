//! What a build found and installed, as it was observed: immutable, and readable after the close (B-72 to B-75).

use crate::lifecycle::config::{DeviceCapabilities, GpuDeviceMemoryLimit, GpuMemoryOwnership, MemoryManagerOptions};
use crate::lifecycle::inventory::DeviceFacts;

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
