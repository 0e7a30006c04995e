//! One device as declared: its policy, and the promise about its memory.

use crate::lifecycle::config::{
    DeviceCapabilities, GpuBackendDeviceInstallationBounds, GpuBackendDeviceProfile, GpuDeviceMemoryLimit,
    GpuMemoryOwnership,
};

/// A profile bound to its ownership (B-26). Validation comes later, for all devices together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuBackendDeviceConfig {
    profile: GpuBackendDeviceProfile,
    memory_ownership: GpuMemoryOwnership,
}

impl GpuBackendDeviceConfig {
    /// Bind `profile` to the owner's promise.
    pub fn new(profile: GpuBackendDeviceProfile, memory_ownership: GpuMemoryOwnership) -> Self {
        Self { profile, memory_ownership }
    }

    /// One device for each ordinal, in their order, all with the template's policy and one ownership. The template's own
    /// ordinal plays no part (B-27).
    pub fn homogeneous(
        ordinals: impl IntoIterator<Item = usize>,
        template: &GpuBackendDeviceProfile,
        memory_ownership: GpuMemoryOwnership,
    ) -> Vec<Self> {
        ordinals.into_iter().map(|ordinal| Self::new(template.rebound(ordinal), memory_ownership)).collect()
    }

    /// The policy.
    pub fn profile(&self) -> &GpuBackendDeviceProfile {
        &self.profile
    }

    /// The promise about the device's memory.
    pub fn memory_ownership(&self) -> GpuMemoryOwnership {
        self.memory_ownership
    }

    /// The device's ordinal.
    pub fn device_ordinal(&self) -> usize {
        self.profile.device_ordinal()
    }

    /// What the device can do.
    pub fn device_capabilities(&self) -> &DeviceCapabilities {
        self.profile.device_capabilities()
    }

    /// How much admission may grant.
    pub fn memory_limit(&self) -> GpuDeviceMemoryLimit {
        self.profile.memory_limit()
    }

    /// Bytes kept out of what queries and the cache share.
    pub fn backend_reserve_bytes(&self) -> u64 {
        self.profile.backend_reserve_bytes()
    }

    /// The most bytes of resident cache.
    pub fn cache_cap_bytes(&self) -> u64 {
        self.profile.cache_cap_bytes()
    }

    /// The grant of a request that names none, where one was set.
    pub fn default_query_limit_bytes(&self) -> Option<u64> {
        self.profile.default_query_limit_bytes()
    }

    /// Auxiliary slots of each attempt.
    pub fn source_work_per_attempt(&self) -> usize {
        self.profile.source_work_per_attempt()
    }

    /// The most active attempts.
    pub fn max_active_attempts(&self) -> usize {
        self.profile.max_active_attempts()
    }

    /// The explicit bounds, where some were set.
    pub fn installation_bounds(&self) -> Option<GpuBackendDeviceInstallationBounds> {
        self.profile.installation_bounds()
    }

    /// Whether the device's telemetry is installed.
    pub fn install_telemetry(&self) -> bool {
        self.profile.install_telemetry()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TB-29, B-26, B-27.
    #[test]
    fn devices_of_a_template_differ_in_their_ordinal_alone() {
        let limit = GpuDeviceMemoryLimit::Explicit { limit_bytes: 512 };
        let template = GpuBackendDeviceProfile::new(7).with_memory_limit(limit).with_max_active_attempts(3);
        let ownership = GpuMemoryOwnership::StaticPartition { allocation_limit_bytes: 1024 };
        let devices = GpuBackendDeviceConfig::homogeneous([0, 2], &template, ownership);
        assert_eq!(devices.iter().map(GpuBackendDeviceConfig::device_ordinal).collect::<Vec<_>>(), [0, 2]);
        for device in &devices {
            assert_eq!(device.profile().rebound(7), template);
            assert_eq!((device.memory_ownership(), device.memory_limit()), (ownership, limit));
            assert_eq!((device.max_active_attempts(), device.installation_bounds()), (3, None));
        }
        // No order, no check: that is for validation.
        let raw = GpuBackendDeviceConfig::homogeneous([2, 0, 2], &template, ownership);
        assert_eq!(raw.iter().map(GpuBackendDeviceConfig::device_ordinal).collect::<Vec<_>>(), [2, 0, 2]);
    }

    /// B-26: getters forward to the profile.
    #[test]
    fn a_device_answers_with_its_profile() {
        let bounds = GpuBackendDeviceInstallationBounds::new(9, 8, 7);
        let profile = GpuBackendDeviceProfile::new(1)
            .with_device_capabilities(DeviceCapabilities::only(["f16"]))
            .with_backend_reserve_bytes(2)
            .with_cache_cap_bytes(3)
            .with_default_query_limit_bytes(4)
            .with_source_work_per_attempt(5)
            .with_installation_bounds(bounds)
            .with_telemetry(false);
        let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
        assert_eq!(device.device_capabilities(), &DeviceCapabilities::only(["f16"]));
        assert_eq!((device.backend_reserve_bytes(), device.cache_cap_bytes()), (2, 3));
        assert_eq!((device.default_query_limit_bytes(), device.source_work_per_attempt()), (Some(4), 5));
        assert_eq!((device.installation_bounds(), device.install_telemetry()), (Some(bounds), false));
    }
}
