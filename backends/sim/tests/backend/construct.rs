//! Construction as a transaction: every boundary failed, and what is left afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use graphreel::lifecycle::config::{GpuBackendDeviceProfile, GpuDeviceMemoryLimit};
use graphreel::lifecycle::hooks::{Draining, JournalView, Obstacle, build_with};
use graphreel::lifecycle::{
    GpuBackendConstructionCheckpoint as Checkpoint, GpuBackendConstructionProbe, GpuBackendCore, QueryError,
    QueryErrorCode, QueryResult, claim_live_backend, one_claiming_test,
};
use graphreel_sim::{SimFactory, SimOptions};

use crate::rig::{LONG, MIB, built, claimable, clean, close, profile, server, simulators, valid};

/// What a probe does at one boundary.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Fail,
    Panic,
}

#[derive(Debug, Default)]
struct Probe {
    at: Option<(Checkpoint, Act)>,
    seen: Mutex<Vec<Checkpoint>>,
    labels: Mutex<Vec<&'static str>>,
    journal: Option<JournalView>,
    /// Put into the journal at each boundary where something cleans up.
    obstacle: Option<Obstacle>,
}

impl GpuBackendConstructionProbe for Probe {
    fn checkpoint(&self, checkpoint: Checkpoint) -> QueryResult {
        self.seen.lock().unwrap().push(checkpoint);
        if let Some(labels) = self.journal.as_ref().and_then(JournalView::labels) {
            *self.labels.lock().unwrap() = labels;
        }
        if let (Some(obstacle), Some(journal)) = (&self.obstacle, &self.journal)
            && self.at.is_some_and(|(at, _)| at == checkpoint)
        {
            assert!(journal.obstruct(obstacle));
        }
        match self.at {
            Some((at, Act::Fail)) if at == checkpoint => {
                let error = QueryError::new(QueryErrorCode::Internal, "test.probe", "a failure at a boundary");
                Err(error.with_reason("injected_construction_failure"))
            }
            Some((at, Act::Panic)) if at == checkpoint => panic!("a panic at a boundary"),
            _ => Ok(()),
        }
    }
}

fn attempt(
    factory: &SimFactory,
    count: usize,
    at: Option<(Checkpoint, Act)>,
) -> (QueryResult<GpuBackendCore>, Arc<Probe>) {
    let mut kept = None;
    let config = valid((0..count).map(profile).collect());
    let probe = |journal| {
        let probe = Arc::new(Probe { at, journal: Some(journal), ..Probe::default() });
        kept = Some(probe.clone());
        probe as Arc<dyn GpuBackendConstructionProbe>
    };
    let built = catch_unwind(AssertUnwindSafe(|| build_with(config, factory, server(), probe, None)));
    let built = built.unwrap_or_else(|_| {
        let error = QueryError::new(QueryErrorCode::Internal, "test.probe", "it panicked");
        Err(error.with_reason("test_panicked"))
    });
    (built, kept.unwrap())
}

fn sequence(count: usize) -> Vec<Checkpoint> {
    let mut all = vec![Checkpoint::BeforeCleanupWorker, Checkpoint::AfterCleanupWorker];
    for device_ordinal in 0..count {
        all.extend([
            Checkpoint::BeforeDeviceDiscovery { device_ordinal },
            Checkpoint::AfterDeviceDiscovery { device_ordinal },
            Checkpoint::BeforeMemoryManager { device_ordinal },
            Checkpoint::AfterMemoryManager { device_ordinal },
            Checkpoint::BeforeStreamPool { device_ordinal },
            Checkpoint::AfterStreamPool { device_ordinal },
            Checkpoint::BeforeDeviceContext { device_ordinal },
            Checkpoint::AfterDeviceContext { device_ordinal },
            Checkpoint::BeforeWorkerPool { device_ordinal },
            Checkpoint::AfterWorkerPool { device_ordinal },
        ]);
    }
    all.extend([Checkpoint::BeforeStartupRecords, Checkpoint::AfterStartupRecords, Checkpoint::Published]);
    all
}

/// XB-6, B-63: every boundary once, device by device.
#[test]
fn boundaries_come_in_their_order() {
    let _one = one_claiming_test();
    let factory = simulators(2);
    let (core, probe) = attempt(&factory, 2, None);
    assert_eq!(*probe.seen.lock().unwrap(), sequence(2));
    close(core.unwrap(), &factory);
}

/// XB-5, B-66 to B-69: a failure and a panic at every boundary leave no claim, no thread and nothing on a device.
#[test]
fn a_construction_that_fails_leaves_nothing() {
    let _one = one_claiming_test();
    for (index, checkpoint) in sequence(2).into_iter().enumerate() {
        for act in [Act::Fail, Act::Panic] {
            let factory = simulators(2);
            let (core, probe) = attempt(&factory, 2, Some((checkpoint, act)));
            let error = core.unwrap_err();
            assert_eq!(probe.seen.lock().unwrap().last(), Some(&checkpoint));
            let cleanup = error.fact_value("rollback_cleanup");
            match (act, index) {
                (Act::Fail, 0) => assert_eq!(cleanup, None, "B-69: nothing was installed"),
                (Act::Fail, _) => {
                    assert_eq!(error.reason(), Some("injected_construction_failure"));
                    assert_eq!((error.code(), error.message()), (QueryErrorCode::Internal, "a failure at a boundary"));
                    // B-68: the claim is free when the caller sees this.
                    assert_eq!(cleanup, Some("quiescent"), "{checkpoint:?}");
                    drop(claim_live_backend(&[0]).unwrap());
                }
                (Act::Panic, _) => {}
            }
            claimable();
            clean(&factory);
        }
    }
}

