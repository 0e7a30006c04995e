//! What may be declared on a real adapter, and that a build takes it at its word.

use graphreel::lifecycle::config::{GpuDeviceMemoryLimit, GpuMemoryOwnership};
use graphreel::lifecycle::{
    FactProvenance, GpuBackendCore, GpuInventory as _, QueryErrorCode, one_claiming_test, probe_device_capacity,
};
use graphreel_wgpu::WgpuFactory;

use crate::rig::{close, present, profile, valid};

/// TB-30, B-39, B-40.
#[test]
fn the_whole_adapter_can_be_declared() {
    if !present() {
        return;
    }
    let probe = probe_device_capacity(&WgpuFactory, 0, GpuMemoryOwnership::WholeDeviceExclusive, 0).unwrap();
    let total = probe.visible_total_bytes;
    assert!(total > 0 && probe.visible_free_bytes <= total, "{probe:?}");
    assert_eq!((probe.device_ordinal, probe.physical_total_bytes, probe.backend_reserve_bytes), (0, None, 0));
    let declarable = [probe.owned_capacity_bytes, probe.max_declarable_limit_bytes, probe.max_managed_capacity_bytes];
    assert_eq!(declarable, [total; 3]);
    let facts = WgpuFactory.facts(0).unwrap();
    assert_eq!(facts.total_bytes, total);
    assert_ne!(facts.total_bytes_provenance, FactProvenance::Configured, "B-202: nobody configured it");
}

/// B-41, B-43, on the facts of a real adapter.
#[test]
fn what_cannot_be_declared_says_what_could() {
    if !present() {
        return;
    }
    let whole = GpuMemoryOwnership::WholeDeviceExclusive;
    let total = probe_device_capacity(&WgpuFactory, 0, whole, 0).unwrap().visible_total_bytes;
    let partition = GpuMemoryOwnership::StaticPartition { allocation_limit_bytes: total + 1 };
    let error = probe_device_capacity(&WgpuFactory, 0, partition, 0).unwrap_err();
    assert_eq!(error.reason(), Some("static_partition_exceeds_physical_capacity"));
    assert_eq!(error.fact_value("visible_total_bytes"), Some(total.to_string().as_str()));
    assert_eq!(error.fact_value("physical_total_bytes"), Some("unavailable"));
    let error = probe_device_capacity(&WgpuFactory, 0, whole, total).unwrap_err();
    assert_eq!(error.reason(), Some("backend_reserve_exhausts_capacity"));
    let error = probe_device_capacity(&WgpuFactory, 4096, whole, 0).unwrap_err();
    assert_eq!(
        (error.code(), error.fact_value("device_ordinal")),
        (QueryErrorCode::InvalidConfiguration, Some("4096"))
    );
}

/// B-38, B-44: the probe answers while a backend lives, and the largest limit that it names is built. One byte more is not.
#[test]
fn what_the_probe_allows_is_built() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let asked = || probe_device_capacity(&WgpuFactory, 0, GpuMemoryOwnership::WholeDeviceExclusive, 0).unwrap();
    let most = asked().max_declarable_limit_bytes;
    let limited = |limit_bytes| valid(profile().with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes }));
    let core = GpuBackendCore::new(limited(most), &WgpuFactory).unwrap();
    assert_eq!(asked().max_declarable_limit_bytes, most);
    assert_eq!(core.device_startup_records()[0].capacity_bytes, most);
    close(&core);
    let error = GpuBackendCore::new(limited(most + 1), &WgpuFactory).unwrap_err();
    assert_eq!(error.reason(), Some("limit_exceeds_owned_capacity"));
}
