//! Waits for submissions, outside the device's lock, in slices short enough to see a loss or a deadline.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use graphreel::clock::{Clock, Deadline};
use graphreel::device::Monitor;
use graphreel::error::Result;
use graphreel::sync::Arc;
use graphreel::ticket::Fence;

/// The longest that one wait in wgpu lasts: a loss elsewhere is seen after at most this.
const SLICE: Duration = Duration::from_millis(100);

/// How far the device has come, as its callbacks tell.
#[derive(Debug)]
pub(crate) struct Progress {
    device: wgpu::Device,
    monitor: Arc<Monitor>,
    done: AtomicU64,
}

impl Progress {
    /// Nothing done yet.
    pub(crate) fn new(device: wgpu::Device, monitor: Arc<Monitor>) -> Arc<Self> {
        Arc::new(Self { device, monitor, done: AtomicU64::new(0) })
    }

    /// The last submission known to be done.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Note that submission `serial`, and so each before it, is done.
    pub(crate) fn note(&self, serial: u64) {
        self.done.fetch_max(serial, Ordering::AcqRel);
    }

    /// Let wgpu run its callbacks without waiting, and free what finished work held.
    pub(crate) fn poll(&self) {
        self.poll_as(wgpu::PollType::Poll);
    }

    /// True when what was waited for is done.
    fn poll_as(&self, poll: wgpu::PollType) -> bool {
        // wgpu panics when the driver reports the loss to a wait. By then it has called the lost callback and holds no
        // lock, so the panic says nothing that the monitor does not.
        match catch_unwind(AssertUnwindSafe(|| self.device.poll(poll))) {
            Ok(Ok(status)) => !matches!(status, wgpu::PollStatus::Poll),
            Ok(Err(_)) => false,
            Err(_) => {
                self.monitor.lose("the driver reported the loss of the device to a wait");
                false
            }
        }
    }
}

/// Whether a staging buffer's bytes have reached the host.
#[derive(Debug, Default)]
pub(crate) struct Mapped(AtomicU8);

impl Mapped {
    /// Note how mapping went.
    pub(crate) fn note(&self, ok: bool) {
        self.0.store(if ok { 1 } else { 2 }, Ordering::Release);
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
            let slice = clock.remaining(deadline).map_or(SLICE, |left| left.min(SLICE));
            let wait = wgpu::PollType::Wait { submission_index: Some(self.index.clone()), timeout: Some(slice) };
            if self.progress.poll_as(wait) {
                self.progress.note(self.serial);
                if !self.passed_now() {
                    // Another thread took the mapping's callback out of wgpu and is about to run it.
                    std::thread::sleep(Duration::from_micros(50));
                }
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
