//! Holes of a comparable runtime, each as one scenario with the outcome that is right: neighbours, laundered failures, calls
//! inside a window, other threads, memory, and errors that can be matched.

use std::thread;

use graphreel::error::MemoryLimit;
use graphreel::{Config, GraphRule, Grid, Result, ServerError};

use super::work::{
    LATE, N, SUCC, blank, graph_of, grid, holds, host, late_rounds, one_slot, open_window, refused, same, settle,
    taint, words,
};
use crate::env::{assert_works, failure, kernel_on, says, taint_of};
use crate::{Env, kernels};

/// 1: a neighbour's work runs and is not recorded; its failures are its own; it cannot open the owner's window.
pub fn a_neighbour_is_neither_recorded_nor_blamed(env: &Env) -> Result<()> {
    let (device, owner, neighbour) = one_slot(env);
    let inc = kernel_on(&device, kernels::INC);
    let (mine, theirs) = (words(&device, 0)?, words(&device, 10)?);
    owner.graph_prepare()?;
    refused(neighbour.begin_capture(), &GraphRule::NotOwner);
    owner.begin_capture()?;
    owner.launch(&inc, grid(), (&mine,))?;
    neighbour.launch(&inc, grid(), (&theirs,))?;
    failure(neighbour.launch(&inc, grid(), ()));
    {
        let _pin = neighbour.id().pin();
        failure(device.alloc(u64::MAX));
        drop(device.alloc(4096)?);
    }
    refused(neighbour.begin_capture(), &GraphRule::AlreadyRecording);
    if env.is_software_graph() {
        refused(neighbour.read::<u32>(&theirs), &GraphRule::RefusedInWindow);
        refused(neighbour.sync(), &GraphRule::RefusedInWindow);
    } else {
        same(&neighbour.read::<u32>(&theirs)?, 11);
    }
    owner.launch(&inc, grid(), (&mine,))?;
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 2, "only the owner's launches are in the graph");
    holds(&theirs, 11);
    graph.replay()?;
    holds(&mine, 2);
    holds(&theirs, 11);
    Ok(())
}

/// 2 (XC-29): recording and sealing run nothing, so what was unreadable stays so until a replay.
pub fn sealing_launders_nothing(env: &Env) -> Result<()> {
    let device = &env.device;
    let (owner, _) = env.folded();
    let succ = env.kernel(SUCC);
    let (input, output) = (words(device, 1)?, words(device, 7)?);
    taint(&output)?;
    let before = taint_of(&output).to_string();
    open_window(&owner)?;
    owner.launch(&succ, grid(), (&input, &output))?;
    let explicit = owner.end_capture()?;
    assert_eq!(taint_of(&output).to_string(), before, "the first failure is still the one that is told");
    let graph = graph_of(device, &succ, &input, &output)?;
    taint_of(&output);
    graph.replay()?;
    holds(&output, 2);
    drop(explicit);
    Ok(())
}

/// 3 (XC-30): a replay whose input holds no result runs nothing and passes the failure on, until the input is written.
pub fn a_replay_launders_nothing(env: &Env) -> Result<()> {
    let device = &env.device;
    let (succ, mul2) = (env.kernel(SUCC), env.kernel(kernels::MUL2));
    let (input, output) = (words(device, 1)?, words(device, 7)?);
    let (graph, ()) = device.capture(|c| {
        let between = c.alloc(N * 4)?;
        c.launch(&succ, grid(), (&input, &between))?;
        c.launch(&mul2, grid(), (&between, &output))
    })?;
    taint(&input)?;
    let cause = taint_of(&input).to_string();
    let skips = device.counters().tainted_skips;
    for _ in 0..2 {
        match failure(graph.replay()) {
            ServerError::Tainted { buffer, cause: why, .. } => {
                assert_eq!((buffer, why.to_string()), (input.memory_id(), cause.clone()));
            }
            other => panic!("the input's failure was expected: {other}"),
        }
        says(&taint_of(&output), &[&cause]);
    }
    let more = failure(device.launch(&succ, grid(), (&output, &input)));
    assert!(matches!(more, ServerError::Tainted { .. }), "eager work passes it on too: {more}");
    assert!(device.counters().tainted_skips > skips);
    input.write(&host(20))?;
    graph.replay()?;
    holds(&output, 42);
    Ok(())
}

