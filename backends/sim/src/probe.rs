//! A test's view of a simulator: what it did, what is alive, what was misused; and the levers on its faults and its work.

use std::fmt;
use std::time::Duration;

use graphreel::graph::driver::DevicePtr;
use graphreel::sync::Arc;

use crate::bytes;
use crate::failure::{Answer, Misuse};
use crate::fault::{Armed, FaultPlan};
use crate::instance::{Instance, Step};
use crate::interp::Finding;
use crate::options::Completion;
use crate::state::Live;

/// Looks into one simulator, from any thread, for as long as one likes.
#[derive(Clone)]
pub struct Probe(Arc<Instance>);

/// What the sanitizer found in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFinding {
    /// The kernel's entry point.
    pub kernel: String,
    /// What it did.
    pub finding: Finding,
}

/// A simulator that was not used, or not left, as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("alive: {live}; misuse: {}", listed(misuse))]
pub struct Unclean {
    /// What is alive.
    pub live: Live,
    /// What was misused.
    pub misuse: Vec<Misuse>,
}

fn listed(misuse: &[Misuse]) -> String {
    if misuse.is_empty() {
        return "none".to_owned();
    }
    misuse.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Probe").field(&self.0.id).finish()
    }
}

impl Probe {
    pub(crate) fn new(instance: &Arc<Instance>) -> Self {
        Self(Arc::clone(instance))
    }

    /// The calls in order, with what they were given and made. Calls that bracket others are left out.
    pub fn trace(&self) -> Vec<String> {
        self.0.state.lock().trace.calls.clone()
    }

    /// The names of the calls in order, those that bracket others included, as many as the trace keeps lines.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.state.lock().trace.names.clone()
    }

    /// The commands in the order in which they ran.
    pub fn ran(&self) -> Vec<String> {
        self.0.state.lock().trace.ran.clone()
    }

    /// Every misuse, the first thousand in full.
    pub fn misuse(&self) -> Vec<Misuse> {
        self.0.state.lock().misuse.clone()
    }

    /// How often it was misused.
    pub fn misuse_count(&self) -> u64 {
        self.0.state.lock().misuse_count
    }

    /// What is alive.
    pub fn live(&self) -> Live {
        self.0.state.lock().live()
    }

    /// Handles that were dropped without being destroyed: their objects stay alive for good.
    pub fn leaked(&self) -> u64 {
        self.0.leaks.load(graphreel::sync::atomic::Ordering::Relaxed)
    }

    /// Driver calls made so far, those left out of the trace included.
    pub fn calls(&self) -> u64 {
        self.0.state.lock().calls
    }

    /// Commands that are enqueued and not done.
    pub fn pending(&self) -> usize {
        self.0.state.lock().pending()
    }

    /// Bytes of device memory as they are now; `None` where the range is in no allocation.
    pub fn peek(&self, address: DevicePtr, len: usize) -> Option<Vec<u8>> {
        let (memory, start) = self.0.state.lock().space.view(address.0.get(), len as u64)?;
        let mut found = vec![0; len];
        bytes::read(&memory, start, &mut found);
        Some(found)
    }

    /// What the sanitizer found, each once.
    pub fn findings(&self) -> Vec<KernelFinding> {
        self.0.state.lock().findings.clone()
    }

    /// Device time: since it was opened under [`Completion::Prompt`], else as far as any stream has come.
    pub fn now(&self) -> Duration {
        let state = self.0.state.lock();
        Duration::from_nanos(state.clock(state.latest))
    }

    /// Replace the fault plan. Calls and commands are counted from here on.
    pub fn arm(&self, plan: FaultPlan) {
        self.0.state.lock().faults = Armed::new(plan);
    }

    /// Lose the device, now.
    pub fn lose(&self, reason: &str) {
        let mut state = self.0.state.lock();
        state.break_context(Answer::lost(reason));
        self.0.unlock(state);
    }

    /// Let commands that hang go on.
    pub fn release_hangs(&self) {
        let mut state = self.0.state.lock();
        state.release_hangs();
        self.0.unlock(state);
    }

    /// Run one command; false where none can run. Nothing under [`Completion::Prompt`], whose work runs by itself.
    pub fn run_one(&self) -> bool {
        if self.0.settings.completion == Completion::Prompt {
            return false;
        }
        loop {
            match self.0.step() {
                Step::Ran => return true,
                Step::Held => {}
                Step::Nothing => return false,
            }
        }
    }

    /// Run, or wait for, all that can run. What hangs, or waits for what hangs, stays.
    pub fn run_all(&self) {
        self.0.run_all();
    }

    /// Whether the simulator was used and left as it should be: what a test asks last.
    ///
    /// # Errors
    ///
    /// [`Unclean`] with each misuse and what is alive.
    pub fn check(&self) -> Result<(), Unclean> {
        let state = self.0.state.lock();
        let (live, misuse) = (state.live(), state.misuse.clone());
        if live.total() == 0 && misuse.is_empty() { Ok(()) } else { Err(Unclean { live, misuse }) }
    }
}
