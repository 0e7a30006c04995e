//! How many objects of each kind live, so that a test sees what the runtime above, or its caller, leaks.

use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted. The numbers are those of the control interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    DeviceMemory = 0,
    HostMemory = 1,
    LockedMemory = 2,
    Signal = 3,
    Queue = 4,
    Reader = 5,
    Executable = 6,
    Reservation = 7,
    VirtualHandle = 8,
    Mapping = 9,
    Handler = 10,
    Kernel = 11,
}

const KINDS: usize = 12;

static LIVE: [AtomicU64; KINDS] = [const { AtomicU64::new(0) }; KINDS];
static MADE: [AtomicU64; KINDS] = [const { AtomicU64::new(0) }; KINDS];

pub(crate) fn made(kind: Kind) {
    LIVE[kind as usize].fetch_add(1, Ordering::Relaxed);
    MADE[kind as usize].fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn gone(kind: Kind) {
    let before = LIVE[kind as usize].fetch_sub(1, Ordering::Relaxed);
    assert!(before > 0, "{kind:?} ends more often than it begins");
}

/// How many live, by number.
pub(crate) fn live(kind: u32) -> Option<u64> {
    LIVE.get(kind as usize).map(|count| count.load(Ordering::Relaxed))
}

/// How many were ever made, by number.
pub(crate) fn ever(kind: u32) -> Option<u64> {
    MADE.get(kind as usize).map(|count| count.load(Ordering::Relaxed))
}
