//! The driver: each method is the one call that its name says. It decides nothing; `docs/backends/cuda.md` says what maps to what.

#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::num::NonZeroU64;
use std::ptr::{self, NonNull};
use std::time::Duration;

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_PORTABLE, CUdevice, CUevent_flags, CUfunction_attribute, CUjit_option, CUstream_flags,
};
use graphreel::error::DriverError;
use graphreel::graph::driver::{
    CaptureMode, CaptureState, DeviceBytes, DeviceMemory, DevicePtr, DriverCaps, DriverFacts, EventTiming,
    FunctionAttribute, HostPtr, KernelParams, LaunchShape, NodeCopy, NodeFill, PinnedMemory,
};
use graphreel::graph::{Driver, DriverResult};
use graphreel::{Result, ServerError};

use crate::calls::Calls;
use crate::device::Asked;
use crate::fault;
use crate::handle::{
    CudaContext, CudaEvent, CudaExec, CudaFunction, CudaGraph, CudaModule, CudaNode, CudaStream, RawStream,
};
use crate::library::Library;
use crate::node;
use crate::pages::{PagePool, Pages};

/// Bytes of the log of code that does not assemble: its first messages say what is wrong.
const LOG_BYTES_MAX: usize = 16 << 10;

/// NVIDIA's driver on one device.
#[derive(Debug)]
pub struct CudaDriver {
    calls: &'static Calls,
    device: CUdevice,
    context: CudaContext,
    /// Whether the primary context was retained, so that closing releases it. An application's own is not.
    retained: bool,
    /// The release of CUDA that it serves.
    release: (u32, u32),
    caps: DriverCaps,
    facts: DriverFacts,
    /// Where pages come from, if not from plain memory.
    pool: Option<PagePool>,
}

impl CudaDriver {
    /// The release of CUDA that the driver serves, as (13, 0).
    pub fn release(&self) -> (u32, u32) {
        self.release
    }

    /// Where device memory comes from.
    pub fn pages(&self) -> Pages {
        if self.pool.is_some() { Pages::StreamOrdered } else { Pages::Plain }
    }

    /// The device of that index, with its primary context retained.
    pub(crate) fn open(library: &'static Library, index: usize, pages: Pages) -> Result<Self> {
        let asked = Asked::new(library, index)?;
        let (caps, facts) = (asked.caps()?, asked.facts()?);
        let mut context = ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { library.calls.cuDevicePrimaryCtxRetain(&raw mut context, asked.device) }?;
        let context = CudaContext(context);
        let driver = Self {
            calls: &library.calls,
            device: asked.device,
            context,
            retained: true,
            release: library.release(),
            caps,
            facts,
            pool: None,
        };
        driver.with_pages(asked, pages)
    }

    /// With pages from where it is asked; closed where there are none.
    fn with_pages(mut self, asked: Asked<'_>, pages: Pages) -> Result<Self> {
        if pages == Pages::Plain {
            return Ok(self);
        }
        let made = asked.has_pools().and_then(|has| {
            has.then(|| with_bound(self.calls, self.context, || PagePool::new(self.calls, self.device))).transpose()
        });
        match made {
            Ok(Some(pool)) => {
                self.pool = Some(pool);
                // A free of a pool is work of its stream, which has no other.
                self.caps.free_waits_for_device = false;
                Ok(self)
            }
            refused => {
                let name = self.facts.name.clone();
                drop(self.close());
                refused?;
                Err(ServerError::unsupported(
                    format!("stream-ordered pages on {name}"),
                    "the driver has no memory pools for it; open it with plain pages",
                ))
            }
        }
    }

    /// The device of an application's context.
    ///
    /// # Safety
    ///
    /// The context is alive as long as the driver is.
    pub(crate) unsafe fn adopt(library: &'static Library, context: CudaContext, pages: Pages) -> Result<Self> {
        let asked = with_bound(&library.calls, context, || Asked::bound(library))?;
        let (caps, facts) = (asked.caps()?, asked.facts()?);
        let driver = Self {
            calls: &library.calls,
            device: asked.device,
            context,
            retained: false,
            release: library.release(),
            caps,
            facts,
            pool: None,
        };
        driver.with_pages(asked, pages)
    }

