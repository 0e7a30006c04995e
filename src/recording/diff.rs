//! The first difference between two recordings of the same work: what `graph.verify` reports.

use std::collections::HashMap;

use super::builder::member_name;
use super::node::{Node, NodeGrid, NodeOp, NodeValue, ParamKind, Place, Recording};
use super::users::roles;
use crate::error::ServerError;
use crate::kernel::Kernel;
use crate::sync::Arc;

/// Where two recordings part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Another operation, kernel, range or access, or more or fewer nodes.
    Topology {
        /// The first node that differs.
        node: u32,
        /// What differs.
        what: Arc<str>,
    },
    /// A value that is frozen in the recording.
    Baked {
        /// The node.
        node: u32,
        /// The scalar's name in the kernel, or `grid`, `word` or `bytes`.
        name: Arc<str>,
        /// The recorded value.
        recorded: Arc<str>,
        /// The value in the other recording.
        now: Arc<str>,
    },
}

impl From<Difference> for ServerError {
    fn from(difference: Difference) -> Self {
        match difference {
            Difference::Topology { node, what } => Self::TopologyChanged { node, what },
            Difference::Baked { node, name, recorded, now } => Self::BakedValueChanged { node, name, recorded, now },
        }
    }
}

impl Recording {
    /// The first node in which `other`, recorded now, differs from this one. Values of declared parameters may differ, and
    /// so may labels. `kernels` are this recording's, for the names of scalars; it may be empty.
    pub fn diff(&self, other: &Self, kernels: &[Kernel]) -> Option<Difference> {
        let mut pair = Pair { recorded: self, now: other, kernels, same_kernels: HashMap::new() };
        for (index, (one, two)) in (0u32..).zip(self.nodes.iter().zip(&other.nodes)) {
            if let Some(difference) = pair.node(index, one, two) {
                return Some(difference);
            }
        }
        let (recorded, now) = (self.nodes.len(), other.nodes.len());
        (recorded != now).then(|| {
            topology(recorded.min(now) as u32, format!("{recorded} nodes were recorded and there are {now} now"))
        })
    }
}

/// Two recordings, and which kernels of theirs were found equal: sources are long, and nodes share them.
struct Pair<'a> {
    recorded: &'a Recording,
    now: &'a Recording,
    kernels: &'a [Kernel],
    same_kernels: HashMap<(u32, u32), bool>,
}

/// The parts of a launch that are compared: kernel, grid and scalars.
struct LaunchParts<'a> {
    kernel: u32,
    grid: NodeGrid,
    values: &'a [NodeValue],
}

fn topology(node: u32, what: impl Into<Arc<str>>) -> Difference {
    Difference::Topology { node, what: what.into() }
}

fn baked(node: u32, name: &str, recorded: String, now: String) -> Difference {
    Difference::Baked { node, name: name.into(), recorded: recorded.into(), now: now.into() }
}

/// The name of an operation's kind.
pub(super) fn kind(op: &NodeOp) -> &'static str {
    match op {
        NodeOp::Launch { .. } => "launch",
        NodeOp::LaunchIndirect { .. } => "indirect launch",
        NodeOp::Copy { .. } => "copy",
        NodeOp::Fill { .. } => "fill",
        NodeOp::HostWrite { .. } => "host write",
    }
}

fn launch(op: &NodeOp) -> Option<LaunchParts<'_>> {
    match op {
        NodeOp::Launch { kernel, grid, values, .. } => Some(LaunchParts { kernel: *kernel, grid: *grid, values }),
        NodeOp::LaunchIndirect { kernel, max, values, .. } => {
            Some(LaunchParts { kernel: *kernel, grid: NodeGrid::Fixed(*max), values })
        }
        _ => None,
    }
}

