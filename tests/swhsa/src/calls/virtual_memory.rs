//! Virtual memory.
#![expect(unsafe_code, reason = "exports functions by name")]

use super::unsupported::refuse;
use crate::abi::{AccessDesc, Agent, In, Out, Pool, Status, VirtualHandle};
use crate::agent::{CPU, GPU, POOL_DEVICE};
use crate::memory::{self, Place};

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_address_reserve(address: Out<usize>, bytes: usize, wanted: u64, flags: u64) -> Status {
    hsa_amd_vmem_address_reserve_align(address, bytes, wanted, 0, flags)
}

/// An address that the caller wants is a hint, and is not taken.
#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_address_reserve_align(
    address: Out<usize>,
    bytes: usize,
    _wanted: u64,
    alignment: u64,
    _flags: u64,
) -> Status {
    match memory::reserve(bytes, usize::try_from(alignment).unwrap_or(usize::MAX)) {
        Ok(base) => address.set(base),
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_address_free(address: usize, bytes: usize) -> Status {
    memory::address_free(address, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_handle_create(
    pool: Pool,
    bytes: usize,
    _kind: u32,
    _flags: u64,
    handle: Out<VirtualHandle>,
) -> Status {
    if pool != POOL_DEVICE {
        return refuse("virtual memory of the host");
    }
    match memory::handle_create(bytes, 4) {
        Ok(made) => handle.set(made),
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_handle_release(handle: VirtualHandle) -> Status {
    memory::handle_release(handle)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_retain_alloc_handle(handle: Out<VirtualHandle>, address: usize) -> Status {
    match memory::handle_retain(address) {
        Ok(found) => handle.set(found),
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_map(
    address: usize,
    bytes: usize,
    offset: usize,
    handle: VirtualHandle,
    _flags: u64,
) -> Status {
    memory::map(address, bytes, offset, handle)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_unmap(address: usize, bytes: usize) -> Status {
    memory::unmap(address, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_set_access(address: usize, bytes: usize, wanted: In<AccessDesc>, count: usize) -> Status {
    let wanted = wanted.all(count);
    if wanted.iter().any(|access| access.agent == CPU && access.permissions != 0) {
        return refuse("the host's access to memory of the device");
    }
    match wanted.iter().find(|access| access.agent == GPU) {
        // Reading and writing.
        Some(access) => memory::set_access(address, bytes, access.permissions == 3),
        None => Status::SUCCESS,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_vmem_get_access(address: usize, permissions: Out<u32>, agent: Agent) -> Status {
    match memory::find(address).map(|range| range.place) {
        Some(Place::Device { open, .. }) => permissions.set(if open && agent == GPU { 3 } else { 0 }),
        _ => Status::INVALID_ALLOCATION,
    }
}
