//! One simulated device: its state behind a lock, what may be read without it, and the steps that run its work.

use graphreel::sync::atomic::{AtomicU64, Ordering};
use graphreel::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::handle::Leaks;
use crate::image::Programs;
use crate::options::{Completion, SimOptions};
use crate::perform::perform;
use crate::schedule::Picked;
use crate::state::State;

/// Numbers the devices of a process, so that a handle tells which one it is of.
static INSTANCES: AtomicU64 = AtomicU64::new(1);

/// A device, shared by its driver, its probes and its worker.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: u64,
    pub(crate) settings: Settings,
    pub(crate) state: Mutex<State>,
    /// The state's epoch, for looks without the lock.
    pub(crate) epoch: Arc<AtomicU64>,
    /// There is work for the worker.
    pub(crate) work: Condvar,
    /// The worker found nothing to run.
    pub(crate) idle: Condvar,
    pub(crate) programs: Arc<Programs>,
    pub(crate) leaks: Leaks,
}

/// Options that are read without the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) completion: Completion,
    pub(crate) subgroup_size: u32,
    pub(crate) threads: usize,
    pub(crate) steps_max: u64,
    pub(crate) sanitize: bool,
}

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Ran,
    /// Something will run after more turns.
    Held,
    Nothing,
}

impl Instance {
    pub(crate) fn new(options: SimOptions) -> Self {
        let id = INSTANCES.fetch_add(1, Ordering::Relaxed);
        let settings = Settings {
            completion: options.completion,
            subgroup_size: options.subgroup_size,
            threads: options.threads.max(1),
            steps_max: options.steps_max,
            sanitize: options.sanitize,
        };
        let epoch = Arc::new(AtomicU64::new(0));
        Self {
            id,
            settings,
            state: Mutex::new(State::new(id, options, Arc::clone(&epoch))),
            epoch,
            work: Condvar::new(),
            idle: Condvar::new(),
            programs: Arc::default(),
            leaks: Leaks::default(),
        }
    }

    /// Release the lock, and wake the worker where it sleeps and has something to do.
    pub(crate) fn unlock(&self, mut state: MutexGuard<'_, State>) {
        let wake = std::mem::take(&mut state.wake) && std::mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    /// Run one command on the calling thread.
    pub(crate) fn step(&self) -> Step {
        let mut state = self.state.lock();
        match state.pick() {
            Picked::Job(job) => {
                drop(state);
                let outcome = perform(self, &job);
                self.state.lock().complete(&job, outcome);
                Step::Ran
            }
            Picked::Stepped => Step::Ran,
            Picked::Held(_) => Step::Held,
            Picked::Nothing => Step::Nothing,
        }
    }

    /// Run a number of commands that the seed chooses: often few or none, at times many, so that a caller who polls meets
    /// every stage and still comes to the end.
    pub(crate) fn steps_of_seed(&self) {
        let power = self.state.lock().rng.u32(0..=8);
        for _ in 0..(1 << power) - 1 {
            if self.step() == Step::Nothing {
                break;
            }
        }
    }

    /// Run all that can run; what hangs stays.
    pub(crate) fn run_all(&self) {
        if self.settings.completion != Completion::Prompt {
            while self.step() != Step::Nothing {}
        }
        let mut state = self.state.lock();
        while self.settings.completion == Completion::Prompt && !state.asleep && !state.stopped {
            state = self.idle.wait(state);
        }
        if state.active.is_empty() {
            state.host_saw_all();
        }
    }
}
