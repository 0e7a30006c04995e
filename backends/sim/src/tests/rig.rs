//! A driver bound to the test's thread, with the calls that most tests make.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use graphreel::graph::driver::{DeviceMemory, DevicePtr, EventTiming, HostPtr, NodeCopy, NodeFill, PinnedMemory};
use graphreel::graph::{Driver, DriverResult};

use crate::{Misuse, Probe, Rule, SimDriver, SimEvent, SimExec, SimGraph, SimNode, SimOptions, SimStream};

pub(crate) fn n(count: u64) -> NonZeroU64 {
    NonZeroU64::new(count).expect("tests ask for something")
}

pub(crate) struct Rig {
    pub(crate) driver: SimDriver,
    pub(crate) probe: Probe,
}

impl Rig {
    pub(crate) fn new(options: SimOptions) -> Self {
        let driver = SimDriver::new(options).unwrap();
        driver.context_set(Some(driver.context())).unwrap();
        let probe = driver.probe();
        Self { driver, probe }
    }

    pub(crate) fn manual() -> Self {
        Self::new(SimOptions::manual())
    }

    pub(crate) fn stream(&self) -> SimStream {
        self.driver.stream_create().unwrap()
    }

    pub(crate) fn event(&self) -> SimEvent {
        self.driver.event_create(EventTiming::Off).unwrap()
    }

    pub(crate) fn memory(&self, bytes: u64) -> DeviceMemory {
        self.driver.mem_alloc(n(bytes)).unwrap()
    }

    pub(crate) fn fill(&self, at: DevicePtr, word: u32, words: u64, stream: &SimStream) {
        self.try_fill(at, word, words, stream).unwrap();
    }

    /// Poll the event until it is passed.
    pub(crate) fn wait(&self, event: &SimEvent) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.driver.event_query(event).unwrap() {
            assert!(Instant::now() < end, "the event is not passed after 20 s");
            std::thread::yield_now();
        }
    }

    /// Everything that was enqueued on the stream is done.
    pub(crate) fn drain(&self, stream: &SimStream) {
        let event = self.event();
        self.driver.event_record(&event, stream).unwrap();
        self.wait(&event);
        self.driver.event_destroy(event).unwrap();
    }

    pub(crate) fn words(&self, at: DevicePtr, count: usize) -> Vec<u32> {
        let bytes = self.probe.peek(at, count * 4).expect("live memory");
        bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
    }

    pub(crate) fn give_back(
        &self,
        streams: impl IntoIterator<Item = SimStream>,
        memory: impl IntoIterator<Item = DeviceMemory>,
    ) {
        streams.into_iter().for_each(|stream| self.destroy_stream(stream).unwrap());
        memory.into_iter().for_each(|memory| self.free(memory).unwrap());
    }

    /// Each rule that was broken, in order.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        self.probe.misuse().iter().map(|misuse: &Misuse| misuse.rule).collect()
    }

    pub(crate) fn close(self) {
        self.driver.close().unwrap();
        self.probe.check().unwrap();
        assert_eq!(self.probe.leaked(), 0);
    }
}

/// The unsafe calls. The simulator checks what their callers should, its device addresses lead nowhere on the host, and host
/// memory is given as blocks of its own, which it keeps while work can reach them.
#[expect(unsafe_code, reason = "the waist declares unsafe methods")]
impl Rig {
    pub(crate) fn try_fill(&self, at: DevicePtr, word: u32, words: u64, stream: &SimStream) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.fill(at, word, n(words), stream) }
    }

    pub(crate) fn copy(&self, to: DevicePtr, from: DevicePtr, bytes: u64, stream: &SimStream) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.copy_on_device(to, from, n(bytes), stream) }
    }

    pub(crate) fn free(&self, memory: DeviceMemory) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.mem_free(memory) }
    }

    pub(crate) fn free_pinned(&self, memory: PinnedMemory) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.pinned_free(memory) }
    }

    pub(crate) fn destroy_stream(&self, stream: SimStream) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.stream_destroy(stream) }
    }

    pub(crate) fn add_fill(&self, graph: &mut SimGraph, after: &[SimNode], fill: &NodeFill) -> DriverResult<SimNode> {
        // SAFETY: as the block says.
        unsafe { self.driver.graph_add_fill(graph, after, fill) }
    }

    pub(crate) fn add_copy(&self, graph: &mut SimGraph, after: &[SimNode], copy: &NodeCopy) -> DriverResult<SimNode> {
        // SAFETY: as the block says.
        unsafe { self.driver.graph_add_copy(graph, after, copy) }
    }

    pub(crate) fn set_fill(&self, exec: &mut SimExec, node: SimNode, fill: &NodeFill) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.exec_set_fill(exec, node, fill) }
    }

    pub(crate) fn set_copy(&self, exec: &mut SimExec, node: SimNode, copy: &NodeCopy) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.exec_set_copy(exec, node, copy) }
    }

    pub(crate) fn launch(&self, exec: &SimExec, stream: &SimStream) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.exec_launch(exec, stream) }
    }

    pub(crate) fn destroy_exec(&self, exec: SimExec) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.exec_destroy(exec) }
    }

    /// From byte `skip` of the block on.
    pub(crate) fn upload(
        &self,
        to: DevicePtr,
        from: &PinnedMemory,
        skip: usize,
        bytes: u64,
        stream: &SimStream,
    ) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.copy_to_device(to, inside(from, skip), n(bytes), stream) }
    }

    pub(crate) fn download(&self, to: &PinnedMemory, from: DevicePtr, bytes: u64, stream: &SimStream) -> DriverResult {
        // SAFETY: as the block says.
        unsafe { self.driver.copy_to_host(to.address, from, n(bytes), stream) }
    }
}

fn inside(memory: &PinnedMemory, skip: usize) -> HostPtr {
    let start = memory.address.0.map_addr(|address| address.checked_add(skip).expect("inside the address space"));
    HostPtr(start)
}

/// Pinned memory as bytes, and what is done with them.
#[expect(unsafe_code, reason = "pinned memory is reached by address")]
pub(crate) fn with_bytes<R>(memory: &PinnedMemory, f: impl FnOnce(&mut [u8]) -> R) -> R {
    // SAFETY: the block is live and that long, and each test looks at it from one thread while no copy runs.
    f(unsafe { std::slice::from_raw_parts_mut(memory.address.0.as_ptr(), memory.bytes.get() as usize) })
}
