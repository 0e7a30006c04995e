//! The launch-bound and GPU-bound workloads: graphs of small affine steps in the shapes that real work has.

use graphreel::Wgsl;

use super::plan::{Contents, Expected, Node, Plan};

/// The kernels of these workloads.
const SOURCE: &str = include_str!("kernels.wgsl");
/// Elements of a launch-bound node: one kibibyte, so that the launch is what costs.
const SMALL: usize = 256;
/// Elements of a GPU-bound node. Their number of steps makes it last, so that a slow device can have few of them.
const LARGE: usize = 1 << 14;
/// Invocations of a workgroup in `kernels.wgsl`.
const WORKGROUP: usize = 64;
/// The indices of the kernels in the plan.
const ADVANCE: usize = 0;
const JOIN: usize = 1;

/// How the nodes depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Each node reads what the one before it wrote.
    Chain,
    /// No node depends on another.
    Independent,
    /// All nodes read what the first one wrote.
    Fanout,
    /// Diamonds of four nodes, one after the other; what is left over is a chain.
    Diamond,
}

/// The launch-bound plan of `nodes` nodes, at least 1.
pub(crate) fn launch_bound(shape: Shape, nodes: u32) -> Plan {
    let mut builder = Builder::new(SMALL, 1);
    match shape {
        Shape::Chain => builder.chain(nodes),
        Shape::Independent => (0..nodes).for_each(|_| {
            let result = builder.advance(0);
            builder.keep(result);
        }),
        Shape::Fanout => {
            let root = builder.advance(0);
            builder.keep(root);
            for _ in 1..nodes {
                let leaf = builder.advance(root);
                builder.keep(leaf);
            }
        }
        Shape::Diamond => builder.diamonds(nodes),
    }
    builder.finish()
}

/// A chain of `nodes` nodes that each do `rounds` steps on many elements.
pub(crate) fn gpu_bound(nodes: u32, rounds: u32) -> Plan {
    let mut builder = Builder::new(LARGE, rounds);
    builder.chain(nodes);
    builder.finish()
}

/// Builds a plan and, beside it, what the host finds for each buffer.
struct Builder {
    elements: usize,
    rounds: u32,
    buffers: Vec<Contents>,
    values: Vec<Vec<u32>>,
    nodes: Vec<Node>,
    kept: Vec<usize>,
}

