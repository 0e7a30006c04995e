//! The parts of a recording.

use crate::kernel::{KernelSource, Value};
use crate::memory::Access;
use crate::op::Bytes;
use crate::sync::Arc;

/// What a window recorded. Operations run in an order that keeps `Node::after`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// A name for reports and dumps.
    pub label: Option<Arc<str>>,
    /// Buffers that nodes name by index.
    pub buffers: Vec<BufferDecl>,
    /// Kernels that nodes name by index.
    pub kernels: Vec<KernelSource>,
    /// Host bytes that nodes name by index.
    pub host: Vec<Bytes>,
    /// What an update may change.
    pub params: Vec<ParamDecl>,
    /// Operations, in the order of their calls.
    pub nodes: Vec<Node>,
}

/// A buffer that a recording uses: a whole allocation, or the range that a slot was given.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BufferDecl {
    /// Its size in bytes.
    pub bytes: u64,
    /// The slot's name, when an update may put another buffer here.
    pub slot: Option<Arc<str>>,
}

/// A parameter of a recording. Names are unique over all kinds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ParamDecl {
    /// Its name.
    pub name: Arc<str>,
    /// What it changes, and its value until an update.
    pub kind: ParamKind,
}

/// What a parameter changes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParamKind {
    /// Scalars of launches.
    Value(Value),
    /// Grids of launches.
    Grid {
        /// Workgroups until an update.
        groups: [u32; 3],
        /// The most that an update may set.
        max: [u32; 3],
    },
    /// A buffer, by its index in [`Recording::buffers`].
    Buffer(u32),
}

/// One operation.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// A name for reports and dumps.
    pub label: Option<Arc<str>>,
    /// What it does.
    pub op: NodeOp,
    /// The bytes it touches and how: bindings in order, merged where they are equal.
    pub uses: Vec<Use>,
    /// The nodes that must be done before it: direct dependences only, ascending.
    pub after: Vec<u32>,
}

/// A range of a buffer of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Index in [`Recording::buffers`].
    pub buffer: u32,
    /// First byte.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Place {
    /// One past the last byte.
    pub const fn end(&self) -> u64 {
        self.start + self.len
    }

    /// Whether two places share a byte.
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.start < other.end() && other.start < self.end()
    }
}

/// A range and what a node does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Use {
    /// The range.
    pub place: Place,
    /// What the node does with it.
    pub access: Access,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeOp {
    /// Run a kernel.
    Launch {
        /// Index in [`Recording::kernels`].
        kernel: u32,
        /// Workgroups.
        grid: NodeGrid,
        /// Buffers in order of (group, binding).
        buffers: Vec<Place>,
        /// Scalars in order of the immediate members.
        values: Vec<NodeValue>,
    },
    /// Run a kernel over counts that lie in device memory.
    LaunchIndirect {
        /// Index in [`Recording::kernels`].
        kernel: u32,
        /// Three `u32`.
        counts: Place,
        /// The most workgroups in x, y and z.
        max: [u32; 3],
        /// Buffers in order of (group, binding).
        buffers: Vec<Place>,
        /// Scalars in order of the immediate members.
        values: Vec<NodeValue>,
    },
    /// Copy on the device.
    Copy {
        /// Where from.
        src: Place,
        /// Where to.
        dst: Place,
    },
    /// Set every word.
    Fill {
        /// Where.
        dst: Place,
        /// The word.
        word: u32,
    },
    /// Copy bytes that the graph holds.
    HostWrite {
        /// Where to.
        dst: Place,
        /// Index in [`Recording::host`].
        host: u32,
    },
}

/// Workgroups of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeGrid {
    /// Always this many.
    Fixed([u32; 3]),
    /// As parameter `0` (index in [`Recording::params`]) says.
    Param(u32),
}

/// A scalar of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeValue {
    /// Frozen.
    Baked(Value),
    /// As parameter `0` (index in [`Recording::params`]) says.
    Param(u32),
}
