//! Copies.
#![expect(unsafe_code, reason = "exports functions by name")]

use crate::abi::{Agent, Dim3, In, Out, Pitched, Signal, Status};
use crate::agent::{CPU, GPU};
use crate::copy::{self, ENGINES_MASK};
use crate::{memory, report};

fn known(agent: Agent) -> bool {
    agent == CPU || agent == GPU
}

/// The engine of a direction: to the host, or not.
fn by_direction(to: Agent) -> usize {
    usize::from(to == CPU)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_async_copy(
    to: usize,
    to_agent: Agent,
    from: usize,
    from_agent: Agent,
    bytes: usize,
    count: u32,
    after: In<Signal>,
    completion: Signal,
) -> Status {
    if !known(to_agent) || !known(from_agent) {
        return Status::INVALID_AGENT;
    }
    copy::linear(by_direction(to_agent), to, from, bytes, after.all(count as usize), completion)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_async_copy_on_engine(
    to: usize,
    to_agent: Agent,
    from: usize,
    from_agent: Agent,
    bytes: usize,
    count: u32,
    after: In<Signal>,
    completion: Signal,
    engine: u32,
    _force: bool,
) -> Status {
    if !known(to_agent) || !known(from_agent) {
        return Status::INVALID_AGENT;
    }
    if engine & ENGINES_MASK == 0 {
        return Status::INVALID_ARGUMENT;
    }
    copy::linear(engine.trailing_zeros() as usize, to, from, bytes, after.all(count as usize), completion)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_copy_engine_status(_to: Agent, _from: Agent, mask: Out<u32>) -> Status {
    mask.set(ENGINES_MASK)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_get_preferred_copy_engine(_to: Agent, _from: Agent, mask: Out<u32>) -> Status {
    mask.set(0)
}

/// The beginnings of the rows of a box.
fn rows(at: Pitched, offset: Dim3, range: Dim3) -> impl Iterator<Item = usize> {
    let start = at.base + offset.x as usize + offset.y as usize * at.pitch + offset.z as usize * at.slice;
    (0..range.z as usize).flat_map(move |z| (0..range.y as usize).map(move |y| start + y * at.pitch + z * at.slice))
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_memory_async_copy_rect(
    to: In<Pitched>,
    to_offset: In<Dim3>,
    from: In<Pitched>,
    from_offset: In<Dim3>,
    range: In<Dim3>,
    agent: Agent,
    direction: u32,
    count: u32,
    after: In<Signal>,
    completion: Signal,
) -> Status {
    let (Some(to), Some(to_offset), Some(from), Some(from_offset), Some(range)) =
        (to.one(), to_offset.one(), from.one(), from_offset.one(), range.one())
    else {
        return Status::INVALID_ARGUMENT;
    };
    if agent != GPU {
        return Status::INVALID_AGENT;
    }
    let rows: Vec<(usize, usize)> = rows(to, to_offset, range).zip(rows(from, from_offset, range)).collect();
    // Direction 2 is from the device to the host.
    copy::rows(usize::from(direction == 2), rows, range.x as usize, after.all(count as usize), completion)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_memory_copy(to: usize, from: usize, bytes: usize) -> Status {
    // The caller's own memory need not be locked for this one.
    let own = |address: usize| memory::find(address).is_none();
    let locked: Vec<usize> = [to, from].into_iter().filter(|address| own(*address)).collect();
    locked.iter().for_each(|address| {
        memory::lock(*address, bytes, 2);
    });
    let copied = memory::copy(to, from, bytes);
    locked.iter().for_each(|address| {
        memory::unlock(*address);
    });
    match copied {
        Ok(()) => Status::SUCCESS,
        Err(why) => {
            report::fail(&format!("a copy by the host: {why}"));
            Status::INVALID_ARGUMENT
        }
    }
}
