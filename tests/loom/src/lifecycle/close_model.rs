//! The races of a close that have to be seen in every order: its steps are done by hand, over the core's own gate, slot and
//! tracker.

use crate::lifecycle::gate::{BackendLifecycle, GpuPermit};
use crate::lifecycle::journal::ConstructionResourceJournal;
use crate::lifecycle::lease::LiveBackendLease;
use crate::lifecycle::resource::{ResourceCore, ResourceGeneration, acquire_resource};
use crate::lifecycle::tracker::PublicHandleTracker;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, thread};

/// What the close does first.
#[derive(Clone, Copy, Debug)]
pub enum CloseOrder {
    /// As the core: the bit, then the slot.
    BitThenSlot,
    /// The mistake.
    SlotThenBit,
}

/// What a permit gives back first.
#[derive(Clone, Copy, Debug)]
pub enum PermitOrder {
    /// As the core: the generation, then the count.
    GenerationThenCount,
    /// The mistake.
    CountThenGeneration,
}

fn core() -> Arc<ResourceCore> {
    let (lease, _freed) = LiveBackendLease::claim();
    let generation = ResourceGeneration::new(1, ConstructionResourceJournal::default(), lease);
    Arc::new(ResourceCore::new(2, Some(Arc::new(generation))))
}

/// `requests` threads acquire once each, while this one closes.
pub fn requests_against_a_close(requests: usize, order: CloseOrder) {
    let (core, lifecycle) = (core(), BackendLifecycle::new());
    let threads: Vec<_> = (0..requests)
        .map(|_| {
            let (core, lifecycle) = (core.clone(), lifecycle.clone());
            thread::spawn(move || match acquire_resource(&Arc::downgrade(&core), &lifecycle) {
                Ok(acquired) => assert_eq!(acquired.gpu.generation().id(), 1),
                Err(_) => assert!(lifecycle.is_closing(), "an open backend refused"),
            })
        })
        .collect();
    let generation = match order {
        CloseOrder::BitThenSlot => {
            assert!(lifecycle.close());
            core.take_generation()
        }
        CloseOrder::SlotThenBit => {
            let generation = core.take_generation();
            assert!(lifecycle.close());
            generation
        }
    };
    lifecycle.wait_gpu_idle(None);
    let generation = generation.expect("it was taken once");
    assert_eq!(Arc::strong_count(&generation), 1, "somebody has the generation after the count is zero");
    lifecycle.wait_observation_idle(None);
    for thread in threads {
        thread.join().expect("a request");
    }
    let now = lifecycle.snapshot();
    assert_eq!((now.closing, now.active_gpu_permits, now.active_observation_permits), (true, 0, 0));
}

/// One permit is given back while this thread waits for a count of zero.
pub fn a_permit_against_the_wait(order: PermitOrder) {
    let (core, lifecycle) = (core(), BackendLifecycle::new());
    let generation = core.take_generation().expect("it is there");
    let held: (GpuPermit, Arc<ResourceGeneration>) =
        (lifecycle.try_begin_gpu_resource().expect("it is open"), generation.clone());
    let request = thread::spawn(move || {
        let (count, generation) = held;
        match order {
            PermitOrder::GenerationThenCount => {
                drop(generation);
                drop(count);
            }
            PermitOrder::CountThenGeneration => {
                drop(count);
                drop(generation);
            }
        }
    });
    lifecycle.close();
    lifecycle.wait_gpu_idle(None);
    assert_eq!(Arc::strong_count(&generation), 1, "somebody has the generation after the count is zero");
    request.join().expect("a request");
}

/// Two threads close: one call sets the bit, and a waiter of either hears of it.
pub fn two_closes() {
    let lifecycle = BackendLifecycle::new();
    let other = thread::spawn({
        let lifecycle = lifecycle.clone();
        move || lifecycle.close()
    });
    let first = lifecycle.close();
    lifecycle.wait_closing(None);
    assert!(first ^ other.join().expect("the other close"));
}

/// A close wakes a thread that sleeps on the gate, and the last permit wakes it again.
pub fn a_sleeper_is_woken() {
    let lifecycle = BackendLifecycle::new();
    let permit = lifecycle.try_begin_observation().expect("it is open");
    let sleeper = thread::spawn({
        let lifecycle = lifecycle.clone();
        move || lifecycle.wait_closing(None) && lifecycle.wait_observation_idle(None)
    });
    lifecycle.close();
    drop(permit);
    assert!(sleeper.join().expect("the sleeper"));
}

/// The last of two permits wakes a thread that sleeps on an open gate.
pub fn a_sleeper_on_an_open_gate_is_woken() {
    let lifecycle = BackendLifecycle::new();
    let permits = [lifecycle.try_begin_observation(), lifecycle.try_begin_observation()];
    let [first, second] = permits.map(|permit| permit.expect("it is open"));
    let other = thread::spawn(move || drop(first));
    let sleeper = thread::spawn({
        let lifecycle = lifecycle.clone();
        move || lifecycle.wait_observation_idle(None)
    });
    drop(second);
    assert!(sleeper.join().expect("the sleeper"));
    other.join().expect("the other holder");
}

/// Two threads clone and drop a handle each, and drop their own; the action runs once, after the last.
pub fn handles_of_two_threads() {
    let runs = Arc::new(AtomicUsize::new(0));
    let tracker = PublicHandleTracker::new({
        let runs = runs.clone();
        move || {
            runs.fetch_add(1, Ordering::SeqCst);
        }
    });
    let first = tracker.acquire().expect("nothing was dropped yet");
    let second = first.clone();
    let other = thread::spawn(move || {
        let third = second.clone();
        drop(second);
        drop(third);
    });
    assert_eq!(runs.load(Ordering::SeqCst), 0, "this thread has a handle");
    drop(first);
    other.join().expect("the other holder");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert!(tracker.acquire().is_err());
}

/// A handle is acquired while the last one goes: it is refused, or it is the last itself.
pub fn an_acquisition_against_the_last_drop() {
    let runs = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new(()));
    let tracker = PublicHandleTracker::new({
        let (runs, seen) = (runs.clone(), seen.clone());
        move || {
            drop(seen.lock());
            runs.fetch_add(1, Ordering::SeqCst);
        }
    });
    let first = tracker.acquire().expect("nothing was dropped yet");
    let other = thread::spawn(move || drop(first));
    if let Ok(lease) = tracker.acquire() {
        assert_eq!(runs.load(Ordering::SeqCst), 0, "a handle was given after the last");
        drop(lease);
    }
    other.join().expect("the other holder");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
