//! An object of the caller's that lives as long as its request: dropped as the very last step, and by a delivery lane, as
//! its destructor may close the backend (B-102, B-103).

use std::fmt;

use crate::lifecycle::observation::executor::{ObservationDispatcher, ObservationLane};
use crate::process;

trait Activity: Send + fmt::Debug {}

impl<T: Send + fmt::Debug> Activity for T {}

/// Keeps a value of the caller's until everything of its request is gone.
pub struct QueryActivityLease(Box<dyn Activity>);

impl QueryActivityLease {
    /// A lease on any value.
    pub fn new(value: impl Send + fmt::Debug + 'static) -> Self {
        Self(Box::new(value))
    }

    /// The same lease, dropped by the activity lane wherever it is let go. For a request that may be refused: neither its
    /// caller nor a timer is to run the destructor.
    pub(crate) fn on_tail(self, dispatcher: ObservationDispatcher) -> TailLease {
        TailLease { lease: Some(self), dispatcher }
    }
}

impl fmt::Debug for QueryActivityLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QueryActivityLease").field(&self.0).finish()
    }
}

/// A lease of which the activity lane drops the value.
#[derive(Debug)]
pub(crate) struct TailLease {
    lease: Option<QueryActivityLease>,
    dispatcher: ObservationDispatcher,
}

impl TailLease {
    /// The lease alone, for one who will see to its end: an attempt.
    pub(crate) fn into_lease(mut self) -> QueryActivityLease {
        self.lease.take().expect("only this call and the destructor take the lease")
    }
}

impl Drop for TailLease {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            // A destructor of the caller's is not begun in a process that ends.
            if process::is_ending() {
                std::mem::forget(lease);
                return;
            }
            self.dispatcher.dispatch(ObservationLane::ActivityTail, Box::new(move || drop(lease)));
        }
    }
}
