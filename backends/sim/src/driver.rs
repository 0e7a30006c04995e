//! The driver: each method names its handles for the trace, and has its effect on the state.

use std::ffi::CStr;
use std::num::NonZeroU64;
use std::time::Duration;

use graphreel::error::DriverError;
use graphreel::graph::driver::{
    CaptureMode, CaptureState, CopyEnd, DeviceBytes, DeviceMemory, DevicePtr, DriverCaps, DriverFacts, EventTiming,
    FunctionAttribute, HostPtr, KernelParams, LaunchShape, NodeCopy, NodeFill, PinnedMemory,
};
use graphreel::graph::{Driver, DriverResult};
use graphreel::sync::Arc;

use crate::failure::{Answer, Fail, Rule};
use crate::handle::{Owned, SimContext, SimEvent, SimExec, SimFunction, SimGraph, SimModule, SimNode, SimStream};
use crate::instance::Instance;
use crate::options::{Completion, SimOptions};
use crate::probe::Probe;
use crate::state::State;
use crate::translator::SimTranslator;
use crate::worker;

/// A driver with no device behind it.
#[derive(Debug)]
pub struct SimDriver {
    instance: Arc<Instance>,
    caps: DriverCaps,
    facts: DriverFacts,
}

impl SimDriver {
    /// A device of its own.
    ///
    /// # Errors
    ///
    /// Under [`Completion::Prompt`], where the system has no thread to give.
    pub fn new(options: SimOptions) -> DriverResult<Self> {
        let (caps, facts) = (options.caps(), options.facts());
        let prompt = options.completion == Completion::Prompt;
        let instance = Arc::new(Instance::new(options));
        if prompt {
            let spawned = worker::spawn(&instance);
            spawned.map_err(|error| Answer::refused(3, format!("no thread to run work on: {error}")).at("open"))?;
        }
        Ok(Self { instance, caps, facts })
    }

    /// A view of it that outlives it.
    pub fn probe(&self) -> Probe {
        Probe::new(&self.instance)
    }

    /// Its compiler.
    pub fn translator(&self) -> SimTranslator {
        SimTranslator::new(&self.instance, &self.caps)
    }

    /// What a driver does whose unloads wait for the device.
    fn wait_to_unload(&self) {
        if self.caps.unload_waits_for_device && !self.instance.state.lock().captures() {
            self.instance.run_all();
        }
    }

    fn own(&self, id: u64) -> Owned {
        Owned::new(self.instance.id, id, &self.instance.leaks)
    }

    fn node(&self, graph: u64, index: u32) -> SimNode {
        SimNode { instance: self.instance.id, graph, index }
    }
}

impl Drop for SimDriver {
    fn drop(&mut self) {
        let mut state = self.instance.state.lock();
        state.stopped = true;
        // Nobody can ask for pending work any more, and its host memory may go next.
        state.break_context(Answer::lost("the driver was closed"));
        state.wake = true;
        self.instance.idle.notify_all();
        self.instance.unlock(state);
    }
}

/// The indices of nodes that must be of `graph`.
fn indices(state: &mut State, graph: u64, nodes: &[SimNode]) -> Result<Vec<u32>, Fail> {
    let count = state.graph(graph).nodes.len();
    let checked = nodes.iter().map(|node| {
        state.of_this(node.instance, node)?;
        if node.graph != graph || node.index as usize >= count {
            return Fail::misuse(Rule::ForeignNode, format!("{node} in g{graph}"));
        }
        Ok(node.index)
    });
    checked.collect()
}

