//! Queues.
#![expect(unsafe_code, reason = "exports functions by name")]

use std::ffi::c_void;

use crate::abi::{Agent, Out, Status};
use crate::agent::GPU;
use crate::queue::{self, OnError};

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_create(
    agent: Agent,
    size: u32,
    kind: u32,
    on_error: OnError,
    data: *mut c_void,
    _private_bytes: u32,
    _group_bytes: u32,
    queue: Out<usize>,
) -> Status {
    if agent != GPU {
        return Status::INVALID_QUEUE_CREATION;
    }
    match queue::create(size, kind, on_error, data) {
        Ok(made) => queue.set(made),
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_destroy(queue: usize) -> Status {
    queue::destroy(queue)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_load_read_index_relaxed(queue: usize) -> u64 {
    queue::read_index(queue)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_load_read_index_scacquire(queue: usize) -> u64 {
    queue::read_index(queue)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_load_write_index_relaxed(queue: usize) -> u64 {
    queue::write_index(queue)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_queue_add_write_index_screlease(queue: usize, count: u64) -> u64 {
    queue::write_index_add(queue, count)
}

fn known(queue: usize) -> Status {
    if queue::exists(queue) { Status::SUCCESS } else { Status::INVALID_QUEUE }
}

/// Compute units cannot be chosen; all are taken.
#[unsafe(no_mangle)]
extern "C" fn hsa_amd_queue_cu_set_mask(queue: usize, _count: u32, _mask: usize) -> Status {
    known(queue)
}

/// All queues have a thread of their own, whatever their priority.
#[unsafe(no_mangle)]
extern "C" fn hsa_amd_queue_set_priority(queue: usize, _priority: u32) -> Status {
    known(queue)
}

/// Times are always taken.
#[unsafe(no_mangle)]
extern "C" fn hsa_amd_profiling_set_profiler_enabled(queue: usize, _enable: i32) -> Status {
    known(queue)
}
