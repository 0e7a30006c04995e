//! Lanes: independent, in order, alive after a panic, gone when nobody is left to submit.

use std::time::{Duration, Instant};

use super::*;
use crate::lifecycle::observation::lane::LANE_QUEUE_MAX;
use crate::lifecycle::reentrancy::refuse_reentrant_close;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

use std::sync::mpsc;

const LONG: Duration = Duration::from_secs(20);

/// Wait until nothing but a test knows the lanes: their threads have ended.
fn gone(lanes: &[crate::sync::Weak<Lane>]) -> bool {
    let deadline = Instant::now() + LONG;
    while lanes.iter().any(|lane| lane.strong_count() > 0) {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

fn watch(executor: &ObservationCompletionExecutor) -> Vec<crate::sync::Weak<Lane>> {
    ObservationLane::ALL.map(|which| Arc::downgrade(executor.0.0.get(which))).to_vec()
}

/// B-133, B-136.
#[test]
fn a_lane_keeps_the_order_and_survives_a_panic() {
    let executor = ObservationCompletionExecutor::spawn().unwrap();
    let dispatcher = executor.dispatcher();
    for which in ObservationLane::ALL {
        let (order, (done, is_done)) = (Arc::new(Mutex::new(Vec::new())), mpsc::channel());
        for step in 0..100 {
            let order = order.clone();
            dispatcher.dispatch(
                which,
                Box::new(move || {
                    order.lock().push((step, thread::current().name().map(str::to_owned)));
                    assert!(step % 10 != 3, "a job that panics");
                }),
            );
        }
        dispatcher.dispatch(which, Box::new(move || done.send(()).unwrap()));
        is_done.recv_timeout(LONG).unwrap();
        let name = Some(format!("graphreel-{}", which.as_str()));
        assert_eq!(*order.lock(), (0..100).map(|step| (step, name.clone())).collect::<Vec<_>>());
    }
}

/// B-135, B-142: a destructor that blocks does not hold up the seals, and is no observation callback.
#[test]
fn the_lanes_do_not_wait_for_each_other() {
    let executor = ObservationCompletionExecutor::spawn().unwrap();
    let dispatcher = executor.dispatcher();
    let ((open, gate), (entered, has_entered), (sealed, is_sealed)) =
        (mpsc::channel(), mpsc::channel(), mpsc::channel());
    dispatcher.dispatch(
        ObservationLane::ActivityTail,
        Box::new(move || {
            entered.send(refuse_reentrant_close().is_ok()).unwrap();
            gate.recv_timeout(LONG).unwrap();
        }),
    );
    assert!(has_entered.recv_timeout(LONG).unwrap(), "an activity's destructor may close");
    dispatcher.dispatch(
        ObservationLane::Observation,
        Box::new(move || sealed.send(refuse_reentrant_close().unwrap_err()).unwrap()),
    );
    let refused = is_sealed.recv_timeout(LONG).unwrap();
    assert_eq!(refused.reason(), Some("reentrant_observation_close"));
    open.send(()).unwrap();
}

/// B-134.
#[test]
fn a_lane_that_cannot_start_leaves_no_thread() {
    for failing in ObservationLane::ALL {
        let error = ObservationCompletionExecutor::spawn_failing_at(failing).unwrap_err();
        assert_eq!(error.code(), QueryErrorCode::Internal);
        assert_eq!(error.reason(), Some("observation_completion_worker_spawn_failed"));
        assert_eq!(error.fact_value("worker_lane"), Some(failing.as_str()));
    }
    let kept = Mutex::new(Vec::new());
    let started = AtomicUsize::new(0);
    let failed = ObservationCompletionExecutor::spawn_with(|_, builder, lane| {
        kept.lock().push(Arc::downgrade(&lane));
        match started.fetch_add(1, Ordering::Relaxed) {
            0 => builder.spawn(move || lane.run()),
            _ => Err(io::Error::from(io::ErrorKind::OutOfMemory)),
        }
    });
    assert!(failed.is_err());
    assert!(kept.lock().iter().all(|lane| lane.strong_count() == 0), "the first lane was joined");
}

/// B-143.
#[test]
fn the_last_dispatcher_ends_the_lanes_after_what_is_queued() {
    let executor = ObservationCompletionExecutor::spawn().unwrap();
    let (lanes, dispatcher, count) = (watch(&executor), executor.dispatcher(), Arc::new(AtomicUsize::new(0)));
    drop(executor);
    for which in ObservationLane::ALL {
        for _ in 0..50 {
            let count = count.clone();
            dispatcher.dispatch(which, Box::new(move || _ = count.fetch_add(1, Ordering::Relaxed)));
        }
    }
    drop(dispatcher);
    assert!(gone(&lanes));
    assert_eq!(count.load(Ordering::Relaxed), 100);
}

/// B-143: a lane that lets go last does not wait for itself.
#[test]
fn the_last_dispatcher_may_go_on_a_lane() {
    for which in ObservationLane::ALL {
        let executor = ObservationCompletionExecutor::spawn().unwrap();
        let (lanes, last, (open, gate)) = (watch(&executor), executor.dispatcher(), mpsc::channel::<()>());
        let dispatcher = executor.dispatcher();
        dispatcher.dispatch(
            which,
            Box::new(move || {
                gate.recv_timeout(LONG).unwrap();
                drop(last);
            }),
        );
        drop((executor, dispatcher));
        open.send(()).unwrap();
        assert!(gone(&lanes));
    }
}

/// B-137: after the lanes have stopped, a job runs where it is submitted, as a callback.
#[test]
fn a_stopped_lane_has_the_job_run_by_its_submitter() {
    let executor = ObservationCompletionExecutor::stopped();
    let ran = Arc::new(Mutex::new(Vec::new()));
    for which in ObservationLane::ALL {
        let ran = ran.clone();
        let job = move || ran.lock().push((thread::current().id(), refuse_reentrant_close().is_err()));
        executor.dispatcher().dispatch(which, Box::new(job));
        executor.dispatcher().dispatch(which, Box::new(|| panic!("contained here too")));
    }
    assert_eq!(*ran.lock(), [(thread::current().id(), true); 2]);
}

/// No job is begun after the detachment, and none is dropped; the one that runs is not waited for.
#[test]
fn a_detached_lane_begins_nothing_more() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let executor = ObservationCompletionExecutor::spawn().unwrap();
    let (lanes, dropped, dispatcher) = (watch(&executor), Arc::new(AtomicUsize::new(0)), executor.dispatcher());
    let ((open, gate), (entered, has_entered)) = (mpsc::channel(), mpsc::channel());
    dispatcher.dispatch(
        ObservationLane::Observation,
        Box::new(move || {
            entered.send(()).unwrap();
            gate.recv_timeout(LONG).unwrap();
        }),
    );
    has_entered.recv_timeout(LONG).unwrap();
    let counts = Counts(dropped.clone());
    dispatcher.dispatch(ObservationLane::Observation, Box::new(move || drop(counts)));
    executor.detach_for_exit();
    executor.detach_for_exit();
    open.send(()).unwrap();
    drop((executor, dispatcher));
    assert!(gone(&lanes));
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
}

/// B-137: a lane that is too far behind takes no more, and nobody waits for it.
#[test]
fn a_full_lane_has_the_job_run_by_its_submitter() {
    let executor = ObservationCompletionExecutor::spawn().unwrap();
    let (dispatcher, ran, (open, gate)) = (executor.dispatcher(), Arc::new(AtomicUsize::new(0)), mpsc::channel::<()>());
    let (entered, has_entered) = mpsc::channel();
    dispatcher.dispatch(
        ObservationLane::ActivityTail,
        Box::new(move || {
            entered.send(()).unwrap();
            gate.recv_timeout(LONG).unwrap();
        }),
    );
    has_entered.recv_timeout(LONG).unwrap();
    let give = || {
        let ran = ran.clone();
        let job = move || _ = ran.fetch_add(1, Ordering::Relaxed);
        dispatcher.dispatch(ObservationLane::ActivityTail, Box::new(job));
    };
    (0..LANE_QUEUE_MAX).for_each(|_| give());
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    give();
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    let lanes = watch(&executor);
    open.send(()).unwrap();
    drop((executor, dispatcher));
    assert!(gone(&lanes));
    assert_eq!(ran.load(Ordering::Relaxed), LANE_QUEUE_MAX + 1);
}