/// 4: the owner's read, sync, replay, profile and host copy inside its window are refused or recorded, never half of each;
/// destruction and compilation are safe.
pub fn nothing_breaks_a_window_from_inside(env: &Env) -> Result<()> {
    let (device, owner, neighbour) = one_slot(env);
    let (inc, succ) = (kernel_on(&device, kernels::INC), kernel_on(&device, SUCC));
    let (counter, input, theirs) = (words(&device, 0)?, words(&device, 1)?, words(&device, 1)?);
    let other = graph_of(&device, &succ, &input, &theirs)?;
    open_window(&owner)?;
    owner.launch(&inc, grid(), (&counter,))?;
    for error in [failure(owner.read::<u32>(&counter)), failure(owner.sync()), failure(other.replay_on_stream(&owner))]
    {
        assert!(matches!(error, ServerError::GraphState(_)), "{error}");
    }
    {
        let _pin = owner.id().pin();
        let profile = device.profile(|c| c.launch(&inc, grid(), (&counter,)));
        refused(profile, &GraphRule::RefusedInWindow);
    }
    drop(other);
    drop(device.kernel(kernels::MUL2)?);
    let written = neighbour.write(&theirs, &host(50));
    owner.launch(&inc, grid(), (&counter,))?;
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 2);
    if env.is_software_graph() {
        says(&failure(written), &["write: ", "recording"]);
        taint_of(&theirs);
    } else {
        written?;
        holds(&theirs, 50);
    }
    theirs.write(&host(60))?;
    graph.replay()?;
    graph.replay()?;
    holds(&theirs, 60);
    holds(&counter, 4);
    Ok(())
}

/// 5: reads as futures, waits, allocations and frees of other threads and other slots leave a window intact, and a buffer that
/// a neighbour has just written is an ordinary input of it.
pub fn other_threads_cannot_invalidate_a_window(env: &Env) -> Result<()> {
    let (device, owner, neighbour) = one_slot(env);
    let late = kernel_on(&device, LATE);
    let (input, between, output) = (words(&device, 1)?, blank(&device)?, blank(&device)?);
    neighbour.launch(&late, grid(), (&input, &between, 20_000_u32))?;
    let pending = neighbour.read_async::<u32>(&input)?;
    open_window(&owner)?;
    owner.launch(&late, grid(), (&between, &output, 1_u32))?;
    let churn = thread::spawn({
        let device = device.clone();
        move || (0..50).try_for_each(|_| device.alloc(100_000).map(drop))
    });
    churn.join().expect("no panic")?;
    assert!(owner.capture_status().recording);
    let graph = owner.end_capture()?;
    same(&pending.wait()?, 1);
    graph.replay()?;
    holds(&output, 3);
    Ok(())
}

/// 6: an input that another stream is still producing is waited for by the replay; that stream is not drawn into the graph.
pub fn an_input_of_another_stream_is_no_fork(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let (owner, _) = env.folded();
    let producer = device.new_stream();
    let (source, input, output) = (words(device, 0)?, words(device, 0)?, blank(device)?);
    producer.launch(&late, grid(), (&source, &input, 20_000_u32))?;
    open_window(&owner)?;
    owner.launch(&late, grid(), (&input, &output, 1_u32))?;
    producer.launch(&late, grid(), (&source, &input, 20_000_u32))?;
    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 1);
    for value in 0..20 {
        producer.write(&source, &host(value))?;
        producer.launch(&late, grid(), (&source, &input, 5_000_u32))?;
        graph.replay_on_stream(&owner)?;
        holds(&output, value + 2);
    }
    Ok(())
}

/// 7: an allocation that cannot be had fails at its call; captures of one work add only what they pin.
pub fn an_allocation_in_a_window_fails_at_its_call(env: &Env) -> Result<()> {
    let limit = 16 << 20;
    let device = env.open(Config { memory_limit: Some(limit), page_bytes: 1 << 20, ..Config::default() });
    let inside = device.capture(|c| {
        let error = failure(c.alloc(2 * limit));
        match error {
            ServerError::OutOfMemory(ref error) => assert_eq!(error.refused_by, MemoryLimit::Config),
            ref other => panic!("out of memory was expected at the call: {other}"),
        }
        let small = c.alloc(4096)?;
        c.fill(&small, 1)
    });
    inside?.0.replay()?.wait()?;
    let capture = |_: u32| -> Result<graphreel::Graph> {
        let record = |c: &mut graphreel::Capture| {
            let scratch = c.alloc(100 << 10)?;
            c.fill(&scratch, 1)
        };
        Ok(device.capture(record)?.0)
    };
    let kept = (0..50).map(capture).collect::<Result<Vec<_>>>()?;
    let pinned: u64 = kept.iter().map(|graph| graph.report().pinned_bytes).sum();
    assert!(pinned < 50 * (200 << 10), "a capture pins what it uses and not whole pages: {pinned}");
    assert_eq!(device.memory_usage().pinned_bytes, pinned);
    drop(kept);
    settle(&device, "dropped graphs give their bytes back", |usage| usage.pinned_bytes == 0)
}

/// 8: order across streams follows every use, not only the first: later in-place writes and replays are waited for as well.
pub fn every_later_use_is_ordered_across_streams(env: &Env) -> Result<()> {
    let device = &env.device;
    let (late, inc) = (env.kernel(LATE), env.kernel(kernels::INC));
    let (origin, user) = (device.new_stream(), device.new_stream());
    let (source, shared, seen) = (words(device, 0)?, words(device, 0)?, blank(device)?);
    let (graph, ()) = device.capture(|c| {
        c.launch(&late, grid(), (&source, &shared, 5_000_u32))?;
        c.launch(&inc, grid(), (&shared,))
    })?;
    for round in 0..40 {
        origin.launch(&late, grid(), (&source, &shared, 5_000_u32))?;
        user.copy(&shared, &seen)?;
        same(&user.read::<u32>(&seen)?, round + 1);
        origin.launch(&inc, grid(), (&shared,))?;
        user.copy(&shared, &seen)?;
        same(&user.read::<u32>(&seen)?, round + 2);
        graph.replay_on_stream(&origin)?;
        user.copy(&shared, &seen)?;
        same(&user.read::<u32>(&seen)?, round + 2);
        origin.launch(&inc, grid(), (&source,))?;
    }
    Ok(())
}

