//! Device loss (D61): every wait ends within a second, graphs become invalid, nothing panics, and a new device works.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use graphreel::{Config, Device, Grid, Result, ServerError};
use pollster::block_on;

use super::waits::{long_eager, long_replay};
use crate::env::{PATIENCE, assert_works, failure, kernel_on, says};
use crate::{Env, Faults, kernels};

/// The bound on a wait after the loss.
const BOUND: Duration = Duration::from_secs(1);

#[track_caller]
fn lost<T>(result: Result<T>) {
    let error = failure(result);
    assert!(error.is_device_lost(), "{error:?}");
    says(&error, &["lost", "open a new device"]);
}

/// Every call of every handle of a lost device, none of which may panic, hang or reach the driver.
///
/// # Panics
///
/// When one answers anything but the loss, or all of them take too long.
pub fn every_call_answers_the_loss(device: &Device, made_before: &graphreel::Buffer) {
    let start = Instant::now();
    let stream = device.new_stream();
    assert!(device.lost().is_some() && device.wait_lost(PATIENCE));
    lost(device.alloc(64));
    lost(device.upload(&[1u32]));
    lost(device.kernel(kernels::INC));
    lost(device.capture(|c| c.fill(made_before, 1)));
    lost(device.profile(|c| c.fill(made_before, 1)));
    lost(device.sync());
    lost(made_before.write(&[1u32]));
    lost(made_before.fill(1));
    lost(made_before.read::<u32>());
    lost(made_before.read_async::<u32>());
    lost(stream.sync_async());
    lost(stream.flush());
    lost(stream.graph_prepare());
    lost(stream.begin_capture());
    lost(stream.end_capture());
    assert!(!stream.capture_status().active);
    let _ = (device.counters(), device.memory_usage(), device.trim(), device.info().clone());
    assert!(start.elapsed() < BOUND, "calls on a lost device took {:?}", start.elapsed());
}

/// D61, before: a device that is lost while idle answers every call, and another one can be opened.
pub fn loss_while_idle(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 64]);
    let (graph, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(64), (&buffer,)))?;
    assert!(env.device.lost().is_none() && !env.device.wait_lost(Duration::ZERO));
    faults.lose(&env.device);
    every_call_answers_the_loss(&env.device, &buffer);
    lost(env.device.launch(&inc, Grid::stride(64), (&buffer,)));
    lost(graph.replay());
    lost(graph.update(|u| u));
    drop((graph, buffer, inc));
    assert_works(&env.open(Config::default()));
    Ok(())
}

/// A wait on a thread of its own.
type Wait<'a> = Box<dyn FnOnce() -> Result<()> + Send + 'a>;

/// Start `waits`, lose the device while they wait, and check that each ends within the bound and says why.
fn end_by_loss(faults: &dyn Faults, device: &Device, waits: Vec<Wait<'_>>) {
    let (ended, ends) = mpsc::channel();
    let count = waits.len();
    thread::scope(|scope| {
        for wait in waits {
            let ended = ended.clone();
            scope.spawn(move || ended.send((wait(), Instant::now())));
        }
        // Each is in its wait by now, or finds the loss when it gets there: both have to end.
        thread::sleep(Duration::from_millis(20));
        assert!(ends.try_recv().is_err(), "the work was done before the loss: make it longer");
        faults.lose(device);
        let start = Instant::now();
        for _ in 0..count {
            let (answer, at) = ends.recv_timeout(PATIENCE).expect("a wait never ended after the loss");
            lost(answer);
            assert!(at.saturating_duration_since(start) < BOUND, "a wait ended {:?} late", at - start);
        }
    });
}

/// D61, during: a read that is awaited, and a sync behind it, end within a second.
pub fn loss_while_reads_wait(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let buffer = long_eager(&env.device)?;
    // One submission holds the work and this read; a second read would be another one, and could wait in its call.
    let awaited = buffer.read_async::<u32>()?;
    let stream = env.device.stream();
    end_by_loss(faults, &env.device, vec![Box::new(|| block_on(awaited).map(drop)), Box::new(|| stream.sync())]);
    every_call_answers_the_loss(&env.device, &buffer);
    Ok(())
}

