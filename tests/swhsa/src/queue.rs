//! Queues: rings of packets, each with a thread that does what they ask for.
#![expect(unsafe_code, reason = "a queue's handle is an address that the runtime above reads")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::abi::{Signal, Status};
use crate::chance::Chance;
use crate::count::{self, Kind};
use crate::packet::{self, Packet, Work};
use crate::signal::{self, Condition};
use crate::{dispatch, fault, memory, report};

/// The most packets that are taken together where nothing orders them.
const WINDOW: u64 = 6;

/// `amd_queue_v2_t`, whose first part is `hsa_queue_t`: up to the last member that software reads, and room for the rest.
#[repr(C, align(64))]
pub(crate) struct Descriptor {
    kind: u32,
    features: u32,
    base: u64,
    doorbell: Signal,
    size: u32,
    reserved1: u32,
    id: u64,
    caps: u32,
    reserved2: [u32; 3],
    write: AtomicU64,
    apertures: [u32; 4],
    legacy: [u32; 12],
    read: AtomicU64,
    rest: [u64; 300],
}

/// Called when a queue fails, once.
pub(crate) type OnError = Option<unsafe extern "C" fn(Status, *mut Descriptor, *mut c_void)>;

struct State {
    descriptor: &'static Descriptor,
    ring: usize,
    stop: AtomicBool,
    on_error: OnError,
    argument: usize,
}

struct Running {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

static QUEUES: Mutex<Option<HashMap<usize, Running>>> = Mutex::new(None);
static IDS: AtomicU64 = AtomicU64::new(0);

fn queues() -> MutexGuard<'static, Option<HashMap<usize, Running>>> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A queue of `size` packets, a power of two.
pub(crate) fn create(size: u32, kind: u32, on_error: OnError, argument: *mut c_void) -> Result<usize, Status> {
    if !size.is_power_of_two() || !(16..=1 << 17).contains(&size) {
        return Err(Status::INVALID_ARGUMENT);
    }
    if let Some(status) = fault::take(fault::Kind::Queue) {
        report::fail("a fault was asked for: a queue is not made");
        return Err(status);
    }
    let ring = memory::host_allocate(size as usize * packet::BYTES, 2)?;
    (0..size as usize).for_each(|at| packet::retire(ring + at * packet::BYTES));
    let id = IDS.fetch_add(1, Ordering::Relaxed);
    let descriptor: &'static Descriptor = Box::leak(Box::new(Descriptor {
        kind,
        features: 1,
        base: ring as u64,
        doorbell: signal::doorbell(),
        size,
        reserved1: 0,
        id,
        caps: 0,
        reserved2: [0; 3],
        write: AtomicU64::new(0),
        apertures: [0; 4],
        legacy: [0; 12],
        read: AtomicU64::new(0),
        rest: [0; 300],
    }));
    let stop = AtomicBool::new(false);
    let state = Arc::new(State { descriptor, ring, stop, on_error, argument: argument as usize });
    let worker = Arc::clone(&state);
    let name = format!("swhsa-queue-{id}");
    let spawned = std::thread::Builder::new().name(name).spawn(move || work(&worker, Chance::new(id + 1)));
    let Ok(thread) = spawned else {
        end(&state);
        return Err(Status::OUT_OF_RESOURCES);
    };
    count::made(Kind::Queue);
    let address = std::ptr::from_ref(descriptor) as usize;
    queues().get_or_insert_default().insert(address, Running { state, thread: Some(thread) });
    report::note(|| format!("queue {id} of {size} packets"));
    Ok(address)
}

/// Give up what a queue has but its thread and its descriptor, which is small and may still be read.
fn end(state: &State) {
    signal::destroy(state.descriptor.doorbell);
    memory::free(state.ring);
}

