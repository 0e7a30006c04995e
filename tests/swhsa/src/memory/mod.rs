//! All memory that the device knows, by address: its own, which the host cannot read, host memory of its pools, host memory
//! that was locked for it, and reserved addresses.
//!
//! Device memory is mapped twice. The address that the runtime above is given has no access, save while a kernel runs; the
//! device itself copies through the other one.
#![expect(unsafe_code, reason = "memory is mapped and its protection changed")]

mod backing;
mod virtual_range;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::Status;
use crate::agent::{DEVICE_BYTES, PAGE};
use crate::count::{self, Kind};
use crate::{fault, report};

pub(crate) use backing::Backing;
pub(crate) use virtual_range::{
    address_free, handle_create, handle_release, handle_retain, map, reserve, set_access, unmap,
};

/// How many ranges that begin before an address are looked at.
const NESTED_MAX: usize = 64;

/// What a range of addresses is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Device memory, from its beginning, as the device reaches it.
    Device {
        /// Its bytes.
        backing: std::sync::Arc<Backing>,
        /// Where in them the range begins.
        offset: usize,
        /// Whether kernels may reach it: mapped memory is out of reach until access is set.
        open: bool,
    },
    /// Host memory of a pool.
    Host,
    /// The caller's own memory, locked so many times.
    Locked(u32),
}

/// A range of addresses that something is behind.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) base: usize,
    pub(crate) bytes: usize,
    pub(crate) place: Place,
    /// The flags of its pool.
    pub(crate) flags: u32,
    /// Whether it was mapped by the calls on virtual memory.
    pub(crate) mapped: bool,
}

static RANGES: Mutex<BTreeMap<usize, Range>> = Mutex::new(BTreeMap::new());
/// Held while a kernel runs: one at a time.
static KERNEL: Mutex<()> = Mutex::new(());

fn ranges() -> MutexGuard<'static, BTreeMap<usize, Range>> {
    RANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whole pages.
pub(crate) fn pages(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(PAGE)
}

/// The range that an address lies in.
pub(crate) fn find(address: usize) -> Option<Range> {
    let ranges = ranges();
    // Locked ranges may lie in one another: the nearest beginning is not always the one.
    let mut before = ranges.range(..=address).rev().take(NESTED_MAX);
    before.find(|(_, range)| address - range.base < range.bytes).map(|(_, range)| range.clone())
}

/// Bytes of the device that are taken.
pub(crate) fn taken() -> u64 {
    backing::taken()
}

fn protect(base: usize, bytes: usize, protection: i32) {
    // SAFETY: the range is one that this module mapped, and its pages hold no Rust object.
    let result = unsafe { libc::mprotect(base as *mut _, bytes, protection) };
    if result != 0 {
        report::fail(&format!("the protection of {bytes} bytes at {base:#x} cannot be set"));
    }
}

/// Device memory that a kernel may reach. It is closed again when this is dropped.
pub(crate) struct Opened {
    _kernel: MutexGuard<'static, ()>,
    ranges: Vec<(usize, usize)>,
}

/// Let a kernel reach the device's memory. Kernels run one at a time.
pub(crate) fn open() -> Opened {
    let kernel = KERNEL.lock().unwrap_or_else(PoisonError::into_inner);
    let all = ranges();
    let is_open = |range: &&Range| matches!(range.place, Place::Device { open: true, .. });
    let ranges: Vec<(usize, usize)> = all.values().filter(is_open).map(|range| (range.base, range.bytes)).collect();
    ranges.iter().for_each(|(base, bytes)| protect(*base, *bytes, libc::PROT_READ | libc::PROT_WRITE));
    Opened { _kernel: kernel, ranges }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let all = ranges();
        // What was freed meanwhile is no longer there.
        let still = self.ranges.iter().filter(|(base, bytes)| all.get(base).is_some_and(|range| range.bytes == *bytes));
        still.for_each(|(base, bytes)| protect(*base, *bytes, libc::PROT_NONE));
    }
}

/// Device memory of at least so many bytes.
pub(crate) fn device_allocate(bytes: usize, flags: u32) -> Result<usize, Status> {
    if let Some(status) = fault::take(fault::Kind::DeviceMemory) {
        return Err(status);
    }
    let bytes = pages(bytes).filter(|bytes| *bytes > 0).ok_or(Status::INVALID_ARGUMENT)?;
    let backing = std::sync::Arc::new(Backing::new(bytes)?);
    // A page without access follows each allocation.
    let base = backing::nowhere(bytes + PAGE)?;
    backing.show(base, 0, bytes)?;
    count::made(Kind::DeviceMemory);
    let place = Place::Device { backing, offset: 0, open: true };
    ranges().insert(base, Range { base, bytes, place, flags, mapped: false });
    report::note(|| format!("{bytes} bytes of the device at {base:#x}"));
    Ok(base)
}

