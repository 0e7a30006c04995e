//! A grant: one device's bytes and slots, held until it is dropped, and given back exactly once (B-110).

use std::fmt;
use std::time::Duration;

use crate::lifecycle::admission::ledger::Placement;
use crate::process;
use crate::sync::Arc;

/// Where grants come from and requests wait, whatever the requests hold.
pub(crate) trait GrantHome: Send + Sync {
    /// Take a placement back and serve those that wait.
    fn give_back(self: Arc<Self>, placement: Placement);

    /// Withdraw a request if it still waits.
    fn cancel_request(self: Arc<Self>, id: u64);
}

/// What an attempt may use of one device. Dropping it gives everything back, then serves those that wait; it does not
/// block on the device.
pub(crate) struct Grant {
    held: Option<(Arc<dyn GrantHome>, Placement)>,
    ordinal: usize,
    bytes: u64,
    queue_wait: Duration,
}

impl Grant {
    pub(crate) fn new(home: Arc<dyn GrantHome>, placement: Placement, queue_wait: Duration) -> Self {
        let (ordinal, bytes) = (placement.ordinal, placement.bytes);
        Self { held: Some((home, placement)), ordinal, bytes, queue_wait }
    }

    /// The device.
    pub(crate) fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// The most that the attempt may use, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How long the request waited; zero when it was placed as it arrived.
    pub(crate) fn queue_wait(&self) -> Duration {
        self.queue_wait
    }

    /// Take the placement out, to be given back by other means.
    pub(crate) fn into_placement(mut self) -> Option<Placement> {
        self.held.take().map(|(_, placement)| placement)
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        // In a process that ends the ledgers' lock may belong to a thread that is gone, and nobody is served any more.
        if let Some((home, placement)) = self.held.take()
            && !process::is_ending()
        {
            home.give_back(placement);
        }
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("ordinal", &self.ordinal).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
