//! Each rule, broken once: it is answered, counted and named.

use std::num::NonZeroU64;

use graphreel::error::{DriverErrorKind, FaultClass};
use graphreel::graph::driver::{
    CaptureMode, CaptureState, CopyEnd, DeviceMemory, DevicePtr, EventTiming, NodeCopy, NodeFill, PinnedMemory,
};
use graphreel::graph::{Driver, DriverResult};

use super::rig::{Rig, n};
use crate::{Rule, SimDriver, SimExec, SimGraph, SimNode, SimOptions, SimStream};

/// The result is the answer to misuse.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: DriverResult<T>) {
    let error = result.unwrap_err();
    assert_eq!((error.code, error.kind, error.class), (-1, DriverErrorKind::Refused, FaultClass::CallLocal));
    assert!(error.name.starts_with("misuse: "), "{error}");
}

fn fill_of(memory: &DeviceMemory) -> NodeFill {
    NodeFill { dst: memory.address, word: 1, words: NonZeroU64::MIN }
}

/// A graph of one fill, with its executable.
fn one_fill(rig: &Rig, memory: &DeviceMemory) -> (SimGraph, SimNode, SimExec) {
    let mut graph = rig.driver.graph_create().unwrap();
    let node = rig.add_fill(&mut graph, &[], &fill_of(memory)).unwrap();
    let exec = rig.driver.graph_instantiate(&graph).unwrap();
    (graph, node, exec)
}

fn again(memory: &DeviceMemory) -> DeviceMemory {
    DeviceMemory { address: memory.address, bytes: memory.bytes }
}

#[test]
fn contexts() {
    let rig = Rig::manual();
    let stranger = SimDriver::new(SimOptions::manual()).unwrap();
    rig.driver.context_set(None).unwrap();
    refused(rig.driver.stream_create());
    rig.driver.context_set(Some(stranger.context())).unwrap();
    refused(rig.driver.mem_info());
    rig.driver.context_set(Some(rig.driver.context())).unwrap();
    let elsewhere = std::thread::scope(|scope| scope.spawn(|| rig.driver.graph_create()).join().unwrap());
    refused(elsewhere);
    assert_eq!(rig.driver.context_current(), Ok(Some(rig.driver.context())));
    assert_eq!(rig.driver.capture_mode_exchange(CaptureMode::Relaxed), Ok(CaptureMode::Global));
    assert_eq!(rig.driver.capture_mode_exchange(CaptureMode::Global), Ok(CaptureMode::Relaxed));
    assert_eq!(rig.rules(), [Rule::ContextNotBound, Rule::OtherContext, Rule::ContextNotBound]);
    assert_eq!(rig.probe.live().total(), 0);
    assert!(rig.probe.check().unwrap_err().to_string().contains("mem_info: another device's context"));
}

#[test]
fn handles_of_another_device() {
    let (rig, other) = (Rig::manual(), Rig::manual());
    let (stream, event, memory) = (rig.stream(), rig.event(), rig.memory(4));
    refused(other.driver.event_record(&event, &stream));
    refused(other.try_fill(memory.address, 1, 1, &stream));
    let foreign = other.stream();
    refused(rig.destroy_stream(foreign));
    assert_eq!(rig.rules(), [Rule::ForeignHandle]);
    assert_eq!(other.rules(), [Rule::ForeignHandle; 2]);
    assert_eq!(other.probe.live().streams, 1, "the handle is consumed, its stream stays alive");
}

#[test]
fn captures_do_not_nest_or_end_twice() {
    let rig = Rig::manual();
    let stream = rig.stream();
    refused(rig.driver.capture_end(&stream));
    refused(rig.driver.capture_tail(&stream));
    rig.driver.capture_begin(&stream).unwrap();
    refused(rig.driver.capture_begin(&stream));
    assert_eq!(rig.driver.capture_state(&stream), Ok(CaptureState::Active), "a nested begin breaks nothing");
    let graph = rig.driver.capture_end(&stream).unwrap();
    rig.driver.graph_destroy(graph).unwrap();
    assert_eq!(rig.rules(), [Rule::NoCapture, Rule::NoCapture, Rule::NestedCapture]);
}

