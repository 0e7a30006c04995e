//! What hurt services that share devices, as scenarios with the right outcome (docs/SCENARIOS.md).

use std::time::{Duration, Instant};

use graphreel::ServerError;
use graphreel::lifecycle::{
    AttemptOutcome, BeginAttemptRequest, GpuBackendCore, QueryAdmissionRequest, one_claiming_test,
};
use graphreel_sim::{SimFactory, SimOptions};

use crate::rig::{LONG, MIB, admit, admitted, built, close, profile, valid};

/// L13: a backend that never ran anything closes at once, and again.
#[test]
fn an_idle_backend_closes_at_once() {
    let _one = one_claiming_test();
    let (core, factory) = built(2);
    let started = Instant::now();
    for _ in 0..3 {
        core.close_and_wait(LONG).unwrap();
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    close(core, &factory);
}

/// L26, D62: the third of ten attempts meets a fault; it fails, the rest are refused without the driver, and health says so.
#[test]
fn a_fault_is_met_once() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    let probe = factory.probe(0).unwrap();
    let mut calls = 0;
    for number in 1..=10 {
        let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
        let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
        match session.admit_async_with_request(request).wait() {
            Ok(handle) => {
                assert!(number <= 3, "attempt {number} was admitted to a lost device");
                let context = handle.acquire_context().unwrap();
                let buffer = context.upload(&[number; 64]).unwrap();
                if number == 3 {
                    probe.lose("an illegal address");
                }
                let read = context.stream().read::<u32>(&buffer);
                match read {
                    Ok(words) => {
                        assert_eq!(words, [number; 64], "no stale bytes");
                        begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
                    }
                    Err(error) => {
                        assert!(number == 3 && error.is_device_lost(), "{error}");
                        begin.owner.commit_failed(error.into()).unwrap();
                        calls = probe.calls();
                    }
                }
            }
            Err(error) => {
                assert!(number > 3, "attempt {number}: {error}");
                assert_eq!(error.reason(), Some("no_healthy_device"));
                begin.owner.commit_failed(error).unwrap();
            }
        }
        let report = begin.completion.wait_timeout(LONG).unwrap();
        let outcome = match number {
            1 | 2 => AttemptOutcome::Succeeded,
            3 => AttemptOutcome::Failed,
            _ => AttemptOutcome::Rejected,
        };
        assert_eq!(report.outcome, outcome, "attempt {number}: {report:?}");
        if number == 3 {
            let until = Instant::now() + LONG;
            while core.health().ready {
                assert!(Instant::now() < until, "still ready without a device");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    assert_eq!(probe.calls(), calls, "the lost device was asked again");
    let health = core.health();
    assert!(health.live && !health.ready && health.degraded, "{health:?}");
    core.close_and_wait(LONG).unwrap();
}

/// L28, B-112: those that wait when their device goes are refused at once, and each attempt has its report.
#[test]
fn waiting_requests_hear_of_their_device() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    let held = [admitted(&session), admitted(&session)];
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
            let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
            let admission = session.admit_async_with_request(request);
            (begin, admission)
        })
        .collect();
    assert_eq!(session.diagnostics().unwrap().admission.queued, 20);
    let context = held[0].1.acquire_context().unwrap();
    factory.probe(0).unwrap().lose("it fell off the bus");
    assert!(context.upload(&[1_u32; 4]).unwrap_err().is_device_lost());
    drop(context);
    let started = Instant::now();
    for (begin, admission) in waiting {
        let error = admission.wait().unwrap_err();
        assert_eq!(error.reason(), Some("no_healthy_device"));
        begin.owner.commit_failed(error).unwrap();
        assert_eq!(begin.completion.wait_timeout(LONG).unwrap().outcome, AttemptOutcome::Rejected);
    }
    assert!(started.elapsed() < Duration::from_secs(5), "they waited for their deadlines");
    drop(held);
    core.close_and_wait(LONG).unwrap();
    assert_eq!(session.attempt_counters_snapshot().reports_ready, 22);
}