/// D61, during: a thread that blocks in a read ends within a second.
pub fn loss_while_a_thread_reads(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let buffer = long_eager(&env.device)?;
    end_by_loss(faults, &env.device, vec![Box::new(|| buffer.read::<u32>().map(drop))]);
    every_call_answers_the_loss(&env.device, &buffer);
    Ok(())
}

/// D61, during: threads that wait for a replay's end or for a stream, blocking or as futures, end within a second.
pub fn loss_while_replays_run(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let (buffer, done) = long_replay(&env.device)?;
    let (stream, pending) = (env.device.stream(), env.device.stream().sync_async()?);
    let waits: Vec<Wait<'_>> = vec![
        Box::new(|| done.wait().map(drop)),
        Box::new(|| done.clone().wait_for(PATIENCE).map(drop)),
        Box::new(|| block_on(done.clone().into_future()).map(drop)),
        Box::new(|| stream.sync()),
        Box::new(|| block_on(pending)),
    ];
    end_by_loss(faults, &env.device, waits);
    lost(done.wait());
    every_call_answers_the_loss(&env.device, &buffer);
    Ok(())
}

/// C-74: a window that is open when the device is lost is aborted; its owner is told so, and drops are harmless.
pub fn loss_inside_a_window(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 64]);
    let (recording, _) = env.folded();
    let prepared = env.device.new_stream();
    prepared.graph_prepare()?;
    recording.graph_prepare()?;
    recording.begin_capture()?;
    recording.launch(&inc, Grid::stride(64), (&buffer,))?;
    faults.lose(&env.device);
    lost(recording.launch(&inc, Grid::stride(64), (&buffer,)));
    lost(recording.end_capture());
    lost(prepared.begin_capture());
    assert!(!recording.capture_status().active && !prepared.capture_status().active);
    drop((recording, prepared));
    every_call_answers_the_loss(&env.device, &buffer);
    Ok(())
}

/// D61, after: results that were not read are gone with the device; the same work on a new device succeeds.
pub fn the_second_attempt_succeeds(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let attempt = |device: &Device, lose: bool| -> Result<Vec<u32>> {
        let (inc, mul2) = (kernel_on(device, kernels::INC), kernel_on(device, kernels::MUL2));
        let (source, output) = (device.upload(&[20u32; 64])?, device.alloc(256)?);
        let (graph, ()) = device.capture(|c| {
            c.launch(&inc, Grid::stride(64), (&source,))?;
            c.launch(&mul2, Grid::stride(64), (&source, &output))
        })?;
        graph.replay()?.wait_for(PATIENCE)?;
        if lose {
            faults.lose(device);
        }
        output.read::<u32>()
    };
    lost(attempt(&env.device, true));
    for _ in 0..3 {
        let next = env.open(Config::default());
        assert_eq!(attempt(&next, false)?, [42; 64]);
        lost(attempt(&next, true));
    }
    Ok(())
}

/// The loss of one device is no matter to another, whose handles do not mix with it.
pub fn the_loss_of_one_device_is_its_own(env: &Env) -> Result<()> {
    let Some(faults) = env.faults() else { return Ok(()) };
    let other = env.open(Config::default());
    let theirs = other.upload(&[5u32; 64])?;
    let waiting = thread::spawn({
        let device = env.device.clone();
        move || device.wait_lost(PATIENCE)
    });
    faults.lose(&env.device);
    assert!(waiting.join().expect("no panic"), "a thread that waits for the loss is woken by it");
    assert!(other.lost().is_none() && !other.wait_lost(Duration::ZERO));
    assert_eq!(theirs.read::<u32>()?, [5; 64]);
    assert_works(&other);
    let error = failure(env.device.stream().copy(&theirs, &theirs));
    assert!(error.is_device_lost() || matches!(error, ServerError::ForeignHandle { .. }), "{error:?}");
    Ok(())
}