fn listed(nodes: &[SimNode]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[expect(unsafe_code, reason = "the waist declares unsafe methods")]
impl Driver for SimDriver {
    type Context = SimContext;
    type Stream = SimStream;
    type Event = SimEvent;
    type Module = SimModule;
    type Function = SimFunction;
    type Graph = SimGraph;
    type Node = SimNode;
    type Exec = SimExec;

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn facts(&self) -> &DriverFacts {
        &self.facts
    }

    fn context(&self) -> SimContext {
        SimContext(self.instance.id)
    }

    fn context_current(&self) -> DriverResult<Option<SimContext>> {
        self.instance.bracket("context_current", |state| state.context())
    }

    fn context_set(&self, context: Option<SimContext>) -> DriverResult {
        self.instance.bracket("context_set", |state| state.set_context(context))
    }

    fn close(self) -> DriverResult {
        let effect = |state: &mut State| match state.live() {
            live if live.total() == 0 => Ok(()),
            live => Fail::misuse(Rule::HandlesAlive, live.to_string()),
        };
        self.instance.end("close", |_| String::new(), effect, |_, ()| ())
    }

    fn mem_info(&self) -> DriverResult<DeviceBytes> {
        self.instance.call("mem_info", |_| String::new(), |state| Ok(state.space.bytes()))
    }

    fn stream_create(&self) -> DriverResult<SimStream> {
        let effect = |state: &mut State| {
            let id = state.stream_create();
            state.trace.made(format_args!("s{id}"));
            Ok(id)
        };
        let undo = |state: &mut State, id| state.stream_destroy(id).expect("a new stream has no work");
        self.instance.create("stream_create", |_| String::new(), effect, undo).map(|id| SimStream(self.own(id)))
    }

    unsafe fn stream_destroy(&self, stream: SimStream) -> DriverResult {
        let name = stream.to_string();
        let given = stream.0.taken();
        let effect = |state: &mut State| {
            let id = state.own(&given, &name)?;
            state.stream_destroy(id)
        };
        self.instance.end("stream_destroy", |_| name.clone(), effect, |_, ()| ())
    }

    fn stream_wait_event(&self, stream: &SimStream, event: &SimEvent) -> DriverResult {
        let effect = |state: &mut State| {
            let (waits, on) = (state.own(&stream.0, stream)?, state.own(&event.0, event)?);
            state.stream_wait_event(waits, on)
        };
        self.instance.call("stream_wait_event", |_| format!("{stream} {event}"), effect)
    }

    fn event_create(&self, timing: EventTiming) -> DriverResult<SimEvent> {
        let args = |_: &State| if timing == EventTiming::On { "timed".to_owned() } else { String::new() };
        let effect = |state: &mut State| {
            let id = state.event_create(timing == EventTiming::On);
            state.trace.made(format_args!("e{id}"));
            Ok(id)
        };
        let undo = |state: &mut State, id| drop(state.events.remove(&id));
        self.instance.create("event_create", args, effect, undo).map(|id| SimEvent(self.own(id)))
    }

    fn event_destroy(&self, event: SimEvent) -> DriverResult {
        let name = event.to_string();
        let given = event.0.taken();
        let effect = |state: &mut State| {
            let id = state.own(&given, &name)?;
            state.events.remove(&id);
            Ok(())
        };
        self.instance.end("event_destroy", |_| name.clone(), effect, |_, ()| ())
    }

    fn event_record(&self, event: &SimEvent, stream: &SimStream) -> DriverResult {
        let effect = |state: &mut State| {
            let (marks, of) = (state.own(&event.0, event)?, state.own(&stream.0, stream)?);
            state.event_record(marks, of)
        };
        self.instance.call("event_record", |_| format!("{event} {stream}"), effect)
    }

    fn event_query(&self, event: &SimEvent) -> DriverResult<bool> {
        if matches!(self.instance.settings.completion, Completion::Seeded(_)) {
            self.instance.steps_of_seed();
        }
        let effect = |state: &mut State| {
            let id = state.own(&event.0, event)?;
            let passed = state.event_query(id)?;
            state.trace.made(format_args!("{passed}"));
            Ok(passed)
        };
        self.instance.call("event_query", |_| event.to_string(), effect)
    }

    fn event_elapsed(&self, from: &SimEvent, to: &SimEvent) -> DriverResult<Duration> {
        let effect = |state: &mut State| {
            let (from, to) = (state.own(&from.0, from)?, state.own(&to.0, to)?);
            state.event_elapsed(from, to).map(Duration::from_nanos)
        };
        self.instance.call("event_elapsed", |_| format!("{from} {to}"), effect)
    }

    fn mem_alloc(&self, bytes: NonZeroU64) -> DriverResult<DeviceMemory> {
        let effect = |state: &mut State| {
            let memory = state.space.alloc(bytes)?;
            let name = state.space.name(memory.address.0.get());
            state.trace.made(format_args!("{name}"));
            Ok(memory)
        };
        let undo = |state: &mut State, memory| {
            state.space.free(&memory).expect("it was just allocated");
        };
        self.instance.create("mem_alloc", |_| bytes.to_string(), effect, undo)
    }

    unsafe fn mem_free(&self, memory: DeviceMemory) -> DriverResult {
        if self.caps.free_waits_for_device && !self.instance.state.lock().captures() {
            self.instance.run_all();
        }
        let name = |state: &State| state.space.name(memory.address.0.get());
        self.instance.end("mem_free", name, |state| state.mem_free(&memory), |_, ()| ())
    }

    fn pinned_alloc(&self, bytes: NonZeroU64) -> DriverResult<PinnedMemory> {
        let effect = |state: &mut State| {
            let memory = state.pinned.alloc(bytes)?;
            let name = state.pinned.name(memory.address);
            state.trace.made(format_args!("{name}"));
            Ok(memory)
        };
        let undo = |state: &mut State, memory| {
            state.pinned.free(&memory).expect("it was just allocated");
        };
        self.instance.create("pinned_alloc", |_| bytes.to_string(), effect, undo)
    }

    unsafe fn pinned_free(&self, memory: PinnedMemory) -> DriverResult {
        self.wait_to_unload();
        let effect = |state: &mut State| {
            let of = state.pinned.find(memory.address, NonZeroU64::MIN);
            let (holds, block) = state.pinned.free(&memory)?;
            if let Ok(Some((of, _))) = of {
                state.forget_history(&of);
            }
            // SAFETY: no reference into it is live, by this method's contract, and work reads it under the lock held here.
            unsafe { block.scribble(0xdd) };
            let user = holds.memory_user();
            user.map_or(Ok(()), |user| Fail::misuse(Rule::MemoryInUse, format!("{} bytes: {user}", memory.bytes)))
        };
        self.instance.end("pinned_free", |state| state.pinned.name(memory.address), effect, |_, ()| ())
    }

    unsafe fn copy_to_device(&self, dst: DevicePtr, src: HostPtr, bytes: NonZeroU64, on: &SimStream) -> DriverResult {
        let copy = NodeCopy { src: CopyEnd::Host(src), dst: CopyEnd::Device(dst), bytes };
        // SAFETY: the caller upholds this method's contract, which is that of the copy.
        unsafe { self.copy("copy_to_device", copy, on) }
    }

    unsafe fn copy_to_host(&self, dst: HostPtr, src: DevicePtr, bytes: NonZeroU64, on: &SimStream) -> DriverResult {
        let copy = NodeCopy { src: CopyEnd::Device(src), dst: CopyEnd::Host(dst), bytes };
        // SAFETY: the caller upholds this method's contract, which is that of the copy.
        unsafe { self.copy("copy_to_host", copy, on) }
    }

    unsafe fn copy_on_device(&self, dst: DevicePtr, src: DevicePtr, bytes: NonZeroU64, on: &SimStream) -> DriverResult {
        let copy = NodeCopy { src: CopyEnd::Device(src), dst: CopyEnd::Device(dst), bytes };
        // SAFETY: the caller upholds this method's contract, which is that of the copy.
        unsafe { self.copy("copy_on_device", copy, on) }
    }

    unsafe fn fill(&self, dst: DevicePtr, word: u32, words: NonZeroU64, stream: &SimStream) -> DriverResult {
        let fill = NodeFill { dst, word, words };
        let effect = |state: &mut State| {
            let on = state.own(&stream.0, stream)?;
            state.takes_work(on)?;
            let work = state.fill_work(&fill)?;
            state.submit(on, work)
        };
        self.instance.call("fill", |state| format!("{} {stream}", state.fill_name(&fill)), effect)
    }

    unsafe fn module_load(&self, image: &[u8]) -> DriverResult<SimModule> {
        // Compiled before the lock is taken: it can take long, and other threads' calls go on.
        let loaded = self.instance.programs.load(image, self.instance.settings.subgroup_size);
        let effect = |state: &mut State| {
            let id = state.module_load(loaded?);
            state.trace.made(format_args!("c{id}"));
            Ok(id)
        };
        let undo = |state: &mut State, id| state.module_unload(id).expect("a new module has no user");
        self.instance.create("module_load", |_| String::new(), effect, undo).map(|id| SimModule(self.own(id)))
    }

    fn module_function(&self, module: &SimModule, name: &CStr) -> DriverResult<SimFunction> {
        let effect = |state: &mut State| {
            let id = state.own(&module.0, module)?;
            if state.code(id)?.symbol.as_c_str() != name {
                return Err(Answer::refused(500, format!("there is no function {name:?}")).into());
            }
            Ok(SimFunction { instance: self.instance.id, module: id })
        };
        self.instance.call("module_function", |_| format!("{module} {}", name.to_string_lossy()), effect)
    }

    unsafe fn module_unload(&self, module: SimModule) -> DriverResult {
        self.wait_to_unload();
        let name = module.to_string();
        let given = module.0.taken();
        let effect = |state: &mut State| {
            let id = state.own(&given, &name)?;
            state.module_unload(id)
        };
        self.instance.end("module_unload", |_| name.clone(), effect, |_, ()| ())
    }

    fn function_attribute(&self, function: SimFunction, attribute: FunctionAttribute) -> DriverResult<u32> {
        let effect = |state: &mut State| {
            state.of_this(function.instance, function)?;
            let code = state.code(function.module)?;
            Ok(match attribute {
                FunctionAttribute::ThreadsMax => self.caps.group_threads_max,
                FunctionAttribute::SharedBytes => code.program.reflection().workgroup_bytes,
                FunctionAttribute::DynamicBytesMax => state.dynamic_bytes_max(&self.caps, function.module)?,
                FunctionAttribute::LocalBytes | FunctionAttribute::Registers => 0,
            })
        };
        self.instance.call("function_attribute", |_| format!("{function} {attribute:?}"), effect)
    }

    fn function_allow_shared(&self, function: SimFunction, bytes: u32) -> DriverResult {
        let effect = |state: &mut State| {
            state.of_this(function.instance, function)?;
            state.allow_shared(&self.caps, function.module, bytes)
        };
        self.instance.call("function_allow_shared", |_| format!("{function} {bytes}"), effect)
    }

    unsafe fn launch(
        &self,
        function: SimFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
        stream: &SimStream,
    ) -> DriverResult {
        let effect = |state: &mut State| {
            let on = state.own(&stream.0, stream)?;
            state.takes_work(on)?;
            // SAFETY: the caller vouches for the parameters and for what the kernel reaches.
            let work = unsafe { state.launch_work(&self.caps, function, shape, params) }?;
            state.submit(on, work)
        };
        self.instance.call("launch", |state| format!("{} {stream}", state.launch_name(function, shape)), effect)
    }

    fn capture_begin(&self, stream: &SimStream) -> DriverResult {
        let effect = |state: &mut State| {
            let id = state.own(&stream.0, stream)?;
            state.capture_begin(id)
        };
        let undo = |state: &mut State, ()| {
            let id = stream.0.id;
            let _ = state.capture_end(id).map(|graph| state.graph_destroy(graph));
        };
        self.instance.create("capture_begin", |_| stream.to_string(), effect, undo)
    }

    fn capture_state(&self, stream: &SimStream) -> DriverResult<CaptureState> {
        let effect = |state: &mut State| {
            let id = state.own(&stream.0, stream)?;
            Ok(state.capture_state(id))
        };
        self.instance.call("capture_state", |_| stream.to_string(), effect)
    }

    fn capture_tail(&self, stream: &SimStream) -> DriverResult<Vec<SimNode>> {
        let effect = |state: &mut State| {
            let id = state.own(&stream.0, stream)?;
            let (graph, tail) = state.capture_tail(id)?;
            Ok(tail.into_iter().map(|index| self.node(graph, index)).collect::<Vec<_>>())
        };
        self.instance.call("capture_tail", |_| stream.to_string(), effect)
    }

    fn capture_end(&self, stream: &SimStream) -> DriverResult<SimGraph> {
        let effect = |state: &mut State| {
            let id = state.own(&stream.0, stream)?;
            let graph = state.capture_end(id)?;
            state.trace.made(format_args!("g{graph}"));
            Ok(graph)
        };
        let undo = |state: &mut State, graph| state.graph_destroy(graph);
        self.instance.end("capture_end", |_| stream.to_string(), effect, undo).map(|id| SimGraph(self.own(id)))
    }

    fn capture_mode_exchange(&self, mode: CaptureMode) -> DriverResult<CaptureMode> {
        self.instance.call("capture_mode_exchange", |_| String::new(), |state| Ok(state.exchange_mode(mode)))
    }

    fn graph_create(&self) -> DriverResult<SimGraph> {
        let effect = |state: &mut State| {
            let id = state.graph_create();
            state.trace.made(format_args!("g{id}"));
            Ok(id)
        };
        let undo = |state: &mut State, id| state.graph_destroy(id);
        self.instance.create("graph_create", |_| String::new(), effect, undo).map(|id| SimGraph(self.own(id)))
    }

    unsafe fn graph_add_launch(
        &self,
        graph: &mut SimGraph,
        after: &[SimNode],
        function: SimFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult<SimNode> {
        let name = |state: &State| state.launch_name(function, shape);
        self.add("graph_add_launch", graph, after, name, |state| {
            // SAFETY: the caller vouches for the parameters and for what the kernel reaches.
            unsafe { state.launch_work(&self.caps, function, shape, params) }
        })
    }

    unsafe fn graph_add_copy(&self, graph: &mut SimGraph, after: &[SimNode], copy: &NodeCopy) -> DriverResult<SimNode> {
        self.add(
            "graph_add_copy",
            graph,
            after,
            |state| state.copy_name(copy),
            |state| {
                // SAFETY: the caller vouches for both ends until every executable of the graph is destroyed.
                unsafe { state.copy_work(copy) }
            },
        )
    }

    unsafe fn graph_add_fill(&self, graph: &mut SimGraph, after: &[SimNode], fill: &NodeFill) -> DriverResult<SimNode> {
        self.add("graph_add_fill", graph, after, |state| state.fill_name(fill), |state| state.fill_work(fill))
    }

    fn graph_add_edges(&self, graph: &mut SimGraph, edges: &[(SimNode, SimNode)]) -> DriverResult {
        let effect = |state: &mut State| {
            let id = state.own(&graph.0, &graph)?;
            let (from, to): (Vec<SimNode>, Vec<SimNode>) = edges.iter().copied().unzip();
            let edges: Vec<(u32, u32)> = indices(state, id, &from)?.into_iter().zip(indices(state, id, &to)?).collect();
            state.graph_add_edges(id, &edges)
        };
        self.instance.call("graph_add_edges", |_| format!("{graph} {}", edges.len()), effect)
    }

    fn graph_nodes(&self, graph: &SimGraph) -> DriverResult<usize> {
        let effect = |state: &mut State| {
            let id = state.own(&graph.0, graph)?;
            Ok(state.graph(id).nodes.len())
        };
        self.instance.call("graph_nodes", |_| graph.to_string(), effect)
    }

    fn graph_instantiate(&self, graph: &SimGraph) -> DriverResult<SimExec> {
        let effect = |state: &mut State| {
            let id = state.own(&graph.0, graph)?;
            let exec = state.graph_instantiate(id)?;
            state.trace.made(format_args!("x{exec}"));
            Ok(exec)
        };
        let undo = |state: &mut State, id| state.exec_destroy(id).expect("a new executable has no launches");
        self.instance.create("graph_instantiate", |_| graph.to_string(), effect, undo).map(|id| SimExec(self.own(id)))
    }

    fn graph_destroy(&self, graph: SimGraph) -> DriverResult {
        let name = graph.to_string();
        let given = graph.0.taken();
        let effect = |state: &mut State| {
            let id = state.own(&given, &name)?;
            state.graph_destroy(id);
            Ok(())
        };
        self.instance.end("graph_destroy", |_| name.clone(), effect, |_, ()| ())
    }

    fn exec_upload(&self, exec: &SimExec, stream: &SimStream) -> DriverResult {
        let effect = |state: &mut State| {
            let (id, on) = (state.own(&exec.0, exec)?, state.own(&stream.0, stream)?);
            state.exec_upload(id, on)
        };
        self.instance.call("exec_upload", |_| format!("{exec} {stream}"), effect)
    }

    unsafe fn exec_launch(&self, exec: &SimExec, stream: &SimStream) -> DriverResult {
        let effect = |state: &mut State| {
            let (id, on) = (state.own(&exec.0, exec)?, state.own(&stream.0, stream)?);
            state.exec_launch(id, on)
        };
        self.instance.call("exec_launch", |_| format!("{exec} {stream}"), effect)
    }

    unsafe fn exec_set_launch(
        &self,
        exec: &mut SimExec,
        node: SimNode,
        function: SimFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult {
        let name = |state: &State| state.launch_name(function, shape);
        self.set("exec_set_launch", exec, node, name, |state| {
            // SAFETY: the caller vouches for the parameters and for what the kernel reaches.
            unsafe { state.launch_work(&self.caps, function, shape, params) }
        })
    }

    unsafe fn exec_set_copy(&self, exec: &mut SimExec, node: SimNode, copy: &NodeCopy) -> DriverResult {
        self.set(
            "exec_set_copy",
            exec,
            node,
            |state| state.copy_name(copy),
            |state| {
                // SAFETY: the caller vouches for both ends until the executable is destroyed.
                unsafe { state.copy_work(copy) }
            },
        )
    }

    unsafe fn exec_set_fill(&self, exec: &mut SimExec, node: SimNode, fill: &NodeFill) -> DriverResult {
        self.set("exec_set_fill", exec, node, |state| state.fill_name(fill), |state| state.fill_work(fill))
    }

    unsafe fn exec_update(&self, exec: &mut SimExec, graph: &SimGraph) -> DriverResult {
        let effect = |state: &mut State| {
            let (id, from) = (state.own(&exec.0, &exec)?, state.own(&graph.0, graph)?);
            state.exec_update(id, from)
        };
        self.instance.call("exec_update", |_| format!("{exec} {graph}"), effect)
    }

    unsafe fn exec_destroy(&self, exec: SimExec) -> DriverResult {
        let name = exec.to_string();
        let given = exec.0.taken();
        let effect = |state: &mut State| {
            let id = state.own(&given, &name)?;
            state.exec_destroy(id)
        };
        self.instance.end("exec_destroy", |_| name.clone(), effect, |_, ()| ())
    }
}

impl SimDriver {
    /// # Safety
    ///
    /// As for [`Driver::copy_to_device`] and its like.
    #[expect(unsafe_code, reason = "the caller vouches for the ranges")]
    unsafe fn copy(&self, call: &'static str, copy: NodeCopy, stream: &SimStream) -> DriverResult {
        let effect = |state: &mut State| {
            let on = state.own(&stream.0, stream)?;
            state.takes_work(on)?;
            // SAFETY: the caller vouches for both ends until the work is done.
            let work = unsafe { state.copy_work(&copy) }?;
            state.submit(on, work)
        };
        self.instance.call(call, |state| format!("{} {stream}", state.copy_name(&copy)), effect)
    }

    fn add(
        &self,
        call: &'static str,
        graph: &SimGraph,
        after: &[SimNode],
        name: impl FnOnce(&State) -> String,
        work: impl FnOnce(&mut State) -> Result<crate::op::Work, Fail>,
    ) -> Result<SimNode, DriverError> {
        let effect = |state: &mut State| {
            let id = state.own(&graph.0, graph)?;
            let after = indices(state, id, after)?;
            let work = work(state)?;
            let index = state.graph_add(id, after, work)?;
            let node = self.node(id, index);
            state.trace.made(format_args!("{node}"));
            Ok(node)
        };
        let args = |state: &State| format!("{graph} after [{}] {}", listed(after), name(state));
        self.instance.create(call, args, effect, |state, node| state.graph_pop(node.graph))
    }

    fn set(
        &self,
        call: &'static str,
        exec: &SimExec,
        node: SimNode,
        name: impl FnOnce(&State) -> String,
        work: impl FnOnce(&mut State) -> Result<crate::op::Work, Fail>,
    ) -> DriverResult {
        let effect = |state: &mut State| {
            let id = state.own(&exec.0, exec)?;
            state.of_this(node.instance, node)?;
            state.exec_node(id, node.graph, node.index)?;
            let work = work(state)?;
            state.exec_set(id, node.index, work)
        };
        self.instance.call(call, |state| format!("{exec} {node} {}", name(state)), effect)
    }
}
