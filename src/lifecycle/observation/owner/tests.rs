//! An observation without a backend: bounded, sealed once, and its observers are callbacks.

use super::*;
use crate::lifecycle::error::QueryErrorCode;
use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::reentrancy::refuse_reentrant_close;
use crate::sync::thread;

const BOUNDS: ObservationBounds = ObservationBounds { max_events: 8, max_bytes: 4 << 10 };

/// As TB-5, with the check that every blocking close begins with; B-138: it is refused on the sealing thread, nothing is
/// signalled, and the check passes again afterwards.
#[test]
fn an_observer_cannot_block_in_a_close() {
    let (owner, lifecycle) = (ObservationOwner::new("scan", None, BOUNDS), BackendLifecycle::new());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observer = {
        let (seen, lifecycle) = (seen.clone(), lifecycle.clone());
        move |snapshot: Arc<ObservationSnapshot>| {
            let refused = refuse_reentrant_close().unwrap_err();
            let nested = ObservationOwner::new("inner", None, BOUNDS);
            assert!(nested.finish_query(None));
            let still = refuse_reentrant_close().is_err();
            let code = (refused.code(), refused.reason().map(str::to_owned), still, lifecycle.is_closing());
            seen.lock().push((snapshot.outcome, thread::current().id(), code));
        }
    };
    assert!(owner.register_seal_observer(observer));
    assert!(owner.finish_query(Some(AttemptOutcome::Succeeded)));
    let code = (QueryErrorCode::Internal, Some("reentrant_observation_close".to_owned()), true, false);
    assert_eq!(*seen.lock(), [(Some(AttemptOutcome::Succeeded), thread::current().id(), code)]);
    refuse_reentrant_close().unwrap();
    assert!(lifecycle.close());
}

/// B-144: events beyond the bounds are counted, by number and by bytes.
#[test]
fn an_observation_is_bounded() {
    let owner = ObservationOwner::new("scan", None, BOUNDS);
    assert!(owner.record("x".repeat(4000)));
    assert!(!owner.record("y".repeat(97)));
    assert!(owner.record("z".repeat(96)));
    assert!(!owner.record("w"));
    assert!(owner.record(""), "a text of nothing fits where there are events left");
    (0..5).for_each(|_| assert!(owner.record("")));
    (0..3).for_each(|_| assert!(!owner.record("")));
    assert!(owner.finish_query(None));
    assert!(!owner.record("late"));
    let sealed = owner.sealed().unwrap();
    assert_eq!((sealed.events.len(), sealed.dropped_events, sealed.outcome), (8, 5, None));
}

/// B-144: the first finish seals; a drop without one seals as dropped, and a panicking observer stops no other.
#[test]
fn an_observation_seals_once() {
    let parent = ObservationOwner::new("query", None, ObservationBounds::default());
    let owner = ObservationOwner::new("scan", Some(&parent), BOUNDS);
    assert!(owner.sealed().is_none());
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    let note = |outcomes: &Arc<Mutex<Vec<_>>>| {
        let outcomes = outcomes.clone();
        move |snapshot: Arc<ObservationSnapshot>| outcomes.lock().push((snapshot.name.clone(), snapshot.outcome))
    };
    owner.register_seal_observer(|_| panic!("an observer that panics"));
    owner.register_seal_observer(note(&outcomes));
    parent.register_seal_observer(note(&outcomes));
    assert!(owner.finish_query(Some(AttemptOutcome::Failed)));
    assert!(!owner.finish_query(Some(AttemptOutcome::Succeeded)));
    assert!(!owner.register_seal_observer(|_| unreachable!("it has sealed")));
    let sealed = owner.sealed().unwrap();
    assert_eq!(
        (sealed.parent_id, sealed.observation_id, sealed.name.as_str()),
        (Some(parent.id()), owner.id(), "scan")
    );
    drop((owner, parent));
    let expected = [("scan", AttemptOutcome::Failed), ("query", AttemptOutcome::Dropped)];
    assert_eq!(*outcomes.lock(), expected.map(|(name, outcome)| (name.to_owned(), Some(outcome))));
}
