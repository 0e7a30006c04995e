//! Where requests go: devices that are closed, faults that close one, waits that end.

use std::time::{Duration, Instant};

use graphreel::lifecycle::config::{DeviceCapabilities, RequiredCapabilities};
use graphreel::lifecycle::{
    AdmissionClass, AttemptOutcome, BeginAttemptRequest, CancellationToken, GpuBackendCore, HealthReason,
    QueryAdmissionRequest, QueryErrorCode, TelemetryState, one_claiming_test,
};

use crate::rig::{LONG, MIB, SHARE, admit, admitted, built, close, profile, simulators, valid};

/// XB-15, B-112, B-185 to B-187: a quarantined device is passed over; with none left requests are refused.
#[test]
fn a_quarantined_device_is_passed_over() {
    let _one = one_claiming_test();
    let (core, factory) = built(2);
    let (session, injector) = (core.session_capability(), core.fault_injector());
    let kept = admitted(&session);
    assert_eq!(kept.1.device_ordinal(), 0, "B-111");
    let first = injector.quarantine_device(0).unwrap();
    assert!(!first.already_quarantined && injector.quarantine_device(0).unwrap().already_quarantined);
    assert_eq!(injector.quarantine_device(9).unwrap_err().reason(), Some("quarantine_device_not_installed"));
    for _ in 0..3 {
        let (begin, handle) = admitted(&session);
        assert_eq!(handle.device_ordinal(), 1);
        drop((begin, handle));
    }
    let health = core.health();
    assert_eq!((health.live, health.ready, health.degraded, health.restart_required), (true, true, true, false));
    injector.quarantine_device(1).unwrap();
    let error = admit(&session, |request| request).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::NoHealthyDevice, Some("no_healthy_device")));
    assert!(!core.health().ready && core.health().reasons.contains(&HealthReason::NoEligibleDevice));
    // Who is active goes on, and is accounted as ever.
    assert!(kept.1.acquire_context().unwrap().upload(&[1_u32; 4]).is_ok());
    drop(kept);
    close(core, &factory);
    assert_eq!(injector.quarantine_device(0).unwrap_err().reason(), Some("backend_closing"));
}

/// XB-30: a fault that ends a context closes that device's ledger alone, and is met without another driver call.
#[test]
fn a_lost_device_closes_its_own_ledger() {
    let _one = one_claiming_test();
    let (core, factory) = built(2);
    let session = core.session_capability();
    let (begin, handle) = admitted(&session);
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    context.stream().sync().unwrap();
    let probe = factory.probe(0).unwrap();
    probe.lose("an illegal address");
    assert!(context.stream().read::<u32>(&buffer).unwrap_err().is_device_lost());
    let until = Instant::now() + LONG;
    while !core.health().degraded {
        assert!(Instant::now() < until, "nobody heard of the loss");
        std::thread::sleep(Duration::from_millis(1));
    }
    let health = core.health();
    assert!(health.live && health.ready && !health.restart_required, "{health:?}");
    let calls = probe.calls();
    for _ in 0..4 {
        let (begin, handle) = admitted(&session);
        assert_eq!(handle.device_ordinal(), 1);
        handle.acquire_context().unwrap().upload(&[1_u32; 4]).unwrap();
        drop((handle, begin));
    }
    assert!(context.upload(&[1_u32; 4]).unwrap_err().is_device_lost());
    assert_eq!(probe.calls(), calls, "the lost device was asked");
    let only = admit(&session, |request| request.with_devices([0])).unwrap_err();
    assert_eq!(only.reason(), Some("no_healthy_device"));
    begin.owner.commit_terminal(AttemptOutcome::Failed).unwrap();
    let report = begin.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.outcome, report.device_ordinal), (AttemptOutcome::Failed, Some(0)));
    drop((context, buffer, handle));
    core.close_and_wait(LONG).unwrap();
    // Another backend has the device whole again, with its history.
    let again = GpuBackendCore::new(valid(vec![profile(0)]), &simulators(1)).unwrap();
    assert!(again.device_startup_records()[0].device_health_generation > 0, "B-75");
    again.close_and_wait(LONG).unwrap();
}

