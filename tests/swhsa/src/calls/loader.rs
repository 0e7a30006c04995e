//! The loader's extension: a table of functions that tell where loaded code lies.

use crate::abi::{Executable, Out, OutAny, Status};
use crate::memory;
use crate::{code, report};

/// `HSA_EXTENSION_AMD_LOADER`.
pub(super) const EXTENSION: u16 = 0x201;

type Function = unsafe extern "C" fn();

/// Bytes of the largest table: version 1.03.
const FUNCTIONS: usize = 7;

extern "C" fn query_host_address(device: usize, host: Out<usize>) -> Status {
    // What is loaded lies in memory that the host cannot read, save by the device's own way.
    match memory::reach(device, 1) {
        Ok(address) => host.set(address),
        Err(why) => {
            report::note(|| why);
            Status::INVALID_ARGUMENT
        }
    }
}

extern "C" fn query_executable(device: usize, executable: Out<Executable>) -> Status {
    match code::program_at(device) {
        Some(found) => executable.set(found),
        None => Status::INVALID_ARGUMENT,
    }
}

/// Stands for the functions that only debuggers and profilers call.
extern "C" fn absent() -> Status {
    report::fail("a function of the loader's extension that is not there is called");
    Status::NOT_SUPPORTED
}

/// Write as much of the table as there is room for.
pub(super) fn table(bytes: usize, table: OutAny) -> Status {
    let absent: usize = absent as *const () as usize;
    let mut functions = [absent; FUNCTIONS];
    functions[0] = query_host_address as *const () as usize;
    functions[2] = query_executable as *const () as usize;
    let fitting = (bytes / size_of::<Function>()).min(FUNCTIONS);
    table.words(&functions[..fitting])
}
