//! Waits for the device: events are polled without the device's lock, first quickly, then at growing pauses, so that no hung
//! device keeps a thread beyond its deadline.

use std::time::Duration;

use super::driver::Driver;
use super::shared::EventCell;
use crate::clock::{Clock, Deadline, Signal};
use crate::config::Config;
use crate::error::{GraphOp, GraphRule, GraphState, Result};
use crate::stream::{SlotIndex, StreamId};
use crate::sync::Arc;
use crate::sync::thread::{self, ThreadId};
use crate::ticket::Fence;

/// How long a wait polls without a pause, giving way to other threads at each poll: most waits are for work that is nearly done. A
/// pause takes some 50 us longer than it is asked for, and whoever wakes from one issues its next work from a cold core,
/// which was seen to take twice as long.
const QUICK: Duration = Duration::from_millis(2);

/// How long a caller is held that only gives the device a chance to be idle.
const BRIEF: Duration = Duration::from_millis(20);

/// The shortest and the longest pause. A loss, or the end of long work, is seen after at most the longest.
const PAUSE_MIN: Duration = Duration::from_micros(20);
const PAUSE_MAX: Duration = Duration::from_millis(1);

/// A pause is this part of the time already waited, so that polling adds little to any wait.
const PAUSE_PART: u32 = 128;

/// Passed when every one of some events is.
pub(super) struct EventFence<D: Driver> {
    events: Vec<Arc<EventCell<D>>>,
    /// How long a wait takes at the most, whether they are passed or not.
    most: Option<Duration>,
}

impl<D: Driver> EventFence<D> {
    pub(super) fn new(events: Vec<Arc<EventCell<D>>>) -> Self {
        Self { events, most: None }
    }

    /// A wait that gives them a chance to pass.
    pub(super) fn brief(events: Vec<Arc<EventCell<D>>>) -> Self {
        Self { events, most: Some(BRIEF) }
    }

    /// Whether all are passed, asking the driver about those that are not known to be. The thread is bound.
    fn query(&self) -> Result<bool> {
        for event in &self.events {
            if !event.query()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_known_passed(&self) -> bool {
        self.events.iter().all(|event| event.is_known_passed())
    }
}

impl<D: Driver> Fence for EventFence<D> {
    fn wait(&self, clock: &Clock, deadline: Deadline) -> Result<bool> {
        let Some(first) = self.events.first() else { return Ok(true) };
        let shared = first.shared();
        shared.monitor().check()?;
        if self.is_known_passed() {
            return Ok(true);
        }
        let _bound = shared.bind()?;
        let started = std::time::Instant::now();
        loop {
            shared.monitor().check()?;
            if self.query()? {
                return Ok(true);
            }
            if clock.is_past(deadline) {
                return Ok(false);
            }
            let waited = started.elapsed();
            if self.most.is_some_and(|most| waited >= most) {
                return Ok(true);
            }
            if waited < QUICK {
                thread::yield_now();
            } else {
                thread::sleep(pause(waited, clock.remaining(deadline)));
            }
        }
    }

    fn is_passed(&self) -> Result<bool> {
        let Some(first) = self.events.first() else { return Ok(true) };
        first.shared().monitor().check()?;
        if self.is_known_passed() {
            return Ok(true);
        }
        let _bound = first.shared().bind()?;
        self.query()
    }
}

/// How long to sleep after `waited`, with `left` until the deadline.
fn pause(waited: Duration, left: Option<Duration>) -> Duration {
    let pause = (waited / PAUSE_PART).clamp(PAUSE_MIN, PAUSE_MAX);
    left.map_or(pause, |left| pause.min(left.max(PAUSE_MIN)))
}

/// A window that defers its neighbours' waits: who opened it, and what tells of its end.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub(super) closed: Signal,
    pub(super) opener: ThreadId,
    pub(super) owner: StreamId,
    pub(super) slot: SlotIndex,
}

/// A wait that cannot end before a window does (C-56).
pub(super) struct DeferredFence<F> {
    pub(super) gate: Gate,
    pub(super) caller: StreamId,
    pub(super) wait_max: Duration,
    pub(super) then: F,
}

impl<F: Fence> DeferredFence<F> {
    pub(super) fn new(gate: Gate, caller: StreamId, config: &Config, then: F) -> Self {
        Self { gate, caller, wait_max: config.deferred_wait_max, then }
    }
}

impl<F: Fence> Fence for DeferredFence<F> {
    fn wait(&self, clock: &Clock, deadline: Deadline) -> Result<bool> {
        if !self.gate.closed.is_set() {
            // The thread that would close the window is this one: it would wait for itself.
            if thread::current().id() == self.gate.opener {
                let state = GraphState::new(GraphOp::Wait, GraphRule::WouldWaitForItself);
                let state = state.owner(Some(self.gate.owner)).caller(self.caller).slot(self.gate.slot.0);
                return Err(state.into());
            }
            if !clock.wait(&self.gate.closed, deadline.earlier(clock.deadline_in(self.wait_max))) {
                return Ok(false);
            }
        }
        self.then.wait(clock, deadline)
    }

    fn is_passed(&self) -> Result<bool> {
        if self.gate.closed.is_set() { self.then.is_passed() } else { Ok(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticket::Passed;

    fn deferred(opener: ThreadId) -> DeferredFence<Passed> {
        let (owner, caller) = (StreamId { value: 7 }, StreamId { value: 8 });
        let gate = Gate { closed: Signal::new(), opener, owner, slot: SlotIndex(0) };
        DeferredFence::new(gate, caller, &Config::default(), Passed)
    }

    #[test]
    fn a_pause_grows_with_the_wait_within_its_bounds() {
        assert_eq!(pause(Duration::ZERO, None), PAUSE_MIN);
        assert_eq!(pause(Duration::from_millis(64), None), Duration::from_micros(500));
        assert_eq!(pause(Duration::from_secs(9), None), PAUSE_MAX);
        assert_eq!(pause(Duration::from_secs(9), Some(Duration::from_micros(70))), Duration::from_micros(70));
        assert_eq!(pause(Duration::ZERO, Some(Duration::ZERO)), PAUSE_MIN);
    }

    #[test]
    fn a_deferred_wait_ends_with_the_window_or_its_bound() {
        // C-56, C-61.
        let other = thread::spawn(|| thread::current().id()).join().expect("no panic");
        let (clock, fence) = (Clock::system(), deferred(other));
        assert!(!fence.is_passed().unwrap());
        let short = clock.deadline_in(Duration::from_millis(2));
        assert!(!fence.wait(&clock, short).unwrap());
        let bounded = DeferredFence { wait_max: Duration::from_millis(2), ..deferred(other) };
        assert!(!bounded.wait(&clock, Deadline::NEVER).unwrap());
        fence.gate.closed.set();
        assert!(fence.is_passed().unwrap() && fence.wait(&clock, Deadline::NEVER).unwrap());
    }

    #[test]
    fn the_thread_that_opened_the_window_is_refused_at_once() {
        let (clock, fence) = (Clock::system(), deferred(thread::current().id()));
        let error = fence.wait(&clock, Deadline::NEVER).expect_err("it would wait for itself");
        assert_eq!(error.graph_rule(), Some(&GraphRule::WouldWaitForItself));
        fence.gate.closed.set();
        assert!(fence.wait(&clock, Deadline::NEVER).unwrap());
    }
}