/// TB-16, B-67: the injected reason stays, and the cleanup says how far it came.
#[test]
fn an_injected_failure_keeps_its_reason() {
    let _one = one_claiming_test();
    let ordinal = graphreel::lifecycle::config::BACKEND_METRIC_DEVICE_CAPACITY - 1;
    let factory = SimFactory::new([(ordinal, SimOptions::default())]);
    let probe =
        |_| Arc::new(Probe { at: Some((Checkpoint::AfterCleanupWorker, Act::Fail)), ..Probe::default() }) as Arc<_>;
    let error = build_with(valid(vec![profile(ordinal)]), &factory, server(), probe, None).unwrap_err();
    assert_eq!(error.reason(), Some("injected_construction_failure"));
    assert!(["quiescent", "transferred"].contains(&error.fact_value("rollback_cleanup").unwrap()));
    claimable();
}

/// TB-17, B-65: each resource is journaled before the boundary behind it.
#[test]
fn the_journal_is_ahead_of_every_boundary() {
    let _one = one_claiming_test();
    let device_ordinal = 0;
    let all = ["memory_manager", "stream_pool", "device_context", "execution_pool", "startup_records"];
    for (checkpoint, count) in [
        (Checkpoint::AfterMemoryManager { device_ordinal }, 1),
        (Checkpoint::AfterStreamPool { device_ordinal }, 2),
        (Checkpoint::AfterDeviceContext { device_ordinal }, 3),
        (Checkpoint::AfterWorkerPool { device_ordinal }, 4),
        (Checkpoint::AfterStartupRecords, 5),
        (Checkpoint::Published, 5),
    ] {
        let factory = simulators(1);
        let (core, probe) = attempt(&factory, 1, Some((checkpoint, Act::Fail)));
        let error = core.unwrap_err();
        assert_eq!(*probe.labels.lock().unwrap(), all[..count], "{checkpoint:?}");
        assert_eq!(error.reason(), Some("injected_construction_failure"));
        assert!(error.fact_value("rollback_cleanup").is_some());
        claimable();
        assert_eq!(probe.journal.as_ref().unwrap().labels(), None, "the journal went with the generation");
        clean(&factory);
    }
}

/// TB-8, K-5: a delivery lane that does not start fails the build before anything is installed.
#[test]
fn a_lane_that_does_not_start_fails_the_build() {
    let _one = one_claiming_test();
    let ordinal = graphreel::lifecycle::config::BACKEND_METRIC_DEVICE_CAPACITY - 3;
    for lane in ["observation", "activity_tail"] {
        let factory = SimFactory::new([(ordinal, SimOptions::default())]);
        let probe = Arc::new(Probe::default());
        let kept = probe.clone();
        let built = build_with(valid(vec![profile(ordinal)]), &factory, server(), |_| kept, Some(lane));
        let error = built.unwrap_err();
        assert_eq!(error.reason(), Some("observation_completion_worker_spawn_failed"));
        assert_eq!((error.fact_value("worker_lane"), error.fact_value("rollback_cleanup")), (Some(lane), None));
        assert!(!probe.seen.lock().unwrap().contains(&Checkpoint::Published));
        claimable();
        assert!(factory.probe(ordinal).is_none(), "no device was opened");
    }
}

/// XB-8, B-59: one backend at a time, and none over one that still drains.
#[test]
fn a_second_backend_is_refused_until_the_first_is_gone() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let second = || GpuBackendCore::new(valid(vec![profile(0)]), &factory);
    let refused = second().unwrap_err();
    assert_eq!((refused.code(), refused.reason()), (QueryErrorCode::ServiceOverloaded, Some("backend_already_live")));
    let session = core.session_capability();
    let (begin, handle) = crate::rig::admitted(&session);
    core.close();
    assert_eq!(second().unwrap_err().reason(), Some("backend_already_live"), "it is draining");
    drop((begin, handle));
    close(core, &factory);
    let again = second().unwrap();
    assert!(!again.session_capability().same_backend(&session), "B-76");
    close(again, &factory);
}

