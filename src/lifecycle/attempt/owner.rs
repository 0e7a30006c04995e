//! Who ends an attempt, and what a begin gives and takes.

use std::fmt;

use crate::lifecycle::attempt::binding::AttemptBinding;
use crate::lifecycle::attempt::cell::{AttemptCell, already_terminal};
use crate::lifecycle::attempt::completion::AttemptCompletionReceiver;
use crate::lifecycle::attempt::report::{AttemptOutcome, QueryAttemptReport};
use crate::lifecycle::error::{QueryError, QueryResult};
use crate::process;
use crate::sync::Arc;

/// What an attempt is begun with.
#[derive(Clone, Debug, Default)]
pub struct BeginAttemptRequest {
    name: Option<Arc<str>>,
}

impl BeginAttemptRequest {
    /// Name the attempt in its report.
    #[must_use]
    pub fn with_name(self, name: impl Into<Arc<str>>) -> Self {
        Self { name: Some(name.into()) }
    }

    pub(super) fn into_name(self) -> Option<Arc<str>> {
        self.name
    }
}

/// A begun attempt: who ends it, and who hears of the end.
#[derive(Debug)]
pub struct AttemptBegin {
    /// Ends the attempt.
    pub owner: AttemptOwner,
    /// Receives its report.
    pub completion: AttemptCompletionReceiver,
}

/// Ends one attempt. Dropped without a terminal, it commits [`AttemptOutcome::Dropped`] (B-122).
pub struct AttemptOwner {
    cell: Arc<AttemptCell>,
}

impl AttemptOwner {
    pub(super) fn new(cell: Arc<AttemptCell>) -> Self {
        Self { cell }
    }

    /// The attempt, unique within its backend.
    pub fn id(&self) -> u64 {
        self.cell.id()
    }

    /// End the attempt. One that holds nothing of a device has its report ready when this returns; any other reports once
    /// that is given back (B-123).
    ///
    /// # Errors
    ///
    /// `attempt_already_terminal` when it has ended: the first terminal stands.
    pub fn commit_terminal(&self, outcome: AttemptOutcome) -> QueryResult {
        self.cell.commit(outcome, None)
    }

    /// End the attempt with what went wrong, which the report keeps. The outcome follows from the error's code: cancelled,
    /// rejected by admission, or failed.
    ///
    /// # Errors
    ///
    /// As [`AttemptOwner::commit_terminal`].
    pub fn commit_failed(&self, error: QueryError) -> QueryResult {
        self.cell.commit(AttemptOutcome::of_error(&error), Some(error))
    }

    /// The plan is made; the first call counts.
    pub fn mark_planned(&self) {
        let now = self.cell.core().clock().now();
        self.cell.state().plan(now);
    }

    /// What an admission request names the attempt by. It does not keep the attempt alive.
    pub fn admission_binding(&self) -> AttemptBinding {
        AttemptBinding::new(&self.cell)
    }

    /// Have `sink` see the sealed report once, before anybody else does. A panic of it ends there (B-125). It is an
    /// observation callback: it cannot block in a close.
    ///
    /// # Errors
    ///
    /// `attempt_already_terminal` when the attempt has ended.
    pub fn register_sealed_report_sink(&self, sink: impl FnOnce(&QueryAttemptReport) + Send + 'static) -> QueryResult {
        let added = self.cell.state().add_sink(Box::new(sink));
        added.map_err(|_| already_terminal(self.id()))
    }

    /// Have `observer` run once the report is visible: on the observation lane for an attempt that was admitted, else on
    /// the thread that ends it (B-138). It is an observation callback: it cannot block in a close.
    ///
    /// # Errors
    ///
    /// `attempt_already_terminal` when the attempt has ended.
    pub fn register_seal_observer(
        &self,
        observer: impl FnOnce(Arc<QueryAttemptReport>) + Send + 'static,
    ) -> QueryResult {
        let added = self.cell.state().add_observer(Box::new(observer));
        added.map_err(|_| already_terminal(self.id()))
    }

    /// Whether the backend is closing. Advice only: an attempt that sees it ends without planning (B-87).
    pub fn is_closing(&self) -> bool {
        self.cell.core().lifecycle().is_closing()
    }
}

impl Drop for AttemptOwner {
    fn drop(&mut self) {
        // Delivery stands still in a process that ends, and a lock may belong to a thread that is gone.
        if process::is_ending() {
            return;
        }
        // Most attempts have ended by then, which is what the refusal says.
        let _ = self.cell.commit(AttemptOutcome::Dropped, None);
    }
}

impl fmt::Debug for AttemptOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptOwner").field("id", &self.id()).finish_non_exhaustive()
    }
}
