//! Streams that share the slot of a recording window: they lose as little as can be, nothing of theirs is recorded, and
//! nothing of theirs dooms (C-36, C-55, C-56, C-58, C-61).

use graphreel::device::Stream;
use graphreel::error::GraphRule;
use graphreel::{Buffer, Graph, Grid, Kernel, Result, ServerError};

use crate::env::{PATIENCE, failure, rule, says, taint_of};
use crate::{Env, kernels};

/// A window of `owner` that has recorded one launch, with a neighbour on its slot.
struct Scene {
    owner: Stream,
    neighbour: Stream,
    inc: Kernel,
    worked: Buffer,
}

impl Scene {
    fn open(env: &Env) -> Result<Self> {
        let (owner, neighbour) = env.folded();
        let (inc, worked) = (env.kernel(kernels::INC), env.buffer(&[1; 64]));
        owner.graph_prepare()?;
        owner.begin_capture()?;
        owner.launch(&inc, Grid::stride(64), (&worked,))?;
        Ok(Self { owner, neighbour, inc, worked })
    }

    /// Seal, and check that the graph has the owner's two launches and nothing else.
    fn seal(&self) -> Result<Graph> {
        self.owner.launch(&self.inc, Grid::stride(64), (&self.worked,))?;
        let graph = self.owner.end_capture()?;
        assert_eq!(
            (graph.report().nodes, graph.recording().buffers.len()),
            (2, 1),
            "only the owner's work is recorded"
        );
        assert_eq!(self.worked.read::<u32>()?, [1; 64]);
        graph.replay()?.wait()?;
        assert_eq!(self.worked.read::<u32>()?, [3; 64]);
        Ok(graph)
    }
}

/// XC-27, QC-2: a neighbour's launches, copies and fills run at once with right bytes and are not in the graph.
pub fn a_neighbours_launches_run_and_are_not_recorded(env: &Env) -> Result<()> {
    let (theirs, copied, filled) = (env.buffer(&[7; 64]), env.unwritten(64), env.unwritten(64));
    let scene = Scene::open(env)?;
    let before = env.device.counters().launches;
    scene.neighbour.launch(&scene.inc, Grid::stride(64), (&theirs,))?;
    scene.neighbour.copy(&theirs, &copied)?;
    scene.neighbour.fill(&filled, 12)?;
    assert_eq!(env.device.counters().launches, before + 1, "the launch ran, and the recorded one did not");
    // The calling thread's stream is on another slot, so it may read now.
    assert_eq!(theirs.read::<u32>()?, [8; 64]);
    assert_eq!((copied.read::<u32>()?, filled.read::<u32>()?), (vec![8; 64], vec![12; 64]));
    let graph = scene.seal()?;
    graph.replay()?.wait()?;
    assert_eq!(theirs.read::<u32>()?, [8; 64], "a replay does not repeat a neighbour's work");
    Ok(())
}

/// XC-15, C-56: a software graph refuses a neighbour's read and sync on the spot; on hardware those on its own work in
/// the window are answered at once.
pub fn a_neighbours_read_and_sync_are_refused_or_answered(env: &Env) -> Result<()> {
    let theirs = env.unwritten(64);
    let scene = Scene::open(env)?;
    scene.neighbour.fill(&theirs, 9)?;
    if env.device.caps().defers_neighbours {
        assert_eq!(scene.neighbour.read_async::<u32>(&theirs)?.wait_for(PATIENCE)?, [9; 64]);
    } else {
        for (error, prefix) in [
            (failure(scene.neighbour.read::<u32>(&theirs)), "read:"),
            (failure(scene.neighbour.read_async::<u32>(&theirs).map(drop)), "read:"),
            (failure(scene.neighbour.sync()), "sync:"),
        ] {
            assert_eq!(error.graph_rule(), Some(&GraphRule::RefusedInWindow));
            let owner = format!("{:?}", scene.owner.id());
            says(&error, &[prefix, "recording a capture", &owner]);
        }
    }
    scene.seal()?;
    assert_eq!(scene.neighbour.read::<u32>(&theirs)?, [9; 64], "C-36: nothing of it reached the data or the capture");
    scene.neighbour.sync()?;
    Ok(())
}

