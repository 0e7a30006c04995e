//! Whole closes, with the core's own coordinator and its thread, in many orders. Time does not pass here, so a drain ends
//! after a number of slices.

use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::lifecycle::coordinator::CloseCoordinator;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::journal::{ConstructionResourceJournal, JournaledResource};
use crate::lifecycle::lease::LiveBackendLease;
use crate::lifecycle::resource::{ResourceCore, ResourceGeneration, acquire_resource, with_service};
use crate::lifecycle::tracker::PublicHandleTracker;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, thread};

/// Far beyond what a model runs.
const HOUR: Duration = Duration::from_secs(3600);

/// A resource whose drain is late `slices` times, and then ends as it should or not.
#[derive(Debug)]
struct Drained {
    slices: usize,
    breaks: bool,
    drains: AtomicUsize,
}

impl JournaledResource for Drained {
    fn close_and_drain_until(&self, _deadline: Instant) -> QueryResult {
        match self.drains.fetch_add(1, Ordering::SeqCst) {
            done if done < self.slices => Err(QueryError::cleanup_deadline(operation::CLOSE)),
            _ if self.breaks => Err(QueryError::new(QueryErrorCode::Internal, operation::CLOSE, "it is broken")),
            _ => Ok(()),
        }
    }
}

struct Backend {
    core: Arc<ResourceCore>,
    lifecycle: BackendLifecycle,
    coordinator: CloseCoordinator,
    resource: Arc<Drained>,
    freed: Arc<std::sync::atomic::AtomicBool>,
}

impl Backend {
    fn new(slices: usize, breaks: bool) -> Self {
        let resource = Arc::new(Drained { slices, breaks, drains: AtomicUsize::new(0) });
        let journal = ConstructionResourceJournal::default();
        journal.record_execution_pool(resource.clone()).expect("the journal is new");
        let (lease, freed) = LiveBackendLease::claim();
        let generation = ResourceGeneration::new(1, journal, lease);
        generation.publish_service(Arc::default()).expect("the first");
        let core = Arc::new(ResourceCore::new(2, Some(Arc::new(generation))));
        let lifecycle = BackendLifecycle::new();
        let coordinator = CloseCoordinator::spawn(core.clone(), lifecycle.clone()).expect("a model has threads");
        Self { core, lifecycle, coordinator, resource, freed }
    }

    fn is_free(&self) -> bool {
        self.freed.load(Ordering::SeqCst)
    }
}

/// Two waiters, a request, a service read and an onlooker meet one close. Whoever hears of its end finds the lease free.
pub fn waiters_and_requests() {
    let backend = Arc::new(Backend::new(0, false));
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let backend = backend.clone();
            thread::spawn(move || {
                let closed = backend.coordinator.wait(HOUR).expect("an hour does not pass");
                assert!(closed.gpu_resource_quiescent && closed.observation_quiescent && backend.is_free());
            })
        })
        .collect();
    let core = Arc::downgrade(&backend.core);
    let request = thread::spawn({
        let (core, backend) = (core.clone(), backend.clone());
        move || match acquire_resource(&core, &backend.lifecycle) {
            Ok(acquired) => {
                assert!(!backend.is_free() && !backend.coordinator.snapshot().gpu_resource_quiescent);
                drop(acquired);
            }
            Err(_) => assert!(backend.lifecycle.is_closing()),
        }
    });
    let read = with_service(&core, &backend.lifecycle, |_| !backend.is_free());
    assert!(read.unwrap_or_else(|_| backend.lifecycle.is_closing()));
    let onlooker = thread::spawn({
        let backend = backend.clone();
        move || {
            for _ in 0..3 {
                let now = backend.coordinator.snapshot();
                assert!(!now.gpu_resource_quiescent || backend.is_free(), "quiescent before the lease is free");
                thread::yield_now();
            }
        }
    });
    for thread in waiters.into_iter().chain([request, onlooker]) {
        thread.join().expect("a thread of the model");
    }
    let now = backend.coordinator.snapshot();
    assert_eq!((now.active_gpu_permits, now.active_observation_permits), (0, 0));
    assert!(!backend.coordinator.signal());
}

