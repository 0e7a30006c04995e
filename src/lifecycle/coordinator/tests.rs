//! Closes over hand-built cores: no device, real threads, and a pool that a test holds up.

use std::process::Command;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::*;
use crate::clock::{Clock, Signal};
use crate::lifecycle::gate::GpuPermit;
use crate::lifecycle::identity::next_identity;
use crate::lifecycle::journal::{ConstructionResourceJournal, JournaledResource};
use crate::lifecycle::lease::{LiveBackendLease, claim_live_backend, one_claiming_test};
use crate::lifecycle::reentrancy::enter_observation;
use crate::lifecycle::resource::{ResourceGeneration, acquire_resource, with_service};
use crate::lifecycle::service::BackendService;
use crate::lifecycle::tracker::PublicHandleTracker;
use crate::sync::atomic::{AtomicUsize, Ordering};

mod async_wait;
mod exit;
mod fail_closed;

const LONG: Duration = Duration::from_secs(5);

fn is_set_in(signal: &Signal, timeout: Duration) -> bool {
    Clock::system().wait(signal, Clock::system().deadline_in(timeout))
}

/// A pool of one worker, which ends when its gate opens, and a supervisor that joins it.
#[derive(Debug)]
struct Pool {
    gate: Signal,
    joined: Signal,
    drains: AtomicUsize,
}

impl Pool {
    fn blocked() -> Arc<Self> {
        let pool = Arc::new(Self { gate: Signal::new(), joined: Signal::new(), drains: AtomicUsize::new(0) });
        let (gate, joined) = (pool.gate.clone(), pool.joined.clone());
        let worker = thread::spawn(move || assert!(is_set_in(&gate, Duration::from_secs(60))));
        thread::spawn(move || {
            worker.join().unwrap();
            joined.set();
        });
        pool
    }

    fn wait_for_a_drain(&self) {
        while self.drains.load(Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl JournaledResource for Pool {
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
        self.drains.fetch_add(1, Ordering::SeqCst);
        let left = deadline.saturating_duration_since(Instant::now());
        if is_set_in(&self.joined, left) { Ok(()) } else { Err(QueryError::cleanup_deadline(operation::CLOSE)) }
    }
}

/// The parts of a backend.
struct Parts {
    core: Arc<ResourceCore>,
    lifecycle: BackendLifecycle,
    coordinator: CloseCoordinator,
}

fn parts(generation: Option<ResourceGeneration>) -> Parts {
    let core = Arc::new(ResourceCore::new(next_identity(), generation.map(Arc::new)));
    let lifecycle = BackendLifecycle::new();
    let coordinator = CloseCoordinator::spawn(core.clone(), lifecycle.clone()).unwrap();
    Parts { core, lifecycle, coordinator }
}

fn generation(lease: LiveBackendLease, resource: Option<Arc<dyn JournaledResource>>) -> ResourceGeneration {
    let journal = ConstructionResourceJournal::default();
    resource.into_iter().for_each(|resource| journal.record_execution_pool(resource).unwrap());
    ResourceGeneration::new(next_identity(), journal, lease)
}

fn unleased(resource: Arc<dyn JournaledResource>) -> Parts {
    parts(Some(generation(LiveBackendLease::unleased(&[0]).unwrap(), Some(resource))))
}

fn quiescent(snapshot: &GpuBackendCloseSnapshot) -> bool {
    snapshot.closing && snapshot.gpu_resource_quiescent && snapshot.observation_quiescent
}

fn is_timeout(error: &QueryError) -> bool {
    error.code() == QueryErrorCode::ServiceOverloaded
        && error.reason() == Some("backend_close_timeout")
        && error.operation() == operation::CLOSE
}

/// TB-2, B-151, B-158, B-159.
#[test]
fn a_backend_without_devices_closes_and_its_thread_is_joined() {
    let Parts { coordinator, .. } = parts(None);
    let before = coordinator.snapshot();
    assert!(!before.closing && !before.gpu_resource_quiescent && !before.observation_quiescent);
    assert!(coordinator.0.thread.lock().is_some());
    assert!(quiescent(&coordinator.wait(Duration::from_secs(2)).unwrap()));
    assert!(coordinator.0.thread.lock().is_none());
    assert!(quiescent(&coordinator.wait_until(Instant::now()).unwrap()), "once closed, no deadline is too early");
    assert!(!coordinator.signal(), "B-145");
}

/// TB-1, B-197.
#[test]
fn a_panic_with_the_slot_does_not_stop_the_close() {
    let Parts { core, lifecycle, coordinator } = parts(None);
    let holder = core.clone();
    assert!(thread::spawn(move || holder.panic_with_slot()).join().is_err());
    let error = acquire_resource(&Arc::downgrade(&core), &lifecycle).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("resource_core_poisoned")));
    assert_eq!(lifecycle.snapshot().active_observation_permits, 0, "B-89");
    assert!(quiescent(&coordinator.wait(Duration::from_secs(2)).unwrap()));
}

