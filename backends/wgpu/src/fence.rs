//! Waits for submissions, outside the device's lock, in slices short enough to see a loss or a deadline.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use graphreel::clock::{Clock, Deadline};
use graphreel::device::Monitor;
use graphreel::error::Result;
use graphreel::sync::{Arc, Condvar, Mutex, Weak};
use graphreel::ticket::Fence;

/// The longest that one wait in wgpu lasts: a loss elsewhere is seen after at most this.
const SLICE: Duration = Duration::from_millis(100);

/// The shortest, so that a wait does not spin when a manual clock stands still just before its deadline.
const SLICE_MIN: Duration = Duration::from_millis(1);

/// How far the device has come, and who waits in wgpu.
///
/// Waiting threads elect a leader, which waits in wgpu; the others wait for it. Two waits in wgpu at once can trip over each
/// other there: one that times out just as another finds the queue empty panics (wgpu 30, `Device::maintain`), and drops
/// callbacks unrun. Therefore a panic alone is no loss here, and every callback also tells by its drop.
#[derive(Debug)]
pub(crate) struct Progress {
    device: wgpu::Device,
    monitor: Arc<Monitor>,
    done: AtomicU64,
    /// The submission that the leader waits for.
    leader: Mutex<Option<u64>>,
    moved: Condvar,
}

/// Tells of a submission's end when dropped, run or not: wgpu lets go of it only then, or when the device is gone.
#[derive(Debug)]
pub(crate) struct ToldAtEnd {
    progress: Weak<Progress>,
    serial: u64,
}

impl Drop for ToldAtEnd {
    fn drop(&mut self) {
        if let Some(progress) = self.progress.upgrade() {
            progress.done.fetch_max(self.serial, Ordering::AcqRel);
        }
    }
}

impl Progress {
    /// Nothing done yet.
    pub(crate) fn new(device: wgpu::Device, monitor: Arc<Monitor>) -> Arc<Self> {
        let (leader, moved) = (Mutex::new(None), Condvar::new());
        Arc::new(Self { device, monitor, done: AtomicU64::new(0), leader, moved })
    }

    /// The last submission known to be done.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// For the callback of submission `serial`.
    pub(crate) fn told_at_end(self: &Arc<Self>, serial: u64) -> ToldAtEnd {
        ToldAtEnd { progress: Arc::downgrade(self), serial }
    }

    /// Let wgpu run its callbacks without waiting, and free what finished work held. Left to the leader if there is one.
    pub(crate) fn poll(&self) {
        if self.leader.lock().is_none() {
            self.poll_as(wgpu::PollType::Poll);
        }
    }

    /// Wait for submission `serial`, or for something that another waiter cares about, but not longer than `slice`.
    fn wait(&self, serial: u64, index: &wgpu::SubmissionIndex, slice: Duration) {
        let mut leader = self.leader.lock();
        // A leader that waits for earlier work comes back soon. One that waits for later work is no help.
        if leader.is_some_and(|target| target <= serial) {
            drop(self.moved.wait_timeout(leader, slice));
            return;
        }
        let leads = leader.is_none();
        if leads {
            *leader = Some(serial);
        }
        drop(leader);
        if self.poll_as(wgpu::PollType::Wait { submission_index: Some(index.clone()), timeout: Some(slice) }) {
            self.done.fetch_max(serial, Ordering::AcqRel);
        }
        if leads {
            *self.leader.lock() = None;
        }
        self.moved.notify_all();
    }

