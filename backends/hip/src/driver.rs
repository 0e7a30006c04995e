//! The driver: each method is the one call that its name says. It decides nothing; `docs/backends/hip.md` says what maps to what.

#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{CStr, c_int, c_uint};
use std::num::NonZeroU64;
use std::ptr::{self, NonNull};
use std::time::Duration;

use graphreel::error::DriverError;
use graphreel::graph::driver::{
    CaptureMode, CaptureState, DeviceBytes, DeviceMemory, DevicePtr, DriverCaps, DriverFacts, EventTiming,
    FunctionAttribute, HostPtr, KernelParams, LaunchShape, NodeCopy, NodeFill, PinnedMemory,
};
use graphreel::graph::{Driver, DriverResult};
use graphreel_hip_sys::constant::{
    HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, HIP_FUNC_ATTRIBUTE_NUM_REGS, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    hipEventDefault, hipEventDisableTiming, hipFuncAttributeMaxDynamicSharedMemorySize, hipHostMallocPortable,
    hipStreamNonBlocking,
};
use graphreel_hip_sys::structure::device_pointer;
use graphreel_hip_sys::{Library, Version};

use crate::calls::Calls;
use crate::device::Asked;
use crate::fault;
use crate::handle::{
    HipContext, HipEvent, HipExec, HipFunction, HipGraph, HipModule, HipNode, HipStream, RawGraph, RawStream,
};
use crate::node::{self, Copy1D};

/// AMD's runtime on one device.
#[derive(Debug)]
pub struct HipDriver {
    calls: Calls,
    context: HipContext,
    /// The runtime's version and file, by which its compiler is found.
    library: &'static Library,
    /// The architecture, with its features.
    arch: String,
    caps: DriverCaps,
    facts: DriverFacts,
}

impl HipDriver {
    /// The version of HIP that the runtime is.
    pub fn version(&self) -> Version {
        self.library.version
    }

    /// The architecture that code is made for, with its features: `gfx90a:sramecc+:xnack-`.
    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// What a node depends on that is to run after `nodes`.
    fn behind<'a>(&self, graph: &'a mut HipGraph, nodes: &'a [HipNode]) -> DriverResult<&'a [HipNode]> {
        let HipGraph { raw: RawGraph(graph), roots } = graph;
        let make = || {
            let mut empty = ptr::null_mut();
            // SAFETY: the graph is live; the call writes one handle.
            unsafe { self.calls.hipGraphAddEmptyNode(&raw mut empty, *graph, ptr::null(), 0) }?;
            Ok(HipNode(empty))
        };
        let link = |from: HipNode, to: HipNode| {
            // SAFETY: the handles are live, and there is one of each.
            unsafe { self.calls.hipGraphAddDependencies(*graph, &raw const from.0, &raw const to.0, 1) }
        };
        roots.behind(nodes, make, link)
    }

    pub(crate) fn library(&self) -> &'static Library {
        self.library
    }

    /// The device of that index, with its primary context retained.
    pub(crate) fn open(library: &'static Library, index: usize) -> DriverResult<Self> {
        let asked = Asked::new(library, index)?;
        let (caps, facts, arch) = (asked.caps()?, asked.facts()?, asked.arch()?);
        let mut context = ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { asked.calls.hipDevicePrimaryCtxRetain(&raw mut context, asked.device) }?;
        Ok(Self { calls: asked.calls, context: HipContext(asked.device), library, arch, caps, facts })
    }

    /// The device of a stream that is not ours.
    ///
    /// # Safety
    ///
    /// The stream is alive.
    pub(crate) unsafe fn context_of(&self, stream: RawStream) -> DriverResult<HipContext> {
        let mut device = -1;
        // SAFETY: the caller says that the stream is alive; the call writes one number.
        unsafe { self.calls.hipStreamGetDevice(stream.0, &raw mut device) }?;
        Ok(HipContext(device))
    }
}

/// An object of which the driver said that it made it.
fn made<T>(call: &'static str, object: Option<T>) -> DriverResult<T> {
    object.ok_or_else(|| fault::nothing(call))
}

/// The driver's number of a capture mode.
const fn mode_code(mode: CaptureMode) -> c_uint {
    match mode {
        CaptureMode::Global => 0,
        CaptureMode::ThreadLocal => 1,
        CaptureMode::Relaxed => 2,
    }
}

impl Driver for HipDriver {
    type Context = HipContext;
    type Stream = HipStream;
    type Event = HipEvent;
    type Module = HipModule;
    type Function = HipFunction;
    type Graph = HipGraph;
    type Node = HipNode;
    type Exec = HipExec;

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn facts(&self) -> &DriverFacts {
        &self.facts
    }

