//! The threads of one device's execution: query jobs on all workers but the reserved one, lifecycle jobs on any, so that a full
//! set of stuck queries blocks no cleanup. A supervisor owns the workers and joins them.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::time::Instant;

use crate::lifecycle::config::RESERVED_LIFECYCLE_WORKERS;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::park::block_on;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Condvar, Mutex};

/// Jobs of one sort that may wait for a worker: far above what the attempts of a device can ask for at once.
pub const QUEUED_JOBS_MAX: usize = 4096;

/// What a job is for, which decides where it may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolJob {
    /// Executing a query; never on the reserved worker.
    Query,
    /// Making a device ready for an attempt.
    ContextSetup,
    /// Giving back what an attempt held.
    Cleanup,
}

/// One pool at a moment (B-172).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutionPoolReport {
    /// The device.
    pub device_ordinal: usize,
    /// Threads, those kept for lifecycle work among them.
    pub worker_count: usize,
    /// Query jobs that wait for a worker.
    pub queued_queries: usize,
    /// Lifecycle jobs that wait for a worker.
    pub queued_lifecycle: usize,
    /// Query jobs that have a worker.
    pub running_queries: usize,
    /// Lifecycle jobs that have a worker.
    pub running_lifecycle: usize,
    /// Jobs that ran to their end, those that panicked among them.
    pub jobs: u64,
    /// Jobs that panicked, or whose destructor did.
    pub panics: u64,
    /// Query jobs that a close dropped before they began.
    pub dropped: u64,
    /// Whether it takes no more jobs.
    pub closed: bool,
    /// Whether its workers have ended.
    pub ended: bool,
}

/// The pool of one device. Clones share it; the last one's drop closes it without waiting.
#[derive(Clone)]
pub struct GpuExecutionPool(Arc<Owner>);

/// What callers hold, apart from what workers hold: a pool whose callers are gone takes no more jobs.
struct Owner {
    shared: Arc<Shared>,
    supervisor: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    device_ordinal: usize,
    worker_count: usize,
    state: Mutex<State>,
    /// There may be a job for one worker.
    work: Condvar,
    /// The pool was closed, or has ended.
    changed: Condvar,
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;
type Body = Box<dyn FnOnce() + Send>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Query,
    Lifecycle,
}

#[derive(Default)]
struct State {
    queries: VecDeque<Job>,
    lifecycle: VecDeque<Job>,
    running_queries: usize,
    running_lifecycle: usize,
    jobs: u64,
    panics: u64,
    dropped: u64,
    closed: bool,
    ended: bool,
}

impl State {
    /// A query that has not begun at the close never does.
    fn may_query(&self, queries_max: usize) -> bool {
        !self.closed && self.running_queries < queries_max && !self.queries.is_empty()
    }

    fn take(&mut self, queries_max: usize) -> Option<(Sort, Job)> {
        if let Some(job) = self.lifecycle.pop_front() {
            self.running_lifecycle += 1;
            return Some((Sort::Lifecycle, job));
        }
        if !self.may_query(queries_max) {
            return None;
        }
        let job = self.queries.pop_front()?;
        self.running_queries += 1;
        Some((Sort::Query, job))
    }

    fn finish(&mut self, sort: Sort, panics: u64) {
        match sort {
            Sort::Query => self.running_queries -= 1,
            Sort::Lifecycle => self.running_lifecycle -= 1,
        }
        self.jobs += 1;
        self.panics += panics;
    }
}

impl GpuExecutionPool {
    /// A pool of `worker_count` threads for the device, which it does not touch (B-166).
    ///
    /// # Errors
    ///
    /// `worker_count_below_active_limit_and_lifecycle_reserve` when no worker is left to queries;
    /// `execution_pool_spawn_failed` when a thread does not start: none is left behind then.
    pub fn new(device_ordinal: usize, worker_count: usize) -> QueryResult<Self> {
        Self::with_spawner(device_ordinal, worker_count, &mut |name, body| {
            thread::Builder::new().name(name).spawn(body)
        })
    }

    fn with_spawner(
        device_ordinal: usize,
        worker_count: usize,
        spawn: &mut dyn FnMut(String, Body) -> io::Result<JoinHandle<()>>,
    ) -> QueryResult<Self> {
        if worker_count <= RESERVED_LIFECYCLE_WORKERS {
            return Err(no_query_worker(device_ordinal, worker_count));
        }
        let (state, work, changed) = (Mutex::new(State::default()), Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { device_ordinal, worker_count, state, work, changed });
        // Shared with the supervisor, so that the handles are still here where that one does not start.
        let workers = Arc::new(Mutex::new(Vec::new()));
        let started = start(&shared, &workers, spawn);
        match started {
            Ok(supervisor) => Ok(Self(Arc::new(Owner { shared, supervisor: Mutex::new(Some(supervisor)) }))),
            Err(error) => {
                shared.close();
                join_all(std::mem::take(&mut *workers.lock()));
                let message = format!("device {device_ordinal}: a thread of its execution pool did not start: {error}");
                Err(QueryError::new(QueryErrorCode::Internal, operation::BUILD, message)
                    .with_reason("execution_pool_spawn_failed")
                    .with_fact("device_ordinal", device_ordinal))
            }
        }
    }

