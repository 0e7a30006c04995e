//! The order of the capture calls, and what each leaves behind (C-9 to C-20, C-30 to C-37, C-66 to C-71).

use graphreel::error::GraphRule;
use graphreel::{Grid, Result};

use crate::env::{failure, rule, says, taint_of};
use crate::{Env, kernels};

/// C-10: prepare, begin, end; the warmup runs, the recording does not, the replay does.
pub fn a_full_cycle_seals_a_graph_that_replays(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[0; 100]);
    owner.graph_prepare()?;
    owner.launch(&inc, Grid::stride(100), (&buffer,))?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(100), (&buffer,))?;
    owner.launch(&inc, Grid::stride(100), (&buffer,))?;
    let graph = owner.end_capture()?;
    assert_eq!(buffer.read::<u32>()?, [1; 100], "the warmup ran once and the recording did not run");
    graph.replay()?.wait()?;
    assert_eq!(buffer.read::<u32>()?, [3; 100]);
    assert_eq!(graph.report().nodes, 2);
    env.assert_usable(&owner);
    Ok(())
}

/// TC-14 (TC-1, TC-2, TC-11): each call out of order is refused by name and changes nothing; the right call then works.
pub fn calls_out_of_order_change_nothing(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[5; 8]);
    assert_eq!(rule(owner.begin_capture(), "begin_capture"), GraphRule::NotPrepared);
    assert_eq!(rule(owner.end_capture(), "end_capture"), GraphRule::NothingRecording);
    owner.graph_abort()?;
    assert_eq!(owner.capture_status().owner, None);

    owner.graph_prepare()?;
    let prepared = owner.capture_status();
    assert!(prepared.active && !prepared.recording && prepared.owner == Some(owner.id()));
    // C-11 and C-12: the error does not depend on who asks.
    assert_eq!(rule(owner.graph_prepare(), "graph_prepare"), GraphRule::AlreadyPrepared);
    assert_eq!(rule(neighbour.graph_prepare(), "graph_prepare"), GraphRule::AlreadyPrepared);
    // C-13: a stray end does not close a window that never opened.
    assert_eq!(rule(owner.end_capture(), "end_capture"), GraphRule::NothingRecording);
    assert_eq!(rule(neighbour.end_capture(), "end_capture"), GraphRule::NothingRecording);
    assert_eq!(owner.capture_status(), prepared);

    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(8), (&buffer,))?;
    let recording = owner.capture_status();
    assert!(recording.active && recording.recording && recording.owner == Some(owner.id()));
    assert_eq!(rule(owner.begin_capture(), "begin_capture"), GraphRule::AlreadyRecording);
    assert_eq!(rule(owner.graph_prepare(), "graph_prepare"), GraphRule::AlreadyRecording);
    assert_eq!(rule(neighbour.graph_prepare(), "graph_prepare"), GraphRule::AlreadyRecording);
    assert_eq!(owner.capture_status(), recording);
    owner.launch(&inc, Grid::stride(8), (&buffer,))?;

    let graph = owner.end_capture()?;
    assert_eq!(graph.report().nodes, 2, "no refused call lost or added an operation");
    assert_eq!(rule(owner.end_capture(), "end_capture"), GraphRule::NothingRecording);
    graph.replay()?.wait()?;
    assert_eq!(buffer.read::<u32>()?, [7; 8]);
    env.assert_usable(&owner);
    Ok(())
}

/// C-66 to C-68, TC-12: an abort from each state leaves the slot idle; what was recorded did not run, and counts as a window
/// without a graph.
pub fn an_abort_from_any_state_frees_the_slot(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    owner.graph_prepare()?;
    owner.launch(&inc, Grid::stride(8), (&buffer,))?;
    owner.graph_abort()?;
    assert_eq!(buffer.read::<u32>()?, [2; 8], "an aborted warmup ran as any eager work");
    env.assert_usable(&owner);
    assert_eq!(env.device.counters().captures_failed, 0, "nothing was recorded");

    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(8), (&buffer,))?;
    owner.graph_abort()?;
    assert!(!owner.capture_status().active);
    assert_eq!(env.device.counters().captures_failed, 1);
    assert_eq!(taint_of(&buffer).to_string().split(':').next(), Some("graph_abort"));
    buffer.write(&[3u32; 8])?;
    assert_eq!(buffer.read::<u32>()?, [3; 8]);
    env.assert_usable(&owner);
    Ok(())
}

/// XC-28, QC-1, QC-4: only the owner begins; anybody may drop a prepared window, and only the owner a recording one.
pub fn begin_and_abort_know_the_owner(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[0; 8]);
    owner.graph_prepare()?;
    let refused = failure(neighbour.begin_capture());
    assert_eq!(refused.graph_rule(), Some(&GraphRule::NotOwner));
    says(&refused, &["begin_capture:", &format!("{:?}", owner.id()), &format!("{:?}", neighbour.id())]);
    assert!(!owner.capture_status().recording, "the refused call opened the window");
    neighbour.graph_abort()?;
    assert!(!owner.capture_status().active, "a prepared window can be dropped by anyone");

    neighbour.graph_prepare()?;
    neighbour.graph_abort()?;
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(8), (&buffer,))?;
    assert_eq!(rule(neighbour.graph_abort(), "graph_abort"), GraphRule::NotOwner);
    owner.end_capture()?.replay()?.wait()?;
    assert_eq!(buffer.read::<u32>()?, [1; 8]);
    env.assert_usable(&owner);
    Ok(())
}

