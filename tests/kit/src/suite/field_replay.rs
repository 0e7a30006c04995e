//! What broke replays elsewhere: parameters, host copies, indirect counts, deadlines, other threads, stray errors
//! (docs/SCENARIOS.md: D32, D39 to D42, D51 to D60, 34d, 34f, 34g).

use std::thread;
use std::time::Duration;

use graphreel::device::WritePart;
use graphreel::{Buffer, Config, Device, GraphRule, Grid, Result, ServerError};

use super::work::{
    CURVE, LATE, N, RANDOM, SCALE, SUCC, blank, graph_of, grid, holds, host, late_rounds, open_window, refused, rounds,
    same, words,
};
use crate::env::{PATIENCE, assert_works, failure, kernel_on, says};
use crate::{Env, kernels};

fn curve_input() -> Vec<f32> {
    (0..N).map(|index| index as f32 * 0.37 - 100.0).collect()
}

fn curve_steps(device: &Device, replayed: bool) -> Result<Vec<u32>> {
    let curve = kernel_on(device, CURVE);
    let (input, state) = (device.upload(&curve_input())?, device.upload(&vec![0.0_f32; N as usize])?);
    if replayed {
        let (graph, ()) = device.capture(|c| c.launch(&curve, grid(), (&input, &state)))?;
        (0..100).try_for_each(|_| graph.replay().map(drop))?;
    } else {
        (0..100).try_for_each(|_| device.launch(&curve, grid(), (&input, &state)))?;
    }
    state.read::<u32>()
}

/// D32: on twenty fresh devices a hundred replays give what eager work gives, bit for bit.
pub fn fresh_devices_replay_bit_equal_to_eager(env: &Env) -> Result<()> {
    let eager = curve_steps(&env.device, false)?;
    assert!(eager.iter().any(|bits| *bits != 0));
    for _ in 0..20 {
        let device = env.open(Config::default());
        assert_eq!(curve_steps(&device, true)?, eager);
    }
    Ok(())
}

/// D39: an indirect launch runs over the counts of its replay, and the count buffer is pinned.
pub fn an_indirect_launch_follows_its_counts(env: &Env) -> Result<()> {
    let device = &env.device;
    let (write, count) = (env.kernel(kernels::WRITE_COUNTS), env.kernel(kernels::COUNT_GROUPS));
    let (wanted, hits) = (device.upload(&[1_u32])?, device.upload(&[0_u32])?);
    let counts = device.alloc_for::<u32>(3)?;
    let (graph, ()) = device.capture(|c| {
        c.launch(&write, Grid::groups(1), (&wanted, &counts))?;
        c.launch_indirect(&count, &counts, Grid::groups(100), (&hits,))
    })?;
    drop(counts);
    let others = (0..16).map(|_| words(device, 0xffff)).collect::<Result<Vec<_>>>()?;
    let mut expected = 0;
    // 0 and 101 are outside: nothing runs.
    for (groups, runs) in [(5, 5), (100, 100), (1, 1), (0, 0), (101, 0), (u32::MAX, 0), (7, 7)] {
        wanted.write(&[groups])?;
        graph.replay()?;
        expected += runs;
        assert_eq!(hits.read::<u32>()?, [expected], "{groups} workgroups were asked for");
    }
    others.iter().for_each(|other| holds(other, 0xffff));
    Ok(())
}

/// D39 without a graph: counts that another stream has just written.
pub fn eager_indirect_counts_of_another_stream_are_ordered(env: &Env) -> Result<()> {
    let device = &env.device;
    let (write, count) = (env.kernel(kernels::WRITE_COUNTS), env.kernel(kernels::COUNT_GROUPS));
    let (wanted, hits, counts) = (device.upload(&[0_u32])?, device.upload(&[0_u32])?, device.alloc_for::<u32>(3)?);
    let (one, two) = (device.new_stream(), device.new_stream());
    for groups in 1..=40_u32 {
        one.write(&wanted, &[groups])?;
        one.launch(&write, Grid::groups(1), (&wanted, &counts))?;
        two.launch_indirect(&count, &counts, Grid::groups(64), (&hits,))?;
    }
    assert_eq!(hits.read::<u32>()?, [(1..=40).sum::<u32>()]);
    Ok(())
}

/// D41, D42 (C-58): a host copy out is not recordable and is refused as a read; one made after a replay is that replay's, and
/// nothing delivers it again.
pub fn a_host_copy_out_is_refused_in_the_window_and_given_once(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let counter = words(device, 0)?;
    open_window(&owner)?;
    owner.launch(&inc, grid(), (&counter,))?;
    let error = failure(owner.read::<u32>(&counter));
    assert!(matches!(error, ServerError::GraphState(_)), "{error}");
    says(&error, &["read: "]);
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 1, "the read is no node");

    graph.replay()?;
    let pending = counter.read_async::<u32>()?;
    graph.replay()?;
    let mut early = pending.wait()?;
    same(&early, 1);
    early.fill(5);
    graph.replay()?;
    device.sync()?;
    same(&early, 5);
    holds(&counter, 3);
    assert!(matches!(failure(device.capture(|_| counter.read::<u32>())), ServerError::GraphState(_)));
    Ok(())
}

