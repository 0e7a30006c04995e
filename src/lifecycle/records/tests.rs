//! What was observed, held against what was validated.

use super::*;
use crate::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, QueryExecutionConfig, QueueBounds,
};
use crate::lifecycle::resolve_capacity;

const PARTITION: u64 = 1 << 30;

fn validated() -> Vec<ValidatedGpuBackendDevice> {
    let ownership = GpuMemoryOwnership::StaticPartition { allocation_limit_bytes: PARTITION };
    let devices = GpuBackendDeviceConfig::homogeneous([4, 2], &GpuBackendDeviceProfile::new(0), ownership);
    let config = GpuBackendConfig::new(devices, QueryExecutionConfig::default(), QueueBounds::default());
    config.validate().unwrap().validated_devices().to_vec()
}

/// What an honest service says.
fn observed(validated: &[ValidatedGpuBackendDevice]) -> Observed {
    let ordinals = || validated.iter().map(|device| (device, device.config().device_ordinal()));
    let discovered = |(device, ordinal): (&ValidatedGpuBackendDevice, usize)| {
        let facts = DeviceFacts::new(BackendKind::Sim, ordinal, 2 << 30, 2 << 30);
        let capacity = resolve_capacity(&facts, device.config()).unwrap();
        (facts, capacity)
    };
    let manager = |(device, ordinal): (&ValidatedGpuBackendDevice, usize)| {
        (ordinal, MemoryManagerInstallation { effective_options: Some(device.memory_manager_options()) })
    };
    Observed {
        devices: ordinals().map(discovered).collect(),
        memory_managers: ordinals().map(manager).collect(),
        worker_pools: ordinals()
            .map(|(device, ordinal)| (ordinal, device.installation_bounds().worker_count))
            .collect(),
    }
}

fn refused(lie: impl FnOnce(&mut Observed)) -> QueryError {
    let validated = validated();
    let mut observed = observed(&validated);
    lie(&mut observed);
    startup_records(&validated, &observed, BackendKind::Sim, 1).unwrap_err()
}

/// B-73, B-75: one for each device, by ordinal, from what was seen.
#[test]
fn records_say_what_was_installed() {
    let validated = validated();
    let records = startup_records(&validated, &observed(&validated), BackendKind::Sim, 9).unwrap();
    assert_eq!(records.iter().map(|record| record.device_ordinal).collect::<Vec<_>>(), [2, 4]);
    let record = &records[0];
    assert_eq!((record.worker_count, record.lane_count, record.stream_pool_size), (3, 2, 4));
    assert_eq!(record.capacity_bytes, record.resource_profile.managed_capacity_bytes);
    assert_eq!(record.resource_profile.query_share_bytes, record.capacity_bytes);
    assert_eq!(record.memory_manager_installation.effective_options.unwrap().allocation_limit_bytes, Some(1 << 30));
    assert_eq!(record.backend_health_generation, 9);
}

/// XB-7, B-72: each lie by its reason and facts, in the order of the checks.
#[test]
fn a_service_that_installed_something_else_fails_the_build() {
    let error = refused(|observed| {
        observed.worker_pools.pop();
        observed.worker_pools[0].1 = 9;
    });
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("incomplete_device_startup_records")));
    let facts = ["profile_count", "device_record_count", "worker_pool_count"].map(|key| error.fact_value(key));
    assert_eq!(facts, [Some("2"), Some("2"), Some("1")]);
    let error = refused(|observed| observed.devices[1].0.device = 7);
    assert_eq!(error.reason(), Some("device_startup_record_missing"));
    assert_eq!(error.fact_value("device_ordinal"), Some("4"));
    let error = refused(|observed| observed.worker_pools[0].0 = 7);
    assert_eq!(error.reason(), Some("device_worker_pool_missing"));
    assert_eq!(error.fact_value("device_ordinal"), Some("2"));
    let error = refused(|observed| observed.worker_pools[1].1 = 4);
    assert_eq!(error.reason(), Some("device_worker_pool_mismatch"));
    let facts = ["device_ordinal", "profile_worker_count", "installed_worker_count"].map(|key| error.fact_value(key));
    assert_eq!(facts, [Some("4"), Some("3"), Some("4")]);
    let other = MemoryManagerInstallation { effective_options: Some(MemoryManagerOptions::new(Some(5))) };
    for installation in [MemoryManagerInstallation::default(), other] {
        let error = refused(|observed| observed.memory_managers[0].1 = installation);
        assert_eq!(error.reason(), Some("device_memory_manager_record_mismatch"));
        assert_eq!(error.fact_value("expected_allocation_limit_bytes"), Some("Some(1073741824)"));
        let installed = format!("{:?}", installation.effective_options);
        assert_eq!(error.fact_value("installed_options"), Some(installed.as_str()));
    }
    let error = refused(|observed| observed.memory_managers.clear());
    assert_eq!(error.reason(), Some("device_memory_manager_record_mismatch"));
}