/// XC-3, C-30, C-33, C-76: an operation that fails dooms the window; the end reports it, and nothing claimed is readable.
pub fn a_doomed_window_gives_its_failure_and_no_graph(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let (inc, mul2) = (env.kernel(kernels::INC), env.kernel(kernels::MUL2));
    let (buffer, output) = (env.buffer(&[1; 8]), env.buffer(&[9; 8]));
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&mul2, Grid::stride(8), (&buffer, &output))?;
    let first = failure(owner.launch(&inc, Grid::stride(8), ()));
    let second = failure(owner.launch(&mul2, Grid::stride(8), (&buffer,)));
    assert_ne!(first.to_string(), second.to_string());
    let ended = failure(owner.end_capture());
    assert_eq!(ended.to_string(), first.to_string(), "C-31: the first failure is the reported one");
    assert_eq!(taint_of(&output).to_string(), first.to_string());
    assert_eq!(buffer.read::<u32>()?, [1; 8], "what the window only reads stays readable");
    env.assert_usable(&owner);
    Ok(())
}

/// XC-4, C-35, C-68: neither the failure nor the buffers of one window reach the next on the slot.
pub fn a_window_inherits_nothing_from_the_one_before(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let (before, after) = (env.buffer(&[1; 8]), env.buffer(&[1; 8]));
    for end_it in [true, false] {
        before.write(&[1u32; 8])?;
        owner.graph_prepare()?;
        owner.begin_capture()?;
        owner.launch(&inc, Grid::stride(8), (&before,))?;
        failure(owner.launch(&inc, Grid::stride(8), ()));
        if end_it {
            failure(owner.end_capture());
        } else {
            owner.graph_abort()?;
        }
    }
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(8), (&after,))?;
    let graph = owner.end_capture()?;
    assert_eq!((graph.report().nodes, graph.recording().buffers.len()), (1, 1));
    graph.replay()?.wait()?;
    assert_eq!(after.read::<u32>()?, [2; 8]);
    taint_of(&before);
    Ok(())
}

/// C-71, D29: a window that recorded nothing is no graph, and says that work of other streams is not recorded.
pub fn an_empty_window_is_refused_by_name(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    owner.graph_prepare()?;
    owner.begin_capture()?;
    // Meant for the window, and given to another stream: it runs.
    env.device.launch(&inc, Grid::stride(8), (&buffer,))?;
    let error = failure(owner.end_capture());
    assert_eq!(error.graph_rule(), Some(&GraphRule::EmptyCapture));
    says(&error, &["EmptyCapture", "other streams"]);
    assert_eq!(buffer.read::<u32>()?, [2; 8]);
    env.assert_usable(&owner);
    Ok(())
}

/// C-19, C-94: a stream handle stays one logical stream on any thread, so a window may move between threads.
pub fn a_window_may_move_between_threads(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 8]);
    owner.graph_prepare()?;
    owner.begin_capture()?;
    let graph = std::thread::scope(|scope| {
        let (owner, inc, buffer) = (&owner, &inc, &buffer);
        let recorded = scope.spawn(move || owner.launch(inc, Grid::stride(8), (buffer,)));
        recorded.join().expect("no panic")?;
        scope.spawn(move || owner.end_capture()).join().expect("no panic")
    })?;
    graph.replay()?.wait()?;
    assert_eq!(buffer.read::<u32>()?, [2; 8]);
    env.assert_usable(&owner);
    Ok(())
}

/// Dropping the last handle of a stream aborts the window that it opened, and no other one.
pub fn a_dropped_stream_leaves_no_window(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let id = owner.id();
    for begin in [false, true] {
        let stream = env.device.stream_of(id);
        stream.graph_prepare()?;
        if begin {
            stream.begin_capture()?;
        }
        let clone = stream.clone();
        drop(stream);
        assert!(clone.capture_status().active, "a clone keeps the window");
        drop(clone);
        assert!(!owner.capture_status().active);
    }
    let late = env.device.stream_of(id);
    late.graph_prepare()?;
    late.graph_abort()?;
    neighbour.graph_prepare()?;
    drop(late);
    assert_eq!(neighbour.capture_status().owner, Some(neighbour.id()), "another stream's window is left alone");
    neighbour.graph_abort()?;
    for close in [0, 1] {
        let (first, second) = (env.device.stream_of(id), env.device.stream_of(id));
        first.graph_prepare()?;
        if close == 0 {
            first.graph_abort()?
        } else {
            second.graph_abort()?
        }
        second.graph_prepare()?;
        drop(first);
        assert_eq!(second.capture_status().owner, Some(id), "nor is one that another handle opened since");
        second.graph_abort()?;
    }
    env.assert_usable(&owner);
    Ok(())
}

/// C-10, C-67: hundreds of windows, closed in every way, leave a slot on which the next one works.
pub fn many_windows_closed_in_every_way(env: &Env) -> Result<()> {
    let (owner, neighbour) = env.folded();
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[0; 8]);
    for round in 0..200 {
        // An unsealed window leaves its output unreadable, and a tainted input would doom the next one.
        buffer.write(&[0u32; 8])?;
        owner.graph_prepare()?;
        if round % 5 == 0 {
            neighbour.graph_abort()?;
            continue;
        }
        owner.begin_capture()?;
        owner.launch(&inc, Grid::stride(8), (&buffer,))?;
        match round % 5 {
            1 => drop(owner.end_capture()?),
            2 => owner.graph_abort()?,
            3 => drop(failure(neighbour.end_capture())),
            _ => {
                failure(owner.launch(&inc, Grid::stride(8), ()));
                failure(owner.end_capture());
            }
        }
        assert!(!owner.capture_status().active, "round {round}");
    }
    env.assert_usable(&owner);
    Ok(())
}