/// 9: a replay is cut into as many submits as its report tells, the call returns without waiting for them, and mistakes are
/// errors of the call and never a panic of the driver's handler.
pub fn a_long_replay_is_cut_as_reported_and_mistakes_are_errors(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let (one, two) = (words(device, 0)?, words(device, 0)?);
    let (graph, ()) = device.capture(|c| {
        for _ in 0..500 {
            c.launch(&late, grid(), (&one, &two, 300_u32))?;
            c.launch(&late, grid(), (&two, &one, 300_u32))?;
        }
        Ok(())
    })?;
    assert!(graph.report().submits <= 1_000 / 32, "{:?}", graph.report());
    let before = device.counters().submits;
    graph.replay()?.wait()?;
    assert_eq!(device.counters().submits - before, graph.report().submits as u64);
    holds(&one, 1_000);

    let max = device.caps().groups_max;
    let error = failure(device.launch(&late, [max + 1, 1, 1], (&one, &two, 1_u32)));
    assert!(matches!(error, ServerError::InvalidGrid { .. }), "{error}");
    let error = failure(device.launch(&late, grid(), (&one, &one, 1_u32)));
    assert!(matches!(error, ServerError::InvalidArguments(_)), "{error}");
    let error = failure(device.alloc(device.caps().buffer_bytes_max + 4));
    assert!(matches!(error, ServerError::InvalidSize { .. }), "{error}");
    let foreign = words(&env.open(Config::default()), 1)?;
    let error = failure(device.launch(&late, grid(), (&foreign, &two, 1_u32)));
    assert!(matches!(error, ServerError::ForeignHandle { .. }), "{error}");
    let error = failure(device.launch(&late, Grid::groups(0), (&one, &two, 1_u32)));
    assert!(matches!(error, ServerError::InvalidGrid { .. }), "{error}");
    assert_works(device);
    Ok(())
}

/// 10: what goes wrong with a graph can be matched by its variant and its fields.
pub fn graph_errors_can_be_matched(env: &Env) -> Result<()> {
    let (device, owner, neighbour) = one_slot(env);
    let buffer = words(&device, 1)?;
    refused(owner.begin_capture(), &GraphRule::NotPrepared);
    refused(owner.end_capture(), &GraphRule::NothingRecording);
    owner.graph_prepare()?;
    refused(neighbour.graph_prepare(), &GraphRule::AlreadyPrepared);
    refused(owner.end_capture(), &GraphRule::NothingRecording);
    owner.begin_capture()?;
    refused(owner.end_capture(), &GraphRule::EmptyCapture);
    open_window(&owner)?;
    owner.fill(&buffer, 2)?;
    match failure(neighbour.end_capture()) {
        ServerError::Several { errors, .. } => match &errors[..] {
            [ServerError::GraphState(state)] => {
                assert_eq!(state.rule, GraphRule::Abandoned);
                assert_eq!((state.owner, state.caller), (Some(owner.id()), Some(neighbour.id())));
            }
            other => panic!("one reason was expected: {other:?}"),
        },
        other => panic!("the report of an abandoned window was expected: {other}"),
    }
    match failure(buffer.read::<u32>()) {
        ServerError::Tainted { buffer: named, range, cause } => {
            assert_eq!((named, range), (buffer.memory_id(), 0..N * 4));
            assert!(matches!(&*cause, ServerError::Several { .. }), "{cause}");
        }
        other => panic!("a taint was expected: {other}"),
    }
    Ok(())
}

/// 11: destroying a graph does not wait for the device.
pub fn destroying_a_graph_does_not_wait(env: &Env) -> Result<()> {
    let device = &env.device;
    let late = env.kernel(LATE);
    let (one, two) = (words(device, 0)?, words(device, 0)?);
    let rounds = late_rounds(device, 30_000);
    let (graph, ()) = device.capture(|c| {
        for _ in 0..10 {
            c.launch(&late, grid(), (&one, &two, rounds))?;
            c.launch(&late, grid(), (&two, &one, rounds))?;
        }
        Ok(())
    })?;
    let dones = (0..3).map(|_| graph.replay()).collect::<Result<Vec<_>>>()?;
    let last = &dones[2];
    assert!(!last.is_done(), "sixty slow nodes take longer than issuing them");
    drop(graph);
    assert!(!last.is_done(), "the drop did not wait for them");
    last.wait()?;
    holds(&one, 60);
    Ok(())
}
