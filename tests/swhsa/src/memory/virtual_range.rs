//! The calls on virtual memory: addresses are reserved, memory without an address is made, and one is mapped to the other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Backing, Place, Range, backing, pages, ranges};
use crate::abi::{Status, VirtualHandle};
use crate::agent::PAGE;
use crate::count::{self, Kind};
use crate::fault;

/// Memory without an address, and how often it is held.
#[derive(Clone, Debug)]
struct VirtualMemory {
    backing: Arc<Backing>,
    holds: u32,
    flags: u32,
}

#[derive(Default)]
struct Tables {
    /// Reserved addresses, with their bytes, and what was mapped to reach them.
    reserved: BTreeMap<usize, Reserved>,
    handles: BTreeMap<u64, VirtualMemory>,
    next: u64,
}

struct Reserved {
    bytes: usize,
    mapped_at: usize,
    mapped_bytes: usize,
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

fn with<T>(use_it: impl FnOnce(&mut Tables) -> T) -> T {
    let mut tables: MutexGuard<'_, Option<Tables>> = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    use_it(tables.get_or_insert_default())
}

/// Reserve addresses, aligned as asked.
pub(crate) fn reserve(bytes: usize, alignment: usize) -> Result<usize, Status> {
    let bytes = pages(bytes).filter(|bytes| *bytes > 0).ok_or(Status::INVALID_ARGUMENT)?;
    let alignment = alignment.max(PAGE);
    if !alignment.is_power_of_two() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let mapped_bytes = bytes.checked_add(alignment).ok_or(Status::INVALID_ARGUMENT)?;
    let mapped_at = backing::nowhere(mapped_bytes)?;
    let base = mapped_at.next_multiple_of(alignment);
    with(|tables| tables.reserved.insert(base, Reserved { bytes, mapped_at, mapped_bytes }));
    count::made(Kind::Reservation);
    Ok(base)
}

/// Give reserved addresses back. Nothing may be mapped there.
pub(crate) fn address_free(base: usize, bytes: usize) -> Status {
    let bytes = pages(bytes).unwrap_or(0);
    with(|tables| {
        match tables.reserved.get(&base) {
            Some(reserved) if reserved.bytes == bytes => {}
            _ => return Status::INVALID_ALLOCATION,
        }
        if ranges().range(base..base + bytes).next().is_some() {
            return Status(46);
        }
        if let Some(reserved) = tables.reserved.remove(&base) {
            backing::forget(reserved.mapped_at, reserved.mapped_bytes);
        }
        count::gone(Kind::Reservation);
        Status::SUCCESS
    })
}

/// Memory of the device without an address.
pub(crate) fn handle_create(bytes: usize, flags: u32) -> Result<VirtualHandle, Status> {
    if let Some(status) = fault::take(fault::Kind::DeviceMemory) {
        return Err(status);
    }
    let bytes = pages(bytes).filter(|bytes| *bytes > 0).ok_or(Status::INVALID_ARGUMENT)?;
    let backing = Arc::new(Backing::new(bytes)?);
    count::made(Kind::VirtualHandle);
    with(|tables| {
        tables.next += 1;
        let handle = 0x1_0000 + tables.next;
        tables.handles.insert(handle, VirtualMemory { backing, holds: 1, flags });
        Ok(VirtualHandle(handle))
    })
}

/// Give a handle up. The memory stays where it is mapped.
pub(crate) fn handle_release(handle: VirtualHandle) -> Status {
    with(|tables| {
        let Some(memory) = tables.handles.get_mut(&handle.0) else { return Status::INVALID_ALLOCATION };
        memory.holds -= 1;
        if memory.holds == 0 {
            tables.handles.remove(&handle.0);
            count::gone(Kind::VirtualHandle);
        }
        Status::SUCCESS
    })
}

/// The handle of what is mapped at an address, held once more.
pub(crate) fn handle_retain(address: usize) -> Result<VirtualHandle, Status> {
    let range = super::find(address).ok_or(Status::INVALID_ALLOCATION)?;
    let Place::Device { backing, .. } = range.place else { return Err(Status::INVALID_ALLOCATION) };
    with(|tables| {
        let mut all = tables.handles.iter_mut();
        if let Some((handle, memory)) = all.find(|(_, memory)| Arc::ptr_eq(&memory.backing, &backing)) {
            memory.holds += 1;
            return Ok(VirtualHandle(*handle));
        }
        if !range.mapped {
            return Err(Status::INVALID_ALLOCATION);
        }
        // Its last handle was given up while it stayed mapped.
        tables.next += 1;
        let handle = 0x1_0000 + tables.next;
        tables.handles.insert(handle, VirtualMemory { backing, holds: 1, flags: range.flags });
        count::made(Kind::VirtualHandle);
        Ok(VirtualHandle(handle))
    })
}

/// Map memory to reserved addresses, out of reach until access is set.
pub(crate) fn map(at: usize, bytes: usize, offset: usize, handle: VirtualHandle) -> Status {
    with(|tables| {
        let inside = |(base, reserved): (&usize, &Reserved)| at - base + bytes <= reserved.bytes;
        if bytes == 0 || !tables.reserved.range(..=at).next_back().is_some_and(inside) {
            return Status::INVALID_ARGUMENT;
        }
        let Some(memory) = tables.handles.get(&handle.0) else { return Status::INVALID_ALLOCATION };
        if offset.checked_add(bytes).is_none_or(|end| end > memory.backing.bytes()) {
            return Status::INVALID_ARGUMENT;
        }
        let mut all = ranges();
        if all.range(at..at + bytes).next().is_some() {
            return Status::INVALID_ALLOCATION;
        }
        if let Err(status) = memory.backing.show(at, offset, bytes) {
            return status;
        }
        let place = Place::Device { backing: Arc::clone(&memory.backing), offset, open: false };
        all.insert(at, Range { base: at, bytes, place, flags: memory.flags, mapped: true });
        count::made(Kind::Mapping);
        Status::SUCCESS
    })
}

/// Undo one [`map`].
pub(crate) fn unmap(at: usize, bytes: usize) -> Status {
    let mut all = ranges();
    match all.get(&at) {
        Some(range) if range.mapped && range.bytes == bytes => {}
        _ => return Status::INVALID_ALLOCATION,
    }
    all.remove(&at);
    count::gone(Kind::Mapping);
    match backing::hide(at, bytes) {
        Ok(()) => Status::SUCCESS,
        Err(status) => status,
    }
}

/// Whether the device may reach what is mapped in a range of addresses.
pub(crate) fn set_access(at: usize, bytes: usize, allowed: bool) -> Status {
    let mut all = ranges();
    let mut any = false;
    for (_, range) in all.range_mut(at..at.saturating_add(bytes)) {
        if let Place::Device { open, .. } = &mut range.place {
            *open = allowed;
            any = true;
        }
    }
    if any { Status::SUCCESS } else { Status::INVALID_ALLOCATION }
}
