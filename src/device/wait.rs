//! Waiting: blocking with a deadline, or as a future, always with the device's lock released.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::inner::DeviceInner;
use super::waiter::Parked;
use crate::clock::{Clock, Deadline};
use crate::error::{Result, ServerError};
use crate::sync::{Arc, Mutex};
use crate::ticket::{Fence, Finish, ReplayReport, Ticket};

/// Wait for `fence`; a deadline ends the wait only.
pub(super) fn for_fence(device: &DeviceInner, fence: &dyn Fence, deadline: Deadline, what: &'static str) -> Result<()> {
    // An exit waits for whoever is inside the driver.
    let _call = device.unlocked_call()?;
    let clock = &device.config.clock;
    let start = clock.now();
    if fence.wait(clock, deadline)? {
        return Ok(());
    }
    Err(ServerError::Timeout { what, waited: clock.now().0.saturating_sub(start.0) })
}

/// Wait for room for more work. What was asked for is queued already, so a deadline that comes first is no failure of it: an
/// error would have the caller ask again, and the work run twice.
pub(super) fn for_room(device: &DeviceInner, fence: &dyn Fence, deadline: Deadline) -> Result<()> {
    let _call = device.unlocked_call()?;
    has_room(&device.config.clock, fence, deadline)
}

fn has_room(clock: &Clock, fence: &dyn Fence, deadline: Deadline) -> Result<()> {
    if !fence.wait(clock, deadline)? {
        tracing::warn!("the device did not make room for more work within Config::wait_max");
    }
    Ok(())
}

/// An answer to come: wait for it, or await it on any executor. Dropping it drops the answer, not the work.
#[must_use = "the work is done, but its answer is lost"]
pub struct Pending<T> {
    device: Arc<DeviceInner>,
    fence: Arc<dyn Fence>,
    finish: Option<Finish<T>>,
    parked: Parked,
    what: &'static str,
}

impl<T> Pending<T> {
    pub(super) fn new(device: Arc<DeviceInner>, ticket: Ticket<T>, what: &'static str) -> Self {
        Self { device, fence: ticket.fence, finish: Some(ticket.finish), parked: Parked::default(), what }
    }

    /// Whether waiting would not block.
    pub fn is_ready(&self) -> bool {
        self.device.passed(&*self.fence).unwrap_or(true)
    }

    /// Block until the answer is there, for at most `Config::wait_max`.
    ///
    /// # Errors
    ///
    /// [`ServerError::Timeout`], or what the work answered.
    pub fn wait(mut self) -> Result<T> {
        let deadline = self.device.deadline();
        self.wait_until(deadline)
    }

    /// Block for at most `timeout`. After a timeout the answer can be waited for again.
    ///
    /// # Errors
    ///
    /// [`ServerError::Timeout`], or what the work answered.
    pub fn wait_for(&mut self, timeout: Duration) -> Result<T> {
        let deadline = self.device.config.clock.deadline_in(timeout);
        self.wait_until(deadline)
    }

    fn wait_until(&mut self, deadline: Deadline) -> Result<T> {
        for_fence(&self.device, &*self.fence, deadline, self.what)?;
        self.take()
    }

    fn take(&mut self) -> Result<T> {
        let finish = self.finish.take().ok_or_else(|| {
            ServerError::graph_state(format!("the answer of {} was taken already; keep the first one", self.what))
        })?;
        finish(&mut **self.device.lock())
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.device.passed(&*self.fence) {
            Ok(false) => {
                let this = &mut *self;
                this.device.waiters.park(&this.fence, &mut this.parked, context.waker());
                Poll::Pending
            }
            Ok(true) => Poll::Ready(self.take()),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<T> Unpin for Pending<T> {}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("what", &self.what).finish_non_exhaustive()
    }
}

/// The end of one replay. Clones wait for the same replay; dropping it does not stop the replay.
#[derive(Clone)]
pub struct Done {
    device: Arc<DeviceInner>,
    shared: Arc<DoneShared>,
}

struct DoneShared {
    fence: Arc<dyn Fence>,
    outcome: Mutex<Outcome>,
}

enum Outcome {
    Open(Finish<ReplayReport>),
    Closing,
    Closed(Result<ReplayReport>),
}

impl Done {
    pub(super) fn new(device: Arc<DeviceInner>, ticket: Ticket<ReplayReport>) -> Self {
        let outcome = Mutex::new(Outcome::Open(ticket.finish));
        Self { device, shared: Arc::new(DoneShared { fence: ticket.fence, outcome }) }
    }

