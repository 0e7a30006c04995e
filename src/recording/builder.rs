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
            Ok((index, node)) => {
                let after = self.dependences.push(&node.uses);
                self.nodes.push(Node { after, ..node });
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

    /// The next node and its number, its dependences not yet found.
    fn intern(&mut self, op: &Op) -> Result<(u32, Node)> {
        let index = super::intern::number(self.nodes.len())?;
        let (op_node, label) = match op {
            Op::Launch(launch) => (self.launch(launch)?, launch.label.clone()),
            Op::LaunchIndirect(indirect) => (self.launch_indirect(indirect)?, indirect.launch.label.clone()),
            Op::Copy { src, dst } => {
                (NodeOp::Copy { src: self.interner.place(src)?, dst: self.interner.place(dst)? }, None)
            }
            Op::Fill { dst, word } => (NodeOp::Fill { dst: self.interner.place(dst)?, word: *word }, None),
            Op::Write { dst, bytes } | Op::Upload { dst, bytes } => (self.host_write(dst, bytes)?, None),
        };
        Ok((index, Node { label, op: op_node, uses: self.uses(op)?, after: Vec::new() }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::fixture::{Fixture, baked, grid_param, param, slot};
    use crate::recording::{BufferDecl, ParamKind};

    fn refusal(result: Result<u32>) -> String {
        result.expect_err("must be refused").to_string()
    }

    #[test]
    fn operations_become_nodes_with_merged_uses() {
        let fixture = Fixture::new();
        let (x, y) = (fixture.buffer(32), fixture.buffer(16));
        let mut builder = RecordingBuilder::new(Some("step".into()));
        let part = x.slice(16..32).unwrap();
        assert_eq!(
            builder.push(&fixture.launch(vec![part.clone().into(), y.clone().into()], vec![baked(2.0)])).unwrap(),
            0
        );
        // The same range read and written by one kernel is one use.
        assert_eq!(
            builder.push(&fixture.launch(vec![y.clone().into(), y.clone().into()], vec![baked(3.0)])).unwrap(),
            1
        );
        let bytes: Bytes = vec![7u8; 16].into();
        builder.push(&Op::Write { dst: part.clone().into(), bytes: bytes.clone() }).unwrap();
        builder.push(&Op::Upload { dst: y.clone().into(), bytes }).unwrap();
        let Recorded { recording, buffers, kernels } = builder.finish();
        let place = |buffer, start, len| Place { buffer, start, len };
        let declared = |bytes| BufferDecl { bytes, slot: None };
        assert_eq!(recording.buffers, [declared(32), declared(16)]);
        assert_eq!(buffers.iter().map(BufferBinding::len).collect::<Vec<_>>(), [32, 16]);
        assert_eq!((recording.kernels.len(), kernels.len(), recording.host.len()), (1, 1, 1));
        let uses: Vec<_> = recording.nodes.iter().map(|node| node.uses.clone()).collect();
        let used = |place, access| Use { place, access };
        assert_eq!(uses[0], [used(place(0, 16, 16), Access::Read), used(place(1, 0, 16), Access::Write)]);
        assert_eq!(uses[1], [used(place(1, 0, 16), Access::ReadWrite)]);
        assert_eq!(recording.nodes[2].op, NodeOp::HostWrite { dst: place(0, 16, 16), host: 0 });
        assert_eq!(recording.nodes[2].after, [0]);
        assert_eq!(recording.nodes[3].after, [1]);
        assert_eq!(recording.exposed_reads(), [place(0, 16, 16)]);
    }

    #[test]
    fn frozen_scalars_are_listed_by_name_and_parameters_are_not() {
        let fixture = Fixture::new();
        let (x, y) = (fixture.buffer(16), fixture.buffer(16));
        let mut builder = RecordingBuilder::new(None);
        let args = || vec![x.clone().into(), y.clone().into()];
        builder.push(&fixture.launch(args(), vec![param("rate", 0.5)])).unwrap();
        builder.push(&fixture.launch(args(), vec![baked(0.1)])).unwrap();
        let recorded = builder.finish();
        let frozen = recorded.recording.frozen(&recorded.kernels);
        assert_eq!(frozen.len(), 1);
        assert_eq!((frozen[0].node, &*frozen[0].kernel, &*frozen[0].name, &*frozen[0].value), (1, "axpy", "lr", "0.1"));
        assert_eq!(recorded.recording.frozen(&[])[0].name, "scalar 0");
    }

    #[test]
    fn a_refused_operation_leaves_no_trace() {
        let fixture = Fixture::new();
        let (x, y, z) = (fixture.buffer(16), fixture.buffer(16), fixture.buffer(16));
        let mut builder = RecordingBuilder::new(None);
        builder.push(&fixture.launch(vec![x.clone().into(), slot("s", &y)], vec![param("lr", 1.0)])).unwrap();
        let other = Fixture::with(fixture.service.clone());
        // A new kernel, a new buffer and a new slot come before the scalar that is refused.
        let bad = other.launch(vec![z.clone().into(), slot("t", &fixture.buffer(16))], vec![param("lr", 2.0)]);
        assert!(refusal(builder.push(&bad)).contains("`lr`"));
        let bytes: Bytes = vec![0; 4].into();
        assert!(refusal(builder.push(&Op::Upload { dst: z.clone().into(), bytes })).contains("as many as"));
        // As if never named: z may be a slot now, and `t` a scalar.
        builder.push(&fixture.launch(vec![slot("z", &z), slot("s", &y)], vec![param("t", 1.0)])).unwrap();
        let recorded = builder.finish();
        assert_eq!((recorded.recording.nodes.len(), recorded.kernels.len()), (2, 1));
        assert_eq!((recorded.recording.buffers.len(), recorded.recording.host.len()), (3, 0));
        let names: Vec<_> = recorded.recording.params.iter().map(|param| &*param.name).collect();
        assert_eq!(names, ["s", "lr", "z", "t"]);
        assert_eq!(recorded.recording.params[2].kind, ParamKind::Buffer(2));
    }

    #[test]
    fn slots_stand_for_one_disjoint_range_each() {
        let fixture = Fixture::new();
        let (x, y, z) = (fixture.buffer(64), fixture.buffer(16), fixture.buffer(16));
        let mut builder = RecordingBuilder::new(None);
        let part = |range| x.slice(range).unwrap();
        let copy = |dst: BufferArg| fixture.copy(y.clone().into(), dst);
        builder.push(&copy(slot("b", &part(16..32)))).unwrap();
        builder.push(&copy(slot("b", &part(16..32)))).unwrap();
        builder.push(&copy(slot("c", &part(32..48)))).unwrap();
        assert!(refusal(builder.push(&copy(slot("b", &part(0..16))))).contains("another range"));
        for range in [8..24, 24..40, 40..56, 16..32] {
            let shared = refusal(builder.push(&copy(slot("d", &part(range.clone())))));
            assert!(shared.contains("shares bytes with slot"), "{range:?}: {shared}");
        }
        assert!(refusal(builder.push(&copy(part(48..64).into()))).contains("also used without the slot"));
        assert!(refusal(builder.push(&copy(slot("y", &y)))).contains("also used without the slot"));
        builder.push(&copy(slot("d", &part(0..16)))).unwrap();
        let scalar = fixture.launch(vec![y.clone().into(), z.clone().into()], vec![param("b", 1.0)]);
        assert!(refusal(builder.push(&scalar)).contains("unique"));
        builder.push(&fixture.launch(vec![y.clone().into(), z.clone().into()], vec![param("lr", 1.0)])).unwrap();
        assert!(refusal(builder.push(&copy(slot("lr", &part(48..64))))).contains("unique"));
        assert_eq!(builder.len(), 5);
    }

    #[test]
    fn grids_must_fit_their_own_maximum() {
        let fixture = Fixture::new();
        let (x, y) = (fixture.buffer(16), fixture.buffer(16));
        let mut builder = RecordingBuilder::new(None);
        let args = || vec![x.clone().into(), y.clone().into()];
        let launch = |groups, max| fixture.launch_with(grid_param("n", groups, max), args(), vec![baked(1.0)]);
        for (groups, max) in [([0, 1, 1], [4; 3]), ([1, 5, 1], [4; 3]), ([1; 3], [1, 1, 65_536]), ([1; 3], [0, 1, 1])] {
            assert!(builder.push(&launch(groups, max)).is_err(), "{groups:?} of {max:?}");
        }
        builder.push(&launch([4; 3], [4; 3])).unwrap();
        assert!(builder.push(&launch([4; 3], [5, 4, 4])).is_err(), "the same name with another maximum");
        let Op::Launch(launch) = launch([4; 3], [4; 3]) else { panic!("a launch") };
        let indirect = Op::LaunchIndirect(LaunchIndirect { launch, counts: fixture.buffer(12).into() });
        assert!(refusal(builder.push(&indirect)).contains("indirect"));
        assert_eq!(builder.finish().recording.buffers.len(), 2);
    }

    #[test]
    fn ranges_outside_their_memory_are_refused() {
        let fixture = Fixture::new();
        let mut builder = RecordingBuilder::new(None);
        let mut outside = fixture.buffer(16);
        outside.size = u64::MAX;
        assert!(builder.push(&Op::Fill { dst: outside.into(), word: 0 }).is_err());
        let empty = fixture.buffer(16).slice(8..8).unwrap();
        assert!(builder.push(&Op::Fill { dst: empty.into(), word: 0 }).is_err());
        assert!(builder.is_empty());
    }
}
