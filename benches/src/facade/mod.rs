//! What the backend facade costs beside the work: over devices whose driver does nothing, so that what is left is admission,
//! attempts, reports and the close themselves. Each answer is checked as it comes, and the books of the backend at its end.

pub mod attempts;
pub mod devices;
pub mod expiry;
pub mod lifetime;
pub mod readings;

use std::time::Duration;

use graphreel::lifecycle::{AttemptCompletionReceiver, GpuBackendCore, QueryAttemptReport};
use graphreel::sync::Arc;

use crate::{Finding, median, quantile};

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// How much of each is run.
#[derive(Clone, Copy, Debug)]
pub struct Volume {
    /// Attempts, begun one after the other.
    pub attempts: u32,
    /// Readings of a snapshot; a hundredth of as many of the slower ones.
    pub readings: u32,
    /// Expiries of each producer.
    pub expiries: u32,
    /// Backends built and closed.
    pub lifetimes: u32,
}

impl Volume {
    /// What the figures are made of.
    pub const FULL: Self = Self { attempts: 20_000, readings: 20_000, expiries: 64, lifetimes: 60 };
    /// To see that all of it works.
    pub const QUICK: Self = Self { attempts: 200, readings: 200, expiries: 4, lifetimes: 3 };
}

/// Every figure of the facade.
///
/// # Errors
///
/// What a call that had to work answered, or what was wrong with an answer.
pub fn findings(volume: Volume) -> Result<Vec<Finding>, String> {
    let mut found = attempts::findings(volume.attempts)?;
    found.extend(readings::findings(volume.readings)?);
    found.extend(expiry::findings(volume.expiries)?);
    found.extend(lifetime::findings(volume.lifetimes)?);
    Ok(found)
}

/// A bound of microseconds, with its text.
type Bound = (f64, &'static str);

/// The median of some times in microseconds; their 99th percentile is told beside it.
fn finding(target: &'static str, what: &str, micros: Vec<f64>, bound: Option<Bound>) -> Finding {
    let count = micros.len();
    let (figure, late) = (median(micros.clone()), quantile(micros, 0.99));
    let sides = format!("p50 {figure:.2}, p99 {late:.2} us of {count}");
    let kept = bound.is_none_or(|(most, _)| figure <= most);
    Finding { target, what: what.to_owned(), sides, figure, bound: bound.map_or("", |(_, text)| text), kept }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The report of an attempt that has ended.
fn report(completion: &AttemptCompletionReceiver) -> Result<Arc<QueryAttemptReport>, String> {
    completion.wait_timeout(LONG).ok_or_else(|| format!("no report came in {LONG:?}"))
}

/// Close, and hold the books against `attempts`: each of them was reported, and all of the backend is gone.
fn close(core: &GpuBackendCore, attempts: u64) -> Result<(), String> {
    let counters = core.session_capability().attempt_counters_snapshot();
    let recorded = core.backend_metrics_snapshot().attempts.completed_total();
    if (counters.attempts_begun, counters.reports_ready, recorded) != (attempts, attempts, attempts) {
        return Err(format!("of {attempts} attempts {recorded} are in the metrics, and {counters:?}"));
    }
    let closed = core.close_and_wait(LONG).map_err(text)?;
    if !closed.gpu_resource_quiescent || !closed.observation_quiescent {
        return Err(format!("the close said that it was done and left {closed:?}"));
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since one backend lives in a process at a time.
    #[test]
    fn every_figure_is_found_and_has_its_place() {
        let volume = Volume { attempts: 20, readings: 100, expiries: 1, lifetimes: 1 };
        let found = findings(volume).expect("every call works, and every answer is right");
        let targets: Vec<&str> = found.iter().map(|finding| finding.target).collect();
        assert_eq!(targets.iter().filter(|target| **target == "admission").count(), 4, "{targets:?}");
        assert!(found.iter().all(|finding| finding.figure > 0.0), "{found:?}");
        assert!(found.iter().any(|finding| finding.bound.is_empty() && finding.verdict().is_empty()));
    }
}