    /// Run `future` to its end on one worker, which it may block (B-167). A refused future is dropped here.
    ///
    /// # Errors
    ///
    /// `execution_pool_closed` once the pool is closed, `execution_pool_full` when [`QUEUED_JOBS_MAX`] jobs wait.
    pub fn spawn(&self, job: PoolJob, future: impl Future<Output = ()> + Send + 'static) -> QueryResult {
        let shared = &self.0.shared;
        let future: Job = Box::pin(future);
        let refused = {
            let mut state = shared.state.lock();
            let queue = if job == PoolJob::Query { &state.queries } else { &state.lifecycle };
            if state.closed {
                shared.closed_refusal()
            } else if queue.len() >= QUEUED_JOBS_MAX {
                shared.full_refusal()
            } else {
                match job {
                    PoolJob::Query => state.queries.push_back(future),
                    PoolJob::ContextSetup | PoolJob::Cleanup => state.lifecycle.push_back(future),
                }
                shared.work.notify_one();
                return Ok(());
            }
        };
        Err(refused)
    }

    /// Take no more jobs, and wait until lifecycle jobs and running queries are over and the threads have ended (B-169).
    /// Queries that have not begun are dropped, on the supervisor. May be called again and again.
    ///
    /// # Errors
    ///
    /// A cleanup deadline when `deadline` comes first; the pool ends all the same.
    pub fn close_and_wait_until(&self, deadline: Instant) -> QueryResult {
        let shared = &self.0.shared;
        shared.close();
        {
            let mut state = shared.state.lock();
            while !state.ended {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(shared.deadline(&state));
                }
                state = shared.changed.wait_timeout(state, left);
            }
        }
        self.join_supervisor()
    }

    /// Join the supervisor, which has joined the workers (B-170). Idempotent, and never waits for a job.
    ///
    /// # Errors
    ///
    /// A cleanup deadline while the workers have not ended; `execution_pool_supervisor_panicked`, once, if it did.
    pub fn join_supervisor(&self) -> QueryResult {
        let shared = &self.0.shared;
        {
            let state = shared.state.lock();
            if !state.ended {
                return Err(shared.deadline(&state));
            }
        }
        // The lock is kept, so that whoever comes second does not answer before the thread is gone. It takes no lock.
        let mut supervisor = self.0.supervisor.lock();
        let joined = supervisor.take().map_or(Ok(()), JoinHandle::join);
        joined.map_err(|payload| {
            discard(payload);
            let message = "the supervisor of an execution pool panicked; its workers have ended, restart the process";
            QueryError::new(QueryErrorCode::Internal, operation::CLOSE, message)
                .with_reason("execution_pool_supervisor_panicked")
                .with_fact("device_ordinal", shared.device_ordinal)
        })
    }

    /// The pool now.
    pub fn report(&self) -> ExecutionPoolReport {
        let shared = &self.0.shared;
        let state = shared.state.lock();
        ExecutionPoolReport {
            device_ordinal: shared.device_ordinal,
            worker_count: shared.worker_count,
            queued_queries: state.queries.len(),
            queued_lifecycle: state.lifecycle.len(),
            running_queries: state.running_queries,
            running_lifecycle: state.running_lifecycle,
            jobs: state.jobs,
            panics: state.panics,
            dropped: state.dropped,
            closed: state.closed,
            ended: state.ended,
        }
    }
}

impl fmt::Debug for GpuExecutionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = &self.0.shared;
        f.debug_struct("GpuExecutionPool")
            .field("device_ordinal", &shared.device_ordinal)
            .field("worker_count", &shared.worker_count)
            .finish_non_exhaustive()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // It may run on a worker, whose job held the last clone: nothing is joined here.
        self.shared.close();
    }
}

impl Shared {
    fn queries_max(&self) -> usize {
        self.worker_count - RESERVED_LIFECYCLE_WORKERS
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.work.notify_all();
        self.changed.notify_all();
    }

    /// One worker, until the pool is closed and no lifecycle job is left.
    fn work(&self) {
        while let Some((sort, job)) = self.next() {
            let panics = run(job);
            self.state.lock().finish(sort, panics);
        }
    }

