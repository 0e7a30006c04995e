//! What a generated kernel gives on the simulator's interpreter, under its sanitizer. Tests of backends include this file by
//! its path.

use std::sync::Arc;

use graphreel::kernel::{KernelSource, reflect};
use graphreel::sync::atomic::Ordering;
use graphreel_sim::interp::{Dispatch, Program, ProgramOptions, View};
use graphreel_sim::memory::Memory;
use graphreel_wgslgen::Kernel;

/// Steps of one invocation: many times what the generator allows for.
const STEPS_MAX: u64 = 2_000_000;

/// How a kernel is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) threads: usize,
    pub(crate) subgroup_size: u32,
}

/// The kernel as a device takes it.
pub(crate) fn source(kernel: &Kernel) -> KernelSource {
    let overrides = kernel.overrides().into_iter().collect();
    KernelSource { wgsl: Arc::from(kernel.wgsl()), entry: None, overrides, native: None }
}

/// The bytes of every buffer after a run.
///
/// # Errors
///
/// What the compiler, the interpreter or its sanitizer has against the kernel.
pub(crate) fn outcome(kernel: &Kernel, run: Run) -> Result<Vec<Vec<u8>>, String> {
    let source = source(kernel);
    let reflection = reflect(&source).map_err(|error| error.to_string())?;
    let options = ProgramOptions { subgroup_size: run.subgroup_size };
    let program = Program::new(&source, options).map_err(|error| error.to_string())?;
    let data = kernel.buffers();
    let (own, theirs) = (data.iter().map(|of| of.binding), reflection.bindings.iter().map(|of| of.binding));
    if !own.eq(theirs) {
        return Err("the kernel has other bindings than it says".to_owned());
    }
    let memories: Vec<Memory> = data.iter().map(|of| memory(&of.bytes)).collect();
    let views = memories.iter().zip(&data).map(|(memory, of)| View { memory, start: 0, bytes: of.bytes.len() as u64 });
    let report = program.run(&Dispatch {
        groups: kernel.groups(),
        scalars: &kernel.scalars(),
        buffers: &views.collect::<Vec<_>>(),
        steps_max: STEPS_MAX,
        // Its books are of one thread's workgroups, and a run of many threads is there for its speed.
        sanitize: run.threads == 1,
        epoch: None,
        threads: run.threads,
    });
    let report = report.map_err(|trap| trap.to_string())?;
    if let Some(finding) = report.findings.first() {
        return Err(format!("{finding:?}"));
    }
    Ok(memories.iter().zip(&data).map(|(memory, of)| of.normal(bytes(memory, of.bytes.len()))).collect())
}

fn memory(bytes: &[u8]) -> Memory {
    let memory = Memory::new(bytes.len() as u64, 0);
    for (word, bytes) in memory.words().iter().zip(bytes.chunks(4)) {
        let mut whole = [0; 4];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u32::from_le_bytes(whole), Ordering::Relaxed);
    }
    memory
}

fn bytes(memory: &Memory, len: usize) -> Vec<u8> {
    let mut all: Vec<u8> = memory.words().iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    all.truncate(len);
    all
}