/// End a queue. What was not begun is dropped.
pub(crate) fn destroy(address: usize) -> Status {
    let Some(mut running) = queues().get_or_insert_default().remove(&address) else { return Status::INVALID_QUEUE };
    running.state.stop.store(true, Ordering::Release);
    signal::ring();
    let joined = running.thread.take().is_none_or(|thread| thread.join().is_ok());
    if !joined {
        report::fail("the thread of a queue ended by a panic");
    }
    end(&running.state);
    count::gone(Kind::Queue);
    Status::SUCCESS
}

/// End all queues.
pub(crate) fn destroy_all() {
    let all: Vec<usize> = queues().get_or_insert_default().keys().copied().collect();
    all.into_iter().for_each(|address| {
        destroy(address);
    });
}

/// Whether an address is a queue's.
pub(crate) fn exists(address: usize) -> bool {
    queues().get_or_insert_default().contains_key(&address)
}

fn descriptor(address: usize) -> &'static Descriptor {
    // SAFETY: descriptors are leaked, and callers pass the address that `create` gave.
    unsafe { &*(address as *const Descriptor) }
}

pub(crate) fn write_index(address: usize) -> u64 {
    descriptor(address).write.load(Ordering::Acquire)
}

pub(crate) fn write_index_add(address: usize, count: u64) -> u64 {
    descriptor(address).write.fetch_add(count, Ordering::AcqRel)
}

pub(crate) fn read_index(address: usize) -> u64 {
    descriptor(address).read.load(Ordering::Acquire)
}

impl State {
    fn place(&self, index: u64) -> usize {
        let slot = usize::try_from(index % u64::from(self.descriptor.size)).unwrap_or(0);
        self.ring + slot * packet::BYTES
    }

