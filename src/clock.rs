//! Time as a value: every wait, deadline and timer takes a [`Clock`], so that a simulator can own the hours.
//!
//! A [`Signal`] is the one thing this crate blocks on. It is set once and stays set.

use std::task::Waker;
use std::time::{Duration, Instant};

use crate::sync::{Arc, Condvar, Mutex};

/// A source of monotonic time: the system's, or one advanced by hand.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    System { origin: Instant },
    Manual(Mutex<Manual>),
}

#[derive(Debug, Default)]
struct Manual {
    now: Duration,
    sleepers: Vec<Signal>,
}

/// A moment, as time since its clock was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(pub Duration);

/// The moment at which a wait gives up; [`Deadline::NEVER`] for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Tick>);

impl Deadline {
    /// No deadline.
    pub const NEVER: Self = Self(None);

    /// Give up at `tick`.
    pub const fn at(tick: Tick) -> Self {
        Self(Some(tick))
    }

    /// The moment, unless there is none.
    pub const fn tick(self) -> Option<Tick> {
        self.0
    }

    /// The earlier of two deadlines.
    pub fn earlier(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(Some(a.min(b))),
            (a, b) => Self(a.or(b)),
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl Clock {
    /// The operating system's monotonic clock.
    pub fn system() -> Self {
        Self(Arc::new(Source::System { origin: Instant::now() }))
    }

    /// A clock that stands still until [`Clock::advance`].
    pub fn manual() -> Self {
        Self(Arc::new(Source::Manual(Mutex::new(Manual::default()))))
    }

    /// Whether it is moved by [`Clock::advance`] alone.
    pub fn is_manual(&self) -> bool {
        matches!(*self.0, Source::Manual(_))
    }

    /// The time now.
    pub fn now(&self) -> Tick {
        match &*self.0 {
            Source::System { origin } => Tick(origin.elapsed()),
            Source::Manual(manual) => Tick(manual.lock().now),
        }
    }

    /// The deadline `timeout` from now; [`Deadline::NEVER`] where the sum does not fit.
    pub fn deadline_in(&self, timeout: Duration) -> Deadline {
        Deadline(self.now().0.checked_add(timeout).map(Tick))
    }

    /// Whether `deadline` has come.
    pub fn is_past(&self, deadline: Deadline) -> bool {
        deadline.0.is_some_and(|tick| tick <= self.now())
    }

    /// Time left until `deadline`: zero when it has come, `None` when there is none.
    pub fn remaining(&self, deadline: Deadline) -> Option<Duration> {
        deadline.0.map(|tick| tick.0.saturating_sub(self.now().0))
    }

    /// Move a manual clock forward and wake those whose deadline may have come. A system clock ignores it.
    pub fn advance(&self, by: Duration) {
        let Source::Manual(manual) = &*self.0 else { return };
        let sleepers = {
            let mut manual = manual.lock();
            manual.now = manual.now.saturating_add(by);
            std::mem::take(&mut manual.sleepers)
        };
        for sleeper in sleepers {
            sleeper.0.changed.notify_all();
        }
    }

    /// Block until `signal` is set or `deadline` comes; true when it is set.
    pub fn wait(&self, signal: &Signal, deadline: Deadline) -> bool {
        let mut state = signal.0.state.lock();
        loop {
            if state.set {
                return true;
            }
            if self.is_past(deadline) {
                return false;
            }
            state = match (&*self.0, self.remaining(deadline)) {
                (Source::System { .. }, Some(left)) => signal.0.changed.wait_timeout(state, left),
                (Source::System { .. }, None) => signal.0.changed.wait(state),
                (Source::Manual(manual), _) => {
                    let mut manual = manual.lock();
                    // Those that nobody else holds any more have no sleeper left.
                    manual.sleepers.retain(|known| Arc::strong_count(&known.0) > 1);
                    if !manual.sleepers.iter().any(|known| Arc::ptr_eq(&known.0, &signal.0)) {
                        manual.sleepers.push(signal.clone());
                    }
                    drop(manual);
                    // Wakes by itself now and then: `advance` may come between the push and the wait.
                    signal.0.changed.wait_timeout(state, Duration::from_millis(5))
                }
            };
        }
    }
}

/// A flag that is set once, to block on or to await.
#[derive(Clone, Debug, Default)]
pub struct Signal(Arc<SignalInner>);

#[derive(Debug, Default)]
struct SignalInner {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    set: bool,
    wakers: Vec<Waker>,
}

impl Signal {
    /// A signal that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Set it and wake everybody. Setting it again does nothing.
    pub fn set(&self) {
        let wakers = {
            let mut state = self.0.state.lock();
            state.set = true;
            std::mem::take(&mut state.wakers)
        };
        self.0.changed.notify_all();
        for waker in wakers {
            waker.wake();
        }
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.state.lock().set
    }

    /// Whether it is set; when not, `waker` is woken once it is.
    pub fn poll(&self, waker: &Waker) -> bool {
        let mut state = self.0.state.lock();
        if !state.set && !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        state.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = Clock::manual();
        let deadline = clock.deadline_in(Duration::from_secs(3));
        assert!(!clock.is_past(deadline));
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.remaining(deadline), Some(Duration::from_secs(1)));
        clock.advance(Duration::from_secs(1));
        assert!(clock.is_past(deadline));
        assert_eq!(clock.now(), Tick(Duration::from_secs(3)));
    }

    #[test]
    fn a_wait_ends_by_the_signal_or_by_the_deadline() {
        let clock = Clock::manual();
        let signal = Signal::new();
        let deadline = clock.deadline_in(Duration::from_secs(1));
        let waiter = std::thread::spawn({
            let (clock, signal) = (clock.clone(), signal.clone());
            move || clock.wait(&signal, deadline)
        });
        clock.advance(Duration::from_secs(1));
        assert!(!waiter.join().expect("the waiter does not panic"));
        signal.set();
        assert!(clock.wait(&signal, deadline));
        assert!(!Clock::system().wait(&Signal::new(), Deadline::at(Tick(Duration::ZERO))));
    }

    #[test]
    fn a_long_wait_on_a_clock_that_stands_still_is_noted_once() {
        let (clock, signal) = (Clock::manual(), Signal::new());
        let waiter = std::thread::spawn({
            let (clock, signal) = (clock.clone(), signal.clone());
            move || clock.wait(&signal, Deadline::NEVER)
        });
        // The wait wakes by itself every few milliseconds.
        std::thread::sleep(Duration::from_millis(60));
        let Source::Manual(manual) = &*clock.0 else { panic!("a manual clock") };
        assert!(manual.lock().sleepers.len() <= 1, "each wake-up was noted again");
        signal.set();
        assert!(waiter.join().expect("the waiter does not panic"));
    }

    #[test]
    fn the_earlier_deadline_wins() {
        let (one, two) = (Deadline::at(Tick(Duration::from_secs(1))), Deadline::at(Tick(Duration::from_secs(2))));
        assert_eq!(one.earlier(two), one);
        assert_eq!(Deadline::NEVER.earlier(two), two);
        assert_eq!(one.earlier(Deadline::NEVER), one);
    }
}
