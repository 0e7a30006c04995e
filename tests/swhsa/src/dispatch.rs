//! Runs one launch: a function that was registered for the kernel, or a copy or fill of the runtime's own.
#![expect(unsafe_code, reason = "calls a registered function with the addresses of its arguments")]

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::Status;
use crate::code::{self, Kernel};
use crate::packet::Dispatch;
use crate::{blit, fault, memory, report};

/// A kernel's body: the workgroups of the launch, three numbers, and the address of each argument in order.
pub(crate) type Body = unsafe extern "C" fn(*const u32, *const *const c_void);

/// A registered function.
#[derive(Clone, Copy)]
pub(crate) struct Registered {
    pub(crate) body: Body,
    /// The invocations of a workgroup that it is for, where it is for one shape.
    pub(crate) workgroup: Option<[u32; 3]>,
}

/// Why a queue ends.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn format(what: String) -> Self {
        Self { status: Status::INVALID_PACKET_FORMAT, text: format!("{what} is not known") }
    }

    fn instruction(text: String) -> Self {
        Self { status: Status::ILLEGAL_INSTRUCTION, text }
    }

    /// An access that a real device would not make.
    pub(crate) fn memory(text: String) -> Self {
        Self { status: Status::MEMORY_FAULT, text }
    }
}

#[derive(Default)]
struct Tables {
    registered: HashMap<(u64, String), Registered>,
    /// Names of the kernels that ran, for whoever wonders.
    ran: BTreeSet<String>,
}

static TABLES: Mutex<Option<Tables>> = Mutex::new(None);

fn with<T>(use_it: impl FnOnce(&mut Tables) -> T) -> T {
    let mut tables: MutexGuard<'_, Option<Tables>> = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    use_it(tables.get_or_insert_default())
}

/// Let a kernel of the code object with this digest be this function.
pub(crate) fn register(digest: u64, name: &str, registered: Registered) {
    with(|tables| tables.registered.insert((digest, name.to_owned()), registered));
}

/// The names of the kernels that ran so far, each once.
pub(crate) fn ran() -> Vec<String> {
    with(|tables| tables.ran.iter().cloned().collect())
}

/// Run a launch to its end.
pub(crate) fn run(launch: &Dispatch) -> Result<(), Failure> {
    if let Some(status) = fault::take(fault::Kind::Dispatch) {
        return Err(Failure { status, text: format!("a fault was asked for: status {:#x}", status.0) });
    }
    let Some(kernel) = code::kernel(launch.object) else {
        return Err(Failure::instruction(format!("no kernel is loaded at {:#x}", launch.object)));
    };
    report::note(|| format!("`{}` on {:?} by {:?}", kernel.name, launch.grid, launch.workgroup));
    with(|tables| tables.ran.insert(kernel.name.clone()));
    let bytes = kernel.kernarg_bytes as usize;
    // The device reads what lies there when the launch runs, not what lay there when it was given.
    let arguments = if bytes == 0 { vec![] } else { memory::read(launch.arguments, bytes).map_err(Failure::memory)? };
    let registered = with(|tables| tables.registered.get(&(kernel.digest, kernel.name.clone())).copied());
    match registered {
        Some(registered) => call(&kernel, registered, launch, &arguments),
        None if kernel.name.starts_with(blit::PREFIX) => blit::run(&kernel, &arguments),
        None => Err(Failure::instruction(format!(
            "kernel `{}` of code object {:016x} is unknown: register a function for it",
            kernel.name, kernel.digest
        ))),
    }
}

/// How many workgroups a launch has.
fn groups(launch: &Dispatch) -> Option<[u32; 3]> {
    let mut groups = [0; 3];
    for ((groups, grid), workgroup) in groups.iter_mut().zip(launch.grid).zip(launch.workgroup) {
        if workgroup == 0 || grid == 0 || grid % workgroup != 0 {
            return None;
        }
        *groups = grid / workgroup;
    }
    Some(groups)
}

fn call(kernel: &Kernel, registered: Registered, launch: &Dispatch, bytes: &[u8]) -> Result<(), Failure> {
    let Dispatch { grid, workgroup, .. } = launch;
    let Some(groups) = groups(launch) else {
        let text = format!("`{}` on a grid of {grid:?} by workgroups of {workgroup:?}", kernel.name);
        return Err(Failure::instruction(text));
    };
    if let Some(expected) = registered.workgroup.filter(|expected| expected != workgroup) {
        let text = format!("`{}` is made for workgroups of {expected:?}, not of {workgroup:?}", kernel.name);
        return Err(Failure::instruction(text));
    }
    // Copies of their own, so that each has the alignment of its type.
    let mut values: Vec<Vec<u128>> = Vec::new();
    for argument in kernel.arguments.iter().filter(|argument| !argument.hidden()) {
        let from = argument.offset as usize;
        let Some(value) = bytes.get(from..from + argument.bytes as usize) else {
            return Err(Failure::instruction(format!("argument `{}` lies beyond its segment", argument.name)));
        };
        let mut room = vec![0u128; value.len().div_ceil(16).max(1)];
        for (word, part) in room.iter_mut().zip(value.chunks(16)) {
            let mut whole = [0; 16];
            whole[..part.len()].copy_from_slice(part);
            *word = u128::from_le_bytes(whole);
        }
        values.push(room);
    }
    let addresses: Vec<*const c_void> = values.iter().map(|value| value.as_ptr().cast()).collect();
    let opened = memory::open();
    // SAFETY: whoever registered the function vouched that it takes what the kernel takes; all of it lives here.
    unsafe { (registered.body)(groups.as_ptr(), addresses.as_ptr()) };
    drop(opened);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_whole() {
        let launch = |grid, workgroup| Dispatch { grid, workgroup, group_bytes: 0, object: 1, arguments: 0 };
        assert_eq!(groups(&launch([128, 2, 1], [64, 1, 1])), Some([2, 2, 1]));
        assert_eq!(groups(&launch([100, 1, 1], [64, 1, 1])), None);
        assert_eq!(groups(&launch([64, 1, 1], [0, 1, 1])), None);
        assert!(run(&launch([1; 3], [1; 3])).unwrap_err().text.contains("no kernel"));
    }
}