/// The stream's capture is broken: work is refused, only its end frees the stream.
#[track_caller]
fn broken(rig: &Rig, stream: &SimStream, memory: &DeviceMemory) {
    assert_eq!(rig.driver.capture_state(stream), Ok(CaptureState::Invalidated));
    let work = rig.try_fill(memory.address, 1, 1, stream).unwrap_err();
    assert_eq!(work.kind, DriverErrorKind::CaptureBroken);
    assert_eq!(rig.driver.capture_end(stream).unwrap_err().kind, DriverErrorKind::CaptureBroken);
    assert_eq!(rig.driver.capture_state(stream), Ok(CaptureState::None));
    assert_eq!(rig.probe.live().graphs, 0);
    rig.try_fill(memory.address, 1, 1, stream).unwrap();
}

#[test]
fn waits_across_the_edge_of_a_capture_break_it() {
    let rig = Rig::manual();
    let (stream, outside, memory) = (rig.stream(), rig.stream(), rig.memory(4));
    let event = rig.event();
    // In: an event from outside.
    rig.driver.event_record(&event, &outside).unwrap();
    rig.driver.capture_begin(&stream).unwrap();
    refused(rig.driver.stream_wait_event(&stream, &event));
    broken(&rig, &stream, &memory);
    // Out: a captured event, waited for outside.
    rig.driver.capture_begin(&stream).unwrap();
    rig.driver.event_record(&event, &stream).unwrap();
    refused(rig.driver.stream_wait_event(&outside, &event));
    broken(&rig, &stream, &memory);
    assert_eq!(rig.rules(), [Rule::CaptureEdge; 2]);
    rig.driver.event_destroy(event).unwrap();
}

#[test]
fn a_question_about_a_captured_event_breaks_its_capture() {
    let rig = Rig::manual();
    let (stream, memory, event) = (rig.stream(), rig.memory(4), rig.event());
    rig.driver.capture_begin(&stream).unwrap();
    rig.driver.event_record(&event, &stream).unwrap();
    refused(rig.driver.event_query(&event));
    broken(&rig, &stream, &memory);
    // The event of an old capture breaks no new one.
    rig.driver.capture_begin(&stream).unwrap();
    refused(rig.driver.event_query(&event));
    assert_eq!(rig.driver.capture_state(&stream), Ok(CaptureState::Active));
    rig.driver.graph_destroy(rig.driver.capture_end(&stream).unwrap()).unwrap();
    // Recorded again, it is as any other.
    rig.driver.event_record(&event, &stream).unwrap();
    assert_eq!(rig.driver.event_query(&event), Ok(false));
    assert_eq!(rig.rules(), [Rule::CapturedEvent; 2]);
    rig.driver.event_destroy(event).unwrap();
}

#[test]
fn graphs_are_not_launched_into_captures() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(4));
    let (graph, _, exec) = one_fill(&rig, &memory);
    rig.driver.graph_destroy(graph).unwrap();
    rig.driver.capture_begin(&stream).unwrap();
    refused(rig.launch(&exec, &stream));
    broken(&rig, &stream, &memory);
    rig.driver.capture_begin(&stream).unwrap();
    refused(rig.driver.exec_upload(&exec, &stream));
    broken(&rig, &stream, &memory);
    assert_eq!(rig.rules(), [Rule::LaunchIntoCapture; 2]);
    rig.destroy_exec(exec).unwrap();
}

