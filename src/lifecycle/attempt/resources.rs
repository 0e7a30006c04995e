//! What an attempt holds of a device, seen from the attempt: it is told to go, and says when it is gone.

use std::fmt;
use std::time::Duration;

use crate::lifecycle::attempt::cell::AttemptCell;
use crate::lifecycle::attempt::report::AttemptOutcome;
use crate::lifecycle::error::QueryError;
use crate::sync::Arc;

/// Device resources, grant and GPU permit of an admitted attempt.
pub(crate) trait AttemptResources: Send {
    /// Begin to give everything back. It does not block. `done` is called once device resources, grant and GPU permit are
    /// gone, in that order, from any thread; then the attempt seals (B-102).
    fn release(self: Box<Self>, ended: AttemptEnd, done: ReleaseDone);
}

/// Says that the release is over.
pub(crate) type ReleaseDone = Box<dyn FnOnce(ReleaseReport) + Send>;

/// How the attempt ended that gives its resources back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttemptEnd {
    /// The attempt.
    pub(crate) attempt_id: u64,
    /// Its outcome.
    pub(crate) outcome: AttemptOutcome,
    /// Whether the backend was closing then.
    pub(crate) backend_closing: bool,
}

/// What the resources know of the attempt.
#[derive(Debug, Default)]
pub(crate) struct ReleaseReport {
    /// The device that it was admitted to.
    pub(crate) device_ordinal: Option<usize>,
    /// Bytes of its grant.
    pub(crate) granted_bytes: u64,
    /// Whether anything was issued to the device.
    pub(crate) native_work: bool,
    /// Time on the device.
    pub(crate) physical_execution: Duration,
    /// What went wrong in the cleanup; reported where the attempt itself has no error.
    pub(crate) error: Option<QueryError>,
}

/// An attempt that waits for its resources. It seals once, also when the release panics or forgets to say that it is over:
/// a report must come before the backend can close (B-120).
pub(super) struct Ending(Option<Arc<AttemptCell>>);

impl Ending {
    pub(super) fn new(cell: Arc<AttemptCell>) -> Self {
        Self(Some(cell))
    }

    pub(super) fn finish(mut self, report: ReleaseReport) {
        if let Some(cell) = self.0.take() {
            cell.dispatch_seal(report);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(cell) = self.0.take() {
            tracing::error!(attempt_id = cell.id(), "resources were let go without saying so; the attempt ends anyway");
            cell.dispatch_seal(ReleaseReport::default());
        }
    }
}

impl fmt::Debug for dyn AttemptResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AttemptResources")
    }
}
