//! Every rule on a declaration, in one order, before anything is acquired: the first rule that fails is the one reported.

#[cfg(test)]
mod tests;

use crate::error::ServerError;
use crate::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceInstallationBounds, GpuDeviceMemoryLimit,
    MemoryManagerOptions, QueryExecutionConfig, QueueBounds, RESERVED_LIFECYCLE_WORKERS, refusal,
};
use crate::lifecycle::error::{QueryErrorCode, QueryResult, native_code};
use crate::lifecycle::inventory::normalize_device_ordinals;

/// Ordinals below this have a label in the metrics; no other device can be declared (QB-14).
pub const BACKEND_METRIC_DEVICE_CAPACITY: usize = 64;

const POSITIVE: &str = "must be greater than zero";
const PARTITION: &str = "memory_ownership.allocation_limit_bytes";

/// The native layer's say on one device's memory-manager options: given the ordinal and the options (V-23).
pub type NativeValidator<'a> = &'a dyn Fn(usize, &MemoryManagerOptions) -> Result<(), ServerError>;

/// A declaration that can work, in ascending order of ordinals (B-30). There is no other way to one than
/// [`GpuBackendConfig::validate`].
#[derive(Clone, Debug)]
pub struct ValidatedGpuBackendConfig {
    devices: Vec<ValidatedGpuBackendDevice>,
    execution_config: QueryExecutionConfig,
    queue_bounds: QueueBounds,
    attempt_completion_queue_capacity: Option<usize>,
    leased: bool,
}

/// One device of it, with what its declaration resolves to.
#[derive(Clone, Debug)]
pub struct ValidatedGpuBackendDevice {
    config: GpuBackendDeviceConfig,
    bounds: GpuBackendDeviceInstallationBounds,
    memory_manager_options: MemoryManagerOptions,
}

impl ValidatedGpuBackendConfig {
    /// The devices as declared.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &GpuBackendDeviceConfig> {
        self.devices.iter().map(ValidatedGpuBackendDevice::config)
    }

    /// The devices with their resolved bounds.
    pub fn validated_devices(&self) -> &[ValidatedGpuBackendDevice] {
        &self.devices
    }

    /// Their ordinals, ascending.
    pub fn ordinals(&self) -> Vec<usize> {
        self.devices().map(GpuBackendDeviceConfig::device_ordinal).collect()
    }

    /// Settings of execution.
    pub fn execution_config(&self) -> &QueryExecutionConfig {
        &self.execution_config
    }

    /// Bounds of the admission queue.
    pub fn queue_bounds(&self) -> &QueueBounds {
        &self.queue_bounds
    }

    /// Reports kept that nobody waited for; `None` for no queue, which is what a capacity of zero means (B-37).
    pub fn attempt_completion_queue_capacity(&self) -> Option<usize> {
        self.attempt_completion_queue_capacity.filter(|capacity| *capacity > 0)
    }

    /// Whether the build takes the process-wide claim.
    pub fn is_leased(&self) -> bool {
        self.leased
    }
}

impl ValidatedGpuBackendDevice {
    /// The device as declared.
    pub fn config(&self) -> &GpuBackendDeviceConfig {
        &self.config
    }

    /// What is installed: the explicit bounds, else the derived ones.
    pub fn installation_bounds(&self) -> GpuBackendDeviceInstallationBounds {
        self.bounds
    }

    /// The partition in the native size type; `None` for a whole device.
    pub fn allocation_limit_bytes(&self) -> Option<usize> {
        self.memory_manager_options.allocation_limit_bytes
    }

    /// What the device's memory manager is installed with.
    pub fn memory_manager_options(&self) -> MemoryManagerOptions {
        self.memory_manager_options
    }
}

impl GpuBackendConfig {
    /// Check the declaration against the rules that need no vendor (B-29, B-32).
    ///
    /// # Errors
    ///
    /// The first rule of docs/BACKEND.md that it breaks, with the field and the reason.
    pub fn validate(self) -> QueryResult<ValidatedGpuBackendConfig> {
        self.validate_with(&|_, options| options.validate())
    }

