//! What a construction has installed, and how it is drained.

use std::fmt::Debug;
use std::time::Instant;

use crate::lifecycle::error::QueryResult;

/// Something installed that a close drains.
pub(crate) trait JournaledResource: Send + Sync + Debug {
    /// Take no more work, and wait for what is there until `deadline`. May be called again.
    ///
    /// # Errors
    ///
    /// A cleanup deadline; anything else is permanent.
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult;
}
