//! What the close's thread does. Whatever it does not finish is leaked with the lease, never dropped: a device with unknown
//! outstanding work must not meet a second owner (B-149, B-152).

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::progress::{Exiting, Progress};
use crate::lifecycle::journal::ConstructionResourceJournal;
use crate::lifecycle::resource::{ResourceCore, ResourceGeneration};
use crate::sync::{Arc, thread};

/// The longest that one step of a drain waits. What is blocked for 250 ms has overrun one, and counts as late (B-150).
const CLEANUP_SLICE: Duration = Duration::from_millis(100);
/// How long the cleanup sleeps while somebody else has what it is to release.
const SHARED_SLICE: Duration = Duration::from_millis(5);

/// Why the cleanup ended before its end.
enum Stop {
    Exiting,
    Failed(String),
}

impl From<Exiting> for Stop {
    fn from(_: Exiting) -> Self {
        Self::Exiting
    }
}

/// Wait for the close, clean up, and publish each scope as soon as it is quiescent.
pub(super) fn run(core: &ResourceCore, progress: &Progress) {
    progress.adopt_thread();
    progress.lifecycle.wait_closing(None);
    let span = tracing::info_span!("close", resource_core = core.identity());
    let _entered = span.enter();
    tracing::info!("a backend is closing");
    match catch_unwind(AssertUnwindSafe(|| clean(core, progress))) {
        Ok(Ok(())) => progress.publish_gpu_quiescent(),
        Ok(Err(Stop::Exiting)) => return,
        Ok(Err(Stop::Failed(cause))) => progress.publish_failed_closed(cause),
        Err(panic) => progress.publish_failed_closed(format!("it panicked: {}", panic_text(&*panic))),
    }
    progress.lifecycle.wait_observation_idle(None);
    progress.publish_observation_quiescent();
    tracing::info!("a backend is closed");
}

/// Take everything device-side apart, the lease last. What is held in a [`ManuallyDrop`] leaks where this ends early, also by
/// a panic.
fn clean(core: &ResourceCore, progress: &Progress) -> Result<(), Stop> {
    let generation = ManuallyDrop::new(core.take_generation());
    progress.lifecycle.wait_gpu_idle(None);
    let Some(generation) = ManuallyDrop::into_inner(generation) else { return Ok(()) };
    // No permit holds it any more, but a builder may: what it still installs is not drained behind its back.
    let ResourceGeneration { service, journal, lease, .. } = ManuallyDrop::into_inner(sole(progress, generation)?);
    let (journal, lease) = (ManuallyDrop::new(journal), ManuallyDrop::new(lease));
    let service = release_service(progress, ManuallyDrop::new(service.into_inner()))?;
    drain(progress, &journal)?;
    if let Some(service) = ManuallyDrop::into_inner(service) {
        let service = sole(progress, service)?;
        release(progress, service)?;
    }
    let step = progress.begin_step()?;
    journal.release();
    drop(step);
    drop(ManuallyDrop::into_inner(journal));
    drop(ManuallyDrop::into_inner(lease));
    Ok(())
}

/// Drop the service if nobody else has it. One that a job of the journal's pools has is for after their drain.
fn release_service<T>(
    progress: &Progress,
    mut service: ManuallyDrop<Option<Arc<T>>>,
) -> Result<ManuallyDrop<Option<Arc<T>>>, Stop> {
    let _step = progress.begin_step()?;
    *service = service.take().and_then(|service| Arc::try_unwrap(service).err());
    Ok(service)
}

/// Drain the journal, in slices, between which an exit can stop it. A phase that overran one and then succeeded is counted.
fn drain(progress: &Progress, journal: &ConstructionResourceJournal) -> Result<(), Stop> {
    let mut late = false;
    loop {
        let step = progress.begin_step()?;
        let deadline = Instant::now() + CLEANUP_SLICE;
        let drained = journal.close_and_drain_until(deadline);
        drop(step);
        match drained {
            Ok(()) => break,
            Err(error) if error.is_cleanup_deadline_elapsed() => late = true,
            Err(error) => return Err(Stop::Failed(error.to_string())),
        }
        // One that gives up before its slice is over is not asked again at once.
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
    }
    if late {
        progress.count_late_success();
    }
    Ok(())
}

/// The value itself, once nobody else has it, so that its destructor runs here and is over when this thread goes on.
fn sole<T>(progress: &Progress, shared: Arc<T>) -> Result<ManuallyDrop<T>, Stop> {
    let mut held = ManuallyDrop::new(shared);
    loop {
        match Arc::try_unwrap(ManuallyDrop::into_inner(held)) {
            Ok(value) => return Ok(ManuallyDrop::new(value)),
            Err(shared) => held = ManuallyDrop::new(shared),
        }
        drop(progress.begin_step()?);
        thread::sleep(SHARED_SLICE);
    }
}

fn release<T>(progress: &Progress, held: ManuallyDrop<T>) -> Result<(), Stop> {
    let _step = progress.begin_step()?;
    drop(ManuallyDrop::into_inner(held));
    Ok(())
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a value that is no text".to_owned())
}
