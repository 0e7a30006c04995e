//! Begin and end of attempts that hold nothing of a device.

use std::sync::Barrier;
use std::time::Duration;

use super::fakes::{LONG, begin, closes, core, core_with, permits};
use crate::clock::Clock;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::owner::BeginAttemptRequest;
use crate::lifecycle::attempt::report::{AttemptDisposition, AttemptOutcome};
use crate::lifecycle::error::{QueryError, QueryErrorCode, operation};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, thread};

/// TB-3; B-122 to B-126, B-180: a sink that panics changes nothing for the others, wherever it stands among them.
#[test]
fn a_panicking_sink_costs_nobody_an_update() {
    for panicking in 0..3 {
        let core = core();
        let begun = begin(&core);
        let ran = Arc::new(AtomicUsize::new(0));
        for at in 0..3 {
            let ran = ran.clone();
            let sink = move |_: &_| {
                ran.fetch_add(1, Ordering::Relaxed);
                assert!(at != panicking, "a sink that panics");
            };
            begun.owner.register_sealed_report_sink(sink).unwrap();
        }
        begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
        let after_commit = core.metrics().snapshot();
        drop(begun);
        let after_drop = core.metrics().snapshot();
        for snapshot in [&after_commit, &after_drop] {
            let attempts = &snapshot.attempts;
            assert_eq!(attempts.completed(AttemptDisposition::Unplanned, AttemptOutcome::Succeeded), 1);
            assert_eq!((attempts.completed_total(), snapshot.generation), (1, 1));
        }
        assert_eq!(after_commit, after_drop);
        assert_eq!(ran.load(Ordering::Relaxed), 3);
        assert!(closes(&core));
    }
}

/// TB-20; B-120.
#[test]
fn a_begin_after_close_counts_nothing() {
    let core = core();
    assert!(core.lifecycle().close());
    let refused = core.begin_attempt(BeginAttemptRequest::default()).unwrap_err();
    assert_eq!((refused.code(), refused.reason()), (QueryErrorCode::Cancelled, Some("backend_closing")));
    assert_eq!(core.counters_snapshot().attempts_begun, 0);
    assert_eq!(permits(&core), (0, 0));
}

/// TB-21; B-119, B-121, B-124, B-130.
#[test]
fn an_open_attempt_holds_the_observation_scope_until_its_report() {
    let core = core();
    let begun = begin(&core);
    assert!(core.lifecycle().close());
    assert_eq!(permits(&core), (0, 1));
    assert!(!begun.completion.is_ready());
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let report = begun.completion.wait_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(report.outcome, AttemptOutcome::Succeeded);
    assert_eq!(core.counters_snapshot().reports_ready, 1);
    drop(begun);
    assert!(closes(&core));
    assert_eq!(core.counters_snapshot().reports_ready, 1);
}

/// TB-22; B-121, B-131, B-181: a receiver that is kept delays nothing and stays readable.
#[test]
fn a_kept_receiver_does_not_delay_close() {
    let core = core();
    let begun = begin(&core);
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let (report, view) = (begun.completion.wait_timeout(LONG).unwrap(), begun.completion.completion());
    assert!(closes(&core));
    assert!(begun.completion.is_ready());
    assert_eq!((core.metrics().snapshot().generation, core.counters_snapshot().reports_ready), (1, 1));
    drop((begun, core));
    assert_eq!(view.report().unwrap().attempt_id, report.attempt_id);
}

/// TB-23; B-119, B-120, B-124.
#[test]
fn begin_and_close_race_to_one_of_two_ends() {
    for _ in 0..16 {
        let (core, barrier) = (core(), Arc::new(Barrier::new(3)));
        let beginner = thread::spawn({
            let (core, barrier) = (core.clone(), barrier.clone());
            move || {
                barrier.wait();
                let begun = core.begin_attempt(BeginAttemptRequest::default())?;
                begun.owner.commit_terminal(AttemptOutcome::Succeeded)?;
                Ok::<_, QueryError>(begun.completion.wait_timeout(LONG).unwrap().outcome)
            }
        });
        let closer = thread::spawn({
            let (core, barrier) = (core.clone(), barrier.clone());
            move || {
                barrier.wait();
                core.lifecycle().close()
            }
        });
        barrier.wait();
        assert!(closer.join().unwrap(), "nobody else closes");
        let counters = |core: &ObservationCore| {
            let counters = core.counters_snapshot();
            (counters.attempts_begun, counters.reports_ready)
        };
        match beginner.join().unwrap() {
            Ok(outcome) => assert_eq!((outcome, counters(&core)), (AttemptOutcome::Succeeded, (1, 1))),
            Err(refused) => assert_eq!((refused.reason(), counters(&core)), (Some("backend_closing"), (0, 0))),
        }
        assert!(core.begin_attempt(BeginAttemptRequest::default()).is_err());
        assert!(closes(&core));
    }
}

/// XB-27; B-87: an attempt that won its begin and finds the backend closing ends without planning, and says why.
#[test]
fn an_attempt_that_finds_the_backend_closing_says_so() {
    let core = core();
    let (begun, other) = (begin(&core), begin(&core));
    assert!(!begun.owner.is_closing());
    other.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    core.lifecycle().close();
    assert!(begun.owner.is_closing());
    let refused = core.begin_attempt(BeginAttemptRequest::default()).unwrap_err();
    begun.owner.commit_failed(refused).unwrap();
    let report = begun.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.outcome, report.disposition), (AttemptOutcome::Cancelled, AttemptDisposition::Unplanned));
    assert!(report.backend_closing);
    assert_eq!(report.error.as_ref().and_then(QueryError::reason), Some("backend_closing"));
    assert!(!other.completion.wait_timeout(LONG).unwrap().backend_closing);
    assert_eq!(core.metrics().snapshot().attempts.completed_while_closing(), 1);
    assert!(closes(&core));
}