/// L30, L32, B-105: beyond the grant, and beyond what the device has, is an error; smaller work goes on.
#[test]
fn memory_that_is_not_there_is_an_error() {
    let _one = one_claiming_test();
    let factory = SimFactory::new([(0, SimOptions { memory_bytes: 32 * MIB, ..SimOptions::default() })]);
    let core = GpuBackendCore::new(valid(vec![profile(0)]), &factory).unwrap();
    let session = core.session_capability();
    let (begin, handle) = admit(&session, |request| request.with_byte_limit(16 * MIB)).unwrap();
    let context = handle.acquire_context().unwrap();
    let most = context.alloc(15 * MIB).unwrap();
    let Err(ServerError::OutOfMemory(refused)) = context.alloc(2 * MIB) else { panic!("it does not fit the grant") };
    assert_eq!((refused.need, refused.have, refused.limit), (2 * MIB, Some(MIB), Some(16 * MIB)));
    let small = context.upload(&[5_u32; 16]).unwrap();
    assert_eq!(context.stream().read::<u32>(&small).unwrap(), [5; 16]);
    assert!(context.alloc(u64::MAX).is_err() && context.alloc(0).is_err());
    drop((most, small, context, handle, begin));
    close(core, &factory);
}

/// L38: a deadline of 50 ms behind a job without an end is told in time, from the queue.
#[test]
fn a_deadline_does_not_wait_for_a_worker() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    let held = [admitted(&session), admitted(&session)];
    let (asked, wait) = (Instant::now(), Duration::from_millis(50));
    let error = admit(&session, |request| request.with_wait(wait)).unwrap_err();
    let late = asked.elapsed().saturating_sub(wait);
    assert_eq!(error.reason(), Some("admission_wait_elapsed"));
    assert!(asked.elapsed() >= wait && late < Duration::from_secs(2), "told {late:?} late");
    drop(held);
    close(core, &factory);
}

/// Events that a server keeps for later, and some in use.
const EVENTS_MAX: usize = 128;

/// L47, B-172: what many attempts leave is what one leaves.
#[test]
fn many_attempts_leave_what_one_leaves() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    let probe = factory.probe(0).unwrap();
    let attempt = |number: u32| {
        let (begin, handle) = admitted(&session);
        let context = handle.acquire_context().unwrap();
        let buffer = context.upload(&[number; 64]).unwrap();
        let (graph, ()) = context
            .capture(|c| {
                let scratch = c.alloc(256)?;
                c.copy(&buffer, &scratch)
            })
            .unwrap();
        graph.replay_on_stream(context.stream()).unwrap();
        begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
        assert!(begin.completion.wait_timeout(LONG).is_some());
        drop((graph, buffer, context));
    };
    (0..16).for_each(attempt);
    let (after_few, bytes) = (probe.live(), session.diagnostics().unwrap().devices[0].memory.reserved_bytes);
    let many = if std::env::var_os("GRAPHREEL_THOROUGH").is_some() { 100_000 } else { 2_000 };
    (16..many).for_each(attempt);
    let (after_many, now) = (probe.live(), session.diagnostics().unwrap());
    let lasting = |live: graphreel_sim::Live| (live.streams, live.memory, live.pinned, live.modules);
    assert_eq!(lasting(after_many), lasting(after_few));
    // An executable goes once the device is seen to be done with it, at a later call.
    assert!(after_many.execs + after_many.graphs <= 2, "{after_few} grew to {after_many}");
    assert!(after_many.events <= EVENTS_MAX, "{after_few} grew to {after_many}");
    assert_eq!(now.devices[0].memory.reserved_bytes, bytes);
    assert_eq!((now.devices[0].memory.in_use_bytes, now.devices[0].streams.retired), (0, 0));
    close(core, &factory);
}