    fn context(&self) -> HipContext {
        self.context
    }

    fn context_current(&self) -> DriverResult<Option<HipContext>> {
        let mut device = 0;
        // SAFETY: the call writes one number.
        unsafe { self.calls.hipGetDevice(&raw mut device) }?;
        Ok(Some(HipContext(device)))
    }

    fn context_set(&self, context: Option<HipContext>) -> DriverResult {
        match context {
            // SAFETY: the call takes a number, which the runtime checks.
            Some(context) => unsafe { self.calls.hipSetDevice(context.0) },
            None => Ok(()),
        }
    }

    fn close(self) -> DriverResult {
        // SAFETY: the device's context was retained once, by the opening, and is not used after this.
        unsafe { self.calls.hipDevicePrimaryCtxRelease(self.context.0) }
    }

    fn mem_info(&self) -> DriverResult<DeviceBytes> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the call writes two numbers.
        unsafe { self.calls.hipMemGetInfo(&raw mut free, &raw mut total) }?;
        Ok(DeviceBytes { free: free as u64, total: total as u64 })
    }

    fn stream_create(&self) -> DriverResult<HipStream> {
        let mut stream = ptr::null_mut();
        let flags = hipStreamNonBlocking;
        // SAFETY: the call writes one handle.
        unsafe { self.calls.hipStreamCreateWithFlags(&raw mut stream, flags) }?;
        Ok(HipStream::new(RawStream(stream), true))
    }

    unsafe fn stream_destroy(&self, stream: HipStream) -> DriverResult {
        let recorder = match stream.recorder().stream.take() {
            // SAFETY: the handle is live and given up; nothing was ever run on it.
            Some(recorder) => unsafe { self.calls.hipStreamDestroy(recorder.0) },
            None => Ok(()),
        };
        if !stream.owned {
            return recorder;
        }
        // SAFETY: the handle is live and given up; the caller says that its work is done.
        let own = unsafe { self.calls.hipStreamDestroy(stream.raw.0) };
        recorder.and(own)
    }

    fn stream_wait_event(&self, stream: &HipStream, event: &HipEvent) -> DriverResult {
        // SAFETY: both handles are live.
        unsafe { self.calls.hipStreamWaitEvent(stream.now(), event.0, 0) }
    }

    fn event_create(&self, timing: EventTiming) -> DriverResult<HipEvent> {
        let flags = match timing {
            EventTiming::On => hipEventDefault,
            EventTiming::Off => hipEventDisableTiming,
        };
        let mut event = ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { self.calls.hipEventCreateWithFlags(&raw mut event, flags) }?;
        Ok(HipEvent(event))
    }

    fn event_destroy(&self, event: HipEvent) -> DriverResult {
        // SAFETY: the handle is live and given up; a pending event may be destroyed.
        unsafe { self.calls.hipEventDestroy(event.0) }
    }

    fn event_record(&self, event: &HipEvent, stream: &HipStream) -> DriverResult {
        // SAFETY: both handles are live.
        unsafe { self.calls.hipEventRecord(event.0, stream.now()) }
    }

    fn event_query(&self, event: &HipEvent) -> DriverResult<bool> {
        // SAFETY: the handle is live.
        match unsafe { self.calls.hipEventQuery(event.0) } {
            Ok(()) => Ok(true),
            Err(error) if error.code == fault::NOT_READY => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn event_elapsed(&self, from: &HipEvent, to: &HipEvent) -> DriverResult<Duration> {
        let mut milliseconds = 0.0;
        // SAFETY: both handles are live; the call writes one number.
        unsafe { self.calls.hipEventElapsedTime(&raw mut milliseconds, from.0, to.0) }?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }

    fn mem_alloc(&self, bytes: NonZeroU64) -> DriverResult<DeviceMemory> {
        let mut address = ptr::null_mut();
        // SAFETY: the call writes one address.
        unsafe { self.calls.hipMalloc(&raw mut address, bytes.get() as usize) }?;
        let address = DevicePtr(made("hipMalloc", NonZeroU64::new(address.addr() as u64))?);
        Ok(DeviceMemory { address, bytes })
    }

    unsafe fn mem_free(&self, memory: DeviceMemory) -> DriverResult {
        // SAFETY: the memory is given up; the caller says that nothing uses it.
        unsafe { self.calls.hipFree(device_pointer(memory.address.0.get())) }
    }

    fn pinned_alloc(&self, bytes: NonZeroU64) -> DriverResult<PinnedMemory> {
        let mut address = ptr::null_mut();
        // SAFETY: the call writes one address.
        unsafe { self.calls.hipHostMalloc(&raw mut address, bytes.get() as usize, hipHostMallocPortable) }?;
        let address = HostPtr(made("hipHostMalloc", NonNull::new(address))?.cast());
        Ok(PinnedMemory { address, bytes })
    }

    unsafe fn pinned_free(&self, memory: PinnedMemory) -> DriverResult {
        // SAFETY: the memory is given up; the caller says that nothing uses it.
        unsafe { self.calls.hipHostFree(memory.address.0.as_ptr().cast()) }
    }

    unsafe fn copy_to_device(&self, dst: DevicePtr, src: HostPtr, bytes: NonZeroU64, on: &HipStream) -> DriverResult {
        let (src, bytes) = (src.0.as_ptr().cast(), bytes.get() as usize);
        // SAFETY: the stream is live; the caller answers for both ranges and their order.
        unsafe { self.calls.hipMemcpyHtoDAsync(device_pointer(dst.0.get()), src, bytes, on.now()) }
    }

    unsafe fn copy_to_host(&self, dst: HostPtr, src: DevicePtr, bytes: NonZeroU64, on: &HipStream) -> DriverResult {
        let (dst, bytes) = (dst.0.as_ptr().cast(), bytes.get() as usize);
        // SAFETY: the stream is live; the caller answers for both ranges and their order.
        unsafe { self.calls.hipMemcpyDtoHAsync(dst, device_pointer(src.0.get()), bytes, on.now()) }
    }

    unsafe fn copy_on_device(&self, dst: DevicePtr, src: DevicePtr, n: NonZeroU64, on: &HipStream) -> DriverResult {
        let (dst, src) = (device_pointer(dst.0.get()), device_pointer(src.0.get()));
        // SAFETY: the stream is live; the caller answers for both ranges and their order.
        unsafe { self.calls.hipMemcpyDtoDAsync(dst, src, n.get() as usize, on.now()) }
    }

    unsafe fn fill(&self, dst: DevicePtr, word: u32, words: NonZeroU64, on: &HipStream) -> DriverResult {
        let (dst, word) = (device_pointer(dst.0.get()), word.cast_signed());
        // SAFETY: the stream is live; the caller answers for the range and its order.
        unsafe { self.calls.hipMemsetD32Async(dst, word, words.get() as usize, on.now()) }
    }

    unsafe fn module_load(&self, image: &[u8]) -> DriverResult<HipModule> {
        let mut module = ptr::null_mut();
        // SAFETY: the caller says that the image is complete; the call writes one handle.
        unsafe { self.calls.hipModuleLoadData(&raw mut module, image.as_ptr().cast()) }?;
        Ok(HipModule(module))
    }

    fn module_function(&self, module: &HipModule, name: &CStr) -> DriverResult<HipFunction> {
        let mut function = ptr::null_mut();
        // SAFETY: the module is live, the name ends with a zero byte; the call writes one handle.
        unsafe { self.calls.hipModuleGetFunction(&raw mut function, module.0, name.as_ptr()) }?;
        Ok(HipFunction(function))
    }

    unsafe fn module_unload(&self, module: HipModule) -> DriverResult {
        // SAFETY: the handle is live and given up; the caller says that nothing uses its functions.
        unsafe { self.calls.hipModuleUnload(module.0) }
    }

    fn function_attribute(&self, function: HipFunction, attribute: FunctionAttribute) -> DriverResult<u32> {
        let attribute = match attribute {
            FunctionAttribute::ThreadsMax => HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            FunctionAttribute::SharedBytes => HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            FunctionAttribute::DynamicBytesMax => HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            FunctionAttribute::LocalBytes => HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
            FunctionAttribute::Registers => HIP_FUNC_ATTRIBUTE_NUM_REGS,
        };
        let mut value = 0;
        // SAFETY: the function's module is live; the call writes one number.
        unsafe { self.calls.hipFuncGetAttribute(&raw mut value, attribute, function.0) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn function_allow_shared(&self, function: HipFunction, bytes: u32) -> DriverResult {
        let attribute = hipFuncAttributeMaxDynamicSharedMemorySize;
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the function's module is live.
        unsafe { self.calls.hipFuncSetAttribute(function.0.cast_const().cast(), attribute, bytes) }
    }

    unsafe fn launch(
        &self,
        function: HipFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
        on: &HipStream,
    ) -> DriverResult {
        let ([x, y, z], [tx, ty, tz]) = (shape.groups, shape.threads);
        let (shared, params, none) = (shape.shared_bytes, node::pointers(params), ptr::null_mut());
        // SAFETY: the handles are live; the caller answers for the parameters, and for what the kernel reaches.
        unsafe { self.calls.hipModuleLaunchKernel(function.0, x, y, z, tx, ty, tz, shared, on.now(), params, none) }
    }

    fn capture_begin(&self, stream: &HipStream) -> DriverResult {
        let mut recorder = stream.recorder();
        let on = match recorder.stream {
            Some(on) => on,
            None => *recorder.stream.insert(self.stream_create()?.raw),
        };
        // SAFETY: the handle is live.
        unsafe { self.calls.hipStreamBeginCapture(on.0, mode_code(CaptureMode::Relaxed)) }?;
        recorder.open = true;
        Ok(())
    }

    fn capture_state(&self, stream: &HipStream) -> DriverResult<CaptureState> {
        let mut state = 0;
        // SAFETY: the handle is live; the call writes one number.
        unsafe { self.calls.hipStreamIsCapturing(stream.now(), &raw mut state) }?;
        Ok(match state {
            0 => CaptureState::None,
            1 => CaptureState::Active,
            _ => CaptureState::Invalidated,
        })
    }

    fn capture_tail(&self, stream: &HipStream) -> DriverResult<Vec<HipNode>> {
        let (mut state, mut id, mut graph) = (0, 0, ptr::null_mut());
        let (mut tail, mut count) = (ptr::null(), 0);
        // SAFETY: the handle is live; the call writes one value behind each pointer.
        unsafe {
            self.calls.hipStreamGetCaptureInfo_v2(
                stream.now(),
                &raw mut state,
                &raw mut id,
                &raw mut graph,
                &raw mut tail,
                &raw mut count,
            )
        }?;
        if state != 1 || tail.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the driver's array has so many nodes until the stream's next call, and a node is a handle.
        Ok(unsafe { std::slice::from_raw_parts(tail.cast::<HipNode>(), count) }.to_vec())
    }

    fn capture_end(&self, stream: &HipStream) -> DriverResult<HipGraph> {
        let mut graph = ptr::null_mut();
        // SAFETY: the handle is live; the call writes one handle.
        let ended = unsafe { self.calls.hipStreamEndCapture(stream.now(), &raw mut graph) };
        let mut recorder = stream.recorder();
        let was_open = std::mem::take(&mut recorder.open);
        if let Err(error) = ended {
            if let Some(broken) = recorder.stream.take_if(|_| was_open) {
                // SAFETY: the handle is live and given up; what was captured on it is gone.
                drop(unsafe { self.calls.hipStreamDestroy(broken.0) });
            }
            return Err(error);
        }
        let graph = (!graph.is_null()).then(|| HipGraph::new(RawGraph(graph)));
        made("hipStreamEndCapture", graph)
    }

    fn capture_mode_exchange(&self, mode: CaptureMode) -> DriverResult<CaptureMode> {
        let mut mode = mode_code(mode);
        // SAFETY: the call reads and writes one number.
        unsafe { self.calls.hipThreadExchangeStreamCaptureMode(&raw mut mode) }?;
        Ok(match mode {
            1 => CaptureMode::ThreadLocal,
            2 => CaptureMode::Relaxed,
            _ => CaptureMode::Global,
        })
    }

    fn graph_create(&self) -> DriverResult<HipGraph> {
        let mut graph = ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { self.calls.hipGraphCreate(&raw mut graph, 0) }?;
        Ok(HipGraph::new(RawGraph(graph)))
    }

    unsafe fn graph_add_launch(
        &self,
        graph: &mut HipGraph,
        after: &[HipNode],
        function: HipFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult<HipNode> {
        let (mut node, params) = (ptr::null_mut(), node::launch(function, shape, params));
        let behind = self.behind(graph, after)?;
        let (first, count) = (behind.as_ptr().cast(), behind.len());
        // SAFETY: the handles are live, a node is a handle; the caller answers for the parameters until the call returns.
        unsafe { self.calls.hipGraphAddKernelNode(&raw mut node, graph.raw.0, first, count, &raw const params) }?;
        Ok(graph.roots.added(HipNode(node), count))
    }

    unsafe fn graph_add_copy(&self, graph: &mut HipGraph, after: &[HipNode], copy: &NodeCopy) -> DriverResult<HipNode> {
        let (mut node, Copy1D { dst, src, bytes, kind }) = (ptr::null_mut(), node::copy(copy));
        let behind = self.behind(graph, after)?;
        let (first, count) = (behind.as_ptr().cast(), behind.len());
        // SAFETY: the handles are live, a node is a handle; the caller answers for the ranges.
        unsafe { self.calls.hipGraphAddMemcpyNode1D(&raw mut node, graph.raw.0, first, count, dst, src, bytes, kind) }?;
        Ok(graph.roots.added(HipNode(node), count))
    }

    unsafe fn graph_add_fill(&self, graph: &mut HipGraph, after: &[HipNode], fill: &NodeFill) -> DriverResult<HipNode> {
        let (mut node, fill) = (ptr::null_mut(), node::fill(fill));
        let behind = self.behind(graph, after)?;
        let (first, count) = (behind.as_ptr().cast(), behind.len());
        // SAFETY: the handles are live, a node is a handle; the caller answers for the range.
        unsafe { self.calls.hipGraphAddMemsetNode(&raw mut node, graph.raw.0, first, count, &raw const fill) }?;
        Ok(graph.roots.added(HipNode(node), count))
    }

    fn graph_add_edges(&self, graph: &mut HipGraph, edges: &[(HipNode, HipNode)]) -> DriverResult {
        let (from, to): (Vec<_>, Vec<_>) = edges.iter().map(|(from, to)| (from.0, to.0)).unzip();
        // SAFETY: the handles are live, and both arrays have as many nodes as it says.
        unsafe { self.calls.hipGraphAddDependencies(graph.raw.0, from.as_ptr(), to.as_ptr(), edges.len()) }
    }

    fn graph_nodes(&self, graph: &HipGraph) -> DriverResult<usize> {
        let mut count = 0;
        // SAFETY: the handle is live; with no array the call writes one number.
        unsafe { self.calls.hipGraphGetNodes(graph.raw.0, ptr::null_mut(), &raw mut count) }?;
        Ok(count - graph.roots.own().min(count))
    }

    fn graph_instantiate(&self, graph: &HipGraph) -> DriverResult<HipExec> {
        let mut exec = ptr::null_mut();
        // SAFETY: the handle is live; the call writes one handle.
        unsafe { self.calls.hipGraphInstantiateWithFlags(&raw mut exec, graph.raw.0, 0) }?;
        Ok(HipExec(exec))
    }

    fn graph_destroy(&self, graph: HipGraph) -> DriverResult {
        // SAFETY: the handle is live and given up; what was made from it stays.
        unsafe { self.calls.hipGraphDestroy(graph.raw.0) }
    }

    fn exec_upload(&self, exec: &HipExec, stream: &HipStream) -> DriverResult {
        // SAFETY: both handles are live.
        unsafe { self.calls.hipGraphUpload(exec.0, stream.now()) }
    }

    unsafe fn exec_launch(&self, exec: &HipExec, stream: &HipStream) -> DriverResult {
        // SAFETY: both handles are live; the caller answers for what the nodes reach.
        unsafe { self.calls.hipGraphLaunch(exec.0, stream.now()) }
    }

    unsafe fn exec_set_launch(
        &self,
        exec: &mut HipExec,
        node: HipNode,
        function: HipFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult {
        let params = node::launch(function, shape, params);
        // SAFETY: the handles are live; the caller answers for the parameters until the call returns.
        unsafe { self.calls.hipGraphExecKernelNodeSetParams(exec.0, node.0, &raw const params) }
    }

    unsafe fn exec_set_copy(&self, exec: &mut HipExec, node: HipNode, copy: &NodeCopy) -> DriverResult {
        let Copy1D { dst, src, bytes, kind } = node::copy(copy);
        // SAFETY: the handles are live; the caller answers for the ranges.
        unsafe { self.calls.hipGraphExecMemcpyNodeSetParams1D(exec.0, node.0, dst, src, bytes, kind) }
    }

    unsafe fn exec_set_fill(&self, exec: &mut HipExec, node: HipNode, fill: &NodeFill) -> DriverResult {
        let fill = node::fill(fill);
        // SAFETY: the handles are live; the caller answers for the range.
        unsafe { self.calls.hipGraphExecMemsetNodeSetParams(exec.0, node.0, &raw const fill) }
    }

    unsafe fn exec_update(&self, exec: &mut HipExec, graph: &HipGraph) -> DriverResult {
        let (mut node, mut result) = (ptr::null_mut(), 0);
        // SAFETY: both handles are live; the call writes a handle and a number; the caller answers for what the nodes reach.
        let answer = unsafe { self.calls.hipGraphExecUpdate(exec.0, graph.raw.0, &raw mut node, &raw mut result) };
        answer.map_err(|error| DriverError { name: format!("{}, result {result}", error.name), ..error })
    }

    unsafe fn exec_destroy(&self, exec: HipExec) -> DriverResult {
        // SAFETY: the handle is live and given up; the caller says that its launches are done.
        unsafe { self.calls.hipGraphExecDestroy(exec.0) }
    }
}
