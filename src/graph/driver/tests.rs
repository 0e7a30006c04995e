//! The waist can be implemented and used with nothing but its public items.

use std::collections::BTreeSet;

use super::*;
use crate::error::{DriverErrorKind, FaultClass};
use crate::sync::Mutex;

/// Counts what is alive and lists what was called. No device.
struct Fake {
    caps: DriverCaps,
    facts: DriverFacts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    live: BTreeSet<u64>,
    calls: Vec<&'static str>,
    capturing: Option<Vec<u64>>,
}

/// A handle of every kind.
struct Id(u64);

impl Fake {
    fn new() -> Self {
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
            event_resolution_ns: 500,
        };
        let facts = DriverFacts {
            name: "fake".into(),
            architecture: "none".into(),
            driver: "0".into(),
            pci: None,
            uuid: None,
            memory_bytes: 0,
            integrated: false,
        };
        Self { caps, facts, state: Mutex::default() }
    }

    fn make(&self, call: &'static str) -> DriverResult<Id> {
        let mut state = self.state.lock();
        state.calls.push(call);
        state.next += 1;
        let id = state.next;
        state.live.insert(id);
        Ok(Id(id))
    }

    fn destroy(&self, call: &'static str, id: u64) -> DriverResult {
        let mut state = self.state.lock();
        state.calls.push(call);
        if state.live.remove(&id) { Ok(()) } else { Err(refused(call)) }
    }

    fn call<T>(&self, call: &'static str, value: T) -> DriverResult<T> {
        self.state.lock().calls.push(call);
        Ok(value)
    }

    /// Work on a stream: recorded while one captures.
    fn work(&self, call: &'static str) -> DriverResult {
        let mut state = self.state.lock();
        state.calls.push(call);
        let node = state.calls.len() as u64;
        if let Some(nodes) = &mut state.capturing {
            nodes.push(node);
        }
        Ok(())
    }
}

fn refused(call: &'static str) -> DriverError {
    DriverError {
        call,
        code: 1,
        name: "refused".into(),
        kind: DriverErrorKind::Refused,
        class: FaultClass::CallLocal,
        log: None,
    }
}

#[expect(unsafe_code, reason = "the waist declares unsafe methods")]
impl Driver for Fake {
    type Context = u32;
    type Stream = Id;
    type Event = Id;
    type Module = Id;
    type Function = u64;
    type Graph = (Id, Vec<u64>);
    type Node = u64;
    type Exec = Id;

