//! Allocation, locking, access, and what an address is.
#![expect(unsafe_code, reason = "exports functions by name")]

use crate::abi::{Agent, In, Out, PointerInfo, Pool, Status};
use crate::agent::{CPU, GPU, POOL_COARSE, POOL_DEVICE, POOL_FINE, POOL_KERNARG};
use crate::memory::{self, Place};
use crate::{report, settings};

/// The flags that a pool gives its allocations.
fn flags(pool: Pool) -> u32 {
    match pool {
        POOL_KERNARG => 3,
        POOL_FINE => 2,
        _ => 4,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_pool_allocate(pool: Pool, bytes: usize, _flags: u32, address: Out<usize>) -> Status {
    if !address.wanted() {
        return Status::INVALID_ARGUMENT;
    }
    let made = match pool {
        POOL_DEVICE => memory::device_allocate(bytes, flags(pool)),
        POOL_FINE | POOL_KERNARG | POOL_COARSE => memory::host_allocate(bytes, flags(pool)),
        _ => Err(Status::INVALID_MEMORY_POOL),
    };
    match made {
        Ok(base) => address.set(base),
        Err(status) => {
            report::note(|| format!("{bytes} bytes cannot be allocated: {status:?}"));
            status
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_pool_free(address: usize) -> Status {
    if address == 0 {
        return Status::SUCCESS;
    }
    let status = memory::free(address);
    if status != Status::SUCCESS {
        report::fail(&format!("{address:#x} is freed and was not allocated"));
    }
    status
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_agents_allow_access(count: u32, agents: In<Agent>, _flags: usize, address: usize) -> Status {
    let agents = agents.all(count as usize);
    let Some(range) = memory::find(address) else {
        report::fail(&format!("access to {address:#x}, which is no allocation, is asked for"));
        return Status::INVALID_ALLOCATION;
    };
    if agents.contains(&CPU) && matches!(range.place, Place::Device { .. }) {
        report::fail("the host asks for access to memory of the device; no window leads there");
        return Status::INVALID_AGENT;
    }
    Status::SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_lock_to_pool(
    address: usize,
    bytes: usize,
    _agents: usize,
    _count: i32,
    pool: Pool,
    _flags: u32,
    agent_address: Out<usize>,
) -> Status {
    match memory::lock(address, bytes, flags(pool)) {
        Status::SUCCESS => agent_address.set(address),
        status => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_unlock(address: usize) -> Status {
    memory::unlock(address)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_memory_register(address: usize, bytes: usize) -> Status {
    memory::lock(address, bytes, 2)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_memory_deregister(address: usize, _bytes: usize) -> Status {
    memory::unlock(address)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_coherency_set_type(_agent: Agent, _kind: u32) -> Status {
    Status::SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_agent_set_async_scratch_limit(_agent: Agent, _bytes: usize) -> Status {
    Status::SUCCESS
}

/// What an address is. `accessible` is allocated by the caller's function, where both are given.
#[unsafe(no_mangle)]
extern "C" fn hsa_amd_pointer_info(
    address: usize,
    info: Out<PointerInfo>,
    allocate: Option<unsafe extern "C" fn(usize) -> *mut Agent>,
    count: Out<u32>,
    accessible: Out<*mut Agent>,
) -> Status {
    let Some(asked) = info.get() else { return Status::INVALID_ARGUMENT };
    let mut answer = PointerInfo { size: asked.size, kind: 0, ..asked };
    let mut agents: Vec<Agent> = Vec::new();
    if let Some(range) = memory::find(address) {
        let device = matches!(range.place, Place::Device { .. });
        let locked = matches!(range.place, Place::Locked(_));
        answer.kind = match (locked, range.mapped) {
            (true, _) => 2,
            (_, true) => 6,
            _ => 1,
        };
        answer.agent_base = range.base;
        answer.host_base = if device { 0 } else { range.base };
        answer.bytes = range.bytes;
        answer.user_data = 0;
        answer.owner = if device { GPU } else { CPU };
        answer.flags = range.flags;
        answer.registered = 1;
        agents = if device { vec![GPU] } else { vec![CPU, GPU] };
    }
    if count.wanted() {
        count.set(u32::try_from(agents.len()).unwrap_or(0));
        if let (Some(allocate), true) = (allocate, accessible.wanted()) {
            // SAFETY: the function is an allocator, by the contract of this call.
            let place = unsafe { allocate(agents.len().max(1) * size_of::<Agent>()) };
            for (at, agent) in agents.iter().enumerate() {
                Out::at(place, at).set(*agent);
            }
            accessible.set(place);
        }
    }
    report::note(|| format!("{address:#x} is of kind {} on {}", answer.kind, settings::get().personality.name));
    info.set(answer)
}
