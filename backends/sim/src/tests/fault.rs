//! Faults on demand: before and after an effect, late, in a command; hangs, delays, and a device that is lost.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use graphreel::error::{DriverError, DriverErrorKind, FaultClass};
use graphreel::graph::driver::{CaptureState, EventTiming, NodeFill};
use graphreel::graph::{Driver, DriverResult};

use super::rig::{Rig, n, with_bytes};
use crate::{Completion, Failure, FaultPlan, RunKind, SimOptions, Then, When};

fn nth(call: &'static str, then: Then) -> FaultPlan {
    FaultPlan::one(When::Nth { call, nth: 0 }, then)
}

const BEFORE: Then = Then::Before(Failure::REFUSED);
const AFTER: Then = Then::After(Failure::REFUSED);

#[test]
fn what_a_failed_call_created_is_not_alive() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(4));
    let mut graph = rig.driver.graph_create().unwrap();
    let fill = NodeFill { dst: memory.address, word: 1, words: NonZeroU64::MIN };
    rig.add_fill(&mut graph, &[], &fill).unwrap();
    let live = rig.probe.live();
    for then in [BEFORE, AFTER] {
        let fails = |call: &'static str, run: &dyn Fn() -> Option<DriverError>| {
            rig.probe.arm(nth(call, then));
            let error = run().unwrap_or_else(|| panic!("{call} did not fail"));
            assert_eq!((error.call, error.code, error.kind), (call, -2, DriverErrorKind::Refused));
            assert_eq!(rig.probe.live(), live, "{call}, {then:?}");
        };
        fails("stream_create", &|| rig.driver.stream_create().err());
        fails("event_create", &|| rig.driver.event_create(EventTiming::Off).err());
        fails("mem_alloc", &|| rig.driver.mem_alloc(n(4)).err());
        fails("pinned_alloc", &|| rig.driver.pinned_alloc(n(4)).err());
        fails("graph_create", &|| rig.driver.graph_create().err());
        fails("graph_instantiate", &|| rig.driver.graph_instantiate(&graph).err());
        fails("capture_begin", &|| rig.driver.capture_begin(&stream).err());
        assert_eq!(rig.driver.capture_state(&stream), Ok(CaptureState::None));
        rig.driver.capture_begin(&stream).unwrap();
        fails("capture_end", &|| rig.driver.capture_end(&stream).err());
        assert_eq!(rig.driver.capture_state(&stream), Ok(CaptureState::None), "recording ends all the same");
    }
    rig.probe.arm(nth("graph_add_fill", AFTER));
    assert!(rig.add_fill(&mut graph, &[], &fill).is_err());
    assert_eq!(rig.driver.graph_nodes(&graph), Ok(1));
    rig.driver.graph_destroy(graph).unwrap();
    rig.give_back([stream], [memory]);
    rig.close();
}

#[test]
fn a_failed_destroy_gives_back() {
    for then in [BEFORE, AFTER] {
        let rig = Rig::manual();
        let (stream, event, memory) = (rig.stream(), rig.event(), rig.memory(4));
        let host = rig.driver.pinned_alloc(n(4)).unwrap();
        let graph = rig.driver.graph_create().unwrap();
        let exec = rig.driver.graph_instantiate(&graph).unwrap();
        let all = ["exec_destroy", "graph_destroy", "pinned_free", "mem_free", "event_destroy", "stream_destroy"];
        let plan = all.iter().fold(FaultPlan::default(), |plan, call| plan.and(When::Nth { call, nth: 0 }, then));
        rig.probe.arm(plan);
        let results = [
            rig.destroy_exec(exec),
            rig.driver.graph_destroy(graph),
            rig.free_pinned(host),
            rig.free(memory),
            rig.driver.event_destroy(event),
            rig.destroy_stream(stream),
        ];
        assert!(results.iter().all(DriverResult::is_err), "{results:?}");
        rig.close();
    }
}

#[test]
fn what_was_enqueued_before_a_failure_stays() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(4));
    rig.fill(memory.address, 1, 1, &stream);
    rig.probe.arm(nth("fill", AFTER).and(When::Nth { call: "fill", nth: 1 }, BEFORE));
    assert!(rig.try_fill(memory.address, 2, 1, &stream).is_err());
    assert!(rig.try_fill(memory.address, 3, 1, &stream).is_err());
    assert_eq!(rig.probe.pending(), 2);
    rig.probe.run_all();
    assert_eq!(rig.words(memory.address, 1), [2]);
    rig.give_back([stream], [memory]);
    rig.close();
}

