//! Runs one compute entry point on the processor: naga's IR translated once to a flat program, executed for each invocation.

mod access;
mod constant;
mod control;
mod dispatch;
mod group;
mod inst;
mod kind;
mod layout;
mod ops;
mod program;
mod refusal;
mod subgroup;
mod translate;
mod view;
mod watch;

use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::kernel::{KernelSource, Lowered, Lowering, Reflection, Scalars, StorageAccessAs, lower};
use graphreel::sync::atomic::{AtomicU64, Ordering};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use self::program::Code;
use self::refusal::Refusal;
use crate::memory::Memory;

/// The most scalars that the variables and values of a workgroup's invocations may be: 256 MiB of them.
const WORKGROUP_SLOTS_MAX: u64 = 1 << 25;

/// An entry point, ready to run.
#[derive(Debug)]
pub struct Program {
    reflection: Reflection,
    options: ProgramOptions,
    code: Code,
    /// Nanoseconds that one workgroup took in the last run, for the next one to know whether threads pay.
    group_ns: AtomicU64,
}

/// How a program is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramOptions {
    /// Invocations of a subgroup: a power of two from 1 to 128.
    pub subgroup_size: u32,
}

/// Bytes of a binding.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The allocation.
    pub memory: &'a Memory,
    /// First byte, a multiple of 4.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// How a run is called off: it goes on for as long as the number is the one that it began with.
#[derive(Clone, Copy, Debug)]
pub struct Epoch<'a> {
    /// The number, which others may raise at any time.
    pub now: &'a AtomicU64,
    /// What it was when the run was asked for.
    pub begun: u64,
}

impl Epoch<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.now.load(Ordering::Relaxed) != self.begun
    }
}

/// One run of a program over a grid.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// Workgroups in x, y and z: what runs, and what `num_workgroups` says.
    pub groups: [u32; 3],
    /// The immediate struct; as many bytes as the reflection says.
    pub scalars: &'a [u8],
    /// One for each of [`Reflection::bindings`].
    pub buffers: &'a [View<'a>],
    /// Steps of one invocation before it counts as endless.
    pub steps_max: u64,
    /// Whether to look for races, divergent barriers and out-of-range accesses.
    pub sanitize: bool,
    /// How it is called off; none where nobody does.
    pub epoch: Option<Epoch<'a>>,
    /// Threads that run workgroups side by side.
    pub threads: usize,
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Findings of the sanitizer, each once with its first place; bounded in number.
    pub findings: Vec<Finding>,
}

/// One finding of the sanitizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub kind: FindingKind,
    /// The line in the WGSL, from 1; 0 where it is not known.
    pub line: u32,
    /// What happened, with names and numbers.
    pub text: String,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Two invocations of a workgroup touched the same bytes with no barrier for that memory between them, and one wrote,
    /// not both atomically.
    Race,
    /// A subgroup operation or subgroup barrier that only some invocations of a subgroup reach. A workgroup's barrier that
    /// only some reach cannot be passed, and is a [`Trap`].
    Divergence,
    /// An index out of its range, which WGSL brings back into it.
    OutOfRange,
}

/// A run that was stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`, line {line}: {problem}")]
pub struct Trap {
    /// The entry point.
    pub kernel: String,
    /// The line in the WGSL, from 1; 0 where it is not known.
    pub line: u32,
    /// What happened.
    pub problem: String,
}

impl Program {
    /// Translate one entry point.
    ///
    /// # Errors
    ///
    /// [`InvalidKernel`] with the place in the source.
    pub fn new(source: &KernelSource, options: ProgramOptions) -> Result<Self, InvalidKernel> {
        let lowering =
            Lowering { scalars: Scalars::Immediate, storage: StorageAccessAs::Declared, uniform_as_storage: false };
        let lowered = lower(source, lowering)?;
        let kernel = lowered.reflection.entry.to_string();
        let refused = |text| InvalidKernel { kernel: Some(kernel), problem: KernelProblem::Unsupported(text) };
        match translated(&lowered, &source.wgsl, options) {
            Ok(code) => Ok(Self { reflection: lowered.reflection, options, code, group_ns: AtomicU64::new(0) }),
            Err(Refusal { text, line: 0 }) => Err(refused(format!("the simulator does not run {text}"))),
            Err(Refusal { text, line }) => Err(refused(format!("the simulator does not run {text} (line {line})"))),
        }
    }

    /// What it takes.
    pub fn reflection(&self) -> &Reflection {
        &self.reflection
    }

    /// Run it. Findings do not stop it.
    ///
    /// # Errors
    ///
    /// [`Trap`] for an invocation that passes `steps_max`, a barrier that can never be passed, arguments that do not fit, or a
    /// run that was called off.
    pub fn run(&self, dispatch: &Dispatch<'_>) -> Result<RunReport, Trap> {
        dispatch::run(self, dispatch)
    }
}

fn translated(lowered: &Lowered, wgsl: &str, options: ProgramOptions) -> Result<Code, Refusal> {
    let size = options.subgroup_size;
    if !size.is_power_of_two() || size > 128 {
        return Err(refusal::unsupported(format!("subgroups of {size}; take a power of two from 1 to 128")));
    }
    let (module, reflection) = (&lowered.module, &lowered.reflection);
    let valid = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(module);
    let info =
        valid.map_err(|error| refusal::unsupported(format!("what the validator refuses: {}", error.as_inner())))?;
    let bindings: Vec<_> = reflection.bindings.iter().map(|binding| (binding.group, binding.binding)).collect();
    let code = translate::translate(module, &info, wgsl, &bindings)?;
    let invocations: u64 = reflection.workgroup_size.iter().map(|side| u64::from(*side)).product();
    // Where none waits for another, all use the same slots.
    let at_once = if code.tables.waits.is_empty() { 1 } else { invocations };
    if at_once.saturating_mul(code.slots as u64) > WORKGROUP_SLOTS_MAX || invocations > WORKGROUP_SLOTS_MAX {
        return Err(refusal::unsupported(format!(
            "workgroups of {invocations} invocations with {} scalars each",
            code.slots
        )));
    }
    Ok(code)
}
