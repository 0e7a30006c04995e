//! One lane of delivery: a thread that runs jobs in the order they came.

use std::collections::VecDeque;

use crate::lifecycle::observation::isolation::isolate;
use crate::lifecycle::reentrancy::enter_observation;
use crate::sync::{Condvar, Mutex};

/// Jobs that may wait in a lane. Beyond it a lane is so far behind that submitters run their own.
pub(crate) const LANE_QUEUE_MAX: usize = 1 << 16;

/// A job of a lane.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The two lanes. They are independent, so that a destructor blocked in a close cannot hold up the seals which that
/// close waits for (B-135).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ObservationLane {
    /// Seals, and their observers.
    Observation,
    /// Destructors of activity leases.
    ActivityTail,
}

impl ObservationLane {
    /// Both, in the order they are started.
    pub(crate) const ALL: [Self; 2] = [Self::Observation, Self::ActivityTail];

    /// Its name, as in the fact `worker_lane` (B-133).
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Observation => "observation",
            Self::ActivityTail => "activity_tail",
        }
    }
}

/// The queue of a lane, shared by its thread and its submitters.
pub(super) struct Lane {
    which: ObservationLane,
    state: Mutex<LaneState>,
    changed: Condvar,
}

struct LaneState {
    jobs: VecDeque<Job>,
    phase: LanePhase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LanePhase {
    Open,
    /// Nothing comes any more; what is queued is still done.
    Draining,
    /// The process ends: no further job is begun.
    Detached,
}

impl Lane {
    pub(super) fn new(which: ObservationLane) -> Self {
        let state = LaneState { jobs: VecDeque::new(), phase: LanePhase::Open };
        Self { which, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Queue a job; it comes back when the lane takes none.
    pub(super) fn submit(&self, job: Job) -> Result<(), Job> {
        let mut state = self.state.lock();
        if state.phase != LanePhase::Open || state.jobs.len() >= LANE_QUEUE_MAX {
            return Err(job);
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Finish what is queued, then stop.
    pub(super) fn drain(&self) {
        let mut state = self.state.lock();
        if state.phase == LanePhase::Open {
            state.phase = LanePhase::Draining;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Begin no further job. What is queued is leaked: its destructors may reach what the exit is tearing down.
    pub(super) fn detach(&self) {
        let mut state = self.state.lock();
        state.phase = LanePhase::Detached;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        std::mem::forget(jobs);
        self.changed.notify_all();
    }

    /// The thread's work: until the lane is drained or detached.
    pub(super) fn run(&self) {
        while let Some(job) = self.next() {
            // Destructors of activities may close the backend themselves (B-142).
            let guard = (self.which == ObservationLane::Observation).then(enter_observation);
            isolate(self.which.as_str(), job);
            drop(guard);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.phase != LanePhase::Open {
                return None;
            }
            state = self.changed.wait(state);
        }
    }
}
