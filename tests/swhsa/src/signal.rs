//! Signals: words that work ends by changing, waits for them, and handlers that run when one satisfies a condition.
#![expect(unsafe_code, reason = "a signal's handle is an address that the runtime above hands back")]

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::{Signal, Status};
use crate::count::{self, Kind};
use crate::{fault, report};

/// `AMD_SIGNAL_KIND_USER` and `AMD_SIGNAL_KIND_DOORBELL`.
const USER: i64 = 1;
const DOORBELL: i64 = -1;

/// What marks a cell as a signal that lives.
const ALIVE: u32 = 0x5157_4A11;

/// How many destroyed signals wait before one is used again, so that a late use of one is seen.
const KEPT: usize = 256;

/// The longest sleep of a wait: a value may also be written past this library, through its address.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The longest wait for handlers at the end of the process.
const DRAIN_MAX: Duration = Duration::from_millis(500);

/// `amd_signal_t`, whose members the runtime above may read, and a mark behind it.
#[repr(C, align(64))]
pub(crate) struct Cell {
    kind: AtomicI64,
    value: AtomicI64,
    mailbox: u64,
    event: u32,
    reserved1: u32,
    start: AtomicU64,
    end: AtomicU64,
    queue: u64,
    reserved3: [u32; 2],
    alive: AtomicU32,
}

/// `hsa_signal_condition_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Equal,
    NotEqual,
    Less,
    GreaterOrEqual,
}

impl Condition {
    pub(crate) fn of(number: u32) -> Option<Self> {
        [Self::Equal, Self::NotEqual, Self::Less, Self::GreaterOrEqual].get(number as usize).copied()
    }

    pub(crate) fn holds(self, value: i64, against: i64) -> bool {
        match self {
            Self::Equal => value == against,
            Self::NotEqual => value != against,
            Self::Less => value < against,
            Self::GreaterOrEqual => value >= against,
        }
    }
}

/// `hsa_amd_signal_handler`.
pub(crate) type Callback = unsafe extern "C" fn(i64, *mut c_void) -> bool;

struct Handler {
    signal: Signal,
    condition: Condition,
    against: i64,
    callback: Callback,
    argument: usize,
}

static FREE: Mutex<VecDeque<&'static Cell>> = Mutex::new(VecDeque::new());
static HANDLERS: Mutex<Vec<Handler>> = Mutex::new(Vec::new());
static HANDLING: AtomicBool = AtomicBool::new(false);
/// Whether a handler is being called now.
static CALLING: AtomicBool = AtomicBool::new(false);
static BELL: Mutex<u64> = Mutex::new(0);
static RUNG: Condvar = Condvar::new();

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nanoseconds of the clock that does not jump: the system's, and the device's.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is a `timespec`, and the clock is one that every Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Wake all that wait for anything.
pub(crate) fn ring() {
    *lock(&BELL) += 1;
    RUNG.notify_all();
}

/// Wait until `done`, at most until the deadline; whether it is.
pub(crate) fn wait_until(deadline: Option<Instant>, mut done: impl FnMut() -> bool) -> bool {
    loop {
        let seen = *lock(&BELL);
        if done() {
            return true;
        }
        let mut sleep = LOOK_AGAIN;
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            sleep = sleep.min(left);
        }
        let bell = lock(&BELL);
        if *bell == seen {
            drop(RUNG.wait_timeout(bell, sleep));
        }
    }
}

fn cell(signal: Signal) -> Option<&'static Cell> {
    if signal.0 == 0 || !signal.0.is_multiple_of(64) {
        return None;
    }
    // SAFETY: handles are addresses of cells that are never given back to the allocator; a destroyed one is only marked.
    let cell = unsafe { &*(signal.0 as *const Cell) };
    if cell.alive.load(Ordering::Acquire) == ALIVE {
        return Some(cell);
    }
    report::fail(&format!("signal {:#x} is used after it was destroyed", signal.0));
    None
}