#[test]
fn addresses() {
    let rig = Rig::manual();
    let (stream, memory, gone) = (rig.stream(), rig.memory(100), rig.memory(1000));
    let freed = gone.address;
    rig.free(gone).unwrap();
    refused(rig.try_fill(freed.offset(8).unwrap(), 1, 1, &stream));
    refused(rig.try_fill(DevicePtr(n(4096)), 1, 1, &stream));
    refused(rig.try_fill(memory.address, 1, 26, &stream));
    refused(rig.try_fill(memory.address, 1, u64::MAX, &stream));
    refused(rig.try_fill(memory.address.offset(100).unwrap(), 1, 1, &stream));
    refused(rig.try_fill(memory.address.offset(2).unwrap(), 1, 1, &stream));
    refused(rig.copy(memory.address.offset(20).unwrap(), memory.address, 21, &stream));
    rig.try_fill(memory.address, 1, 25, &stream).unwrap();
    assert_eq!(
        rig.rules(),
        [
            Rule::UseAfterFree,
            Rule::NoAllocation,
            Rule::PastTheEnd,
            Rule::PastTheEnd,
            Rule::NoAllocation,
            Rule::Misaligned,
            Rule::Overlap
        ]
    );
}

#[test]
fn frees() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(8));
    let twice = again(&memory);
    let part = DeviceMemory { address: memory.address.offset(4).unwrap(), bytes: n(4) };
    refused(rig.free(part));
    rig.try_fill(memory.address, 1, 1, &stream).unwrap();
    refused(rig.free(memory));
    refused(rig.free(twice));
    assert_eq!(rig.rules(), [Rule::BadFree, Rule::MemoryInUse, Rule::BadFree]);
    assert_eq!(rig.probe.live().memory, 0, "a failed free gives the memory back");
    // The work that was left behind reaches nothing any more.
    rig.probe.run_all();
    let event = rig.driver.event_create(EventTiming::Off).unwrap_err();
    assert_eq!((event.kind, event.class), (DriverErrorKind::Lost, FaultClass::ContextFatal));
    assert!(event.name.contains("fill freed m1+0"), "{event}");
}

#[test]
fn memory_of_executables_and_captures() {
    let rig = Rig::manual();
    let stream = rig.stream();
    let (a, b, c) = (rig.memory(4), rig.memory(4), rig.memory(4));
    let (graph, _, exec) = one_fill(&rig, &a);
    refused(rig.free(a));
    rig.destroy_exec(exec).unwrap();
    // The graph is still there and names what is gone.
    refused(rig.driver.graph_instantiate(&graph));
    rig.driver.graph_destroy(graph).unwrap();
    rig.driver.capture_begin(&stream).unwrap();
    rig.try_fill(b.address, 1, 1, &stream).unwrap();
    refused(rig.free(b));
    rig.driver.graph_destroy(rig.driver.capture_end(&stream).unwrap()).unwrap();
    // An update moves the use.
    let d = rig.memory(4);
    let (graph, node, mut exec) = one_fill(&rig, &c);
    rig.set_fill(&mut exec, node, &fill_of(&d)).unwrap();
    rig.free(c).unwrap();
    refused(rig.free(d));
    assert_eq!(rig.rules(), [Rule::MemoryInUse, Rule::UseAfterFree, Rule::MemoryInUse, Rule::MemoryInUse]);
    rig.destroy_exec(exec).unwrap();
    rig.driver.graph_destroy(graph).unwrap();
}

#[test]
fn pinned_memory() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(64));
    let host = rig.driver.pinned_alloc(n(64)).unwrap();
    let late = PinnedMemory { address: host.address, bytes: host.bytes };
    refused(rig.upload(memory.address, &host, 60, 8, &stream));
    rig.upload(memory.address, &host, 0, 64, &stream).unwrap();
    refused(rig.free_pinned(host));
    rig.probe.run_all();
    refused(rig.upload(memory.address, &late, 0, 8, &stream));
    // A copy in an executable.
    let host = rig.driver.pinned_alloc(n(64)).unwrap();
    let mut graph = rig.driver.graph_create().unwrap();
    let ends = NodeCopy { src: CopyEnd::Host(host.address), dst: CopyEnd::Device(memory.address), bytes: n(64) };
    rig.add_copy(&mut graph, &[], &ends).unwrap();
    let both = NodeCopy { dst: CopyEnd::Host(host.address), ..ends };
    refused(rig.add_copy(&mut graph, &[], &both));
    let exec = rig.driver.graph_instantiate(&graph).unwrap();
    refused(rig.free_pinned(host));
    let rules = [Rule::PastTheEnd, Rule::MemoryInUse, Rule::UseAfterFree, Rule::HostToHost, Rule::MemoryInUse];
    assert_eq!(rig.rules(), rules);
    rig.destroy_exec(exec).unwrap();
    rig.driver.graph_destroy(graph).unwrap();
}