    /// Each job wakes one sleeper, and who is awake looks until nothing is left for it: so when a worker that frees a query's
    /// place takes a lifecycle job, the one that was woken for that job finds the query.
    fn next(&self) -> Option<(Sort, Job)> {
        let mut state = self.state.lock();
        loop {
            if let Some(taken) = state.take(self.queries_max()) {
                return Some(taken);
            }
            if state.closed {
                return None;
            }
            state = self.work.wait(state);
        }
    }

    /// The supervisor: it has nothing to do before the close, so the destructors of dropped queries are run here, where they
    /// keep no worker and no closer.
    fn supervise(&self, workers: &Mutex<Vec<JoinHandle<()>>>) {
        let waiting = {
            let mut state = self.state.lock();
            while !state.closed {
                state = self.changed.wait(state);
            }
            std::mem::take(&mut state.queries)
        };
        for job in waiting {
            let panics = discarded(job);
            let mut state = self.state.lock();
            state.dropped += 1;
            state.panics += panics;
        }
        let handles = std::mem::take(&mut *workers.lock());
        join_all(handles);
        self.state.lock().ended = true;
        self.changed.notify_all();
    }

    fn closed_refusal(&self) -> QueryError {
        let message = format!("device {}: its execution pool is closed; build a new backend", self.device_ordinal);
        QueryError::new(QueryErrorCode::Cancelled, operation::RESOURCE, message)
            .with_reason("execution_pool_closed")
            .with_fact("device_ordinal", self.device_ordinal)
    }

    fn full_refusal(&self) -> QueryError {
        let message = format!(
            "device {}: {QUEUED_JOBS_MAX} jobs wait in its execution pool already; try again when some have ended",
            self.device_ordinal
        );
        QueryError::new(QueryErrorCode::ServiceOverloaded, operation::RESOURCE, message)
            .with_reason("execution_pool_full")
            .with_fact("device_ordinal", self.device_ordinal)
    }

    fn deadline(&self, state: &State) -> QueryError {
        QueryError::cleanup_deadline(operation::CLOSE)
            .with_fact("device_ordinal", self.device_ordinal)
            .with_fact("running_queries", state.running_queries)
            .with_fact("running_lifecycle", state.running_lifecycle)
            .with_fact("queued_lifecycle", state.lifecycle.len())
    }
}

/// Start the workers, then the supervisor. What has started is in `workers` also when this fails.
fn start(
    shared: &Arc<Shared>,
    workers: &Arc<Mutex<Vec<JoinHandle<()>>>>,
    spawn: &mut dyn FnMut(String, Body) -> io::Result<JoinHandle<()>>,
) -> io::Result<JoinHandle<()>> {
    let ordinal = shared.device_ordinal;
    for index in 0..shared.worker_count {
        let worker = shared.clone();
        let handle = spawn(format!("graphreel-worker-{ordinal}-{index}"), Box::new(move || worker.work()))?;
        workers.lock().push(handle);
    }
    let (supervisor, workers) = (shared.clone(), workers.clone());
    spawn(format!("graphreel-workers-{ordinal}"), Box::new(move || supervisor.supervise(&workers)))
}

fn no_query_worker(ordinal: usize, worker_count: usize) -> QueryError {
    let smallest = RESERVED_LIFECYCLE_WORKERS + 1;
    let message = format!(
        "device {ordinal} worker_count must exceed the lifecycle worker: it is {worker_count}, the smallest accepted value \
         is {smallest}"
    );
    QueryError::new(QueryErrorCode::InvalidConfiguration, operation::BUILD, message)
        .with_fact("field", "worker_count")
        .with_fact("device_ordinal", ordinal)
        .with_reason("worker_count_below_active_limit_and_lifecycle_reserve")
        .with_fact("installation_bound", worker_count)
        .with_fact("reserved_lifecycle_workers", RESERVED_LIFECYCLE_WORKERS)
}

/// Run a job to its end, and drop it; how often that panicked. The drop is apart: one in the unwinding of the other aborts.
fn run(mut job: Job) -> u64 {
    let panicked = absorbed(|| block_on(job.as_mut()));
    panicked + discarded(job)
}

/// Drop a job; how often that panicked.
fn discarded(job: Job) -> u64 {
    absorbed(|| drop(job))
}

/// A caller's code, of which a panic is counted and goes no further (B-171).
fn absorbed(code: impl FnOnce()) -> u64 {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(()) => 0,
        Err(payload) => {
            discard(payload);
            1
        }
    }
}

/// Drop what a panic carried. Its own destructor may panic; what that one carries is left where it is.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

fn join_all(workers: Vec<JoinHandle<()>>) {
    for worker in workers {
        // A worker absorbs what its jobs do; there is nothing in its answer.
        if let Err(payload) = worker.join() {
            discard(payload);
        }
    }
}
