//! A store of fixed size that every sealed report is projected into once. It keeps no events, and a snapshot of it is of
//! one moment.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::lifecycle::attempt::report::{AttemptDisposition, AttemptOutcome, QueryAttemptReport};
use crate::lifecycle::config::BACKEND_METRIC_DEVICE_CAPACITY;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::sync::{Arc, Mutex};

const OUTCOMES: usize = AttemptOutcome::ALL.len();
const DISPOSITIONS: usize = AttemptDisposition::ALL.len();

/// The metrics of one backend; clones share them.
#[derive(Clone, Debug)]
pub struct BackendMetricsStore(Arc<Mutex<BackendMetricsSnapshot>>);

/// The metrics at one moment. Figures of two snapshots with different generations are not to be combined.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendMetricsSnapshot {
    /// Which backend it is.
    pub backend_id: u64,
    /// Grows by one with each recorded attempt, and never by reading (B-179).
    pub generation: u64,
    /// Sealed attempts.
    pub attempts: AttemptMetrics,
    /// Their cumulative durations.
    pub durations: AttemptDurations,
    /// Each device of the backend, by ordinal.
    pub devices: Vec<DeviceMetrics>,
}

/// Sealed attempts by how far they came and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptMetrics {
    counts: [[u64; OUTCOMES]; DISPOSITIONS],
    closing: u64,
}

/// Cumulative durations in nanoseconds. They saturate (B-182).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptDurations {
    /// From begin to report.
    pub total_ns: u64,
    /// From begin to plan.
    pub planning_ns: u64,
    /// In the admission queue.
    pub queue_wait_ns: u64,
    /// On a device.
    pub physical_execution_ns: u64,
}

/// Attempts that were admitted to one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceMetrics {
    /// The device.
    pub device_ordinal: usize,
    /// Sealed attempts that were admitted to it.
    pub attempts: AttemptMetrics,
    /// Their cumulative durations.
    pub durations: AttemptDurations,
}

impl AttemptMetrics {
    /// Sealed attempts of that disposition and outcome (B-180).
    pub fn completed(&self, disposition: AttemptDisposition, outcome: AttemptOutcome) -> u64 {
        self.counts[disposition as usize][outcome as usize]
    }

    /// Sealed attempts that ended while the backend was closing.
    pub fn completed_while_closing(&self) -> u64 {
        self.closing
    }

    /// All sealed attempts.
    pub fn completed_total(&self) -> u64 {
        self.counts.iter().flatten().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    fn add(&mut self, report: &QueryAttemptReport) {
        let count = &mut self.counts[report.disposition as usize][report.outcome as usize];
        *count = count.saturating_add(1);
        self.closing = self.closing.saturating_add(u64::from(report.backend_closing));
    }
}

impl AttemptDurations {
    fn add(&mut self, report: &QueryAttemptReport) {
        let sums = [
            (&mut self.total_ns, report.total),
            (&mut self.planning_ns, report.planning),
            (&mut self.queue_wait_ns, report.queue_wait),
            (&mut self.physical_execution_ns, report.physical_execution),
        ];
        for (sum, duration) in sums {
            *sum = sum.saturating_add(whole_nanoseconds(duration));
        }
    }
}

fn whole_nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl BackendMetricsStore {
    /// An empty store with a label for each ordinal; none is fine. It claims nothing (B-178).
    ///
    /// # Errors
    ///
    /// `backend_metrics_device_ordinal_out_of_range` for an ordinal without a label, `duplicate_device_ordinal` for one
    /// named twice.
    pub fn new(backend_id: u64, ordinals: &[usize]) -> QueryResult<Self> {
        let mut ordinals = ordinals.to_vec();
        ordinals.sort_unstable();
        if let Some(ordinal) = ordinals.iter().find(|ordinal| **ordinal >= BACKEND_METRIC_DEVICE_CAPACITY) {
            let message = format!(
                "device {ordinal} has no label in the metrics of {BACKEND_METRIC_DEVICE_CAPACITY} devices; use a lower \
                 ordinal"
            );
            return Err(refuse(message, "backend_metrics_device_ordinal_out_of_range", *ordinal)
                .with_fact("device_capacity", BACKEND_METRIC_DEVICE_CAPACITY));
        }
        if let Some(pair) = ordinals.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("device {} is named twice; name it once", pair[0]);
            return Err(refuse(message, "duplicate_device_ordinal", pair[0]));
        }
        let device = |device_ordinal| DeviceMetrics { device_ordinal, ..DeviceMetrics::default() };
        let snapshot = BackendMetricsSnapshot {
            backend_id,
            generation: 0,
            attempts: AttemptMetrics::default(),
            durations: AttemptDurations::default(),
            devices: ordinals.into_iter().map(device).collect(),
        };
        Ok(Self(Arc::new(Mutex::new(snapshot))))
    }

    /// Everything at one moment.
    pub fn snapshot(&self) -> BackendMetricsSnapshot {
        self.0.lock().clone()
    }

    /// Project one sealed report. One of a device that the store has no label for counts in the sums alone.
    pub(crate) fn record(&self, report: &QueryAttemptReport) {
        let mut metrics = self.0.lock();
        metrics.generation += 1;
        metrics.attempts.add(report);
        metrics.durations.add(report);
        let Some(ordinal) = report.device_ordinal else { return };
        if let Ok(at) = metrics.devices.binary_search_by_key(&ordinal, |device| device.device_ordinal) {
            let device = &mut metrics.devices[at];
            device.attempts.add(report);
            device.durations.add(report);
        }
    }
}

fn refuse(message: String, reason: &'static str, ordinal: usize) -> QueryError {
    QueryError::new(QueryErrorCode::InvalidConfiguration, operation::BUILD, message)
        .with_fact("field", "device_ordinal")
        .with_fact("device_ordinal", ordinal)
        .with_reason(reason)
}