    /// The packet of an index, once it is written and announced.
    fn packet(&self, index: u64) -> Option<Packet> {
        let announced = signal::load(self.descriptor.doorbell);
        (i64::try_from(index).is_ok_and(|index| index <= announced)).then(|| packet::published(self.place(index)))?
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Wait until `done`, or until the queue is to end; whether it is done.
    fn wait(&self, mut done: impl FnMut() -> bool) -> bool {
        let mut is_done = false;
        signal::wait_until(None, || {
            is_done = done();
            is_done || self.stopped()
        });
        is_done
    }

    /// The next packets that nothing orders: one, and launches after it that wait for nothing.
    fn next(&self) -> Option<Vec<Packet>> {
        let read = self.descriptor.read.load(Ordering::Acquire);
        let mut first = None;
        self.wait(|| {
            first = self.packet(read);
            first.is_some()
        });
        let mut all = vec![first?];
        if matches!(all[0].work, Work::Dispatch(_)) {
            let free = |packet: &Packet| matches!(packet.work, Work::Dispatch(_)) && !packet.barrier;
            let rest = (read + 1..read + WINDOW).map_while(|index| self.packet(index)).take_while(free);
            all.extend(rest);
        }
        Some(all)
    }
}

/// A queue's thread.
fn work(state: &State, mut chance: Chance) {
    while !state.stopped() {
        let Some(packets) = state.next() else { continue };
        for at in chance.order(packets.len()) {
            chance.delay();
            if let Err(failure) = perform(state, &packets[at]) {
                fail(state, &failure);
                return;
            }
            if state.stopped() {
                return;
            }
        }
        for _ in &packets {
            let read = state.descriptor.read.load(Ordering::Relaxed);
            packet::retire(state.place(read));
            state.descriptor.read.store(read + 1, Ordering::Release);
        }
        signal::ring();
    }
}

fn perform(state: &State, packet: &Packet) -> Result<(), dispatch::Failure> {
    let start = signal::now();
    report::note(|| format!("queue {}: {packet:x?}", state.descriptor.id));
    match &packet.work {
        Work::Dispatch(launch) => dispatch::run(launch)?,
        Work::BarrierAnd(signals) => {
            state.wait(|| signals.iter().all(|signal| signal.0 == 0 || signal::load(*signal) <= 0));
        }
        Work::BarrierOr(signals) => {
            let any = signals.iter().any(|signal| signal.0 != 0);
            state.wait(|| !any || signals.iter().any(|signal| signal.0 != 0 && signal::load(*signal) <= 0));
        }
        Work::BarrierValue { signal, value, mask, condition } => {
            let condition = Condition::of(*condition)
                .ok_or_else(|| dispatch::Failure::format(format!("condition {condition} of a barrier")))?;
            state.wait(|| condition.holds(signal::load(*signal) & mask, *value));
        }
        Work::Unknown(kind) => return Err(dispatch::Failure::format(format!("a packet of type {kind}"))),
    }
    if !state.stopped() {
        signal::complete(packet.completion, start, signal::now());
    }
    Ok(())
}

/// End a queue by an error: it is told to the runtime above, and nothing of it runs any more.
fn fail(state: &State, failure: &dispatch::Failure) {
    report::fail(&format!("queue {} ends: {}", state.descriptor.id, failure.text));
    let Some(on_error) = state.on_error else { return };
    let queue = std::ptr::from_ref(state.descriptor).cast_mut();
    // SAFETY: the callback and its argument were given with the queue, for exactly this.
    unsafe { on_error(failure.status, queue, state.argument as *mut c_void) };
    while !state.stopped() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_is_laid_out_as_the_header_says() {
        assert_eq!(std::mem::offset_of!(Descriptor, doorbell), 16);
        assert_eq!(std::mem::offset_of!(Descriptor, id), 32);
        assert_eq!(std::mem::offset_of!(Descriptor, write), 56);
        assert_eq!(std::mem::offset_of!(Descriptor, read), 128);
        // With 128 entries of two words at its end.
        assert!(size_of::<Descriptor>() >= 2304);
    }

    fn submit(queue: usize, bytes: [u8; packet::BYTES]) {
        let index = write_index_add(queue, 1);
        let at = descriptor(queue).base as usize + usize::try_from(index).unwrap() * packet::BYTES;
        // SAFETY: the index was reserved above, and lies in the ring.
        unsafe { std::ptr::write(at as *mut [u8; packet::BYTES], bytes) };
        signal::store(descriptor(queue).doorbell, index.cast_signed());
    }

    fn barrier(dependency: Signal, completion: Signal) -> [u8; packet::BYTES] {
        let mut bytes = [0; packet::BYTES];
        bytes[0] = 3;
        bytes[8..16].copy_from_slice(&dependency.0.to_le_bytes());
        bytes[56..].copy_from_slice(&completion.0.to_le_bytes());
        bytes
    }

    #[test]
    fn a_barrier_waits_for_its_signals() {
        let (first, done) = (signal::create(1).unwrap(), signal::create(1).unwrap());
        let queue = create(16, 0, None, std::ptr::null_mut()).unwrap();
        submit(queue, barrier(first, done));
        assert_eq!(signal::wait(done, Condition::Less, 1, 5_000_000), 1, "its dependency is not met");
        signal::store(first, 0);
        assert_eq!(signal::wait(done, Condition::Less, 1, u64::MAX), 0);
        assert!(signal::wait_until(None, || read_index(queue) == 1));
        assert_eq!(destroy(queue), Status::SUCCESS);
        assert_eq!(destroy(queue), Status::INVALID_QUEUE);
        assert_eq!(create(17, 0, None, std::ptr::null_mut()), Err(Status::INVALID_ARGUMENT));
    }

    #[test]
    fn an_unknown_packet_ends_its_queue_and_is_told() {
        extern "C" fn told(status: Status, _: *mut Descriptor, argument: *mut c_void) {
            // SAFETY: the argument is the number below, which is leaked.
            unsafe { &*argument.cast::<AtomicU64>() }.store(u64::from(status.0), Ordering::Release);
        }
        let status: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let queue = create(16, 0, Some(told), std::ptr::from_ref(status).cast_mut().cast()).unwrap();
        let mut bytes = [0; packet::BYTES];
        bytes[0] = 9;
        submit(queue, bytes);
        assert!(signal::wait_until(None, || status.load(Ordering::Acquire) == 0x1009));
        assert_eq!(destroy(queue), Status::SUCCESS);
    }
}
