//! The thread that runs work under [`Completion::Prompt`](crate::Completion::Prompt). It ends with its device, on its own time:
//! nobody waits for it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graphreel::sync::Arc;
use graphreel::sync::thread;

use crate::failure::Answer;
use crate::instance::Instance;
use crate::perform::perform;
use crate::schedule::Picked;

/// Looks for new work before the thread sleeps: waking it costs a caller more than these cost.
const LOOKS: u32 = 100;

pub(crate) fn spawn(instance: &Arc<Instance>) -> io::Result<()> {
    let instance = Arc::clone(instance);
    let name = format!("simulator {}", instance.id);
    thread::Builder::new().name(name).spawn(move || guarded(&instance)).map(drop)
}

/// Work; should that panic, the device is lost, so that nobody waits for it for ever.
fn guarded(instance: &Instance) {
    if catch_unwind(AssertUnwindSafe(|| work(instance))).is_err() {
        let mut state = instance.state.lock();
        state.stopped = true;
        state.break_context(Answer::lost("the simulator's own thread panicked"));
        instance.idle.notify_all();
    }
}

fn work(instance: &Instance) {
    let mut state = instance.state.lock();
    let mut looks = 0;
    while !state.stopped {
        match state.pick() {
            Picked::Job(job) => {
                drop(state);
                let outcome = perform(instance, &job);
                state = instance.state.lock();
                state.complete(&job, outcome);
                looks = 0;
            }
            Picked::Stepped => looks = 0,
            Picked::Nothing if looks < LOOKS => {
                drop(state);
                thread::yield_now();
                state = instance.state.lock();
                looks += 1;
            }
            idle => {
                state.asleep = true;
                instance.idle.notify_all();
                state = match idle {
                    Picked::Held(Some(until)) => {
                        let rest = until.saturating_duration_since(std::time::Instant::now());
                        instance.work.wait_timeout(state, rest)
                    }
                    _ => instance.work.wait(state),
                };
                state.asleep = false;
                looks = 0;
            }
        }
    }
}
