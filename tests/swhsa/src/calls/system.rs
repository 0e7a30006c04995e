//! The system: beginning, end, facts, texts of results, and tables of extensions.
#![expect(unsafe_code, reason = "exports functions by name")]

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU32, Ordering};

use super::loader;
use crate::abi::{Out, OutAny, Status};
use crate::{queue, report, settings, signal};

static OPENED: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
extern "C" fn hsa_init() -> Status {
    if let Some(wrong) = &settings::get().wrong {
        report::fail(wrong);
        return Status::ERROR;
    }
    if OPENED.fetch_add(1, Ordering::AcqRel) == 0 {
        report::note(|| format!("begins as {}", settings::get().personality.isa));
        // It runs before what the runtime above destroys when the process ends, since that was made before.
        // SAFETY: the function may be called at any time.
        unsafe { libc::atexit(signal::drain) };
    }
    Status::SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn hsa_shut_down() -> Status {
    match OPENED.fetch_update(Ordering::AcqRel, Ordering::Acquire, |opened| opened.checked_sub(1)) {
        Err(_) => Status(0x100B),
        Ok(1) => {
            signal::forget_handlers();
            queue::destroy_all();
            Status::SUCCESS
        }
        Ok(_) => Status::SUCCESS,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_system_get_info(attribute: u32, value: OutAny) -> Status {
    match attribute {
        // Version 1.14 of the runtime's interface.
        0 => value.set(1u16),
        1 => value.set(14u16),
        2 => value.set(signal::now()),
        // Nanoseconds.
        3 => value.set(1_000_000_000u64),
        4 => value.set(u64::MAX - 1),
        // Little-endian, large machine model.
        5 => value.set(0u32),
        6 => value.set(1u32),
        // Extensions: the loader, bit 0x201.
        7 => value.text("", 128),
        // Shared virtual memory is not there, and neither is `mwaitx`, nor retry of faults.
        0x201 | 0x202 | 0x203 | 0x204 | 0x206 => value.set(false),
        0x205 => value.set(true),
        // The version of AMD's extensions, of which the newest call is from 1.8.
        0x207 => value.set(1u16),
        0x208 => value.set(8u16),
        other => {
            report::fail(&format!("attribute {other:#x} of the system is unknown"));
            Status::INVALID_ARGUMENT
        }
    }
}

/// The text of a result.
fn described(status: Status) -> &'static CStr {
    match status {
        Status::SUCCESS => c"software device: success",
        Status::INFO_BREAK => c"software device: an iteration was ended by its caller",
        Status::INVALID_ARGUMENT => c"software device: an argument is not valid",
        Status::INVALID_ALLOCATION => c"software device: no such allocation",
        Status::INVALID_AGENT => c"software device: no such agent",
        Status::INVALID_SIGNAL => c"software device: no such signal",
        Status::INVALID_QUEUE => c"software device: no such queue",
        Status::OUT_OF_RESOURCES => c"software device: out of resources",
        Status::INVALID_PACKET_FORMAT => c"software device: a packet that is not known",
        Status::INVALID_ISA => c"software device: code for another device",
        Status::INVALID_CODE_OBJECT => c"software device: no code object",
        Status::ILLEGAL_INSTRUCTION => c"software device: an illegal instruction, or a kernel that is not registered",
        Status::MEMORY_FAULT => c"software device: a memory fault",
        Status::NOT_SUPPORTED => c"software device: not supported",
        _ => c"software device: an error; standard error says which",
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_status_string(status: Status, text: Out<*const c_char>) -> Status {
    text.set(described(status).as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn hsa_system_extension_supported(extension: u16, major: u16, _minor: u16, supported: Out<bool>) -> Status {
    supported.set(extension == loader::EXTENSION && major == 1)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_agent_extension_supported(
    _extension: u16,
    _agent: crate::abi::Agent,
    _major: u16,
    _minor: u16,
    supported: Out<bool>,
) -> Status {
    supported.set(false)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_system_get_major_extension_table(extension: u16, major: u16, bytes: usize, table: OutAny) -> Status {
    if extension == loader::EXTENSION && major == 1 {
        return loader::table(bytes, table);
    }
    report::note(|| format!("extension {extension:#x} is not there"));
    Status::INVALID_ARGUMENT
}

/// Called by newer runtimes to hear of faults; the queues' own callbacks tell them here.
#[unsafe(no_mangle)]
extern "C" fn hsa_amd_register_system_event_handler(_callback: usize, _data: usize) -> Status {
    Status::SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn hsa_amd_enable_logging(_flags: usize, _file: usize) -> Status {
    Status::SUCCESS
}
