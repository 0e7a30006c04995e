//! The vectors of the arithmetic, and each refusal with its largest accepted value.

use super::*;
use crate::lifecycle::config::{GpuBackendDeviceProfile, GpuMemoryFraction};
use crate::lifecycle::error::QueryErrorCode;
use crate::lifecycle::inventory::FakeInventory;

const WHOLE: GpuMemoryOwnership = GpuMemoryOwnership::WholeDeviceExclusive;

fn partition(allocation_limit_bytes: u64) -> GpuMemoryOwnership {
    GpuMemoryOwnership::StaticPartition { allocation_limit_bytes }
}

fn facts(total: u64) -> DeviceFacts {
    DeviceFacts::new(BackendKind::Sim, 0, total, total)
}

fn profile() -> GpuBackendDeviceProfile {
    GpuBackendDeviceProfile::new(0)
}

fn resolve(owned: u64, profile: GpuBackendDeviceProfile) -> QueryResult<GpuDeviceCapacity> {
    resolve_capacity(&facts(owned), &GpuBackendDeviceConfig::new(profile, WHOLE))
}

/// TB-25, B-40, B-45.
#[test]
fn a_probe_subtracts_the_reserve_from_what_is_owned() {
    let vectors =
        [(None, 0, 1000, 1000), (None, 100, 1000, 900), (Some(600), 100, 600, 500), (Some(1000), 0, 1000, 1000)];
    for (part, reserve, owned, managed) in vectors {
        let probe = probe_capacity(&facts(1000), part.map_or(WHOLE, partition), reserve).unwrap();
        assert_eq!((probe.owned_capacity_bytes, probe.max_managed_capacity_bytes), (owned, managed));
        assert_eq!((probe.max_declarable_limit_bytes, probe.backend_reserve_bytes), (owned, reserve));
    }
}

/// TB-26, B-41, B-42: the visible total decides, not the management library's.
#[test]
fn a_partition_above_the_visible_memory_is_refused() {
    let mut facts = facts(1000);
    for physical in [Some(1100), None] {
        facts.physical_total_bytes = physical;
        let error = probe_capacity(&facts, partition(1001), 0).unwrap_err();
        assert_eq!(
            (error.code(), error.operation()),
            (QueryErrorCode::InvalidConfiguration, operation::PROBE_CAPACITY)
        );
        assert_eq!(error.reason(), Some("static_partition_exceeds_physical_capacity"));
        assert_eq!(error.fact_value("visible_total_bytes"), Some("1000"));
        assert_eq!(error.fact_value("allocation_limit_bytes"), Some("1001"));
        let expected = if physical.is_some() { "1100" } else { "unavailable" };
        assert_eq!(error.fact_value("physical_total_bytes"), Some(expected));
        assert_eq!(error.fact_value("cuda_total_bytes"), None);
        assert!(error.message().ends_with("the largest accepted value is 1000 bytes (0.00 GiB)"), "{error}");
    }
    facts.backend = BackendKind::Cuda;
    let error = probe_capacity(&facts, partition(1001), 0).unwrap_err();
    assert_eq!(error.fact_value("cuda_total_bytes"), Some("1000"));
    let device = GpuBackendDeviceConfig::new(profile(), partition(1001));
    let error = resolve_capacity(&facts, &device).unwrap_err();
    assert_eq!(error.operation(), operation::BUILD, "B-47");
    assert_eq!(error.reason(), Some("static_partition_exceeds_physical_capacity"));
}

/// TB-27, B-41, B-45, QB-5.
#[test]
fn a_reserve_that_leaves_nothing_is_refused() {
    for (part, reserve, owned, largest) in [(None, 1000, "1000", 999), (None, 1001, "1000", 999), (Some(0), 0, "0", 0)]
    {
        let error = probe_capacity(&facts(1000), part.map_or(WHOLE, partition), reserve).unwrap_err();
        assert_eq!(error.reason(), Some("backend_reserve_exhausts_capacity"));
        assert_eq!(error.fact_value("owned_capacity_bytes"), Some(owned));
        assert_eq!(error.fact_value("backend_reserve_bytes"), Some(reserve.to_string().as_str()));
        assert_eq!(error.fact_value("device_ordinal"), Some("0"));
        let end = format!("the largest accepted value is {}", bytes_with_gib(largest));
        assert!(error.message().ends_with(&end), "{error}");
    }
}

