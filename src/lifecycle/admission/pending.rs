//! A request on its way: awaited or waited for, and cancelled by dropping it (B-109, B-116, B-117).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock::{Deadline, Tick};
use crate::lifecycle::admission::cancel::Registration;
use crate::lifecycle::admission::controller::Hub;
use crate::lifecycle::admission::grant::{Grant, GrantHome};
use crate::lifecycle::admission::outcome::{Abandoned, Outcome, Settled};
use crate::lifecycle::error::QueryResult;
use crate::process;
use crate::sync::{Arc, Weak};

/// A blocking wait looks at its own deadline at least this often, should the timer be gone: after a fork, say.
const WAIT_SLICE: Duration = Duration::from_millis(100);

/// A request that was handed in. It resolves to the grant and what was left in trust. Dropping it withdraws the request,
/// or gives back the grant that it was about to deliver.
pub(crate) struct PendingGrant<P: Send + 'static>(Stage<P>);

enum Stage<P: Send + 'static> {
    /// Decided as it was handed in.
    AtOnce(Settled<P>),
    Queued(Queued<P>),
    Taken,
}

/// A request's claim on its outcome.
pub(crate) struct Queued<P: Send + 'static> {
    pub(crate) hub: Arc<Hub<P>>,
    pub(crate) id: u64,
    pub(crate) deadline: Tick,
    pub(crate) outcome: Arc<Outcome<P>>,
    pub(crate) registration: Option<Registration>,
}

impl<P: Send + 'static> PendingGrant<P> {
    pub(crate) fn at_once(settled: Settled<P>) -> Self {
        Self(Stage::AtOnce(settled))
    }

    pub(crate) fn queued(queued: Queued<P>) -> Self {
        Self(Stage::Queued(queued))
    }

    /// Whether the outcome is there.
    pub(crate) fn is_settled(&self) -> bool {
        match &self.0 {
            Stage::Queued(queued) => queued.outcome.is_settled(),
            Stage::AtOnce(_) | Stage::Taken => true,
        }
    }

    /// A way to withdraw the request from elsewhere; `None` when it was decided as it was handed in.
    pub(crate) fn canceller(&self) -> Option<Canceller> {
        let Stage::Queued(queued) = &self.0 else { return None };
        let home: Arc<dyn GrantHome> = queued.hub.clone();
        Some(Canceller { home: Arc::downgrade(&home), id: queued.id })
    }

    /// Block until the outcome is there, at most until the request's deadline.
    ///
    /// # Errors
    ///
    /// Why there is no grant.
    pub(crate) fn wait(mut self) -> QueryResult<(Grant, P)> {
        match std::mem::replace(&mut self.0, Stage::Taken) {
            Stage::AtOnce(settled) => settled,
            Stage::Queued(queued) => queued.wait(),
            Stage::Taken => unreachable!("an outcome is taken by the future or by the wait"),
        }
    }
}

/// Withdraws one request if it still waits. It keeps nothing alive.
#[derive(Clone)]
pub(crate) struct Canceller {
    home: Weak<dyn GrantHome>,
    id: u64,
}

impl Canceller {
    /// The request is refused as cancelled; one that has its outcome keeps it.
    pub(crate) fn cancel(&self) {
        if let Some(home) = self.home.upgrade() {
            home.cancel_request(self.id);
        }
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<P: Send + 'static> Queued<P> {
    fn wait(self) -> Settled<P> {
        loop {
            let left = self.hub.clock.remaining(Deadline::at(self.deadline)).unwrap_or(WAIT_SLICE);
            if left.is_zero() {
                self.hub.expire_due();
            }
            if let Some(settled) = self.outcome.wait(left.clamp(Duration::from_millis(1), WAIT_SLICE)) {
                return settled;
            }
        }
    }
}

impl<P: Send + 'static> Drop for Queued<P> {
    fn drop(&mut self) {
        // In a process that ends the locks may belong to threads that are gone.
        if process::is_ending() {
            return;
        }
        match self.outcome.abandon() {
            Abandoned::Open => self.hub.cancel(self.id),
            // The grant goes before what was left in trust.
            Abandoned::Settled(settled) => drop(settled),
            Abandoned::Over => {}
        }
    }
}

// Nothing in it is pinned.
impl<P: Send + 'static> Unpin for PendingGrant<P> {}

impl<P: Send + 'static> Future for PendingGrant<P> {
    type Output = QueryResult<(Grant, P)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let settled = match &self.0 {
            Stage::Queued(queued) => match queued.outcome.poll(context.waker()) {
                Some(settled) => settled,
                None => return Poll::Pending,
            },
            Stage::AtOnce(_) => match std::mem::replace(&mut self.0, Stage::Taken) {
                Stage::AtOnce(settled) => settled,
                Stage::Queued(_) | Stage::Taken => unreachable!("it was decided at once"),
            },
            Stage::Taken => panic!("a future is not polled again after its outcome"),
        };
        self.0 = Stage::Taken;
        Poll::Ready(settled)
    }
}

impl<P: Send + 'static> fmt::Debug for PendingGrant<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingGrant").field("is_settled", &self.is_settled()).finish_non_exhaustive()
    }
}