    /// True when what was to be waited for is done.
    fn poll_as(&self, poll: wgpu::PollType) -> bool {
        let polled = catch_unwind(AssertUnwindSafe(|| self.device.poll(poll)));
        // wgpu also panics when the driver reports the loss to a wait; it has called the lost callback by then. A poll that
        // does not wait tells a loss from two waits that met.
        if polled.is_err() && catch_unwind(AssertUnwindSafe(|| drop(self.device.poll(wgpu::PollType::Poll)))).is_err() {
            self.monitor.lose("the driver reported the loss of the device to a wait");
        }
        // A submission that wgpu numbered and did not take: the device was destroyed under us, by the application that it is
        // shared with. The lost callback may never come then, and a wait would go round without end.
        if matches!(polled, Ok(Err(wgpu::PollError::WrongSubmissionIndex(..)))) {
            self.monitor.lose("the device takes no submissions any more");
        }
        matches!(polled, Ok(Ok(wgpu::PollStatus::WaitSucceeded | wgpu::PollStatus::QueueEmpty)))
    }
}

/// Whether a staging buffer's bytes have reached the host.
#[derive(Debug, Default)]
pub(crate) struct Mapped(AtomicU8);

impl Mapped {
    /// Note how mapping went. The first note counts.
    pub(crate) fn note(&self, ok: bool) {
        // Only the first exchange finds 0, so a failure stays one.
        let _ = self.0.compare_exchange(0, if ok { 1 } else { 2 }, Ordering::AcqRel, Ordering::Acquire);
    }

    /// `None` until it is known.
    pub(crate) fn outcome(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            1 => Some(true),
            _ => Some(false),
        }
    }
}

/// Tells of a mapping's end, also when it is dropped unrun: then the bytes may be there, and reading them finds out.
#[derive(Debug)]
pub(crate) struct MappedAtEnd(Arc<Mapped>);

impl MappedAtEnd {
    /// For the callback of a mapping.
    pub(crate) fn new(mapped: &Arc<Mapped>) -> Self {
        Self(mapped.clone())
    }

    /// Note how mapping went.
    pub(crate) fn note(self, ok: bool) {
        self.0.note(ok);
    }
}

impl Drop for MappedAtEnd {
    fn drop(&mut self) {
        self.0.note(true);
    }
}

/// How long to wait in wgpu at once, with `left` until the deadline.
fn slice(left: Option<Duration>) -> Duration {
    left.map_or(SLICE, |left| left.clamp(SLICE_MIN, SLICE))
}

/// Passed when a submission is done, and its bytes are mapped if it has any to read.
#[derive(Debug)]
pub(crate) struct SubmitFence {
    pub(crate) progress: Arc<Progress>,
    pub(crate) serial: u64,
    pub(crate) index: wgpu::SubmissionIndex,
    pub(crate) mapped: Option<Arc<Mapped>>,
}

impl SubmitFence {
    fn passed_now(&self) -> bool {
        match &self.mapped {
            Some(mapped) => mapped.outcome().is_some(),
            None => self.progress.done() >= self.serial,
        }
    }
}

impl Fence for SubmitFence {
    fn wait(&self, clock: &Clock, deadline: Deadline) -> Result<bool> {
        loop {
            self.progress.monitor.check()?;
            if self.passed_now() {
                return Ok(true);
            }
            if clock.is_past(deadline) {
                return Ok(false);
            }
            self.progress.wait(self.serial, &self.index, slice(clock.remaining(deadline)));
            if self.progress.done() >= self.serial && !self.passed_now() {
                // Another thread took the mapping's callback out of wgpu and is about to run it.
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }

    fn is_passed(&self) -> Result<bool> {
        self.progress.monitor.check()?;
        if !self.passed_now() {
            self.progress.poll();
        }
        self.progress.monitor.check()?;
        Ok(self.passed_now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_never_so_short_that_a_wait_spins() {
        let clock = Clock::manual();
        let deadline = clock.deadline_in(Duration::from_nanos(1));
        assert_eq!(slice(clock.remaining(deadline)), SLICE_MIN);
        assert_eq!(slice(Some(Duration::from_millis(7))), Duration::from_millis(7));
        assert_eq!([slice(Some(Duration::from_secs(9))), slice(None)], [SLICE; 2]);
    }
}
