//! Bounds on what an attempt costs beside its work.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::fakes::{begin, core};
use crate::lifecycle::attempt::report::AttemptOutcome;
use crate::lifecycle::metrics::store::BackendMetricsStore;

/// The mean of the best of many short rounds: what it costs when nobody disturbs it.
fn best(mut step: impl FnMut()) -> Duration {
    let rounds = (0..200).map(|_| {
        let start = Instant::now();
        (0..20).for_each(|_| step());
        start.elapsed() / 20
    });
    rounds.min().expect("there are rounds")
}

/// B-123: an attempt that does nothing costs next to nothing.
#[test]
fn an_empty_attempt_takes_less_than_ten_microseconds() {
    let core = core();
    let took = best(|| {
        let begun = begin(&core);
        begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
        black_box(begun.completion.completion().report().unwrap());
    });
    assert!(took < Duration::from_micros(10), "begin to report took {took:?}");
    assert_eq!(core.counters_snapshot().reports_ready, 4000);
}

/// B-179: reading the metrics is no reason not to.
#[test]
fn a_metrics_snapshot_takes_less_than_five_microseconds() {
    let store = BackendMetricsStore::new(1, &(0..64).collect::<Vec<_>>()).unwrap();
    let took = best(|| drop(black_box(store.snapshot())));
    assert!(took < Duration::from_micros(5), "a snapshot took {took:?}");
}
