//! Threads on one device, each at something else: one captures, others allocate, read, compile, and replay and drop what was captured.
//! Every capture is valid and every result right. For hardware graphs, whose windows let neighbours go on.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use graphreel::device::Stream;
use graphreel::{Buffer, Device, DeviceKind, Graph, Grid, Kernel, Result};

use crate::env::{PATIENCE, kernel_on};
use crate::fixture::announce;
use crate::{Env, kernels};

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Volume {
    /// Captures, one after the other.
    captures: u32,
    /// Kernels that are compiled beside them at the least, also when the captures are done sooner.
    compiles_min: u32,
    /// And at the most: a vendor's compiler takes some tenths of a second for each.
    compiles_max: u32,
    /// Threads that replay one graph.
    replayers: u32,
    /// Replays by each of them.
    replays: u32,
}

/// On a device: below two minutes, most of them for the compiler.
const FULL: Volume = Volume { captures: 1_000, compiles_min: 16, compiles_max: 200, replayers: 8, replays: 250 };

/// In an interpreter; `GRAPHREEL_THOROUGH=1` runs all of it there, too.
const SMALL: Volume = Volume { captures: 250, compiles_min: 8, compiles_max: 60, replayers: 6, replays: 60 };

impl Volume {
    fn of(device: &Device) -> Self {
        let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1");
        if thorough || device.info().kind != DeviceKind::Simulated { FULL } else { SMALL }
    }
}

/// Words of the buffers of a graph.
const WORDS: u32 = 1024;

/// Every so many captures one is a window by steps, on a stream that shares its slot.
const STEPS_EVERY: u32 = 8;

/// Graphs that wait to be replayed, and that are kept for a while after that.
const WAITING_MAX: usize = 16;
const KEPT_MAX: usize = 8;

/// Buffers that the allocating thread holds, and the largest.
const HELD_MAX: usize = 24;
const BYTES_MAX: u64 = 1 << 20;

const STRIDE: Grid = Grid::groups(4);

/// What all threads share.
struct Storm<'a> {
    device: &'a Device,
    volume: Volume,
    is_over: AtomicBool,
    replays: AtomicU64,
    checks: AtomicU64,
    compiles: AtomicU64,
}

/// Ends the others also when the capturing thread panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A captured graph: each replay leaves `y + x + by` in `y`, and `mark` holds the capture's number.
struct Captured {
    number: u32,
    graph: Graph,
    /// Whether `by` can be changed.
    has_parameter: bool,
    x: Buffer,
    y: Buffer,
    mark: Buffer,
}

/// C-94, C-97, C-99, D33: while one thread makes captures, a second allocates and frees, a third polls and reads on other streams, a
/// fourth compiles, and a fifth replays and drops the graphs.
///
/// # Panics
///
/// When a capture fails, a result is wrong, or something is left or lost.
pub fn captures_beside_everything(env: &Env) -> Result<()> {
    let device = &env.device;
    let counters = device.counters();
    let storm = Storm {
        device,
        volume: Volume::of(device),
        is_over: AtomicBool::new(false),
        replays: AtomicU64::new(0),
        checks: AtomicU64::new(0),
        compiles: AtomicU64::new(0),
    };
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    thread::scope(|scope| {
        scope.spawn(|| storm.allocate().expect("allocating and freeing goes on"));
        scope.spawn(|| storm.poll_and_read().expect("reading on other streams goes on"));
        scope.spawn(|| storm.compile().expect("compiling goes on"));
        scope.spawn(|| storm.replay_and_drop(receiver).expect("replaying and dropping goes on"));
        let over = Over(&storm.is_over);
        storm.capture(sender).expect("capturing goes on");
        drop(over);
    });
    let (now, replays) = (device.counters(), storm.replays.into_inner());
    let checks = storm.checks.into_inner();
    announce(&format!("{replays} replays, {checks} checks, {:?} kernels: {now:?}", storm.compiles));
    assert_eq!(now.captures - counters.captures, u64::from(storm.volume.captures), "each capture is a graph");
    assert_eq!(now.replays - counters.replays, replays, "each replay is one");
    assert_eq!((now.captures_failed, now.captures_eager, now.tainted_skips, now.device_faults), (0, 0, 0, 0));
    assert!(device.lost().is_none(), "{:?}", device.lost());
    all_is_given_back(device);
    Ok(())
}

