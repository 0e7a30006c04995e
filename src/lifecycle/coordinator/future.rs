//! Waiting for a close on any executor: the blocking wait runs on a thread of its own, which ends with the wait, or as soon
//! as its future is dropped (B-156, B-157).

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{CloseCoordinator, GpuBackendCloseSnapshot, deadline_in};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::reentrancy::refuse_reentrant_close;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, thread};

pub(super) struct CloseWait {
    coordinator: CloseCoordinator,
    timeout: Duration,
    task: Option<Arc<Task>>,
}

#[derive(Default)]
struct Task {
    given_up: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    outcome: Option<QueryResult<GpuBackendCloseSnapshot>>,
    waker: Option<Waker>,
}

impl CloseWait {
    pub(super) fn new(coordinator: CloseCoordinator, timeout: Duration) -> Self {
        Self { coordinator, timeout, task: None }
    }

    fn start(&self) -> QueryResult<Arc<Task>> {
        // Here, on the caller's own thread, for the wait's thread is inside no callback.
        refuse_reentrant_close()?;
        self.coordinator.signal();
        let (task, coordinator, timeout) = (Arc::new(Task::default()), self.coordinator.clone(), self.timeout);
        let started = thread::Builder::new().name("graphreel-close-wait".to_owned()).spawn({
            let task = task.clone();
            move || task.run(coordinator, timeout)
        });
        started.map(|_| task).map_err(task_failed)
    }
}

impl Future for CloseWait {
    type Output = QueryResult<GpuBackendCloseSnapshot>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let task = match &self.task {
            Some(task) => task.clone(),
            None => match self.start() {
                Ok(task) => self.task.insert(task).clone(),
                Err(error) => return Poll::Ready(Err(error)),
            },
        };
        task.poll(context.waker().clone())
    }
}

impl Drop for CloseWait {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.given_up.store(true, Ordering::Release);
            self.coordinator.0.progress.notify();
        }
    }
}

impl Task {
    /// The wait's thread. It lets go of the close before it says so, since its caller may be the last that has it.
    fn run(&self, coordinator: CloseCoordinator, timeout: Duration) {
        let wait = || coordinator.wait_unguarded(deadline_in(timeout), &self.given_up);
        let outcome = catch_unwind(AssertUnwindSafe(wait)).unwrap_or_else(|_| Err(task_failed("it panicked")));
        drop(coordinator);
        let waker = {
            let mut state = self.state.lock();
            state.outcome = Some(outcome);
            state.waker.take()
        };
        // The executor's own code, outside of the lock; a panic in it ends this thread, which has nothing left to do.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, waker: Waker) -> Poll<QueryResult<GpuBackendCloseSnapshot>> {
        let mut state = self.state.lock();
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        let earlier = state.waker.replace(waker);
        // The guard first: dropping a waker is the executor's own code.
        drop(state);
        drop(earlier);
        Poll::Pending
    }
}

fn task_failed(error: impl Display) -> QueryError {
    let message = "the wait for the close failed; the close goes on, wait again";
    let failed = QueryError::new(QueryErrorCode::Internal, operation::CLOSE, message);
    failed.with_reason("close_wait_task_failed").with_fact("join_error", error)
}
