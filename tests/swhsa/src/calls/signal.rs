//! Signals.
#![expect(unsafe_code, reason = "exports functions by name")]

use std::ffi::c_void;

use crate::abi::{Out, Signal, Status, Times};
use crate::signal::{self, Callback, Condition};

fn create(value: i64, signal: Out<Signal>) -> Status {
    if !signal.wanted() {
        return Status::INVALID_ARGUMENT;
    }
    match signal::create(value) {
        Ok(made) => signal.set(made),
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_create(value: i64, _consumers: u32, _agents: usize, signal: Out<Signal>) -> Status {
    create(value, signal)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_signal_create(
    value: i64,
    _consumers: u32,
    _agents: usize,
    _attributes: u64,
    signal: Out<Signal>,
) -> Status {
    create(value, signal)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_destroy(signal: Signal) -> Status {
    signal::destroy(signal)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_load_relaxed(signal: Signal) -> i64 {
    signal::load(signal)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_load_scacquire(signal: Signal) -> i64 {
    signal::load(signal)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_store_relaxed(signal: Signal, value: i64) {
    signal::store(signal, value);
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_store_screlease(signal: Signal, value: i64) {
    signal::store(signal, value);
}

/// Waits are woken all the same, which a caller cannot tell.
#[unsafe(no_mangle)]
extern "C" fn hsa_signal_silent_store_relaxed(signal: Signal, value: i64) {
    signal::store(signal, value);
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_add_relaxed(signal: Signal, value: i64) {
    signal::change(signal, |now| now.wrapping_add(value));
}

#[unsafe(no_mangle)]
extern "C" fn hsa_signal_subtract_relaxed(signal: Signal, value: i64) {
    signal::change(signal, |now| now.wrapping_sub(value));
}

/// The hint to wait actively is not taken: this machine's cores are needed by the device.
#[unsafe(no_mangle)]
extern "C" fn hsa_signal_wait_scacquire(
    signal: Signal,
    condition: u32,
    against: i64,
    nanoseconds: u64,
    _hint: u32,
) -> i64 {
    match Condition::of(condition) {
        Some(condition) => signal::wait(signal, condition, against, nanoseconds),
        None => signal::load(signal),
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_signal_value_pointer(signal: Signal, address: Out<usize>) -> Status {
    match signal::address(signal) {
        Some(found) => address.set(found),
        None => Status::INVALID_SIGNAL,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_signal_async_handler(
    signal: Signal,
    condition: u32,
    against: i64,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> Status {
    match (Condition::of(condition), callback) {
        (Some(condition), Some(callback)) => signal::on(signal, condition, against, callback, argument),
        _ => Status::INVALID_ARGUMENT,
    }
}

fn times(signal: Signal, times: Out<Times>) -> Status {
    match signal::times(signal) {
        Some((start, end)) => times.set(Times { start, end }),
        None => Status::INVALID_SIGNAL,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_profiling_get_dispatch_time(_agent: crate::abi::Agent, signal: Signal, to: Out<Times>) -> Status {
    times(signal, to)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_profiling_get_async_copy_time(signal: Signal, to: Out<Times>) -> Status {
    times(signal, to)
}

/// Times are always taken.
#[unsafe(no_mangle)]
extern "C" fn hsa_amd_profiling_async_copy_enable(_enable: bool) -> Status {
    Status::SUCCESS
}
