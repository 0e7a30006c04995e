//! A driver that does nothing but hand out numbers, and a translator to go with it: what is left of a call through the server
//! above is the server's own bookkeeping.

use std::ffi::{CStr, CString};
use std::num::NonZeroU64;
use std::time::Duration;

use graphreel::error::{DriverError, DriverErrorKind, FaultClass};
use graphreel::graph::driver::{
    CaptureMode, CaptureState, DeviceBytes, DeviceMemory, DevicePtr, DriverCaps, DriverFacts, EventTiming,
    FunctionAttribute, HostPtr, KernelParams, LaunchShape, NodeCopy, NodeFill, PinnedMemory,
};
use graphreel::graph::{Driver, DriverResult, Translated, Translator};
use graphreel::kernel::{KernelSource, Reflection, Variant, reflect};
use graphreel::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Bytes that the device seems to have: the addresses are numbers, so it never runs out.
const MEMORY_BYTES: u64 = 1 << 40;

/// Not capturing, in [`NullStream`].
const IDLE: usize = usize::MAX;

/// The driver. No work is done, and every event is passed.
#[derive(Debug)]
pub struct NullDriver {
    caps: DriverCaps,
    facts: DriverFacts,
    next: AtomicU64,
}

/// A stream: how many nodes its capture has, which the server holds against its recording.
#[derive(Debug)]
pub struct NullStream {
    captured: AtomicUsize,
}

/// A graph: how many nodes it has.
#[derive(Debug)]
pub struct NullGraph {
    nodes: usize,
}

impl NullDriver {
    /// A driver that says it can do all that a driver can.
    pub fn new() -> Self {
        let caps = DriverCaps {
            warp_width: 32,
            graph_upload: true,
            relaxed_capture: true,
            capture_tail: true,
            free_waits_for_device: false,
            unload_waits_for_device: false,
            updates_per_exec_max: None,
            branches_max: usize::MAX,
            launch_items_max: u64::MAX,
            groups_max: [65_535; 3],
            threads_max: [1024, 1024, 64],
            group_threads_max: 1024,
            shared_bytes_max: 48 << 10,
            event_resolution_ns: 1,
        };
        let facts = DriverFacts {
            name: "null".to_owned(),
            architecture: "none".to_owned(),
            driver: "0".to_owned(),
            pci: None,
            uuid: None,
            memory_bytes: MEMORY_BYTES,
            integrated: false,
        };
        Self { caps, facts, next: AtomicU64::new(0) }
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed) + 1
    }
}

impl Default for NullDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl NullStream {
    /// Work: a node where the stream captures, nothing elsewhere.
    fn take(&self) -> DriverResult {
        let captured = self.captured.load(Relaxed);
        if captured != IDLE {
            self.captured.store(captured + 1, Relaxed);
        }
        Ok(())
    }
}

impl NullGraph {
    fn add(&mut self) -> DriverResult<usize> {
        self.nodes += 1;
        Ok(self.nodes)
    }
}

fn failed(call: &'static str, kind: DriverErrorKind) -> DriverError {
    DriverError { call, code: 1, name: "null".to_owned(), kind, class: FaultClass::CallLocal, log: None }
}

/// How pinned memory is laid out; `None` for more than the host's address space.
fn pinned_layout(bytes: NonZeroU64) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(usize::try_from(bytes.get()).ok()?, 4096).ok()
}

