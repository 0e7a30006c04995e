//! Work as the device runs it, alone or as a node of a graph, and what it uses of memory and code.

use std::ffi::CString;
use std::num::NonZeroU64;

use graphreel::kernel::AbiParam;
use graphreel::sync::Arc;

use crate::fault::RunKind;
use crate::hazard::Access;
use crate::interp::Program;
use crate::raw::{Block, HostRange};

/// One piece of work. Shared by the executables and launches that have it.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) op: Op,
    pub(crate) uses: Vec<Use>,
    pub(crate) accesses: Vec<Access>,
}

impl Work {
    pub(crate) fn new(op: Op, accesses: Vec<Access>) -> Self {
        let uses = accesses.iter().map(|access| access.of).collect();
        Self { op, uses, accesses }
    }
}

/// What it does. Addresses are looked up when it runs, as a device does.
#[derive(Debug)]
pub(crate) enum Op {
    Copy { src: End, dst: End, bytes: NonZeroU64 },
    Fill { dst: u64, word: u32, words: u64 },
    Launch(Launch),
}

/// One end of a copy.
#[derive(Debug)]
pub(crate) enum End {
    Device(u64),
    /// Host memory; a pinned block is kept for as long as work can reach it.
    Host {
        range: HostRange,
        _block: Option<Arc<Block>>,
    },
}

/// A kernel with its arguments.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) code: Arc<Code>,
    pub(crate) groups: [u32; 3],
    pub(crate) scalars: Vec<u8>,
    /// Address and length of each binding.
    pub(crate) bindings: Vec<(u64, u64)>,
    /// Address of the counts of an indirect launch.
    pub(crate) counts: Option<u64>,
}

/// The kernel of a module.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) program: Arc<Program>,
    pub(crate) symbol: CString,
    pub(crate) params: Vec<AbiParam>,
}

impl Code {
    pub(crate) fn entry(&self) -> &str {
        &self.program.reflection().entry
    }
}

impl Op {
    pub(crate) fn kind(&self) -> RunKind {
        match self {
            Self::Copy { .. } => RunKind::Copy,
            Self::Fill { .. } => RunKind::Fill,
            Self::Launch(_) => RunKind::Launch,
        }
    }

    /// Virtual nanoseconds that it takes: a fixed part and its size.
    pub(crate) fn cost(&self) -> u64 {
        match self {
            Self::Copy { bytes, .. } => 1_000 + bytes.get() / 16,
            Self::Fill { words, .. } => 1_000 + words / 8,
            Self::Launch(launch) => {
                let size = launch.code.program.reflection().workgroup_size;
                let invocations = launch.groups.iter().chain(&size).map(|n| u64::from(*n)).product::<u64>();
                2_000 + invocations / 4
            }
        }
    }

    /// Whether `other` can stand in this one's place in an executable.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let device = |end: &End| matches!(end, End::Device(_));
        match (self, other) {
            (Self::Copy { src, dst, .. }, Self::Copy { src: new_src, dst: new_dst, .. }) => {
                device(src) == device(new_src) && device(dst) == device(new_dst)
            }
            (Self::Fill { .. }, Self::Fill { .. }) | (Self::Launch(_), Self::Launch(_)) => true,
            _ => false,
        }
    }
}

/// Something that work needs and that can be given back too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    Device { base: u64, id: u64 },
    Pinned { base: usize, id: u64 },
    Module(u64),
}

/// Who uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Work that is enqueued and not done.
    Pending,
    /// A live executable.
    Exec,
    /// An open capture.
    Capture,
    /// A graph.
    Graph,
}

/// How often each holder uses one thing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holds([u32; 4]);

impl Holds {
    pub(crate) fn add(&mut self, holder: Holder) {
        self.0[holder as usize] += 1;
    }

    pub(crate) fn remove(&mut self, holder: Holder) {
        let count = &mut self.0[holder as usize];
        *count = count.checked_sub(1).expect("each use ends once");
    }

    pub(crate) fn forget_pending(&mut self) {
        self.0[Holder::Pending as usize] = 0;
    }

    /// Who keeps memory from being freed.
    pub(crate) fn memory_user(&self) -> Option<&'static str> {
        self.user(&[Holder::Pending, Holder::Capture, Holder::Exec])
    }

    /// Who keeps code from being unloaded.
    pub(crate) fn code_user(&self) -> Option<&'static str> {
        self.user(&[Holder::Pending, Holder::Capture, Holder::Exec, Holder::Graph])
    }

    fn user(&self, holders: &[Holder]) -> Option<&'static str> {
        let holder = holders.iter().find(|holder| self.0[**holder as usize] > 0)?;
        Some(match holder {
            Holder::Pending => "work in flight uses it",
            Holder::Exec => "a live executable uses it",
            Holder::Capture => "an open capture uses it",
            Holder::Graph => "a graph uses it",
        })
    }
}
