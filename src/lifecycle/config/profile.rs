//! The policy of one device, without the promise of who owns its memory.

use crate::lifecycle::config::{DeviceCapabilities, GpuBackendDeviceInstallationBounds, GpuDeviceMemoryLimit};

/// How one device is used: a pure value (B-22).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuBackendDeviceProfile {
    device_ordinal: usize,
    device_capabilities: DeviceCapabilities,
    memory_limit: GpuDeviceMemoryLimit,
    backend_reserve_bytes: u64,
    cache_cap_bytes: u64,
    default_query_limit_bytes: Option<u64>,
    source_work_per_attempt: usize,
    max_active_attempts: usize,
    installation_bounds: Option<GpuBackendDeviceInstallationBounds>,
    install_telemetry: bool,
}

impl GpuBackendDeviceProfile {
    /// The default policy for the device of that ordinal.
    pub fn new(device_ordinal: usize) -> Self {
        Self {
            device_ordinal,
            device_capabilities: DeviceCapabilities::default(),
            memory_limit: GpuDeviceMemoryLimit::default(),
            backend_reserve_bytes: 0,
            cache_cap_bytes: 0,
            default_query_limit_bytes: None,
            source_work_per_attempt: 1,
            max_active_attempts: 2,
            installation_bounds: None,
            install_telemetry: true,
        }
    }

    /// The same policy for another device.
    #[must_use]
    pub(super) fn rebound(&self, device_ordinal: usize) -> Self {
        Self { device_ordinal, ..self.clone() }
    }

    /// What the device can do; admission asks it before anything queues.
    #[must_use]
    pub fn with_device_capabilities(self, device_capabilities: DeviceCapabilities) -> Self {
        Self { device_capabilities, ..self }
    }

    /// How much admission may grant.
    #[must_use]
    pub fn with_memory_limit(self, memory_limit: GpuDeviceMemoryLimit) -> Self {
        Self { memory_limit, ..self }
    }

    /// Bytes kept out of what queries and the cache share.
    #[must_use]
    pub fn with_backend_reserve_bytes(self, backend_reserve_bytes: u64) -> Self {
        Self { backend_reserve_bytes, ..self }
    }

    /// The most bytes of resident cache.
    #[must_use]
    pub fn with_cache_cap_bytes(self, cache_cap_bytes: u64) -> Self {
        Self { cache_cap_bytes, ..self }
    }

    /// The grant of a request that names none. Without it, the query share divided by the active attempts.
    #[must_use]
    pub fn with_default_query_limit_bytes(self, default_query_limit_bytes: u64) -> Self {
        Self { default_query_limit_bytes: Some(default_query_limit_bytes), ..self }
    }

    /// Auxiliary slots of each attempt for its source work.
    #[must_use]
    pub fn with_source_work_per_attempt(self, source_work_per_attempt: usize) -> Self {
        Self { source_work_per_attempt, ..self }
    }

    /// The most active attempts. Explicit bounds stay; see
    /// [`with_derived_installation_bounds`](Self::with_derived_installation_bounds).
    #[must_use]
    pub fn with_max_active_attempts(self, max_active_attempts: usize) -> Self {
        Self { max_active_attempts, ..self }
    }

    /// Bounds as given, to install more than the attempts need.
    #[must_use]
    pub fn with_installation_bounds(self, bounds: GpuBackendDeviceInstallationBounds) -> Self {
        Self { installation_bounds: Some(bounds), ..self }
    }

    /// The most active attempts, and the bounds that follow from them (B-23). Better than setting both, since the same
    /// number is then said once.
    #[must_use]
    pub fn with_derived_installation_bounds(self, max_active_attempts: usize) -> Self {
        Self { max_active_attempts, installation_bounds: None, ..self }
    }

    /// Whether the device's telemetry is installed. It is for diagnostics and never for admission.
    #[must_use]
    pub fn with_telemetry(self, install_telemetry: bool) -> Self {
        Self { install_telemetry, ..self }
    }

