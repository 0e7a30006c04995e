//! The control interface, by which a test that loads the same library reaches the device: `swhsa_` functions in C.
#![expect(unsafe_code, reason = "exports functions by name, and reads what their callers give")]

use std::ffi::c_void;

use crate::abi::{In, Out, Status, Text};
use crate::dispatch::{Body, Registered};
use crate::{code, count, dispatch, fault, memory};

/// Changes with the functions below.
const INTERFACE: u32 = 1;

/// Which version of the control interface this is.
#[unsafe(no_mangle)]
extern "C" fn swhsa_interface() -> u32 {
    INTERFACE
}

/// Let the kernel `name` of a code object be a function. `code` begins an ELF file of `bytes` bytes; `workgroup` has three
/// numbers, or is null. Answers 0, or 1 where an argument is missing.
#[unsafe(no_mangle)]
extern "C" fn swhsa_register(
    code: In<u8>,
    bytes: usize,
    name: Text,
    workgroup: In<[u32; 3]>,
    body: Option<Body>,
) -> u32 {
    let (Some(name), Some(body), Some(_)) = (name.get(), body, code.one()) else { return 1 };
    let code = code.all(bytes);
    dispatch::register(code::digest(&code), &name, Registered { body, workgroup: workgroup.one() });
    0
}

/// How many objects of a kind live; all ones for an unknown kind.
#[unsafe(no_mangle)]
extern "C" fn swhsa_live(kind: u32) -> u64 {
    count::live(kind).unwrap_or(u64::MAX)
}

/// How many objects of a kind were ever made; all ones for an unknown kind.
#[unsafe(no_mangle)]
extern "C" fn swhsa_made(kind: u32) -> u64 {
    count::ever(kind).unwrap_or(u64::MAX)
}

/// Let operations of a kind fail: `times` of them, after `after` more that go well. Answers 0, or 1 for an unknown kind.
#[unsafe(no_mangle)]
extern "C" fn swhsa_fault(kind: u32, after: u32, times: u32, status: u32) -> u32 {
    u32::from(!fault::arm(kind, after, times, Status(status)))
}

/// Forget the faults that have not happened. Answers how many there were.
#[unsafe(no_mangle)]
extern "C" fn swhsa_fault_clear() -> u64 {
    fault::clear() as u64
}

/// Bytes of the device that are taken.
#[unsafe(no_mangle)]
extern "C" fn swhsa_device_bytes() -> u64 {
    memory::taken()
}

/// The names of the kernels that ran, one a line, into `room` bytes. Answers how many bytes there are.
#[unsafe(no_mangle)]
extern "C" fn swhsa_ran(text: *mut c_void, room: usize) -> usize {
    let names = dispatch::ran().join("\n");
    for (at, byte) in names.bytes().take(room).enumerate() {
        Out::at(text.cast::<u8>(), at).set(byte);
    }
    names.len()
}