    /// The context of a stream that is not ours.
    ///
    /// # Safety
    ///
    /// The stream is alive.
    pub(crate) unsafe fn context_of(&self, stream: RawStream) -> DriverResult<CudaContext> {
        let mut context = ptr::null_mut();
        // SAFETY: the caller says that the stream is alive; the call writes one handle.
        let ask = || unsafe { self.calls.cuStreamGetCtx(stream.0, &raw mut context) };
        with_bound(self.calls, self.context, ask)?;
        Ok(CudaContext(context))
    }
}

/// Ask something with a live context bound, and bind again what the thread had.
fn with_bound<T>(calls: &Calls, context: CudaContext, ask: impl FnOnce() -> DriverResult<T>) -> DriverResult<T> {
    let before = current(calls)?.map_or(ptr::null_mut(), |before| before.0);
    // SAFETY: the context is alive, which the driver's opening was told.
    unsafe { calls.cuCtxSetCurrent(context.0) }?;
    let answer = ask();
    // SAFETY: it is what the thread had bound.
    unsafe { calls.cuCtxSetCurrent(before) }?;
    answer
}

fn current(calls: &Calls) -> DriverResult<Option<CudaContext>> {
    let mut context = ptr::null_mut();
    // SAFETY: the call writes one handle.
    unsafe { calls.cuCtxGetCurrent(&raw mut context) }?;
    Ok((!context.is_null()).then_some(CudaContext(context)))
}

/// An object of which the driver said that it made it.
fn made<T>(call: &'static str, object: Option<T>) -> DriverResult<T> {
    object.ok_or_else(|| fault::nothing(call))
}

/// `CUgraphExecUpdateResultInfo`: why an update of a whole graph is refused, as a number, and two nodes.
#[repr(C)]
struct UpdateInfo {
    result: c_uint,
    nodes: [*mut c_void; 2],
}

impl Default for UpdateInfo {
    fn default() -> Self {
        Self { result: 0, nodes: [ptr::null_mut(); 2] }
    }
}

/// The driver's number of a capture mode.
const fn mode_code(mode: CaptureMode) -> c_uint {
    match mode {
        CaptureMode::Global => 0,
        CaptureMode::ThreadLocal => 1,
        CaptureMode::Relaxed => 2,
    }
}

impl Driver for CudaDriver {
    type Context = CudaContext;
    type Stream = CudaStream;
    type Event = CudaEvent;
    type Module = CudaModule;
    type Function = CudaFunction;
    type Graph = CudaGraph;
    type Node = CudaNode;
    type Exec = CudaExec;

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn facts(&self) -> &DriverFacts {
        &self.facts
    }

    fn context(&self) -> CudaContext {
        self.context
    }

    fn context_current(&self) -> DriverResult<Option<CudaContext>> {
        current(self.calls)
    }

    fn context_set(&self, context: Option<CudaContext>) -> DriverResult {
        // SAFETY: the context is ours, which is retained, or what the thread had bound before.
        unsafe { self.calls.cuCtxSetCurrent(context.map_or(ptr::null_mut(), |context| context.0)) }
    }

    fn close(mut self) -> DriverResult {
        if let Some(pool) = self.pool.take() {
            // It goes with its context where that cannot be bound any more.
            let gone = with_bound(self.calls, self.context, || {
                pool.destroy(self.calls);
                Ok(())
            });
            drop(gone);
        }
        if !self.retained {
            return Ok(());
        }
        // SAFETY: the device's context was retained once, by the opening, and is not used after this.
        unsafe { self.calls.cuDevicePrimaryCtxRelease_v2(self.device) }
    }

