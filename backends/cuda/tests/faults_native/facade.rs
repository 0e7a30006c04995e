//! The same faults in an attempt of a backend: its report tells, those of others are as they were, and only another process gets
//! over it.

use std::time::{Duration, Instant};

use graphreel::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit, GpuMemoryOwnership,
    QueryExecutionConfig, QueueBounds,
};
use graphreel::lifecycle::{
    AttemptBegin, AttemptOutcome, BeginAttemptRequest, GpuBackendCore, GpuBackendSession, HealthReason,
    QueryAdmissionRequest, QueryHandle, QueryResult, one_claiming_test,
};
use graphreel::{Grid, ServerError};
use graphreel_cuda::CudaFactory;
use graphreel_testkit::announce;

use crate::child::leave;
use crate::kernels::{ARMED, Fault, WORDS};

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A backend over the first device, of whose memory its attempts have `grant` bytes each.
pub(crate) fn built(share: u64, grant: u64) -> QueryResult<GpuBackendCore> {
    let profile = GpuBackendDeviceProfile::new(0)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: share })
        .with_default_query_limit_bytes(grant);
    let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    let queue = QueueBounds::new(64, LONG);
    let config = GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), queue);
    GpuBackendCore::new(config.validate().unwrap(), &CudaFactory::default())
}

pub(crate) fn admitted(session: &GpuBackendSession) -> QueryResult<(AttemptBegin, QueryHandle)> {
    let begin = session.begin_attempt(BeginAttemptRequest::default())?;
    let handle =
        session.admit_async_with_request(QueryAdmissionRequest::new(begin.owner.admission_binding())).wait()?;
    Ok((begin, handle))
}

pub(crate) fn close(core: &GpuBackendCore) {
    let closed = core.close_and_wait(LONG).unwrap();
    assert!(closed.gpu_resource_quiescent && closed.observation_quiescent, "B-151: {closed:?}");
}

/// Wait for `condition`.
fn until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// XB-30, B-75, B-112, B-124, B-151: an attempt whose kernel faults, beside one that did nothing wrong, after one that succeeded.
pub(crate) fn attempt(fault: Fault) -> ! {
    let _one = one_claiming_test();
    let core = built(64 << 20, 16 << 20).unwrap();
    let session = core.session_capability();
    let first = well(fault, &session);
    let (begin, handle) = admitted(&session).unwrap();
    let (beside, beside_handle) = admitted(&session).unwrap();
    let beside_context = beside_handle.acquire_context().unwrap();
    let kept = beside_context.upload(&[9u32; 64]).unwrap();
    let bytes = beside_context.stream().read::<u32>(&kept).unwrap();
    let lost = faulted(fault, &handle);
    until("the backend hears of the fault", || core.health().degraded);
    is_closed_for_good(fault, &core);
    // Whose attempt it was not hears of it as well, and keeps what it had.
    fault.lost(&beside_context.stream().read::<u32>(&kept).unwrap_err());
    fault.lost(&beside_context.upload(&[1u32; 4]).unwrap_err());
    assert_eq!(bytes, [9; 64]);
    let error = admitted(&session).map(drop).unwrap_err();
    assert_eq!(error.reason(), Some("no_healthy_device"), "B-112: {error}");
    begin.owner.commit_failed(lost.into()).unwrap();
    let report = begin.completion.wait_timeout(LONG).expect("the attempt reports");
    announce(&format!("{fault:?}: {report:?}"));
    assert_eq!(report.outcome, AttemptOutcome::Failed);
    let told = report.error.as_ref().expect("it says why");
    assert_eq!(told.reason(), Some("device_lost"), "{told}");
    assert!(told.fact_value("native_message").is_some_and(|text| text.contains("CUDA_ERROR_")), "{told}");
    let ended = beside_context.stream().sync().unwrap_err();
    beside.owner.commit_failed(ended.into()).unwrap();
    let report = beside.completion.wait_timeout(LONG).expect("the attempt beside it reports");
    assert_eq!(report.error.as_ref().and_then(|error| error.reason()), Some("device_lost"), "{report:?}");
    // B-124: what was sealed before the fault is as it was.
    let report = first.completion.wait_timeout(LONG).expect("it is reported since long");
    assert!(report.outcome == AttemptOutcome::Succeeded && report.error.is_none(), "{report:?}");
    drop((kept, beside_context, beside_handle, handle));
    close(&core);
    let error = built(64 << 20, 16 << 20).map(drop).unwrap_err();
    announce(&format!("{fault:?}: {error}"));
    assert_eq!(error.reason(), Some("device_restart_required"), "B-75: {error}");
    leave(&format!("backend/{}", fault.name()))
}

/// An attempt that replays the kernel while it is not armed.
fn well(fault: Fault, session: &GpuBackendSession) -> AttemptBegin {
    let (begin, handle) = admitted(session).unwrap();
    let context = handle.acquire_context().unwrap();
    let kernel = context.kernel(fault.source()).unwrap();
    let out = context.upload(&[0u32; WORDS as usize]).unwrap();
    let (graph, ()) = context.capture(|c| c.launch(&kernel, Grid::cover(WORDS.into()), (0u32, &out))).unwrap();
    context.replay(&graph).unwrap().wait().unwrap();
    assert_eq!(context.stream().read::<u32>(&out).unwrap(), Fault::written());
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert_eq!(begin.completion.wait_timeout(LONG).expect("it reports").outcome, AttemptOutcome::Succeeded);
    begin
}

/// The kernel in an attempt, replayed well and then armed; what the attempt ends with.
fn faulted(fault: Fault, handle: &QueryHandle) -> ServerError {
    let context = handle.acquire_context().unwrap();
    let kernel = context.kernel(fault.source()).unwrap();
    let out = context.upload(&[0u32; WORDS as usize]).unwrap();
    let captured = context.capture(|c| {
        let armed = c.param(ARMED, 0u32);
        c.launch(&kernel, Grid::cover(WORDS.into()), (&armed, &out))
    });
    let (graph, ()) = captured.unwrap();
    context.replay(&graph).unwrap().wait().unwrap();
    graph.update(|update| update.set(ARMED, 1u32)).unwrap();
    if let Ok(done) = context.replay(&graph) {
        fault.lost(&done.wait_for(LONG).unwrap_err());
    }
    let error = context.stream().read::<u32>(&out).unwrap_err();
    fault.lost(&error);
    let error = context.replay(&graph).map(drop).unwrap_err();
    assert_eq!(error.reason(), Some("device_lost"), "{error}");
    context.stream().sync().unwrap_err()
}

/// The health of a backend whose only device is lost, in a process that does not get over it.
fn is_closed_for_good(fault: Fault, core: &GpuBackendCore) {
    let health = core.health();
    announce(&format!("{fault:?}: {health:?}"));
    assert!(health.live && !health.ready && health.restart_required, "{health:?}");
    assert!(health.reasons.contains(&HealthReason::NoEligibleDevice), "{health:?}");
    let closed = health.reasons.iter().find_map(|reason| match reason {
        HealthReason::DeviceClosed { device_ordinal: 0, closed } => Some(closed),
        _ => None,
    });
    let closed = closed.expect("the device is named");
    assert!(closed.one_way && closed.reason.contains("CUDA_ERROR_"), "{closed:?}");
}
