//! The sleep of a thread that runs a future, and the smallest pool, in every interleaving.

use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use graphreel_loom::lifecycle::latch::Latch;
use graphreel_loom::lifecycle::park::block_on;
use graphreel_loom::lifecycle::pool::{GpuExecutionPool, PoolJob};
use graphreel_loom::sync::atomic::{AtomicBool, Ordering};
use graphreel_loom::sync::{Arc, Mutex, thread};

/// B-167: whenever the wake comes, before, in or after the poll that asks for it, the future goes on.
#[test]
fn no_wake_is_lost() {
    loom::model(|| {
        let (ready, slot) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None::<Waker>)));
        let waking = thread::spawn({
            let (ready, slot) = (ready.clone(), slot.clone());
            move || {
                ready.store(true, Ordering::Release);
                let waker = slot.lock().take();
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
        });
        let future = std::future::poll_fn(|context| {
            *slot.lock() = Some(context.waker().clone());
            if ready.load(Ordering::Acquire) { Poll::Ready(7) } else { Poll::Pending }
        });
        assert_eq!(block_on(pin!(future)), 7);
        waking.join().unwrap();
    });
}

/// B-169, B-170: one job of a sort, and a close.
#[test]
fn the_smallest_pool_closes() {
    for job in [PoolJob::Query, PoolJob::Cleanup] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || {
            let (pool, ran) = (GpuExecutionPool::new(0, 2).unwrap(), Arc::new(AtomicBool::new(false)));
            let runs = ran.clone();
            pool.spawn(job, async move { runs.store(true, Ordering::Release) }).unwrap();
            pool.close_and_wait_until(Instant::now() + Duration::from_secs(3600)).unwrap();
            let report = pool.report();
            assert_eq!((report.jobs + report.dropped, report.ended), (1, true));
            assert_eq!(ran.load(Ordering::Acquire), report.jobs == 1);
            assert!(job == PoolJob::Query || report.jobs == 1, "a lifecycle job was dropped");
        });
    }
}

/// B-168, XB-21: a cleanup runs past a query that is stuck until it has run.
#[test]
fn a_cleanup_runs_past_a_stuck_query() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let (pool, latch) = (GpuExecutionPool::new(0, 2).unwrap(), Arc::new(Latch::default()));
        let stuck = latch.clone();
        pool.spawn(PoolJob::Query, async move { stuck.wait() }).unwrap();
        pool.spawn(PoolJob::Cleanup, async move { latch.open() }).unwrap();
        pool.close_and_wait_until(Instant::now() + Duration::from_secs(3600)).unwrap();
        let report = pool.report();
        assert_eq!(report.jobs + report.dropped, 2);
    });
}
