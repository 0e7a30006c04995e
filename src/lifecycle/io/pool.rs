//! Threads that serve whoever waits for a turn, in the order of waiting. Their number may change at any time; what waits is
//! served by the others.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sync::{Arc, Condvar, Mutex, thread};

/// Whether another turn is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lifecycle) enum Turn {
    /// Behind those that wait.
    Again,
    /// No.
    Over,
}

/// Something that has work to do.
pub(in crate::lifecycle) trait Turns: Send + Sync {
    /// Do a bounded piece of it.
    fn turn(&self) -> Turn;

    /// A turn of it panicked, and it has no more.
    fn broke(&self);
}

/// What a thread of the pool does.
pub(in crate::lifecycle) type Work = Box<dyn FnOnce() + Send>;

/// Start a thread of the pool.
///
/// # Errors
///
/// What the system answers where it starts no more.
pub(in crate::lifecycle) fn start(work: Work) -> io::Result<()> {
    thread::Builder::new().name("graphreel-io".to_owned()).spawn(work).map(drop)
}

/// The threads. Clones share them.
#[derive(Clone, Default)]
pub(in crate::lifecycle) struct TurnPool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Who waits is bounded by who may wait: see `READS_MAX` beside the one pool.
#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<dyn Turns>>,
    threads: usize,
    wanted: usize,
}

impl TurnPool {
    /// Have `wanted` threads from now on, each started by `start`. Those that are too many end after their turn. Not by two
    /// callers at once.
    ///
    /// # Errors
    ///
    /// What `start` answers where there are no more threads: there are as many as before then.
    pub(in crate::lifecycle) fn resize(
        &self,
        wanted: NonZeroUsize,
        start: impl Fn(Work) -> io::Result<()>,
    ) -> io::Result<()> {
        let (before, missing) = {
            let mut state = self.0.state.lock();
            let before = std::mem::replace(&mut state.wanted, wanted.get());
            // Counted before they run, so that none of them finds itself one too many.
            let missing = wanted.get().saturating_sub(state.threads);
            state.threads += missing;
            (before, missing)
        };
        for started in 0..missing {
            let shared = self.0.clone();
            if let Err(error) = start(Box::new(move || shared.work())) {
                let mut state = self.0.state.lock();
                state.threads -= missing - started;
                state.wanted = before;
                drop(state);
                self.0.changed.notify_all();
                return Err(error);
            }
        }
        self.0.changed.notify_all();
        Ok(())
    }

    /// Let `who` wait for a turn.
    pub(in crate::lifecycle) fn queue(&self, who: Arc<dyn Turns>) {
        self.0.state.lock().waiting.push_back(who);
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn work(&self) {
        let mut again = None;
        while let Some(who) = self.next(again.take()) {
            match catch_unwind(AssertUnwindSafe(|| who.turn())) {
                Ok(Turn::Over) => {}
                Ok(Turn::Again) => again = Some(who),
                Err(_) => {
                    // Its own panic, or the device's: other reads keep this thread.
                    if catch_unwind(AssertUnwindSafe(|| who.broke())).is_err() {
                        tracing::warn!("a read panicked, and again when it was told so");
                    }
                }
            }
        }
    }

    /// Who is next, with `again` behind those that wait; `None` when this thread is one too many. Who waits alone keeps the
    /// thread: to hand a piece of work to another one costs more than a small piece does.
    fn next(&self, again: Option<Arc<dyn Turns>>) -> Option<Arc<dyn Turns>> {
        let mut state = self.state.lock();
        state.waiting.extend(again);
        loop {
            if state.threads > state.wanted {
                state.threads -= 1;
                // It may have been woken for a turn that another has to serve now, or has just left one.
                self.changed.notify_one();
                return None;
            }
            if let Some(who) = state.waiting.pop_front() {
                return Some(who);
            }
            state = self.changed.wait(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, Signal};
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    const PATIENCE: Duration = Duration::from_secs(20);

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).expect("at least one")
    }

    /// Wants so many turns, and tells when it has had them; panics in turn `faulty`.
    struct Counted {
        left: AtomicUsize,
        faulty: Option<usize>,
        over: Signal,
    }

    impl Counted {
        fn new(turns: usize, faulty: Option<usize>) -> Arc<Self> {
            Arc::new(Self { left: AtomicUsize::new(turns), faulty, over: Signal::new() })
        }

        fn is_over(&self) -> bool {
            let clock = Clock::system();
            clock.wait(&self.over, clock.deadline_in(PATIENCE))
        }
    }

    impl Turns for Counted {
        fn turn(&self) -> Turn {
            let left = self.left.fetch_sub(1, Ordering::SeqCst) - 1;
            assert_ne!(self.faulty, Some(left), "as asked for");
            if left > 0 {
                return Turn::Again;
            }
            self.over.set();
            Turn::Over
        }

        fn broke(&self) {
            self.over.set();
        }
    }

    fn settled(pool: &TurnPool, count: usize) {
        let start = Instant::now();
        while pool.0.state.lock().threads != count {
            assert!(start.elapsed() < PATIENCE, "{} threads", pool.0.state.lock().threads);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// B-196: however often the threads become fewer or more, everybody who waits is served.
    #[test]
    fn nobody_is_stranded_by_another_number_of_threads() {
        let pool = TurnPool::default();
        pool.resize(threads(1), start).unwrap();
        let all: Vec<_> = (0..200).map(|_| Counted::new(20, None)).collect();
        for (index, who) in all.iter().enumerate() {
            pool.queue(who.clone());
            pool.resize(threads(1 + index * 7 % 5), start).unwrap();
        }
        assert!(all.iter().all(|who| who.is_over()));
        pool.resize(threads(2), start).unwrap();
        settled(&pool, 2);
    }

    /// B-196: what waits before there is a thread is served by the first.
    #[test]
    fn who_waits_early_is_served() {
        let (pool, who) = (TurnPool::default(), Counted::new(3, None));
        pool.queue(who.clone());
        assert!(!who.over.is_set());
        pool.resize(threads(1), start).unwrap();
        assert!(who.is_over());
    }

    /// XB-22: where threads do not start, the pool is as it was.
    #[test]
    fn a_refused_thread_leaves_the_pool_as_it_was() {
        let pool = TurnPool::default();
        let refused = || Err(io::Error::other("no thread"));
        pool.resize(threads(4), |_| refused()).unwrap_err();
        settled(&pool, 0);
        pool.resize(threads(2), start).unwrap();
        let started = AtomicUsize::new(0);
        let second_fails = |work: Work| {
            if started.fetch_add(1, Ordering::SeqCst) == 1 {
                return refused();
            }
            start(work)
        };
        pool.resize(threads(8), second_fails).unwrap_err();
        settled(&pool, 2);
        let who = Counted::new(5, None);
        pool.queue(who.clone());
        assert!(who.is_over());
    }

    #[test]
    fn a_panic_costs_no_thread() {
        let pool = TurnPool::default();
        pool.resize(threads(1), start).unwrap();
        let faulty: Vec<_> = (0..3).map(|_| Counted::new(9, Some(4))).collect();
        let sound = Counted::new(50, None);
        faulty.iter().for_each(|who| pool.queue(who.clone()));
        pool.queue(sound.clone());
        assert!(sound.is_over() && faulty.iter().all(|who| who.is_over()));
        settled(&pool, 1);
    }
}
