//! Operations as a server is given them: launches, copies, fills and host writes over live handles.

mod check;

pub use check::{check, check_range, check_staged};

use crate::kernel::{Kernel, Value};
use crate::memory::{Access, BufferBinding};
use crate::sync::Arc;

/// Host bytes that an operation, a recording and a graph may share.
pub type Bytes = Arc<[u8]>;

/// The most workgroups in one dimension, on every backend.
pub const MAX_GROUPS: u32 = 65_535;

/// One operation on a stream.
#[derive(Clone, Debug)]
pub enum Op {
    /// Run a kernel over a grid.
    Launch(Launch),
    /// Run a kernel over a grid that lies in device memory when it runs.
    LaunchIndirect(LaunchIndirect),
    /// Copy bytes on the device. Lengths are equal; ranges do not overlap.
    Copy {
        /// Where from.
        src: BufferArg,
        /// Where to.
        dst: BufferArg,
    },
    /// Set every 4-byte word of a range.
    Fill {
        /// Where.
        dst: BufferArg,
        /// The word, little-endian.
        word: u32,
    },
    /// A host write: on a software graph it cannot be recorded (C-57).
    Write {
        /// Where to.
        dst: BufferArg,
        /// The bytes; as many as `dst` has.
        bytes: Bytes,
    },
    /// A host copy that every backend records, with its bytes retained by the graph (`Capture::upload`).
    Upload {
        /// Where to.
        dst: BufferArg,
        /// The bytes; as many as `dst` has.
        bytes: Bytes,
    },
}

/// A kernel with its grid and arguments.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: Kernel,
    /// Workgroups.
    pub grid: GridArg,
    /// Buffers, in order of the kernel's (group, binding).
    pub buffers: Vec<BufferArg>,
    /// Scalars, in order of the kernel's immediate members.
    pub values: Vec<ValueArg>,
    /// A name for reports, dumps and profiles.
    pub label: Option<Arc<str>>,
}

/// A launch whose workgroup counts are read from device memory when it runs.
#[derive(Clone, Debug)]
pub struct LaunchIndirect {
    /// The kernel and arguments. Its grid is the largest that the counts may ask for.
    pub launch: Launch,
    /// Three `u32`: workgroups in x, y and z. Counts above the largest grid launch nothing.
    pub counts: BufferArg,
}

/// Workgroups of a launch: fixed, or a parameter of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GridArg {
    /// Always this many in x, y and z.
    Fixed([u32; 3]),
    /// Changeable by `graph.update`, up to `max` in each dimension.
    Param {
        /// The parameter's name.
        name: Arc<str>,
        /// Workgroups until an update.
        groups: [u32; 3],
        /// The most that an update may set.
        max: [u32; 3],
    },
}

impl GridArg {
    /// Workgroups as recorded.
    pub const fn groups(&self) -> [u32; 3] {
        match self {
            Self::Fixed(groups) | Self::Param { groups, .. } => *groups,
        }
    }
}

/// A buffer argument.
#[derive(Clone, Debug)]
pub struct BufferArg {
    /// The bytes.
    pub binding: BufferBinding,
    /// The caller's word that the kernel writes only a part ([`Access::WritePart`]); else the kernel's own access.
    pub access: Option<Access>,
    /// The name by which `graph.update` may put another buffer here.
    pub slot: Option<Arc<str>>,
}

impl From<BufferBinding> for BufferArg {
    fn from(binding: BufferBinding) -> Self {
        Self { binding, access: None, slot: None }
    }
}

/// A scalar argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueArg {
    /// Frozen in the recording, and listed in its report.
    Baked(Value),
    /// Changeable by `graph.update`.
    Param {
        /// The parameter's name.
        name: Arc<str>,
        /// Its value until an update.
        value: Value,
    },
}

impl ValueArg {
    /// The value as recorded.
    pub const fn value(&self) -> Value {
        match self {
            Self::Baked(value) | Self::Param { value, .. } => *value,
        }
    }
}

impl BufferArg {
    /// What an operation that does `used` with this argument amounts to, the caller's word included.
    pub fn effective(&self, used: Access) -> Access {
        if self.access == Some(Access::WritePart) && used.writes() { Access::WritePart } else { used }
    }
}

impl Op {
    /// A host write whose bytes lie elsewhere, for what asks about its destination alone. It is never recorded.
    pub fn staged_write(dst: BufferBinding) -> Self {
        Self::Write { dst: dst.into(), bytes: Bytes::from([]) }
    }

    /// The call, for errors.
    pub const fn call(&self) -> crate::error::GraphOp {
        use crate::error::GraphOp;
        match self {
            Self::Launch(_) | Self::LaunchIndirect(_) => GraphOp::Launch,
            Self::Copy { .. } => GraphOp::Copy,
            Self::Fill { .. } => GraphOp::Fill,
            Self::Write { .. } => GraphOp::Write,
            Self::Upload { .. } => GraphOp::Upload,
        }
    }

    /// The launch in it, if it is one.
    pub const fn launch(&self) -> Option<&Launch> {
        match self {
            Self::Launch(launch) | Self::LaunchIndirect(LaunchIndirect { launch, .. }) => Some(launch),
            _ => None,
        }
    }

    /// Visit every range the operation touches with what it does there, in order of its arguments. A binding that the
    /// entry point does not use is not visited.
    pub fn for_each_use<'a>(&'a self, mut visit: impl FnMut(&'a BufferArg, Access)) {
        match self {
            Self::Launch(launch) => launch.for_each_use(visit),
            Self::LaunchIndirect(indirect) => {
                visit(&indirect.counts, Access::Read);
                // The counts may ask for nothing, so no range is sure to be written whole.
                indirect.launch.for_each_use(|arg, access| match access {
                    Access::Write => visit(arg, Access::WritePart),
                    access => visit(arg, access),
                });
            }
            Self::Copy { src, dst } => {
                visit(src, Access::Read);
                visit(dst, Access::Write);
            }
            Self::Fill { dst, .. } | Self::Write { dst, .. } | Self::Upload { dst, .. } => visit(dst, Access::Write),
        }
    }
}

impl Launch {
    /// As [`Op::for_each_use`].
    pub fn for_each_use<'a>(&'a self, mut visit: impl FnMut(&'a BufferArg, Access)) {
        for (arg, info) in self.buffers.iter().zip(&self.kernel.reflection().bindings) {
            if let Some(access) = info.access {
                visit(arg, arg.effective(access));
            }
        }
    }
}