impl Builder {
    fn new(elements: usize, rounds: u32) -> Self {
        let input: Vec<u32> = (0..elements as u32).map(mixed).collect();
        let bytes = bytemuck::cast_slice(&input).to_vec();
        Self {
            elements,
            rounds,
            buffers: vec![Contents::Input(bytes)],
            values: vec![input],
            nodes: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// A new result buffer.
    fn buffer(&mut self) -> usize {
        self.buffers.push(Contents::Result(4 * self.elements as u64));
        self.values.push(Vec::new());
        self.buffers.len() - 1
    }

    /// Odd, so that no step loses what came before; another one for each node.
    fn step(&self) -> (u32, u32) {
        let node = self.nodes.len() as u32;
        (mixed(2 * node) | 1, mixed(2 * node + 1))
    }

    fn advance(&mut self, source: usize) -> usize {
        let result = self.buffer();
        self.advance_into(source, result);
        result
    }

    fn advance_into(&mut self, source: usize, result: usize) {
        let (factor, addend) = self.step();
        let (power, sum) = repeated(factor, addend, self.rounds);
        let values = self.values[source].iter().map(|value| value.wrapping_mul(power).wrapping_add(sum)).collect();
        self.push(ADVANCE, vec![source, result], [factor, addend, self.rounds], values);
    }

    fn join_into(&mut self, left: usize, right: usize, result: usize) {
        let (factor, addend) = self.step();
        let pairs = self.values[left].iter().zip(&self.values[right]);
        let values = pairs.map(|(l, r)| l.wrapping_mul(factor).wrapping_add(*r).wrapping_add(addend)).collect();
        self.push(JOIN, vec![left, right, result], [factor, addend, 0], values);
    }

    fn push(&mut self, kernel: usize, buffers: Vec<usize>, step: [u32; 3], values: Vec<u32>) {
        if let Some(result) = buffers.last() {
            self.values[*result] = values;
        }
        let groups = [self.elements.div_ceil(WORKGROUP) as u32, 1, 1];
        self.nodes.push(Node { kernel, groups, buffers, scalars: step.map(Into::into).to_vec() });
    }

    /// Back and forth between two buffers, so that a replay starts from the untouched input and ends where the last did.
    fn chain(&mut self, nodes: u32) {
        let places = [self.buffer(), self.buffer()];
        let mut source = 0;
        for node in 0..nodes {
            let result = places[node as usize % 2];
            self.advance_into(source, result);
            source = result;
        }
        self.keep(source);
    }

    fn diamonds(&mut self, nodes: u32) {
        let [top, left, right] = [self.buffer(), self.buffer(), self.buffer()];
        let ends = [self.buffer(), self.buffer()];
        let mut source = 0;
        for diamond in 0..nodes / 4 {
            let end = ends[diamond as usize % 2];
            self.advance_into(source, top);
            self.advance_into(top, left);
            self.advance_into(top, right);
            self.join_into(left, right, end);
            source = end;
        }
        let spare = [top, left];
        for node in 0..nodes % 4 {
            let result = spare[node as usize % 2];
            self.advance_into(source, result);
            source = result;
        }
        self.keep(source);
    }

    fn keep(&mut self, buffer: usize) {
        self.kept.push(buffer);
    }

    fn finish(self) -> Plan {
        let expected = self
            .kept
            .iter()
            .map(|buffer| Expected { buffer: *buffer, bytes: bytemuck::cast_slice(&self.values[*buffer]).to_vec() });
        Plan {
            expected: expected.collect(),
            kernels: vec![Wgsl::new(SOURCE).entry("advance").into(), Wgsl::new(SOURCE).entry("join").into()],
            buffers: self.buffers,
            nodes: self.nodes,
        }
    }
}

/// `rounds` steps at once: the affine maps with wrapping arithmetic form a monoid, so squaring does.
fn repeated(factor: u32, addend: u32, mut rounds: u32) -> (u32, u32) {
    let (mut power, mut sum) = (1u32, 0u32);
    let (mut square, mut shift) = (factor, addend);
    while rounds > 0 {
        if rounds % 2 == 1 {
            (power, sum) = (power.wrapping_mul(square), sum.wrapping_mul(square).wrapping_add(shift));
        }
        (square, shift) = (square.wrapping_mul(square), shift.wrapping_mul(square).wrapping_add(shift));
        rounds /= 2;
    }
    (power, sum)
}

/// Spreads small numbers over all 32 bits (the finaliser of MurmurHash3).
fn mixed(number: u32) -> u32 {
    let mut bits = number.wrapping_add(0x9e37_79b9);
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_as_many_nodes_as_asked_for() {
        for shape in [Shape::Chain, Shape::Independent, Shape::Fanout, Shape::Diamond] {
            for nodes in [1, 2, 3, 4, 5, 7, 10, 100] {
                let plan = launch_bound(shape, nodes);
                assert_eq!(plan.nodes.len(), nodes as usize, "{shape:?}");
                assert!(!plan.expected.is_empty());
                assert!(plan.nodes.iter().flat_map(|node| &node.buffers).all(|index| *index < plan.buffers.len()));
            }
        }
    }

    #[test]
    fn no_node_writes_the_input_or_reads_what_it_writes() {
        for shape in [Shape::Chain, Shape::Independent, Shape::Fanout, Shape::Diamond] {
            for node in launch_bound(shape, 23).nodes {
                let (result, sources) = node.buffers.split_last().expect("a node has a result");
                assert!(*result != 0 && !sources.contains(result), "{shape:?}");
            }
        }
    }

    #[test]
    fn repeated_steps_are_the_steps_one_by_one() {
        for rounds in [0, 1, 2, 3, 7, 100] {
            let mut value = 12_345u32;
            for _ in 0..rounds {
                value = value.wrapping_mul(0x0101_0101).wrapping_add(77);
            }
            let (power, sum) = repeated(0x0101_0101, 77, rounds);
            assert_eq!(12_345u32.wrapping_mul(power).wrapping_add(sum), value, "{rounds} rounds");
        }
    }

    #[test]
    fn the_kernels_take_what_the_nodes_give() {
        let plan = launch_bound(Shape::Diamond, 9);
        for node in &plan.nodes {
            let kernel = graphreel::kernel::reflect(&plan.kernels[node.kernel]).expect("valid");
            assert_eq!(kernel.bindings.len(), node.buffers.len());
            assert_eq!(kernel.immediates.len(), node.scalars.len());
            assert_eq!(kernel.workgroup_size, [WORKGROUP as u32, 1, 1]);
        }
    }

    #[test]
    fn nodes_that_change_places_change_the_result() {
        let chain = launch_bound(Shape::Chain, 3);
        let last = &chain.expected[0].bytes;
        assert_ne!(*last, launch_bound(Shape::Chain, 2).expected[0].bytes);
        let (a, b) = (repeated(5, 7, 1), repeated(9, 11, 1));
        let (ab, ba) = (a.1.wrapping_mul(b.0).wrapping_add(b.1), b.1.wrapping_mul(a.0).wrapping_add(a.1));
        assert_ne!(ab, ba);
    }
}
