//! Any driver, watched: what it made and was not given back is counted, and replays fail where a test says so. With it the
//! conformance suite injects faults and finds leaks on real devices, whose drivers keep no books.

#![expect(unsafe_code, reason = "the waist declares unsafe methods")]

use std::ffi::CStr;
use std::num::NonZeroU64;
use std::time::Duration;

use graphreel::error::{DriverError, DriverErrorKind, FaultClass};
use graphreel::graph::driver::{
    CaptureMode, CaptureState, DeviceBytes, DeviceMemory, DevicePtr, DriverCaps, DriverFacts, EventTiming,
    FunctionAttribute, HostPtr, KernelParams, LaunchShape, NodeCopy, NodeFill, PinnedMemory,
};
use graphreel::graph::{Driver, DriverResult, HardwareServer};
use graphreel::recording::Tier;
use graphreel::sync::{Arc, Mutex};
use graphreel::{Device, Server as _};

use crate::Faults;

/// A driver that passes every call on.
#[derive(Debug)]
pub struct Watched<D> {
    driver: D,
    watch: Watch,
}

/// A view of a watched driver that outlives it.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    live: Live,
    faults: Injected,
}

/// Handles that were made and not given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is a count of what it is called")]
pub struct Live {
    pub streams: i64,
    pub events: i64,
    pub modules: i64,
    pub graphs: i64,
    pub execs: i64,
    pub memory: i64,
    pub pinned: i64,
    pub drivers: i64,
}

/// Failures to come.
#[derive(Debug, Default)]
struct Injected {
    /// Replays are launches of operations one by one.
    eager: bool,
    /// Replays that are to be refused.
    refuse: u32,
    /// Replays whose end nobody is to know.
    fault: u32,
    /// The next event is not recorded.
    unknown_end: bool,
}

impl Watch {
    /// What is alive now.
    pub fn live(&self) -> Live {
        self.0.lock().live
    }

    fn count(&self, change: impl FnOnce(&mut Live)) {
        change(&mut self.0.lock().live);
    }

    /// Count what a call made.
    fn made<T>(&self, made: DriverResult<T>, which: impl FnOnce(&mut Live) -> &mut i64) -> DriverResult<T> {
        if made.is_ok() {
            self.count(|live| *which(live) += 1);
        }
        made
    }

    /// What a replay begins with, on a driver that launches graphs or on one that launches operations.
    fn replays(&self, call: &'static str, eager: bool) -> DriverResult {
        let faults = &mut self.0.lock().faults;
        if faults.eager != eager {
            return Ok(());
        }
        if faults.refuse > 0 {
            faults.refuse -= 1;
            return Err(refused(call));
        }
        if faults.fault > 0 {
            faults.fault -= 1;
            faults.unknown_end = true;
        }
        Ok(())
    }

    fn records(&self) -> DriverResult {
        let faults = &mut self.0.lock().faults;
        if std::mem::take(&mut faults.unknown_end) { Err(refused("event_record")) } else { Ok(()) }
    }
}

fn refused(call: &'static str) -> DriverError {
    let name = "a fault that the test injects".to_owned();
    DriverError { call, code: -1, name, kind: DriverErrorKind::Refused, class: FaultClass::CallLocal, log: None }
}

/// Faults of devices over a watched driver.
#[derive(Clone, Copy, Debug)]
pub struct WatchedFaults<D>(pub std::marker::PhantomData<fn() -> D>);

impl<D: Driver> WatchedFaults<D> {
    fn inject(device: &Device, change: impl FnOnce(&mut Injected)) {
        let eager = device.caps().tiers.first() == Some(&Tier::Eager);
        let watch = device.with_server(|server: &mut HardwareServer<Watched<D>>| server.driver().watch());
        let watch = watch.expect("the device is over a watched driver");
        let faults = &mut watch.0.lock().faults;
        faults.eager = eager;
        change(faults);
    }
}

impl<D: Driver> Faults for WatchedFaults<D> {
    fn refuse_replays(&self, device: &Device, times: u32) {
        Self::inject(device, |faults| faults.refuse = times);
    }