/// TB-18, XB-8, B-59, B-148, B-153, B-162, B-170.
#[test]
fn the_claim_is_kept_until_the_drain_is_done_and_is_free_when_the_wait_returns() {
    let _alone = one_claiming_test();
    let (ordinals, pool) = ([usize::MAX - 2], Pool::blocked());
    let Parts { coordinator, .. } = parts(Some(generation(claim_live_backend(&ordinals).unwrap(), Some(pool.clone()))));
    assert!(coordinator.signal());
    let error = coordinator.wait(Duration::from_millis(250)).unwrap_err();
    assert!(is_timeout(&error), "{error}");
    let facts = ["gpu_resource_quiescent", "observation_quiescent", "active_gpu_permits", "active_observation_permits"];
    assert_eq!(facts.map(|key| error.fact_value(key).unwrap()), ["false", "false", "0", "0"]);
    assert_eq!(claim_live_backend(&ordinals).unwrap_err().reason(), Some("backend_already_live"));
    pool.gate.set();
    assert!(quiescent(&coordinator.wait(LONG).unwrap()));
    assert!(pool.joined.is_set());
    drop(claim_live_backend(&ordinals).unwrap());
}

/// TB-19, B-78, B-81, B-150, QB-9.
#[test]
fn the_last_handle_closes_and_a_slow_drain_is_counted() {
    let _alone = one_claiming_test();
    let (ordinals, pool) = ([usize::MAX - 3], Pool::blocked());
    let Parts { coordinator, .. } = parts(Some(generation(claim_live_backend(&ordinals).unwrap(), Some(pool.clone()))));
    let signalled = Arc::new(AtomicUsize::new(0));
    let tracker = PublicHandleTracker::new({
        let (coordinator, signalled) = (coordinator.clone(), signalled.clone());
        move || {
            signalled.fetch_add(usize::from(coordinator.signal()), Ordering::SeqCst);
        }
    });
    let handle = tracker.acquire().unwrap();
    drop(handle.clone());
    assert!(!coordinator.snapshot().closing);
    drop(handle);
    assert_eq!((coordinator.snapshot().closing, signalled.load(Ordering::SeqCst)), (true, 1));
    let error = coordinator.wait(Duration::from_millis(250)).unwrap_err();
    assert!(is_timeout(&error) && error.fact_value("gpu_resource_quiescent") == Some("false"), "{error}");
    assert_eq!(claim_live_backend(&ordinals).unwrap_err().reason(), Some("backend_already_live"));
    pool.gate.set();
    let closed = coordinator.wait(LONG).unwrap();
    assert!(quiescent(&closed) && closed.cleanup_late_success_count == 1, "{closed:?}");
    assert!(pool.joined.is_set());
    drop(claim_live_backend(&ordinals).unwrap());
}

