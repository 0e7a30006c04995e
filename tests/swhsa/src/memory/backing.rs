//! The bytes of device memory: a file in memory that is mapped where the device reaches it, and shown where it is told.
#![expect(unsafe_code, reason = "maps memory")]

use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::Status;
use crate::agent::DEVICE_BYTES;

/// What fresh device memory holds, so that a read of what nobody wrote shows.
const POISON: u8 = 0xC5;

/// How much of a large allocation is filled with it, at each end.
const POISONED_MAX: usize = 64 << 10;

static TAKEN: AtomicU64 = AtomicU64::new(0);

pub(super) fn taken() -> u64 {
    TAKEN.load(Ordering::Relaxed)
}

/// Bytes of device memory.
#[derive(Debug)]
pub(crate) struct Backing {
    file: i32,
    address: usize,
    bytes: usize,
}

impl Backing {
    /// Take so many bytes of the device, whole pages.
    pub(crate) fn new(bytes: usize) -> Result<Self, Status> {
        let wanted = u64::try_from(bytes).map_err(|_| Status::OUT_OF_RESOURCES)?;
        let take = |taken: u64| taken.checked_add(wanted).filter(|taken| *taken <= DEVICE_BYTES);
        TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(|_| Status::OUT_OF_RESOURCES)?;
        let Some((file, address)) = mapped(bytes) else {
            TAKEN.fetch_sub(wanted, Ordering::Relaxed);
            return Err(Status::OUT_OF_RESOURCES);
        };
        let backing = Self { file, address, bytes };
        let some = bytes.min(POISONED_MAX);
        backing.poison(0, some);
        backing.poison(bytes - some, some);
        Ok(backing)
    }

    fn poison(&self, from: usize, bytes: usize) {
        // SAFETY: the part lies in the mapping, which nobody else knows yet.
        unsafe { std::ptr::write_bytes((self.address + from) as *mut u8, POISON, bytes) };
    }

    /// Where the device reaches it.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Show a part of it at an address, without access. What was mapped there is replaced.
    pub(super) fn show(&self, at: usize, offset: usize, bytes: usize) -> Result<(), Status> {
        let place = i64::try_from(offset).map_err(|_| Status::INVALID_ARGUMENT)?;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: the addresses are reserved by this library, and nothing of Rust's lies there.
        let shown = unsafe { libc::mmap(at as *mut _, bytes, libc::PROT_NONE, flags, self.file, place) };
        if shown == libc::MAP_FAILED { Err(Status::OUT_OF_RESOURCES) } else { Ok(()) }
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        forget(self.address, self.bytes);
        // SAFETY: the file is this backing's own; what it is still shown at keeps its pages.
        unsafe { libc::close(self.file) };
        TAKEN.fetch_sub(self.bytes as u64, Ordering::Relaxed);
    }
}

/// A file in memory of so many bytes, and where it is mapped.
fn mapped(bytes: usize) -> Option<(i32, usize)> {
    let length = i64::try_from(bytes).ok()?;
    // SAFETY: the name is a C string; the flag closes the file in children.
    let file = unsafe { libc::memfd_create(c"swhsa".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: the file was just made.
    let sized = unsafe { libc::ftruncate(file, length) };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the system's choice.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, 0) };
    if sized != 0 || address == libc::MAP_FAILED {
        // SAFETY: nobody else has the file.
        unsafe { libc::close(file) };
        return None;
    }
    Some((file, address as usize))
}

fn anonymous(at: usize, bytes: usize, access: i32, flags: i32) -> Result<usize, Status> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping; with a fixed address, over addresses that this library reserved.
    let address = unsafe { libc::mmap(at as *mut _, bytes, access, flags, -1, 0) };
    if address == libc::MAP_FAILED { Err(Status::OUT_OF_RESOURCES) } else { Ok(address as usize) }
}

/// Addresses with nothing behind them.
pub(super) fn nowhere(bytes: usize) -> Result<usize, Status> {
    anonymous(0, bytes, libc::PROT_NONE, 0)
}

/// Make reserved addresses have nothing behind them again.
pub(super) fn hide(at: usize, bytes: usize) -> Result<(), Status> {
    anonymous(at, bytes, libc::PROT_NONE, libc::MAP_FIXED).map(|_| ())
}

/// Memory of the host's.
pub(super) fn anywhere(bytes: usize) -> Result<usize, Status> {
    anonymous(0, bytes, libc::PROT_READ | libc::PROT_WRITE, 0)
}

/// Unmap what one of the above mapped.
pub(super) fn forget(at: usize, bytes: usize) {
    // SAFETY: the range is one that this library mapped, and its owner gives it up.
    unsafe { libc::munmap(at as *mut _, bytes) };
}
