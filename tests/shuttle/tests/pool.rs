//! The execution pool under many schedules: stuck queries, a close while jobs run, joins by several closers, a dropped pool.

use std::task::Poll;
use std::time::{Duration, Instant};

use graphreel_shuttle::lifecycle::latch::Latch;
use graphreel_shuttle::lifecycle::pool::{GpuExecutionPool, PoolJob};
use graphreel_shuttle::sync::atomic::{AtomicUsize, Ordering};
use graphreel_shuttle::sync::{Arc, thread};

fn check(model: impl Fn() + Send + Sync + 'static) {
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1");
    shuttle::check_random(model, if thorough { 100_000 } else { 2_000 });
}

/// Time does not pass in a model, so this deadline never comes.
fn never() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

fn pool(workers: usize) -> GpuExecutionPool {
    GpuExecutionPool::new(0, workers).expect("threads start")
}

/// B-168, XB-21: the cleanup that ends the stuck queries runs although every query worker is stuck in one.
#[test]
fn a_cleanup_runs_past_stuck_queries() {
    check(|| {
        let (pool, gate) = (pool(3), Arc::new(Latch::default()));
        for _ in 0..3 {
            let gate = gate.clone();
            pool.spawn(PoolJob::Query, async move { gate.wait() }).expect("it is open");
        }
        pool.spawn(PoolJob::Cleanup, async move { gate.open() }).expect("it is open");
        pool.close_and_wait_until(never()).expect("nothing is stuck for good");
        let report = pool.report();
        assert_eq!(report.jobs + report.dropped, 4);
        assert_eq!((report.running_queries, report.running_lifecycle, report.queued_queries), (0, 0, 0));
    });
}

/// B-168: a lifecycle job may wait for a query: one that waits for a worker is told of a place, whoever frees it.
#[test]
fn a_waiting_query_gets_the_place_that_is_free() {
    check(|| {
        let (pool, first, second) = (pool(2), Arc::new(Latch::default()), Arc::new(Latch::default()));
        let (hold, done) = (first.clone(), second.clone());
        pool.spawn(PoolJob::Query, async move { hold.wait() }).expect("it is open");
        pool.spawn(PoolJob::Query, async move { done.open() }).expect("it is open");
        let wait = second.clone();
        pool.spawn(PoolJob::Cleanup, async move { first.open() }).expect("it is open");
        pool.spawn(PoolJob::Cleanup, async move { wait.wait() }).expect("it is open");
        second.wait();
        pool.close_and_wait_until(never()).expect("nothing is stuck");
        assert_eq!(pool.report().jobs, 4);
    });
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// B-169: a close that races jobs and their makers: what was taken runs or is dropped, once; lifecycle jobs all run.
#[test]
fn a_close_races_spawns() {
    check(|| {
        let (pool, gone, ran) = (pool(2), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let maker = thread::spawn({
            let (pool, gone, ran) = (pool.clone(), gone.clone(), ran.clone());
            move || {
                let mut cleanups = 0;
                for job in [PoolJob::Query, PoolJob::Cleanup, PoolJob::Query, PoolJob::ContextSetup] {
                    let (held, ran) = (Counted(gone.clone()), ran.clone());
                    let taken = pool.spawn(job, async move {
                        let _held = held;
                        if job != PoolJob::Query {
                            ran.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                    cleanups += usize::from(taken.is_ok() && job != PoolJob::Query);
                }
                cleanups
            }
        });
        pool.close_and_wait_until(never()).expect("nothing is stuck");
        let cleanups = maker.join().expect("it does not panic");
        assert_eq!(ran.load(Ordering::SeqCst), cleanups, "a lifecycle job that was taken did not run");
        assert_eq!(gone.load(Ordering::SeqCst), 4, "a job is still there, or was dropped twice");
        let report = pool.report();
        assert!(report.ended && report.queued_queries == 0 && report.queued_lifecycle == 0);
    });
}

/// B-169, B-170: several closers, one of which runs out of time, and a join that is not early.
#[test]
fn closers_join_once() {
    check(|| {
        let (pool, gate) = (pool(2), Arc::new(Latch::default()));
        let wait = gate.clone();
        pool.spawn(PoolJob::Cleanup, async move { wait.wait() }).expect("it is open");
        let closer = thread::spawn({
            let pool = pool.clone();
            move || {
                pool.close_and_wait_until(never()).expect("the gate opens");
                assert!(pool.report().ended);
            }
        });
        let early = pool.close_and_wait_until(Instant::now()).expect_err("the gate is shut");
        assert!(early.is_cleanup_deadline_elapsed());
        gate.open();
        pool.close_and_wait_until(never()).expect("the gate is open");
        pool.join_supervisor().expect("it has ended");
        closer.join().expect("it does not panic");
    });
}

/// B-170: a pool whose last holder is a job of its own ends, and joins nobody on its way.
#[test]
fn a_job_may_hold_the_pool_last() {
    check(|| {
        let (pool, gone) = (pool(2), Arc::new(AtomicUsize::new(0)));
        let (own, held) = (pool.clone(), Counted(gone.clone()));
        pool.spawn(PoolJob::Query, async move {
            let _held = held;
            drop(own);
        })
        .expect("it is open");
        drop(pool);
        while gone.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    });
}

/// B-167: a future that is woken from another thread runs to its end on its worker.
#[test]
fn a_future_is_woken_from_elsewhere() {
    check(|| {
        let (pool, mut polls) = (pool(2), 0);
        let future = std::future::poll_fn(move |context| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            drop(thread::spawn(move || waker.wake()));
            Poll::Pending
        });
        pool.spawn(PoolJob::ContextSetup, future).expect("it is open");
        pool.close_and_wait_until(never()).expect("it is woken");
        assert_eq!(pool.report().jobs, 1);
    });
}
