//! How far a close is: facts that only ever become true, in one word that its waiters sleep on, so that a look at it never
//! blocks (B-159).

use std::panic::catch_unwind;
use std::time::Instant;

use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::watched::WatchedWord;
use crate::process::{self, AtExit};
use crate::sync::OnceLock;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::thread;

const GPU_QUIESCENT: u64 = 1;
const OBSERVATION_QUIESCENT: u64 = 1 << 1;
const BOTH_QUIESCENT: u64 = GPU_QUIESCENT | OBSERVATION_QUIESCENT;
const FAILED_CLOSED: u64 = 1 << 2;
/// The process ends: no step begins any more.
const DETACHED: u64 = 1 << 3;
/// A step of the cleanup runs; the one bit that is cleared again.
const STEPPING: u64 = 1 << 4;

/// How far the close of a backend is, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuBackendCloseSnapshot {
    /// Whether the backend was told to close.
    pub closing: bool,
    /// Whether every device-side thing is gone and the devices can be claimed again.
    pub gpu_resource_quiescent: bool,
    /// Whether every attempt that began has reported, and every observer has run.
    pub observation_quiescent: bool,
    /// Phases of the cleanup that overran a slice of time and then succeeded.
    pub cleanup_late_success_count: u64,
    /// GPU permits that are held.
    pub active_gpu_permits: u64,
    /// Observation permits that are held.
    pub active_observation_permits: u64,
    /// Whether the cleanup failed, so that the devices stay claimed for the rest of the process.
    pub cleanup_failed_closed: bool,
}

#[derive(Debug)]
pub(super) struct Progress {
    pub(super) lifecycle: BackendLifecycle,
    word: WatchedWord,
    late: AtomicU64,
    cause: OnceLock<String>,
    thread: OnceLock<thread::ThreadId>,
}

/// What a wait came to.
pub(super) enum Settled {
    Quiescent,
    FailedClosed,
    Not,
}

/// While it lives, the cleanup does something that an exit has to wait for.
pub(super) struct Step<'a>(&'a Progress);

/// The process ends, so the cleanup takes no further step.
#[derive(Debug)]
pub(super) struct Exiting;

impl Settled {
    fn of(word: u64) -> Self {
        match word {
            word if word & FAILED_CLOSED != 0 => Self::FailedClosed,
            word if word & BOTH_QUIESCENT == BOTH_QUIESCENT => Self::Quiescent,
            _ => Self::Not,
        }
    }
}

impl Progress {
    pub(super) fn new(lifecycle: BackendLifecycle) -> Self {
        let (word, late) = (WatchedWord::new(0), AtomicU64::new(0));
        Self { lifecycle, word, late, cause: OnceLock::new(), thread: OnceLock::new() }
    }

    pub(super) fn snapshot(&self) -> GpuBackendCloseSnapshot {
        // The word first: what it says was preceded by the close bit, by its late phases and by its permits' return.
        let word = self.word.get();
        let gate = self.lifecycle.snapshot();
        GpuBackendCloseSnapshot {
            closing: gate.closing,
            gpu_resource_quiescent: word & GPU_QUIESCENT != 0,
            observation_quiescent: word & OBSERVATION_QUIESCENT != 0,
            cleanup_late_success_count: self.late.load(Ordering::Acquire),
            active_gpu_permits: gate.active_gpu_permits,
            active_observation_permits: gate.active_observation_permits,
            cleanup_failed_closed: word & FAILED_CLOSED != 0,
        }
    }

    /// What a wait would come to now.
    pub(super) fn settled(&self) -> Settled {
        Settled::of(self.word.get())
    }

    /// Wait until both scopes are quiescent or the cleanup failed. It ends early where neither can come: when the process
    /// ends, or `given_up` was set before a notice.
    pub(super) fn wait(&self, deadline: Instant, given_up: &AtomicBool) -> Settled {
        let over = |word| !matches!(Settled::of(word), Settled::Not) || word & DETACHED != 0;
        let wait = self.word.wait(Some(deadline), |word| over(word) || given_up.load(Ordering::Acquire));
        Settled::of(wait.unwrap_or_else(|word| word))
    }

    /// Let those who wait look whether they have given up.
    pub(super) fn notify(&self) {
        self.word.notify();
    }

    pub(super) fn publish_gpu_quiescent(&self) {
        self.publish(GPU_QUIESCENT);
    }

    pub(super) fn publish_observation_quiescent(&self) {
        self.publish(OBSERVATION_QUIESCENT);
    }

    pub(super) fn publish_failed_closed(&self, cause: String) {
        let _ = self.cause.set(cause);
        self.publish(FAILED_CLOSED);
        let cause = self.cause();
        // The subscriber is the caller's own code, and this thread has more to publish.
        let _ = catch_unwind(|| {
            tracing::error!(%cause, "the cleanup of a backend failed; its devices stay claimed until the process ends");
        });
    }

    fn publish(&self, fact: u64) {
        self.word.set(fact);
        self.word.notify();
    }

    pub(super) fn count_late_success(&self) {
        self.late.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn cause(&self) -> &str {
        self.cause.get().map_or("unknown", String::as_str)
    }

    /// Say that this thread is the cleanup's.
    pub(super) fn adopt_thread(&self) {
        let _ = self.thread.set(thread::current().id());
    }

    pub(super) fn is_own_thread(&self) -> bool {
        self.thread.get().is_some_and(|own| *own == thread::current().id())
    }

    /// Begin a step of the cleanup, unless the process ends. Either an exit sees the step, or the step sees the exit.
    pub(super) fn begin_step(&self) -> Result<Step<'_>, Exiting> {
        if process::is_ending() {
            return Err(Exiting);
        }
        let begun = self.word.update(|word| (word & DETACHED == 0).then_some(word | STEPPING));
        begun.map(|_| Step(self)).map_err(|_| Exiting)
    }
}

impl AtExit for Progress {
    /// An exit that was called in a step of the cleanup does not wait for that step.
    fn stand_still(&self) -> bool {
        let before = self.word.set(DETACHED);
        if before & DETACHED == 0 {
            self.word.notify();
        }
        before & STEPPING == 0 || self.is_own_thread()
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        if self.0.word.clear(STEPPING) & DETACHED != 0 {
            self.0.word.notify();
        }
    }
}
