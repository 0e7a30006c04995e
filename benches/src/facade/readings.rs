//! What it takes to look at a backend: at its metrics, at everything its services report, at the page for Prometheus. With as
//! many devices as there are labels.

use std::time::Instant;

use graphreel::lifecycle::config::BACKEND_METRIC_DEVICE_CAPACITY;
use graphreel::lifecycle::{
    AttemptDisposition, AttemptOutcome, BeginAttemptRequest, GpuBackendCore, GpuBackendSession, QueryAdmissionRequest,
};

use super::devices::build;
use super::{Bound, close, finding, micros, report, text};
use crate::Finding;

const DEVICES: usize = BACKEND_METRIC_DEVICE_CAPACITY;

const SNAPSHOT_BOUND: Bound = (5.0, "<= 5 us");

/// Snapshots for each reading of the slower ones.
const SLOWER: u32 = 100;

/// Each figure; of snapshots over so many readings.
///
/// # Errors
///
/// What a call that had to work answered, or what was wrong with an answer.
pub fn findings(readings: u32) -> Result<Vec<Finding>, String> {
    let core = build(DEVICES, 1)?;
    let session = core.session_capability();
    for ordinal in 0..DEVICES {
        attempt(&session, ordinal)?;
    }
    check(&core)?;
    let snapshots = timed(readings, || session.backend_metrics_snapshot());
    let slower = readings.div_ceil(SLOWER);
    let diagnostics = timed(slower, || session.diagnostics());
    let pages = timed(slower, || core.prometheus_text());
    check(&core)?;
    close(&core, DEVICES as u64)?;
    let target = "readings";
    let what = |of: &str| format!("{of} of {DEVICES} devices");
    Ok(vec![
        finding(target, &what("metrics snapshot"), snapshots, Some(SNAPSHOT_BOUND)),
        finding(target, &what("diagnostics"), diagnostics, None),
        finding(target, &what("Prometheus page"), pages, None),
    ])
}

/// Something for each label to count.
fn attempt(session: &GpuBackendSession, ordinal: usize) -> Result<(), String> {
    let begin = session.begin_attempt(BeginAttemptRequest::default()).map_err(text)?;
    let request = QueryAdmissionRequest::new(begin.owner.admission_binding()).with_devices([ordinal]);
    let handle = session.admit_async_with_request(request).wait().map_err(text)?;
    drop(handle.acquire_context().map_err(text)?);
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).map_err(text)?;
    let on = report(&begin.completion)?.device_ordinal;
    if on == Some(ordinal) { Ok(()) } else { Err(format!("device {ordinal} was asked for, and {on:?} used")) }
}

/// Hold every reading against what was done: one attempt on each device.
fn check(core: &GpuBackendCore) -> Result<(), String> {
    let snapshot = core.backend_metrics_snapshot();
    let counted = |device: &graphreel::lifecycle::DeviceMetrics| {
        device.attempts.completed(AttemptDisposition::Native, AttemptOutcome::Succeeded) == 1
            && device.attempts.completed_total() == 1
    };
    let ordinals = snapshot.devices.iter().map(|device| device.device_ordinal);
    if !ordinals.eq(0..DEVICES) || !snapshot.devices.iter().all(counted) {
        return Err(format!("the metrics do not have one attempt on each device: {snapshot:?}"));
    }
    let diagnostics = core.session_capability().diagnostics().map_err(text)?;
    let counters = diagnostics.admission.counters;
    if diagnostics.devices.len() != DEVICES || (counters.granted, counters.released) != (DEVICES as u64, DEVICES as u64)
    {
        return Err(format!("the diagnostics do not have one grant on each device: {counters:?}"));
    }
    let page = core.prometheus_text();
    for ordinal in 0..DEVICES {
        let sample = format!("device=\"{ordinal}\",outcome=\"succeeded\"}} 1");
        if !page.contains(&sample) {
            return Err(format!("the page does not have `{sample}`"));
        }
    }
    Ok(())
}

/// Microseconds of each call; what it returns is dropped after the time is taken.
fn timed<R>(count: u32, mut read: impl FnMut() -> R) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..count {
        let start = Instant::now();
        let seen = std::hint::black_box(read());
        times.push(micros(start.elapsed()));
        drop(seen);
    }
    times
}
