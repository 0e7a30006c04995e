//! Closing a backend: one object to signal and wait on, and one thread that owns the cleanup, also of a construction that
//! failed (B-145 to B-160).

mod cleanup;
mod future;
mod progress;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::{Duration, Instant};

pub use progress::GpuBackendCloseSnapshot;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::reentrancy::refuse_reentrant_close;
use crate::lifecycle::resource::ResourceCore;
use crate::process::{self, AtExit};
use crate::sync::atomic::AtomicBool;
use crate::sync::{Arc, Mutex, Weak, thread};

use future::CloseWait;
use progress::{Progress, Settled};

/// The close of one backend. A clone is the same close.
#[derive(Clone)]
pub(crate) struct CloseCoordinator(Arc<Handle>);

struct Handle {
    progress: Arc<Progress>,
    /// The cleanup's thread until a waiter has joined it.
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl CloseCoordinator {
    /// Start the cleanup's thread, which sleeps until the close.
    ///
    /// # Errors
    ///
    /// `close_coordinator_spawn_failed`.
    pub(crate) fn spawn(core: Arc<ResourceCore>, lifecycle: BackendLifecycle) -> QueryResult<Self> {
        let progress = Arc::new(Progress::new(lifecycle));
        let thread = thread::Builder::new().name("graphreel-close".to_owned()).spawn({
            let progress = progress.clone();
            move || cleanup::run(&core, &progress)
        });
        let thread = Mutex::new(Some(thread.map_err(|error| spawn_failed(&error))?));
        Ok(Self(Arc::new(Handle { progress, thread })))
    }

    /// Close: set the bit, wake the cleanup, return at once. True for the one call that set the bit (B-145). It may be
    /// called from any thread, destructor and observer.
    pub(crate) fn signal(&self) -> bool {
        self.0.progress.lifecycle.close()
    }

    /// How far the close is. It never blocks (B-159).
    pub(crate) fn snapshot(&self) -> GpuBackendCloseSnapshot {
        self.0.progress.snapshot()
    }

    /// Close, and wait until both scopes are quiescent or `deadline` comes; one that has come still closes (B-151, B-155).
    ///
    /// # Errors
    ///
    /// `reentrant_observation_close` inside an observation callback, and then nothing is closed; `cleanup_failed_closed`;
    /// `backend_close_timeout`, after which the cleanup goes on.
    pub(crate) fn wait_until(&self, deadline: Instant) -> QueryResult<GpuBackendCloseSnapshot> {
        refuse_reentrant_close()?;
        self.wait_unguarded(deadline, &AtomicBool::new(false))
    }

    /// As [`Self::wait_until`], from now. A `timeout` too long for a deadline is none at all: it closes and answers at
    /// once, and never waits without a bound (B-154).
    ///
    /// # Errors
    ///
    /// Those of [`Self::wait_until`].
    pub(crate) fn wait(&self, timeout: Duration) -> QueryResult<GpuBackendCloseSnapshot> {
        self.wait_until(deadline_in(timeout))
    }

    /// As [`Self::wait`], without blocking the thread that polls, on any executor (B-156, B-157). Nothing happens before
    /// the first poll. It checks for an observation callback on that poll, then closes and starts the timeout. Dropped
    /// later, the close goes on.
    ///
    /// # Errors
    ///
    /// Those of [`Self::wait_until`]; `close_wait_task_failed` with `join_error`.
    pub(crate) fn wait_async(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = QueryResult<GpuBackendCloseSnapshot>> + Send + use<> {
        CloseWait::new(self.clone(), timeout)
    }

    /// Close after a failed construction, wait for at most `slice`, and say how far it came: `quiescent`, `transferred` to
    /// the cleanup's thread, or `failed_closed` (B-67). It is for the builder alone, so it asks for no observation callback.
    pub(crate) fn rollback_slice(&self, slice: Duration) -> &'static str {
        match self.wait_unguarded(deadline_in(slice), &AtomicBool::new(false)) {
            Ok(_) => "quiescent",
            Err(_) if self.snapshot().cleanup_failed_closed => "failed_closed",
            Err(_) => "transferred",
        }
    }

    /// What keeps the cleanup's thread from taking any further step once the process exits: what is left of the backend
    /// leaks on purpose (B-189). The handler of the exit asks it until no step runs. It keeps nothing alive, and reaches the
    /// cleanup also when every coordinator is gone (B-191).
    pub(crate) fn exit_hook(&self) -> Weak<dyn AtExit> {
        process::weak_hook(&self.0.progress)
    }

    /// Wait outside of the check for observation callbacks; also until `given_up` is set and the progress notified.
    fn wait_unguarded(&self, deadline: Instant, given_up: &AtomicBool) -> QueryResult<GpuBackendCloseSnapshot> {
        self.signal();
        // The cleanup's own thread would wait for itself, and one of a process that ends for nobody.
        let hopeless = self.0.progress.is_own_thread() || process::is_ending();
        match if hopeless { self.0.progress.settled() } else { self.0.progress.wait(deadline, given_up) } {
            Settled::Quiescent => {
                self.0.reclaim();
                Ok(self.snapshot())
            }
            Settled::FailedClosed => Err(failed_closed(self.0.progress.cause())),
            Settled::Not => Err(timed_out(self.snapshot())),
        }
    }
}

impl Handle {
    /// Join the thread, once, and never from itself (B-158). It has published everything, so it is at its end.
    fn reclaim(&self) {
        if self.progress.is_own_thread() || process::is_ending() {
            return;
        }
        let thread = self.thread.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of a close panicked after its end");
        }
    }
}

impl Drop for Handle {
    /// Whoever could still close is gone, so this closes: no thread waits for a signal that cannot come.
    fn drop(&mut self) {
        self.progress.lifecycle.close();
    }
}

fn deadline_in(timeout: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(timeout).unwrap_or(now)
}

fn spawn_failed(error: &std::io::Error) -> QueryError {
    let message = format!("no thread for the close of the backend ({error}); free threads of the process, build again");
    let error = QueryError::new(QueryErrorCode::Internal, operation::BUILD, message);
    error.with_reason("close_coordinator_spawn_failed")
}

fn failed_closed(cause: &str) -> QueryError {
    let message = "the cleanup failed, and its devices stay claimed; restart the process";
    let error = QueryError::new(QueryErrorCode::Internal, operation::CLOSE, message);
    error.with_reason("cleanup_failed_closed").with_fact("cause", cause)
}

/// The facts of B-153.
fn timed_out(now: GpuBackendCloseSnapshot) -> QueryError {
    let message = "the backend was not closed in time; the cleanup goes on, wait again";
    let error = QueryError::new(QueryErrorCode::ServiceOverloaded, operation::CLOSE, message);
    error
        .with_reason("backend_close_timeout")
        .with_fact("gpu_resource_quiescent", now.gpu_resource_quiescent)
        .with_fact("observation_quiescent", now.observation_quiescent)
        .with_fact("active_gpu_permits", now.active_gpu_permits)
        .with_fact("active_observation_permits", now.active_observation_permits)
        .with_fact("cleanup_late_success_count", now.cleanup_late_success_count)
}

impl fmt::Debug for CloseCoordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CloseCoordinator").field(&self.snapshot()).finish()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}
