//! The stream pool: what is handed out is idle, what is given back is waited for, and a window ends with its attempt.

use std::collections::BTreeSet;
use std::time::Instant;

use graphreel::lifecycle::QueryErrorCode;
use graphreel::lifecycle::error::operation;
use graphreel::lifecycle::parts::ServiceStreamPool;
use graphreel::{Grid, ServerError, StreamId};
use graphreel_sim::{Failure, FaultPlan, SimOptions, Then, When};

use super::rig::{PATIENCE, Rig, count, later};

fn close(pool: &ServiceStreamPool) {
    pool.close_and_wait_until(Instant::now() + PATIENCE, operation::CLOSE).unwrap();
}

/// B-173, B-204: all slots of the device are the pool's, and each stream is one attempt's.
#[test]
fn the_pool_has_every_exclusive_slot() {
    let rig = Rig::new(30, SimOptions::default(), 4);
    let error = ServiceStreamPool::install(&rig.device, 0, 5).unwrap_err();
    assert_eq!(error.reason(), Some("stream_pool_slots_missing"));
    let pool = rig.pool(4);
    assert_eq!(rig.device.with_contract(|server| server.lease_stream()), None);
    let (first, second) = (pool.checkout(count(2)).unwrap(), pool.checkout(count(2)).unwrap());
    let slots: BTreeSet<_> = first.ids().chain(second.ids()).map(|id| id.exclusive_index().unwrap()).collect();
    assert_eq!(slots.len(), 4);
    assert_eq!(first.ids().next(), Some(first.root().id()));
    assert_eq!(
        (first.auxiliary(0).map(|stream| stream.id()), first.auxiliary(1).is_none()),
        (first.ids().nth(1), true)
    );
    let error = pool.checkout(count(1)).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("stream_pool_exhausted")));
    drop(first);
    drop(pool.checkout(count(2)).unwrap());
    drop(second);
    let report = pool.report();
    assert_eq!((report.size, report.checked_out, report.checkouts, report.exhausted), (4, 0, 3, 1));
    close(&pool);
    drop(pool);
    rig.close();
}

/// B-174: not before it is idle.
#[test]
fn a_stream_with_work_is_not_handed_out() {
    let rig = Rig::new(31, SimOptions::manual(), 2);
    let pool = rig.pool(2);
    let buffer = rig.buffer();
    let busy = pool.checkout(count(1)).unwrap();
    let slot = busy.root().id().exclusive_index();
    rig.work(&busy, &buffer);
    let old = busy.root().clone();
    drop(busy);
    assert!(old.fill(&buffer, 1).unwrap_err().is_closed(), "its turn is over");
    let other = pool.checkout(count(1)).unwrap();
    assert_ne!(other.root().id().exclusive_index(), slot);
    let error = pool.checkout(count(1)).unwrap_err();
    assert_eq!((error.reason(), error.fact_value("draining")), (Some("stream_pool_exhausted"), Some("1")));
    rig.probe.run_all();
    let again = pool.checkout(count(1)).unwrap();
    assert_eq!(again.root().id().exclusive_index(), slot);
    rig.work(&again, &buffer);
    drop((other, again, old, buffer));
    rig.probe.run_all();
    close(&pool);
    drop(pool);
    rig.close();
}

/// B-205: with its attempt; what it recorded does not run, and the next user finds nothing open.
#[test]
fn a_window_ends_with_its_attempt() {
    let rig = Rig::new(32, SimOptions::manual(), 1);
    let pool = rig.pool(1);
    let buffer = rig.buffer();
    for prepared_only in [true, false] {
        let set = pool.checkout(count(1)).unwrap();
        set.root().fill(&buffer, 5).unwrap();
        rig.probe.run_all();
        set.root().graph_prepare().unwrap();
        if !prepared_only {
            set.root().begin_capture().unwrap();
            set.root().launch(&rig.bump, Grid::groups(1), (&buffer,)).unwrap();
        }
        let kept = set.root().clone();
        drop(set);
        rig.probe.run_all();
        let next = pool.checkout(count(1)).unwrap();
        assert!(!next.root().capture_status().active);
        next.root().graph_prepare().unwrap();
        drop(kept);
        assert!(next.root().capture_status().active, "an old handle's drop aborted the new window");
        next.root().graph_abort().unwrap();
        drop(next);
        rig.probe.run_all();
    }
    assert_eq!(pool.report().windows_aborted, 2);
    close(&pool);
    drop((pool, buffer));
    rig.close();
}