/// B-38, B-39, B-43.
#[test]
fn a_probe_asks_the_inventory_and_passes_its_errors_on() {
    let mut known = DeviceFacts::new(BackendKind::Wgpu, 3, 1000, 700);
    known.physical_total_bytes = Some(1024);
    let inventory = FakeInventory::default().with_device(known);
    let probe = probe_device_capacity(&inventory, 3, WHOLE, 1).unwrap();
    assert_eq!((probe.device_ordinal, probe.physical_total_bytes), (3, Some(1024)));
    assert_eq!((probe.visible_total_bytes, probe.visible_free_bytes), (1000, 700));
    let (own, passed) = (inventory.facts(4).unwrap_err(), probe_device_capacity(&inventory, 4, WHOLE, 0).unwrap_err());
    assert_eq!(own.to_string(), passed.to_string());
}

/// B-44: a limit that the probe allows never fails the build on capacity.
#[test]
fn what_the_probe_allows_the_build_accepts() {
    for (total, ownership, reserve) in [(1000, WHOLE, 0), (1000, partition(600), 599), (u64::MAX, WHOLE, 1 << 40)] {
        let probe = probe_capacity(&facts(total), ownership, reserve).unwrap();
        for limit_bytes in [reserve + 1, probe.max_declarable_limit_bytes] {
            let limit = GpuDeviceMemoryLimit::Explicit { limit_bytes };
            let profile =
                profile().with_memory_limit(limit).with_backend_reserve_bytes(reserve).with_max_active_attempts(1);
            let capacity = resolve_capacity(&facts(total), &GpuBackendDeviceConfig::new(profile, ownership)).unwrap();
            assert_eq!(capacity.managed_capacity_bytes, limit_bytes - reserve);
        }
    }
}

/// XB-4, B-48, B-53, QB-4.
#[test]
fn an_automatic_limit_resolves_to_the_vectors() {
    let default = GpuDeviceMemoryLimit::default();
    let half = GpuMemoryFraction::new(0.5).ok();
    let halved = GpuDeviceMemoryLimit::Automatic {
        headroom_bytes: GpuDeviceMemoryLimit::DEFAULT_HEADROOM_BYTES,
        fallback_bytes: GpuDeviceMemoryLimit::DEFAULT_FALLBACK_BYTES,
        fraction: half,
    };
    let vectors = [
        (80 << 30, default, 85_375_057_920),
        (500 << 20, default, 268_435_456),
        ((500 << 20) + 1, default, 1),
        (100 << 20, default, 104_857_600),
        (80 << 30, halved, 42_949_672_960),
        (400 << 20, halved, 209_715_200),
        (u64::MAX, default, u64::MAX - (500 << 20)),
    ];
    for (owned, limit, resolved) in vectors {
        assert_eq!(resolved_limit(0, limit, owned).unwrap(), resolved, "{owned} {limit:?}");
    }
}

/// XB-4, B-50, B-53: a fraction too small to leave anything.
#[test]
fn a_limit_that_resolves_to_nothing_is_refused() {
    let limit = GpuDeviceMemoryLimit::Automatic {
        headroom_bytes: 0,
        fallback_bytes: 1,
        fraction: GpuMemoryFraction::new(0.0001).ok(),
    };
    let error = resolve(1000, profile().with_memory_limit(limit)).unwrap_err();
    assert_eq!((error.reason(), error.operation()), (Some("backend_reserve_exhausts_capacity"), operation::BUILD));
    assert_eq!(error.fact_value("resolved_limit_bytes"), Some("0"));
    assert_eq!(error.fact_value("owned_capacity_bytes"), Some("1000"));
    let explicit = profile().with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: 500 });
    let error = resolve(1000, explicit.with_backend_reserve_bytes(500)).unwrap_err();
    assert_eq!(error.reason(), Some("backend_reserve_exhausts_capacity"));
    assert!(error.message().ends_with("the largest accepted value is 499 bytes (0.00 GiB)"), "{error}");
}

