//! What of a backend outlives its GPU resources: the gate, the attempts' counters and reports, metrics, and delivery.

use std::fmt;

use crate::clock::Clock;
use crate::lifecycle::attempt::cell::AttemptCell;
use crate::lifecycle::attempt::completion::CompletionSlot;
use crate::lifecycle::attempt::ledger::{AttemptCountersSnapshot, AttemptLedger};
use crate::lifecycle::attempt::owner::{AttemptBegin, AttemptOwner, BeginAttemptRequest};
use crate::lifecycle::attempt::report::QueryAttemptReport;
use crate::lifecycle::error::QueryResult;
use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::metrics::store::BackendMetricsStore;
use crate::lifecycle::observation::executor::{
    Job, ObservationCompletionExecutor, ObservationDispatcher, ObservationLane,
};
use crate::sync::Arc;

/// The observation side of one backend. Sessions, attempts and jobs under way keep it.
pub(crate) struct ObservationCore {
    identity: u64,
    lifecycle: BackendLifecycle,
    clock: Clock,
    metrics: BackendMetricsStore,
    ledger: AttemptLedger,
    executor: ObservationCompletionExecutor,
    dispatcher: ObservationDispatcher,
}

impl ObservationCore {
    /// A core without attempts. `completion_queue_capacity` bounds the reports kept without a receiver; none and zero keep
    /// nothing.
    pub(crate) fn new(
        identity: u64,
        lifecycle: BackendLifecycle,
        clock: Clock,
        metrics: BackendMetricsStore,
        completion_queue_capacity: Option<usize>,
        executor: ObservationCompletionExecutor,
    ) -> Arc<Self> {
        let (ledger, dispatcher) = (AttemptLedger::new(completion_queue_capacity), executor.dispatcher());
        Arc::new(Self { identity, lifecycle, clock, metrics, ledger, executor, dispatcher })
    }

    /// Begin an attempt. The observation permit is what decides against a close (B-119); no GPU permit is taken (B-106).
    ///
    /// # Errors
    ///
    /// `backend_closing` once close has won; nothing is counted then (B-120).
    pub(crate) fn begin_attempt(self: &Arc<Self>, request: BeginAttemptRequest) -> QueryResult<AttemptBegin> {
        let permit = self.lifecycle.try_begin_observation()?;
        let id = self.ledger.begin();
        let (slot, completion) = CompletionSlot::new();
        let cell = AttemptCell::new(self, id, request.into_name(), slot, permit);
        Ok(AttemptBegin { owner: AttemptOwner::new(cell), completion })
    }

    /// Counts of one moment; also after the close.
    pub(crate) fn counters_snapshot(&self) -> AttemptCountersSnapshot {
        self.ledger.snapshot()
    }

    /// Up to `max` reports that nobody received, oldest first; also after the close (B-127).
    pub(crate) fn take_abandoned_attempt_reports(&self, max: usize) -> Vec<Arc<QueryAttemptReport>> {
        self.ledger.take(max)
    }

    /// A way to the delivery lanes that cannot fail later.
    pub(crate) fn dispatcher(&self) -> ObservationDispatcher {
        self.dispatcher.clone()
    }

    /// The gate.
    pub(crate) fn lifecycle(&self) -> &BackendLifecycle {
        &self.lifecycle
    }

    /// The metrics.
    pub(crate) fn metrics(&self) -> &BackendMetricsStore {
        &self.metrics
    }

    /// Which observation core it is.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The process ends: as [`ObservationCompletionExecutor::detach_for_exit`].
    pub(crate) fn detach_for_exit(&self) {
        self.executor.detach_for_exit();
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn ledger(&self) -> &AttemptLedger {
        &self.ledger
    }

    pub(super) fn dispatch(&self, lane: ObservationLane, job: Job) {
        self.dispatcher.dispatch(lane, job);
    }
}

impl fmt::Debug for ObservationCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (identity, counters) = (self.identity, self.counters_snapshot());
        f.debug_struct("ObservationCore")
            .field("identity", &identity)
            .field("counters", &counters)
            .finish_non_exhaustive()
    }
}
