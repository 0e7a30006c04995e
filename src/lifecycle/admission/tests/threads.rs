//! The controller under 64 threads: 5,000 requests, a hundred thousand with `GRAPHREEL_THOROUGH=1`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{assert_sums, envelope, thorough};
use crate::clock::Clock;
use crate::lifecycle::admission::cancel::CancellationToken;
use crate::lifecycle::admission::controller::AdmissionController;
use crate::lifecycle::admission::pending::PendingGrant;
use crate::lifecycle::admission::queue::OVERTAKES_MAX;
use crate::lifecycle::admission::request::{AdmissionClass, GrantRequest};
use crate::lifecycle::config::QueueBounds;

const PRODUCERS: usize = 64;
const CAPACITY: u64 = 1000;
const ACTIVE: usize = 6;

/// What grants of a device use, counted by those that hold them.
#[derive(Default)]
struct Used {
    bytes: AtomicU64,
    active: AtomicUsize,
}

#[derive(Default)]
struct World {
    used: [Used; 2],
    outcomes: AtomicUsize,
    payloads: AtomicUsize,
}

struct Payload(Arc<World>);

impl Payload {
    fn new(world: &Arc<World>) -> Self {
        world.payloads.fetch_add(1, Ordering::SeqCst);
        Self(world.clone())
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.0.payloads.fetch_sub(1, Ordering::SeqCst);
    }
}

fn request(rng: &mut fastrand::Rng, clock: &Clock, token: &CancellationToken) -> GrantRequest {
    let short = Duration::from_micros(rng.u64(..800));
    GrantRequest {
        bytes: Some(if rng.u8(..8) == 0 { rng.u64(500..1200) } else { rng.u64(..400) }),
        class: [AdmissionClass::High, AdmissionClass::Normal, AdmissionClass::Low][rng.usize(..3)],
        devices: (rng.u8(..4) == 0).then(|| [rng.usize(..2)].into()),
        deadline: (rng.u8(..5) == 0).then(|| clock.deadline_in(short)),
        cancel: rng.bool().then(|| token.clone()),
        ..GrantRequest::default()
    }
}

/// Wait for the outcome, use the grant, give it back.
fn work(pending: PendingGrant<Payload>, world: &World, rng: &mut fastrand::Rng) {
    let outcome = if rng.bool() { pending.wait() } else { pollster::block_on(pending) };
    world.outcomes.fetch_add(1, Ordering::SeqCst);
    match outcome {
        Ok((grant, payload)) => {
            let used = &world.used[grant.ordinal()];
            let bytes = used.bytes.fetch_add(grant.bytes(), Ordering::SeqCst) + grant.bytes();
            let active = used.active.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(bytes <= CAPACITY && active <= ACTIVE, "{bytes} bytes of {active} attempts");
            if rng.u8(..4) == 0 {
                std::thread::sleep(Duration::from_micros(rng.u64(..300)));
            }
            used.bytes.fetch_sub(grant.bytes(), Ordering::SeqCst);
            used.active.fetch_sub(1, Ordering::SeqCst);
            drop((grant, payload));
        }
        Err(error) => {
            let known = [
                "admission_queue_full",
                "admission_wait_elapsed",
                "admission_cancelled",
                "grant_exceeds_device_capacity",
            ];
            assert!(known.contains(&error.reason().unwrap()), "{error}");
        }
    }
}

fn produce(admission: &AdmissionController<Payload>, clock: &Clock, world: &Arc<World>, seed: u64, requests: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..requests {
        let token = CancellationToken::new();
        let request = request(&mut rng, clock, &token);
        let pending = admission.request(request, Payload::new(world));
        match rng.u8(..10) {
            0 => {
                drop(pending);
                world.outcomes.fetch_add(1, Ordering::SeqCst);
            }
            1 | 2 => {
                std::thread::yield_now();
                token.cancel();
                work(pending, world, &mut rng);
            }
            _ => work(pending, world, &mut rng),
        }
    }
}

/// XB-14, B-109, B-110: never more than there is, each request one outcome, and at the end nothing is held.
#[test]
fn many_threads_share_two_devices() {
    let (clock, world) = (Clock::system(), Arc::new(World::default()));
    let bounds = QueueBounds::new(40, Duration::from_secs(60));
    let devices = vec![envelope(0, CAPACITY, ACTIVE), envelope(1, CAPACITY, ACTIVE)];
    let admission = AdmissionController::new(clock.clone(), &bounds, devices).unwrap();
    let each = if thorough() { 100_000 } else { 5_000 } / PRODUCERS;
    std::thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let (admission, clock, world) = (&admission, &clock, &world);
            scope.spawn(move || produce(admission, clock, world, producer as u64, each));
        }
    });
    assert_eq!(world.outcomes.load(Ordering::SeqCst), each * PRODUCERS);
    assert_eq!(world.payloads.load(Ordering::SeqCst), 0, "what requests held is gone");
    let snapshot = admission.snapshot();
    assert_eq!(snapshot.counters.submitted, (each * PRODUCERS) as u64);
    assert_sums(snapshot.counters, 0, 0);
    assert!(snapshot.counters.overtakes_max <= OVERTAKES_MAX);
    assert!(snapshot.counters.queued_total > 0, "nobody had to wait");
    for device in snapshot.devices {
        assert_eq!((device.committed_bytes, device.active, device.source_slots_in_use), (0, 0, 0));
    }
    assert!(admission.shutdown(Instant::now() + Duration::from_secs(20)));
}