    fn fault_replays(&self, device: &Device, times: u32) {
        Self::inject(device, |faults| faults.fault = times);
    }

    fn lose(&self, device: &Device) {
        let told = device.with_server(|server: &mut HardwareServer<Watched<D>>| {
            server.lose("the test took it away");
            server.caps()
        });
        told.expect("the device is over a watched driver");
    }
}

impl<D: Driver> Watched<D> {
    /// Watch a driver that was just opened.
    pub fn new(driver: D) -> Self {
        let watch = Watch::default();
        watch.count(|live| live.drivers += 1);
        Self { driver, watch }
    }

    /// A view of it.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// What is watched.
    pub fn inner(&self) -> &D {
        &self.driver
    }
}

/// Methods that only pass on.
macro_rules! pass {
    ($(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        $(fn $name(&self $(, $arg: $ty)*) -> $out {
            self.driver.$name($($arg),*)
        })*
    };
}

/// Unsafe methods that only pass on.
macro_rules! pass_unsafe {
    ($(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        $(unsafe fn $name(&self $(, $arg: $ty)*) -> $out {
            // SAFETY: the caller upholds this method's contract, which is the same.
            unsafe { self.driver.$name($($arg),*) }
        })*
    };
}

/// Methods that make something, or destroy it, and count it.
macro_rules! counted {
    ($(made fn $made:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty, $field:ident;)*
     $(gone fn $gone:ident($handle:ty), $of:ident;)*) => {
        $(fn $made(&self $(, $arg: $ty)*) -> DriverResult<$out> {
            self.watch.made(self.driver.$made($($arg),*), |live| &mut live.$field)
        })*
        $(unsafe fn $gone(&self, handle: $handle) -> DriverResult {
            self.watch.count(|live| live.$of -= 1);
            // SAFETY: the caller upholds this method's contract, which is the same.
            unsafe { self.driver.$gone(handle) }
        })*
    };
}

impl<D: Driver> Driver for Watched<D> {
    type Context = D::Context;
    type Stream = D::Stream;
    type Event = D::Event;
    type Module = D::Module;
    type Function = D::Function;
    type Graph = D::Graph;
    type Node = D::Node;
    type Exec = D::Exec;

    pass! {
        fn caps(&self) -> &DriverCaps;
        fn facts(&self) -> &DriverFacts;
        fn context(&self) -> D::Context;
        fn context_current(&self) -> DriverResult<Option<D::Context>>;
        fn context_set(&self, context: Option<D::Context>) -> DriverResult;
        fn mem_info(&self) -> DriverResult<DeviceBytes>;
        fn stream_wait_event(&self, stream: &D::Stream, event: &D::Event) -> DriverResult;
        fn event_query(&self, event: &D::Event) -> DriverResult<bool>;
        fn event_elapsed(&self, from: &D::Event, to: &D::Event) -> DriverResult<Duration>;
        fn module_function(&self, module: &D::Module, name: &CStr) -> DriverResult<D::Function>;
        fn function_attribute(&self, function: D::Function, attribute: FunctionAttribute) -> DriverResult<u32>;
        fn function_allow_shared(&self, function: D::Function, bytes: u32) -> DriverResult;
        fn capture_begin(&self, stream: &D::Stream) -> DriverResult;
        fn capture_state(&self, stream: &D::Stream) -> DriverResult<CaptureState>;
        fn capture_tail(&self, stream: &D::Stream) -> DriverResult<Vec<D::Node>>;
        fn capture_mode_exchange(&self, mode: CaptureMode) -> DriverResult<CaptureMode>;
        fn graph_add_edges(&self, graph: &mut D::Graph, edges: &[(D::Node, D::Node)]) -> DriverResult;
        fn graph_nodes(&self, graph: &D::Graph) -> DriverResult<usize>;
        fn exec_upload(&self, exec: &D::Exec, stream: &D::Stream) -> DriverResult;
    }

    pass_unsafe! {
        fn copy_to_device(&self, dst: DevicePtr, src: HostPtr, bytes: NonZeroU64, on: &D::Stream) -> DriverResult;
        fn copy_to_host(&self, dst: HostPtr, src: DevicePtr, bytes: NonZeroU64, on: &D::Stream) -> DriverResult;
        fn copy_on_device(&self, dst: DevicePtr, src: DevicePtr, bytes: NonZeroU64, on: &D::Stream) -> DriverResult;
        fn fill(&self, dst: DevicePtr, word: u32, words: NonZeroU64, on: &D::Stream) -> DriverResult;
        fn graph_add_launch(&self, graph: &mut D::Graph, after: &[D::Node], function: D::Function, shape: &LaunchShape, params: KernelParams<'_>) -> DriverResult<D::Node>;
        fn graph_add_copy(&self, graph: &mut D::Graph, after: &[D::Node], copy: &NodeCopy) -> DriverResult<D::Node>;
        fn graph_add_fill(&self, graph: &mut D::Graph, after: &[D::Node], fill: &NodeFill) -> DriverResult<D::Node>;
        fn exec_set_launch(&self, exec: &mut D::Exec, node: D::Node, function: D::Function, shape: &LaunchShape, params: KernelParams<'_>) -> DriverResult;
        fn exec_set_copy(&self, exec: &mut D::Exec, node: D::Node, copy: &NodeCopy) -> DriverResult;
        fn exec_set_fill(&self, exec: &mut D::Exec, node: D::Node, fill: &NodeFill) -> DriverResult;
        fn exec_update(&self, exec: &mut D::Exec, graph: &D::Graph) -> DriverResult;
    }

    counted! {
        made fn stream_create(&self) -> D::Stream, streams;
        made fn event_create(&self, timing: EventTiming) -> D::Event, events;
        made fn mem_alloc(&self, bytes: NonZeroU64) -> DeviceMemory, memory;
        made fn pinned_alloc(&self, bytes: NonZeroU64) -> PinnedMemory, pinned;
        made fn capture_end(&self, stream: &D::Stream) -> D::Graph, graphs;
        made fn graph_create(&self) -> D::Graph, graphs;
        made fn graph_instantiate(&self, graph: &D::Graph) -> D::Exec, execs;
        gone fn stream_destroy(D::Stream), streams;
        gone fn mem_free(DeviceMemory), memory;
        gone fn pinned_free(PinnedMemory), pinned;
        gone fn module_unload(D::Module), modules;
        gone fn exec_destroy(D::Exec), execs;
    }

    fn close(self) -> DriverResult {
        self.watch.count(|live| live.drivers -= 1);
        self.driver.close()
    }

    fn event_destroy(&self, event: D::Event) -> DriverResult {
        self.watch.count(|live| live.events -= 1);
        self.driver.event_destroy(event)
    }

    fn event_record(&self, event: &D::Event, stream: &D::Stream) -> DriverResult {
        self.watch.records()?;
        self.driver.event_record(event, stream)
    }

    unsafe fn module_load(&self, image: &[u8]) -> DriverResult<D::Module> {
        // SAFETY: the caller upholds this method's contract, which is the same.
        let made = unsafe { self.driver.module_load(image) };
        self.watch.made(made, |live| &mut live.modules)
    }

    unsafe fn launch(
        &self,
        function: D::Function,
        shape: &LaunchShape,
        params: KernelParams<'_>,
        on: &D::Stream,
    ) -> DriverResult {
        self.watch.replays("launch", true)?;
        // SAFETY: the caller upholds this method's contract, which is the same.
        unsafe { self.driver.launch(function, shape, params, on) }
    }

    fn graph_destroy(&self, graph: D::Graph) -> DriverResult {
        self.watch.count(|live| live.graphs -= 1);
        self.driver.graph_destroy(graph)
    }

    unsafe fn exec_launch(&self, exec: &D::Exec, stream: &D::Stream) -> DriverResult {
        self.watch.replays("exec_launch", false)?;
        // SAFETY: the caller upholds this method's contract, which is the same.
        unsafe { self.driver.exec_launch(exec, stream) }
    }
}
