//! From a device's size and its declaration to what may be granted on it: pure arithmetic, before and at the build.

#[cfg(test)]
mod tests;

use crate::lifecycle::bytes::bytes_with_gib;
use crate::lifecycle::config::{GpuBackendDeviceConfig, GpuDeviceMemoryLimit, GpuMemoryOwnership, refusal};
use crate::lifecycle::error::{QueryError, QueryResult, operation};
use crate::lifecycle::inventory::{BackendKind, DeviceFacts, GpuInventory};

/// What may be declared for a device (B-39).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuDeviceCapacityProbe {
    /// The device.
    pub device_ordinal: usize,
    /// The management library's figure, where there is one.
    pub physical_total_bytes: Option<u64>,
    /// Bytes visible to this process; comparisons are with this figure (B-42).
    pub visible_total_bytes: u64,
    /// Bytes free when they were asked for: a sample.
    pub visible_free_bytes: u64,
    /// The partition, else all that is visible.
    pub owned_capacity_bytes: u64,
    /// The largest explicit limit that a build accepts.
    pub max_declarable_limit_bytes: u64,
    /// The reserve that was asked about.
    pub backend_reserve_bytes: u64,
    /// What queries and cache could share under the largest limit.
    pub max_managed_capacity_bytes: u64,
}

/// Ask what may be declared for a device. It claims nothing and installs nothing, and may be asked while a backend lives
/// (B-38). The build stays the authority: a device can change in between (B-44).
///
/// # Errors
///
/// The inventory's own unchanged; `static_partition_exceeds_physical_capacity` and `backend_reserve_exhausts_capacity`.
pub fn probe_device_capacity(
    inventory: &dyn GpuInventory,
    ordinal: usize,
    ownership: GpuMemoryOwnership,
    backend_reserve_bytes: u64,
) -> QueryResult<GpuDeviceCapacityProbe> {
    probe_capacity(&inventory.facts(ordinal)?, ownership, backend_reserve_bytes)
}

/// The arithmetic of [`probe_device_capacity`] on facts that are known already (B-40, B-45).
///
/// # Errors
///
/// As [`probe_device_capacity`], but for the inventory's.
pub fn probe_capacity(
    facts: &DeviceFacts,
    ownership: GpuMemoryOwnership,
    backend_reserve_bytes: u64,
) -> QueryResult<GpuDeviceCapacityProbe> {
    let owned = owned_capacity(operation::PROBE_CAPACITY, facts, ownership)?;
    let managed = owned.checked_sub(backend_reserve_bytes).filter(|managed| *managed > 0).ok_or_else(|| {
        let tail = refusal::at_or_above(backend_reserve_bytes, "the owned capacity", owned);
        exhausted(operation::PROBE_CAPACITY, facts, &tail, owned, backend_reserve_bytes)
    })?;
    Ok(GpuDeviceCapacityProbe {
        device_ordinal: facts.device,
        physical_total_bytes: facts.physical_total_bytes,
        visible_total_bytes: facts.total_bytes,
        visible_free_bytes: facts.free_bytes,
        owned_capacity_bytes: owned,
        max_declarable_limit_bytes: owned,
        backend_reserve_bytes,
        max_managed_capacity_bytes: managed,
    })
}

/// What a device's declaration comes to on the device that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuDeviceCapacity {
    /// The partition, else all that is visible.
    pub owned_capacity_bytes: u64,
    /// The memory limit in bytes.
    pub resolved_limit_bytes: u64,
    /// The limit without the reserve: what queries and cache share.
    pub managed_capacity_bytes: u64,
    /// The most bytes of resident cache.
    pub cache_cap_bytes: u64,
    /// What is left to queries.
    pub query_share_bytes: u64,
    /// The grant of a request that names none.
    pub default_query_limit_bytes: u64,
}

/// Resolve a device's declaration on its discovered facts, once for each build (B-46).
///
/// # Errors
///
/// `static_partition_exceeds_physical_capacity`, `limit_exceeds_owned_capacity`, `backend_reserve_exhausts_capacity`,
/// `cache_cap_exceeds_managed_capacity`, `default_query_limit_resolves_to_zero` and
/// `default_query_limit_exceeds_query_share`, each with the largest accepted value.
pub fn resolve_capacity(facts: &DeviceFacts, device: &GpuBackendDeviceConfig) -> QueryResult<GpuDeviceCapacity> {
    let owned = owned_capacity(operation::BUILD, facts, device.memory_ownership())?;
    let limit = resolved_limit(facts.device, device.memory_limit(), owned)?;
    let reserve = device.backend_reserve_bytes();
    let managed = limit.checked_sub(reserve).filter(|managed| *managed > 0).ok_or_else(|| {
        let tail = refusal::at_or_above(reserve, "the resolved memory limit", limit);
        exhausted(operation::BUILD, facts, &tail, owned, reserve).with_fact("resolved_limit_bytes", limit)
    })?;
    let cache_cap = device.cache_cap_bytes();
    let query_share = managed.checked_sub(cache_cap).ok_or_else(|| {
        let tail = refusal::above(cache_cap, "the managed capacity", managed);
        refusal::device(facts.device, "cache_cap_bytes", "cache_cap_exceeds_managed_capacity", &tail)
            .with_fact("cache_cap_bytes", cache_cap)
            .with_fact("managed_capacity_bytes", managed)
    })?;
    Ok(GpuDeviceCapacity {
        owned_capacity_bytes: owned,
        resolved_limit_bytes: limit,
        managed_capacity_bytes: managed,
        cache_cap_bytes: cache_cap,
        query_share_bytes: query_share,
        default_query_limit_bytes: default_query_limit(facts.device, device, managed, query_share)?,
    })
}