#[expect(unsafe_code, reason = "the waist declares unsafe methods")]
impl Driver for NullDriver {
    type Context = ();
    type Stream = NullStream;
    type Event = ();
    type Module = ();
    type Function = ();
    type Graph = NullGraph;
    type Node = usize;
    type Exec = ();

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }

    fn facts(&self) -> &DriverFacts {
        &self.facts
    }

    fn context(&self) {}

    fn context_current(&self) -> DriverResult<Option<()>> {
        Ok(Some(()))
    }

    fn context_set(&self, _context: Option<()>) -> DriverResult {
        Ok(())
    }

    fn close(self) -> DriverResult {
        Ok(())
    }

    fn mem_info(&self) -> DriverResult<DeviceBytes> {
        Ok(DeviceBytes { free: MEMORY_BYTES, total: MEMORY_BYTES })
    }

    fn stream_create(&self) -> DriverResult<NullStream> {
        Ok(NullStream { captured: AtomicUsize::new(IDLE) })
    }

    unsafe fn stream_destroy(&self, _stream: NullStream) -> DriverResult {
        Ok(())
    }

    fn stream_wait_event(&self, _stream: &NullStream, _event: &()) -> DriverResult {
        Ok(())
    }

    fn event_create(&self, _timing: EventTiming) -> DriverResult<()> {
        Ok(())
    }

    fn event_destroy(&self, _event: ()) -> DriverResult {
        Ok(())
    }

    fn event_record(&self, _event: &(), _stream: &NullStream) -> DriverResult {
        Ok(())
    }

    fn event_query(&self, _event: &()) -> DriverResult<bool> {
        Ok(true)
    }

    fn event_elapsed(&self, _from: &(), _to: &()) -> DriverResult<Duration> {
        Ok(Duration::ZERO)
    }

    fn mem_alloc(&self, bytes: NonZeroU64) -> DriverResult<DeviceMemory> {
        // Numbers far enough apart that no two allocations meet.
        let address = self.number().checked_mul(MEMORY_BYTES).filter(|_| bytes.get() <= MEMORY_BYTES);
        let address = address.and_then(NonZeroU64::new).map(DevicePtr);
        let address = address.ok_or_else(|| failed("mem_alloc", DriverErrorKind::OutOfMemory))?;
        Ok(DeviceMemory { address, bytes })
    }

    unsafe fn mem_free(&self, _memory: DeviceMemory) -> DriverResult {
        Ok(())
    }

    fn pinned_alloc(&self, bytes: NonZeroU64) -> DriverResult<PinnedMemory> {
        let layout = pinned_layout(bytes).ok_or_else(|| failed("pinned_alloc", DriverErrorKind::OutOfMemory))?;
        // SAFETY: the layout has a size, since it is made from a non-zero one.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let start = std::ptr::NonNull::new(start);
        let address = start.map(HostPtr).ok_or_else(|| failed("pinned_alloc", DriverErrorKind::OutOfMemory))?;
        Ok(PinnedMemory { address, bytes })
    }

    unsafe fn pinned_free(&self, memory: PinnedMemory) -> DriverResult {
        let layout = pinned_layout(memory.bytes).ok_or_else(|| failed("pinned_free", DriverErrorKind::Refused))?;
        // SAFETY: `pinned_alloc` gave this address for this layout, and the caller has no use of it left.
        unsafe { std::alloc::dealloc(memory.address.0.as_ptr(), layout) };
        Ok(())
    }

    unsafe fn copy_to_device(
        &self,
        _dst: DevicePtr,
        _src: HostPtr,
        _bytes: NonZeroU64,
        stream: &NullStream,
    ) -> DriverResult {
        stream.take()
    }

    unsafe fn copy_to_host(
        &self,
        _dst: HostPtr,
        _src: DevicePtr,
        _bytes: NonZeroU64,
        stream: &NullStream,
    ) -> DriverResult {
        stream.take()
    }

    unsafe fn copy_on_device(
        &self,
        _dst: DevicePtr,
        _src: DevicePtr,
        _bytes: NonZeroU64,
        stream: &NullStream,
    ) -> DriverResult {
        stream.take()
    }

    unsafe fn fill(&self, _dst: DevicePtr, _word: u32, _words: NonZeroU64, stream: &NullStream) -> DriverResult {
        stream.take()
    }

    unsafe fn module_load(&self, _image: &[u8]) -> DriverResult<()> {
        Ok(())
    }

    fn module_function(&self, _module: &(), _name: &CStr) -> DriverResult<()> {
        Ok(())
    }

    unsafe fn module_unload(&self, _module: ()) -> DriverResult {
        Ok(())
    }

    fn function_attribute(&self, _function: (), attribute: FunctionAttribute) -> DriverResult<u32> {
        Ok(if attribute == FunctionAttribute::ThreadsMax { self.caps.group_threads_max } else { 0 })
    }

    fn function_allow_shared(&self, _function: (), _bytes: u32) -> DriverResult {
        Ok(())
    }

    unsafe fn launch(
        &self,
        _function: (),
        _shape: &LaunchShape,
        _params: KernelParams<'_>,
        stream: &NullStream,
    ) -> DriverResult {
        stream.take()
    }

    fn capture_begin(&self, stream: &NullStream) -> DriverResult {
        stream.captured.store(0, Relaxed);
        Ok(())
    }

    fn capture_state(&self, stream: &NullStream) -> DriverResult<CaptureState> {
        Ok(if stream.captured.load(Relaxed) == IDLE { CaptureState::None } else { CaptureState::Active })
    }

    fn capture_tail(&self, stream: &NullStream) -> DriverResult<Vec<usize>> {
        let captured = stream.captured.load(Relaxed);
        Ok(if captured == IDLE || captured == 0 { Vec::new() } else { vec![captured] })
    }

    fn capture_end(&self, stream: &NullStream) -> DriverResult<NullGraph> {
        match stream.captured.swap(IDLE, Relaxed) {
            IDLE => Err(failed("capture_end", DriverErrorKind::Refused)),
            nodes => Ok(NullGraph { nodes }),
        }
    }

    fn capture_mode_exchange(&self, _mode: CaptureMode) -> DriverResult<CaptureMode> {
        Ok(CaptureMode::Global)
    }

    fn graph_create(&self) -> DriverResult<NullGraph> {
        Ok(NullGraph { nodes: 0 })
    }

    unsafe fn graph_add_launch(
        &self,
        graph: &mut NullGraph,
        _after: &[usize],
        _function: (),
        _shape: &LaunchShape,
        _params: KernelParams<'_>,
    ) -> DriverResult<usize> {
        graph.add()
    }

    unsafe fn graph_add_copy(&self, graph: &mut NullGraph, _after: &[usize], _copy: &NodeCopy) -> DriverResult<usize> {
        graph.add()
    }

    unsafe fn graph_add_fill(&self, graph: &mut NullGraph, _after: &[usize], _fill: &NodeFill) -> DriverResult<usize> {
        graph.add()
    }

    fn graph_add_edges(&self, _graph: &mut NullGraph, _edges: &[(usize, usize)]) -> DriverResult {
        Ok(())
    }

    fn graph_nodes(&self, graph: &NullGraph) -> DriverResult<usize> {
        Ok(graph.nodes)
    }

    fn graph_instantiate(&self, _graph: &NullGraph) -> DriverResult<()> {
        Ok(())
    }

    fn graph_destroy(&self, _graph: NullGraph) -> DriverResult {
        Ok(())
    }

    fn exec_upload(&self, _exec: &(), _stream: &NullStream) -> DriverResult {
        Ok(())
    }

    unsafe fn exec_launch(&self, _exec: &(), _stream: &NullStream) -> DriverResult {
        Ok(())
    }

    unsafe fn exec_set_launch(
        &self,
        _exec: &mut (),
        _node: usize,
        _function: (),
        _shape: &LaunchShape,
        _params: KernelParams<'_>,
    ) -> DriverResult {
        Ok(())
    }

    unsafe fn exec_set_copy(&self, _exec: &mut (), _node: usize, _copy: &NodeCopy) -> DriverResult {
        Ok(())
    }

    unsafe fn exec_set_fill(&self, _exec: &mut (), _node: usize, _fill: &NodeFill) -> DriverResult {
        Ok(())
    }

    unsafe fn exec_update(&self, _exec: &mut (), _graph: &NullGraph) -> DriverResult {
        Ok(())
    }

    unsafe fn exec_destroy(&self, _exec: ()) -> DriverResult {
        Ok(())
    }
}