    /// Whether the replay is over, well or not.
    pub fn is_done(&self) -> bool {
        self.device.passed(&*self.shared.fence).unwrap_or(true)
    }

    /// Block until the replay is over, for at most `Config::wait_max`.
    ///
    /// # Errors
    ///
    /// [`ServerError::Timeout`], which ends the wait only; [`ServerError::DeviceLost`] and device faults.
    pub fn wait(&self) -> Result<ReplayReport> {
        self.wait_until(self.device.deadline())
    }

    /// As [`Done::wait`], for at most `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Done::wait`].
    pub fn wait_for(&self, timeout: Duration) -> Result<ReplayReport> {
        self.wait_until(self.device.config.clock.deadline_in(timeout))
    }

    fn wait_until(&self, deadline: Deadline) -> Result<ReplayReport> {
        if let Some(answer) = self.answered() {
            return answer;
        }
        for_fence(&self.device, &*self.shared.fence, deadline, "a replay")?;
        self.close()
    }

    /// The answer that was given before: a device lost since takes nothing of it back.
    fn answered(&self) -> Option<Result<ReplayReport>> {
        match &*self.shared.outcome.lock() {
            Outcome::Closed(answer) => Some(answer.clone()),
            Outcome::Open(_) | Outcome::Closing => None,
        }
    }

    /// Finish once, and give every clone the same answer.
    fn close(&self) -> Result<ReplayReport> {
        let mut outcome = self.shared.outcome.lock();
        if let Outcome::Open(_) = &*outcome
            && let Outcome::Open(finish) = std::mem::replace(&mut *outcome, Outcome::Closing)
        {
            *outcome = Outcome::Closed(finish(&mut **self.device.lock()));
        }
        match &*outcome {
            Outcome::Closed(answer) => answer.clone(),
            Outcome::Open(_) | Outcome::Closing => Err(ServerError::graph_state(
                "replay: the answer was lost by a panic in the backend; open a new device",
            )),
        }
    }
}

impl IntoFuture for Done {
    type Output = Result<ReplayReport>;
    type IntoFuture = DoneFuture;

    fn into_future(self) -> DoneFuture {
        DoneFuture { done: self, parked: Parked::default() }
    }
}

/// [`Done`] as a future.
#[derive(Debug)]
pub struct DoneFuture {
    done: Done,
    parked: Parked,
}

impl Future for DoneFuture {
    type Output = Result<ReplayReport>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(answer) = this.done.answered() {
            return Poll::Ready(answer);
        }
        match this.done.device.passed(&*this.done.shared.fence) {
            Ok(false) => {
                this.done.device.waiters.park(&this.done.shared.fence, &mut this.parked, context.waker());
                Poll::Pending
            }
            Ok(true) => Poll::Ready(this.done.close()),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Done").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;

    /// A fence that never passes, of a device that may be lost.
    struct Stuck(Option<ServerError>);

    impl Fence for Stuck {
        fn wait(&self, _clock: &Clock, _deadline: Deadline) -> Result<bool> {
            self.0.clone().map_or(Ok(false), Err)
        }

        fn is_passed(&self) -> Result<bool> {
            self.0.clone().map_or(Ok(false), Err)
        }
    }

    #[test]
    fn queued_work_does_not_fail_for_want_of_room() {
        let (clock, now) = (Clock::manual(), Deadline::at(Tick(Duration::ZERO)));
        has_room(&clock, &Stuck(None), now).unwrap();
        let lost = ServerError::DeviceLost { device: 1, reason: "gone".into() };
        assert!(matches!(has_room(&clock, &Stuck(Some(lost)), now), Err(ServerError::DeviceLost { .. })));
    }
}