    fn caps(&self) -> &DriverCaps {
        &self.caps
    }
    fn facts(&self) -> &DriverFacts {
        &self.facts
    }
    fn context(&self) -> u32 {
        7
    }
    fn context_current(&self) -> DriverResult<Option<u32>> {
        self.call("context_current", None)
    }
    fn context_set(&self, _context: Option<u32>) -> DriverResult {
        self.call("context_set", ())
    }
    fn close(self) -> DriverResult {
        if self.state.lock().live.is_empty() { Ok(()) } else { Err(refused("close")) }
    }
    fn mem_info(&self) -> DriverResult<DeviceBytes> {
        self.call("mem_info", DeviceBytes { free: 0, total: 0 })
    }
    fn stream_create(&self) -> DriverResult<Id> {
        self.make("stream_create")
    }
    unsafe fn stream_destroy(&self, stream: Id) -> DriverResult {
        self.destroy("stream_destroy", stream.0)
    }
    fn stream_wait_event(&self, _stream: &Id, _event: &Id) -> DriverResult {
        self.work("stream_wait_event")
    }
    fn event_create(&self, _timing: EventTiming) -> DriverResult<Id> {
        self.make("event_create")
    }
    fn event_destroy(&self, event: Id) -> DriverResult {
        self.destroy("event_destroy", event.0)
    }
    fn event_record(&self, _event: &Id, _stream: &Id) -> DriverResult {
        self.call("event_record", ())
    }
    fn event_query(&self, _event: &Id) -> DriverResult<bool> {
        self.call("event_query", true)
    }
    fn event_elapsed(&self, _from: &Id, _to: &Id) -> DriverResult<Duration> {
        self.call("event_elapsed", Duration::ZERO)
    }
    fn mem_alloc(&self, bytes: NonZeroU64) -> DriverResult<DeviceMemory> {
        let id = self.make("mem_alloc")?;
        let address = NonZeroU64::new(id.0 << 32).map(DevicePtr).ok_or_else(|| refused("mem_alloc"))?;
        Ok(DeviceMemory { address, bytes })
    }
    unsafe fn mem_free(&self, memory: DeviceMemory) -> DriverResult {
        self.destroy("mem_free", memory.address.0.get() >> 32)
    }
    fn pinned_alloc(&self, _bytes: NonZeroU64) -> DriverResult<PinnedMemory> {
        Err(refused("pinned_alloc"))
    }
    unsafe fn pinned_free(&self, _memory: PinnedMemory) -> DriverResult {
        Err(refused("pinned_free"))
    }
    unsafe fn copy_to_device(&self, _dst: DevicePtr, _src: HostPtr, _bytes: NonZeroU64, _stream: &Id) -> DriverResult {
        self.work("copy_to_device")
    }
    unsafe fn copy_to_host(&self, _dst: HostPtr, _src: DevicePtr, _bytes: NonZeroU64, _stream: &Id) -> DriverResult {
        self.work("copy_to_host")
    }
    unsafe fn copy_on_device(&self, _dst: DevicePtr, _src: DevicePtr, _n: NonZeroU64, _stream: &Id) -> DriverResult {
        self.work("copy_on_device")
    }
    unsafe fn fill(&self, _dst: DevicePtr, _word: u32, _words: NonZeroU64, _stream: &Id) -> DriverResult {
        self.work("fill")
    }
    unsafe fn module_load(&self, _image: &[u8]) -> DriverResult<Id> {
        self.make("module_load")
    }
    fn module_function(&self, _module: &Id, _name: &CStr) -> DriverResult<u64> {
        self.call("module_function", 1)
    }
    unsafe fn module_unload(&self, module: Id) -> DriverResult {
        self.destroy("module_unload", module.0)
    }
    fn function_attribute(&self, _function: u64, _attribute: FunctionAttribute) -> DriverResult<u32> {
        self.call("function_attribute", 1024)
    }
    fn function_allow_shared(&self, _function: u64, _bytes: u32) -> DriverResult {
        self.call("function_allow_shared", ())
    }
    unsafe fn launch(&self, _f: u64, _shape: &LaunchShape, _params: KernelParams<'_>, _stream: &Id) -> DriverResult {
        self.work("launch")
    }
    fn capture_begin(&self, _stream: &Id) -> DriverResult {
        self.state.lock().capturing = Some(Vec::new());
        self.call("capture_begin", ())
    }
    fn capture_state(&self, _stream: &Id) -> DriverResult<CaptureState> {
        let active = self.state.lock().capturing.is_some();
        self.call("capture_state", if active { CaptureState::Active } else { CaptureState::None })
    }
    fn capture_tail(&self, _stream: &Id) -> DriverResult<Vec<u64>> {
        let tail = self.state.lock().capturing.as_ref().and_then(|nodes| nodes.last().copied());
        self.call("capture_tail", tail.into_iter().collect())
    }
    fn capture_end(&self, _stream: &Id) -> DriverResult<(Id, Vec<u64>)> {
        let nodes = self.state.lock().capturing.take().ok_or_else(|| refused("capture_end"))?;
        Ok((self.make("capture_end")?, nodes))
    }
    fn capture_mode_exchange(&self, _mode: CaptureMode) -> DriverResult<CaptureMode> {
        self.call("capture_mode_exchange", CaptureMode::Global)
    }
    fn graph_create(&self) -> DriverResult<(Id, Vec<u64>)> {
        Ok((self.make("graph_create")?, Vec::new()))
    }
    unsafe fn graph_add_launch(
        &self,
        graph: &mut (Id, Vec<u64>),
        _after: &[u64],
        _function: u64,
        _shape: &LaunchShape,
        _params: KernelParams<'_>,
    ) -> DriverResult<u64> {
        graph.1.push(0);
        self.call("graph_add_launch", graph.1.len() as u64)
    }
    unsafe fn graph_add_copy(&self, graph: &mut (Id, Vec<u64>), _after: &[u64], _copy: &NodeCopy) -> DriverResult<u64> {
        graph.1.push(0);
        self.call("graph_add_copy", graph.1.len() as u64)
    }
    unsafe fn graph_add_fill(&self, graph: &mut (Id, Vec<u64>), _after: &[u64], _fill: &NodeFill) -> DriverResult<u64> {
        graph.1.push(0);
        self.call("graph_add_fill", graph.1.len() as u64)
    }
    fn graph_add_edges(&self, _graph: &mut (Id, Vec<u64>), _edges: &[(u64, u64)]) -> DriverResult {
        self.call("graph_add_edges", ())
    }
    fn graph_nodes(&self, graph: &(Id, Vec<u64>)) -> DriverResult<usize> {
        self.call("graph_nodes", graph.1.len())
    }
    fn graph_instantiate(&self, _graph: &(Id, Vec<u64>)) -> DriverResult<Id> {
        self.make("graph_instantiate")
    }
    fn graph_destroy(&self, graph: (Id, Vec<u64>)) -> DriverResult {
        self.destroy("graph_destroy", graph.0.0)
    }
    fn exec_upload(&self, _exec: &Id, _stream: &Id) -> DriverResult {
        self.call("exec_upload", ())
    }
    unsafe fn exec_launch(&self, _exec: &Id, _stream: &Id) -> DriverResult {
        self.call("exec_launch", ())
    }
    unsafe fn exec_set_launch(
        &self,
        _exec: &mut Id,
        _node: u64,
        _function: u64,
        _shape: &LaunchShape,
        _params: KernelParams<'_>,
    ) -> DriverResult {
        self.call("exec_set_launch", ())
    }
    unsafe fn exec_set_copy(&self, _exec: &mut Id, _node: u64, _copy: &NodeCopy) -> DriverResult {
        self.call("exec_set_copy", ())
    }
    unsafe fn exec_set_fill(&self, _exec: &mut Id, _node: u64, _fill: &NodeFill) -> DriverResult {
        self.call("exec_set_fill", ())
    }
    unsafe fn exec_update(&self, _exec: &mut Id, _graph: &(Id, Vec<u64>)) -> DriverResult {
        self.call("exec_update", ())
    }
    unsafe fn exec_destroy(&self, exec: Id) -> DriverResult {
        self.destroy("exec_destroy", exec.0)
    }
}