/// B-173, B-205: a close waits for sets and for their work, in slices, and gives the slots back.
#[test]
fn a_close_waits_for_what_was_handed_out() {
    let rig = Rig::new(33, SimOptions::manual(), 3);
    let pool = rig.pool(3);
    let buffer = rig.buffer();
    let set = pool.checkout(count(2)).unwrap();
    rig.work(&set, &buffer);
    set.auxiliary(0).unwrap().graph_prepare().unwrap();
    set.auxiliary(0).unwrap().begin_capture().unwrap();
    let error = pool.close_and_wait_until(later(5), operation::ROLLBACK).unwrap_err();
    assert!(error.is_cleanup_deadline_elapsed());
    assert_eq!((error.operation(), error.fact_value("checked_out")), (operation::ROLLBACK, Some("2")));
    let refused = pool.checkout(count(1)).unwrap_err();
    assert_eq!((refused.code(), refused.reason()), (QueryErrorCode::Cancelled, Some("backend_closing")));
    drop(set);
    let error = pool.close_and_wait_until(later(5), operation::CLOSE).unwrap_err();
    assert_eq!((error.fact_value("checked_out"), error.fact_value("draining")), (Some("0"), Some("1")));
    rig.probe.run_all();
    close(&pool);
    pool.close_and_wait_until(Instant::now(), operation::CLOSE).unwrap();
    let leased = rig.device.with_contract(|server| std::iter::from_fn(|| server.lease_stream()).take(9).count());
    assert_eq!(leased, 3);
    drop((buffer, pool));
    rig.close();
}

/// B-174: a failure that comes once is an old fault's news; one that stays takes the stream out of use.
#[test]
fn a_stream_that_cannot_be_waited_for_is_retired() {
    let rig = Rig::new(34, SimOptions::manual(), 2);
    let pool = rig.pool(2);
    let buffer = rig.buffer();
    let refused = |nth| (When::Nth { call: "event_record", nth }, Then::Before(Failure::REFUSED));
    let once = FaultPlan::one(refused(0).0, refused(0).1);
    let spoil = |plan: FaultPlan| {
        let set = pool.checkout(count(2)).unwrap();
        rig.work(&set, &buffer);
        rig.probe.arm(plan);
        drop(set);
        rig.probe.arm(FaultPlan::default());
        rig.probe.run_all();
    };
    spoil(once.clone());
    assert_eq!(pool.report().retired, 0);
    drop(pool.checkout(count(2)).unwrap());
    spoil(once.and(refused(1).0, refused(1).1));
    let report = pool.report();
    assert_eq!((report.retired, report.free + report.draining), (1, 1));
    let error = pool.checkout(count(2)).unwrap_err();
    assert_eq!(error.fact_value("retired"), Some("1"));
    drop(pool.checkout(count(1)).unwrap());
    // It is asked once more, and what ran on it is done.
    pool.close_and_wait_until(Instant::now(), operation::CLOSE).unwrap_err();
    rig.probe.run_all();
    close(&pool);
    drop((pool, buffer));
    rig.close();
}

/// B-173: a device that is there and lets a stream not be waited for may still run work; a lost one runs none.
#[test]
fn a_close_fails_on_unknown_work_and_not_on_a_loss() {
    let rig = Rig::new(35, SimOptions::manual(), 1);
    let pool = rig.pool(1);
    let buffer = rig.buffer();
    let set = pool.checkout(count(1)).unwrap();
    rig.work(&set, &buffer);
    let always = When::Chance { call: Some("event_record"), probability: 1.0 };
    rig.probe.arm(FaultPlan::one(always, Then::Before(Failure::REFUSED)));
    drop(set);
    let error = pool.close_and_wait_until(later(5), operation::CLOSE).unwrap_err();
    assert_eq!((error.reason(), error.is_cleanup_deadline_elapsed()), (Some("stream_not_drained"), false));
    rig.probe.arm(FaultPlan::default());
    rig.probe.lose("gone");
    assert!(matches!(buffer.fill(0), Err(ServerError::DeviceLost { .. })));
    close(&pool);
    drop((pool, buffer));
    rig.close();
}

/// B-173: a pool that goes with work under way gives its slots back without waiting.
#[test]
fn a_dropped_pool_gives_its_slots_back() {
    let rig = Rig::new(36, SimOptions::manual(), 1);
    let buffer = rig.buffer();
    let pool = rig.pool(1);
    let set = pool.checkout(count(1)).unwrap();
    rig.work(&set, &buffer);
    drop(pool);
    rig.work(&set, &buffer);
    drop(set);
    let leased = rig.device.with_contract(|server| server.lease_stream());
    assert_eq!(leased.and_then(StreamId::exclusive_index), Some(0));
    drop(buffer);
    rig.close();
}

/// B-173: attempts that come and go on several threads each find their streams, since no more are out than there are.
#[test]
fn attempts_within_the_bound_never_find_too_few() {
    let rig = Rig::new(37, SimOptions::default(), 6);
    let pool = rig.pool(6);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let buffer = rig.buffer();
                for _ in 0..40 {
                    let set = pool.checkout(count(2)).unwrap();
                    rig.work(&set, &buffer);
                    set.root().sync().unwrap();
                }
            });
        }
    });
    assert_eq!((pool.report().checkouts, pool.report().exhausted), (120, 0));
    close(&pool);
    drop(pool);
    rig.close();
}