/// B-147, B-148, B-153, B-160: the devices do not wait for the observers.
#[test]
fn the_two_scopes_become_quiescent_on_their_own() {
    let Parts { core, lifecycle, coordinator } =
        parts(Some(generation(LiveBackendLease::unleased(&[0]).unwrap(), None)));
    let acquired = acquire_resource(&Arc::downgrade(&core), &lifecycle).unwrap();
    let error = coordinator.wait(Duration::from_millis(50)).unwrap_err();
    assert_eq!(error.fact_value("gpu_resource_quiescent"), Some("false"));
    assert_eq!(error.fact_value("active_gpu_permits"), Some("1"));
    drop(acquired.gpu);
    let deadline = Instant::now() + LONG;
    while !coordinator.snapshot().gpu_resource_quiescent && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    let error = coordinator.wait(Duration::from_millis(50)).unwrap_err();
    let facts = ["gpu_resource_quiescent", "observation_quiescent", "active_gpu_permits", "active_observation_permits"];
    assert_eq!(facts.map(|key| error.fact_value(key).unwrap()), ["true", "false", "0", "1"]);
    drop(acquired.observation);
    assert!(quiescent(&coordinator.wait(LONG).unwrap()));
}

/// B-94, B-146: a read that won holds the close up; one that comes later is refused.
#[test]
fn a_service_read_and_the_close_exclude_each_other() {
    let generation = generation(LiveBackendLease::unleased(&[0]).unwrap(), None);
    let service = Arc::new(BackendService::default());
    let weak = Arc::downgrade(&service);
    generation.publish_service(service).unwrap();
    let Parts { core, lifecycle, coordinator } = parts(Some(generation));
    let core = Arc::downgrade(&core);
    let during = with_service(&core, &lifecycle, |service| {
        let error = coordinator.wait(Duration::from_millis(50)).unwrap_err();
        (is_timeout(&error), Arc::strong_count(service))
    });
    assert_eq!(during.unwrap(), (true, 1));
    assert!(quiescent(&coordinator.wait(LONG).unwrap()));
    assert!(weak.upgrade().is_none(), "the service was released");
    assert_eq!(with_service(&core, &lifecycle, |_| ()).unwrap_err().reason(), Some("backend_closing"));
}

/// B-148: whoever else holds the generation or the service is waited for, so that nothing outlives the lease.
#[test]
fn nothing_is_released_behind_another_holders_back() {
    let generation = Arc::new(generation(LiveBackendLease::unleased(&[0]).unwrap(), None));
    let service = Arc::new(BackendService::default());
    generation.publish_service(service.clone()).unwrap();
    let core = Arc::new(ResourceCore::new(next_identity(), Some(generation.clone())));
    let coordinator = CloseCoordinator::spawn(core, BackendLifecycle::new()).unwrap();
    for held in [Some(generation), None] {
        assert!(is_timeout(&coordinator.wait(Duration::from_millis(60)).unwrap_err()));
        drop(held);
    }
    drop(service);
    assert!(quiescent(&coordinator.wait(LONG).unwrap()));
}

/// XB-18, B-154, QB-10.
#[test]
fn a_timeout_that_fits_no_deadline_closes_and_answers_at_once() {
    let Parts { lifecycle, coordinator, .. } = parts(None);
    let permit: GpuPermit = lifecycle.try_begin_gpu_resource().unwrap();
    let begin = Instant::now();
    assert!(is_timeout(&coordinator.wait(Duration::MAX).unwrap_err()));
    assert!(begin.elapsed() < LONG && coordinator.snapshot().closing);
    drop(permit);
    assert!(quiescent(&coordinator.wait(LONG).unwrap()));
    assert!(coordinator.wait(Duration::MAX).is_ok());
}

