//! Bytes that hold no result: which are unreadable, with which failure, and what makes them readable again (C-75 to
//! C-82).

use graphreel::device::WritePart;
use graphreel::error::GraphRule;
use graphreel::{Buffer, Grid, Result, ServerError};

use crate::env::{failure, says, taint_of};
use crate::{Env, kernels};

/// Make `buffers` unreadable by work that never runs: they are outputs of a window that is aborted.
fn spoil(env: &Env, buffers: &[&Buffer]) -> Result<()> {
    let (owner, _) = env.folded();
    owner.graph_prepare()?;
    owner.begin_capture()?;
    for buffer in buffers {
        owner.fill(buffer, 0)?;
    }
    owner.graph_abort()
}

/// Whether the failure of a call goes back to [`spoil`].
#[track_caller]
fn comes_from_spoil(error: &ServerError) {
    assert!(matches!(error, ServerError::Tainted { .. }), "{error:?}");
    says(error, &["graph_abort:", "earlier failure"]);
}

/// Bytes that nothing wrote since they were allocated are refused, to the byte.
pub fn unwritten_bytes_cannot_be_read(env: &Env) -> Result<()> {
    let buffer = env.unwritten(64);
    let unwritten = |result: Result<Vec<u32>>| match failure(result) {
        ServerError::Unwritten { buffer, range } => (buffer, range),
        other => panic!("{other:?}"),
    };
    assert_eq!(unwritten(buffer.read()), (buffer.memory_id(), 0..256));
    buffer.write(&[3u32; 16])?;
    assert_eq!(unwritten(buffer.read()), (buffer.memory_id(), 64..256));
    assert_eq!(buffer.slice(0..64)?.read::<u32>()?, [3; 16]);
    says(&failure(buffer.read::<u32>()), &["64..256", "never written", &buffer.memory_id().to_string()]);
    buffer.slice(64..256)?.fill(4)?;
    assert_eq!(buffer.read::<u32>()?, [[3; 16], [4; 16], [4; 16], [4; 16]].concat());
    Ok(())
}

/// XC-18, C-76: what an unsealed window would have written is unreadable, and what it only read is not.
pub fn an_unsealed_window_taints_what_it_would_have_written(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let (add, mul2) = (env.kernel(kernels::ADD), env.kernel(kernels::MUL2));
    let (x, y) = (env.buffer(&[1; 64]), env.buffer(&[2; 64]));
    let (sum, double) = (env.buffer(&[5; 64]), env.unwritten(64));
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&add, Grid::stride(64), (&x, &y, &sum))?;
    owner.launch(&mul2, Grid::stride(64), (&sum, &double))?;
    failure(owner.launch(&mul2, Grid::groups(0), (&sum, &double)));
    let error = failure(owner.end_capture());
    assert!(matches!(error, ServerError::InvalidGrid { .. }), "{error:?}");
    for output in [&sum, &double] {
        assert_eq!(taint_of(output).to_string(), error.to_string());
    }
    assert_eq!((x.read::<u32>()?, y.read::<u32>()?), (vec![1; 64], vec![2; 64]));
    Ok(())
}