/// The translator of [`NullDriver`]: it reflects kernels, and compiles them to nothing.
#[derive(Clone, Copy, Debug)]
pub struct NullTranslator;

impl Translator for NullTranslator {
    fn reflect(&self, source: &KernelSource) -> graphreel::Result<Reflection> {
        Ok(reflect(source)?)
    }

    fn translate(&self, source: &KernelSource, _variant: Variant) -> graphreel::Result<Translated> {
        let symbol = CString::new(reflect(source)?.entry.as_bytes()).unwrap_or_default();
        Ok(Translated { image: Vec::new(), symbol, shared_bytes: 0 })
    }

    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "the waist declares unsafe methods")]
    fn it_keeps_count_of_what_the_server_holds_against_its_recording() {
        let driver = NullDriver::new();
        let stream = driver.stream_create().unwrap();
        let (one, two) = (driver.mem_alloc(NonZeroU64::MIN).unwrap(), driver.mem_alloc(NonZeroU64::MIN).unwrap());
        assert_ne!(one.address, two.address);
        driver.capture_begin(&stream).unwrap();
        for memory in [&one, &two] {
            // SAFETY: the addresses are numbers that nothing reads or writes through.
            unsafe { driver.fill(memory.address, 0, NonZeroU64::MIN, &stream) }.unwrap();
        }
        assert_eq!(driver.capture_tail(&stream).unwrap(), [2]);
        let graph = driver.capture_end(&stream).unwrap();
        assert_eq!(driver.graph_nodes(&graph), Ok(2));
        assert_eq!(driver.capture_state(&stream), Ok(CaptureState::None));
        assert!(driver.capture_end(&stream).is_err());
    }

    #[test]
    #[expect(unsafe_code, reason = "the waist declares unsafe methods")]
    fn pinned_memory_is_real_since_the_server_writes_to_it() {
        let driver = NullDriver::new();
        let memory = driver.pinned_alloc(NonZeroU64::new(5000).unwrap()).unwrap();
        let last = memory.address.0.as_ptr().wrapping_add(4999);
        // SAFETY: the byte is the last of the allocation, which nothing else uses.
        unsafe { last.write(7) };
        // SAFETY: as above.
        assert_eq!(unsafe { last.read() }, 7);
        // SAFETY: nothing uses the memory any more.
        unsafe { driver.pinned_free(memory) }.unwrap();
        assert!(driver.pinned_alloc(NonZeroU64::MAX).is_err());
    }
}
