//! Who may do what while a slot records: the owner's side of the matrix of C-58, and what lies outside a window.

use graphreel::device::Stream;
use graphreel::error::GraphRule;
use graphreel::{Grid, Result, ServerError, StreamId};

use crate::env::{PATIENCE, failure, rule, says, taint_of};
use crate::{Env, kernels};

fn open(stream: &Stream) -> Result<()> {
    stream.graph_prepare()?;
    stream.begin_capture()
}

/// Launches, copies, fills and uploads of the owner are recorded and do not run.
pub fn the_owners_work_is_recorded_and_does_not_run(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (a, b) = (env.buffer(&[1; 64]), env.buffer(&[2; 64]));
    let (c, d) = (env.buffer(&[3; 64]), env.buffer(&[4; 64]));
    open(&owner)?;
    owner.launch(&inc, Grid::stride(64), (&a,))?;
    owner.copy(&a, &b)?;
    owner.fill(&c, 30)?;
    owner.upload(&d, &[40u32; 64])?;
    let graph = owner.end_capture()?;
    for (buffer, old) in [(&a, 1u32), (&b, 2), (&c, 3), (&d, 4)] {
        assert_eq!(buffer.read::<u32>()?, [old; 64], "QC-8: readable after the seal, with the bytes from before");
    }
    graph.replay()?.wait()?;
    for (buffer, new) in [(&a, 2u32), (&b, 2), (&c, 30), (&d, 40)] {
        assert_eq!(buffer.read::<u32>()?, [new; 64]);
    }
    assert_eq!(graph.report().nodes, 4);
    Ok(())
}

/// XC-17, C-57, D22: a host write of the owner dooms a software graph's window at its end, and is recorded by hardware.
pub fn an_owners_write_dooms_or_is_recorded(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, written) = (env.buffer(&[1; 8]), env.buffer(&[2; 8]));
    open(&owner)?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    owner.write(&written, &[9u32; 8])?;
    let ended = owner.end_capture();
    if env.is_software_graph() {
        let error = failure(ended);
        assert!(matches!(error.graph_rule(), Some(GraphRule::WriteInWindow { .. })), "{error:?}");
        let named = format!("buffer {}", written.memory_id());
        says(&error, &["write:", "recording a capture", "Capture::upload", &named, &format!("{:?}", owner.id())]);
        assert_eq!(taint_of(&written).to_string(), error.to_string());
        assert_eq!(taint_of(&worked).to_string(), error.to_string());
    } else {
        let graph = ended?;
        assert_eq!(written.read::<u32>()?, [2; 8]);
        graph.replay()?.wait()?;
        assert_eq!((worked.read::<u32>()?, written.read::<u32>()?), (vec![2; 8], vec![9; 8]));
    }
    env.assert_usable(&owner);
    Ok(())
}

/// QC-7, QC-10: the owner's blocking read and sync are refused on the spot and doom nothing; as a future they are refused
/// by a software graph and resolve at the window's end on hardware.
pub fn an_owners_read_and_sync_do_not_doom(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, other) = (env.buffer(&[1; 8]), env.buffer(&[5; 8]));
    open(&owner)?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    let software = env.is_software_graph();
    let expected = if software { GraphRule::RefusedInWindow } else { GraphRule::WouldWaitForItself };
    for error in [failure(owner.read::<u32>(&other)), failure(owner.sync())] {
        assert_eq!(error.graph_rule(), Some(&expected), "{error}");
        says(&error, &[&format!("{:?}", owner.id())]);
    }
    let later = owner.read_async::<u32>(&other);
    if software {
        let error = failure(later.map(drop));
        says(&error, &["read:", "recording a capture"]);
        assert_eq!(rule(owner.sync_async().map(drop), "sync"), GraphRule::RefusedInWindow);
        owner.end_capture()?.replay()?.wait()?;
    } else {
        let mut later = later?;
        owner.end_capture()?.replay()?.wait()?;
        assert_eq!(later.wait_for(PATIENCE)?, [5; 8]);
    }
    assert_eq!(worked.read::<u32>()?, [2; 8]);
    env.assert_usable(&owner);
    Ok(())
}

/// QC-3: a profile on a recording slot is refused to the owner and to neighbours, on every backend, and dooms nothing.
pub fn a_profile_in_a_window_is_refused(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, other) = (env.buffer(&[1; 8]), env.buffer(&[5; 8]));
    open(&owner)?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    for stream in [&owner, &neighbour] {
        let _pin = stream.id().pin();
        let profiled = env.device.profile(|c| c.launch(&inc, Grid::stride(8), (&other,)));
        let error = failure(profiled);
        assert_eq!(error.graph_rule(), Some(&GraphRule::RefusedInWindow));
        says(&error, &["profile:", "recording a capture", &format!("{:?}", owner.id())]);
    }
    let graph = owner.end_capture()?;
    assert_eq!((graph.report().nodes, other.read::<u32>()?), (1, vec![5; 8]));
    graph.replay()?.wait()?;
    assert_eq!(worked.read::<u32>()?, [2; 8]);
    env.assert_usable(&owner);
    Ok(())
}