/// B-155: a deadline that has come still closes.
#[test]
fn a_past_deadline_closes() {
    let Parts { lifecycle, coordinator, .. } = parts(None);
    let permit = lifecycle.try_begin_observation().unwrap();
    assert!(is_timeout(&coordinator.wait_until(Instant::now()).unwrap_err()));
    assert!(lifecycle.is_closing());
    drop(permit);
    assert!(coordinator.wait(LONG).is_ok());
}

/// B-139, B-140: refused before it closes, and free once the callback is over.
#[test]
fn a_blocking_close_inside_an_observation_callback_changes_nothing() {
    let Parts { coordinator, .. } = parts(None);
    let guard = enter_observation();
    for result in [coordinator.wait(LONG), coordinator.wait_until(Instant::now() + LONG)] {
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("reentrant_observation_close")));
    }
    assert!(!coordinator.snapshot().closing);
    assert!(coordinator.signal(), "the close that does not wait is allowed");
    drop(guard);
    assert!(quiescent(&coordinator.wait(LONG).unwrap()));
}

/// A resource whose drain and destructor use the close that they are a part of.
#[derive(Debug)]
struct Inside {
    coordinator: Mutex<Option<CloseCoordinator>>,
    waited: Signal,
}

impl JournaledResource for Inside {
    fn close_and_drain_until(&self, _deadline: Instant) -> QueryResult {
        let coordinator = self.coordinator.lock().clone();
        let begin = Instant::now();
        let refused = coordinator.unwrap().wait(Duration::from_secs(60)).unwrap_err();
        assert!(is_timeout(&refused) && begin.elapsed() < LONG, "{refused}");
        self.waited.set();
        Ok(())
    }
}

/// XB-20, B-158: on the cleanup's own thread a wait answers at once, and the last reference is dropped without a join.
#[test]
fn the_cleanups_own_thread_never_waits_for_itself() {
    let resource = Arc::new(Inside { coordinator: Mutex::new(None), waited: Signal::new() });
    let Parts { core, lifecycle, coordinator } = unleased(resource.clone());
    drop(core);
    *resource.coordinator.lock() = Some(coordinator.clone());
    let (waited, handle) = (resource.waited.clone(), Arc::downgrade(&coordinator.0));
    drop(resource);
    coordinator.signal();
    assert!(is_set_in(&waited, LONG));
    let progress = coordinator.0.progress.clone();
    drop(coordinator);
    assert!(matches!(progress.wait(Instant::now() + LONG, &AtomicBool::new(false)), Settled::Quiescent));
    assert!(handle.upgrade().is_none(), "the cleanup dropped the last one");
    assert!(lifecycle.is_closing());
}

/// XB-20: who drops the last coordinator without a close has closed; nothing sleeps for ever.
#[test]
fn the_last_coordinator_closes() {
    let pool = Pool::blocked();
    pool.gate.set();
    let Parts { coordinator, lifecycle, .. } = unleased(pool);
    let (second, progress) = (coordinator.clone(), coordinator.0.progress.clone());
    drop(coordinator);
    assert!(!lifecycle.is_closing());
    thread::spawn(move || drop(second)).join().unwrap();
    assert!(lifecycle.is_closing());
    assert!(matches!(progress.wait(Instant::now() + LONG, &AtomicBool::new(false)), Settled::Quiescent));
}

/// B-151, B-158: all of several waiters succeed, and one of them joins.
#[test]
fn several_waiters_all_hear_of_the_end() {
    let pool = Pool::blocked();
    let Parts { coordinator, .. } = unleased(pool.clone());
    let waiters: Vec<_> = (0..8)
        .map(|_| {
            let coordinator = coordinator.clone();
            thread::spawn(move || coordinator.wait(Duration::from_secs(20)))
        })
        .collect();
    thread::sleep(Duration::from_millis(10));
    pool.gate.set();
    assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap().is_ok_and(|closed| quiescent(&closed))));
    assert!(coordinator.0.thread.lock().is_none());
}

