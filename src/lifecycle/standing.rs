//! The standing of this process's devices across backends: how often each was declared unhealthy, and whether anything but a
//! restart of the process brings it back.

use std::collections::BTreeMap;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::inventory::BackendKind;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

static DEVICES: Mutex<BTreeMap<(BackendKind, usize), Standing>> = Mutex::new(BTreeMap::new());
static BACKENDS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Default)]
struct Standing {
    generation: u64,
    condemned: Option<Arc<str>>,
}

/// Whether a fault of a context is one-way within the process: the vendor's runtime keeps the broken context (CUDA, HIP),
/// while other devices are whole again once they are opened anew.
pub(crate) const fn is_one_way(kind: BackendKind) -> bool {
    matches!(kind, BackendKind::Cuda | BackendKind::Hip)
}

/// A device was declared unhealthy for `reason`; its generation after that.
pub(crate) fn declare_unhealthy(kind: BackendKind, ordinal: usize, reason: &str) -> u64 {
    let mut devices = DEVICES.lock();
    let standing = devices.entry((kind, ordinal)).or_default();
    standing.generation += 1;
    if is_one_way(kind) {
        standing.condemned.get_or_insert_with(|| reason.into());
    }
    standing.generation
}

/// How often the device was declared unhealthy in this process (B-75).
pub(crate) fn generation(kind: BackendKind, ordinal: usize) -> u64 {
    DEVICES.lock().get(&(kind, ordinal)).map_or(0, |standing| standing.generation)
}

/// A number that no other published backend of this process has (B-75).
pub(crate) fn next_backend_generation() -> u64 {
    BACKENDS.fetch_add(1, Ordering::Relaxed) + 1
}

/// Refuse a device that only a restart of the process brings back.
///
/// # Errors
///
/// `device_restart_required`, with what happened to it.
pub(crate) fn check(kind: BackendKind, ordinal: usize) -> QueryResult {
    let devices = DEVICES.lock();
    let Some(why) = devices.get(&(kind, ordinal)).and_then(|standing| standing.condemned.as_ref()) else {
        return Ok(());
    };
    let message =
        format!("device {ordinal} of {kind} had a fault that this process cannot get over: {why}; restart it");
    Err(QueryError::new(QueryErrorCode::Internal, operation::BUILD, message)
        .with_reason("device_restart_required")
        .with_fact("device_ordinal", ordinal))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-75: a generation survives what declared it, and one vendor's faults are one-way.
    #[test]
    fn a_fault_counts_and_condemns_where_it_is_one_way() {
        let ordinal = usize::MAX - 90;
        for (kind, one_way) in [(BackendKind::Wgpu, false), (BackendKind::Hip, true)] {
            let before = generation(kind, ordinal);
            assert_eq!(declare_unhealthy(kind, ordinal, "illegal address"), before + 1);
            assert_eq!(generation(kind, ordinal), before + 1);
            assert_eq!(check(kind, ordinal).is_err(), one_way);
        }
        let error = check(BackendKind::Hip, ordinal).unwrap_err();
        assert_eq!(error.reason(), Some("device_restart_required"));
        assert!(error.message().contains("illegal address"), "{error}");
    }

    #[test]
    fn backends_have_generations_of_their_own() {
        assert!(next_backend_generation() < next_backend_generation());
    }
}