/// XB-14, B-99, B-100, B-108, B-109, B-112: each way out of admission by its code and reason, and nothing kept.
#[test]
fn every_refusal_has_its_reason_and_keeps_nothing() {
    let _one = one_claiming_test();
    let factory = simulators(1);
    let limited = profile(0).with_device_capabilities(DeviceCapabilities::only(["f16"]));
    let core = GpuBackendCore::new(valid(vec![limited]), &factory).unwrap();
    let session = core.session_capability();
    let held = [admitted(&session), admitted(&session)];
    let refused = |error: graphreel::lifecycle::QueryError| (error.code(), error.reason().unwrap().to_owned());
    let wait = |request: QueryAdmissionRequest| request.with_wait(Duration::from_millis(30));
    let started = Instant::now();
    let error = admit(&session, wait).unwrap_err();
    assert_eq!(refused(error), (QueryErrorCode::ServiceOverloaded, "admission_wait_elapsed".to_owned()));
    assert!(started.elapsed() >= Duration::from_millis(30));
    let token = CancellationToken::new();
    token.cancel();
    let error = admit(&session, |request| request.with_cancellation(token)).unwrap_err();
    assert_eq!(refused(error), (QueryErrorCode::Cancelled, "admission_cancelled".to_owned()));
    let error = admit(&session, |request| request.with_byte_limit(SHARE + 1)).unwrap_err();
    assert!(error.message().contains(&SHARE.to_string()), "need and largest: {error}");
    assert_eq!(
        refused(error),
        (QueryErrorCode::GrantExceedsDeviceCapacity, "grant_exceeds_device_capacity".to_owned())
    );
    let needs = RequiredCapabilities::new(["f64"]);
    let error = admit(&session, |request| request.with_required_capabilities(needs)).unwrap_err();
    assert_eq!(refused(error), (QueryErrorCode::NoCapableDevice, "no_capable_device".to_owned()));
    // A terminal of the attempt takes its request out of the queue.
    let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
    let waiting = session.admit_async_with_request(QueryAdmissionRequest::new(begin.owner.admission_binding()));
    let twice = session.admit_async_with_request(QueryAdmissionRequest::new(begin.owner.admission_binding()));
    assert_eq!(twice.wait().unwrap_err().reason(), Some("attempt_already_admitted"));
    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    assert_eq!(waiting.wait().unwrap_err().reason(), Some("admission_cancelled"));
    // A dropped future leaves the queue, and gives its permits back (B-116).
    let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
    let request = QueryAdmissionRequest::new(begin.owner.admission_binding()).with_class(AdmissionClass::High);
    let waiting = session.admit_async_with_request(request);
    assert_eq!(core.close_snapshot().active_gpu_permits, 3);
    assert_eq!(session.diagnostics().unwrap().admission.queued, 1);
    drop(waiting);
    assert_eq!(core.close_snapshot().active_gpu_permits, 2);
    // It may ask again once there is room.
    drop(held);
    let again = session.admit_async_with_request(QueryAdmissionRequest::new(begin.owner.admission_binding()));
    let handle = again.wait().unwrap();
    assert_eq!(handle.granted_bytes(), 4 * MIB);
    drop((begin, handle));
    close(core, &factory);
}

/// B-101: placed now, or not at all.
#[test]
fn a_try_does_not_wait() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    let attempt = || session.begin_attempt(BeginAttemptRequest::default()).unwrap();
    let attempts: Vec<_> = (0..3).map(|_| attempt()).collect();
    let tried: Vec<_> = attempts
        .iter()
        .map(|begin| {
            let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
            session.try_admit_query_with_request(request).unwrap()
        })
        .collect();
    assert_eq!(tried.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    drop((attempts, tried));
    close(core, &factory);
}

/// B-97: a test's own attempt ends through its handle.
#[test]
fn a_tests_handle_has_its_attempt() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let mut handle = core.session_capability().admit_query().unwrap();
    let begin = handle.take_attempt().unwrap();
    assert!(handle.take_attempt().is_none());
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert!(begin.completion.wait_timeout(LONG).is_some() && handle.is_over());
    assert_eq!(handle.acquire_context().unwrap_err().reason(), Some("backend_closing"));
    close(core, &factory);
}

/// B-118, B-183, B-184, B-202: diagnostics say what is installed and held; no source of telemetry is no error.
#[test]
fn diagnostics_say_what_is_held() {
    let _one = one_claiming_test();
    let factory = simulators(2);
    let silent = profile(1).with_telemetry(false);
    let core = GpuBackendCore::new(valid(vec![profile(0), silent]), &factory).unwrap();
    let session = core.session_capability();
    let (begin, handle) = admitted(&session);
    let context = handle.acquire_context().unwrap();
    let _buffer = context.upload(&[1_u32; 1024]).unwrap();
    let found = session.diagnostics().unwrap();
    assert_eq!((found.identity, found.devices.len()), (core.identity(), 2));
    let ledger = &found.admission.devices[0];
    assert_eq!((ledger.committed_bytes, ledger.active, ledger.capacity_bytes), (4 * MIB, 1, SHARE));
    let device = &found.devices[0];
    assert_eq!((device.streams.checked_out, device.lanes_taken, device.pool.worker_count), (2, 1, 3));
    assert!(device.memory.in_use_bytes >= 4096 && device.lost.is_none());
    assert_eq!(device.facts.total_bytes_provenance.as_str(), "reported");
    let telemetry = session.device_telemetry_snapshots().unwrap();
    assert_eq!(telemetry.len(), 1, "one device has telemetry installed");
    assert!(matches!(telemetry[0].state, TelemetryState::Unavailable { .. }));
    let text = core.prometheus_text();
    assert!(text.contains("graphreel_attempts_begun_total") && text.contains("backend=\"sim\""), "{text}");
    drop((_buffer, context, handle, begin));
    close(core, &factory);
}
