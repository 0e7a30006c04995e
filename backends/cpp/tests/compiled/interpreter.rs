//! The same launches on the simulator's interpreter, and the comparison of what both left.

use graphreel::kernel::KernelSource;
use graphreel::sync::atomic::Ordering;
use graphreel_compilers::host::Job;
use graphreel_sim::interp::{Dispatch, Program, ProgramOptions, View};
use graphreel_sim::memory::Memory;

/// How far a float may be from the interpreter's.
#[derive(Clone, Copy)]
pub(crate) enum Close {
    /// The same bits: moves, integers, and floats whose every step both sides round exactly and in the same order.
    Bits,
    /// `|got - want| <= absolute + relative * |want|`.
    Within { relative: f32, absolute: f32 },
}

/// One launch, over words.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) groups: [u32; 3],
    pub(crate) scalars: Vec<u32>,
    pub(crate) buffers: Vec<Vec<u32>>,
}

impl Launch {
    /// The job of the direct variant of kernel `kernel`.
    pub(crate) fn job(&self, kernel: usize) -> Job {
        let buffers = self.buffers.iter().map(|words| bytes(words)).collect();
        Job { kernel, groups: self.groups, scalars: bytes(&self.scalars), buffers, counts: self.groups }
    }

    /// What the interpreter leaves in the buffers.
    fn interpreted(&self, source: &KernelSource, subgroup_size: u32) -> Vec<Vec<u32>> {
        let program = Program::new(source, ProgramOptions { subgroup_size }).unwrap();
        let memory = |words: &Vec<u32>| {
            let memory = Memory::new(words.len() as u64 * 4, 0);
            memory.words().iter().zip(words).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
            memory
        };
        let memories: Vec<Memory> = self.buffers.iter().map(memory).collect();
        let view = |memory| View { memory, start: 0, bytes: memory.words().len() as u64 * 4 };
        let buffers: Vec<View<'_>> = memories.iter().map(view).collect();
        let dispatch = Dispatch {
            groups: self.groups,
            scalars: &bytes(&self.scalars),
            buffers: &buffers,
            steps_max: 1 << 32,
            sanitize: false,
            epoch: None,
            threads: 1,
        };
        program.run(&dispatch).unwrap();
        let words = |memory: &Memory| memory.words().iter().map(|word| word.load(Ordering::Relaxed)).collect();
        memories.iter().map(words).collect()
    }

    /// What is wrong with a result, for each buffer that is not what the interpreter leaves.
    pub(crate) fn wrong(
        &self,
        what: &str,
        close: Close,
        (source, subgroup_size): (&KernelSource, u32),
        result: Result<Vec<Vec<u8>>, String>,
    ) -> Vec<String> {
        let got = match result {
            Ok(got) => got,
            Err(why) => return vec![format!("{what}: {why}")],
        };
        let want = self.interpreted(source, subgroup_size);
        let parts = got.iter().zip(&want).enumerate();
        let wrong = parts.filter_map(|(part, (got, want))| Some((part, first_wrong(close, got, want)?)));
        wrong.map(|(part, wrong)| format!("{what}: buffer {part}: {wrong}")).collect()
    }
}

/// The first word that is too far off, if any.
fn first_wrong(close: Close, got: &[u8], want: &[u32]) -> Option<String> {
    let got = got.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    let near = |got: u32, want: u32| match close {
        _ if got == want => true,
        Close::Bits => false,
        Close::Within { relative, absolute } => {
            let (got, want) = (f32::from_bits(got), f32::from_bits(want));
            (got - want).abs() <= absolute + relative * want.abs()
        }
    };
    let (index, (got, want)) = got.zip(want).enumerate().find(|(_, (got, want))| !near(*got, **want))?;
    Some(format!("word {index} is {got:#x} ({}) and not {want:#x} ({})", f32::from_bits(got), f32::from_bits(*want)))
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
