//! Submissions to the one queue, numbered in order, and how many of them are in flight.

use std::collections::VecDeque;

use graphreel::error::Result;
use graphreel::sync::Arc;
use graphreel::ticket::Fence;

use crate::fence::{Mapped, Progress, SubmitFence};
use crate::gpu::Gpu;

/// The queue's submissions. The first has number 1.
#[derive(Debug)]
pub(crate) struct Submits {
    progress: Arc<Progress>,
    last: u64,
    flying: VecDeque<(u64, wgpu::SubmissionIndex)>,
    flying_max: u64,
}

impl Submits {
    /// Nothing submitted; more than `flying_max` in flight is too much.
    pub(crate) fn new(gpu: &Gpu, flying_max: usize) -> Self {
        let progress = Progress::new(gpu.device.clone(), gpu.monitor.clone());
        Self { progress, last: 0, flying: VecDeque::new(), flying_max: flying_max.max(1) as u64 }
    }

    /// Submissions so far.
    pub(crate) const fn count(&self) -> u64 {
        self.last
    }

    /// Submit `commands`, and host writes queued before them.
    ///
    /// # Errors
    ///
    /// `DeviceFault` with what wgpu says of `origin`, or the device's loss.
    pub(crate) fn submit(
        &mut self,
        gpu: &Gpu,
        commands: impl IntoIterator<Item = wgpu::CommandBuffer>,
        origin: &str,
    ) -> Result<()> {
        gpu.monitor.check()?;
        let index =
            gpu.scoped(|| gpu.queue.submit(commands)).map_err(|caught| caught.into_fault(&gpu.monitor, origin))?;
        gpu.monitor.check()?;
        self.last += 1;
        let told = self.progress.told_at_end(self.last);
        gpu.queue.on_submitted_work_done(move || drop(told));
        let done = self.progress.done();
        // The last one stays: a fence on it is made from its index.
        while self.flying.front().is_some_and(|(serial, _)| *serial <= done) {
            self.flying.pop_front();
        }
        self.flying.push_back((self.last, index));
        Ok(())
    }

    /// A fence on all that is submitted, and on `mapped` if bytes are to be read; `None` when nothing ever was.
    pub(crate) fn fence(&self, mapped: Option<Arc<Mapped>>) -> Option<Arc<dyn Fence>> {
        let (serial, index) = self.flying.back()?;
        Some(self.fence_on(*serial, index.clone(), mapped))
    }

    /// The submission to wait for before more is queued, when too many are in flight.
    pub(crate) fn pressure(&self) -> Option<Arc<dyn Fence>> {
        if self.last - self.progress.done().min(self.last) <= self.flying_max {
            return None;
        }
        self.progress.poll();
        let (target, done) = (self.last - self.flying_max, self.progress.done());
        let (serial, index) = self.flying.iter().find(|(serial, _)| *serial >= target && *serial > done)?;
        (done < target).then(|| self.fence_on(*serial, index.clone(), None))
    }

    /// The first submission that is not known to be done.
    pub(crate) fn oldest(&self) -> Option<Arc<dyn Fence>> {
        let done = self.progress.done();
        let (serial, index) = self.flying.iter().find(|(serial, _)| *serial > done)?;
        Some(self.fence_on(*serial, index.clone(), None))
    }

    /// Whether a submission is not known to be done. Asks nobody.
    pub(crate) fn may_run(&self) -> bool {
        self.progress.done() < self.last
    }

    /// Let wgpu run callbacks and free what finished work held.
    pub(crate) fn poll(&self) {
        self.progress.poll();
    }

    fn fence_on(&self, serial: u64, index: wgpu::SubmissionIndex, mapped: Option<Arc<Mapped>>) -> Arc<dyn Fence> {
        Arc::new(SubmitFence { progress: self.progress.clone(), serial, index, mapped })
    }
}
