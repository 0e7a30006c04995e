//! The waist that faces one vendor: a driver through the narrowest window that still records graphs.
//!
//! One method is one driver call. Nothing here retries, caches, waits or decides; the server above does. Each method names
//! the call of both vendors and what their documentation, or a test on their runtime, says that its caller must respect.
//! `docs/decisions/0008-driver-trait.md` holds the review.

mod caps;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::CStr;
use std::num::NonZeroU64;
use std::time::Duration;

pub use caps::{DriverCaps, DriverFacts};
pub use values::{
    CaptureMode, CaptureState, CopyEnd, DeviceBytes, DeviceMemory, DevicePtr, EventTiming, FunctionAttribute, HostPtr,
    KernelParams, LaunchShape, NodeCopy, NodeFill, PinnedMemory,
};

use crate::error::DriverError;

/// The result of a driver call, classified by the driver: what kind of failure, and how far it reaches.
pub type DriverResult<T = ()> = Result<T, DriverError>;

/// One vendor's driver on one device.
///
/// Public, but unstable.
///
/// - **Handles.** Each kind is a type of the driver's own. Destroying takes the handle by value and consumes it even when
///   the call fails, so nothing can be destroyed twice or used afterwards. Dropping a handle leaks it.
/// - **Unsafe** is exactly where the caller's ordering or lifetimes matter. Elsewhere a call with live handles of this
///   driver is always defined.
/// - **Threads.** Every call but [`Driver::close`] is made with the context bound by [`Driver::context_set`], and under the device's lock but for
///   `event_query`, `event_destroy` and the calls on modules and functions, which may come from any thread at any time. No method binds by
///   itself. Graph objects of both vendors are not synchronised inside, which the lock makes good.
/// - **Errors.** A call may also report a failure of earlier asynchronous work: such an error is not call-local.
///   After a failure that is [`FaultClass::ContextFatal`](crate::error::FaultClass::ContextFatal) or worse the caller
///   still destroys its handles, and ignores what that answers.
/// - **Nothing is empty.** Sizes are non-zero by type, since the vendors disagree on what zero means.
#[expect(unsafe_code, reason = "declares what a caller must uphold")]
pub trait Driver: Send + Sync + 'static {
    /// What a thread has bound: a context on CUDA, a device number on HIP.
    type Context: Copy + PartialEq + Send + Sync;
    /// A queue of work.
    type Stream: Send + Sync;
    /// A point in a stream's work.
    type Event: Send + Sync;
    /// Loaded code.
    type Module: Send + Sync;
    /// A kernel of a module, valid as long as the module.
    type Function: Copy + Send + Sync;
    /// A graph as recorded or built.
    type Graph: Send;
    /// A node of a graph, valid as long as the graph.
    type Node: Copy + Send;
    /// A graph made ready to launch.
    type Exec: Send;

    /// How this driver and device differ from others. No call.
    fn caps(&self) -> &DriverCaps;

    /// Who the device is. No call.
    fn facts(&self) -> &DriverFacts;

    /// The context of this device, retained since it was opened. No call.
    fn context(&self) -> Self::Context;

    /// What the calling thread has bound; `None` for nothing.
    ///
    /// CUDA `cuCtxGetCurrent`; HIP `hipGetDevice`, which always answers a device.
    fn context_current(&self) -> DriverResult<Option<Self::Context>>;

    /// Bind the calling thread, to ours before a call and to what it had afterwards.
    ///
    /// CUDA `cuCtxSetCurrent` (`None` binds nothing); HIP `hipSetDevice` (`None` is ignored).
    fn context_set(&self, context: Option<Self::Context>) -> DriverResult;

    /// Give the device back. Every handle has been destroyed. The one call that needs no context: what the thread had bound is
    /// bound again before it, since nothing can be asked of the driver after it.
    ///
    /// CUDA `cuDevicePrimaryCtxRelease_v2`; HIP `hipDevicePrimaryCtxRelease`.
    fn close(self) -> DriverResult
    where
        Self: Sized;

    /// Device memory now.
    ///
    /// CUDA `cuMemGetInfo_v2`; HIP `hipMemGetInfo`.
    fn mem_info(&self) -> DriverResult<DeviceBytes>;

    /// A stream that never synchronises with the null stream.
    ///
    /// CUDA `cuStreamCreate(CU_STREAM_NON_BLOCKING)`; HIP `hipStreamCreateWithFlags(hipStreamNonBlocking)`. The null stream
    /// is never used: HIP runs its work past a capture without an error, CUDA refuses it.
    fn stream_create(&self) -> DriverResult<Self::Stream>;

    /// Destroy a stream.
    ///
    /// CUDA `cuStreamDestroy_v2` frees it once its work is done; HIP `hipStreamDestroy` may drop work in flight.
    ///
    /// # Safety
    ///
    /// All its work is done, and it is not capturing.
    unsafe fn stream_destroy(&self, stream: Self::Stream) -> DriverResult;

    /// Later work of the stream waits for the event's last record; without one, it does not wait.
    ///
    /// CUDA `cuStreamWaitEvent`; HIP `hipStreamWaitEvent`; flags 0. Either side being in a capture and the other not breaks
    /// that capture or joins it (CUDA), or is ignored (HIP): callers only wait within one world.
    fn stream_wait_event(&self, stream: &Self::Stream, event: &Self::Event) -> DriverResult;

    /// An event. Nobody blocks in the driver on it: a wait there has no deadline, so the server polls.
    ///
    /// CUDA `cuEventCreate(CU_EVENT_DEFAULT)`, HIP `hipEventCreateWithFlags(hipEventDefault)`; with the flag that disables timing
    /// unless it is asked for.
    fn event_create(&self, timing: EventTiming) -> DriverResult<Self::Event>;

    /// Destroy an event. It may still be pending on both vendors.
    ///
    /// CUDA `cuEventDestroy_v2`; HIP `hipEventDestroy`.
    fn event_destroy(&self, event: Self::Event) -> DriverResult;

    /// The event stands for all work given to the stream so far; what it stood for before is forgotten.
    ///
    /// CUDA `cuEventRecord`; HIP `hipEventRecord`. On a capturing stream it is captured: it can then be waited for only
    /// by streams of that capture.
    fn event_record(&self, event: &Self::Event, stream: &Self::Stream) -> DriverResult;

    /// Whether the event is passed; true when it was never recorded. "Not ready" is an answer here, not an error.
    ///
    /// CUDA `cuEventQuery`; HIP `hipEventQuery`. A captured event is refused and its capture broken (907) on both. HIP up to
    /// 7.1 breaks another thread's global capture by it; captures are relaxed, where it is harmless.
    fn event_query(&self, event: &Self::Event) -> DriverResult<bool>;

    /// Time between two passed events that were created with timing.
    ///
    /// CUDA `cuEventElapsedTime` (about 0.5 µs), HIP `hipEventElapsedTime` (about 1 µs): "not ready" while one is pending, an
    /// invalid handle where one was never recorded.
    fn event_elapsed(&self, from: &Self::Event, to: &Self::Event) -> DriverResult<Duration>;

    /// Device memory. Its bytes are whatever they were.
    ///
    /// CUDA `cuMemAlloc_v2` (size 0 is an error); HIP `hipMalloc` (size 0 is a null pointer). Allowed during a relaxed capture;
    /// breaks a global or thread-local one.
    fn mem_alloc(&self, bytes: NonZeroU64) -> DriverResult<DeviceMemory>;

    /// Free device memory.
    ///
    /// CUDA `cuMemFree_v2`; HIP `hipFree`, which documents a wait for the whole device
    /// ([`DriverCaps::free_waits_for_device`]).
    ///
    /// # Safety
    ///
    /// No work in flight, no executable graph and no open capture uses it.
    unsafe fn mem_free(&self, memory: DeviceMemory) -> DriverResult;

    /// Page-locked host memory that every context can copy from and to.
    ///
    /// CUDA `cuMemHostAlloc(CU_MEMHOSTALLOC_PORTABLE)`; HIP `hipHostMalloc(hipHostMallocPortable)`.
    fn pinned_alloc(&self, bytes: NonZeroU64) -> DriverResult<PinnedMemory>;

    /// Free page-locked memory.
    ///
    /// CUDA `cuMemFreeHost`; HIP `hipHostFree`.
    ///
    /// # Safety
    ///
    /// As for [`Driver::mem_free`]; and no reference into it is live.
    unsafe fn pinned_free(&self, memory: PinnedMemory) -> DriverResult;

    /// Copy from host to device, in stream order.
    ///
    /// CUDA `cuMemcpyHtoDAsync_v2`; HIP `hipMemcpyHtoDAsync`. Pageable memory may make the call wait for the stream, so
    /// callers stage through pinned memory. Recorded by a capture: each launch reads the host bytes again.
    ///
    /// # Safety
    ///
    /// Both ranges are live until the copy, and every launch of a graph that records it, is done; no one writes the host
    /// range meanwhile. Work on other streams that touches the device range is ordered by events.
    unsafe fn copy_to_device(
        &self,
        dst: DevicePtr,
        src: HostPtr,
        bytes: NonZeroU64,
        stream: &Self::Stream,
    ) -> DriverResult;

    /// Copy from device to host, in stream order.
    ///
    /// CUDA `cuMemcpyDtoHAsync_v2`; HIP `hipMemcpyDtoHAsync`. With pageable memory it returns only once it is done.
    ///
    /// # Safety
    ///
    /// As for [`Driver::copy_to_device`]; and no one reads the host range before the copy is done.
    unsafe fn copy_to_host(
        &self,
        dst: HostPtr,
        src: DevicePtr,
        bytes: NonZeroU64,
        stream: &Self::Stream,
    ) -> DriverResult;

    /// Copy on the device, in stream order.
    ///
    /// CUDA `cuMemcpyDtoDAsync_v2`; HIP `hipMemcpyDtoDAsync`. Overlapping ranges are undefined on both.
    ///
    /// # Safety
    ///
    /// The ranges do not overlap and stay live as for [`Driver::copy_to_device`]; other streams' work on them is ordered.
    unsafe fn copy_on_device(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: NonZeroU64,
        stream: &Self::Stream,
    ) -> DriverResult;

    /// Set 4-byte words, in stream order.
    ///
    /// CUDA `cuMemsetD32Async`; HIP `hipMemsetD32Async` (takes the word as a signed number). The address is 4-byte aligned.
    ///
    /// # Safety
    ///
    /// The range stays live, and other streams' work on it is ordered, as for [`Driver::copy_to_device`].
    unsafe fn fill(&self, dst: DevicePtr, word: u32, words: NonZeroU64, stream: &Self::Stream) -> DriverResult;

    /// Load compiled code.
    ///
    /// CUDA `cuModuleLoadDataEx` (cubin, fatbin, or PTX ended by a zero byte), with a buffer for what its compiler says of PTX, which
    /// becomes [`DriverError::log`]; HIP `hipModuleLoadData` (code object). CUDA may put off the real load to a kernel's first use
    /// (lazy loading), which must not fall into a capture: callers ask [`Driver::function_attribute`] first.
    ///
    /// # Safety
    ///
    /// The image is complete, since neither call is told its length, and was made by the vendor's compiler.
    unsafe fn module_load(&self, image: &[u8]) -> DriverResult<Self::Module>;

    /// A kernel by name.
    ///
    /// CUDA `cuModuleGetFunction`; HIP `hipModuleGetFunction`.
    fn module_function(&self, module: &Self::Module, name: &CStr) -> DriverResult<Self::Function>;

    /// Unload code.
    ///
    /// CUDA `cuModuleUnload`; HIP `hipModuleUnload`.
    ///
    /// # Safety
    ///
    /// No work in flight and no graph uses a function of it.
    unsafe fn module_unload(&self, module: Self::Module) -> DriverResult;

    /// A property of a kernel.
    ///
    /// CUDA `cuFuncGetAttribute`; HIP `hipFuncGetAttribute`. Makes a lazily loaded kernel load.
    fn function_attribute(&self, function: Self::Function, attribute: FunctionAttribute) -> DriverResult<u32>;

    /// Let launches of a kernel ask for up to `bytes` of dynamic workgroup memory, where [`FunctionAttribute::DynamicBytesMax`] is
    /// less.
    ///
    /// CUDA `cuFuncSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)`; HIP `hipFuncSetAttribute` of attribute 8. Refused
    /// beyond what the device has beside the kernel's static memory.
    fn function_allow_shared(&self, function: Self::Function, bytes: u32) -> DriverResult;

    /// Run a kernel, in stream order.
    ///
    /// CUDA `cuLaunchKernel`; HIP `hipModuleLaunchKernel`, with the same argument order. HIP needs groups times threads
    /// below 2^32 in each dimension ([`DriverCaps::launch_items_max`]). A grid of zero is an error on both.
    ///
    /// # Safety
    ///
    /// `params` has one pointer for each parameter of the kernel, each to a live value of that parameter's size and
    /// alignment, for the time of the call. Memory that the kernel reaches stays live, and other streams' work on it is
    /// ordered, until it is done or every graph that records it is destroyed.
    unsafe fn launch(
        &self,
        function: Self::Function,
        shape: &LaunchShape,
        params: KernelParams<'_>,
        stream: &Self::Stream,
    ) -> DriverResult;

    /// From here on the stream records what it is given, in relaxed mode.
    ///
    /// CUDA `cuStreamBeginCapture_v2(CU_STREAM_CAPTURE_MODE_RELAXED)`; HIP `hipStreamBeginCapture(hipStreamCaptureModeRelaxed)`.
    /// Refused on the null stream and on a stream that is capturing. In relaxed mode any thread may end it; a
    /// synchronisation of the whole device still breaks it.
    /// HIP takes events of the stream that were recorded before for the capture's, so its driver captures on a second stream.
    fn capture_begin(&self, stream: &Self::Stream) -> DriverResult;

    /// What the stream does with work now.
    ///
    /// CUDA `cuStreamIsCapturing`; HIP `hipStreamIsCapturing`. Asked before a call that a capture forbids, because HIP before
    /// 7.14 does not always report one.
    fn capture_state(&self, stream: &Self::Stream) -> DriverResult<CaptureState>;

    /// The nodes on which the capture's next node will depend: after a captured operation, that operation's own node.
    ///
    /// CUDA `cuStreamGetCaptureInfo_v2` (`_v3` from 12.3 on); HIP `hipStreamGetCaptureInfo_v2`. The nodes belong to the graph
    /// that [`Driver::capture_end`] returns. Only where [`DriverCaps::capture_tail`].
    fn capture_tail(&self, stream: &Self::Stream) -> DriverResult<Vec<Self::Node>>;

    /// Stop recording and return what was recorded. Recording stops even when the call fails.
    ///
    /// CUDA `cuStreamEndCapture`; HIP `hipStreamEndCapture`. A broken capture answers "capture broken" and no graph on both,
    /// and only this call makes its stream usable again; a fork that was not joined likewise (904).
    fn capture_end(&self, stream: &Self::Stream) -> DriverResult<Self::Graph>;

    /// Set how the calling thread's calls meet captures of others; answers what it was.
    ///
    /// CUDA `cuThreadExchangeStreamCaptureMode`; HIP `hipThreadExchangeStreamCaptureMode`. Used as a bracket: relaxed while our
    /// calls run, so that they neither fail by nor break another library's global capture, then what it was.
    fn capture_mode_exchange(&self, mode: CaptureMode) -> DriverResult<CaptureMode>;

    /// A graph with no nodes.
    ///
    /// CUDA `cuGraphCreate`; HIP `hipGraphCreate`; flags 0. HIP 7.2 starts nodes that depend on nothing ahead of earlier work of
    /// the launch's stream, all but the first of them. So HIP's driver adds an empty node before them where a graph has more than one,
    /// and does not count it.
    fn graph_create(&self) -> DriverResult<Self::Graph>;

    /// Add a launch that runs after `after`, which has no duplicates.
    ///
    /// CUDA `cuGraphAddKernelNode_v2` (parameters of 72 bytes); HIP `hipGraphAddKernelNode` (64 bytes, other order). The values
    /// behind `params` are copied.
    ///
    /// # Safety
    ///
    /// As for [`Driver::launch`], until every executable of the graph is destroyed.
    unsafe fn graph_add_launch(
        &self,
        graph: &mut Self::Graph,
        after: &[Self::Node],
        function: Self::Function,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult<Self::Node>;

    /// Add a one-dimensional copy.
    ///
    /// CUDA `cuGraphAddMemcpyNode` with a 3-D description of height and depth 1 and our context; HIP
    /// `hipGraphAddMemcpyNode1D`, since its 3-D description changed meaning between versions.
    ///
    /// # Safety
    ///
    /// As for [`Driver::copy_to_device`], until every executable of the graph is destroyed; device ranges do not overlap.
    unsafe fn graph_add_copy(
        &self,
        graph: &mut Self::Graph,
        after: &[Self::Node],
        copy: &NodeCopy,
    ) -> DriverResult<Self::Node>;

    /// Add a fill.
    ///
    /// CUDA `cuGraphAddMemsetNode` with our context; HIP `hipGraphAddMemsetNode`; elements of 4 bytes, one row. The structures
    /// have other orders.
    ///
    /// # Safety
    ///
    /// As for [`Driver::fill`], until every executable of the graph is destroyed.
    unsafe fn graph_add_fill(
        &self,
        graph: &mut Self::Graph,
        after: &[Self::Node],
        fill: &NodeFill,
    ) -> DriverResult<Self::Node>;

    /// Let `to[i]` wait for `from[i]`. An edge that exists, or from a node to itself, is an error on both.
    ///
    /// CUDA `cuGraphAddDependencies` (`_v2` from 12.3 on, without edge data); HIP `hipGraphAddDependencies`.
    fn graph_add_edges(&self, graph: &mut Self::Graph, edges: &[(Self::Node, Self::Node)]) -> DriverResult;

    /// How many nodes the graph has, to hold against the recording.
    ///
    /// CUDA `cuGraphGetNodes`; HIP `hipGraphGetNodes`; with no array.
    fn graph_nodes(&self, graph: &Self::Graph) -> DriverResult<usize>;

    /// Make a graph ready to launch. It is a snapshot: later changes of the graph do not reach it.
    ///
    /// CUDA `cuGraphInstantiateWithFlags`; HIP `hipGraphInstantiateWithFlags`; flags 0. No graph of ours holds memory nodes.
    fn graph_instantiate(&self, graph: &Self::Graph) -> DriverResult<Self::Exec>;

    /// Destroy a graph, and with it its nodes. Executables made from it stay, but can no longer be updated by node.
    ///
    /// CUDA `cuGraphDestroy`; HIP `hipGraphDestroy`.
    fn graph_destroy(&self, graph: Self::Graph) -> DriverResult;

    /// Bring an executable to the device ahead of its first launch. Ordered behind the stream's work and its launches.
    ///
    /// CUDA `cuGraphUpload`; HIP `hipGraphUpload`. Only where [`DriverCaps::graph_upload`].
    fn exec_upload(&self, exec: &Self::Exec, stream: &Self::Stream) -> DriverResult;

    /// Run an executable, in stream order and after its own earlier launches.
    ///
    /// CUDA `cuGraphLaunch`; HIP `hipGraphLaunch`. Never into a capturing stream: CUDA refuses and breaks the capture or adds a
    /// child, HIP runs it at once.
    ///
    /// # Safety
    ///
    /// All that its nodes reach is live until the launch is done, and work of other streams on it is ordered.
    unsafe fn exec_launch(&self, exec: &Self::Exec, stream: &Self::Stream) -> DriverResult;

    /// Give a launch node of an executable new parameters, for launches made after it.
    ///
    /// CUDA `cuGraphExecKernelNodeSetParams_v2`; HIP `hipGraphExecKernelNodeSetParams`. `node` is of the graph that `exec` was made
    /// from, which still exists; the function's context does not change. Launches in flight keep theirs.
    ///
    /// # Safety
    ///
    /// As for [`Driver::graph_add_launch`].
    unsafe fn exec_set_launch(
        &self,
        exec: &mut Self::Exec,
        node: Self::Node,
        function: Self::Function,
        shape: &LaunchShape,
        params: KernelParams<'_>,
    ) -> DriverResult;

    /// Give a copy node other addresses, for launches made after it.
    ///
    /// CUDA `cuGraphExecMemcpyNodeSetParams`; HIP `hipGraphExecMemcpyNodeSetParams1D`. One-dimensional before and after, the
    /// same directions, memory of the same context.
    ///
    /// # Safety
    ///
    /// As for [`Driver::graph_add_copy`].
    unsafe fn exec_set_copy(&self, exec: &mut Self::Exec, node: Self::Node, copy: &NodeCopy) -> DriverResult;

    /// Give a fill node another address, for launches made after it.
    ///
    /// CUDA `cuGraphExecMemsetNodeSetParams`; HIP `hipGraphExecMemsetNodeSetParams`. One row, memory of the same context.
    ///
    /// # Safety
    ///
    /// As for [`Driver::graph_add_fill`].
    unsafe fn exec_set_fill(&self, exec: &mut Self::Exec, node: Self::Node, fill: &NodeFill) -> DriverResult;

    /// Give every node of an executable the parameters of the same node of another graph, for launches made after it. That
    /// graph has the same kinds of nodes and the same edges, made in the same order. Nodes of the graph that `exec` was made from
    /// stay those by which it is updated. Where it is refused, some nodes may have changed.
    ///
    /// CUDA `cuGraphExecUpdate_v2`; HIP `hipGraphExecUpdate`, which may never give old parameters' memory back, as updates of nodes.
    ///
    /// # Safety
    ///
    /// As for adding the nodes of `graph`, until `exec` is destroyed.
    unsafe fn exec_update(&self, exec: &mut Self::Exec, graph: &Self::Graph) -> DriverResult;

    /// Destroy an executable.
    ///
    /// CUDA `cuGraphExecDestroy`; HIP `hipGraphExecDestroy`.
    ///
    /// # Safety
    ///
    /// All its launches are done.
    unsafe fn exec_destroy(&self, exec: Self::Exec) -> DriverResult;
}