fn make(kind: i64, value: i64) -> Signal {
    let used = {
        let mut free = lock(&FREE);
        if free.len() > KEPT { free.pop_front() } else { None }
    };
    let cell = used.unwrap_or_else(|| {
        Box::leak(Box::new(Cell {
            kind: AtomicI64::new(0),
            value: AtomicI64::new(0),
            mailbox: 0,
            event: 0,
            reserved1: 0,
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            queue: 0,
            reserved3: [0; 2],
            alive: AtomicU32::new(0),
        }))
    });
    cell.kind.store(kind, Ordering::Relaxed);
    cell.value.store(value, Ordering::Relaxed);
    cell.start.store(0, Ordering::Relaxed);
    cell.end.store(0, Ordering::Relaxed);
    cell.alive.store(ALIVE, Ordering::Release);
    count::made(Kind::Signal);
    Signal(std::ptr::from_ref(cell) as u64)
}

pub(crate) fn create(value: i64) -> Result<Signal, Status> {
    match fault::take(fault::Kind::Signal) {
        Some(status) => {
            // Callers are seen to end the process by it.
            report::fail("a fault was asked for: a signal is not made");
            Err(status)
        }
        None => Ok(make(USER, value)),
    }
}

/// The doorbell of a queue: its value is the last packet that the device may look at.
pub(crate) fn doorbell() -> Signal {
    make(DOORBELL, -1)
}

pub(crate) fn destroy(signal: Signal) -> Status {
    let Some(cell) = cell(signal) else { return Status::INVALID_SIGNAL };
    if lock(&HANDLERS).iter().any(|handler| handler.signal == signal) {
        report::fail("a signal is destroyed while a handler waits for it");
    }
    cell.alive.store(0, Ordering::Release);
    lock(&FREE).push_back(cell);
    count::gone(Kind::Signal);
    Status::SUCCESS
}

pub(crate) fn load(signal: Signal) -> i64 {
    cell(signal).map_or(0, |cell| cell.value.load(Ordering::Acquire))
}

/// Where the value is, for work that reads or writes it itself.
pub(crate) fn address(signal: Signal) -> Option<usize> {
    cell(signal).map(|cell| std::ptr::from_ref(&cell.value) as usize)
}

/// Change the value, and wake all that wait.
pub(crate) fn change(signal: Signal, change: impl Fn(i64) -> i64) {
    let Some(cell) = cell(signal) else { return };
    let mut before = cell.value.load(Ordering::Acquire);
    while let Err(now) = cell.value.compare_exchange_weak(before, change(before), Ordering::AcqRel, Ordering::Acquire) {
        before = now;
    }
    ring();
}

pub(crate) fn store(signal: Signal, value: i64) {
    let Some(cell) = cell(signal) else { return };
    let value = match cell.kind.load(Ordering::Relaxed) {
        // Several producers may ring out of order; a packet that was announced stays announced.
        DOORBELL => value.max(cell.value.load(Ordering::Acquire)),
        _ => value,
    };
    cell.value.store(value, Ordering::Release);
    ring();
}

/// Work that began and ended at these times is done.
pub(crate) fn complete(signal: Signal, start: u64, end: u64) {
    if signal.0 == 0 {
        return;
    }
    if let Some(cell) = cell(signal) {
        cell.start.store(start, Ordering::Relaxed);
        cell.end.store(end, Ordering::Relaxed);
    }
    change(signal, |value| value - 1);
}

/// When the work began and ended whose end the signal tells; zero for none.
pub(crate) fn times(signal: Signal) -> Option<(u64, u64)> {
    cell(signal).map(|cell| (cell.start.load(Ordering::Relaxed), cell.end.load(Ordering::Relaxed)))
}

/// Wait for a condition, at most `nanoseconds`; the value at the end, whichever it is.
pub(crate) fn wait(signal: Signal, condition: Condition, against: i64, nanoseconds: u64) -> i64 {
    // A time of centuries is no deadline.
    let deadline = Instant::now().checked_add(Duration::from_nanos(nanoseconds)).filter(|_| nanoseconds != u64::MAX);
    let mut value = load(signal);
    wait_until(deadline, || {
        value = load(signal);
        condition.holds(value, against)
    });
    value
}

