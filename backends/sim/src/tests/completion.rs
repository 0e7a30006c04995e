//! When and in what order work runs, and that its results are those of the order.

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use graphreel::graph::Driver;
use graphreel::graph::driver::{CopyEnd, DeviceMemory, EventTiming, NodeCopy, NodeFill};

use super::rig::{Rig, n, with_bytes};
use crate::{Completion, SimOptions, SimStream};

fn prompt() -> SimOptions {
    SimOptions { trace: 1_000, ..SimOptions::default() }
}

/// Upload, copy, fill, and download on two streams joined by an event.
fn round_trip(rig: &Rig) {
    let driver = &rig.driver;
    let (first, second) = (rig.stream(), rig.stream());
    let (a, b) = (rig.memory(1 << 20), rig.memory(1 << 20));
    let host = driver.pinned_alloc(n(1 << 20)).unwrap();
    let expected: Vec<u8> = (0..1 << 20).map(|index| (index % 251) as u8).collect();
    with_bytes(&host, |bytes| bytes.copy_from_slice(&expected));
    let event = rig.event();
    rig.upload(a.address, &host, 0, 1 << 20, &first).unwrap();
    driver.event_record(&event, &first).unwrap();
    driver.stream_wait_event(&second, &event).unwrap();
    rig.copy(b.address, a.address, 1 << 20, &second).unwrap();
    rig.fill(b.address.offset(4).unwrap(), 0x0102_0304, 2, &second);
    rig.drain(&second);
    with_bytes(&host, |bytes| bytes.fill(0));
    rig.download(&host, b.address.offset(1).unwrap(), 1001, &second).unwrap();
    rig.drain(&second);
    let mut now = expected;
    now[4..12].copy_from_slice(&[4, 3, 2, 1, 4, 3, 2, 1]);
    with_bytes(&host, |bytes| assert_eq!(bytes[..1001], now[1..1002]));
    driver.event_destroy(event).unwrap();
    rig.free_pinned(host).unwrap();
    rig.give_back([first, second], [a, b]);
}

#[test]
fn bytes_go_round_in_every_mode() {
    let rig = Rig::new(prompt());
    round_trip(&rig);
    rig.close();
    for seed in 0..20 {
        let rig = Rig::new(SimOptions::seeded(seed));
        round_trip(&rig);
        rig.close();
    }
}

#[test]
fn nothing_runs_by_itself_in_manual_mode() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(8));
    let event = rig.event();
    rig.fill(memory.address, 1, 1, &stream);
    rig.fill(memory.address, 2, 1, &stream);
    rig.driver.event_record(&event, &stream).unwrap();
    let before = rig.words(memory.address, 1);
    assert_eq!(before[0] & 0xffff_0000, 0xdead_0000, "garbage: {before:x?}");
    assert_eq!(rig.driver.event_query(&event), Ok(false));
    assert_eq!(rig.probe.pending(), 3);
    assert!(rig.probe.run_one());
    assert_eq!(rig.words(memory.address, 1), [1], "a stream is first in, first out");
    rig.probe.run_all();
    assert_eq!(rig.words(memory.address, 1), [2]);
    assert_eq!(rig.driver.event_query(&event), Ok(true));
    assert!(!rig.probe.run_one());
    assert_eq!(rig.probe.ran(), ["s1 fill m1+0 = 0x1 x1", "s1 fill m1+0 = 0x2 x1"]);
    rig.driver.event_destroy(event).unwrap();
    rig.give_back([stream], [memory]);
    rig.close();
}

#[test]
fn a_wait_binds_to_the_record_before_it() {
    let rig = Rig::manual();
    let (first, second) = (rig.stream(), rig.stream());
    let memory = rig.memory(8);
    let event = rig.event();
    // Never recorded: no wait.
    rig.driver.stream_wait_event(&second, &event).unwrap();
    assert_eq!(rig.probe.pending(), 0);
    rig.driver.event_record(&event, &first).unwrap();
    rig.driver.stream_wait_event(&second, &event).unwrap();
    rig.fill(memory.address, 7, 1, &second);
    // The event is recorded again behind work; the wait stands for the first record.
    rig.fill(memory.address.offset(4).unwrap(), 9, 1, &first);
    rig.driver.event_record(&event, &first).unwrap();
    let mut saw = BTreeSet::new();
    while rig.probe.run_one() {
        let words = rig.words(memory.address, 2);
        saw.insert((words[0] == 7, words[1] == 9));
    }
    assert!(saw.contains(&(true, true)), "{saw:?}");
    rig.driver.event_destroy(event).unwrap();
    rig.give_back([first, second], [memory]);
    rig.close();
}