/// XC-20, C-41, C-79: siblings of one allocation are tainted apart, and a write releases just its own bytes.
pub fn siblings_are_tainted_and_released_apart(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let inc = env.kernel(kernels::INC);
    let step = env.device.caps().binding_alignment.max(16);
    let parent = env.buffer(&vec![1; 3 * step as usize / 4]);
    let sibling = |index: u64| parent.slice(index * step..(index + 1) * step);
    let (front, middle, back) = (sibling(0)?, sibling(1)?, sibling(2)?);
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.launch(&inc, Grid::stride(4), (&front,))?;
    owner.launch(&inc, Grid::stride(4), (&back,))?;
    owner.graph_abort()?;
    taint_of(&front);
    taint_of(&back);
    let words = middle.read::<u32>()?;
    assert_eq!(words, vec![1; words.len()], "the sibling that the window never saw");
    front.write(&vec![8u32; words.len()])?;
    assert_eq!(front.read::<u32>()?, vec![8; words.len()]);
    taint_of(&back);
    match failure(parent.read::<u32>()) {
        ServerError::Tainted { range, .. } => assert_eq!(range, 2 * step..3 * step),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// C-79: a write, a fill, a copy and a kernel that wholly writes each release the bytes they write.
pub fn whatever_writes_releases(env: &Env) -> Result<()> {
    let (mul2, source) = (env.kernel(kernels::MUL2), env.buffer(&[4; 64]));
    let buffers: Vec<Buffer> = (0..5).map(|_| env.buffer(&[1; 64])).collect();
    spoil(env, &buffers.iter().collect::<Vec<_>>())?;
    for buffer in &buffers {
        taint_of(buffer);
    }
    buffers[0].write(&[10u32; 64])?;
    buffers[1].fill(11)?;
    buffers[2].copy_from(&source)?;
    env.device.launch(&mul2, Grid::stride(64), (&source, &buffers[3]))?;
    for (buffer, value) in buffers.iter().zip([10u32, 11, 4, 8]) {
        assert_eq!(buffer.read::<u32>()?, [value; 64]);
    }
    taint_of(&buffers[4]);
    buffers[4].slice(0..64)?.write(&[12u32; 16])?;
    assert_eq!(buffers[4].slice(0..64)?.read::<u32>()?, [12; 16]);
    match failure(buffers[4].read::<u32>()) {
        ServerError::Tainted { range, .. } => assert_eq!(range, 64..256),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// Reads rule: an eager operation with a tainted input runs nothing, says why, and passes the failure on.
pub fn a_tainted_input_runs_nothing_and_passes_on(env: &Env) -> Result<()> {
    let (inc, mul2) = (env.kernel(kernels::INC), env.kernel(kernels::MUL2));
    let (source, middle, last) = (env.buffer(&[4; 64]), env.buffer(&[5; 64]), env.buffer(&[6; 64]));
    spoil(env, &[&source])?;
    let before = env.device.counters();
    comes_from_spoil(&failure(env.device.launch(&mul2, Grid::stride(64), (&source, &middle))));
    comes_from_spoil(&failure(env.device.launch(&inc, Grid::stride(64), (&middle,))));
    comes_from_spoil(&failure(last.copy_from(&middle)));
    for buffer in [&source, &middle, &last] {
        comes_from_spoil(&failure(buffer.read::<u32>()));
    }
    let after = env.device.counters();
    assert_eq!((after.launches, after.tainted_skips), (before.launches, before.tainted_skips + 3));
    source.write(&[7u32; 64])?;
    taint_of(&middle);
    env.device.launch(&mul2, Grid::stride(64), (&source, &middle))?;
    last.copy_from(&middle)?;
    assert_eq!(last.read::<u32>()?, [14; 64]);
    Ok(())
}

/// The counts of an indirect launch are an input like any other.
pub fn tainted_counts_run_nothing(env: &Env) -> Result<()> {
    let count = env.kernel(kernels::COUNT_GROUPS);
    let (counts, seen) = (env.buffer(&[3, 1, 1]), env.buffer(&[0]));
    let stream = env.device.stream();
    spoil(env, &[&counts])?;
    comes_from_spoil(&failure(stream.launch_indirect(&count, &counts, Grid::groups(8), (&seen,))));
    comes_from_spoil(&failure(seen.read::<u32>()));
    counts.write(&[3u32, 1, 1])?;
    seen.write(&[0u32])?;
    stream.launch_indirect(&count, &counts, Grid::groups(8), (&seen,))?;
    assert_eq!(seen.read::<u32>()?, [3]);
    Ok(())
}

/// Access rule: writing counts as writing the whole range, and a launch that says `WritePart` needs the old bytes.
pub fn a_part_written_needs_the_rest_readable(env: &Env) -> Result<()> {
    let poke = env.kernel(kernels::POKE);
    let buffer = env.buffer(&[1; 64]);
    env.device.launch(&poke, Grid::groups(1), (WritePart(&buffer),))?;
    assert_eq!(buffer.read::<u32>()?[..3], [7, 1, 1]);
    spoil(env, &[&buffer])?;
    comes_from_spoil(&failure(env.device.launch(&poke, Grid::groups(1), (WritePart(&buffer),))));
    comes_from_spoil(&failure(buffer.read::<u32>()));
    // Without the caller's word the kernel's write counts for the whole range.
    env.device.launch(&poke, Grid::groups(1), (&buffer,))?;
    assert_eq!(buffer.read::<u32>()?[0], 7);
    Ok(())
}

/// C-81: the first failure stays until the bytes are written; a later one does not hide it.
pub fn the_first_failure_stays(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let buffer = env.buffer(&[1; 64]);
    spoil(env, &[&buffer])?;
    let first = taint_of(&buffer).to_string();
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.fill(&buffer, 3)?;
    failure(owner.launch(&env.kernel(kernels::INC), Grid::stride(1), ()));
    let second = failure(owner.end_capture());
    assert!(matches!(second, ServerError::InvalidArguments(_)), "{second:?}");
    assert_eq!(taint_of(&buffer).to_string(), first);
    buffer.fill(2)?;
    spoil(env, &[&buffer])?;
    says(&taint_of(&buffer), &["graph_abort:"]);
    Ok(())
}

/// C-80: memory that is freed and reused carries nothing over.
pub fn a_taint_dies_with_its_buffer(env: &Env) -> Result<()> {
    for round in 0..50u32 {
        let buffer = env.buffer(&[round; 64]);
        let id = buffer.memory_id();
        spoil(env, &[&buffer])?;
        drop(buffer);
        let next = env.unwritten(64);
        assert_ne!(next.memory_id(), id);
        assert!(matches!(next.read::<u32>(), Err(ServerError::Unwritten { .. })), "round {round}");
        next.write(&[round; 64])?;
        assert_eq!(next.read::<u32>()?, [round; 64]);
    }
    Ok(())
}

/// A taint is a matter of bytes, not of streams: it is the same read on any of them.
pub fn a_taint_is_seen_on_every_stream(env: &Env) -> Result<()> {
    let buffer = env.buffer(&[1; 64]);
    spoil(env, &[&buffer])?;
    let text = taint_of(&buffer).to_string();
    for _ in 0..20 {
        let error = failure(env.device.new_stream().read::<u32>(&buffer));
        says(&error, &[&text]);
    }
    env.device.new_stream().write(&buffer, &[2u32; 64])?;
    assert_eq!(env.device.new_stream().read::<u32>(&buffer)?, [2; 64]);
    Ok(())
}

/// C-30 (launch skipped because of a tainted input): inside a window it dooms, since the graph would lack that launch.
pub fn a_tainted_input_dooms_a_window(env: &Env) -> Result<()> {
    let (owner, _) = env.folded();
    let mul2 = env.kernel(kernels::MUL2);
    let (source, output) = (env.buffer(&[4; 64]), env.buffer(&[5; 64]));
    spoil(env, &[&source])?;
    owner.graph_prepare()?;
    owner.begin_capture()?;
    comes_from_spoil(&failure(owner.launch(&mul2, Grid::stride(64), (&source, &output))));
    comes_from_spoil(&failure(owner.end_capture()));
    comes_from_spoil(&failure(output.read::<u32>()));

    // An input that the window itself writes first is none: its taint is no matter to the graph.
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.fill(&source, 21)?;
    owner.launch(&mul2, Grid::stride(64), (&source, &output))?;
    let graph = owner.end_capture()?;
    graph.replay()?.wait()?;
    assert_eq!(output.read::<u32>()?, [42; 64]);
    env.assert_usable(&owner);
    Ok(())
}

/// D28, C-57: a device's reads of one buffer never hide another's failure.
pub fn a_read_names_its_own_buffer(env: &Env) -> Result<()> {
    let (good, bad) = (env.buffer(&[1; 64]), env.buffer(&[2; 64]));
    spoil(env, &[&bad])?;
    assert_eq!(good.read::<u32>()?, [1; 64]);
    let error = failure(bad.read::<u32>());
    says(&error, &[&bad.memory_id().to_string(), "write them again"]);
    let ServerError::Tainted { cause, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(cause.graph_rule(), Some(GraphRule::Other(_))), "{cause:?}");
    assert_eq!(good.read::<u32>()?, [1; 64]);
    Ok(())
}

/// A failure that is passed on for ever is still one failure: its text does not grow, and dropping it is no deep matter.
pub fn a_failure_passed_on_does_not_grow(env: &Env) -> Result<()> {
    let (mut from, mut to) = (env.buffer(&[1; 64]), env.buffer(&[2; 64]));
    spoil(env, &[&from])?;
    let first = failure(from.read::<u32>()).to_string();
    for _ in 0..20_000 {
        to.fill(3)?;
        failure(to.copy_from(&from));
        std::mem::swap(&mut from, &mut to);
    }
    let last = failure(from.read::<u32>()).to_string();
    assert!(last.len() < 4 * first.len(), "{} bytes of text became {}", first.len(), last.len());
    says(&failure(from.read::<u32>()), &["graph_abort:", &from.memory_id().to_string()]);
    from.fill(4)?;
    assert_eq!(from.read::<u32>()?, [4; 64]);
    Ok(())
}

/// A writer outside Graphreel makes bytes readable as a write does.
pub fn an_outside_writer_releases(env: &Env) -> Result<()> {
    let (tainted, never) = (env.buffer(&[1; 64]), env.unwritten(64));
    spoil(env, &[&tainted])?;
    tainted.slice(0..128)?.external_write()?;
    assert_eq!(tainted.slice(0..128)?.read::<u32>()?, [1; 32], "the bytes are what the device holds");
    comes_from_spoil(&failure(tainted.read::<u32>()));
    never.external_write()?;
    assert_eq!(never.read::<u32>()?.len(), 64);
    Ok(())
}