fn eager_random(device: &Device, seed: u32, offset: u32) -> Result<Vec<u32>> {
    let buffer = blank(device)?;
    device.launch(&kernel_on(device, RANDOM), grid(), (&buffer, seed, offset))?;
    buffer.read()
}

/// D51: seed and offset are parameters; replays differ as the eager sequence does, also after a new seed. Captures do not nest.
pub fn random_replays_follow_the_eager_sequence(env: &Env) -> Result<()> {
    let device = &env.device;
    let random = env.kernel(RANDOM);
    let output = blank(device)?;
    let (graph, ()) = device.capture(|c| {
        let (seed, offset) = (c.param("seed", 11_u32), c.param("offset", 0_u32));
        c.launch(&random, grid(), (&output, &seed, &offset))
    })?;
    let mut seen = Vec::new();
    for (seed, offset) in [(11_u32, 0_u32), (11, 5_000), (11, 10_000), (99, 0)] {
        graph.update(|change| change.set("seed", seed).set("offset", offset))?;
        graph.replay()?;
        let found: Vec<u32> = output.read()?;
        assert_eq!(found, eager_random(device, seed, offset)?);
        assert!(!seen.contains(&found));
        seen.push(found);
    }
    assert_eq!(device.counters().updates, 4);
    let nested = device.capture(|_| device.capture(|c| c.fill(&output, 0)).map(drop));
    refused(nested, &GraphRule::NestedCapture);
    assert_works(device);
    Ok(())
}

/// D53: a call that failed and was handled leaves nothing behind: the next valid one succeeds, and nobody else is blamed.
pub fn a_handled_failure_does_not_stick(env: &Env) -> Result<()> {
    let device = &env.device;
    let scale = env.kernel(SCALE);
    let (input, output) = (words(device, 2)?, words(device, 0)?);
    let (graph, ()) = device.capture(|c| {
        let factor = c.param("factor", 3_u32);
        c.launch(&scale, grid(), (&input, &output, &factor))
    })?;
    let failing: [fn(&Device, &Buffer) -> ServerError; 4] = [
        |device, _| failure(device.alloc(u64::MAX)),
        |device, _| failure(device.kernel("@compute fn nothing() {}")),
        |device, buffer| failure(device.launch(&kernel_on(device, SUCC), grid(), (buffer,))),
        |_, buffer| failure(buffer.slice(0..u64::MAX)),
    ];
    for (factor, fail) in (10_u32..).zip(failing) {
        fail(device, &input);
        let error = failure(graph.update(|change| change.set("factor", 1.5_f32)));
        assert!(matches!(error, ServerError::InvalidParam { .. }), "{error}");
        graph.update(|change| change.set("factor", factor))?;
        graph.replay()?;
        holds(&output, 2 * factor);
    }
    assert_works(device);
    Ok(())
}

/// D56: an update with a bad part changes nothing; a good one lasts.
pub fn an_update_is_all_or_nothing_and_lasts(env: &Env) -> Result<()> {
    let device = &env.device;
    let scale = env.kernel(SCALE);
    let (input, other, output) = (words(device, 2)?, words(device, 5)?, words(device, 0)?);
    let short = device.upload(&[1_u32; 4])?;
    let (graph, ()) = device.capture(|c| {
        let (factor, source) = (c.param("factor", 3_u32), c.slot("source", &input)?);
        let groups = c.grid_param("groups", grid(), Grid::groups(64));
        c.launch(&scale, &groups, (&source, &output, &factor))
    })?;
    let error = failure(graph.update(|u| u.set("factor", 7_u32).bind("source", &other).grid("groups", [65, 1, 1])));
    assert!(matches!(error, ServerError::InvalidParam { .. } | ServerError::InvalidGrid { .. }), "{error}");
    failure(graph.update(|u| u.set("factor", 7_u32).bind("source", &short)));
    failure(graph.update(|u| u.set("factor", 7_u32).set("nobody", 1_u32)));
    graph.replay()?;
    holds(&output, 6);
    graph.update(|u| u.set("factor", 7_u32).bind("source", &other).grid("groups", [1, 1, 1]))?;
    for _ in 0..3 {
        output.fill(0)?;
        graph.replay()?;
        holds(&output, 35);
    }
    Ok(())
}