/// Call back once the condition holds, on the thread of handlers, and again as long as the callback says so.
pub(crate) fn on(
    signal: Signal,
    condition: Condition,
    against: i64,
    callback: Callback,
    argument: *mut c_void,
) -> Status {
    if cell(signal).is_none() {
        return Status::INVALID_SIGNAL;
    }
    count::made(Kind::Handler);
    lock(&HANDLERS).push(Handler { signal, condition, against, callback, argument: argument as usize });
    if !HANDLING.swap(true, Ordering::AcqRel) {
        let started = std::thread::Builder::new().name("swhsa-handlers".into()).spawn(handle);
        if started.is_err() {
            return Status::OUT_OF_RESOURCES;
        }
    }
    ring();
    Status::SUCCESS
}

/// The thread of handlers.
fn handle() {
    loop {
        let mut ready: Option<(Handler, i64)> = None;
        wait_until(None, || {
            let mut all = lock(&HANDLERS);
            let holds = |handler: &Handler| handler.condition.holds(load(handler.signal), handler.against);
            let Some(at) = all.iter().position(holds) else { return false };
            let handler = all.remove(at);
            let value = load(handler.signal);
            CALLING.store(true, Ordering::Release);
            ready = Some((handler, value));
            true
        });
        let Some((handler, value)) = ready else { continue };
        // SAFETY: the function and its argument were given for exactly this, and live until it says that it is done.
        let again = unsafe { (handler.callback)(value, handler.argument as *mut c_void) };
        if again {
            lock(&HANDLERS).push(handler);
        } else {
            count::gone(Kind::Handler);
        }
        CALLING.store(false, Ordering::Release);
        ring();
    }
}

/// Whether nothing is left to call now.
fn quiet() -> bool {
    let all = lock(&HANDLERS);
    !CALLING.load(Ordering::Acquire)
        && !all.iter().any(|handler| handler.condition.holds(load(handler.signal), handler.against))
}

/// The process ends: what is ready is still called, before what it is called into is destroyed.
pub(crate) extern "C" fn drain() {
    wait_until(Some(Instant::now() + DRAIN_MAX), quiet);
}

/// Call nothing any more, once this returns.
pub(crate) fn forget_handlers() {
    for _ in std::mem::take(&mut *lock(&HANDLERS)) {
        count::gone(Kind::Handler);
    }
    wait_until(Some(Instant::now() + DRAIN_MAX), || !CALLING.load(Ordering::Acquire));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_value_or_its_time() {
        let signal = create(1).unwrap();
        assert_eq!(wait(signal, Condition::Less, 1, 1_000_000), 1);
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            complete(signal, 3, 4);
        });
        assert_eq!(wait(signal, Condition::Less, 1, u64::MAX), 0);
        assert_eq!(times(signal), Some((3, 4)));
        other.join().unwrap();
        assert_eq!(destroy(signal), Status::SUCCESS);
        assert_eq!(destroy(signal), Status::INVALID_SIGNAL);
        assert_eq!(destroy(Signal(0)), Status::INVALID_SIGNAL);
    }

    #[test]
    fn a_handler_runs_until_it_is_done() {
        extern "C" fn twice(_: i64, argument: *mut c_void) -> bool {
            // SAFETY: the argument is the counter below, which outlives the handler.
            let count = unsafe { &*argument.cast::<AtomicU32>() };
            count.fetch_add(1, Ordering::Relaxed) == 0
        }
        let calls: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        let signal = create(5).unwrap();
        let argument = std::ptr::from_ref(calls).cast_mut().cast();
        assert_eq!(on(signal, Condition::Equal, 0, twice, argument), Status::SUCCESS);
        store(signal, 0);
        assert!(wait_until(Some(Instant::now() + Duration::from_secs(10)), || calls.load(Ordering::Relaxed) == 2));
    }

    #[test]
    fn a_doorbell_does_not_go_back() {
        let bell = doorbell();
        store(bell, 4);
        store(bell, 3);
        assert_eq!(load(bell), 4);
    }
}