    /// As [`GpuBackendConfig::validate`], with the native layer's own check of memory-manager options.
    ///
    /// # Errors
    ///
    /// As [`GpuBackendConfig::validate`].
    pub fn validate_with(mut self, native: NativeValidator<'_>) -> QueryResult<ValidatedGpuBackendConfig> {
        let ordinals: Vec<usize> = self.devices.iter().map(GpuBackendDeviceConfig::device_ordinal).collect();
        let ordinals = normalize_device_ordinals(&ordinals)?;
        self.devices.sort_by_key(GpuBackendDeviceConfig::device_ordinal);
        if let Some(ordinal) = ordinals.into_iter().find(|ordinal| *ordinal >= BACKEND_METRIC_DEVICE_CAPACITY) {
            let tail = format!(
                "exceeds the fixed metrics device capacity of {BACKEND_METRIC_DEVICE_CAPACITY}; use a lower ordinal"
            );
            let reason = "backend_metrics_device_ordinal_out_of_range";
            return Err(refusal::device(ordinal, "device_ordinal", reason, &tail)
                .with_fact("device_capacity", BACKEND_METRIC_DEVICE_CAPACITY));
        }
        let devices: Vec<ValidatedGpuBackendDevice> =
            self.devices.into_iter().map(|device| validated(device, native)).collect::<QueryResult<_>>()?;
        check_global_maximum(devices.iter().map(|device| device.config.max_active_attempts()))?;
        self.execution_config.validate()?;
        self.queue_bounds.validate()?;
        Ok(ValidatedGpuBackendConfig {
            devices,
            execution_config: self.execution_config,
            queue_bounds: self.queue_bounds,
            attempt_completion_queue_capacity: self.attempt_completion_queue_capacity,
            leased: self.leased,
        })
    }
}

/// The rules on one device.
fn validated(device: GpuBackendDeviceConfig, native: NativeValidator<'_>) -> QueryResult<ValidatedGpuBackendDevice> {
    let (ordinal, attempts) = (device.device_ordinal(), device.max_active_attempts());
    let derived = GpuBackendDeviceInstallationBounds::derived(ordinal, attempts, device.source_work_per_attempt())?;
    let bounds = device.installation_bounds().unwrap_or(derived);
    check_streams(&device, bounds, derived)?;
    check_positive(&device, bounds)?;
    check_active_limit(&device, bounds)?;
    check_memory_limit(&device)?;
    let partition = device.memory_ownership().allocation_limit_bytes();
    let allocation_limit = partition.map(|bytes| check_partition(&device, bytes)).transpose()?;
    let memory_manager_options = MemoryManagerOptions::new(allocation_limit);
    native(ordinal, &memory_manager_options).map_err(|error| {
        let code = native_code(&error, QueryErrorCode::InvalidConfiguration);
        let (field, reason) = ("device_memory_manager_options", "invalid_device_memory_manager_options");
        refusal::device(ordinal, field, reason, &format!("are refused by the native layer: {error}"))
            .with_code(code)
            .with_native(&error)
    })?;
    Ok(ValidatedGpuBackendDevice { config: device, bounds, memory_manager_options })
}

/// V-5: explicit streams cover the root and the auxiliary work of every active attempt.
fn check_streams(
    device: &GpuBackendDeviceConfig,
    bounds: GpuBackendDeviceInstallationBounds,
    derived: GpuBackendDeviceInstallationBounds,
) -> QueryResult {
    let (have, need) = (bounds.stream_pool_size, derived.stream_pool_size);
    if have >= need {
        return Ok(());
    }
    let tail = format!(
        "must cover root + auxiliary work of every active attempt: it is {have}, the smallest accepted value is {need}"
    );
    let reason = "stream_pool_below_required_formula";
    Err(refusal::device(device.device_ordinal(), "stream_pool_size", reason, &tail)
        .with_fact("stream_pool_size", have)
        .with_fact("required_slot_capacity", need)
        .with_fact("max_active_attempts", device.max_active_attempts())
        .with_fact("source_work_per_attempt", device.source_work_per_attempt()))
}

/// V-6 to V-11: what must not be zero.
fn check_positive(device: &GpuBackendDeviceConfig, bounds: GpuBackendDeviceInstallationBounds) -> QueryResult {
    let fields = [
        ("max_active_attempts", device.max_active_attempts() == 0),
        ("source_work_per_attempt", device.source_work_per_attempt() == 0),
        ("stream_pool_size", bounds.stream_pool_size == 0),
        ("worker_count", bounds.worker_count == 0),
        ("lane_count", bounds.lane_count == 0),
        ("default_query_limit_bytes", device.default_query_limit_bytes() == Some(0)),
    ];
    match fields.into_iter().find(|(_, zero)| *zero) {
        Some((field, _)) => Err(refusal::device(device.device_ordinal(), field, "zero", POSITIVE)),
        None => Ok(()),
    }
}

