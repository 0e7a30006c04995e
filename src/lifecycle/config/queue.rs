//! Bounds of the admission queue.

use std::time::Duration;

use crate::lifecycle::config::refusal;
use crate::lifecycle::error::QueryResult;

/// How many requests may wait for admission, and how long one does that names no deadline (B-31).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueBounds {
    max_queued_requests: usize,
    default_wait: Duration,
}

impl QueueBounds {
    /// Bounds as given; [`QueueBounds::validate`] checks them.
    pub const fn new(max_queued_requests: usize, default_wait: Duration) -> Self {
        Self { max_queued_requests, default_wait }
    }

    /// The most waiting requests.
    pub fn max_queued_requests(&self) -> usize {
        self.max_queued_requests
    }

    /// The wait of a request that names no deadline.
    pub fn default_wait(&self) -> Duration {
        self.default_wait
    }

    /// Check the bounds (V-27).
    ///
    /// # Errors
    ///
    /// `zero` for a queue that holds nothing, or a wait that is over at once.
    pub fn validate(&self) -> QueryResult {
        let tail = "must be greater than zero";
        if self.max_queued_requests == 0 {
            return Err(refusal::backend("max_queued_requests", "zero", tail));
        }
        if self.default_wait.is_zero() {
            return Err(refusal::backend("default_wait", "zero", tail));
        }
        Ok(())
    }
}

impl Default for QueueBounds {
    fn default() -> Self {
        Self::new(1024, Duration::from_secs(30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-31.
    #[test]
    fn the_default_validates_and_zero_does_not() {
        QueueBounds::default().validate().unwrap();
        QueueBounds::new(1, Duration::from_nanos(1)).validate().unwrap();
        let refused = [(0, Duration::from_secs(1), "max_queued_requests"), (1, Duration::ZERO, "default_wait")];
        for (requests, wait, field) in refused {
            let error = QueueBounds::new(requests, wait).validate().unwrap_err();
            assert_eq!((error.reason(), error.fact_value("field")), (Some("zero"), Some(field)));
            assert_eq!(error.fact_value("device_ordinal"), None);
        }
    }
}
