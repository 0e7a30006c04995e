//! Graphs in the words of a test: captured, built node by node, made executable, launched and updated.

use graphreel::graph::driver::{CaptureState, CopyEnd, DeviceMemory, NodeCopy, NodeFill};
use graphreel::graph::{Driver, DriverResult};

use super::rig::bytes;
use super::{Code, Held, Params, Rig};

/// A graph, given back with the test.
pub(super) type Graph<'r, D> = Held<'r, D, <D as Driver>::Graph>;

/// An executable graph, given back with the test.
pub(super) type Exec<'r, D> = Held<'r, D, <D as Driver>::Exec>;

/// All of `src` to the start of `dst`, as a node.
pub(super) fn node_copy(dst: &DeviceMemory, src: &DeviceMemory) -> NodeCopy {
    NodeCopy { src: CopyEnd::Device(src.address), dst: CopyEnd::Device(dst.address), bytes: src.bytes }
}

/// Every word of `dst`, as a node.
pub(super) fn node_fill(dst: &DeviceMemory, word: u32) -> NodeFill {
    NodeFill { dst: dst.address, word, words: bytes(dst.bytes.get() / 4) }
}

#[expect(unsafe_code, reason = "drives the waist, whose ordering rules the suite keeps")]
impl<D: Driver> Rig<D> {
    /// What `record` gives to `stream`, as a graph.
    pub(super) fn capture(
        &self,
        stream: &D::Stream,
        record: impl FnOnce() -> DriverResult,
    ) -> DriverResult<Graph<'_, D>> {
        self.driver().capture_begin(stream)?;
        record()?;
        self.end(stream)
    }

    /// End the capture of `stream`.
    pub(super) fn end(&self, stream: &D::Stream) -> DriverResult<Graph<'_, D>> {
        Ok(Held::new(self, self.driver().capture_end(stream)?, |rig, graph| rig.driver().graph_destroy(graph)))
    }

    /// A graph with no nodes.
    pub(super) fn graph(&self) -> DriverResult<Graph<'_, D>> {
        Ok(Held::new(self, self.driver().graph_create()?, |rig, graph| rig.driver().graph_destroy(graph)))
    }

    /// Add a launch.
    pub(super) fn add_launch(
        &self,
        graph: &mut Graph<'_, D>,
        after: &[D::Node],
        code: &Code<'_, D>,
        groups: [u32; 3],
        params: &Params,
    ) -> DriverResult<D::Node> {
        let (function, shape) = (code.function, code.shape(groups));
        // SAFETY: the parameters were made for this kernel; memory is freed only once the streams are drained.
        unsafe { self.driver().graph_add_launch(graph, after, function, &shape, &params.pointers()) }
    }

    /// Add a copy.
    pub(super) fn add_copy(
        &self,
        graph: &mut Graph<'_, D>,
        after: &[D::Node],
        copy: &NodeCopy,
    ) -> DriverResult<D::Node> {
        // SAFETY: two allocations do not overlap, and are freed only once the streams are drained.
        unsafe { self.driver().graph_add_copy(graph, after, copy) }
    }

    /// Add a fill.
    pub(super) fn add_fill(
        &self,
        graph: &mut Graph<'_, D>,
        after: &[D::Node],
        fill: &NodeFill,
    ) -> DriverResult<D::Node> {
        // SAFETY: the memory is freed only once the streams are drained.
        unsafe { self.driver().graph_add_fill(graph, after, fill) }
    }

    /// Make a graph executable.
    pub(super) fn exec(&self, graph: &D::Graph) -> DriverResult<Exec<'_, D>> {
        let exec = self.driver().graph_instantiate(graph)?;
        // SAFETY: a held handle is destroyed once the streams are drained.
        Ok(Held::new(self, exec, |rig, exec| unsafe { rig.driver().exec_destroy(exec) }))
    }

    /// Launch an executable.
    pub(super) fn run(&self, exec: &D::Exec, stream: &D::Stream) -> DriverResult {
        // SAFETY: what the nodes reach is freed only once the streams are drained.
        unsafe { self.driver().exec_launch(exec, stream) }
    }

    /// Change a launch node.
    pub(super) fn set_launch(
        &self,
        exec: &mut Exec<'_, D>,
        node: D::Node,
        code: &Code<'_, D>,
        groups: [u32; 3],
        params: &Params,
    ) -> DriverResult {
        let (function, shape) = (code.function, code.shape(groups));
        // SAFETY: as for adding the node.
        unsafe { self.driver().exec_set_launch(exec, node, function, &shape, &params.pointers()) }
    }

    /// Give an executable the parameters of another graph.
    pub(super) fn update(&self, exec: &mut Exec<'_, D>, graph: &Graph<'_, D>) -> DriverResult {
        // SAFETY: as for adding the nodes.
        unsafe { self.driver().exec_update(exec, graph) }
    }

    /// Check that `stream` works: it is in no capture, and fresh work, captured and not, gives its bytes.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub(super) fn assert_usable(&self, stream: &D::Stream) -> DriverResult {
        assert_eq!(self.driver().capture_state(stream)?, CaptureState::None);
        let memory = self.words(&[0; 2])?;
        self.fill(&memory, 1, stream)?;
        assert_eq!(self.read(&memory)?, [1, 1]);
        let graph = self.capture(stream, || self.fill(&memory, 2, stream))?;
        let exec = self.exec(&graph)?;
        self.run(&exec, stream)?;
        assert_eq!(self.read(&memory)?, [2, 2]);
        Ok(())
    }
}