    fn mem_info(&self) -> DriverResult<DeviceBytes> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the call writes two numbers.
        unsafe { self.calls.cuMemGetInfo_v2(&raw mut free, &raw mut total) }?;
        let held = self.pool.as_ref().map_or(Ok(0), |pool| pool.held(self.calls))?;
        Ok(DeviceBytes { free: free as u64 + held, total: total as u64 })
    }

    fn stream_create(&self) -> DriverResult<CudaStream> {
        let mut stream = ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
        // SAFETY: the call writes one handle.
        unsafe { self.calls.cuStreamCreate(&raw mut stream, flags) }?;
        Ok(CudaStream { raw: RawStream(stream), owned: true })
    }

    unsafe fn stream_destroy(&self, stream: CudaStream) -> DriverResult {
        if !stream.owned {
            return Ok(());
        }
        // SAFETY: the handle is live and given up; the caller says that its work is done.
        unsafe { self.calls.cuStreamDestroy_v2(stream.raw.0) }
    }

    fn stream_wait_event(&self, stream: &CudaStream, event: &CudaEvent) -> DriverResult {
        // SAFETY: both handles are live.
        unsafe { self.calls.cuStreamWaitEvent(stream.raw.0, event.0, 0) }
    }

    fn event_create(&self, timing: EventTiming) -> DriverResult<CudaEvent> {
        let flags = match timing {
            EventTiming::On => CUevent_flags::CU_EVENT_DEFAULT,
            EventTiming::Off => CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        let mut event = ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { self.calls.cuEventCreate(&raw mut event, flags as c_uint) }?;
        Ok(CudaEvent(event))
    }

    fn event_destroy(&self, event: CudaEvent) -> DriverResult {
        // SAFETY: the handle is live and given up; a pending event may be destroyed.
        unsafe { self.calls.cuEventDestroy_v2(event.0) }
    }

    fn event_record(&self, event: &CudaEvent, stream: &CudaStream) -> DriverResult {
        // SAFETY: both handles are live.
        unsafe { self.calls.cuEventRecord(event.0, stream.raw.0) }
    }

    fn event_query(&self, event: &CudaEvent) -> DriverResult<bool> {
        // SAFETY: the handle is live.
        match unsafe { self.calls.cuEventQuery(event.0) } {
            Ok(()) => Ok(true),
            Err(error) if error.code == fault::NOT_READY => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn event_elapsed(&self, from: &CudaEvent, to: &CudaEvent) -> DriverResult<Duration> {
        let mut milliseconds = 0.0;
        // SAFETY: both handles are live; the call writes one number.
        unsafe { self.calls.cuEventElapsedTime(&raw mut milliseconds, from.0, to.0) }?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }

    fn mem_alloc(&self, bytes: NonZeroU64) -> DriverResult<DeviceMemory> {
        let mut address = 0;
        match &self.pool {
            Some(pool) => address = pool.alloc(self.calls, bytes)?,
            // SAFETY: the call writes one address.
            None => unsafe { self.calls.cuMemAlloc_v2(&raw mut address, bytes.get() as usize) }?,
        }
        let address = DevicePtr(made("cuMemAlloc_v2", NonZeroU64::new(address))?);
        Ok(DeviceMemory { address, bytes })
    }

    unsafe fn mem_free(&self, memory: DeviceMemory) -> DriverResult {
        if let Some(pool) = &self.pool {
            return pool.free(self.calls, memory.address.0.get());
        }
        // SAFETY: the memory is given up; the caller says that nothing uses it.
        unsafe { self.calls.cuMemFree_v2(memory.address.0.get()) }
    }

    fn pinned_alloc(&self, bytes: NonZeroU64) -> DriverResult<PinnedMemory> {
        let mut address = ptr::null_mut();
        // SAFETY: the call writes one address.
        unsafe { self.calls.cuMemHostAlloc(&raw mut address, bytes.get() as usize, CU_MEMHOSTALLOC_PORTABLE) }?;
        let address = HostPtr(made("cuMemHostAlloc", NonNull::new(address))?.cast());
        Ok(PinnedMemory { address, bytes })
    }

    unsafe fn pinned_free(&self, memory: PinnedMemory) -> DriverResult {
        // SAFETY: the memory is given up; the caller says that nothing uses it.
        unsafe { self.calls.cuMemFreeHost(memory.address.0.as_ptr().cast()) }
    }

    unsafe fn copy_to_device(&self, dst: DevicePtr, src: HostPtr, bytes: NonZeroU64, on: &CudaStream) -> DriverResult {
        let (src, bytes) = (src.0.as_ptr().cast(), bytes.get() as usize);
        // SAFETY: the stream is live; the caller answers for both ranges and their order.
        unsafe { self.calls.cuMemcpyHtoDAsync_v2(dst.0.get(), src, bytes, on.raw.0) }
    }

    unsafe fn copy_to_host(&self, dst: HostPtr, src: DevicePtr, bytes: NonZeroU64, on: &CudaStream) -> DriverResult {
        let (dst, bytes) = (dst.0.as_ptr().cast(), bytes.get() as usize);
        // SAFETY: the stream is live; the caller answers for both ranges and their order.
        unsafe { self.calls.cuMemcpyDtoHAsync_v2(dst, src.0.get(), bytes, on.raw.0) }
    }

    unsafe fn copy_on_device(&self, dst: DevicePtr, src: DevicePtr, n: NonZeroU64, on: &CudaStream) -> DriverResult {
        // SAFETY: the stream is live; the caller answers for both ranges and their order.
        unsafe { self.calls.cuMemcpyDtoDAsync_v2(dst.0.get(), src.0.get(), n.get() as usize, on.raw.0) }
    }

    unsafe fn fill(&self, dst: DevicePtr, word: u32, words: NonZeroU64, on: &CudaStream) -> DriverResult {
        // SAFETY: the stream is live; the caller answers for the range and its order.
        unsafe { self.calls.cuMemsetD32Async(dst.0.get(), word, words.get() as usize, on.raw.0) }
    }

    unsafe fn module_load(&self, image: &[u8]) -> DriverResult<CudaModule> {
        let (mut module, mut log) = (ptr::null_mut(), vec![0u8; LOG_BYTES_MAX]);
        let options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let options = options.map(|option| option as c_uint);
        // The size is a number in the place of a pointer.
        let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES_MAX)];
        let (image, count) = (image.as_ptr().cast(), options.len() as c_uint);
        let (options, values) = (options.as_ptr(), values.as_mut_ptr());
        // SAFETY: the caller says that the image is complete; the call writes one handle, at most as many bytes of the log as its
        // size says, and how many those are in the place of the size.
        let loaded = unsafe { self.calls.cuModuleLoadDataEx(&raw mut module, image, count, options, values) };
        loaded.map(|()| CudaModule(module)).map_err(|error| DriverError { log: fault::log(&log), ..error })
    }

    fn module_function(&self, module: &CudaModule, name: &CStr) -> DriverResult<CudaFunction> {
        let mut function = ptr::null_mut();
        // SAFETY: the module is live, the name ends with a zero byte; the call writes one handle.
        unsafe { self.calls.cuModuleGetFunction(&raw mut function, module.0, name.as_ptr()) }?;
        Ok(CudaFunction(function))
    }

    unsafe fn module_unload(&self, module: CudaModule) -> DriverResult {
        // SAFETY: the handle is live and given up; the caller says that nothing uses its functions.
        unsafe { self.calls.cuModuleUnload(module.0) }
    }

    fn function_attribute(&self, function: CudaFunction, attribute: FunctionAttribute) -> DriverResult<u32> {
        let attribute = match attribute {
            FunctionAttribute::ThreadsMax => CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            FunctionAttribute::SharedBytes => CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            FunctionAttribute::DynamicBytesMax => CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            FunctionAttribute::LocalBytes => CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
            FunctionAttribute::Registers => CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS,
        };
        let mut value = 0;
        // SAFETY: the function's module is live; the call writes one number.
        unsafe { self.calls.cuFuncGetAttribute(&raw mut value, attribute, function.0) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn function_allow_shared(&self, function: CudaFunction, bytes: u32) -> DriverResult {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module is live.
        unsafe { self.calls.cuFuncSetAttribute(function.0, attribute, c_int::try_from(bytes).unwrap_or(c_int::MAX)) }
    }

    unsafe fn launch(
        &self,
        function: CudaFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
        on: &CudaStream,
    ) -> DriverResult {
        let ([x, y, z], [tx, ty, tz]) = (shape.groups, shape.threads);
        let (shared, params, none) = (shape.shared_bytes, node::pointers(params), ptr::null_mut());
        // SAFETY: the handles are live; the caller answers for the parameters, and for what the kernel reaches.
        unsafe { self.calls.cuLaunchKernel(function.0, x, y, z, tx, ty, tz, shared, on.raw.0, params, none) }
    }

    fn capture_begin(&self, stream: &CudaStream) -> DriverResult {
        // SAFETY: the handle is live.
        unsafe { self.calls.cuStreamBeginCapture_v2(stream.raw.0, mode_code(CaptureMode::Relaxed)) }
    }

    fn capture_state(&self, stream: &CudaStream) -> DriverResult<CaptureState> {
        let mut state = 0;
        // SAFETY: the handle is live; the call writes one number.
        unsafe { self.calls.cuStreamIsCapturing(stream.raw.0, &raw mut state) }?;
        Ok(match state {
            0 => CaptureState::None,
            1 => CaptureState::Active,
            _ => CaptureState::Invalidated,
        })
    }

    fn capture_tail(&self, stream: &CudaStream) -> DriverResult<Vec<CudaNode>> {
        let (mut state, mut id, mut graph) = (0, 0, ptr::null_mut());
        let (mut tail, mut count) = (ptr::null(), 0);
        // SAFETY: the handle is live; the call writes one value behind each pointer.
        unsafe {
            self.calls.cuStreamGetCaptureInfo_v2(
                stream.raw.0,
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
        Ok(unsafe { std::slice::from_raw_parts(tail.cast::<CudaNode>(), count) }.to_vec())
    }

    fn capture_end(&self, stream: &CudaStream) -> DriverResult<CudaGraph> {
        let mut graph = ptr::null_mut();
        // SAFETY: the handle is live; the call writes one handle.
        unsafe { self.calls.cuStreamEndCapture(stream.raw.0, &raw mut graph) }?;
        made("cuStreamEndCapture", (!graph.is_null()).then_some(CudaGraph(graph)))
    }

    fn capture_mode_exchange(&self, mode: CaptureMode) -> DriverResult<CaptureMode> {
        let mut mode = mode_code(mode);
        // SAFETY: the call reads and writes one number.
        unsafe { self.calls.cuThreadExchangeStreamCaptureMode(&raw mut mode) }?;
        Ok(match mode {
            1 => CaptureMode::ThreadLocal,
            2 => CaptureMode::Relaxed,
            _ => CaptureMode::Global,
        })
    }

    fn graph_create(&self) -> DriverResult<CudaGraph> {
        let mut graph = ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { self.calls.cuGraphCreate(&raw mut graph, 0) }?;
        Ok(CudaGraph(graph))
    }

    unsafe fn graph_add_launch(
        &self,
        graph: &mut CudaGraph,
        after: &[CudaNode],
        function: CudaFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult<CudaNode> {
        let (mut node, params) = (ptr::null_mut(), node::launch(function, shape, params));
        let (first, count) = (after.as_ptr().cast(), after.len());
        // SAFETY: the handles are live, a node is a handle; the caller answers for the parameters until the call returns.
        unsafe { self.calls.cuGraphAddKernelNode_v2(&raw mut node, graph.0, first, count, &raw const params) }?;
        Ok(CudaNode(node))
    }

    unsafe fn graph_add_copy(
        &self,
        graph: &mut CudaGraph,
        after: &[CudaNode],
        copy: &NodeCopy,
    ) -> DriverResult<CudaNode> {
        let (mut node, copy, context) = (ptr::null_mut(), node::copy(copy), self.context.0);
        let (first, count) = (after.as_ptr().cast(), after.len());
        // SAFETY: the handles are live, a node is a handle; the caller answers for the ranges.
        unsafe { self.calls.cuGraphAddMemcpyNode(&raw mut node, graph.0, first, count, &raw const copy, context) }?;
        Ok(CudaNode(node))
    }

    unsafe fn graph_add_fill(
        &self,
        graph: &mut CudaGraph,
        after: &[CudaNode],
        fill: &NodeFill,
    ) -> DriverResult<CudaNode> {
        let (mut node, fill, context) = (ptr::null_mut(), node::fill(fill), self.context.0);
        let (first, count) = (after.as_ptr().cast(), after.len());
        // SAFETY: the handles are live, a node is a handle; the caller answers for the range.
        unsafe { self.calls.cuGraphAddMemsetNode(&raw mut node, graph.0, first, count, &raw const fill, context) }?;
        Ok(CudaNode(node))
    }

    fn graph_add_edges(&self, graph: &mut CudaGraph, edges: &[(CudaNode, CudaNode)]) -> DriverResult {
        let (from, to): (Vec<_>, Vec<_>) = edges.iter().map(|(from, to)| (from.0, to.0)).unzip();
        // SAFETY: the handles are live, and both arrays have as many nodes as it says.
        unsafe { self.calls.cuGraphAddDependencies(graph.0, from.as_ptr(), to.as_ptr(), edges.len()) }
    }

    fn graph_nodes(&self, graph: &CudaGraph) -> DriverResult<usize> {
        let mut count = 0;
        // SAFETY: the handle is live; with no array the call writes one number.
        unsafe { self.calls.cuGraphGetNodes(graph.0, ptr::null_mut(), &raw mut count) }?;
        Ok(count)
    }

    fn graph_instantiate(&self, graph: &CudaGraph) -> DriverResult<CudaExec> {
        let mut exec = ptr::null_mut();
        // SAFETY: the handle is live; the call writes one handle.
        unsafe { self.calls.cuGraphInstantiateWithFlags(&raw mut exec, graph.0, 0) }?;
        Ok(CudaExec(exec))
    }

    fn graph_destroy(&self, graph: CudaGraph) -> DriverResult {
        // SAFETY: the handle is live and given up; what was made from it stays.
        unsafe { self.calls.cuGraphDestroy(graph.0) }
    }

    fn exec_upload(&self, exec: &CudaExec, stream: &CudaStream) -> DriverResult {
        // SAFETY: both handles are live.
        unsafe { self.calls.cuGraphUpload(exec.0, stream.raw.0) }
    }

    unsafe fn exec_launch(&self, exec: &CudaExec, stream: &CudaStream) -> DriverResult {
        // SAFETY: both handles are live; the caller answers for what the nodes reach.
        unsafe { self.calls.cuGraphLaunch(exec.0, stream.raw.0) }
    }

    unsafe fn exec_set_launch(
        &self,
        exec: &mut CudaExec,
        node: CudaNode,
        function: CudaFunction,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult {
        let params = node::launch(function, shape, params);
        // SAFETY: the handles are live; the caller answers for the parameters until the call returns.
        unsafe { self.calls.cuGraphExecKernelNodeSetParams_v2(exec.0, node.0, &raw const params) }
    }

    unsafe fn exec_set_copy(&self, exec: &mut CudaExec, node: CudaNode, copy: &NodeCopy) -> DriverResult {
        let copy = node::copy(copy);
        // SAFETY: the handles are live; the caller answers for the ranges.
        unsafe { self.calls.cuGraphExecMemcpyNodeSetParams(exec.0, node.0, &raw const copy, self.context.0) }
    }

    unsafe fn exec_set_fill(&self, exec: &mut CudaExec, node: CudaNode, fill: &NodeFill) -> DriverResult {
        let fill = node::fill(fill);
        // SAFETY: the handles are live; the caller answers for the range.
        unsafe { self.calls.cuGraphExecMemsetNodeSetParams(exec.0, node.0, &raw const fill, self.context.0) }
    }

    unsafe fn exec_update(&self, exec: &mut CudaExec, graph: &CudaGraph) -> DriverResult {
        let mut info = UpdateInfo::default();
        // SAFETY: both handles are live; the call writes one structure; the caller answers for what the nodes reach.
        let answer = unsafe { self.calls.cuGraphExecUpdate_v2(exec.0, graph.0, (&raw mut info).cast()) };
        answer.map_err(|error| DriverError { name: format!("{}, result {}", error.name, info.result), ..error })
    }

    unsafe fn exec_destroy(&self, exec: CudaExec) -> DriverResult {
        // SAFETY: the handle is live and given up; the caller says that its launches are done.
        unsafe { self.calls.cuGraphExecDestroy(exec.0) }
    }
}
