//! One attempt under its lock, and the order of its end (B-102, B-124): resources and grant, GPU permit, seal, sinks,
//! counters, completion, observers, observation permit, activities.

use std::time::Duration;

use crate::clock::Tick;
use crate::lifecycle::attempt::activity::QueryActivityLease;
use crate::lifecycle::attempt::completion::CompletionSlot;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::report::{AttemptDisposition, AttemptOutcome, QueryAttemptReport};
use crate::lifecycle::attempt::resources::{AttemptEnd, AttemptResources, Ending, ReleaseReport};
use crate::lifecycle::attempt::state::{Admission, AttemptState, Sealing, Terminal};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::gate::ObservationPermit;
use crate::lifecycle::observation::executor::ObservationLane;
use crate::lifecycle::observation::isolation::isolate;
use crate::lifecycle::reentrancy::enter_observation;
use crate::sync::{Arc, Mutex, MutexGuard};

pub(super) struct AttemptCell {
    id: u64,
    name: Option<Arc<str>>,
    begun_at: Tick,
    core: Arc<ObservationCore>,
    completion: Arc<CompletionSlot>,
    state: Mutex<AttemptState>,
}

impl AttemptCell {
    pub(super) fn new(
        core: &Arc<ObservationCore>,
        id: u64,
        name: Option<Arc<str>>,
        completion: Arc<CompletionSlot>,
        permit: ObservationPermit,
    ) -> Arc<Self> {
        let state = Mutex::new(AttemptState::new(permit));
        Arc::new(Self { id, name, begun_at: core.clock().now(), core: core.clone(), completion, state })
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn core(&self) -> &Arc<ObservationCore> {
        &self.core
    }

    pub(super) fn state(&self) -> MutexGuard<'_, AttemptState> {
        self.state.lock()
    }

    /// End the attempt, unless it has ended. Without resources everything up to the observers happens in this call (B-123).
    pub(super) fn commit(self: &Arc<Self>, outcome: AttemptOutcome, error: Option<QueryError>) -> QueryResult {
        let span = tracing::debug_span!("attempt_end", attempt_id = self.id, outcome = outcome.as_str());
        let _entered = span.enter();
        let backend_closing = self.core.lifecycle().is_closing();
        let end = AttemptEnd { attempt_id: self.id, outcome, backend_closing };
        let committed = self.state().commit(Terminal { outcome, error, backend_closing });
        match committed {
            Err(_) => return Err(already_terminal(self.id)),
            Ok(Admission::None) => self.seal(ReleaseReport::default()),
            Ok(Admission::Pending(cancel)) => {
                // The request's permits go before the seal.
                isolate("cancel of a queued request", cancel);
                self.seal(ReleaseReport::default());
            }
            Ok(Admission::Held(resources)) => self.release(resources, end),
        }
        Ok(())
    }

    fn release(self: &Arc<Self>, resources: Box<dyn AttemptResources>, end: AttemptEnd) {
        let ending = Ending::new(self.clone());
        isolate("release of resources", || {
            resources.release(end, Box::new(move |report| ending.finish(report)));
        });
    }

    /// Seal on the observation lane: observers of an admitted attempt do not run on whoever gave the resources back (B-138).
    pub(super) fn dispatch_seal(self: Arc<Self>, released: ReleaseReport) {
        let core = self.core.clone();
        core.dispatch(ObservationLane::Observation, Box::new(move || self.seal(released)));
    }

    fn seal(&self, released: ReleaseReport) {
        let Some(sealing) = self.state().seal() else { return };
        let permit = self.deliver(sealing, released);
        drop(permit);
        let activities = self.state().finish();
        for lease in activities {
            self.retire(lease);
        }
    }

    /// Seal, sinks, counters, completion, observers. What is left of the order is the returned permit.
    fn deliver(&self, sealing: Sealing, released: ReleaseReport) -> Option<ObservationPermit> {
        let _guard = enter_observation();
        let Sealing { terminal, planned_at, queue_wait, permit, sinks, observers } = sealing;
        let report = Arc::new(self.report(terminal, planned_at, queue_wait, released));
        // The engine's own sink was there first.
        self.core.metrics().record(&report);
        for sink in sinks {
            isolate("sealed report sink", || sink(&report));
        }
        self.core.ledger().count_ready();
        if !self.completion.publish(report.clone()) {
            self.core.ledger().abandon(report.clone());
        }
        for observer in observers {
            isolate("seal observer", || observer(report.clone()));
        }
        permit
    }

    fn report(
        &self,
        terminal: Terminal,
        planned_at: Option<Tick>,
        queue_wait: Duration,
        released: ReleaseReport,
    ) -> QueryAttemptReport {
        let since_begin = |tick: Tick| tick.0.saturating_sub(self.begun_at.0);
        let disposition = match (released.native_work, planned_at) {
            (true, _) => AttemptDisposition::Native,
            (false, Some(_)) => AttemptDisposition::HostOnly,
            (false, None) => AttemptDisposition::Unplanned,
        };
        QueryAttemptReport {
            attempt_id: self.id,
            name: self.name.clone(),
            outcome: terminal.outcome,
            disposition,
            backend_closing: terminal.backend_closing,
            error: terminal.error.or(released.error),
            device_ordinal: released.device_ordinal,
            granted_bytes: released.granted_bytes,
            total: since_begin(self.core.clock().now()),
            planning: planned_at.map_or(Duration::ZERO, since_begin),
            queue_wait,
            physical_execution: released.physical_execution,
        }
    }

    /// Drop an activity where its destructor may block: each by itself, as each may panic.
    pub(super) fn retire(&self, lease: QueryActivityLease) {
        self.core.dispatch(ObservationLane::ActivityTail, Box::new(move || drop(lease)));
    }
}

pub(super) fn already_terminal(attempt_id: u64) -> QueryError {
    let message = "the attempt has ended; its first terminal stands, begin another one";
    QueryError::new(QueryErrorCode::Internal, operation::ATTEMPT, message)
        .with_reason("attempt_already_terminal")
        .with_fact("attempt_id", attempt_id)
}