#[test]
fn rules_go_by_index_name_and_chance() {
    let rig = Rig::manual();
    rig.probe.arm(FaultPlan::one(When::Call(2), BEFORE));
    let results: Vec<bool> = (0..5).map(|_| rig.driver.mem_info().is_ok()).collect();
    assert_eq!(results, [true, true, false, true, true]);
    // Brackets count as calls, and can fail.
    rig.probe.arm(FaultPlan::one(When::Call(1), BEFORE));
    assert!(rig.driver.mem_info().is_ok());
    assert!(rig.driver.context_current().is_err());
    let chance = |seed| {
        let when = When::Chance { call: Some("mem_info"), probability: 0.5 };
        rig.probe.arm(FaultPlan { seed, ..FaultPlan::one(when, BEFORE) });
        (0..64).map(|_| rig.driver.mem_info().is_ok()).collect::<Vec<bool>>()
    };
    let first = chance(1);
    assert_eq!(first, chance(1));
    assert_ne!(first, chance(2));
    assert!((16..48).contains(&first.iter().filter(|ok| **ok).count()), "{first:?}");
    let calls = rig.probe.calls();
    assert!(rig.driver.context_current().is_ok());
    assert_eq!(rig.probe.calls(), calls + 1);
    assert!(!rig.probe.trace().iter().any(|line| line.starts_with("context")));
    rig.close();
}

/// After this every call answers the failure; what is given back is taken back.
#[track_caller]
fn gone(rig: &Rig, class: FaultClass) {
    let error = rig.driver.mem_info().unwrap_err();
    assert_eq!((error.call, error.kind, error.class), ("mem_info", DriverErrorKind::Lost, class));
    assert_eq!(rig.probe.pending(), 0);
    assert_eq!(rig.driver.context_current(), Ok(Some(rig.driver.context())));
}

#[test]
fn a_context_that_fails_stays_failed() {
    for then in [Then::Before(Failure::CONTEXT), Then::After(Failure::CONTEXT), Then::Later(Failure::REFUSED)] {
        let rig = Rig::manual();
        let (stream, memory) = (rig.stream(), rig.memory(4));
        rig.fill(memory.address, 1, 1, &stream);
        rig.probe.arm(nth("fill", then));
        let late = matches!(then, Then::Later(_));
        assert_eq!(rig.try_fill(memory.address, 2, 1, &stream).is_ok(), late, "{then:?}");
        if late {
            let error = rig.driver.mem_info().unwrap_err();
            assert_eq!(error.class, FaultClass::ContextFatal, "late failures are never local");
        } else {
            gone(&rig, FaultClass::ContextFatal);
        }
        assert!(!rig.probe.run_one(), "pending work was dropped");
        assert!(rig.destroy_stream(stream).is_err());
        assert!(rig.free(memory).is_err());
        assert!(rig.driver.stream_create().is_err());
        let probe = rig.probe.clone();
        assert!(rig.driver.close().is_err());
        probe.check().unwrap();
    }
}

#[test]
fn commands_fail_as_they_run() {
    for (then, word) in [(BEFORE, 1), (AFTER, 2)] {
        let rig = Rig::manual();
        let (stream, memory) = (rig.stream(), rig.memory(4));
        rig.probe.arm(FaultPlan::one(When::Run { kind: RunKind::Fill, nth: 1 }, then));
        rig.fill(memory.address, 1, 1, &stream);
        rig.fill(memory.address, 2, 1, &stream);
        rig.fill(memory.address, 3, 1, &stream);
        rig.probe.run_all();
        assert_eq!(rig.words(memory.address, 1), [word], "{then:?}");
        let error = rig.driver.mem_info().unwrap_err();
        assert_eq!(error.class, FaultClass::ContextFatal);
    }
}

#[test]
fn a_hang_ends_when_it_is_released() {
    for completion in [Completion::Prompt, Completion::Manual] {
        let rig = Rig::new(SimOptions { completion, ..SimOptions::default() });
        let (stream, other, memory) = (rig.stream(), rig.stream(), rig.memory(8));
        rig.probe.arm(nth("fill", Then::Hang));
        rig.fill(memory.address, 1, 1, &stream);
        let event = rig.event();
        rig.driver.event_record(&event, &stream).unwrap();
        rig.fill(memory.address.offset(4).unwrap(), 5, 1, &other);
        rig.probe.run_all();
        assert_eq!(rig.words(memory.address, 2)[1], 5, "other streams go on");
        assert_eq!(rig.driver.event_query(&event), Ok(false));
        assert_eq!(rig.probe.pending(), 2);
        rig.probe.release_hangs();
        rig.probe.run_all();
        assert_eq!(rig.driver.event_query(&event), Ok(true));
        assert_eq!(rig.words(memory.address, 1), [1]);
        rig.driver.event_destroy(event).unwrap();
        rig.give_back([stream, other], [memory]);
        rig.close();
    }
}

