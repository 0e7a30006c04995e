//! Where an attempt's report becomes visible: a slot that is filled once, and the views of it. A view never delays a close
//! and stays readable after it (B-121).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::lifecycle::attempt::report::QueryAttemptReport;
use crate::process;
use crate::sync::{Arc, Condvar, Mutex};

pub(super) struct CompletionSlot {
    state: Mutex<SlotState>,
    ready: Condvar,
}

struct SlotState {
    /// The receiver and its views. Once none is left there is never one again (QB-16).
    viewers: usize,
    report: Option<Arc<QueryAttemptReport>>,
    /// Those who await it, by the key of their future.
    wakers: Vec<(u64, Waker)>,
    next_key: u64,
}

impl CompletionSlot {
    /// An empty slot with its one receiver.
    pub(super) fn new() -> (Arc<Self>, AttemptCompletionReceiver) {
        let state = SlotState { viewers: 1, report: None, wakers: Vec::new(), next_key: 0 };
        let slot = Arc::new(Self { state: Mutex::new(state), ready: Condvar::new() });
        let receiver = AttemptCompletionReceiver(AttemptCompletion { slot: slot.clone(), counted: true });
        (slot, receiver)
    }

    /// Show the report to the viewers; false, and nothing is shown, when there is none.
    pub(super) fn publish(&self, report: Arc<QueryAttemptReport>) -> bool {
        let mut state = self.state.lock();
        if state.viewers == 0 {
            return false;
        }
        state.report = Some(report);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.ready.notify_all();
        for (_, waker) in wakers {
            waker.wake();
        }
        true
    }
}

/// The receiver of one attempt's report. Without it and its views the report goes to the backend's completion queue.
#[derive(Debug)]
pub struct AttemptCompletionReceiver(AttemptCompletion);

impl AttemptCompletionReceiver {
    /// A view that can be cloned and counts as a receiver itself.
    pub fn completion(&self) -> AttemptCompletion {
        self.0.clone()
    }

    /// As [`AttemptCompletion::wait_timeout`].
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Arc<QueryAttemptReport>> {
        self.0.wait_timeout(timeout)
    }

    /// Whether the report is there.
    pub fn is_ready(&self) -> bool {
        self.0.is_ready()
    }

    /// As [`AttemptCompletion::into_report`].
    pub fn into_report(self) -> Option<Arc<QueryAttemptReport>> {
        self.0.into_report()
    }
}

/// A view of one attempt's report (B-131).
pub struct AttemptCompletion {
    slot: Arc<CompletionSlot>,
    /// Whether its drop still takes it out of the viewers.
    counted: bool,
}

impl AttemptCompletion {
    /// The report, waiting for it at most `timeout` of real time. A timeout that does not fit the machine's time is none
    /// at all: nothing waits without a bound.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Arc<QueryAttemptReport>> {
        let now = Instant::now();
        let deadline = now.checked_add(timeout).unwrap_or(now);
        let mut state = self.slot.state.lock();
        loop {
            if let Some(report) = &state.report {
                return Some(report.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self.slot.ready.wait_timeout(state, left);
        }
    }

    /// The report, if it is there.
    pub fn report(&self) -> Option<Arc<QueryAttemptReport>> {
        self.slot.state.lock().report.clone()
    }

    /// Whether the report is there.
    pub fn is_ready(&self) -> bool {
        self.slot.state.lock().report.is_some()
    }

    /// Let go of the view, with the report if it is there. Without it, and where this was the last view, the report goes
    /// to the completion queue: it is never lost between a look and the drop.
    pub fn into_report(mut self) -> Option<Arc<QueryAttemptReport>> {
        let mut state = self.slot.state.lock();
        state.viewers -= 1;
        let report = state.report.clone();
        drop(state);
        self.counted = false;
        report
    }

    /// Await the report, on any executor. The future counts as a view.
    pub fn ready(&self) -> AttemptReady {
        AttemptReady { view: self.clone(), key: None }
    }
}

impl Clone for AttemptCompletion {
    fn clone(&self) -> Self {
        self.slot.state.lock().viewers += 1;
        Self { slot: self.slot.clone(), counted: true }
    }
}

impl Drop for AttemptCompletion {
    fn drop(&mut self) {
        if self.counted && !process::is_ending() {
            self.slot.state.lock().viewers -= 1;
        }
    }
}

impl fmt::Debug for AttemptCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptCompletion").field("ready", &self.is_ready()).finish()
    }
}

/// Resolves to the report.
#[derive(Debug)]
pub struct AttemptReady {
    view: AttemptCompletion,
    key: Option<u64>,
}

impl Future for AttemptReady {
    type Output = Arc<QueryAttemptReport>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloned and dropped outside the lock: a waker is its executor's code.
        let waker = context.waker().clone();
        let slot = self.view.slot.clone();
        let mut state = slot.state.lock();
        if let Some(report) = &state.report {
            return Poll::Ready(report.clone());
        }
        let known = self.key.and_then(|key| state.wakers.iter().position(|(other, _)| *other == key));
        let replaced = match known {
            Some(at) => Some(std::mem::replace(&mut state.wakers[at].1, waker)),
            None => {
                let key = state.next_key;
                state.next_key += 1;
                state.wakers.push((key, waker));
                self.key = Some(key);
                None
            }
        };
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for AttemptReady {
    fn drop(&mut self) {
        let Some(key) = self.key.filter(|_| !process::is_ending()) else { return };
        let mut state = self.view.slot.state.lock();
        let known = state.wakers.iter().position(|(other, _)| *other == key);
        let waker = known.map(|at| state.wakers.swap_remove(at));
        drop(state);
        drop(waker);
    }
}
