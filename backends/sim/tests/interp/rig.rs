//! Runs a kernel over words and gives the words back.

use graphreel::kernel::KernelSource;
use graphreel::sync::atomic::{AtomicU64, Ordering};
use graphreel_sim::interp::{Dispatch, Epoch, Program, ProgramOptions, RunReport, Trap, View};
use graphreel_sim::memory::Memory;

/// A kernel, its buffers and how it is run.
pub(crate) struct Rig {
    pub(crate) program: Program,
    pub(crate) buffers: Vec<Memory>,
    /// Bytes bound of each buffer, where not all are.
    pub(crate) bytes: Vec<Option<u64>>,
    pub(crate) scalars: Vec<u8>,
    pub(crate) groups: [u32; 3],
    pub(crate) steps_max: u64,
    pub(crate) sanitize: bool,
    pub(crate) threads: usize,
    /// The number that calls a run off, and what it has to be.
    pub(crate) epoch: Option<(AtomicU64, u64)>,
}

/// A memory that holds words.
pub(crate) fn memory(words: &[u32]) -> Memory {
    let memory = Memory::new(words.len() as u64 * 4, 0);
    memory.words().iter().zip(words).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
    memory
}

impl Rig {
    pub(crate) fn new(source: impl Into<KernelSource>) -> Self {
        Self::with_subgroups(source, 32)
    }

    pub(crate) fn with_subgroups(source: impl Into<KernelSource>, subgroup_size: u32) -> Self {
        let program = Program::new(&source.into(), ProgramOptions { subgroup_size });
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        Self {
            program,
            buffers: Vec::new(),
            bytes: Vec::new(),
            scalars: Vec::new(),
            groups: [1; 3],
            steps_max: 1 << 32,
            sanitize: false,
            threads: 1,
            epoch: None,
        }
    }

    /// The next buffer, in order of group and binding.
    pub(crate) fn buffer(mut self, words: &[u32]) -> Self {
        self.buffers.push(memory(words));
        self.bytes.push(None);
        self
    }

    pub(crate) fn floats(self, values: &[f32]) -> Self {
        self.buffer(&values.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
    }

    /// The next word of the scalars.
    pub(crate) fn scalar(mut self, word: u32) -> Self {
        self.scalars.extend(word.to_le_bytes());
        self
    }

    pub(crate) fn groups(mut self, x: u32, y: u32, z: u32) -> Self {
        self.groups = [x, y, z];
        self
    }

    pub(crate) fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    pub(crate) fn sanitized(mut self) -> Self {
        self.sanitize = true;
        self
    }

    pub(crate) fn steps(mut self, steps_max: u64) -> Self {
        self.steps_max = steps_max;
        self
    }

    pub(crate) fn try_run(&self) -> Result<RunReport, Trap> {
        let views = self.buffers.iter().zip(&self.bytes).map(|(memory, bytes)| View {
            memory,
            start: 0,
            bytes: bytes.unwrap_or(memory.words().len() as u64 * 4),
        });
        self.program.run(&Dispatch {
            groups: self.groups,
            scalars: &self.scalars,
            buffers: &views.collect::<Vec<_>>(),
            steps_max: self.steps_max,
            sanitize: self.sanitize,
            epoch: self.epoch.as_ref().map(|(now, begun)| Epoch { now, begun: *begun }),
            threads: self.threads,
        })
    }

    pub(crate) fn run(&self) -> &Self {
        self.try_run().unwrap_or_else(|trap| panic!("{trap}"));
        self
    }

    /// Run it under the sanitizer, which must find nothing.
    pub(crate) fn clean(&self) -> &Self {
        let rig = self.try_run().unwrap_or_else(|trap| panic!("{trap}"));
        assert!(self.sanitize, "a run that is clean is a sanitized one");
        assert_eq!(rig.findings, []);
        self
    }

    pub(crate) fn words(&self, buffer: usize) -> Vec<u32> {
        self.buffers[buffer].words().iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    pub(crate) fn read_floats(&self, buffer: usize) -> Vec<f32> {
        self.words(buffer).into_iter().map(f32::from_bits).collect()
    }
}

/// Check expressions, each with its type and the words it makes. `v`, `u`, `f` and `b` hide a number from the compiler.
pub(crate) fn evaluate(cases: &[(&str, &str, &[u32])]) {
    for (expression, ty, expected) in cases {
        let (ty, value) = match *ty {
            "u32bits" => ("u32", format!("bitcast<u32>({expression})")),
            ty => (ty, (*expression).to_owned()),
        };
        let rig = Rig::new(&*format!(
            "enable f16; enable wgpu_int16;
             @group(0) @binding(0) var<storage, read_write> out: {ty};
             var<private> hidden: u32 = 0u;
             fn v(x: i32) -> i32 {{ return x + i32(hidden); }}
             fn u(x: u32) -> u32 {{ return x + hidden; }}
             fn f(x: f32) -> f32 {{ if hidden == 0u {{ return x; }} return 0.0; }}
             fn b(x: bool) -> bool {{ return x == (hidden == 0u); }}
             @compute @workgroup_size(1) fn main() {{ out = {value}; }}"
        ));
        let got = rig.buffer(&vec![0xdead_beef; expected.len().max(4)]).run().words(0);
        assert_eq!(got[..expected.len()], **expected, "{expression}");
    }
}