/// Unordered fills on three streams: which one is last is the scheduler's choice.
fn contested(seed: u64) -> (u32, Vec<String>, Vec<String>) {
    let rig = Rig::new(SimOptions { hazards: false, ..SimOptions::seeded(seed) });
    let memory = rig.memory(4);
    let streams: Vec<SimStream> = (0..3).map(|_| rig.stream()).collect();
    for round in 0..4 {
        for (index, stream) in (0u32..).zip(&streams) {
            rig.fill(memory.address, round * 3 + index, 1, stream);
        }
    }
    for stream in &streams {
        rig.drain(stream);
    }
    let last = rig.words(memory.address, 1)[0];
    rig.give_back(streams, [memory]);
    let (trace, ran) = (rig.probe.trace(), rig.probe.ran());
    rig.close();
    (last, trace, ran)
}

#[test]
fn one_seed_makes_one_run_and_seeds_differ() {
    let mut lasts = BTreeSet::new();
    for seed in 0..30 {
        let (last, trace, ran) = contested(seed);
        assert_eq!(contested(seed), (last, trace, ran.clone()), "seed {seed}");
        lasts.insert(last);
        for stream in 1..=3 {
            let own = ran.iter().filter(|line| line.starts_with(&format!("s{stream} "))).count();
            assert_eq!(own, 4);
        }
    }
    assert_eq!(lasts, BTreeSet::from([9, 10, 11]), "each stream is last for some seed");
}

/// A diamond of fills: 1, then 2 and 3 side by side on words of their own, then a copy of both.
fn diamond(rig: &Rig, memory: &DeviceMemory) -> (crate::SimGraph, Vec<crate::SimNode>) {
    let driver = &rig.driver;
    let mut graph = driver.graph_create().unwrap();
    let at = |word: u64| memory.address.offset(word * 4).unwrap();
    let fill = |word: u64, value| NodeFill { dst: at(word), word: value, words: NonZeroU64::MIN };
    let copy = NodeCopy { src: CopyEnd::Device(at(0)), dst: CopyEnd::Device(at(2)), bytes: n(8) };
    let both = NodeFill { dst: at(0), word: 1, words: n(2) };
    let top = rig.add_fill(&mut graph, &[], &both).unwrap();
    let left = rig.add_fill(&mut graph, &[top], &fill(0, 2)).unwrap();
    let right = rig.add_fill(&mut graph, &[top], &fill(1, 3)).unwrap();
    let end = rig.add_copy(&mut graph, &[left, right], &copy).unwrap();
    (graph, vec![top, left, right, end])
}

#[test]
fn a_graph_runs_in_every_order_of_its_edges_and_no_other() {
    let mut orders = BTreeSet::new();
    for seed in 0..20 {
        let rig = Rig::new(SimOptions::seeded(seed));
        let (stream, memory) = (rig.stream(), rig.memory(16));
        let (graph, nodes) = diamond(&rig, &memory);
        assert_eq!(rig.driver.graph_nodes(&graph), Ok(nodes.len()));
        let exec = rig.driver.graph_instantiate(&graph).unwrap();
        // The executable is a snapshot: its graph may go.
        rig.driver.graph_destroy(graph).unwrap();
        rig.launch(&exec, &stream).unwrap();
        rig.drain(&stream);
        assert_eq!(rig.words(memory.address, 4), [2, 3, 2, 3]);
        let order: Vec<String> = rig.probe.ran().iter().map(|line| line[3..5].to_owned()).collect();
        orders.insert(order.join(" "));
        rig.destroy_exec(exec).unwrap();
        rig.give_back([stream], [memory]);
        rig.close();
    }
    let expected: BTreeSet<String> = [".0 .1 .2 .3", ".0 .2 .1 .3"].map(str::to_owned).into();
    assert_eq!(orders, expected);
}

#[test]
fn launches_of_one_executable_follow_each_other_across_streams() {
    for seed in 0..20 {
        let rig = Rig::new(SimOptions::seeded(seed));
        let (first, second) = (rig.stream(), rig.stream());
        let memory = rig.memory(16);
        let (graph, nodes) = diamond(&rig, &memory);
        let mut exec = rig.driver.graph_instantiate(&graph).unwrap();
        let other = NodeFill { dst: memory.address, word: 77, words: NonZeroU64::MIN };
        rig.launch(&exec, &first).unwrap();
        // In flight or not, the first launch keeps what it was launched with.
        rig.set_fill(&mut exec, nodes[1], &other).unwrap();
        rig.driver.exec_upload(&exec, &second).unwrap();
        rig.launch(&exec, &second).unwrap();
        rig.drain(&second);
        assert_eq!(rig.words(memory.address, 4), [77, 3, 77, 3]);
        let ran = rig.probe.ran();
        assert!(ran[..4].iter().all(|line| line.starts_with("s1 ")), "{ran:?}");
        assert!(ran[..4].iter().any(|line| line.contains("= 0x2 ")), "{ran:?}");
        rig.drain(&first);
        rig.destroy_exec(exec).unwrap();
        rig.driver.graph_destroy(graph).unwrap();
        rig.give_back([first, second], [memory]);
        rig.close();
    }
}

