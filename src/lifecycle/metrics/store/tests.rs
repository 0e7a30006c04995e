//! The store: bounded labels, one point in time, sums that do not wrap.

use super::*;
use crate::sync::thread;

fn report(device_ordinal: Option<usize>, total: Duration) -> QueryAttemptReport {
    QueryAttemptReport {
        attempt_id: 1,
        name: None,
        outcome: AttemptOutcome::Succeeded,
        disposition: AttemptDisposition::Native,
        backend_closing: false,
        error: None,
        device_ordinal,
        granted_bytes: 0,
        total,
        planning: Duration::from_nanos(1),
        queue_wait: Duration::from_nanos(2),
        physical_execution: Duration::from_nanos(3),
    }
}

/// B-178: labels are for ordinals below the capacity; no device is fine, and so is any order.
#[test]
fn a_store_has_labels_for_some_ordinals_only() {
    assert!(BackendMetricsStore::new(1, &[]).unwrap().snapshot().devices.is_empty());
    let devices = BackendMetricsStore::new(1, &[63, 0]).unwrap().snapshot().devices;
    assert_eq!(devices.iter().map(|device| device.device_ordinal).collect::<Vec<_>>(), [0, 63]);
    let table = [
        (vec![70, 64, 2], "backend_metrics_device_ordinal_out_of_range", "64", Some("64")),
        (vec![5, 1, 5], "duplicate_device_ordinal", "5", None),
    ];
    for (ordinals, reason, ordinal, capacity) in table {
        let error = BackendMetricsStore::new(1, &ordinals).unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::InvalidConfiguration, Some(reason)));
        assert_eq!(error.fact_value("device_ordinal"), Some(ordinal));
        assert_eq!(error.fact_value("device_capacity"), capacity);
    }
}

/// B-179, B-180: each attempt bumps the generation by one, reading does not, and clones share.
#[test]
fn a_recorded_attempt_counts_once() {
    let store = BackendMetricsStore::new(7, &[0]).unwrap();
    for (recorded, device) in [Some(0), None, Some(9)].into_iter().enumerate() {
        store.clone().record(&report(device, Duration::from_micros(1)));
        for _ in 0..2 {
            assert_eq!(store.snapshot().generation, recorded as u64 + 1);
        }
    }
    let snapshot = store.snapshot();
    assert_eq!((snapshot.backend_id, snapshot.attempts.completed_total()), (7, 3));
    assert_eq!(snapshot.attempts.completed(AttemptDisposition::Native, AttemptOutcome::Succeeded), 3);
    assert_eq!(snapshot.attempts.completed(AttemptDisposition::HostOnly, AttemptOutcome::Succeeded), 0);
    assert_eq!(snapshot.devices[0].attempts.completed_total(), 1);
    let AttemptDurations { total_ns, planning_ns, queue_wait_ns, physical_execution_ns } = snapshot.durations;
    assert_eq!((total_ns, planning_ns, queue_wait_ns, physical_execution_ns), (3000, 3, 6, 9));
}

/// B-182.
#[test]
fn durations_saturate() {
    let store = BackendMetricsStore::new(1, &[0]).unwrap();
    let ages = Duration::from_secs(u64::MAX);
    store.record(&report(Some(0), ages));
    store.record(&report(Some(0), ages));
    let snapshot = store.snapshot();
    assert_eq!((snapshot.durations.total_ns, snapshot.devices[0].durations.total_ns), (u64::MAX, u64::MAX));
    assert_eq!(snapshot.durations.planning_ns, 2);
}

/// B-179: in every snapshot the counts, the sums and the generation are of one moment.
#[test]
fn a_snapshot_is_coherent() {
    let store = BackendMetricsStore::new(1, &[0]).unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..2000).for_each(|_| store.record(&report(Some(0), Duration::from_nanos(5)))));
        }
        let mut last = 0;
        while last < 4000 {
            let snapshot = store.snapshot();
            let generation = snapshot.generation;
            assert!(generation >= last, "{generation} after {last}");
            assert_eq!(snapshot.attempts.completed_total(), generation);
            assert_eq!(snapshot.devices[0].attempts, snapshot.attempts);
            assert_eq!(snapshot.durations.total_ns, 5 * generation);
            last = generation;
        }
    });
}