/// XB-26, B-49, B-51, B-52: what only the device's size tells is refused at the build, with the largest accepted value.
#[test]
fn capacity_is_checked_when_the_device_is_known() {
    let _one = one_claiming_test();
    let explicit = |bytes| GpuDeviceMemoryLimit::Explicit { limit_bytes: bytes };
    let small = || SimFactory::new([(0, SimOptions { memory_bytes: 64 * MIB, ..SimOptions::default() })]);
    let table: [(GpuBackendDeviceProfile, &str, &str); 4] = [
        (profile(0).with_memory_limit(explicit(65 * MIB)), "limit_exceeds_owned_capacity", "67108864 bytes"),
        (profile(0).with_cache_cap_bytes(17 * MIB), "cache_cap_exceeds_managed_capacity", "16777216 bytes"),
        (
            GpuBackendDeviceProfile::new(0).with_memory_limit(explicit(1)).with_max_active_attempts(2),
            "default_query_limit_resolves_to_zero",
            "1",
        ),
        (
            profile(0).with_default_query_limit_bytes(17 * MIB),
            "default_query_limit_exceeds_query_share",
            "16777216 bytes",
        ),
    ];
    for (profile, reason, largest) in table {
        let factory = small();
        let error = GpuBackendCore::new(valid(vec![profile]), &factory).unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::InvalidConfiguration, Some(reason)));
        assert!(error.message().contains("largest accepted") && error.message().contains(largest), "{error}");
        assert_eq!(error.fact_value("rollback_cleanup"), Some("quiescent"));
        assert!(factory.probe(0).is_none(), "no device was opened");
        claimable();
    }
}

/// A build over two devices from `first` on that fails at `checkpoint`, with something in the way of its rollback.
fn obstructed(
    factory: &SimFactory,
    first: usize,
    (checkpoint, act): (Checkpoint, Act),
    obstacle: &Obstacle,
    leased: bool,
) -> QueryError {
    let config = crate::rig::config((first..first + 2).map(profile).collect());
    let config = if leased { config } else { config.unleased() };
    let probe = |journal| {
        let at = Some((checkpoint, act));
        let (journal, obstacle) = (Some(journal), Some(obstacle.clone()));
        Arc::new(Probe { at, journal, obstacle, ..Probe::default() }) as Arc<dyn GpuBackendConstructionProbe>
    };
    let config = config.validate().unwrap();
    let built = catch_unwind(AssertUnwindSafe(|| build_with(config, factory, server(), probe, None)));
    built.map_or_else(
        |_| QueryError::new(QueryErrorCode::Internal, "test.probe", "it panicked"),
        |built| built.expect_err("it fails at a boundary"),
    )
}

/// Boundaries with nothing, a part and all of two devices from `first` on installed.
fn telling(first: usize) -> [Checkpoint; 6] {
    [
        Checkpoint::AfterCleanupWorker,
        Checkpoint::BeforeStreamPool { device_ordinal: first },
        Checkpoint::AfterWorkerPool { device_ordinal: first },
        Checkpoint::AfterDeviceContext { device_ordinal: first + 1 },
        Checkpoint::AfterStartupRecords,
        Checkpoint::Published,
    ]
}

/// XB-5, B-66, B-67: a rollback that hangs is handed over, and the claim with it, until it ends.
#[test]
fn a_rollback_that_hangs_keeps_the_claim_until_it_ends() {
    let _one = one_claiming_test();
    for checkpoint in telling(0) {
        let (factory, obstacle) = (simulators(2), Obstacle::new(Draining::Slow));
        let error = obstructed(&factory, 0, (checkpoint, Act::Fail), &obstacle, true);
        assert_eq!(error.fact_value("rollback_cleanup"), Some("transferred"), "{checkpoint:?}");
        assert_eq!(error.reason(), Some("injected_construction_failure"));
        let second = claim_live_backend(&[0]).unwrap_err();
        assert_eq!(second.reason(), Some("backend_already_live"), "the claim went with a cleanup outstanding");
        obstacle.give_way();
        claimable();
        clean(&factory);
    }
}

/// XB-5, B-66, B-152, B-177: a rollback that fails or panics itself fails closed: what is installed is not let go, and its
/// devices cannot be had again.
#[test]
fn a_rollback_that_fails_again_fails_closed() {
    let mut first = 2;
    for (draining, act) in [(Draining::Fails, Act::Fail), (Draining::Panics, Act::Fail), (Draining::Fails, Act::Panic)]
    {
        for index in 0..telling(0).len() {
            let checkpoint = telling(first)[index];
            let factory = SimFactory::new((first..first + 2).map(|ordinal| (ordinal, SimOptions::default())));
            // Without a claim, which would stay for the rest of this process.
            let obstacle = Obstacle::new(draining);
            let error = obstructed(&factory, first, (checkpoint, act), &obstacle, false);
            if act == Act::Fail {
                assert_eq!(error.fact_value("rollback_cleanup"), Some("failed_closed"), "{checkpoint:?}, {draining:?}");
                assert_eq!(error.reason(), Some("injected_construction_failure"));
            }
            let installed = factory.probe(first).is_some();
            let config = crate::rig::config(vec![profile(first)]).unleased().validate().unwrap();
            let again = GpuBackendCore::new(config, &factory);
            match (installed, again) {
                (true, again) if act == Act::Fail => {
                    let error = again.unwrap_err();
                    assert_eq!(error.reason(), Some("device_memory_manager_already_installed"), "{checkpoint:?}");
                }
                (_, again) => drop(again.map(|core| core.close_and_wait(LONG).unwrap())),
            }
            first += 2;
        }
    }
}
