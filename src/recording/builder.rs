//! Turns live operations into a recording, and keeps the handles it stands for beside it.

use super::dependence::Dependences;
use super::intern::Interner;
use super::node::{Node, NodeGrid, NodeOp, NodeValue, Place, Recording, Use};
use super::report::FrozenArgument;
use crate::error::{Result, ServerError};
use crate::kernel::Kernel;
use crate::memory::{Access, BufferBinding};
use crate::op::{BufferArg, Bytes, GridArg, Launch, LaunchIndirect, Op};
use crate::sync::Arc;

/// Appends operations to a recording. Arguments have been checked by `op::check`.
#[derive(Debug, Default)]
pub struct RecordingBuilder {
    label: Option<Arc<str>>,
    interner: Interner,
    dependences: Dependences,
    nodes: Vec<Node>,
}

/// A finished recording with the live handles that its numbers stand for.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The recording.
    pub recording: Arc<Recording>,
    /// One for each of [`Recording::buffers`]: the whole memory, or the range that the slot was given.
    pub buffers: Vec<BufferBinding>,
    /// One for each of [`Recording::kernels`].
    pub kernels: Vec<Kernel>,
}

impl RecordingBuilder {
    /// An empty recording with a name for reports and dumps.
    pub fn new(label: Option<Arc<str>>) -> Self {
        Self { label, ..Self::default() }
    }

    /// Operations so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no operation yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Append an operation; its node's number.
    ///
    /// # Errors
    ///
    /// `InvalidParam` when a name is declared twice in different ways, when a grid is above its own maximum, or when a
    /// slot shares bytes with another buffer of the recording; `InvalidRange` for an empty range or one outside its
    /// memory, or host bytes of another length than their destination. The recording is as before then.
    pub fn push(&mut self, op: &Op) -> Result<u32> {
        let mark = self.interner.mark();
        match self.intern(op) {
            Ok((index, op_node, uses, label)) => {
                let after = self.dependences.push(&uses);
                self.nodes.push(Node { label, op: op_node, uses, after });
                Ok(index)
            }
            Err(error) => {
                self.interner.roll_back(&mark);
                Err(error)
            }
        }
    }

    /// The recording and its handles.
    pub fn finish(self) -> Recorded {
        let parts = self.interner.finish();
        Recorded {
            recording: Arc::new(Recording {
                label: self.label,
                buffers: parts.decls,
                kernels: parts.kernels.iter().map(|kernel| kernel.source().clone()).collect(),
                host: parts.host,
                params: parts.params,
                nodes: self.nodes,
            }),
            buffers: parts.buffers,
            kernels: parts.kernels,
        }
    }

    fn intern(&mut self, op: &Op) -> Result<(u32, NodeOp, Vec<Use>, Option<Arc<str>>)> {
        let index = super::intern::number(self.nodes.len())?;
        let (node, label) = match op {
            Op::Launch(launch) => (self.launch(launch)?, launch.label.clone()),
            Op::LaunchIndirect(indirect) => (self.launch_indirect(indirect)?, indirect.launch.label.clone()),
            Op::Copy { src, dst } => {
                (NodeOp::Copy { src: self.interner.place(src)?, dst: self.interner.place(dst)? }, None)
            }
            Op::Fill { dst, word } => (NodeOp::Fill { dst: self.interner.place(dst)?, word: *word }, None),
            Op::Write { dst, bytes } | Op::Upload { dst, bytes } => (self.host_write(dst, bytes)?, None),
        };
        Ok((index, node, self.uses(op)?, label))
    }

    fn launch(&mut self, launch: &Launch) -> Result<NodeOp> {
        let grid = match &launch.grid {
            GridArg::Fixed(groups) => NodeGrid::Fixed(*groups),
            GridArg::Param { name, groups, max } => NodeGrid::Param(self.interner.grid_param(name, *groups, *max)?),
        };
        let kernel = self.interner.kernel(&launch.kernel)?;
        Ok(NodeOp::Launch { kernel, grid, buffers: self.places(launch)?, values: self.values(launch)? })
    }

    fn launch_indirect(&mut self, indirect: &LaunchIndirect) -> Result<NodeOp> {
        let launch = &indirect.launch;
        let max = match &launch.grid {
            GridArg::Fixed(groups) => *groups,
            GridArg::Param { name, .. } => {
                return Err(ServerError::InvalidParam {
                    name: name.clone(),
                    problem: "an indirect launch takes its grid from its counts; give its largest grid as a fixed one"
                        .into(),
                });
            }
        };
        let kernel = self.interner.kernel(&launch.kernel)?;
        let counts = self.interner.place(&indirect.counts)?;
        Ok(NodeOp::LaunchIndirect { kernel, counts, max, buffers: self.places(launch)?, values: self.values(launch)? })
    }

    fn host_write(&mut self, dst: &BufferArg, bytes: &Bytes) -> Result<NodeOp> {
        if bytes.len() as u64 != dst.binding.len() {
            return Err(ServerError::InvalidRange {
                op: "upload",
                range: dst.binding.range(),
                size: dst.binding.memory.size(),
                problem: "the bytes given are not as many as the range has; give just as many",
            });
        }
        Ok(NodeOp::HostWrite { dst: self.interner.place(dst)?, host: self.interner.host(bytes)? })
    }

    fn places(&mut self, launch: &Launch) -> Result<Vec<Place>> {
        launch.buffers.iter().map(|arg| self.interner.place(arg)).collect()
    }

    fn values(&mut self, launch: &Launch) -> Result<Vec<NodeValue>> {
        launch.values.iter().map(|arg| self.interner.value(arg)).collect()
    }

    /// What the operation touches, equal ranges merged, in order of its arguments.
    fn uses(&mut self, op: &Op) -> Result<Vec<Use>> {
        let mut args: Vec<(&BufferArg, Access)> = Vec::new();
        op.for_each_use(|arg, access| args.push((arg, access)));
        let mut uses: Vec<Use> = Vec::with_capacity(args.len());
        for (arg, access) in args {
            let place = self.interner.place(arg)?;
            match uses.iter_mut().find(|used| used.place == place) {
                Some(used) => used.access = used.access.union(access),
                None => uses.push(Use { place, access }),
            }
        }
        Ok(uses)
    }
}

impl Recording {
    /// Scalars that every replay passes as they were recorded. `kernels` are those of [`Recorded::kernels`].
    pub fn frozen(&self, kernels: &[Kernel]) -> Vec<FrozenArgument> {
        let mut frozen = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let (NodeOp::Launch { kernel, values, .. } | NodeOp::LaunchIndirect { kernel, values, .. }) = &node.op
            else {
                continue;
            };
            let kernel = kernels.get(*kernel as usize);
            for (member, value) in values.iter().enumerate() {
                let NodeValue::Baked(value) = value else { continue };
                frozen.push(FrozenArgument {
                    node: index as u32,
                    kernel: kernel.map_or_else(|| "unknown".into(), |kernel| kernel.entry().clone()),
                    name: member_name(kernel, member),
                    value: value.to_string(),
                });
            }
        }
        frozen
    }
}

/// The name of a kernel's scalar, or its position where the kernel is not known.
pub(super) fn member_name(kernel: Option<&Kernel>, member: usize) -> String {
    let info = kernel.and_then(|kernel| kernel.reflection().immediates.get(member));
    info.map_or_else(|| format!("scalar {member}"), |info| info.name.clone())
}
