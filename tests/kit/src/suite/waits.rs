//! Waiting: blocking, with a deadline, or as a future. A deadline ends the wait only, and no wait holds the device.

use std::thread;
use std::time::{Duration, Instant};

use graphreel::{Buffer, Config, Device, DeviceKind, Done, Grid, Result, ServerError};
use pollster::block_on;

use super::work::is_software_device;
use crate::env::{PATIENCE, failure, kernel_on, says};
use crate::{Env, kernels};

/// Launches of long work and rounds of each: enough for some tenths of a second on a processor, in an interpreter and on a
/// device. The rounds are below 65,535, where a common software driver cuts a loop short.
fn length(device: &Device) -> (usize, u32) {
    match device.info().kind {
        DeviceKind::Simulated => (8, 5_000),
        DeviceKind::Software => (8, 60_000),
        _ if is_software_device(device) => (8, 60_000),
        _ if device.info().backend == "wgpu" => (400, 60_000),
        // NVIDIA's compiler joins rounds: four of them are one multiplication and one sum again.
        _ => (400, 2_000_000),
    }
}

/// Eager work that takes as long as [`long_replay`], and the buffer that it changes. A read that follows is a submission
/// with it: some software drivers let a submission wait in the call until the one before it is done.
pub(crate) fn long_eager(device: &Device) -> Result<Buffer> {
    let spin = kernel_on(device, kernels::SPIN);
    let buffer = device.upload(&[1u32; 1024])?;
    let (nodes, rounds) = length(device);
    (0..nodes).try_for_each(|_| device.launch(&spin, Grid::groups(16), (&buffer, rounds)))?;
    Ok(buffer)
}

/// A replay that takes a while, and the buffer that it changes.
pub(crate) fn long_replay(device: &Device) -> Result<(Buffer, Done)> {
    let spin = kernel_on(device, kernels::SPIN);
    let buffer = device.upload(&[1u32; 1024])?;
    let (nodes, rounds) = length(device);
    let (graph, ()) =
        device.capture(|c| (0..nodes).try_for_each(|_| c.launch(&spin, Grid::groups(16), (&buffer, rounds))))?;
    Ok((buffer, graph.replay()?))
}

/// What [`long_replay`] and [`long_eager`] leave in each word.
fn spun(device: &Device) -> u32 {
    let (nodes, rounds) = length(device);
    // Rounds are joined pair by pair: twice `v * a + c` is `v * a² + c * a + c`.
    let (mut a, mut c) = (1_664_525u32, 1_013_904_223u32);
    let (mut factor, mut sum) = (1u32, 0u32);
    let mut left = rounds as usize * nodes;
    while left > 0 {
        if left % 2 == 1 {
            (factor, sum) = (factor.wrapping_mul(a), sum.wrapping_mul(a).wrapping_add(c));
        }
        c = c.wrapping_mul(a).wrapping_add(c);
        a = a.wrapping_mul(a);
        left /= 2;
    }
    factor.wrapping_add(sum)
}

#[track_caller]
fn timed_out<T>(result: Result<T>, what: &str) {
    let error = failure(result);
    assert!(matches!(error, ServerError::Timeout { .. }), "{error:?}");
    says(&error, &[what, "wait again"]);
}

/// A deadline ends the wait and not the work; clones of one end wait for the same replay and get the same answer.
pub fn a_deadline_ends_the_wait_only(env: &Env) -> Result<()> {
    let (buffer, done) = long_replay(&env.device)?;
    let clone = done.clone();
    timed_out(done.wait_for(Duration::ZERO), "a replay");
    timed_out(clone.wait_for(Duration::from_micros(1)), "a replay");
    assert!(!done.is_done());
    let report = done.wait_for(PATIENCE)?;
    assert!(done.is_done() && clone.is_done());
    assert_eq!(clone.wait()?, report);
    assert_eq!(done.wait_for(Duration::ZERO)?, report, "what is over needs no wait");
    assert_eq!(buffer.read::<u32>()?, [spun(&env.device); 1024]);
    Ok(())
}

/// A read that times out can be waited for again; its answer can be taken once.
pub fn a_read_can_be_waited_for_again(env: &Env) -> Result<()> {
    let buffer = long_eager(&env.device)?;
    let mut read = buffer.read_async::<u32>()?;
    assert!(!read.is_ready());
    timed_out(read.wait_for(Duration::from_micros(1)), "a read");
    assert_eq!(read.wait_for(PATIENCE)?, [spun(&env.device); 1024]);
    assert!(read.is_ready());
    says(&failure(read.wait_for(PATIENCE)), &["taken already"]);
    Ok(())
}

/// D33: a plain read and a plain sync wait for all that was queued before them.
pub fn plain_reads_and_syncs_wait(env: &Env) -> Result<()> {
    let (buffer, _done) = long_replay(&env.device)?;
    assert_eq!(buffer.read::<u32>()?, [spun(&env.device); 1024]);
    assert_eq!(long_eager(&env.device)?.read::<u32>()?, [spun(&env.device); 1024]);
    let (_buffer, done) = long_replay(&env.device)?;
    let stream = env.device.stream();
    timed_out(stream.sync_for(Duration::from_micros(1)), "a sync");
    stream.sync()?;
    assert!(done.is_done(), "a sync is over when what was queued on the stream is");
    Ok(())
}

