//! The thread that tells waiters of their deadline when it comes, whether or not anything else happens (B-109).

use std::time::{Duration, Instant};

use crate::lifecycle::admission::controller::Hub;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::sync::{Arc, Mutex, thread};

/// How often the timer looks at a clock that is moved by hand, since no wait of a thread ends by that.
const MANUAL_SLICE: Duration = Duration::from_millis(5);

/// The timer of one admission.
#[derive(Debug)]
pub(crate) struct Timer {
    thread: Mutex<Option<thread::JoinHandle<()>>>,
    id: thread::ThreadId,
}

impl Timer {
    pub(crate) fn spawn<P: Send + 'static>(hub: &Arc<Hub<P>>) -> QueryResult<Self> {
        let hub = hub.clone();
        let spawned = thread::Builder::new().name("graphreel-admission-timer".to_owned()).spawn(move || run(&hub));
        let thread = spawned.map_err(|error| {
            let message = format!("the timer of admission could not be started: {error}; allow more threads");
            QueryError::new(QueryErrorCode::Internal, operation::ADMISSION, message)
                .with_reason("admission_timer_spawn_failed")
        })?;
        Ok(Self { id: thread.thread().id(), thread: Mutex::new(Some(thread)) })
    }

    /// Wait until the thread, which was told to end, has ended; at most until `until`.
    pub(crate) fn join<P>(&self, hub: &Hub<P>, until: Instant) -> bool {
        if thread::current().id() == self.id {
            return false;
        }
        let mut state = hub.state.lock();
        while !state.timer_has_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = hub.rearmed.wait_timeout(state, left);
        }
        drop(state);
        // It is past its last lock, so the join is over at once.
        let thread = self.thread.lock().take();
        thread.is_none_or(|thread| thread.join().is_ok())
    }
}

fn run<P: Send + 'static>(hub: &Arc<Hub<P>>) {
    let mut state = hub.state.lock();
    while !state.timer_stops {
        let next = state.next_deadline();
        state = match hub.clock.remaining(next) {
            Some(left) if left.is_zero() => {
                drop(state);
                hub.expire_due();
                hub.state.lock()
            }
            Some(left) if hub.clock.is_manual() => hub.rearmed.wait_timeout(state, left.min(MANUAL_SLICE)),
            Some(left) => hub.rearmed.wait_timeout(state, left),
            None => hub.rearmed.wait(state),
        };
    }
    state.timer_has_ended = true;
    drop(state);
    hub.rearmed.notify_all();
}
