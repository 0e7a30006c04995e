//! The execution pool on real threads: who runs where, what a close waits for, and what a panic reaches.

use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::clock::{Clock, Signal};

/// No wait takes as long.
const PATIENCE: Duration = Duration::from_secs(20);

fn pool(workers: usize) -> GpuExecutionPool {
    GpuExecutionPool::new(usize::MAX - 2, workers).unwrap()
}

fn later(millis: u64) -> Instant {
    Instant::now() + Duration::from_millis(millis)
}

fn wait(signal: &Signal) {
    let clock = Clock::system();
    assert!(clock.wait(signal, clock.deadline_in(PATIENCE)), "it never came");
}

/// A job that says that it runs and blocks its worker until it is let go.
fn blocking(pool: &GpuExecutionPool, job: PoolJob) -> (Signal, Signal) {
    let (begun, gate) = (Signal::new(), Signal::new());
    let (says, waits) = (begun.clone(), gate.clone());
    pool.spawn(job, async move {
        says.set();
        wait(&waits);
    })
    .unwrap();
    (begun, gate)
}

fn signalling(pool: &GpuExecutionPool, job: PoolJob) -> Signal {
    let ran = Signal::new();
    let says = ran.clone();
    pool.spawn(job, async move { says.set() }).unwrap();
    ran
}

fn close(pool: &GpuExecutionPool) {
    pool.close_and_wait_until(Instant::now() + PATIENCE).unwrap();
}

/// B-168, XB-21.
#[test]
fn stuck_queries_leave_a_worker_to_lifecycle_jobs() {
    let pool = pool(3);
    let stuck: Vec<_> = (0..2).map(|_| blocking(&pool, PoolJob::Query)).collect();
    stuck.iter().for_each(|(begun, _)| wait(begun));
    let queued = signalling(&pool, PoolJob::Query);
    wait(&signalling(&pool, PoolJob::Cleanup));
    wait(&signalling(&pool, PoolJob::ContextSetup));
    assert!(!queued.is_set(), "a third query took the reserved worker");
    let report = pool.report();
    assert_eq!((report.running_queries, report.queued_queries), (2, 1));
    stuck.iter().for_each(|(_, gate)| gate.set());
    wait(&queued);
    close(&pool);
}

/// B-168: a worker that frees a query's place and takes a lifecycle job tells a sleeper of the query that waits.
#[test]
fn a_query_does_not_wait_behind_a_lifecycle_job_of_another_worker() {
    let pool = pool(2);
    let (begun, gate) = blocking(&pool, PoolJob::Query);
    wait(&begun);
    let queued = signalling(&pool, PoolJob::Query);
    let blocked = [blocking(&pool, PoolJob::Cleanup), blocking(&pool, PoolJob::Cleanup)];
    wait(&blocked[0].0);
    gate.set();
    wait(&blocked[1].0);
    blocked[0].1.set();
    wait(&queued);
    blocked[1].1.set();
    close(&pool);
}

/// B-169, B-170: a close that runs out says so, goes on, and succeeds later.
#[test]
fn a_close_waits_for_lifecycle_jobs_in_slices() {
    let pool = pool(2);
    let (begun, gate) = blocking(&pool, PoolJob::Cleanup);
    wait(&begun);
    for _ in 0..3 {
        let error = pool.close_and_wait_until(later(5)).unwrap_err();
        assert!(error.is_cleanup_deadline_elapsed(), "{error}");
        assert_eq!(error.fact_value("running_lifecycle"), Some("1"));
    }
    assert!(pool.join_supervisor().unwrap_err().is_cleanup_deadline_elapsed());
    let error = pool.spawn(PoolJob::Cleanup, async {}).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::Cancelled, Some("execution_pool_closed")));
    gate.set();
    close(&pool);
    pool.join_supervisor().unwrap();
    pool.join_supervisor().unwrap();
    pool.close_and_wait_until(Instant::now()).unwrap();
    let report = pool.report();
    assert_eq!((report.jobs, report.panics, report.closed, report.ended), (1, 0, true, true));
}

/// Counts its drop, and says on which thread it was.
struct Tells(mpsc::Sender<Option<String>>);

impl Drop for Tells {
    fn drop(&mut self) {
        let name = thread::current().name().map(str::to_owned);
        self.0.send(name).expect("the test listens");
    }
}

/// B-169: queries that have not begun are dropped away from the closer, lifecycle jobs all run.
#[test]
fn a_close_drops_queued_queries_and_runs_queued_lifecycle_jobs() {
    let pool = pool(2);
    let (query, hold_query) = blocking(&pool, PoolJob::Query);
    let (cleanup, hold_cleanup) = blocking(&pool, PoolJob::Cleanup);
    wait(&query);
    wait(&cleanup);
    let (sender, drops) = mpsc::channel();
    for _ in 0..3 {
        let tells = Tells(sender.clone());
        pool.spawn(PoolJob::Query, async move {
            drop(tells);
            panic!("a query began after the close");
        })
        .unwrap();
    }
    let ran: Vec<_> = (0..4).map(|_| signalling(&pool, PoolJob::Cleanup)).collect();
    let error = pool.close_and_wait_until(later(5)).unwrap_err();
    assert_eq!(error.fact_value("queued_lifecycle"), Some("4"));
    for _ in 0..3 {
        let name = drops.recv_timeout(PATIENCE).unwrap();
        assert!(name.is_some_and(|name| name.starts_with("graphreel-workers-")), "not on the supervisor");
    }
    hold_cleanup.set();
    ran.iter().for_each(wait);
    assert!(pool.close_and_wait_until(later(5)).unwrap_err().is_cleanup_deadline_elapsed(), "a query is stuck");
    hold_query.set();
    close(&pool);
    let report = pool.report();
    assert_eq!((report.dropped, report.jobs, report.panics), (3, 6, 0));
}