    /// The device's ordinal.
    pub fn device_ordinal(&self) -> usize {
        self.device_ordinal
    }

    /// What the device can do.
    pub fn device_capabilities(&self) -> &DeviceCapabilities {
        &self.device_capabilities
    }

    /// How much admission may grant.
    pub fn memory_limit(&self) -> GpuDeviceMemoryLimit {
        self.memory_limit
    }

    /// Bytes kept out of what queries and the cache share.
    pub fn backend_reserve_bytes(&self) -> u64 {
        self.backend_reserve_bytes
    }

    /// The most bytes of resident cache.
    pub fn cache_cap_bytes(&self) -> u64 {
        self.cache_cap_bytes
    }

    /// The grant of a request that names none, where one was set.
    pub fn default_query_limit_bytes(&self) -> Option<u64> {
        self.default_query_limit_bytes
    }

    /// Auxiliary slots of each attempt.
    pub fn source_work_per_attempt(&self) -> usize {
        self.source_work_per_attempt
    }

    /// The most active attempts.
    pub fn max_active_attempts(&self) -> usize {
        self.max_active_attempts
    }

    /// The explicit bounds; never the derived ones (B-24).
    pub fn installation_bounds(&self) -> Option<GpuBackendDeviceInstallationBounds> {
        self.installation_bounds
    }

    /// Whether the device's telemetry is installed.
    pub fn install_telemetry(&self) -> bool {
        self.install_telemetry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-22, B-24.
    #[test]
    fn a_new_profile_has_the_documented_defaults() {
        let profile = GpuBackendDeviceProfile::new(3);
        assert_eq!((profile.device_ordinal(), profile.device_capabilities()), (3, &DeviceCapabilities::default()));
        assert_eq!(profile.memory_limit(), GpuDeviceMemoryLimit::default());
        assert_eq!((profile.backend_reserve_bytes(), profile.cache_cap_bytes()), (0, 0));
        assert_eq!((profile.default_query_limit_bytes(), profile.installation_bounds()), (None, None));
        assert_eq!((profile.source_work_per_attempt(), profile.max_active_attempts()), (1, 2));
        assert!(profile.install_telemetry());
    }

    /// B-22, B-24: each setter sets its field and no other.
    #[test]
    fn setters_set_one_field() {
        let limit = GpuDeviceMemoryLimit::Explicit { limit_bytes: 4 };
        let profile = GpuBackendDeviceProfile::new(0)
            .with_device_capabilities(DeviceCapabilities::only(["f16"]))
            .with_memory_limit(limit)
            .with_backend_reserve_bytes(5)
            .with_cache_cap_bytes(6)
            .with_default_query_limit_bytes(7)
            .with_source_work_per_attempt(8)
            .with_max_active_attempts(9)
            .with_telemetry(false);
        assert_eq!(profile.device_capabilities(), &DeviceCapabilities::only(["f16"]));
        assert_eq!((profile.memory_limit(), profile.backend_reserve_bytes()), (limit, 5));
        assert_eq!((profile.cache_cap_bytes(), profile.default_query_limit_bytes()), (6, Some(7)));
        assert_eq!((profile.source_work_per_attempt(), profile.max_active_attempts()), (8, 9));
        assert!(!profile.install_telemetry());
    }

    /// TB-28, B-23.
    #[test]
    fn derived_bounds_replace_explicit_ones() {
        let bounds = GpuBackendDeviceInstallationBounds::new(99, 99, 99);
        let explicit = GpuBackendDeviceProfile::new(0).with_max_active_attempts(2).with_installation_bounds(bounds);
        assert_eq!(explicit.clone().with_max_active_attempts(4).installation_bounds(), Some(bounds));
        let derived = explicit.with_derived_installation_bounds(4);
        assert_eq!((derived.max_active_attempts(), derived.installation_bounds()), (4, None));
    }
}
