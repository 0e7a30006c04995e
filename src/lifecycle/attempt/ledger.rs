//! Counts of attempts, and the reports that nobody received, under one lock.

use std::collections::VecDeque;

use crate::lifecycle::attempt::report::QueryAttemptReport;
use crate::sync::{Arc, Mutex};

/// Counts of one moment: never more reports than begins (B-130).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptCountersSnapshot {
    /// Attempts that were begun.
    pub attempts_begun: u64,
    /// Reports that became ready.
    pub reports_ready: u64,
    /// Reports without a receiver that the completion queue took.
    pub completion_queue_pushed: u64,
    /// Those that it had no room for.
    pub completion_queue_overflowed: u64,
    /// Those without a receiver where there is no queue.
    pub reports_discarded: u64,
}

/// Where a report without a receiver went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abandoned {
    Queued,
    Overflowed,
    Discarded,
}

pub(super) struct AttemptLedger {
    state: Mutex<LedgerState>,
    /// Reports that the queue holds at most; zero is no queue (QB-18).
    capacity: usize,
}

#[derive(Default)]
struct LedgerState {
    counters: AttemptCountersSnapshot,
    queue: VecDeque<Arc<QueryAttemptReport>>,
}

impl AttemptLedger {
    pub(super) fn new(capacity: Option<usize>) -> Self {
        Self { state: Mutex::new(LedgerState::default()), capacity: capacity.unwrap_or(0) }
    }

    /// Count a begin; the count is the attempt's id.
    pub(super) fn begin(&self) -> u64 {
        let counters = &mut self.state.lock().counters;
        counters.attempts_begun += 1;
        counters.attempts_begun
    }

    /// Count a report, before anybody can see it (B-124).
    pub(super) fn count_ready(&self) {
        self.state.lock().counters.reports_ready += 1;
    }

    /// Keep a report that nobody received, or count that it is lost: the newest is dropped, never an older one (QB-8).
    pub(super) fn abandon(&self, report: Arc<QueryAttemptReport>) -> Abandoned {
        let mut state = self.state.lock();
        if self.capacity == 0 {
            state.counters.reports_discarded += 1;
            Abandoned::Discarded
        } else if state.queue.len() >= self.capacity {
            state.counters.completion_queue_overflowed += 1;
            Abandoned::Overflowed
        } else {
            state.counters.completion_queue_pushed += 1;
            state.queue.push_back(report);
            Abandoned::Queued
        }
    }

    /// Up to `max` of the kept reports, oldest first.
    pub(super) fn take(&self, max: usize) -> Vec<Arc<QueryAttemptReport>> {
        let mut state = self.state.lock();
        let count = max.min(state.queue.len());
        state.queue.drain(..count).collect()
    }

    pub(super) fn snapshot(&self) -> AttemptCountersSnapshot {
        self.state.lock().counters
    }
}