#[test]
fn streams_that_are_not_done() {
    let rig = Rig::manual();
    let (busy, capturing, memory) = (rig.stream(), rig.stream(), rig.memory(4));
    let event = rig.event();
    rig.try_fill(memory.address, 1, 1, &busy).unwrap();
    rig.driver.event_record(&event, &busy).unwrap();
    rig.driver.capture_begin(&capturing).unwrap();
    rig.try_fill(memory.address, 1, 1, &capturing).unwrap();
    refused(rig.destroy_stream(busy));
    refused(rig.destroy_stream(capturing));
    assert_eq!(rig.rules(), [Rule::BusyStream, Rule::CapturingStream]);
    assert_eq!(rig.driver.event_query(&event), Ok(true), "nobody waits for dropped work for ever");
    rig.free(memory).unwrap();
    rig.driver.event_destroy(event).unwrap();
    assert_eq!(rig.probe.live().total(), 0);
}

#[test]
fn executables_in_flight_and_nodes_of_other_graphs() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(8));
    let (graph, node, mut exec) = one_fill(&rig, &memory);
    let (other, foreign, idle) = one_fill(&rig, &memory);
    let fill = fill_of(&memory);
    let copy = NodeCopy {
        src: CopyEnd::Device(memory.address),
        dst: CopyEnd::Device(memory.address.offset(4).unwrap()),
        bytes: n(4),
    };
    refused(rig.set_fill(&mut exec, foreign, &fill));
    refused(rig.set_copy(&mut exec, node, &copy));
    rig.launch(&exec, &stream).unwrap();
    rig.driver.graph_destroy(graph).unwrap();
    refused(rig.set_fill(&mut exec, node, &fill));
    refused(rig.destroy_exec(exec));
    rig.probe.run_all();
    rig.destroy_exec(idle).unwrap();
    rig.driver.graph_destroy(other).unwrap();
    assert_eq!(rig.rules(), [Rule::ForeignNode, Rule::NodeKind, Rule::ForeignNode, Rule::ExecInFlight]);
    assert_eq!(rig.probe.live().execs, 0);
}

#[test]
fn edges() {
    let rig = Rig::manual();
    let memory = rig.memory(4);
    let mut graph = rig.driver.graph_create().unwrap();
    let mut other = rig.driver.graph_create().unwrap();
    let fill = fill_of(&memory);
    let a = rig.add_fill(&mut graph, &[], &fill).unwrap();
    let b = rig.add_fill(&mut graph, &[a], &fill).unwrap();
    refused(rig.add_fill(&mut graph, &[a, a], &fill));
    refused(rig.add_fill(&mut other, &[a], &fill));
    refused(rig.driver.graph_add_edges(&mut graph, &[(a, b)]));
    refused(rig.driver.graph_add_edges(&mut graph, &[(a, a)]));
    assert_eq!(rig.driver.graph_nodes(&graph), Ok(2));
    rig.driver.graph_add_edges(&mut graph, &[(b, a)]).unwrap();
    refused(rig.driver.graph_instantiate(&graph));
    let rules = [Rule::BadEdge, Rule::ForeignNode, Rule::BadEdge, Rule::BadEdge, Rule::BadEdge];
    assert_eq!(rig.rules(), rules);
    rig.driver.graph_destroy(graph).unwrap();
    rig.driver.graph_destroy(other).unwrap();
}