/// The bytes that are ours: the partition, which the visible memory must hold, else all of it (B-40, B-47).
fn owned_capacity(operation: &'static str, facts: &DeviceFacts, ownership: GpuMemoryOwnership) -> QueryResult<u64> {
    let (owned, visible) = (ownership.owned_bytes(facts.total_bytes), facts.total_bytes);
    if owned <= visible {
        return Ok(owned);
    }
    let (field, reason) = ("memory_ownership.allocation_limit_bytes", "static_partition_exceeds_physical_capacity");
    let tail = refusal::above(owned, "the device-visible memory", visible);
    let physical = facts.physical_total_bytes.map_or_else(|| "unavailable".to_owned(), |bytes| bytes.to_string());
    let error = refusal::device_in(operation, facts.device, field, reason, &tail)
        .with_fact("allocation_limit_bytes", owned)
        .with_fact("visible_total_bytes", visible);
    // Callers for CUDA branch on the name that this figure had there.
    let error = if facts.backend == BackendKind::Cuda { error.with_fact("cuda_total_bytes", visible) } else { error };
    Err(error.with_fact("physical_total_bytes", physical))
}

/// The limit in bytes, never above what is owned (B-48, B-49).
fn resolved_limit(ordinal: usize, limit: GpuDeviceMemoryLimit, owned: u64) -> QueryResult<u64> {
    match limit {
        GpuDeviceMemoryLimit::Automatic { headroom_bytes, fallback_bytes, fraction } => {
            let rest = if owned > headroom_bytes { owned - headroom_bytes } else { fallback_bytes };
            let part = fraction.map_or(u64::MAX, |fraction| fraction.capacity_bytes(owned));
            Ok(rest.min(part).min(owned))
        }
        GpuDeviceMemoryLimit::Explicit { limit_bytes } if limit_bytes > owned => {
            let tail = refusal::above(limit_bytes, "the owned capacity", owned);
            Err(refusal::device(ordinal, "memory_limit_bytes", "limit_exceeds_owned_capacity", &tail)
                .with_fact("limit_bytes", limit_bytes)
                .with_fact("owned_capacity_bytes", owned))
        }
        GpuDeviceMemoryLimit::Explicit { limit_bytes } => Ok(limit_bytes),
    }
}

/// The reserve leaves nothing (B-41, B-50).
fn exhausted(operation: &'static str, facts: &DeviceFacts, tail: &str, owned: u64, reserve: u64) -> QueryError {
    let (field, reason) = ("backend_reserve_bytes", "backend_reserve_exhausts_capacity");
    refusal::device_in(operation, facts.device, field, reason, tail)
        .with_fact("owned_capacity_bytes", owned)
        .with_fact("backend_reserve_bytes", reserve)
}

/// The grant of a request that names none (B-52).
fn default_query_limit(ordinal: usize, device: &GpuBackendDeviceConfig, managed: u64, share: u64) -> QueryResult<u64> {
    let field = "default_query_limit_bytes";
    let attempts = u64::try_from(device.max_active_attempts()).unwrap_or(u64::MAX);
    let derived = share.checked_div(attempts).unwrap_or(0);
    let limit = device.default_query_limit_bytes().unwrap_or(derived);
    if limit == 0 {
        let whole = bytes_with_gib(share);
        let tail =
            format!("resolves to zero: {whole} of query share for {attempts} attempts; {}", room(managed, share));
        return Err(refusal::device(ordinal, field, "default_query_limit_resolves_to_zero", &tail)
            .with_fact("query_share_bytes", share)
            .with_fact("max_active_attempts", attempts));
    }
    if limit > share {
        let tail = if share > 0 {
            refusal::above(limit, "the query share", share)
        } else {
            format!("is {}, and nothing is left to queries; {}", bytes_with_gib(limit), room(managed, share))
        };
        return Err(refusal::device(ordinal, field, "default_query_limit_exceeds_query_share", &tail)
            .with_fact(field, limit)
            .with_fact("query_share_bytes", share));
    }
    Ok(limit)
}

/// What to change so that a grant of at least one byte is left to each attempt.
fn room(managed: u64, share: u64) -> String {
    if share > 0 {
        format!("the largest accepted max_active_attempts is {share}")
    } else {
        format!(
            "the largest accepted cache_cap_bytes is {}, for one attempt",
            bytes_with_gib(managed.saturating_sub(1))
        )
    }
}
