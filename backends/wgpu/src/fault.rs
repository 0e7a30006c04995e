//! What wgpu reports beside its return values: scoped errors, uncaptured ones, and the loss of the device.
//!
//! wgpu answers a bad call through an error scope of the calling thread. Everything this crate asks of wgpu runs in one, so
//! that an error is known before the call returns and is laid to the work it came from.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use graphreel::ServerError;
use graphreel::device::Monitor;
use graphreel::error::{MemoryLimit, OutOfMemory};
use graphreel::sync::{Arc, Mutex};

/// Faults kept until they are reported; older ones leave first.
const FAULTS_MAX: usize = 32;

/// Errors that reached no scope: faults of the device, or of work outside this crate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<FaultsInner>);

#[derive(Debug, Default)]
struct FaultsInner {
    waiting: Mutex<VecDeque<Arc<str>>>,
    seen: AtomicU64,
}

impl Faults {
    /// Note a fault that nobody has been told of.
    pub(crate) fn note(&self, reason: &str) {
        tracing::error!(reason, "uncaptured wgpu error");
        self.count();
        let mut waiting = self.0.waiting.lock();
        if waiting.len() == FAULTS_MAX {
            waiting.pop_front();
        }
        waiting.push_back(reason.into());
    }

    /// Count a fault that is reported where it happened.
    pub(crate) fn count(&self) {
        self.0.seen.fetch_add(1, Ordering::Relaxed);
    }

    /// The oldest fault that was not reported yet; each is reported once.
    pub(crate) fn take(&self) -> Option<ServerError> {
        let reason = self.0.waiting.lock().pop_front()?;
        Some(ServerError::DeviceFault { origin: "unattributed".into(), reason })
    }

    /// Faults seen so far.
    pub(crate) fn seen(&self) -> u64 {
        self.0.seen.load(Ordering::Relaxed)
    }
}

/// Make `monitor` follow the device's loss. A wgpu device has one such callback: an earlier one is replaced.
pub(crate) fn watch_loss(device: &wgpu::Device, monitor: &Arc<Monitor>) {
    let monitor = monitor.clone();
    device.set_device_lost_callback(move |reason, message| {
        monitor.lose(&format!("{reason:?}: {message}"));
    });
}

/// Let wgpu run its callbacks without waiting. It may panic over a device that the driver has lost: that stays in here.
pub(crate) fn poll(device: &wgpu::Device) {
    if catch_unwind(AssertUnwindSafe(|| drop(device.poll(wgpu::PollType::Poll)))).is_err() {
        tracing::warn!("wgpu panicked over a poll of the device");
    }
}

/// Keep errors that no scope caught; without this wgpu panics on them.
pub(crate) fn watch_errors(device: &wgpu::Device, faults: &Faults) {
    let faults = faults.clone();
    device.on_uncaptured_error(std::sync::Arc::new(move |error: wgpu::Error| faults.note(&error.to_string())));
}

/// An error that a scope caught.
#[derive(Debug)]
pub(crate) struct Caught {
    /// Whether memory ran out.
    pub(crate) out_of_memory: bool,
    /// wgpu's text.
    pub(crate) text: String,
}

impl Caught {
    /// The fault of work that came from `origin`, or the device's loss.
    pub(crate) fn into_fault(self, monitor: &Monitor, origin: &str) -> ServerError {
        monitor.lost().unwrap_or_else(|| ServerError::DeviceFault { origin: origin.into(), reason: self.text.into() })
    }

    /// As [`Caught::into_fault`], or what `need` bytes could not be had from.
    pub(crate) fn into_memory(self, monitor: &Monitor, origin: &str, need: u64) -> ServerError {
        if !self.out_of_memory {
            return self.into_fault(monitor, origin);
        }
        let refusal = OutOfMemory { refused_by: MemoryLimit::Device, need, have: None, limit: None, held: 0 };
        monitor.lost().unwrap_or(ServerError::OutOfMemory(refusal))
    }
}

/// Run `work` with every error of this thread's wgpu calls caught.
pub(crate) fn scoped<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> Result<T, Caught> {
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let value = work();
    // Natively each scope's answer is there when it is popped.
    let caught = [memory, internal, validation].map(|scope| pollster::block_on(scope.pop()));
    match caught.into_iter().flatten().next() {
        None => Ok(value),
        Some(error) => {
            Err(Caught { out_of_memory: matches!(error, wgpu::Error::OutOfMemory { .. }), text: error.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_reported_once_and_the_queue_is_bounded() {
        let faults = Faults::default();
        for index in 0..FAULTS_MAX + 3 {
            faults.note(&format!("fault {index}"));
        }
        let Some(ServerError::DeviceFault { reason, .. }) = faults.take() else { panic!("a fault is waiting") };
        assert_eq!(&*reason, "fault 3");
        let rest = std::iter::from_fn(|| faults.take()).count();
        assert_eq!((rest, faults.seen()), (FAULTS_MAX - 1, FAULTS_MAX as u64 + 3));
        assert!(faults.take().is_none());
    }
}