/// V-12 to V-14: what is installed covers the active attempts.
fn check_active_limit(device: &GpuBackendDeviceConfig, bounds: GpuBackendDeviceInstallationBounds) -> QueryResult {
    let (ordinal, attempts) = (device.device_ordinal(), device.max_active_attempts());
    let workers = attempts.saturating_add(RESERVED_LIFECYCLE_WORKERS);
    if bounds.worker_count < workers {
        let tail = format!(
            "must cover active slots plus the lifecycle worker: it is {}, the smallest accepted value is {workers}",
            bounds.worker_count
        );
        let reason = "worker_count_below_active_limit_and_lifecycle_reserve";
        return Err(refusal::device(ordinal, "worker_count", reason, &tail)
            .with_fact("installation_bound", bounds.worker_count)
            .with_fact("max_active_attempts", attempts)
            .with_fact("reserved_lifecycle_workers", RESERVED_LIFECYCLE_WORKERS));
    }
    for (field, bound) in [("stream_pool_size", bounds.stream_pool_size), ("lane_count", bounds.lane_count)] {
        if bound < attempts {
            let tail =
                format!("must cover every active slot: it is {bound}, the smallest accepted value is {attempts}");
            return Err(refusal::device(ordinal, field, "installation_bound_below_active_limit", &tail)
                .with_fact("installation_bound", bound)
                .with_fact("max_active_attempts", attempts));
        }
    }
    Ok(())
}

/// V-15 to V-18: the reserve leaves something of the limit.
fn check_memory_limit(device: &GpuBackendDeviceConfig) -> QueryResult {
    let (ordinal, reserve) = (device.device_ordinal(), device.backend_reserve_bytes());
    let (field, bytes, reason, fact, label) = match device.memory_limit() {
        GpuDeviceMemoryLimit::Automatic { fallback_bytes, .. } => (
            "memory_limit.fallback_bytes",
            fallback_bytes,
            "reserve_exhausts_fallback",
            "fallback_bytes",
            "the automatic fallback capacity",
        ),
        GpuDeviceMemoryLimit::Explicit { limit_bytes } => {
            ("memory_limit_bytes", limit_bytes, "reserve_exhausts_explicit_limit", "limit_bytes", "memory_limit_bytes")
        }
    };
    if bytes == 0 {
        return Err(refusal::device(ordinal, field, "zero", POSITIVE));
    }
    if reserve >= bytes {
        let tail = refusal::at_or_above(reserve, label, bytes);
        return Err(refusal::device(ordinal, "backend_reserve_bytes", reason, &tail).with_fact(fact, bytes));
    }
    Ok(())
}

/// V-19 to V-22: the partition can be had, and reserve and explicit limit fit it.
fn check_partition(device: &GpuBackendDeviceConfig, partition: u64) -> QueryResult<usize> {
    let (ordinal, reserve) = (device.device_ordinal(), device.backend_reserve_bytes());
    if partition == 0 {
        return Err(refusal::device(ordinal, PARTITION, "zero", POSITIVE));
    }
    let native = native_size(ordinal, partition)?;
    if reserve >= partition {
        let tail = refusal::at_or_above(reserve, "the static partition", partition);
        let reason = "reserve_exhausts_static_partition";
        return Err(refusal::device(ordinal, "backend_reserve_bytes", reason, &tail)
            .with_fact("allocation_limit_bytes", partition));
    }
    if let GpuDeviceMemoryLimit::Explicit { limit_bytes } = device.memory_limit()
        && limit_bytes > partition
    {
        let tail = refusal::above(limit_bytes, "the static partition", partition);
        return Err(refusal::device(ordinal, "memory_limit_bytes", "limit_exceeds_static_partition", &tail)
            .with_fact("allocation_limit_bytes", partition));
    }
    Ok(native)
}

/// V-20: a partition in the native size type, which is generic here so that a narrow one can be tried anywhere.
fn native_size<T: TryFrom<u64>>(ordinal: usize, partition: u64) -> QueryResult<T> {
    T::try_from(partition).map_err(|_| {
        let tail = format!("of {partition} bytes does not fit the native size type; use a smaller partition");
        refusal::device(ordinal, PARTITION, "out_of_range", &tail).with_fact("allocation_limit_bytes", partition)
    })
}

/// V-24, V-25: the attempts of all devices together.
fn check_global_maximum(mut attempts: impl Iterator<Item = usize>) -> QueryResult<usize> {
    let field = "max_active_attempts";
    match attempts.try_fold(0_usize, usize::checked_add) {
        None => {
            let tail = "derived global maximum overflowed; lower it on the devices";
            Err(refusal::backend(field, "derived_global_max_overflow", tail))
        }
        Some(0) => Err(refusal::backend(field, "zero", "derived global maximum must be positive")),
        Some(sum) => Ok(sum),
    }
}