/// D58: a replay runs the nodes that the report tells, and no hidden ones.
pub fn replayed_nodes_equal_the_report(env: &Env) -> Result<()> {
    let device = &env.device;
    let scale = env.kernel(SCALE);
    let (input, output) = (words(device, 2)?, words(device, 0)?);
    let (graph, ()) = device.capture(|c| {
        c.upload(&input, &host(4))?;
        for factor in 0..100_u32 {
            c.launch(&scale, grid(), (&input, &output, factor))?;
        }
        c.copy(&output, &input)?;
        c.fill(&output, 1)
    })?;
    assert_eq!(graph.report().nodes, 103);
    let before = device.counters();
    for _ in 0..5 {
        graph.replay()?.wait()?;
    }
    let after = device.counters();
    assert_eq!((after.replays - before.replays, after.replayed_nodes - before.replayed_nodes), (5, 515));
    assert_eq!(after.launches, before.launches, "a replay is no eager launch");
    assert_eq!(after.submits - before.submits, 5 * graph.report().submits as u64);
    holds(&input, 396);
    Ok(())
}

/// D60: a deadline ends the wait and nothing else: no taint, the same replay can be waited for again, and another device does
/// not notice.
pub fn a_deadline_ends_the_wait_only(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let (one, two) = (words(device, 0)?, words(device, 0)?);
    let rounds = late_rounds(device, 20_000);
    let (graph, ()) = device.capture(|c| {
        for _ in 0..20 {
            c.launch(&late, grid(), (&one, &two, rounds))?;
            c.launch(&late, grid(), (&two, &one, rounds))?;
        }
        Ok(())
    })?;
    let done = graph.replay()?;
    match done.wait_for(Duration::ZERO) {
        Err(ServerError::Timeout { .. }) => {}
        Ok(_) => panic!("forty slow nodes are not done in no time"),
        Err(other) => panic!("a timeout was expected: {other}"),
    }
    let mut pending = one.read_async::<u32>()?;
    assert!(matches!(failure(pending.wait_for(Duration::ZERO)), ServerError::Timeout { .. }));
    assert_works(&env.open(Config::default()));
    done.wait_for(PATIENCE)?;
    same(&pending.wait_for(PATIENCE)?, 40);
    holds(&two, 39);
    assert_works(device);
    Ok(())
}

/// 34d: a nonce written on the same stream right before each replay comes back each time.
pub fn a_nonce_comes_back_from_every_replay(env: &Env) -> Result<()> {
    let device = &env.device;
    let copy = env.kernel(kernels::COPY);
    let (input, output) = (words(device, 0)?, blank(device)?);
    let graph = graph_of(device, &copy, &input, &output)?;
    let nonce = input.elements::<u32>(7..8)?;
    let seen = output.elements::<u32>(7..8)?;
    for round in 0..rounds(2_000, 10_000) {
        let value = round.wrapping_mul(2_654_435_761);
        nonce.write(&[value])?;
        graph.replay()?;
        assert_eq!(seen.read::<u32>()?, [value]);
    }
    Ok(())
}

/// 34f: another thread allocates, frees, compiles, reads and captures while a window is open; the capture is unaffected.
pub fn another_thread_does_not_disturb_a_window(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let counter = words(device, 0)?;
    open_window(&owner)?;
    owner.launch(&inc, grid(), (&counter,))?;
    let busy = thread::spawn({
        let (device, other_slot) = (device.clone(), device.stream().id());
        move || -> Result<()> {
            let _pin = other_slot.pin();
            for round in 0..20_u32 {
                assert_works(&device);
                let buffer = words(&device, round)?;
                pollster::block_on(buffer.read_async::<u32>()?)?;
                drop(device.alloc(3 << 20)?);
                device.trim();
            }
            device.sync()
        }
    });
    for _ in 0..20 {
        owner.launch(&inc, grid(), (&counter,))?;
    }
    busy.join().expect("the other thread does not panic")?;
    owner.launch(&inc, grid(), (&counter,))?;
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 22);
    graph.replay()?;
    holds(&counter, 22);
    Ok(())
}

/// 34g: the order of calls, isolation of streams and destruction with a replay in flight, as users of other graphs test them.
pub fn streams_are_isolated_from_a_window(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (mine, theirs) = (words(device, 0)?, words(device, 0)?);
    open_window(&owner)?;
    owner.launch(&inc, grid(), (&mine,))?;
    // The calling thread's stream is on another slot: everything is allowed there.
    theirs.write(&host(5))?;
    device.launch(&inc, grid(), (&theirs,))?;
    device.sync()?;
    holds(&theirs, 6);
    holds(&mine, 0);
    device.profile(|c| c.launch(&inc, grid(), (&theirs,)))?;
    let graph = owner.end_capture()?;
    for _ in 0..20 {
        graph.replay()?;
    }
    drop(graph);
    holds(&mine, 20);
    holds(&theirs, 7);
    Ok(())
}

/// A kernel that writes a part of what it is given keeps the rest, also where the graph is all that holds it.
pub fn a_partial_write_keeps_the_rest(env: &Env) -> Result<()> {
    let device = &env.device;
    let poke = env.kernel(kernels::POKE);
    let buffer = words(device, 3)?;
    let (graph, ()) = device.capture(|c| c.launch(&poke, Grid::groups(1), (WritePart(&buffer),)))?;
    graph.replay()?;
    let found: Vec<u32> = buffer.read()?;
    assert_eq!(found[0], 7);
    same(&found[1..], 3);
    Ok(())
}