/// Record two operations, replay them twice and give everything back: generic, as the server will be.
#[expect(unsafe_code, reason = "the waist declares unsafe methods")]
fn capture_and_replay<D: Driver>(driver: &D) -> DriverResult<usize> {
    let words = NonZeroU64::MIN;
    let stream = driver.stream_create()?;
    let memory = driver.mem_alloc(words.saturating_mul(NonZeroU64::new(4).unwrap()))?;
    driver.capture_begin(&stream)?;
    for word in [1, 2] {
        // SAFETY: the range lives until the end of this function, past every launch of the graph.
        unsafe { driver.fill(memory.address, word, words, &stream) }?;
    }
    assert_eq!(driver.capture_tail(&stream)?.len(), 1);
    let graph = driver.capture_end(&stream)?;
    let nodes = driver.graph_nodes(&graph)?;
    let exec = driver.graph_instantiate(&graph)?;
    for _ in 0..2 {
        // SAFETY: as above; nothing else uses the range.
        unsafe { driver.exec_launch(&exec, &stream) }?;
    }
    let done = driver.event_create(EventTiming::Off)?;
    driver.event_record(&done, &stream)?;
    assert!(driver.event_query(&done)?);
    driver.event_destroy(done)?;
    // SAFETY: the event said that all launches are done.
    unsafe { driver.exec_destroy(exec) }?;
    driver.graph_destroy(graph)?;
    // SAFETY: the event said that all work on it is done.
    unsafe { driver.mem_free(memory) }?;
    // SAFETY: the event said that all its work is done, and its capture has ended.
    unsafe { driver.stream_destroy(stream) }?;
    Ok(nodes)
}

#[test]
fn a_driver_can_be_written_and_driven_with_public_items() {
    let fake = Fake::new();
    assert_eq!(capture_and_replay(&fake), Ok(2));
    let calls = fake.state.lock().calls.clone();
    assert_eq!(calls.iter().filter(|call| **call == "exec_launch").count(), 2, "{calls:?}");
    assert_eq!(calls.last(), Some(&"stream_destroy"), "{calls:?}");
    assert_eq!(fake.close(), Ok(()), "every handle was given back");
}

#[test]
fn ending_without_a_capture_is_refused_and_leaves_no_graph() {
    let fake = Fake::new();
    let stream = fake.stream_create().unwrap();
    let Err(error) = fake.capture_end(&stream) else { panic!("nothing was recording") };
    assert_eq!((error.call, error.kind), ("capture_end", DriverErrorKind::Refused));
    assert_eq!(fake.state.lock().live.len(), 1);
    assert!(fake.close().is_err(), "the stream is alive");
}

#[test]
fn addresses_do_not_wrap() {
    let last = DevicePtr(NonZeroU64::MAX);
    assert_eq!(last.offset(1), None);
    assert_eq!(DevicePtr(NonZeroU64::MIN).offset(255), NonZeroU64::new(256).map(DevicePtr));
}