/// XB-4, B-51, B-52, B-53.
#[test]
fn the_query_share_is_split_among_the_attempts() {
    let capacity = resolve(80 << 30, profile()).unwrap();
    assert_eq!((capacity.managed_capacity_bytes, capacity.query_share_bytes), (85_375_057_920, 85_375_057_920));
    assert_eq!(capacity.default_query_limit_bytes, 42_687_528_960);
    let limited = profile().with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: 1000 });
    let capacity = resolve(5000, limited.with_backend_reserve_bytes(100).with_cache_cap_bytes(200)).unwrap();
    assert_eq!((capacity.owned_capacity_bytes, capacity.resolved_limit_bytes), (5000, 1000));
    assert_eq!((capacity.managed_capacity_bytes, capacity.cache_cap_bytes), (900, 200));
    assert_eq!((capacity.query_share_bytes, capacity.default_query_limit_bytes), (700, 350));
}

/// XB-26, B-49, B-51, B-52.
#[test]
fn what_does_not_fit_is_refused_with_the_largest_accepted_value() {
    let explicit = |limit_bytes| profile().with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes });
    #[rustfmt::skip]
    let refused = [
        (explicit(1001), "memory_limit_bytes", "limit_exceeds_owned_capacity", ("owned_capacity_bytes", "1000"), "the largest accepted value is 1000 bytes (0.00 GiB)"),
        (explicit(1000).with_cache_cap_bytes(1001), "cache_cap_bytes", "cache_cap_exceeds_managed_capacity", ("managed_capacity_bytes", "1000"), "the largest accepted value is 1000 bytes (0.00 GiB)"),
        (explicit(1000).with_default_query_limit_bytes(1001), "default_query_limit_bytes", "default_query_limit_exceeds_query_share", ("query_share_bytes", "1000"), "the largest accepted value is 1000 bytes (0.00 GiB)"),
        (explicit(1000).with_cache_cap_bytes(1000).with_default_query_limit_bytes(1), "default_query_limit_bytes", "default_query_limit_exceeds_query_share", ("query_share_bytes", "0"), "the largest accepted cache_cap_bytes is 999 bytes (0.00 GiB), for one attempt"),
        (explicit(1000).with_cache_cap_bytes(1000), "default_query_limit_bytes", "default_query_limit_resolves_to_zero", ("query_share_bytes", "0"), "the largest accepted cache_cap_bytes is 999 bytes (0.00 GiB), for one attempt"),
        (explicit(1000).with_cache_cap_bytes(998).with_max_active_attempts(3), "default_query_limit_bytes", "default_query_limit_resolves_to_zero", ("max_active_attempts", "3"), "the largest accepted max_active_attempts is 2"),
        (explicit(1000).with_max_active_attempts(0), "default_query_limit_bytes", "default_query_limit_resolves_to_zero", ("max_active_attempts", "0"), "the largest accepted max_active_attempts is 1000"),
    ];
    for (profile, field, reason, (key, value), end) in refused {
        let error = resolve(1000, profile).unwrap_err();
        assert_eq!((error.code(), error.operation()), (QueryErrorCode::InvalidConfiguration, operation::BUILD));
        assert_eq!((error.fact_value("field"), error.reason()), (Some(field), Some(reason)), "{error}");
        assert_eq!((error.fact_value("device_ordinal"), error.fact_value(key)), (Some("0"), Some(value)), "{error}");
        assert!(error.message().ends_with(end), "{error}");
    }
    // The values named are accepted, and the next is not.
    let one = || explicit(1000).with_max_active_attempts(1);
    assert_eq!(resolve(1000, one().with_cache_cap_bytes(999)).unwrap().default_query_limit_bytes, 1);
    assert!(resolve(1000, one().with_cache_cap_bytes(1000)).is_err());
    assert_eq!(resolve(1000, one().with_default_query_limit_bytes(1000)).unwrap().default_query_limit_bytes, 1000);
}