#[test]
fn events_without_time() {
    let rig = Rig::manual();
    let stream = rig.stream();
    let [plain, never] = [EventTiming::Off, EventTiming::On].map(|timing| rig.driver.event_create(timing).unwrap());
    rig.driver.event_record(&plain, &stream).unwrap();
    rig.probe.run_all();
    refused(rig.driver.event_elapsed(&plain, &plain));
    refused(rig.driver.event_elapsed(&never, &never));
    assert_eq!(rig.rules(), [Rule::NoTime; 2]);
    rig.driver.event_destroy(plain).unwrap();
    rig.driver.event_destroy(never).unwrap();
}

#[test]
fn what_the_capabilities_rule_out() {
    let options = SimOptions {
        graph_upload: false,
        capture_tail: false,
        free_waits_for_device: true,
        updates_per_exec_max: Some(1),
        ..SimOptions::manual()
    };
    let rig = Rig::new(options);
    assert!(!rig.driver.caps().graph_upload && !rig.driver.caps().capture_tail);
    let (stream, memory, other) = (rig.stream(), rig.memory(4), rig.memory(4));
    let (graph, node, mut exec) = one_fill(&rig, &memory);
    let fill = fill_of(&memory);
    refused(rig.driver.exec_upload(&exec, &stream));
    rig.set_fill(&mut exec, node, &fill).unwrap();
    refused(rig.set_fill(&mut exec, node, &fill));
    rig.driver.graph_destroy(graph).unwrap();
    rig.driver.capture_begin(&stream).unwrap();
    refused(rig.driver.capture_tail(&stream));
    refused(rig.free(other));
    broken(&rig, &stream, &memory);
    assert_eq!(rig.rules(), [Rule::NotInCaps, Rule::TooManyUpdates, Rule::NotInCaps, Rule::WaitInCapture]);
    let rigid = Rig::new(SimOptions { relaxed_capture: false, ..SimOptions::manual() });
    let stream = rigid.stream();
    refused(rigid.driver.capture_begin(&stream));
    assert_eq!(rigid.rules(), [Rule::NotInCaps]);
    rig.destroy_exec(exec).unwrap();
}

#[test]
fn dropped_handles_stay_alive_and_hold_up_the_close() {
    let rig = Rig::manual();
    drop(rig.stream());
    drop(rig.event());
    let memory = rig.memory(4);
    assert_eq!((rig.probe.leaked(), rig.probe.live().total()), (2, 3));
    let probe = rig.probe.clone();
    refused(rig.driver.close());
    drop(memory);
    let unclean = probe.check().unwrap_err();
    assert_eq!((unclean.live.streams, unclean.live.memory), (1, 1));
    let text = unclean.to_string();
    assert!(text.contains("streams: 1, events: 1, device memory: 1; misuse: close: handles are alive"), "{text}");
}

#[test]
fn a_freed_address_is_the_next_one_and_its_bytes_are_garbage() {
    let rig = Rig::manual();
    let (stream, first, second) = (rig.stream(), rig.memory(512), rig.memory(512));
    rig.fill(first.address, 7, 128, &stream);
    rig.probe.run_all();
    let (stale, other) = (first.address, second.address);
    rig.give_back([], [second, first]);
    let next = rig.memory(100);
    assert_eq!(next.address, stale, "what was freed last comes first");
    assert!(!rig.words(next.address, 25).contains(&7), "old bytes are gone");
    let after = rig.memory(512);
    assert_eq!(after.address, other);
    rig.give_back([stream], [next, after]);
    rig.close();
}

#[test]
fn memory_is_bounded() {
    let rig = Rig::new(SimOptions { memory_bytes: 1024, ..SimOptions::manual() });
    let memory = rig.memory(700);
    for bytes in [300, u64::MAX] {
        let error = rig.driver.mem_alloc(n(bytes)).unwrap_err();
        assert_eq!((error.kind, error.class), (DriverErrorKind::OutOfMemory, FaultClass::CallLocal));
        assert!(rig.driver.pinned_alloc(n(bytes.max(2000))).is_err());
    }
    assert_eq!(rig.driver.mem_info().unwrap().free, 256);
    rig.give_back([], [memory]);
    assert_eq!(rig.driver.mem_info().unwrap().free, 1024);
    rig.close();
}
