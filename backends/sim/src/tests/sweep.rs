//! Scenarios under every fault and every order: a caller who keeps the contract leaks nothing, breaks no rule, and reads what
//! the order of its work says.

use graphreel::error::FaultClass;
use graphreel::graph::driver::{DeviceMemory, EventTiming, PinnedMemory};
use graphreel::graph::{Driver, DriverResult};

use super::rig::{Rig, n, with_bytes};
use crate::{Completion, Failure, FaultPlan, SimEvent, SimExec, SimGraph, SimOptions, SimStream, Then, When};

/// What the scenario has made so far; given back in the end, however it ended.
#[derive(Default)]
struct Made {
    stream: Option<SimStream>,
    event: Option<SimEvent>,
    memory: Option<DeviceMemory>,
    host: Option<PinnedMemory>,
    graph: Option<SimGraph>,
    exec: Option<SimExec>,
}

/// Record a graph, replay it, read the result.
fn scenario(rig: &Rig, made: &mut Made) -> DriverResult<Vec<u8>> {
    let driver = &rig.driver;
    let stream = made.stream.insert(driver.stream_create()?);
    let memory = made.memory.insert(driver.mem_alloc(n(8))?);
    let host = made.host.insert(driver.pinned_alloc(n(8))?);
    let (first, second) = (memory.address, memory.address.offset(4).expect("inside"));
    driver.capture_begin(stream)?;
    let recorded = rig.try_fill(first, 0x0101_0101, 1, stream).and_then(|()| rig.copy(second, first, 4, stream));
    // Recording stops even when this fails.
    let graph = driver.capture_end(stream);
    let graph = made.graph.insert(graph?);
    recorded?;
    let exec = made.exec.insert(driver.graph_instantiate(graph)?);
    rig.launch(exec, stream)?;
    rig.download(host, first, 8, stream)?;
    let event = made.event.insert(driver.event_create(EventTiming::Off)?);
    driver.event_record(event, stream)?;
    while !driver.event_query(event)? {}
    Ok(with_bytes(host, |bytes| bytes.to_vec()))
}

/// Let the work end, as far as it does, and give everything back. Answers are ignored: some of them are the fault.
fn give_back(rig: &Rig, made: Made) {
    rig.probe.release_hangs();
    rig.probe.run_all();
    let Made { stream, event, memory, host, graph, exec } = made;
    let _ = exec.map(|exec| rig.destroy_exec(exec));
    let _ = graph.map(|graph| rig.driver.graph_destroy(graph));
    let _ = event.map(|event| rig.driver.event_destroy(event));
    let _ = host.map(|host| rig.free_pinned(host));
    let _ = memory.map(|memory| rig.free(memory));
    let _ = stream.map(|stream| rig.destroy_stream(stream));
}

fn swept(then: Then) -> (u64, u64) {
    let (mut calls, mut failed) = (0, 0);
    for index in 0.. {
        let rig = Rig::new(SimOptions::seeded(index));
        rig.probe.arm(FaultPlan::one(When::Call(index), then));
        let before = rig.probe.calls();
        let mut made = Made::default();
        let result = scenario(&rig, &mut made);
        let done = rig.probe.calls() - before <= index;
        match result {
            Ok(bytes) => assert_eq!(bytes, [1; 8], "call {index}"),
            Err(error) => {
                failed += 1;
                assert!(error.code == -2, "call {index}: {error}");
            }
        }
        give_back(&rig, made);
        let probe = rig.probe.clone();
        let _ = rig.driver.close();
        if let Err(unclean) = probe.check() {
            panic!("{then:?} at call {index}: {unclean}\n{}", probe.trace().join("\n"));
        }
        assert_eq!(probe.leaked(), 0, "call {index}");
        if done {
            calls = index;
            break;
        }
    }
    (calls, failed)
}

#[test]
fn any_call_may_fail_and_nothing_leaks() {
    let with = |class| Failure { class, ..Failure::REFUSED };
    for class in [FaultClass::CallLocal, FaultClass::ContextFatal, FaultClass::DeviceFatal] {
        for then in [Then::Before(with(class)), Then::After(with(class))] {
            let (calls, failed) = swept(then);
            assert!(calls >= 12 && failed >= calls, "{then:?}: {failed} of {calls} failed");
        }
    }
    let (calls, failed) = swept(Then::Later(Failure::CONTEXT));
    assert!(failed >= calls - 1, "{failed} of {calls} failed; the last call has none after it");
    let (_, failed) = swept(Then::Delay(50));
    assert_eq!(failed, 0);
}

/// Random work on three streams over words that are each a stream's own, joined by events where one reads another's.
fn random_program(rig: &Rig, seed: u64) -> Vec<u32> {
    const WORDS: u64 = 8;
    let mut rng = fastrand::Rng::with_seed(seed);
    let memory = rig.memory(4 * WORDS);
    let at = |word: u64| memory.address.offset(word * 4).expect("inside");
    let streams: Vec<SimStream> = (0..3).map(|_| rig.stream()).collect();
    let mut events = Vec::new();
    // The stream that touched each word last.
    let mut owner = [0; WORDS as usize];
    let mut model = [0; WORDS as usize];
    rig.fill(memory.address, 0, WORDS, &streams[0]);
    for step in 0..60 {
        let stream = rng.usize(..streams.len());
        let (dst, src) = (rng.usize(..owner.len()), rng.usize(..owner.len()));
        for word in [dst, src] {
            if owner[word] != stream {
                let event = rig.event();
                rig.driver.event_record(&event, &streams[owner[word]]).expect("no fault is armed");
                rig.driver.stream_wait_event(&streams[stream], &event).expect("no fault is armed");
                events.push(event);
                owner[word] = stream;
            }
        }
        if dst == src || rng.bool() {
            rig.fill(at(dst as u64), step, 1, &streams[stream]);
            model[dst] = step;
        } else {
            rig.copy(at(dst as u64), at(src as u64), 4, &streams[stream]).expect("no fault is armed");
            model[dst] = model[src];
        }
    }
    streams.iter().for_each(|stream| rig.drain(stream));
    let words = rig.words(memory.address, WORDS as usize);
    assert_eq!(words, model, "seed {seed}");
    events.into_iter().for_each(|event| rig.driver.event_destroy(event).expect("no fault is armed"));
    rig.give_back(streams, [memory]);
    words
}

#[test]
fn ordered_work_has_one_result_in_every_order() {
    for seed in 0..40 {
        let mut results = Vec::new();
        for completion in [Completion::Prompt, Completion::Seeded(seed), Completion::Seeded(seed + 1)] {
            let rig = Rig::new(SimOptions { completion, hazards: true, ..SimOptions::default() });
            results.push(random_program(&rig, seed));
            rig.close();
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
