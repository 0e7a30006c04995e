//! What a call that needs the device answers: something to wait for with the lock released, and how to finish under it.

use std::fmt;
use std::time::Duration;

use crate::clock::{Clock, Deadline};
use crate::error::Result;
use crate::server::Server;
use crate::sync::Arc;

/// A point in a device's work.
pub trait Fence: Send + Sync {
    /// Block until the point is passed or `deadline` comes; true when it is passed. Holds no lock of the device.
    ///
    /// # Errors
    ///
    /// [`ServerError::DeviceLost`](crate::ServerError::DeviceLost), within a second of the loss.
    fn wait(&self, clock: &Clock, deadline: Deadline) -> Result<bool>;

    /// Whether the point is passed now. Does not block.
    ///
    /// # Errors
    ///
    /// As [`Fence::wait`].
    fn is_passed(&self) -> Result<bool>;
}

/// A fence that is passed from the start.
#[derive(Clone, Copy, Debug)]
pub struct Passed;

impl Fence for Passed {
    fn wait(&self, _clock: &Clock, _deadline: Deadline) -> Result<bool> {
        Ok(true)
    }

    fn is_passed(&self) -> Result<bool> {
        Ok(true)
    }
}

/// Finishes a call under the device's lock, once its fence is passed.
pub type Finish<T> = Box<dyn FnOnce(&mut dyn Server) -> Result<T> + Send>;

/// An answer that the device has not given yet.
#[must_use = "the work is done, but its answer is lost"]
pub struct Ticket<T> {
    /// What to wait for.
    pub fence: Arc<dyn Fence>,
    /// How to get the answer then.
    pub finish: Finish<T>,
}

impl<T> fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Ticket<T> {
    /// An answer that is known already.
    pub fn ready(value: T) -> Self {
        Self { fence: Arc::new(Passed), finish: Box::new(move |_| Ok(value)) }
    }
}

/// Time that work took on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// From the start of the first operation to the end of the last; absent where the device cannot tell.
    pub total: Option<Duration>,
    /// Each operation, in order.
    pub operations: Vec<crate::recording::NodeTime>,
}

/// How one replay went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayReport {
    /// Time of each node; empty unless the replay was timed.
    pub nodes: Vec<crate::recording::NodeTime>,
}
