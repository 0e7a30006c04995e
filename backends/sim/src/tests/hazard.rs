//! Work that nothing orders is found, whatever order it ran in; work that something orders is not.

use std::num::NonZeroU64;

use graphreel::graph::Driver;
use graphreel::graph::driver::{CopyEnd, DeviceMemory, NodeCopy, NodeFill};

use super::rig::Rig;
use crate::{Completion, Rule, SimOptions};

fn rigs() -> impl Iterator<Item = Rig> {
    let all = [Completion::Prompt, Completion::Seeded(1), Completion::Manual];
    all.into_iter().map(|completion| Rig::new(SimOptions { completion, hazards: true, ..SimOptions::default() }))
}

/// The last call was found to be unordered, and did nothing.
#[track_caller]
fn found(rig: &Rig, result: graphreel::graph::DriverResult, detail: &str) {
    assert!(result.unwrap_err().name.starts_with("misuse: nothing orders"));
    let last = rig.probe.misuse().pop().unwrap();
    assert_eq!((last.rule, last.detail.as_str()), (Rule::Unordered, detail));
}

#[test]
fn two_streams_need_an_event_between_them() {
    for rig in rigs() {
        let (first, second, memory) = (rig.stream(), rig.stream(), rig.memory(64));
        let at = |word: u64| memory.address.offset(word * 4).unwrap();
        rig.fill(at(0), 1, 4, &first);
        rig.fill(at(4), 1, 4, &second);
        found(&rig, rig.try_fill(at(3), 2, 1, &second), "a fill on s2 and a fill on s1");
        found(&rig, rig.copy(at(8), at(2), 4, &second), "a copy's read on s2 and a fill on s1");
        let event = rig.event();
        rig.driver.event_record(&event, &first).unwrap();
        // What comes after the record is not what the event stands for.
        rig.fill(at(15), 1, 1, &first);
        rig.driver.stream_wait_event(&second, &event).unwrap();
        rig.copy(at(8), at(2), 4, &second).unwrap();
        found(&rig, rig.try_fill(at(15), 2, 1, &second), "a fill on s2 and a fill on s1");
        // Two reads need no order, a write against a read does.
        let third = rig.stream();
        rig.driver.event_record(&event, &second).unwrap();
        rig.driver.stream_wait_event(&third, &event).unwrap();
        rig.copy(at(10), at(0), 4, &first).unwrap();
        rig.copy(at(11), at(0), 4, &third).unwrap();
        found(&rig, rig.try_fill(at(0), 3, 1, &third), "a fill on s3 and a copy's read on s1");
        [&first, &second, &third].into_iter().for_each(|stream| rig.drain_any(stream));
        rig.fill(at(0), 3, 16, &third);
        rig.drain_any(&third);
        rig.driver.event_destroy(event).unwrap();
        rig.give_back([first, second, third], [memory]);
        assert_eq!(rig.probe.misuse_count(), 4);
        rig.driver.close().unwrap();
    }
}

#[test]
fn an_order_passes_from_stream_to_stream_and_through_the_host() {
    for rig in rigs() {
        let streams = [(); 3].map(|()| rig.stream());
        let memory = rig.memory(4);
        let events = [(); 2].map(|()| rig.event());
        rig.fill(memory.address, 1, 1, &streams[0]);
        for at in 0..2 {
            rig.driver.event_record(&events[at], &streams[at]).unwrap();
            rig.driver.stream_wait_event(&streams[at + 1], &events[at]).unwrap();
        }
        rig.fill(memory.address, 2, 1, &streams[2]);
        rig.drain_any(&streams[2]);
        // The host saw the third stream's work done, and with it all before.
        rig.fill(memory.address, 3, 1, &streams[0]);
        rig.drain_any(&streams[0]);
        assert_eq!(rig.words(memory.address, 1), [3]);
        events.into_iter().for_each(|event| rig.driver.event_destroy(event).unwrap());
        rig.give_back(streams, [memory]);
        rig.close();
    }
}

impl Rig {
    /// As `drain`, in manual mode too.
    fn drain_any(&self, stream: &crate::SimStream) {
        let event = self.event();
        self.driver.event_record(&event, stream).unwrap();
        while !self.driver.event_query(&event).unwrap() {
            self.probe.run_one();
        }
        self.driver.event_destroy(event).unwrap();
    }
}

fn fill(memory: &DeviceMemory, word: u64) -> NodeFill {
    NodeFill { dst: memory.address.offset(word * 4).unwrap(), word: 1, words: NonZeroU64::MIN }
}

#[test]
fn nodes_of_a_graph_need_a_path() {
    for rig in rigs() {
        let (stream, memory) = (rig.stream(), rig.memory(16));
        let mut graph = rig.driver.graph_create().unwrap();
        let a = rig.add_fill(&mut graph, &[], &fill(&memory, 0)).unwrap();
        let b = rig.add_fill(&mut graph, &[], &fill(&memory, 1)).unwrap();
        let copy = NodeCopy {
            src: CopyEnd::Device(memory.address),
            dst: CopyEnd::Device(memory.address.offset(8).unwrap()),
            bytes: NonZeroU64::new(8).unwrap(),
        };
        let c = rig.add_copy(&mut graph, &[a], &copy).unwrap();
        let exec = rig.driver.graph_instantiate(&graph).unwrap();
        let launched = rig.launch(&exec, &stream).unwrap_err();
        assert!(launched.name.contains("of x1"), "{launched}");
        rig.destroy_exec(exec).unwrap();
        rig.driver.graph_add_edges(&mut graph, &[(b, c)]).unwrap();
        let mut exec = rig.driver.graph_instantiate(&graph).unwrap();
        rig.launch(&exec, &stream).unwrap();
        // An update that makes two nodes meet.
        rig.set_fill(&mut exec, b, &fill(&memory, 0)).unwrap();
        found(&rig, rig.launch(&exec, &stream), "nodes .1 and .0 of x2");
        rig.drain_any(&stream);
        rig.destroy_exec(exec).unwrap();
        rig.driver.graph_destroy(graph).unwrap();
        rig.give_back([stream], [memory]);
        assert_eq!(rig.probe.misuse_count(), 2);
    }
}

#[test]
fn launches_of_a_graph_are_ordered_as_work_is() {
    for rig in rigs() {
        let (first, second, memory) = (rig.stream(), rig.stream(), rig.memory(16));
        let mut graph = rig.driver.graph_create().unwrap();
        rig.add_fill(&mut graph, &[], &fill(&memory, 0)).unwrap();
        let [one, two] = [(); 2].map(|()| rig.driver.graph_instantiate(&graph).unwrap());
        rig.launch(&one, &first).unwrap();
        // Its own earlier launches come first on any stream; another executable's do not.
        rig.launch(&one, &second).unwrap();
        found(&rig, rig.launch(&two, &first), "a fill on s1 and a fill on s2");
        [&first, &second].into_iter().for_each(|stream| rig.drain_any(stream));
        rig.launch(&two, &first).unwrap();
        rig.drain_any(&first);
        [one, two].into_iter().for_each(|exec| rig.destroy_exec(exec).unwrap());
        rig.driver.graph_destroy(graph).unwrap();
        rig.give_back([first, second], [memory]);
        assert_eq!(rig.probe.misuse_count(), 1);
    }
}