impl Pair<'_> {
    fn node(&mut self, index: u32, one: &Node, two: &Node) -> Option<Difference> {
        if std::mem::discriminant(&one.op) != std::mem::discriminant(&two.op) {
            return Some(topology(index, format!("{} was recorded and it is {} now", kind(&one.op), kind(&two.op))));
        }
        let launches = launch(&one.op).zip(launch(&two.op));
        if let Some((before, after)) = &launches
            && !self.same_kernel(before.kernel, after.kernel)
        {
            return Some(topology(index, "it runs another kernel"));
        }
        self.places(index, one, two).or_else(|| match (&one.op, &two.op) {
            (NodeOp::Fill { word: before, .. }, NodeOp::Fill { word: after, .. }) => {
                (before != after).then(|| baked(index, "word", format!("{before:#010x}"), format!("{after:#010x}")))
            }
            (NodeOp::HostWrite { host: before, .. }, NodeOp::HostWrite { host: after, .. }) => {
                self.host(index, *before, *after)
            }
            _ => launches.and_then(|(before, after)| self.arguments(index, &before, &after)),
        })
    }

    fn same_kernel(&mut self, one: u32, two: u32) -> bool {
        let (recorded, now) = (self.recorded, self.now);
        *self
            .same_kernels
            .entry((one, two))
            .or_insert_with(|| recorded.kernels.get(one as usize) == now.kernels.get(two as usize))
    }

    fn places(&self, index: u32, one: &Node, two: &Node) -> Option<Difference> {
        let (before, after) = (roles(&one.op), roles(&two.op));
        if before.len() != after.len() {
            return Some(topology(
                index,
                format!("{} buffers were recorded and there are {} now", before.len(), after.len()),
            ));
        }
        for ((role, place), (_, now)) in before.iter().zip(&after) {
            if place != now || self.decl(self.recorded, place) != self.decl(self.now, now) {
                return Some(topology(index, format!("its {role} was {} and is {} now", text(place), text(now))));
            }
        }
        // Dependences follow from the uses of this node and those before it.
        (one.uses != two.uses).then(|| topology(index, "it uses a buffer in another way"))
    }

    fn decl<'r>(&self, recording: &'r Recording, place: &Place) -> Option<&'r super::BufferDecl> {
        recording.buffers.get(place.buffer as usize)
    }

    fn host(&self, index: u32, before: u32, after: u32) -> Option<Difference> {
        let (before, after) = (self.recorded.host.get(before as usize)?, self.now.host.get(after as usize)?);
        if before == after {
            return None;
        }
        let at = before.iter().zip(after.iter()).take_while(|(one, two)| one == two).count();
        let text = |bytes: &[u8]| match bytes.get(at) {
            Some(byte) => format!("{byte:#04x} at byte {at}"),
            None => format!("{} bytes", bytes.len()),
        };
        Some(baked(index, "bytes", text(before), text(after)))
    }

    fn arguments(&self, index: u32, one: &LaunchParts<'_>, two: &LaunchParts<'_>) -> Option<Difference> {
        if let Some(difference) = self.grid(index, one.grid, two.grid) {
            return Some(difference);
        }
        if one.values.len() != two.values.len() {
            let what = format!("{} scalars were recorded and there are {} now", one.values.len(), two.values.len());
            return Some(topology(index, what));
        }
        let kernel = self.kernels.get(one.kernel as usize);
        for (member, (before, after)) in one.values.iter().zip(two.values).enumerate() {
            let name = || member_name(kernel, member);
            match (before, after) {
                (NodeValue::Baked(before), NodeValue::Baked(after)) if before == after => {}
                (NodeValue::Baked(before), NodeValue::Baked(after)) => {
                    return Some(baked(index, &name(), before.to_string(), after.to_string()));
                }
                (NodeValue::Param(before), NodeValue::Param(after)) if self.same_param(*before, *after) => {}
                (NodeValue::Param(_), NodeValue::Param(_)) => {
                    return Some(topology(index, format!("`{}` takes another parameter", name())));
                }
                _ => return Some(topology(index, format!("`{}` is a parameter in only one of the two", name()))),
            }
        }
        None
    }

    fn grid(&self, index: u32, before: NodeGrid, after: NodeGrid) -> Option<Difference> {
        match (before, after) {
            (NodeGrid::Fixed(before), NodeGrid::Fixed(after)) => {
                (before != after).then(|| baked(index, "grid", format!("{before:?}"), format!("{after:?}")))
            }
            (NodeGrid::Param(before), NodeGrid::Param(after)) => {
                (!self.same_param(before, after)).then(|| topology(index, "its grid takes another parameter"))
            }
            _ => Some(topology(index, "its grid is a parameter in only one of the two")),
        }
    }

    /// Whether two parameters are the same declaration; their values may differ.
    fn same_param(&self, before: u32, after: u32) -> bool {
        let (Some(before), Some(after)) =
            (self.recorded.params.get(before as usize), self.now.params.get(after as usize))
        else {
            return false;
        };
        let same_kind = match (&before.kind, &after.kind) {
            (ParamKind::Value(one), ParamKind::Value(two)) => one.ty() == two.ty(),
            (ParamKind::Grid { max: one, .. }, ParamKind::Grid { max: two, .. }) => one == two,
            (one, two) => one == two,
        };
        before.name == after.name && same_kind
    }
}