#[test]
fn a_node_can_hang_and_be_late() {
    for (then, turns) in [(Then::Hang, false), (Then::Delay(5), true)] {
        let rig = Rig::manual();
        let (stream, memory) = (rig.stream(), rig.memory(8));
        rig.driver.capture_begin(&stream).unwrap();
        rig.fill(memory.address, 1, 2, &stream);
        rig.fill(memory.address, 2, 1, &stream);
        let graph = rig.driver.capture_end(&stream).unwrap();
        let exec = rig.driver.graph_instantiate(&graph).unwrap();
        rig.launch(&exec, &stream).unwrap();
        rig.probe.arm(FaultPlan::one(When::Run { kind: RunKind::Fill, nth: 1 }, then));
        rig.probe.run_all();
        assert_eq!(rig.words(memory.address, 2), [if turns { 2 } else { 1 }, 1]);
        rig.probe.release_hangs();
        rig.probe.run_all();
        assert_eq!((rig.words(memory.address, 2), rig.probe.pending()), (vec![2, 1], 0));
        rig.destroy_exec(exec).unwrap();
        rig.driver.graph_destroy(graph).unwrap();
        rig.give_back([stream], [memory]);
        rig.close();
    }
}

#[test]
fn delayed_work_is_passed_over() {
    let rig = Rig::new(SimOptions { hazards: false, ..SimOptions::manual() });
    let (late, other, memory) = (rig.stream(), rig.stream(), rig.memory(4));
    rig.probe.arm(nth("fill", Then::Delay(10)));
    rig.fill(memory.address, 1, 1, &late);
    rig.fill(memory.address, 2, 1, &other);
    rig.probe.run_all();
    assert_eq!(rig.words(memory.address, 1), [1], "the delayed fill came last");
    rig.give_back([late, other], [memory]);
    rig.close();

    let rig = Rig::new(SimOptions::default());
    let (stream, memory) = (rig.stream(), rig.memory(4));
    let begun = Instant::now();
    rig.probe.arm(nth("fill", Then::Delay(30)));
    rig.fill(memory.address, 1, 1, &stream);
    rig.drain(&stream);
    assert!(begun.elapsed() >= Duration::from_millis(30));
    rig.give_back([stream], [memory]);
    rig.close();
}

#[test]
fn a_lost_device_answers_at_once() {
    for completion in [Completion::Prompt, Completion::Seeded(3), Completion::Manual] {
        let rig = Rig::new(SimOptions { completion, ..SimOptions::default() });
        let (stream, memory) = (rig.stream(), rig.memory(4));
        rig.probe.arm(nth("fill", Then::Hang));
        rig.fill(memory.address, 1, 1, &stream);
        let probe = rig.probe.clone();
        std::thread::spawn(move || probe.lose("unplugged")).join().unwrap();
        gone(&rig, FaultClass::DeviceFatal);
        let error = rig.driver.stream_create().unwrap_err();
        assert!(error.name.contains("unplugged"), "{error}");
        // A lesser failure does not take its place.
        rig.probe.arm(nth("mem_info", Then::Before(Failure::CONTEXT)));
        gone(&rig, FaultClass::DeviceFatal);
        assert!(rig.destroy_stream(stream).is_err());
        assert!(rig.free(memory).is_err());
        rig.probe.check().unwrap();
    }
}

#[test]
fn loss_stops_a_copy_before_host_memory_goes() {
    let rig = Rig::new(SimOptions::default());
    let (stream, memory) = (rig.stream(), rig.memory(16 << 20));
    let host = rig.driver.pinned_alloc(n(16 << 20)).unwrap();
    with_bytes(&host, |bytes| bytes.fill(0));
    rig.download(&host, memory.address, 16 << 20, &stream).unwrap();
    rig.probe.lose("unplugged");
    // The last bytes as they are now; a copy that went on would change them.
    let last = |count: usize| with_bytes(&host, |bytes| bytes[bytes.len() - count..].to_vec());
    let then = last(1 << 20);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(last(1 << 20), then);
    assert!(rig.free_pinned(host).is_err());
    assert!(rig.free(memory).is_err());
    assert!(rig.destroy_stream(stream).is_err());
    rig.probe.check().unwrap();
}

#[test]
fn the_trace_tells_what_was_called_and_what_came_of_it() {
    let rig = Rig::manual();
    let (stream, memory) = (rig.stream(), rig.memory(512));
    let host = rig.driver.pinned_alloc(n(16)).unwrap();
    rig.upload(memory.address.offset(256).unwrap(), &host, 4, 8, &stream).unwrap();
    rig.probe.arm(nth("fill", BEFORE));
    assert!(rig.try_fill(memory.address, 1, 2, &stream).is_err());
    let expected = [
        "stream_create -> s1",
        "mem_alloc 512 -> m1+0",
        "pinned_alloc 16 -> p1+0",
        "copy_to_device m1+256 <- p1+4 x8 s1",
        "fill m1+0 = 0x1 x2 s1 ! injected fault",
    ];
    assert_eq!(rig.probe.trace(), expected);
    rig.probe.run_all();
    rig.free_pinned(host).unwrap();
    rig.give_back([stream], [memory]);
    rig.close();
}