/// What panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a destructor");
    }
}

/// B-171: by its code, by its destructor, by what its panic carries.
#[test]
fn a_panic_is_counted_and_keeps_its_worker() {
    let pool = pool(2);
    pool.spawn(PoolJob::Query, async { panic!("a job") }).unwrap();
    let bomb = Bomb;
    pool.spawn(
        PoolJob::Cleanup,
        std::future::poll_fn(move |_| {
            let _held = &bomb;
            std::task::Poll::Ready(())
        }),
    )
    .unwrap();
    pool.spawn(PoolJob::Cleanup, async { std::panic::panic_any(Bomb) }).unwrap();
    for _ in 0..8 {
        wait(&signalling(&pool, PoolJob::Query));
        wait(&signalling(&pool, PoolJob::Cleanup));
    }
    close(&pool);
    assert_eq!((pool.report().panics, pool.report().jobs), (3, 19));
}

/// B-171: a destructor of a dropped query does not stop the close either.
#[test]
fn a_dropped_query_that_panics_does_not_stop_the_close() {
    let pool = pool(2);
    let (begun, gate) = blocking(&pool, PoolJob::Query);
    wait(&begun);
    let bomb = Bomb;
    pool.spawn(PoolJob::Query, async move { drop(bomb) }).unwrap();
    pool.close_and_wait_until(Instant::now()).unwrap_err();
    gate.set();
    close(&pool);
    assert_eq!((pool.report().dropped, pool.report().panics), (1, 1));
}

/// B-166: threads only, at any ordinal; and none when one does not start.
#[test]
fn a_pool_needs_a_worker_for_queries_and_leaves_no_thread_behind() {
    for workers in [0, 1] {
        let error = GpuExecutionPool::new(7, workers).unwrap_err();
        assert_eq!(error.reason(), Some("worker_count_below_active_limit_and_lifecycle_reserve"));
        assert_eq!((error.fact_value("field"), error.fact_value("device_ordinal")), (Some("worker_count"), Some("7")));
    }
    for failing in 0..4 {
        let (mut started, alive) = (0, Arc::new(()));
        let error = GpuExecutionPool::with_spawner(0, 3, &mut |name, body| {
            started += 1;
            if started > failing {
                return Err(io::Error::other("no thread"));
            }
            let held = alive.clone();
            thread::Builder::new().name(name).spawn(move || {
                body();
                drop(held);
            })
        })
        .unwrap_err();
        assert_eq!(error.reason(), Some("execution_pool_spawn_failed"));
        assert_eq!((started, Arc::strong_count(&alive)), (failing + 1, 1), "a thread is left");
    }
}

/// B-169: a pool that nobody holds any more ends by itself, also when a job of its own held it last.
#[test]
fn a_dropped_pool_ends() {
    let pool = pool(2);
    let shared = Arc::downgrade(&pool.0.shared);
    let own = pool.clone();
    let (begun, gate) = (Signal::new(), Signal::new());
    let (says, waits) = (begun.clone(), gate.clone());
    pool.spawn(PoolJob::Query, async move {
        says.set();
        wait(&waits);
        drop(own);
    })
    .unwrap();
    wait(&begun);
    drop(pool);
    gate.set();
    let end = Instant::now() + PATIENCE;
    while shared.strong_count() > 0 {
        assert!(Instant::now() < end, "its threads are still there");
        thread::sleep(Duration::from_millis(1));
    }
}

/// B-167: the queue is bounded.
#[test]
fn a_full_queue_refuses_and_takes_again() {
    let pool = pool(2);
    let (begun, gate) = blocking(&pool, PoolJob::Query);
    wait(&begun);
    for _ in 0..QUEUED_JOBS_MAX {
        pool.spawn(PoolJob::Query, async {}).unwrap();
    }
    let error = pool.spawn(PoolJob::Query, async {}).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("execution_pool_full")));
    wait(&signalling(&pool, PoolJob::Cleanup));
    gate.set();
    close(&pool);
}

/// B-169: a close from one of its own workers is bounded by its deadline, and does not wait for itself beyond that.
#[test]
fn a_close_from_a_worker_runs_out() {
    let pool = pool(2);
    let own = pool.clone();
    let (sender, answers) = mpsc::channel();
    pool.spawn(PoolJob::Cleanup, async move {
        let answer = own.close_and_wait_until(later(5));
        sender.send(answer.unwrap_err().is_cleanup_deadline_elapsed()).expect("the test listens");
    })
    .unwrap();
    assert!(answers.recv_timeout(PATIENCE).unwrap());
    close(&pool);
}
