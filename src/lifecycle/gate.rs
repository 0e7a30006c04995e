//! The lifecycle gate of one backend: a close bit and two permit counts under one lock, so that a snapshot is of one
//! moment.

use std::time::Instant;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::sync::{Arc, Condvar, Mutex};

/// The gate; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackendLifecycle(Arc<Gate>);

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<LifecycleSnapshot>,
    changed: Condvar,
}

/// The gate at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LifecycleSnapshot {
    /// Whether close was signalled.
    pub(crate) closing: bool,
    /// Holders of the GPU scope.
    pub(crate) active_gpu_permits: u64,
    /// Holders of the observation scope.
    pub(crate) active_observation_permits: u64,
}

/// Holds the observation scope open.
#[derive(Debug)]
pub(crate) struct ObservationPermit(BackendLifecycle);

/// Holds the GPU scope open.
#[derive(Debug)]
pub(crate) struct GpuPermit(BackendLifecycle);

impl BackendLifecycle {
    /// An open gate.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn refuse_closing(state: &LifecycleSnapshot) -> QueryResult {
        if !state.closing {
            return Ok(());
        }
        let message = "the backend is closing; use another one";
        Err(QueryError::new(QueryErrorCode::Cancelled, operation::RESOURCE, message).with_reason("backend_closing"))
    }

    /// Enter the observation scope, unless close was signalled.
    pub(crate) fn try_begin_observation(&self) -> QueryResult<ObservationPermit> {
        let mut state = self.0.state.lock();
        Self::refuse_closing(&state)?;
        state.active_observation_permits += 1;
        Ok(ObservationPermit(self.clone()))
    }

    /// Enter the GPU scope, unless close was signalled.
    pub(crate) fn try_begin_gpu_resource(&self) -> QueryResult<GpuPermit> {
        let mut state = self.0.state.lock();
        Self::refuse_closing(&state)?;
        state.active_gpu_permits += 1;
        Ok(GpuPermit(self.clone()))
    }

    /// Set the close bit; true for the call that set it.
    pub(crate) fn close(&self) -> bool {
        let won = !std::mem::replace(&mut self.0.state.lock().closing, true);
        self.0.changed.notify_all();
        won
    }

    /// The close bit.
    pub(crate) fn is_closing(&self) -> bool {
        self.0.state.lock().closing
    }

    /// Bit and counts of one moment.
    pub(crate) fn snapshot(&self) -> LifecycleSnapshot {
        *self.0.state.lock()
    }

    fn wait(&self, deadline: Option<Instant>, idle: impl Fn(&LifecycleSnapshot) -> bool) -> bool {
        let mut state = self.0.state.lock();
        while !idle(&state) {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match left {
                Some(left) if left.is_zero() => return false,
                Some(left) => self.0.changed.wait_timeout(state, left),
                None => self.0.changed.wait(state),
            };
        }
        true
    }

    /// Wait until nothing holds the GPU scope.
    pub(crate) fn wait_gpu_idle(&self, deadline: Option<Instant>) -> bool {
        self.wait(deadline, |state| state.active_gpu_permits == 0)
    }

    /// Wait until nothing holds the observation scope.
    pub(crate) fn wait_observation_idle(&self, deadline: Option<Instant>) -> bool {
        self.wait(deadline, |state| state.active_observation_permits == 0)
    }
}

impl Drop for ObservationPermit {
    fn drop(&mut self) {
        self.0.0.state.lock().active_observation_permits -= 1;
        self.0.0.changed.notify_all();
    }
}

impl Drop for GpuPermit {
    fn drop(&mut self) {
        self.0.0.state.lock().active_gpu_permits -= 1;
        self.0.0.changed.notify_all();
    }
}
