//! Runs a generated kernel on the simulator's interpreter, under its sanitizer.

use std::sync::Arc;

use graphreel::kernel::{KernelSource, reflect};
use graphreel::sync::atomic::Ordering;
use graphreel_sim::interp::{Dispatch, Program, ProgramOptions, View};
use graphreel_sim::memory::Memory;
use graphreel_wgslgen::Kernel;

/// Steps of one invocation: many times what the generator allows for.
const STEPS_MAX: u64 = 2_000_000;

/// `GRAPHREEL_SEED`, or many.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    given.map_or(0..if thorough { 20_000 } else { 2_000 }, |seed| seed..seed + 1)
}

pub(crate) fn source(kernel: &Kernel) -> KernelSource {
    let overrides = kernel.overrides().into_iter().collect();
    KernelSource { wgsl: Arc::from(kernel.wgsl()), entry: None, overrides }
}

/// The bytes of every buffer after a run in which nothing was found.
pub(crate) fn run(kernel: &Kernel, threads: usize, subgroup_size: u32) -> Vec<Vec<u8>> {
    let (seed, text) = (kernel.seed(), kernel.wgsl());
    let source = source(kernel);
    let reflection = reflect(&source).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    let program = Program::new(&source, ProgramOptions { subgroup_size });
    let program = program.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    let data = kernel.buffers();
    let bindings: Vec<u32> = reflection.bindings.iter().map(|of| of.binding).collect();
    assert_eq!(bindings, data.iter().map(|of| of.binding).collect::<Vec<_>>(), "seed {seed}\n{text}");
    let memories: Vec<Memory> = data.iter().map(|of| memory(&of.bytes)).collect();
    let views: Vec<View<'_>> = memories
        .iter()
        .zip(&data)
        .map(|(memory, of)| View { memory, start: 0, bytes: of.bytes.len() as u64 })
        .collect();
    let report = program.run(&Dispatch {
        groups: kernel.groups(),
        scalars: &kernel.scalars(),
        buffers: &views,
        steps_max: STEPS_MAX,
        sanitize: threads == 1,
        epoch: None,
        threads,
    });
    let report = report.unwrap_or_else(|trap| panic!("seed {seed}: {trap}\n{text}"));
    assert!(report.findings.is_empty(), "seed {seed}: {:?}\n{text}", report.findings);
    memories.iter().zip(&data).map(|(memory, of)| of.normal(bytes(memory, of.bytes.len()))).collect()
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