fn text(place: &Place) -> String {
    format!("bytes {}..{} of buffer {}", place.start, place.end(), place.buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Value;
    use crate::memory::BufferBinding;
    use crate::op::{BufferArg, GridArg, Op, ValueArg};
    use crate::recording::fixture::{Fixture, baked, grid_param, param, slot};
    use crate::recording::{Recorded, RecordingBuilder};

    fn record(ops: &[Op]) -> Recorded {
        let mut builder = RecordingBuilder::new(None);
        ops.iter().for_each(|op| assert!(builder.push(op).is_ok()));
        builder.finish()
    }

    struct Work {
        fixture: Fixture,
        x: BufferBinding,
        y: BufferBinding,
    }

    impl Work {
        fn new() -> Self {
            let fixture = Fixture::new();
            let (x, y) = (fixture.buffer(16), fixture.buffer(16));
            Self { fixture, x, y }
        }

        fn args(&self) -> Vec<BufferArg> {
            vec![self.x.clone().into(), self.y.clone().into()]
        }

        fn launch(&self, grid: GridArg, value: ValueArg) -> Op {
            self.fixture.launch_with(grid, self.args(), vec![value])
        }

        /// The difference between two single operations.
        fn diff(&self, one: Op, two: Op) -> Option<Difference> {
            let (one, two) = (record(&[one]), record(&[two]));
            one.recording.diff(&two.recording, &one.kernels)
        }
    }

    fn topology_text(difference: Option<Difference>) -> (u32, String) {
        match difference {
            Some(Difference::Topology { node, what }) => (node, what.to_string()),
            other => panic!("expected another topology, got {other:?}"),
        }
    }

    #[test]
    fn a_baked_value_is_named_and_a_parameter_may_change() {
        // D50.
        let work = Work::new();
        let fixed = || GridArg::Fixed([1; 3]);
        let baked_diff = work.diff(work.launch(fixed(), baked(0.1)), work.launch(fixed(), baked(0.01)));
        let expected = Difference::Baked { node: 0, name: "lr".into(), recorded: "0.1".into(), now: "0.01".into() };
        assert_eq!(baked_diff, Some(expected.clone()));
        let error = ServerError::from(expected);
        assert!(matches!(&error, ServerError::BakedValueChanged { name, .. } if &**name == "lr"), "{error}");
        assert_eq!(work.diff(work.launch(fixed(), param("lr", 0.1)), work.launch(fixed(), param("lr", 0.01))), None);
        let other_type = ValueArg::Param { name: "lr".into(), value: Value::from(1u32) };
        topology_text(work.diff(work.launch(fixed(), param("lr", 0.1)), work.launch(fixed(), other_type)));
        topology_text(work.diff(work.launch(fixed(), param("lr", 0.1)), work.launch(fixed(), baked(0.1))));
    }

    #[test]
    fn grids_words_and_host_bytes_are_baked() {
        let work = Work::new();
        let name = |difference| match difference {
            Some(Difference::Baked { name, .. }) => name.to_string(),
            other => panic!("expected a baked value, got {other:?}"),
        };
        let grid = |groups| work.launch(GridArg::Fixed(groups), baked(1.0));
        assert_eq!(name(work.diff(grid([1; 3]), grid([2, 1, 1]))), "grid");
        let declared = |groups, max| work.launch(grid_param("n", groups, max), baked(1.0));
        assert_eq!(work.diff(declared([1; 3], [4; 3]), declared([3; 3], [4; 3])), None);
        topology_text(work.diff(declared([1; 3], [4; 3]), declared([1; 3], [5; 3])));
        let fill = |word| Op::Fill { dst: work.x.clone().into(), word };
        assert_eq!(name(work.diff(fill(1), fill(2))), "word");
        let upload = |byte: u8| Op::Upload { dst: work.x.clone().into(), bytes: vec![byte; 16].into() };
        assert_eq!(name(work.diff(upload(1), upload(2))), "bytes");
        assert_eq!(work.diff(upload(1), upload(1)), None);
    }

    #[test]
    fn another_topology_names_its_first_node() {
        // D52.
        let work = Work::new();
        let fill = |dst: BufferArg| Op::Fill { dst, word: 0 };
        let one = record(&[fill(work.x.clone().into()), fill(work.y.clone().into())]);
        let diff = |ops: &[Op]| topology_text(one.recording.diff(&record(ops).recording, &one.kernels));
        assert_eq!(diff(&[fill(work.x.clone().into())]).0, 1);
        assert_eq!(diff(&[fill(work.x.clone().into()), fill(work.x.clone().into())]).0, 1);
        assert_eq!(diff(&[fill(work.x.slice(0..8).unwrap().into()), fill(work.y.clone().into())]).0, 0);
        let copy = work.fixture.copy(work.x.clone().into(), work.y.clone().into());
        let (node, what) = diff(&[fill(work.x.clone().into()), copy]);
        assert_eq!((node, &*what), (1, "fill was recorded and it is copy now"));
        let launch = |fixture: &Fixture| fixture.launch(work.args(), vec![baked(1.0)]);
        let other = Fixture::with_source(work.fixture.service.clone(), "// another kernel");
        assert_eq!(topology_text(work.diff(launch(&work.fixture), launch(&other))).1, "it runs another kernel");
        // The same source compiled again is the same kernel.
        let again = Fixture::with(work.fixture.service.clone());
        assert_eq!(work.diff(launch(&work.fixture), launch(&again)), None);
        assert_eq!(work.diff(fill(slot("s", &work.x)), fill(slot("s", &work.y))), None, "a slot may be rebound");
        topology_text(work.diff(fill(slot("s", &work.x)), fill(slot("t", &work.x))));
        let partly = BufferArg { access: Some(crate::memory::Access::WritePart), ..work.y.clone().into() };
        let part = work.fixture.launch(vec![work.x.clone().into(), partly], vec![baked(1.0)]);
        topology_text(work.diff(launch(&work.fixture), part));
    }
}
