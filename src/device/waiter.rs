//! Threads that block on behalf of futures. They are started by the first future that has to wait, are bounded in
//! number, sleep inside the fence (never spinning), and end when they have nothing to do.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use std::time::Duration;

use crate::clock::Clock;
use crate::process;
use crate::sync::{Arc, Mutex, thread};
use crate::ticket::Fence;

/// How long one fence may keep a thread while others wait for one.
const TURN: Duration = Duration::from_millis(20);

/// A future's place in the queue: it is queued once, and only its waker changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Parked(Option<Arc<Mutex<Slot>>>);

#[derive(Debug)]
struct Slot {
    waker: Waker,
    over: bool,
}

struct Job {
    fence: Arc<dyn Fence>,
    slot: Arc<Mutex<Slot>>,
}

#[derive(Clone)]
pub(super) struct Waiters(Arc<Shared>);

struct Shared {
    threads_max: usize,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
}

impl Waiters {
    /// At most `threads_max` threads. Turns are a matter of these threads, so they go by the system's clock, whatever the
    /// device's is: one that stands still would never end a turn.
    pub(super) fn new(threads_max: usize) -> Self {
        let (clock, state) = (Clock::system(), Mutex::new(State::default()));
        Self(Arc::new(Shared { threads_max: threads_max.max(1), clock, state }))
    }

    /// Wake `waker` once `fence` is passed or fails. A future that is polled again only changes its waker.
    pub(super) fn park(&self, fence: &Arc<dyn Fence>, parked: &mut Parked, waker: &Waker) {
        if let Some(slot) = &parked.0 {
            let mut slot = slot.lock();
            if !slot.over {
                slot.waker.clone_from(waker);
                return;
            }
        }
        let slot = Arc::new(Mutex::new(Slot { waker: waker.clone(), over: false }));
        parked.0 = Some(slot.clone());
        let start = {
            let mut state = self.0.state.lock();
            state.jobs.push_back(Job { fence: fence.clone(), slot });
            let start = state.threads < self.0.threads_max;
            state.threads += usize::from(start);
            start
        };
        if start {
            self.start_thread();
        }
    }

    fn start_thread(&self) {
        let shared = self.0.clone();
        let started = thread::Builder::new().name("graphreel-waiter".to_owned()).spawn(move || shared.work());
        if let Err(error) = started {
            // The queued futures are woken at once and find out by polling: slower, but none is forgotten.
            tracing::warn!(%error, "no thread for waiting futures; they will poll");
            let jobs = {
                let mut state = self.0.state.lock();
                state.threads -= 1;
                if state.threads == 0 { std::mem::take(&mut state.jobs) } else { VecDeque::new() }
            };
            jobs.into_iter().for_each(Job::wake);
        }
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let (job, crowded) = {
                let mut state = self.state.lock();
                match state.jobs.pop_front() {
                    Some(job) => (job, !state.jobs.is_empty()),
                    None => {
                        state.threads -= 1;
                        return;
                    }
                }
            };
            // Where others queue, nobody keeps the thread: fences of several streams pass in any order.
            let turn = if crowded { TURN } else { TURN * 10 };
            // Once the process is ending nobody is woken any more.
            let Some(_call) = process::unlocked_call() else { return std::mem::forget(job) };
            match job.fence.wait(&self.clock, self.clock.deadline_in(turn)) {
                Ok(false) => self.state.lock().jobs.push_back(job),
                Ok(true) | Err(_) => job.wake(),
            }
        }
    }
}

impl Job {
    fn wake(self) {
        let waker = {
            let mut slot = self.slot.lock();
            slot.over = true;
            slot.waker.clone()
        };
        // The executor's own code: a panic in it is its own, and must not cost the other futures this thread.
        if catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err() {
            tracing::warn!("waking a future panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Deadline, Signal};
    use crate::error::Result;
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct SignalFence(Signal);

    impl Fence for SignalFence {
        fn wait(&self, clock: &Clock, deadline: Deadline) -> Result<bool> {
            Ok(clock.wait(&self.0, deadline))
        }

        fn is_passed(&self) -> Result<bool> {
            Ok(self.0.is_set())
        }
    }

    struct Count(AtomicUsize, Signal);

    struct Faulty;

    impl Wake for Faulty {
        fn wake(self: Arc<Self>) {
            panic!("an executor's mistake");
        }
    }

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
            self.1.set();
        }
    }

    #[test]
    fn more_futures_than_threads_are_all_woken_in_any_order() {
        let waiters = Waiters::new(2);
        let signals: Vec<Signal> = (0..6).map(|_| Signal::new()).collect();
        let counts: Vec<Arc<Count>> =
            signals.iter().map(|_| Arc::new(Count(AtomicUsize::new(0), Signal::new()))).collect();
        for (signal, count) in signals.iter().zip(&counts) {
            let fence: Arc<dyn Fence> = Arc::new(SignalFence(signal.clone()));
            let mut parked = Parked::default();
            let waker = Waker::from(count.clone());
            waiters.park(&fence, &mut parked, &waker);
            waiters.park(&fence, &mut parked, &waker);
        }
        for index in (0..6).rev() {
            assert_eq!(counts[index].0.load(Ordering::SeqCst), 0);
            signals[index].set();
            assert!(Clock::system().wait(&counts[index].1, Clock::system().deadline_in(Duration::from_secs(10))));
        }
        assert!(counts.iter().all(|count| count.0.load(Ordering::SeqCst) == 1));
    }

    #[test]
    fn a_waker_that_panics_costs_the_others_nothing() {
        let waiters = Waiters::new(1);
        for faulty in [true, true, false] {
            let (signal, count) = (Signal::new(), Arc::new(Count(AtomicUsize::new(0), Signal::new())));
            let fence: Arc<dyn Fence> = Arc::new(SignalFence(signal.clone()));
            let waker = if faulty { Waker::from(Arc::new(Faulty)) } else { Waker::from(count.clone()) };
            waiters.park(&fence, &mut Parked::default(), &waker);
            signal.set();
            if !faulty {
                assert!(Clock::system().wait(&count.1, Clock::system().deadline_in(Duration::from_secs(10))));
            }
        }
    }
}