/// `Config::wait_max` bounds a wait that names no deadline, and the work is unharmed.
pub fn a_configured_bound_ends_plain_waits(env: &Env) -> Result<()> {
    let device = env.open(Config { wait_max: Duration::from_millis(1), ..Config::default() });
    let (_buffer, done) = long_replay(&device)?;
    timed_out(done.wait(), "a replay");
    timed_out(device.sync(), "a sync");
    done.wait_for(PATIENCE)?;
    let buffer = long_eager(&device)?;
    timed_out(buffer.read::<u32>(), "a read");
    let mut read = buffer.read_async::<u32>()?;
    assert_eq!(read.wait_for(PATIENCE)?, [spun(&env.device); 1024]);
    Ok(())
}

/// Replays, reads and syncs can be awaited on any executor.
pub fn answers_can_be_awaited(env: &Env) -> Result<()> {
    let (buffer, done) = long_replay(&env.device)?;
    let stream = env.device.stream();
    let (words, again) = block_on(async {
        stream.sync_async()?.await?;
        let eager = long_eager(&env.device)?;
        let read = stream.read_async::<u32>(&eager)?;
        assert!(!read.is_ready());
        let report = done.clone().await?;
        assert_eq!(report, done.clone().await?);
        stream.sync_async()?.await?;
        Ok::<_, ServerError>((read.await?, buffer.read_async::<u32>()?.await?))
    })?;
    assert_eq!((words, again), (vec![spun(&env.device); 1024], vec![spun(&env.device); 1024]));
    Ok(())
}

/// More futures than there are threads to wait for them, awaited in the reverse of their order.
pub fn many_futures_at_once(env: &Env) -> Result<()> {
    let fill = env.kernel(kernels::FILL);
    let (_busy, _done) = long_replay(&env.device)?;
    let buffers: Vec<Buffer> = (0..100).map(|_| env.unwritten(64)).collect();
    let mut reads = Vec::new();
    for (value, buffer) in (0u32..).zip(&buffers) {
        let stream = env.device.new_stream();
        stream.launch(&fill, Grid::stride(64), (buffer, value))?;
        reads.push((value, stream.read_async::<u32>(buffer)?));
    }
    block_on(async {
        for (value, read) in reads.into_iter().rev() {
            assert_eq!(read.await?, [value; 64]);
        }
        Ok(())
    })
}

/// Many threads await clones of one end, and futures that are dropped before they are done disturb nobody.
pub fn many_threads_await_one_replay(env: &Env) -> Result<()> {
    let (buffer, done) = long_replay(&env.device)?;
    drop(buffer.read_async::<u32>()?);
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..12)
            .map(|index| {
                let done = done.clone();
                scope.spawn(move || if index % 2 == 0 { done.wait_for(PATIENCE) } else { block_on(done.into_future()) })
            })
            .collect();
        let mut reports = Vec::new();
        for waiter in waiters {
            reports.push(waiter.join().expect("no panic")?);
        }
        assert!(reports.windows(2).all(|pair| pair[0] == pair[1]));
        Ok::<(), ServerError>(())
    })?;
    assert_eq!(buffer.read::<u32>()?, [spun(&env.device); 1024]);
    Ok(())
}

/// While one thread waits, others use the device: no wait holds its lock. On a card behind a vendor's driver loading code may itself
/// wait for the device, as NVIDIA's does where it needs memory for the code; then it holds nobody up either.
pub fn a_wait_does_not_hold_the_device(env: &Env) -> Result<()> {
    let device = &env.device;
    let loads_wait = matches!(&*device.info().backend, "cuda" | "hip") && !is_software_device(device);
    // A vendor's compiler may take longer than the replay: here it finds its code kept.
    drop(device.kernel(kernels::MUL2)?);
    let (_buffer, done) = long_replay(device)?;
    thread::scope(|scope| {
        let waiter = scope.spawn(|| done.wait_for(PATIENCE));
        let load = || device.kernel(kernels::MUL2);
        let started = Instant::now();
        let mut steps = Vec::new();
        let mut step = |name| steps.push((name, started.elapsed()));
        let loader = if loads_wait { Some(scope.spawn(load)) } else { load().map(|_| None)? };
        step("load");
        let buffer = device.alloc(256)?;
        step("alloc");
        let (graph, ()) = device.capture(|c| c.fill(&buffer, 6))?;
        step("capture");
        buffer.fill(5)?;
        step("fill");
        let early = !waiter.is_finished();
        graph.replay()?;
        waiter.join().expect("no panic")?;
        loader.map_or(Ok(()), |loader| loader.join().expect("no panic").map(drop))?;
        assert!(early, "issuing work waited for the replay before it: {steps:?}");
        assert_eq!(buffer.read::<u32>()?, [6; 64]);
        Ok(())
    })
}

/// Dropping the answer of a replay, the graph and the buffer handles does not stop the work.
pub fn dropping_an_answer_does_not_stop_the_work(env: &Env) -> Result<()> {
    let (buffer, done) = long_replay(&env.device)?;
    drop(done);
    let kept = env.unwritten(1024);
    kept.copy_from(&buffer)?;
    drop(buffer);
    assert_eq!(kept.read::<u32>()?, [spun(&env.device); 1024]);
    Ok(())
}
