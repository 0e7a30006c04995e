//! Settings of execution. None of them changes what is installed for a device (B-25).

use crate::lifecycle::config::refusal;
use crate::lifecycle::error::QueryResult;

/// How far reads of sources run ahead of their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSchedulerPolicy {
    prefetch: usize,
}

impl SourceSchedulerPolicy {
    /// The largest accepted prefetch: each read ahead holds staging memory.
    pub const PREFETCH_MAX: usize = 1024;

    /// Read `prefetch` pieces ahead; 0 reads each when it is needed.
    pub const fn new(prefetch: usize) -> Self {
        Self { prefetch }
    }

    /// Pieces read ahead.
    pub const fn prefetch(self) -> usize {
        self.prefetch
    }
}

impl Default for SourceSchedulerPolicy {
    fn default() -> Self {
        Self::new(2)
    }
}

/// Settings of execution for all devices of a backend (B-31).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueryExecutionConfig {
    source_scheduler_policy: SourceSchedulerPolicy,
}

impl QueryExecutionConfig {
    /// The same with another policy for sources.
    #[must_use]
    pub fn with_source_scheduler_policy(self, source_scheduler_policy: SourceSchedulerPolicy) -> Self {
        Self { source_scheduler_policy }
    }

    /// How far reads of sources run ahead.
    pub fn source_scheduler_policy(&self) -> SourceSchedulerPolicy {
        self.source_scheduler_policy
    }

    /// Check the settings (V-26).
    ///
    /// # Errors
    ///
    /// `out_of_range` for a prefetch above [`SourceSchedulerPolicy::PREFETCH_MAX`].
    pub fn validate(&self) -> QueryResult {
        let (prefetch, max) = (self.source_scheduler_policy.prefetch, SourceSchedulerPolicy::PREFETCH_MAX);
        if prefetch <= max {
            return Ok(());
        }
        let tail = format!("is {prefetch}; the largest accepted value is {max}");
        Err(refusal::backend("source_scheduler_policy.prefetch", "out_of_range", &tail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-31.
    #[test]
    fn the_default_and_every_prefetch_in_range_validate() {
        let with = |prefetch| {
            QueryExecutionConfig::default().with_source_scheduler_policy(SourceSchedulerPolicy::new(prefetch))
        };
        QueryExecutionConfig::default().validate().unwrap();
        for prefetch in [0, 7, SourceSchedulerPolicy::PREFETCH_MAX] {
            with(prefetch).validate().unwrap();
            assert_eq!(with(prefetch).source_scheduler_policy().prefetch(), prefetch);
        }
        for prefetch in [SourceSchedulerPolicy::PREFETCH_MAX + 1, usize::MAX] {
            let error = with(prefetch).validate().unwrap_err();
            assert_eq!(error.reason(), Some("out_of_range"));
            assert!(error.message().ends_with("the largest accepted value is 1024"), "{error}");
        }
    }
}
