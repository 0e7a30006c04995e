//! Code objects and their symbols.
#![expect(unsafe_code, reason = "exports functions by name")]

use crate::abi::{Agent, Executable, In, LoadedCode, Out, OutAny, Reader, Status, Symbol, Text};
use crate::agent::GPU;
use crate::code::{self, Meaning};
use crate::report;

/// The largest code object that is read.
const BYTES_MAX: usize = 1 << 30;

#[unsafe(no_mangle)]
extern "C" fn hsa_code_object_reader_create_from_memory(code: In<u8>, bytes: usize, reader: Out<Reader>) -> Status {
    if code.one().is_none() || bytes == 0 || bytes > BYTES_MAX || !reader.wanted() {
        return Status::INVALID_ARGUMENT;
    }
    reader.set(code::reader(code.all(bytes)))
}

#[unsafe(no_mangle)]
extern "C" fn hsa_code_object_reader_destroy(reader: Reader) -> Status {
    code::reader_destroy(reader)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_create_alt(
    _profile: u32,
    _rounding: u32,
    _options: Text,
    executable: Out<Executable>,
) -> Status {
    if executable.wanted() { executable.set(code::program()) } else { Status::INVALID_ARGUMENT }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_destroy(executable: Executable) -> Status {
    code::program_destroy(executable)
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_load_agent_code_object(
    executable: Executable,
    agent: Agent,
    reader: Reader,
    _options: Text,
    loaded: Out<LoadedCode>,
) -> Status {
    if agent != GPU {
        return Status::INVALID_AGENT;
    }
    match code::load(executable, reader) {
        Ok(code) if loaded.wanted() => loaded.set(code),
        Ok(_) => Status::SUCCESS,
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_freeze(executable: Executable, _options: Text) -> Status {
    code::freeze(executable)
}

/// The runtime defines variables of its own, which no kernel here reads.
#[unsafe(no_mangle)]
extern "C" fn hsa_executable_agent_global_variable_define(
    _executable: Executable,
    agent: Agent,
    name: Text,
    _address: usize,
) -> Status {
    report::note(|| format!("variable {:?} is defined", name.get()));
    if agent == GPU { Status::SUCCESS } else { Status::INVALID_AGENT }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_get_symbol_by_name(
    executable: Executable,
    name: Text,
    _agent: In<Agent>,
    symbol: Out<Symbol>,
) -> Status {
    let Some(name) = name.get() else { return Status::INVALID_ARGUMENT };
    match code::symbol(executable, &name) {
        Ok(found) => symbol.set(found),
        Err(status) => {
            report::note(|| format!("symbol `{name}` is not there"));
            status
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_iterate_symbols(
    executable: Executable,
    callback: Option<unsafe extern "C" fn(Executable, Symbol, usize) -> Status>,
    data: usize,
) -> Status {
    let Some(callback) = callback else { return Status::INVALID_ARGUMENT };
    let all = match code::symbols(executable) {
        Ok(all) => all,
        Err(status) => return status,
    };
    for symbol in all {
        // SAFETY: the callback and its data were given for exactly this call.
        let status = unsafe { callback(executable, symbol, data) };
        if status != Status::SUCCESS {
            return status;
        }
    }
    Status::SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn hsa_executable_symbol_get_info(symbol: Symbol, attribute: u32, value: OutAny) -> Status {
    let (name, meaning) = match code::meaning(symbol) {
        Ok(known) => known,
        Err(status) => return status,
    };
    match (attribute, &meaning) {
        (0, Meaning::Kernel(_)) => value.set(1u32),
        (0, Meaning::Variable(_)) => value.set(0u32),
        // A text without a zero byte behind it.
        (1, _) => value.set(u32::try_from(name.len()).unwrap_or(0)),
        (2, _) => value.text(&name, name.len()),
        (3, _) => value.set(0u32),
        (4, _) => Status::SUCCESS,
        (20, _) => value.set(GPU),
        // Linkage of the program, a definition.
        (5, _) => value.set(1u32),
        (17, _) => value.set(true),
        (22, Meaning::Kernel(kernel)) => value.set(kernel.object),
        (11, Meaning::Kernel(kernel)) => value.set(kernel.kernarg_bytes),
        (12, Meaning::Kernel(_)) => value.set(16u32),
        (13, Meaning::Kernel(kernel)) => value.set(kernel.group_bytes),
        (14, Meaning::Kernel(kernel)) => value.set(kernel.private_bytes),
        (15, Meaning::Kernel(_)) => value.set(false),
        (21, Meaning::Variable(variable)) => value.set(variable.address),
        (9, Meaning::Variable(variable)) => value.set(variable.bytes),
        // Of an agent, in global memory, aligned to four bytes, not constant.
        (6 | 7, Meaning::Variable(_)) => value.set(0u32),
        (8, Meaning::Variable(_)) => value.set(4u32),
        (10, Meaning::Variable(_)) => value.set(false),
        // A kernel has none of a variable's attributes. The runtime asks all the same.
        _ => {
            report::note(|| format!("symbol `{name}` has no attribute {attribute}"));
            Status::INVALID_ARGUMENT
        }
    }
}