/// What went while work was in flight is given back once that is done.
fn all_is_given_back(device: &Device) {
    let started = Instant::now();
    loop {
        let usage = device.memory_usage();
        if (usage.in_use_bytes, usage.pinned_bytes, usage.slices) == (0, 0, 0) {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "left behind: {usage:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

impl Storm<'_> {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    #[track_caller]
    fn same(&self, found: &[u32], expected: impl Fn(u32) -> u32, what: impl FnOnce() -> String) {
        let wrong = (0u32..).zip(found).find(|(index, word)| **word != expected(*index));
        if let Some((index, word)) = wrong {
            panic!("{}: word {index} is {word:#x} instead of {:#x}", what(), expected(index));
        }
        self.checks.fetch_add(1, Ordering::Relaxed);
    }

    fn capture(&self, graphs: SyncSender<Captured>) -> Result<()> {
        let (fill, add) = (kernel_on(self.device, kernels::FILL), kernel_on(self.device, kernels::ADD));
        for number in 0..self.volume.captures {
            let x = self.device.upload(&(0..WORDS).map(|index| index ^ number).collect::<Vec<_>>())?;
            let (y, mark) = (self.device.upload(&vec![number; WORDS as usize])?, self.device.alloc(256)?);
            let by_steps = number % STEPS_EVERY == STEPS_EVERY - 1;
            let graph = if by_steps {
                self.by_steps(number, [&fill, &add], [&x, &y, &mark])?
            } else {
                self.by_closure(number, [&fill, &add], [&x, &y, &mark])?
            };
            let (report, best) = (graph.report(), self.device.caps().tiers[0]);
            assert_eq!((report.nodes, report.tier), (5, best), "capture {number}");
            let made = Captured { number, graph, has_parameter: !by_steps, x, y, mark };
            assert!(graphs.send(made).is_ok(), "capture {number}: nobody takes it");
        }
        Ok(())
    }

    fn by_closure(&self, number: u32, [fill, add]: [&Kernel; 2], [x, y, mark]: [&Buffer; 3]) -> Result<Graph> {
        let captured = self.device.capture(|c| {
            let (all, sums) = (c.alloc(u64::from(WORDS) * 4)?, c.alloc(u64::from(WORDS) * 4)?);
            let by = c.param("by", number);
            c.launch(fill, STRIDE, (&by, &all))?;
            c.launch(add, STRIDE, (x, &all, &sums))?;
            c.launch(add, STRIDE, (&sums, y, &all))?;
            c.launch(fill, STRIDE, (number, mark))?;
            c.copy(&all, y)
        });
        Ok(captured?.0)
    }

    /// A window by steps: its slot has neighbours, whose work is none of the graph's (C-58).
    fn by_steps(&self, number: u32, [fill, add]: [&Kernel; 2], [x, y, mark]: [&Buffer; 3]) -> Result<Graph> {
        let bytes = u64::from(WORDS) * 4;
        let (all, sums) = (self.device.alloc(bytes)?, self.device.alloc(bytes)?);
        let stream = self.device.new_stream();
        stream.graph_prepare()?;
        stream.begin_capture()?;
        stream.launch(fill, STRIDE, (number, &all))?;
        stream.launch(add, STRIDE, (x, &all, &sums))?;
        stream.launch(add, STRIDE, (&sums, y, &all))?;
        stream.launch(fill, STRIDE, (number, mark))?;
        stream.copy(&all, y)?;
        stream.end_capture()
    }

    fn replay_and_drop(&self, graphs: Receiver<Captured>) -> Result<()> {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut kept = VecDeque::new();
        for made in graphs {
            let Captured { number, graph, has_parameter, x, y, mark } = &made;
            let mut sum = *number;
            let replays = rng.u32(1..4);
            for replay in 0..replays {
                let by = if *has_parameter { number.wrapping_mul(7).wrapping_add(replay) } else { *number };
                if *has_parameter {
                    graph.update(|update| update.set("by", by))?;
                }
                let done = graph.replay()?;
                self.replays.fetch_add(1, Ordering::Relaxed);
                if rng.bool() {
                    done.wait_for(PATIENCE)?;
                }
                sum = sum.wrapping_add(by);
            }
            let expected = |index: u32| sum.wrapping_add((index ^ number).wrapping_mul(replays));
            self.same(&y.read::<u32>()?, expected, || format!("y of capture {number} after {replays} replays"));
            self.same(&mark.read::<u32>()?, |_| *number, || format!("the mark of capture {number}"));
            self.same(&x.read::<u32>()?, |index| index ^ number, || format!("the input of capture {number}"));
            if rng.bool() {
                // Its work is in flight when it goes.
                self.replays.fetch_add(1, Ordering::Relaxed);
                drop(graph.replay()?);
            }
            kept.push_back(made);
            if kept.len() > KEPT_MAX {
                drop(kept.remove(rng.usize(..kept.len())));
            }
        }
        Ok(())
    }

    fn allocate(&self) -> Result<()> {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut held = Vec::new();
        for round in 0u32.. {
            if !self.goes_on() {
                break;
            }
            let buffer = self.device.alloc(rng.u64(1..BYTES_MAX))?;
            if round.is_multiple_of(4) {
                let words = rng.u32(1..2048);
                let data: Vec<u32> = (0..words).map(|index| index.wrapping_mul(round)).collect();
                let filled = self.device.upload(&data)?;
                self.same(&filled.read::<u32>()?, |index| index.wrapping_mul(round), || format!("upload {round}"));
                held.push(filled);
            }
            held.push(buffer);
            while held.len() > HELD_MAX {
                held.swap_remove(rng.usize(..held.len()));
            }
            if round % 64 == 63 {
                held.clear();
                self.device.trim();
            }
        }
        Ok(())
    }

    fn poll_and_read(&self) -> Result<()> {
        let inc = kernel_on(self.device, kernels::INC);
        let streams: Vec<Stream> = (0..5).map(|_| self.device.new_stream()).collect();
        let buffers: Vec<Buffer> = (0..2).map(|_| self.device.upload(&[0u32; 512])).collect::<Result<_>>()?;
        for round in 0u32.. {
            if !self.goes_on() {
                break;
            }
            let [stream, other] = [round, round + 2].map(|index| &streams[index as usize % streams.len()]);
            stream.write(&buffers[0], &[round; 512])?;
            stream.launch(&inc, STRIDE, (&buffers[0],))?;
            let mut read = stream.read_async::<u32>(&buffers[0])?;
            let synced = stream.sync_async()?;
            for _ in 0..64 {
                if read.is_ready() && synced.is_ready() {
                    break;
                }
                thread::yield_now();
            }
            self.same(&read.wait_for(PATIENCE)?, |_| round + 1, || format!("read {round}"));
            other.copy(&buffers[0], &buffers[1])?;
            other.sync_for(PATIENCE)?;
            self.same(&other.read::<u32>(&buffers[1])?, |_| round + 1, || format!("copy {round}"));
        }
        Ok(())
    }

    fn compile(&self) -> Result<()> {
        let Volume { compiles_min, compiles_max, .. } = self.volume;
        let buffer = self.device.alloc(256 * 4)?;
        for round in 0..compiles_max {
            if !self.goes_on() && round >= compiles_min {
                break;
            }
            // Of any seed, so that no cache of an earlier run has it.
            let (times, more) = (fastrand::u32(..) | 1, fastrand::u32(..));
            let wgsl = format!(
                "@group(0) @binding(0) var<storage, read_write> b: array<u32>;
                @compute @workgroup_size(64) fn fresh(@builtin(global_invocation_id) id: vec3<u32>) {{
                    if id.x < arrayLength(&b) {{ b[id.x] = b[id.x] * {times}u + {more}u; }}
                }}"
            );
            let kernel = self.device.kernel(wgsl.as_str())?;
            self.compiles.fetch_add(1, Ordering::Relaxed);
            buffer.write(&(0..256).collect::<Vec<u32>>())?;
            self.device.launch(&kernel, STRIDE, (&buffer,))?;
            let expected = |index: u32| index.wrapping_mul(times).wrapping_add(more);
            self.same(&buffer.read::<u32>()?, expected, || format!("kernel {round}, which is\n{wgsl}"));
        }
        Ok(())
    }
}

/// C-84, C-99: threads that replay one graph at once are served one after the other: no increment is lost.
///
/// # Panics
///
/// When one is.
pub fn replays_of_one_graph_from_many_threads(env: &Env) -> Result<()> {
    let (device, Volume { replayers, replays, .. }) = (&env.device, Volume::of(&env.device));
    let inc = env.kernel(kernels::INC);
    let (sum, before) = (env.buffer(&[0; WORDS as usize]), device.counters().replays);
    let (graph, ()) = device.capture(|c| {
        // Two replays that overlapped would both begin with the same sum.
        let scratch = c.alloc(u64::from(WORDS) * 4)?;
        c.copy(&sum, &scratch)?;
        c.launch(&inc, STRIDE, (&scratch,))?;
        c.copy(&scratch, &sum)
    })?;
    let replayer = |thread: u32| -> Result<()> {
        let own = device.new_stream();
        for round in 0..replays {
            let done = if thread.is_multiple_of(2) { graph.replay()? } else { graph.replay_on_stream(&own)? };
            if (round + thread).is_multiple_of(5) {
                done.wait_for(PATIENCE)?;
            }
        }
        own.sync_for(PATIENCE)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..replayers).map(|thread| scope.spawn(move || replayer(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that replays does not panic"))
    })?;
    assert_eq!(sum.read::<u32>()?, vec![replayers * replays; WORDS as usize], "an increment was lost");
    assert_eq!(device.counters().replays - before, u64::from(replayers * replays));
    Ok(())
}