/// XB-28; B-106: an attempt without admission is nothing to the GPU scope.
#[test]
fn a_begin_takes_no_gpu_permit() {
    let core = core();
    let begun = begin(&core);
    assert_eq!(permits(&core), (0, 1));
    core.lifecycle().close();
    let now = Some(std::time::Instant::now());
    assert!(core.lifecycle().wait_gpu_idle(now));
    assert!(!core.lifecycle().wait_observation_idle(now));
    drop(begun);
    assert!(closes(&core));
}

/// B-122, B-132.
#[test]
fn the_first_terminal_stands() {
    let core = core();
    let begun = begin(&core);
    begun.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    let refused = [
        begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap_err(),
        begun.owner.commit_failed(QueryError::cleanup_deadline(operation::ATTEMPT)).unwrap_err(),
        begun.owner.register_sealed_report_sink(|_| unreachable!("it has sealed")).unwrap_err(),
        begun.owner.register_seal_observer(|_| unreachable!("it has sealed")).unwrap_err(),
    ];
    for error in refused {
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("attempt_already_terminal")));
        assert_eq!(error.fact_value("attempt_id"), Some("1"));
    }
    let dropped = begin(&core);
    drop(dropped.owner);
    assert_eq!(dropped.completion.wait_timeout(LONG).unwrap().outcome, AttemptOutcome::Dropped);
    drop(begun.owner);
    assert_eq!(begun.completion.wait_timeout(LONG).unwrap().outcome, AttemptOutcome::Cancelled);
    let (counters, metrics) = (core.counters_snapshot(), core.metrics().snapshot());
    assert_eq!((counters.attempts_begun, counters.reports_ready, metrics.generation), (2, 2, 2));
}

/// B-132: what an attempt ended with says how it ended.
#[test]
fn an_error_decides_the_outcome() {
    let table = [
        (QueryErrorCode::Internal, AttemptOutcome::Failed),
        (QueryErrorCode::UnsupportedOperation, AttemptOutcome::Failed),
        (QueryErrorCode::Cancelled, AttemptOutcome::Cancelled),
        (QueryErrorCode::ServiceOverloaded, AttemptOutcome::Rejected),
        (QueryErrorCode::NoHealthyDevice, AttemptOutcome::Rejected),
    ];
    let core = core();
    for (code, outcome) in table {
        let begun = begin(&core);
        begun.owner.commit_failed(QueryError::new(code, operation::ATTEMPT, "it ended")).unwrap();
        let report = begun.completion.wait_timeout(LONG).unwrap();
        assert_eq!((report.outcome, report.error.as_ref().map(QueryError::code)), (outcome, Some(code)));
    }
}

/// B-123, B-131: durations go by the backend's clock, and a plan made on the host is told from none.
#[test]
fn durations_go_by_the_clock() {
    let clock = Clock::manual();
    let core = core_with(&clock, None);
    let begun = core.begin_attempt(BeginAttemptRequest::default().with_name("scan")).unwrap();
    clock.advance(Duration::from_millis(2));
    begun.owner.mark_planned();
    clock.advance(Duration::from_millis(3));
    begun.owner.mark_planned();
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let report = begun.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.total, report.planning), (Duration::from_millis(5), Duration::from_millis(2)));
    assert_eq!((report.queue_wait, report.physical_execution), (Duration::ZERO, Duration::ZERO));
    assert_eq!((report.disposition, report.device_ordinal), (AttemptDisposition::HostOnly, None));
    assert_eq!((report.name.as_deref(), report.attempt_id, begun.owner.id()), (Some("scan"), 1, 1));
    let durations = core.metrics().snapshot().durations;
    assert_eq!((durations.total_ns, durations.planning_ns), (5_000_000, 2_000_000));
}

/// B-123, B-124: nobody else's thread is needed, and who sees the report sees the counter.
#[test]
fn an_attempt_without_device_work_ends_on_its_callers_thread() {
    let core = core();
    let begun = begin(&core);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (sink, observer) = (seen.clone(), seen.clone());
    let (view, counters) = (begun.completion.completion(), core.clone());
    begun
        .owner
        .register_sealed_report_sink(move |_| {
            let ready = (view.is_ready(), counters.counters_snapshot().reports_ready);
            sink.lock().push(("sink", thread::current().id(), ready, permits(&counters)));
        })
        .unwrap();
    let (view, counters) = (begun.completion.completion(), core.clone());
    begun
        .owner
        .register_seal_observer(move |_| {
            let ready = (view.is_ready(), counters.counters_snapshot().reports_ready);
            observer.lock().push(("observer", thread::current().id(), ready, permits(&counters)));
        })
        .unwrap();
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let here = thread::current().id();
    assert_eq!(*seen.lock(), [("sink", here, (false, 0), (0, 1)), ("observer", here, (true, 1), (0, 1))]);
    assert_eq!(permits(&core), (0, 0));
}