/// D21: a replay into the owner's own window is refused by name; the window goes on, and so does the graph.
pub fn an_owners_replay_in_its_window_is_refused(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, replayed) = (env.buffer(&[1; 8]), env.buffer(&[5; 8]));
    let (earlier, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(8), (&replayed,)))?;
    open(&owner)?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    let error = failure(earlier.replay_on_stream(&owner));
    assert_eq!(error.graph_rule(), Some(&GraphRule::ReplayInCapture));
    says(&error, &["replay:"]);
    assert_eq!(replayed.read::<u32>()?, [5; 8], "a refused call of the wrong kind taints nothing");
    let graph = owner.end_capture()?;
    earlier.replay_on_stream(&owner)?.wait()?;
    graph.replay()?.wait()?;
    assert_eq!((worked.read::<u32>()?, replayed.read::<u32>()?), (vec![2; 8], vec![6; 8]));
    Ok(())
}

/// C-96, D24: memory may be reserved and kernels compiled inside a window, by anyone; a graph keeps what it uses.
pub fn memory_and_kernels_can_be_made_in_a_window(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let buffer = env.buffer(&[1; 1000]);
    open(&owner)?;
    let made = {
        let _pin = owner.id().pin();
        let scratch = env.device.alloc_for::<u32>(1000)?;
        let mul2 = env.device.kernel(kernels::MUL2)?;
        owner.launch(&mul2, Grid::stride(1000), (&buffer, &scratch))?;
        owner.copy(&scratch, &buffer)?;
        scratch.memory_id()
    };
    {
        let _pin = neighbour.id().pin();
        let theirs = env.device.alloc(4 << 20)?;
        drop(theirs);
        env.device.kernel(kernels::HIST)?;
    }
    let graph = owner.end_capture()?;
    assert!(graph.report().pinned_bytes >= 8000, "the scratch {made} is the graph's alone: {:?}", graph.report());
    for expected in [2u32, 4, 8] {
        graph.replay()?.wait()?;
        assert_eq!(buffer.read::<u32>()?, [expected; 1000]);
    }
    env.assert_usable(&owner);
    Ok(())
}

/// C-59, QC-12: while a window is only prepared everything executes, for the owner and for neighbours.
pub fn a_prepared_window_refuses_nothing_but_a_second_one(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let replayed = env.buffer(&[0; 8]);
    let (earlier, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(8), (&replayed,)))?;
    owner.graph_prepare()?;
    for (stream, value) in [(&owner, 10u32), (&neighbour, 20)] {
        let (buffer, copy) = (env.unwritten(8), env.unwritten(8));
        stream.write(&buffer, &[value; 8])?;
        stream.launch(&inc, Grid::stride(8), (&buffer,))?;
        stream.copy(&buffer, &copy)?;
        assert_eq!(stream.read::<u32>(&copy)?, [value + 1; 8]);
        stream.sync()?;
        earlier.replay_on_stream(stream)?.wait()?;
        let _pin = stream.id().pin();
        let ((), ()) = (env.device.sync()?, drop(env.device.alloc(64)?));
    }
    assert_eq!(replayed.read::<u32>()?, [2; 8]);
    assert_eq!(rule(neighbour.graph_prepare(), "graph_prepare"), GraphRule::AlreadyPrepared);
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(8), (&replayed,))?;
    assert_eq!(owner.end_capture()?.report().nodes, 1, "nothing of the warmup is recorded");
    Ok(())
}

/// C-62: streams of other slots do everything, profiles included, while a slot records.
pub fn other_slots_are_unaffected(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, replayed) = (env.buffer(&[1; 8]), env.buffer(&[0; 8]));
    let (earlier, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(8), (&replayed,)))?;
    open(&owner)?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    let other = env.device.stream_of(StreamId { value: owner.id().value + 8 });
    let (buffer, copy) = (env.unwritten(8), env.unwritten(8));
    other.write(&buffer, &[10u32; 8])?;
    other.launch(&inc, Grid::stride(8), (&buffer,))?;
    other.copy(&buffer, &copy)?;
    other.sync()?;
    assert_eq!(other.read::<u32>(&copy)?, [11; 8]);
    earlier.replay_on_stream(&other)?.wait()?;
    assert_eq!(other.read::<u32>(&replayed)?, [1; 8]);
    // A second window, on the other slot, at the same time.
    open(&other)?;
    other.launch(&inc, Grid::stride(8), (&buffer,))?;
    let (first, second) = (owner.end_capture()?, other.end_capture()?);
    first.replay()?.wait()?;
    second.replay()?.wait()?;
    assert_eq!((worked.read::<u32>()?, buffer.read::<u32>()?), (vec![2; 8], vec![12; 8]));
    Ok(())
}

/// C-62: a profile on another slot runs and is timed as ever, or says that this device cannot time.
pub fn a_profile_on_another_slot_runs(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (worked, profiled) = (env.buffer(&[1; 8]), env.buffer(&[5; 8]));
    open(&owner)?;
    owner.launch(&inc, Grid::stride(8), (&worked,))?;
    match env.device.profile(|c| c.launch(&inc, Grid::stride(8), (&profiled,))) {
        Ok((profile, ())) => {
            assert_eq!(profiled.read::<u32>()?, [6; 8]);
            assert_eq!(profile.operations.len(), 1);
            assert!(env.device.caps().times_eager || profile.total.is_none(), "a time that was not measured is absent");
        }
        Err(ServerError::Unsupported { .. }) => assert!(!env.device.caps().times_eager),
        Err(error) => return Err(error),
    }
    assert_eq!(owner.end_capture()?.report().nodes, 1);
    Ok(())
}
