//! Which nodes a parameter reaches, so that an update touches those alone.

use std::collections::HashMap;
use std::fmt;

use super::node::{NodeGrid, NodeOp, NodeValue, ParamKind, Place, Recording};

/// Where a parameter is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParamUser {
    /// A scalar: the node, and the index of the kernel's immediate member.
    Value {
        /// The node.
        node: u32,
        /// Index in the values of the node.
        member: u32,
    },
    /// The grid of a node.
    Grid {
        /// The node.
        node: u32,
    },
    /// A buffer of a node.
    Buffer {
        /// The node.
        node: u32,
        /// Which of its places.
        role: BufferRole,
    },
}

/// Which place of a node a buffer is used at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferRole {
    /// A binding of a launch, by its index in order of (group, binding).
    Binding(u32),
    /// The counts of an indirect launch.
    Counts,
    /// The source of a copy.
    Source,
    /// The destination of a copy, fill or host write.
    Destination,
}

impl fmt::Display for BufferRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binding(index) => write!(f, "buffer {index}"),
            Self::Counts => f.write_str("counts"),
            Self::Source => f.write_str("source"),
            Self::Destination => f.write_str("destination"),
        }
    }
}

/// The users of every parameter.
pub(super) fn users(recording: &Recording) -> Vec<Vec<ParamUser>> {
    let mut users = vec![Vec::new(); recording.params.len()];
    let mut add = |param: u32, user: ParamUser| {
        if let Some(list) = users.get_mut(param as usize) {
            list.push(user);
        }
    };
    let slots: HashMap<u32, u32> = (0u32..)
        .zip(&recording.params)
        .filter_map(|(param, declared)| match declared.kind {
            ParamKind::Buffer(index) => Some((index, param)),
            _ => None,
        })
        .collect();
    for (node, recorded) in (0u32..).zip(&recording.nodes) {
        if let NodeOp::Launch { grid: NodeGrid::Param(param), .. } = recorded.op {
            add(param, ParamUser::Grid { node });
        }
        for (role, place) in roles(&recorded.op) {
            if let Some(param) = slots.get(&place.buffer) {
                add(*param, ParamUser::Buffer { node, role });
            }
        }
        if let NodeOp::Launch { values, .. } | NodeOp::LaunchIndirect { values, .. } = &recorded.op {
            for (member, value) in (0u32..).zip(values) {
                if let NodeValue::Param(param) = value {
                    add(*param, ParamUser::Value { node, member });
                }
            }
        }
    }
    users
}

/// Every place of an operation with what it is there.
pub(super) fn roles(op: &NodeOp) -> Vec<(BufferRole, Place)> {
    let bindings =
        |buffers: &[Place]| (0u32..).zip(buffers).map(|(index, place)| (BufferRole::Binding(index), *place)).collect();
    match op {
        NodeOp::Launch { buffers, .. } => bindings(buffers),
        NodeOp::LaunchIndirect { buffers, counts, .. } => {
            let mut all: Vec<_> = bindings(buffers);
            all.push((BufferRole::Counts, *counts));
            all
        }
        NodeOp::Copy { src, dst } => vec![(BufferRole::Source, *src), (BufferRole::Destination, *dst)],
        NodeOp::Fill { dst, .. } | NodeOp::HostWrite { dst, .. } => vec![(BufferRole::Destination, *dst)],
    }
}
