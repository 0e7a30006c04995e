//! How many streams, workers and lanes are installed for a device.

use crate::lifecycle::config::refusal;
use crate::lifecycle::error::{QueryError, QueryResult};

/// Workers that are kept for lifecycle work, so that a full set of stuck queries cannot block a cleanup (B-20).
pub const RESERVED_LIFECYCLE_WORKERS: usize = 1;

/// What is installed for one device (B-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GpuBackendDeviceInstallationBounds {
    /// Exclusive streams, the root and the auxiliary ones of every active attempt.
    pub stream_pool_size: usize,
    /// Threads of the execution pool, those kept for lifecycle work among them.
    pub worker_count: usize,
    /// Attempts that execute at the same time.
    pub lane_count: usize,
}

impl GpuBackendDeviceInstallationBounds {
    /// Bounds as given; validation compares them with what the declared attempts need.
    pub const fn new(stream_pool_size: usize, worker_count: usize, lane_count: usize) -> Self {
        Self { stream_pool_size, worker_count, lane_count }
    }

    /// What `attempts` active attempts with `sources` auxiliary slots each need (B-21).
    pub(in crate::lifecycle) fn derived(ordinal: usize, attempts: usize, sources: usize) -> QueryResult<Self> {
        let auxiliary = attempts
            .checked_mul(sources)
            .ok_or_else(|| overflowed(ordinal, "source_work_per_attempt", "aux_source_work_overflow"))?;
        let streams = attempts
            .checked_add(auxiliary)
            .ok_or_else(|| overflowed(ordinal, "stream_pool_size", "required_slot_overflow"))?;
        let workers = attempts
            .checked_add(RESERVED_LIFECYCLE_WORKERS)
            .ok_or_else(|| overflowed(ordinal, "worker_count", "required_worker_overflow"))?;
        Ok(Self::new(streams, workers, attempts))
    }
}

fn overflowed(ordinal: usize, field: &'static str, reason: &'static str) -> QueryError {
    let tail = "overflowed; lower max_active_attempts or source_work_per_attempt";
    refusal::device(ordinal, field, reason, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-19, B-20, B-21.
    #[test]
    fn bounds_follow_from_attempts_and_their_source_work() {
        for (attempts, sources, streams, workers, lanes) in [(2, 1, 4, 3, 2), (1, 1, 2, 2, 1), (4, 3, 16, 5, 4)] {
            let derived = GpuBackendDeviceInstallationBounds::derived(0, attempts, sources).unwrap();
            assert_eq!(derived, GpuBackendDeviceInstallationBounds::new(streams, workers, lanes));
        }
    }

    /// B-21, V-4: each step is checked, in its order.
    #[test]
    fn a_derivation_that_overflows_names_the_step() {
        let vectors = [
            (2, "source_work_per_attempt", "aux_source_work_overflow"),
            (1, "stream_pool_size", "required_slot_overflow"),
            (0, "worker_count", "required_worker_overflow"),
        ];
        for (sources, field, reason) in vectors {
            let error = GpuBackendDeviceInstallationBounds::derived(5, usize::MAX, sources).unwrap_err();
            assert_eq!((error.fact_value("field"), error.reason()), (Some(field), Some(reason)));
            assert_eq!(error.fact_value("device_ordinal"), Some("5"));
            assert!(error.message().starts_with(&format!("device 5 {field} overflowed")), "{error}");
        }
    }
}
