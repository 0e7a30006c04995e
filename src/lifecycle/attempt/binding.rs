//! How admission reaches the attempt that a request is for, without keeping it alive.

use std::fmt;
use std::time::Duration;

use crate::lifecycle::attempt::activity::TailLease;
use crate::lifecycle::attempt::cell::AttemptCell;
use crate::lifecycle::attempt::resources::AttemptResources;
use crate::sync::{Arc, Weak};

/// Names an attempt in a request.
#[derive(Clone)]
pub struct AttemptBinding {
    id: u64,
    cell: Weak<AttemptCell>,
}

/// Why an attempt takes no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachRefusal {
    /// It has ended.
    Terminal,
    /// It has a request already, or what one was granted.
    Busy,
}

impl AttemptBinding {
    pub(super) fn new(cell: &Arc<AttemptCell>) -> Self {
        Self { id: cell.id(), cell: Arc::downgrade(cell) }
    }

    /// The attempt.
    pub fn attempt_id(&self) -> u64 {
        self.id
    }

    /// Note a queued request: a terminal of the attempt calls `cancel`, on the thread that commits it and before the seal.
    pub(crate) fn attach_pending(&self, cancel: impl FnOnce() + Send + 'static) -> Result<(), AttachRefusal> {
        let cell = self.cell.upgrade().ok_or(AttachRefusal::Terminal)?;
        let refused = cell.state().attach_pending(Box::new(cancel));
        refused.map_err(|(refusal, _)| refusal)
    }

    /// The queue refused the request: the attempt may be asked for again.
    pub(crate) fn clear_pending(&self) {
        let Some(cell) = self.cell.upgrade() else { return };
        let cancel = cell.state().clear_pending();
        drop(cancel);
    }

    /// Give the attempt what it was granted. An attempt that has ended, or holds something, takes nothing.
    pub(crate) fn attach(
        &self,
        resources: Box<dyn AttemptResources>,
        queue_wait: Duration,
    ) -> Result<(), Box<dyn AttemptResources>> {
        let Some(cell) = self.cell.upgrade() else { return Err(resources) };
        let attached = cell.state().attach(resources, queue_wait);
        // The way out of the queue is dropped here, outside the lock.
        attached.map(drop)
    }

    /// Keep `lease` until the attempt's permits are gone; then the activity lane drops it. An attempt that is over already
    /// has it dropped there at once.
    pub(crate) fn attach_activity(&self, lease: TailLease) {
        let Some(cell) = self.cell.upgrade() else { return };
        let late = cell.state().attach_activity(lease.into_lease());
        if let Err(lease) = late {
            cell.retire(lease);
        }
    }
}

impl fmt::Debug for AttemptBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptBinding").field("attempt_id", &self.id).finish_non_exhaustive()
    }
}
