//! One attempt after the other, with nobody in the way: until its handle is there, until it is ended, until it is reported.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use graphreel::lifecycle::{
    Admission, AttemptDisposition, AttemptOutcome, BeginAttemptRequest, GpuBackendSession, QueryAdmissionRequest,
    QueryAttemptReport, QueryHandle,
};

use super::devices::{GRANT_BYTES, build};
use super::{Bound, close, finding, micros, report, text};
use crate::Finding;

const ADMISSION_BOUND: Bound = (20.0, "<= 20 us");
const EMPTY_BOUND: Bound = (10.0, "<= 10 us");

/// Whether an attempt takes its context, and with that a lane and its streams for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    Taken,
    Left,
}

/// Times of many rounds, in microseconds.
#[derive(Default)]
struct Times {
    /// From the call that admits to the handle.
    handle: Vec<f64>,
    /// From the begin until the end has returned.
    ended: Vec<f64>,
    /// From the begin to the report.
    reported: Vec<f64>,
}

/// Each figure over so many attempts.
///
/// # Errors
///
/// What a call that had to work answered, or what was wrong with an answer.
pub fn findings(attempts: u32) -> Result<Vec<Finding>, String> {
    let core = build(1, 2)?;
    let session = core.session_capability();
    let (mut bare, mut used, mut empty) = (Times::default(), Times::default(), Vec::new());
    for _ in 0..attempts {
        admitted(&session, Lane::Left, &mut bare)?;
        admitted(&session, Lane::Taken, &mut used)?;
        empty.push(unadmitted(&session)?);
    }
    close(&core, u64::from(attempts) * 3)?;
    let target = "admission";
    Ok(vec![
        finding(target, "from the request to the handle", bare.handle, Some(ADMISSION_BOUND)),
        finding(target, "begin, admit and end", bare.ended, Some(ADMISSION_BOUND)),
        finding(target, "the same, to the report", bare.reported, None),
        finding(target, "the same with a context, to the report", used.reported, None),
        finding("empty attempt", "begin to report", empty, Some(EMPTY_BOUND)),
    ])
}

/// Begin, admit and end an attempt, and wait for its report, so that the next one meets nothing of it.
fn admitted(session: &GpuBackendSession, lane: Lane, times: &mut Times) -> Result<(), String> {
    let start = Instant::now();
    let begin = session.begin_attempt(BeginAttemptRequest::default()).map_err(text)?;
    let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
    let asked = Instant::now();
    let handle = at_once(session.admit_async_with_request(request))?;
    times.handle.push(micros(asked.elapsed()));
    if lane == Lane::Taken {
        drop(handle.acquire_context().map_err(text)?);
    }
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).map_err(text)?;
    times.ended.push(micros(start.elapsed()));
    let report = report(&begin.completion)?;
    times.reported.push(micros(start.elapsed()));
    let right = report.outcome == AttemptOutcome::Succeeded
        && (report.device_ordinal, report.granted_bytes) == (Some(0), GRANT_BYTES)
        && report.error.is_none()
        && (report.disposition == AttemptDisposition::Native) == (lane == Lane::Taken)
        && (handle.device_ordinal(), handle.granted_bytes()) == (0, GRANT_BYTES)
        && handle.is_over();
    if right { Ok(()) } else { Err(wrong(&report)) }
}

/// Begin an attempt and end it: microseconds to its report.
fn unadmitted(session: &GpuBackendSession) -> Result<f64, String> {
    let start = Instant::now();
    let begin = session.begin_attempt(BeginAttemptRequest::default()).map_err(text)?;
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).map_err(text)?;
    let report = begin.completion.completion().report();
    let time = micros(start.elapsed());
    let report = report.ok_or("an attempt without a grant is reported when its end returns, and was not")?;
    let seen = (report.outcome, report.disposition, report.device_ordinal);
    if seen != (AttemptOutcome::Succeeded, AttemptDisposition::Unplanned, None) {
        return Err(wrong(&report));
    }
    Ok(time)
}

/// The handle of an admission that has nothing to wait for.
fn at_once(admission: Admission) -> Result<QueryHandle, String> {
    match pin!(admission).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(decided) => decided.map_err(text),
        Poll::Pending => Err("an admission waited although there was room".to_owned()),
    }
}

fn wrong(report: &QueryAttemptReport) -> String {
    format!("a report is not what was done: {report:?}")
}
