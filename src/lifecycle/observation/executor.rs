//! The two delivery threads of a backend, and the way in for those who submit. Nothing here waits for them: they end by
//! themselves once nobody can submit any more, also when the last one to let go is a lane itself (B-143).

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::observation::isolation::isolate;
use crate::lifecycle::observation::lane::Lane;
pub(crate) use crate::lifecycle::observation::lane::{Job, ObservationLane};
use crate::lifecycle::reentrancy::enter_observation;
use crate::process;
use crate::sync::{Arc, thread};

/// What keeps both lanes alive; each dispatcher does so too.
#[derive(Debug)]
pub(crate) struct ObservationCompletionExecutor(ObservationDispatcher);

/// Submits jobs to the lanes; clones share them.
#[derive(Clone)]
pub(crate) struct ObservationDispatcher(Arc<Lanes>);

struct Lanes {
    observation: Arc<Lane>,
    activity_tail: Arc<Lane>,
}

impl ObservationCompletionExecutor {
    /// Start both lanes.
    ///
    /// # Errors
    ///
    /// `observation_completion_worker_spawn_failed` with the `worker_lane`; no thread is left behind (B-134).
    pub(crate) fn spawn() -> QueryResult<Self> {
        Self::spawn_with(|_, builder, lane| builder.spawn(move || lane.run()))
    }

    /// As [`ObservationCompletionExecutor::spawn`] where the system has no thread for `failing`.
    #[cfg(any(test, feature = "test-hooks"))]
    pub(crate) fn spawn_failing_at(failing: ObservationLane) -> QueryResult<Self> {
        Self::spawn_with(|which, builder, lane| {
            if which == failing {
                return Err(io::Error::from(io::ErrorKind::OutOfMemory));
            }
            builder.spawn(move || lane.run())
        })
    }

    /// Lanes without threads, already stopped: jobs run where they are submitted.
    #[cfg(any(test, feature = "test-hooks"))]
    pub(crate) fn stopped() -> Self {
        let lanes = Lanes::new();
        lanes.drain();
        Self(ObservationDispatcher(Arc::new(lanes)))
    }

    fn spawn_with(
        start: impl Fn(ObservationLane, thread::Builder, Arc<Lane>) -> io::Result<thread::JoinHandle<()>>,
    ) -> QueryResult<Self> {
        let lanes = Lanes::new();
        let mut started = Vec::with_capacity(ObservationLane::ALL.len());
        for which in ObservationLane::ALL {
            let builder = thread::Builder::new().name(format!("graphreel-{}", which.as_str()));
            match start(which, builder, lanes.get(which).clone()) {
                Ok(handle) => started.push(handle),
                Err(error) => {
                    // Those that run are idle, so they end at once.
                    lanes.drain();
                    started.into_iter().for_each(|handle| drop(handle.join()));
                    return Err(spawn_failed(which, &error));
                }
            }
        }
        Ok(Self(ObservationDispatcher(Arc::new(lanes))))
    }

    /// A way in for those who submit.
    pub(crate) fn dispatcher(&self) -> ObservationDispatcher {
        self.0.clone()
    }

    /// The process ends: the lanes begin no further job. It waits for nothing, and may be called again.
    pub(crate) fn detach_for_exit(&self) {
        let lanes = &self.0.0;
        lanes.observation.detach();
        lanes.activity_tail.detach();
    }
}

fn spawn_failed(which: ObservationLane, error: &io::Error) -> QueryError {
    let lane = which.as_str();
    let message = format!("the thread of the {lane} lane could not be started: {error}; free threads or memory");
    QueryError::new(QueryErrorCode::Internal, operation::BUILD, message)
        .with_reason("observation_completion_worker_spawn_failed")
        .with_fact("worker_lane", lane)
}

impl ObservationDispatcher {
    /// Queue a job. A lane that takes none any more has it run here, as an observation callback (B-137).
    pub(crate) fn dispatch(&self, which: ObservationLane, job: Job) {
        if let Err(job) = self.0.get(which).submit(job) {
            let _guard = enter_observation();
            isolate(which.as_str(), job);
        }
    }
}

impl fmt::Debug for ObservationDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservationDispatcher").finish_non_exhaustive()
    }
}

impl Lanes {
    fn new() -> Self {
        let lane = |which| Arc::new(Lane::new(which));
        Self { observation: lane(ObservationLane::Observation), activity_tail: lane(ObservationLane::ActivityTail) }
    }

    fn get(&self, which: ObservationLane) -> &Arc<Lane> {
        match which {
            ObservationLane::Observation => &self.observation,
            ObservationLane::ActivityTail => &self.activity_tail,
        }
    }

    fn drain(&self) {
        self.observation.drain();
        self.activity_tail.drain();
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        if process::is_ending() {
            return;
        }
        self.drain();
    }
}