/// C-56, C-61: on hardware, a neighbour's wait for work queued before the window is answered when the window closes, in
/// whatever way it closes; each waiter has its own outcome.
pub fn deferred_waits_end_with_the_window(env: &Env) -> Result<()> {
    assert!(env.device.caps().defers_neighbours, "a backend that defers nothing lists this test as not supported");
    for way in 0..4 {
        let (first, second) = (env.unwritten(64), env.unwritten(64));
        let (owner, neighbour) = env.folded();
        neighbour.write(&first, &[5u32; 64])?;
        let scene = Scene::open(env)?;
        let mut good = neighbour.read_async::<u32>(&first)?;
        let bad = neighbour.read_async::<u32>(&second);
        match way {
            0 => drop(owner.end_capture()?),
            1 => drop(failure(neighbour.end_capture())),
            2 => owner.graph_abort()?,
            _ => {
                failure(owner.launch(&scene.inc, Grid::stride(64), ()));
                failure(owner.end_capture());
            }
        }
        assert_eq!(good.wait_for(PATIENCE)?, [5; 64], "way {way}");
        assert!(matches!(bad.and_then(|bad| bad.wait()), Err(ServerError::Unwritten { .. })), "way {way}");
    }
    Ok(())
}

/// XC-16, C-55: a software graph refuses a neighbour's write and taints its own destination only; hardware does it.
pub fn a_neighbours_write_is_refused_or_done(env: &Env) -> Result<()> {
    let (theirs, also_theirs) = (env.buffer(&[7; 64]), env.buffer(&[7; 64]));
    let scene = Scene::open(env)?;
    let first = theirs.slice(0..128)?;
    let written = scene.neighbour.write(&first, &[8u32; 32]);
    if env.device.caps().defers_neighbours {
        written?;
        assert_eq!(theirs.read::<u32>()?, [[8; 32], [7; 32]].concat());
    } else {
        let error = failure(written);
        assert_eq!(error.graph_rule(), Some(&GraphRule::RefusedInWindow));
        says(&error, &["write:", "recording a capture", &format!("{:?}", scene.owner.id())]);
        assert_eq!(taint_of(&first).to_string(), error.to_string());
        assert_eq!(theirs.slice(128..256)?.read::<u32>()?, [7; 32], "just what it would have written");
        assert_eq!(also_theirs.read::<u32>()?, [7; 64]);
    }
    scene.seal()?;
    scene.neighbour.write(&first, &[9u32; 32])?;
    assert_eq!(theirs.read::<u32>()?, [[9; 32], [7; 32]].concat());
    Ok(())
}

/// C-58: a neighbour's replay runs while the slot records, since it is another graph's work.
pub fn a_neighbours_replay_runs(env: &Env) -> Result<()> {
    let (inc, theirs) = (env.kernel(kernels::INC), env.buffer(&[7; 64]));
    let (earlier, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(64), (&theirs,)))?;
    let scene = Scene::open(env)?;
    let done = earlier.replay_on_stream(&scene.neighbour)?;
    done.wait_for(PATIENCE)?;
    assert_eq!(theirs.read::<u32>()?, [8; 64]);
    scene.seal()?;
    Ok(())
}

/// C-36: an error of a neighbour's own neither dooms the window nor reaches the owner.
pub fn a_neighbours_errors_are_its_own(env: &Env) -> Result<()> {
    let (theirs, never) = (env.buffer(&[7; 64]), env.unwritten(64));
    let scene = Scene::open(env)?;
    let wrong = failure(scene.neighbour.launch(&scene.inc, Grid::stride(64), (&theirs, &theirs)));
    assert!(matches!(wrong, ServerError::InvalidArguments(_)), "{wrong:?}");
    let _pin = scene.neighbour.id().pin();
    failure(env.device.alloc(0));
    failure(env.device.kernel("not wgsl"));
    failure(scene.neighbour.copy(&theirs, &never.slice(0..4)?));
    assert_eq!(rule(scene.neighbour.graph_prepare(), "graph_prepare"), GraphRule::AlreadyRecording);
    scene.seal()?;
    Ok(())
}

/// C-58: buffers, kernels and graphs dropped in a window by anyone harm neither the window nor what holds them still.
pub fn drops_in_a_window_wait_for_their_users(env: &Env) -> Result<()> {
    let (inc, theirs) = (env.kernel(kernels::INC), env.buffer(&[7; 64]));
    let (graph_of_theirs, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(64), (&theirs,)))?;
    let scene = Scene::open(env)?;
    let (kept, temporary) = (env.buffer(&[0; 64]), env.buffer(&[3; 64]));
    scene.owner.copy(&temporary, &kept)?;
    drop(temporary);
    drop((theirs, graph_of_theirs, inc));
    let churn: Vec<Buffer> = (0..50).map(|value| env.buffer(&[1000 + value; 64])).collect();
    let graph = scene.owner.end_capture()?;
    for _ in 0..3 {
        graph.replay()?.wait()?;
        assert_eq!(kept.read::<u32>()?, [3; 64], "the recorded copy still has its source");
    }
    for (value, buffer) in (1000u32..).zip(&churn) {
        assert_eq!(buffer.read::<u32>()?, [value; 64]);
    }
    Ok(())
}