/// B-67: how far a rollback came within its slice.
#[test]
fn a_rollback_says_how_far_it_came() {
    assert_eq!(parts(None).coordinator.rollback_slice(LONG), "quiescent");
    let pool = Pool::blocked();
    let Parts { coordinator, .. } = unleased(pool.clone());
    assert_eq!(coordinator.rollback_slice(Duration::from_millis(20)), "transferred");
    pool.gate.set();
    assert!(coordinator.wait(LONG).is_ok());
}

/// B-189, B-191: after an exit has begun no step follows, and what is left leaks with its lease.
#[test]
fn an_exit_stops_the_cleanup_between_two_steps() {
    let pool = Pool::blocked();
    let Parts { coordinator, lifecycle, .. } = unleased(pool.clone());
    coordinator.signal();
    pool.wait_for_a_drain();
    let begin = Instant::now();
    let exit = coordinator.exit_hook().upgrade().unwrap();
    assert!(!exit.stand_still() && !exit.stand_still(), "a step runs");
    assert!(begin.elapsed() < LONG);
    let drains = pool.drains.load(Ordering::SeqCst);
    pool.gate.set();
    assert!(is_set_in(&pool.joined, LONG));
    let begin = Instant::now();
    assert!(is_timeout(&coordinator.wait(Duration::from_secs(60)).unwrap_err()));
    assert!(begin.elapsed() < LONG, "nothing is left to wait for");
    let thread = coordinator.0.thread.lock().take().unwrap();
    thread.join().unwrap();
    assert_eq!(pool.drains.load(Ordering::SeqCst), drains);
    assert_eq!(Arc::strong_count(&pool), 2, "the journal's handle leaked");
    assert!(!coordinator.snapshot().gpu_resource_quiescent && lifecycle.is_closing());
}

/// B-191: also when every coordinator is gone, and only the cleanup's thread is left.
#[test]
fn an_exit_reaches_a_cleanup_that_nobody_waits_for() {
    let pool = Pool::blocked();
    let Parts { coordinator, .. } = unleased(pool.clone());
    let (exit, progress) = (coordinator.exit_hook(), Arc::downgrade(&coordinator.0.progress));
    drop(coordinator);
    pool.wait_for_a_drain();
    while !exit.upgrade().is_none_or(|exit| exit.stand_still()) {
        thread::sleep(Duration::from_millis(1));
    }
    let drains = pool.drains.load(Ordering::SeqCst);
    pool.gate.set();
    let deadline = Instant::now() + LONG;
    while progress.strong_count() > 0 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((progress.strong_count(), pool.drains.load(Ordering::SeqCst)), (0, drains), "the thread ended there");
    assert!(exit.upgrade().is_none(), "nothing is left to stop");
}

/// XB-13: many requests meet a close; each is served or refused, and nothing is left.
#[test]
fn a_storm_of_requests_leaves_nothing_behind() {
    for _ in 0..16 {
        let generation = generation(LiveBackendLease::unleased(&[0]).unwrap(), None);
        generation.publish_service(Arc::default()).unwrap();
        let Parts { core, lifecycle, coordinator } = parts(Some(generation));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (core, lifecycle, coordinator) = (Arc::downgrade(&core), lifecycle.clone(), coordinator.clone());
                thread::spawn(move || {
                    while with_service(&core, &lifecycle, |_| {
                        assert!(!coordinator.snapshot().gpu_resource_quiescent);
                    })
                    .is_ok()
                    {}
                    assert!(lifecycle.is_closing());
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(2));
        let closed = coordinator.wait(LONG).unwrap();
        assert!(quiescent(&closed));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let now = coordinator.snapshot();
        assert_eq!((now.active_gpu_permits, now.active_observation_permits), (0, 0));
    }
}

/// K-7, B-4: the system gave no thread.
#[test]
fn a_coordinator_that_cannot_start_says_so() {
    let error = spawn_failed(&std::io::Error::other("no more threads"));
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("close_coordinator_spawn_failed")));
}