#[test]
fn a_capture_records_a_chain_and_runs_nothing() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(8));
    rig.driver.capture_begin(&stream).unwrap();
    assert_eq!(rig.driver.capture_tail(&stream).unwrap(), []);
    rig.fill(memory.address, 1, 2, &stream);
    let tail = rig.driver.capture_tail(&stream).unwrap();
    rig.fill(memory.address, 2, 1, &stream);
    assert_ne!(rig.driver.capture_tail(&stream).unwrap(), tail);
    let inner = rig.event();
    // A record and a wait inside the capture are of its world.
    rig.driver.event_record(&inner, &stream).unwrap();
    rig.driver.stream_wait_event(&stream, &inner).unwrap();
    assert_eq!(rig.probe.pending(), 0);
    let graph = rig.driver.capture_end(&stream).unwrap();
    assert_eq!(rig.driver.graph_nodes(&graph), Ok(2));
    let mut exec = rig.driver.graph_instantiate(&graph).unwrap();
    let other = NodeFill { dst: memory.address, word: 5, words: n(2) };
    rig.set_fill(&mut exec, tail[0], &other).unwrap();
    rig.launch(&exec, &stream).unwrap();
    rig.probe.run_all();
    assert_eq!(rig.words(memory.address, 2), [2, 5]);
    rig.destroy_exec(exec).unwrap();
    rig.driver.graph_destroy(graph).unwrap();
    rig.driver.event_destroy(inner).unwrap();
    rig.give_back([stream], [memory]);
    rig.close();
}

#[test]
fn virtual_time_follows_the_work() {
    let elapsed = |words: u64| {
        let rig = Rig::manual();
        let (stream, memory) = (rig.stream(), rig.memory(1 << 20));
        let [from, to] = [(); 2].map(|()| rig.driver.event_create(EventTiming::On).unwrap());
        rig.driver.event_record(&from, &stream).unwrap();
        rig.fill(memory.address, 0, words, &stream);
        rig.driver.event_record(&to, &stream).unwrap();
        let early = rig.driver.event_elapsed(&from, &to).unwrap_err();
        assert_eq!(early.kind, graphreel::error::DriverErrorKind::NotReady);
        rig.probe.run_all();
        let elapsed = rig.driver.event_elapsed(&from, &to).unwrap();
        assert_eq!(rig.probe.now(), elapsed);
        rig.driver.event_destroy(from).unwrap();
        rig.driver.event_destroy(to).unwrap();
        rig.give_back([stream], [memory]);
        rig.close();
        elapsed
    };
    assert_eq!(elapsed(8), elapsed(8));
    assert!(elapsed(80_000) > elapsed(8));
}

#[test]
fn prompt_work_needs_no_question() {
    let rig = Rig::new(prompt());
    let (stream, memory) = (rig.stream(), rig.memory(4));
    rig.fill(memory.address, 3, 1, &stream);
    rig.probe.run_all();
    assert_eq!((rig.words(memory.address, 1), rig.probe.pending()), (vec![3], 0));
    assert!(!rig.probe.run_one());
    rig.give_back([stream], [memory]);
    rig.close();
}

#[test]
fn a_free_that_waits_for_the_device_does() {
    for completion in [Completion::Prompt, Completion::Manual, Completion::Seeded(1)] {
        let rig = Rig::new(SimOptions { completion, free_waits_for_device: true, ..SimOptions::default() });
        let (stream, memory, other) = (rig.stream(), rig.memory(4), rig.memory(4));
        rig.fill(memory.address, 3, 1, &stream);
        rig.free(other).unwrap();
        assert_eq!(rig.words(memory.address, 1), [3], "{completion:?}");
        rig.give_back([stream], [memory]);
        rig.close();
    }
}

/// Options may promise more memory than the machine has: that is told by the call, and ends nobody's process.
#[test]
fn memory_that_the_machine_does_not_have_is_out_of_memory() {
    let rig = Rig::new(SimOptions { memory_bytes: 1 << 60, ..SimOptions::manual() });
    let error = rig.driver.mem_alloc(n(1 << 59)).unwrap_err();
    assert_eq!(error.kind, graphreel::error::DriverErrorKind::OutOfMemory, "{error}");
    let memory = rig.memory(64);
    rig.free(memory).unwrap();
    rig.close();
}
