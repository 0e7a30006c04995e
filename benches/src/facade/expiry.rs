//! How late a request that waits in vain hears of its deadline, with many in the queue: one whose thread is blocked, and one
//! whose waker is called. As many threads that only sleep take turns with them, and tell what of it is the system's.

use std::future::Future;
use std::ops::Range;
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

/// Rounds until it is the next one's turn.
const TURN: u32 = 8;

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
    let (mut blocked, mut woken, mut asleep) = (Vec::new(), Vec::new(), Vec::new());
    for first in (0..rounds).step_by(TURN as usize) {
        let turn = first..rounds.min(first + TURN);
        blocked.extend(produce(&session, turn.clone(), |session, wait| expire(session, wait, block))?);
        woken.extend(produce(&session, turn.clone(), |session, wait| expire(session, wait, await_call))?);
        asleep.extend(produce(&session, turn, |_, wait| Ok(sleep(wait)))?);
    }
    let counters = session.diagnostics().map_err(text)?.admission.counters;
    let expected = u64::from(PRODUCERS * rounds) * 2;
    if (counters.granted, counters.queued_total, counters.expired) != (1, expected, expected) {
        return Err(format!("not all of {expected} requests waited and expired: {counters:?}"));
    }
    holder.owner.commit_terminal(AttemptOutcome::Succeeded).map_err(text)?;
    report(&holder.completion)?;
    drop(handle);
    close(&core, expected + 1)?;
    let queued = |what: &str, late| finding(format!("{PRODUCERS} in the queue, {what}: p99.9 in ms"), late, "<= 20 ms");
    Ok(vec![
        queued("a blocked thread is back", blocked),
        queued("a waker is called", woken),
        finding(format!("{PRODUCERS} threads that only sleep: p99.9 in ms"), asleep, ""),
    ])
}

fn finding(what: String, micros: Vec<f64>, bound: &'static str) -> Finding {
    let at = |share| quantile(micros.clone(), share) / 1e3;
    let figure = at(0.999);
    Finding {
        target: "lateness of expiry",
        what,
        sides: format!("p50 {:.2}, p99 {:.2}, most {:.2} ms of {}", at(0.5), at(0.99), at(1.0), micros.len()),
        figure,
        bound,
        kept: figure <= LATENESS_BOUND_MS,
    }
}

/// Waits for an admission in vain: the refusal, and when it was told.
type Waiting = fn(Admission) -> Result<(QueryError, Instant), String>;

/// Lets one wait be over: microseconds from its end until that was told.
type Lateness = fn(&GpuBackendSession, Duration) -> Result<f64, String>;

/// The lateness of all producers' waits in these rounds.
fn produce(session: &GpuBackendSession, rounds: Range<u32>, late: Lateness) -> Result<Vec<f64>, String> {
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let (session, mut rounds) = (session.clone(), rounds.clone());
            thread::spawn(move || {
                rounds.try_fold(Vec::new(), |mut times, round| {
                    times.push(late(&session, spread(producer, round))?);
                    Ok::<_, String>(times)
                })
            })
        })
        .collect();
    let mut times = Vec::new();
    for producer in producers {
        times.extend(producer.join().map_err(|_| "a producer panicked")??);
    }
    Ok(times)
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

/// What the system makes of the same wait.
fn sleep(wait: Duration) -> f64 {
    let due = Instant::now() + wait;
    thread::sleep(wait);
    micros(due.elapsed())
}

fn block(admission: Admission) -> Result<(QueryError, Instant), String> {
    let refusal = admission.wait().err().ok_or("a request was granted where there was no room")?;
    Ok((refusal, Instant::now()))
}

fn await_call(mut admission: Admission) -> Result<(QueryError, Instant), String> {
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