/// The last of two handles closes, while a third may still be acquired.
pub fn the_last_handle() {
    let backend = Backend::new(0, false);
    let signals = Arc::new(AtomicUsize::new(0));
    let tracker = PublicHandleTracker::new({
        let (coordinator, signals) = (backend.coordinator.clone(), signals.clone());
        move || {
            signals.fetch_add(usize::from(coordinator.signal()), Ordering::SeqCst);
        }
    });
    let first = tracker.acquire().expect("nothing was dropped yet");
    let second = first.clone();
    let others = [thread::spawn(move || drop(first)), thread::spawn(move || drop(second))];
    if let Ok(third) = tracker.acquire() {
        assert!(!backend.lifecycle.is_closing(), "a handle keeps it open");
        drop(third);
    }
    for other in others {
        other.join().expect("a holder");
    }
    assert_eq!(signals.load(Ordering::SeqCst), 1);
    assert!(backend.coordinator.wait(HOUR).is_ok() && backend.is_free());
}

/// A drain of three late slices, and a request that keeps the scope open for a while.
pub fn a_slow_drain() {
    let backend = Backend::new(3, false);
    let acquired = acquire_resource(&Arc::downgrade(&backend.core), &backend.lifecycle).expect("it is open");
    let other = thread::spawn({
        let (resource, freed) = (backend.resource.clone(), backend.freed.clone());
        move || {
            let started = resource.drains.load(Ordering::SeqCst) != 0 || freed.load(Ordering::SeqCst);
            assert!(!started, "a drain while a request has the generation");
            drop(acquired);
        }
    });
    let closed = backend.coordinator.wait(HOUR).expect("an hour does not pass");
    assert_eq!((closed.cleanup_late_success_count, backend.resource.drains.load(Ordering::SeqCst)), (1, 4));
    assert!(backend.is_free());
    other.join().expect("the request");
}

/// A drain that breaks after a late slice: every waiter hears of it, and the lease is never free.
pub fn a_broken_drain() {
    let backend = Arc::new(Backend::new(1, true));
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let backend = backend.clone();
            thread::spawn(move || backend.coordinator.wait(HOUR).err())
        })
        .collect();
    for waiter in waiters {
        let error = waiter.join().expect("a waiter").expect("it cannot succeed");
        assert_eq!(error.reason(), Some("cleanup_failed_closed"));
    }
    assert_eq!(backend.coordinator.rollback_slice(HOUR), "failed_closed");
    assert!(!backend.is_free());
}

/// An exit begins while the cleanup runs: after it returns, no step follows. What has not come by then never comes.
pub fn an_exit() {
    let backend = Backend::new(2, false);
    backend.coordinator.signal();
    let exit = backend.coordinator.exit_hook().upgrade().expect("the cleanup's thread holds it");
    while !exit.stand_still() {
        thread::yield_now();
    }
    drop(exit);
    let drains = backend.resource.drains.load(Ordering::SeqCst);
    let waited = backend.coordinator.wait(HOUR);
    let now = backend.coordinator.snapshot();
    assert_eq!(backend.resource.drains.load(Ordering::SeqCst), drains);
    // The lease is freed without a driver call, so it may still be when every step was done.
    assert!(drains == 3 || (!now.gpu_resource_quiescent && !backend.is_free() && waited.is_err()));
}

/// The last coordinator goes without a close, and with it an awaited close that was polled once.
pub fn an_abandoned_wait() {
    let Backend { core, lifecycle, coordinator, freed, .. } = Backend::new(1, false);
    let mut wait = Box::pin(coordinator.wait_async(HOUR));
    let polled = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(lifecycle.is_closing());
    let other = thread::spawn(move || drop(coordinator));
    drop(wait);
    other.join().expect("the other holder");
    if let std::task::Poll::Ready(closed) = polled {
        assert!(closed.is_ok() && freed.load(Ordering::SeqCst));
    }
    drop(core);
}

/// A builder that still has the generation while the close was signalled: nothing is drained before it lets go.
pub fn a_builder_that_still_installs() {
    let (lease, freed) = LiveBackendLease::claim();
    let resource = Arc::new(Drained { slices: 0, breaks: false, drains: AtomicUsize::new(0) });
    let generation = Arc::new(ResourceGeneration::new(1, ConstructionResourceJournal::default(), lease));
    let core = Arc::new(ResourceCore::new(2, Some(generation.clone())));
    let coordinator = CloseCoordinator::spawn(core, BackendLifecycle::new()).expect("a model has threads");
    let log = Arc::new(Mutex::new(0));
    let builder = thread::spawn({
        let (resource, log) = (resource.clone(), log.clone());
        move || {
            generation.journal().record_execution_pool(resource.clone()).expect("nothing was released yet");
            *log.lock() = resource.drains.load(Ordering::SeqCst);
        }
    });
    assert_eq!(coordinator.rollback_slice(HOUR), "quiescent");
    assert!(freed.load(Ordering::SeqCst));
    builder.join().expect("the builder");
    assert_eq!((*log.lock(), resource.drains.load(Ordering::SeqCst)), (0, 1));
}
