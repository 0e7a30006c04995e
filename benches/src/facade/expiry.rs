//! How late a request that waits in vain hears of its deadline, with many in the queue: one whose thread is blocked, and one
//! whose waker is called.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use graphreel::lifecycle::{
    Admission, AttemptOutcome, BeginAttemptRequest, GpuBackendSession, QueryAdmissionRequest, QueryError,
};
use graphreel::sync::{Arc, Condvar, Mutex, thread};

use super::devices::build;
use super::{LONG, close, micros, report, text};
use crate::{Finding, quantile};

/// Threads that wait in the queue, most of the time all of them.
const PRODUCERS: u32 = 64;

/// Waits are spread between these, so that deadlines come one by one and several at once.
const WAIT_MIN_US: u64 = 10_000;
const WAIT_SPREAD_US: u64 = 50_000;

/// At the 99.9th percentile.
const LATENESS_BOUND_MS: f64 = 20.0;

/// Lateness of expiries, so many of each producer.
///
/// # Errors
///
/// What a call that had to work answered, or a request that was refused before its deadline or for another reason.
pub fn findings(rounds: u32) -> Result<Vec<Finding>, String> {
    let core = build(1, 1)?;
    let session = core.session_capability();
    // It has the only place, so that all others wait in vain.
    let holder = session.begin_attempt(BeginAttemptRequest::default()).map_err(text)?;
    let request = QueryAdmissionRequest::new(holder.owner.admission_binding());
    let handle = session.admit_async_with_request(request).wait().map_err(text)?;
    let blocked = produce(&session, rounds, blocked)?;
    let woken = produce(&session, rounds, woken)?;
    let counters = session.diagnostics().map_err(text)?.admission.counters;
    let expected = u64::from(PRODUCERS * rounds) * 2;
    if (counters.granted, counters.queued_total, counters.expired) != (1, expected, expected) {
        return Err(format!("not all of {expected} requests waited and expired: {counters:?}"));
    }
    holder.owner.commit_terminal(AttemptOutcome::Succeeded).map_err(text)?;
    report(&holder.completion)?;
    drop(handle);
    close(&core, expected + 1)?;
    Ok(vec![finding("a blocked thread is back", blocked), finding("a waker is called", woken)])
}

fn finding(what: &str, micros: Vec<f64>) -> Finding {
    let at = |share| quantile(micros.clone(), share) / 1e3;
    let figure = at(0.999);
    Finding {
        target: "lateness of expiry",
        what: format!("{PRODUCERS} in the queue, {what}: p99.9 in ms"),
        sides: format!("p50 {:.2}, p99 {:.2}, most {:.2} ms of {}", at(0.5), at(0.99), at(1.0), micros.len()),
        figure,
        bound: "<= 20 ms",
        kept: figure <= LATENESS_BOUND_MS,
    }
}

/// Waits for an admission in vain: the refusal, and when it was told.
type Waiting = fn(Admission) -> Result<(QueryError, Instant), String>;

/// The lateness in microseconds of all producers' expiries.
fn produce(session: &GpuBackendSession, rounds: u32, wait: Waiting) -> Result<Vec<f64>, String> {
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let session = session.clone();
            thread::spawn(move || {
                (0..rounds).map(|round| expire(&session, spread(producer, round), wait)).collect::<Result<Vec<_>, _>>()
            })
        })
        .collect();
    let mut late = Vec::new();
    for producer in producers {
        late.extend(producer.join().map_err(|_| "a producer panicked")??);
    }
    Ok(late)
}

/// A wait that is another one for each producer and round, and the same in every run.
fn spread(producer: u32, round: u32) -> Duration {
    let mixed = (u64::from(producer) << 32 | u64::from(round)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Duration::from_micros(WAIT_MIN_US + (mixed >> 32) % WAIT_SPREAD_US)
}

/// One request that expires: microseconds from its deadline until it heard of it.
fn expire(session: &GpuBackendSession, wait: Duration, waiting: Waiting) -> Result<f64, String> {
    let begin = session.begin_attempt(BeginAttemptRequest::default()).map_err(text)?;
    let request = QueryAdmissionRequest::new(begin.owner.admission_binding()).with_wait(wait);
    // The deadline is counted from within the call, so it is no earlier than this.
    let due = Instant::now() + wait;
    let (refusal, told) = waiting(session.admit_async_with_request(request))?;
    if refusal.reason() != Some("admission_wait_elapsed") {
        return Err(format!("a request that had to expire was refused otherwise: {refusal}"));
    }
    let late = told.checked_duration_since(due).ok_or("a request was refused before its deadline")?;
    begin.owner.commit_failed(refusal).map_err(text)?;
    let outcome = report(&begin.completion)?.outcome;
    if outcome != AttemptOutcome::Rejected {
        return Err(format!("an attempt whose request expired is reported as {outcome:?}"));
    }
    Ok(micros(late))
}

fn blocked(admission: Admission) -> Result<(QueryError, Instant), String> {
    let refusal = admission.wait().err().ok_or("a request was granted where there was no room")?;
    Ok((refusal, Instant::now()))
}

fn woken(mut admission: Admission) -> Result<(QueryError, Instant), String> {
    let call = Arc::new(Call::default());
    let waker = Waker::from(call.clone());
    let mut context = Context::from_waker(&waker);
    let mut poll = || Pin::new(&mut admission).poll(&mut context);
    let Poll::Pending = poll() else { return Err("a request did not wait where there was no room".to_owned()) };
    let told = call.wait().ok_or_else(|| format!("no waker was called in {LONG:?}"))?;
    match poll() {
        Poll::Ready(Err(refusal)) => Ok((refusal, told)),
        Poll::Ready(Ok(_)) => Err("a request was granted where there was no room".to_owned()),
        Poll::Pending => Err("a waker was called without an outcome".to_owned()),
    }
}

/// When a waker was called.
#[derive(Default)]
struct Call {
    at: Mutex<Option<Instant>>,
    called: Condvar,
}

impl Call {
    fn wait(&self) -> Option<Instant> {
        let until = Instant::now() + LONG;
        let mut at = self.at.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if at.is_some() || left.is_zero() {
                return *at;
            }
            at = self.called.wait_timeout(at, left);
        }
    }
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.at.lock().get_or_insert_with(Instant::now);
        self.called.notify_all();
    }
}