/// Host memory of at least so many bytes.
pub(crate) fn host_allocate(bytes: usize, flags: u32) -> Result<usize, Status> {
    if let Some(status) = fault::take(fault::Kind::HostMemory) {
        return Err(status);
    }
    let bytes = pages(bytes).filter(|bytes| *bytes > 0).ok_or(Status::INVALID_ARGUMENT)?;
    if u64::try_from(bytes).is_ok_and(|bytes| bytes > crate::agent::HOST_BYTES) {
        return Err(Status::OUT_OF_RESOURCES);
    }
    let base = backing::anywhere(bytes)?;
    count::made(Kind::HostMemory);
    ranges().insert(base, Range { base, bytes, place: Place::Host, flags, mapped: false });
    Ok(base)
}

/// Give back what one of the two gave.
pub(crate) fn free(base: usize) -> Status {
    let range = {
        let mut all = ranges();
        match all.get(&base) {
            Some(range) if !range.mapped && !matches!(range.place, Place::Locked(_)) => all.remove(&base),
            _ => None,
        }
    };
    let Some(range) = range else { return Status::INVALID_ALLOCATION };
    match range.place {
        Place::Device { .. } => {
            backing::forget(range.base, range.bytes + PAGE);
            count::gone(Kind::DeviceMemory);
        }
        _ => {
            backing::forget(range.base, range.bytes);
            count::gone(Kind::HostMemory);
        }
    }
    Status::SUCCESS
}

/// Let the device reach memory of the caller's.
pub(crate) fn lock(base: usize, bytes: usize, flags: u32) -> Status {
    if base == 0 || bytes == 0 {
        return Status::INVALID_ARGUMENT;
    }
    let mut all = ranges();
    match all.get_mut(&base) {
        Some(Range { place: Place::Locked(times), bytes: known, .. }) => {
            *times += 1;
            *known = bytes.max(*known);
        }
        Some(_) => return Status::INVALID_ALLOCATION,
        None => {
            all.insert(base, Range { base, bytes, place: Place::Locked(1), flags, mapped: false });
        }
    }
    count::made(Kind::LockedMemory);
    Status::SUCCESS
}

/// Undo one [`lock`].
pub(crate) fn unlock(base: usize) -> Status {
    let mut all = ranges();
    let Some(Range { place: Place::Locked(times), .. }) = all.get_mut(&base) else {
        return Status::INVALID_ALLOCATION;
    };
    *times -= 1;
    if *times == 0 {
        all.remove(&base);
    }
    count::gone(Kind::LockedMemory);
    Status::SUCCESS
}

/// Where the device itself reaches `bytes` at an address, or why it cannot.
pub(crate) fn reach(address: usize, bytes: usize) -> Result<usize, String> {
    let Some(range) = find(address) else {
        return Err(format!("{bytes} bytes at {address:#x} are neither the device's nor locked for it"));
    };
    let within = address - range.base;
    if within + bytes > range.bytes {
        let over = within + bytes - range.bytes;
        return Err(format!("{bytes} bytes at {address:#x} reach {over} bytes beyond their allocation"));
    }
    match range.place {
        Place::Device { open: false, .. } => Err(format!("{address:#x} is mapped without access")),
        Place::Device { backing, offset, .. } => Ok(backing.address() + offset + within),
        Place::Host | Place::Locked(_) => Ok(address),
    }
}

/// Copy bytes as the device does.
pub(crate) fn copy(to: usize, from: usize, bytes: usize) -> Result<(), String> {
    let (to, from) = (reach(to, bytes)?, reach(from, bytes)?);
    // SAFETY: both were found to be mapped in full; they are no object of this library's, and may overlap.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    Ok(())
}

/// Write bytes of this library's into memory that the device reaches.
pub(crate) fn write(to: usize, bytes: &[u8]) -> Result<(), String> {
    let to = reach(to, bytes.len())?;
    // SAFETY: as in `copy`; the source is a slice, which lies elsewhere.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
    Ok(())
}

/// Read bytes that the device reaches.
pub(crate) fn read(from: usize, bytes: usize) -> Result<Vec<u8>, String> {
    let from = reach(from, bytes)?;
    let mut found = vec![0; bytes];
    // SAFETY: as in `copy`; the destination is a vector of that length.
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, found.as_mut_ptr(), bytes) };
    Ok(found)
}

/// Bytes of the device that nobody has.
pub(crate) fn available() -> u64 {
    DEVICE_BYTES.saturating_sub(taken())
}

#[cfg(test)]
mod tests;
