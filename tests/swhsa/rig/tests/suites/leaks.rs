//! What a device made is given back: of every object that AMD's runtime makes below it, no more live after a round of work than
//! after those before. Each test is one way to work, or to break off.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(unsafe_code, reason = "the application beside the device calls the runtime")]

use std::ffi::c_void;
use std::num::NonZeroU64;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graphreel::error::DriverErrorKind;
use graphreel::graph::driver::DeviceMemory;
use graphreel::graph::{Driver as _, DriverResult, HardwareServer};
use graphreel::memory::Access;
use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Graph, Grid, Kernel, Result, ServerError};
use graphreel_hip::{BACKEND, HipDriver, HipServer, Interop as _};
use graphreel_hip_sys::constant::hipStreamNonBlocking;
use graphreel_hip_sys::{Library, library};
use graphreel_swhsa_rig::{Control, Kind};
use graphreel_testkit::kernels;
use graphreel_testkit::watched::Live;

use super::ground::{self, TIERS, settled};

/// Words of the buffers.
const WORDS: usize = 5000;

/// Rounds before the counts are held: the runtime keeps some of what it made first.
const FIRST: usize = 3;

/// Rounds of which none may leave more than the one before.
const ROUNDS: usize = 6;

/// How long the runtime's own threads take at the most to give back what a call let go.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

/// Do the same again and again, and find no more objects of any kind after a round than after one before it. `used` are made in the course of it:
/// were they not, their counts would tell nothing.
fn nothing_is_left(test: &str, used: &[Kind], round: impl Fn()) {
    if !ground::there(test) {
        return;
    }
    let control = Control::open().unwrap();
    (0..FIRST).for_each(|_| round());
    let made = |kind: &Kind| control.made(*kind);
    let first: Vec<u64> = used.iter().map(made).collect();
    let mut least = control.census();
    for done in 1..=ROUNDS {
        round();
        let after = settled_below(&control, &least);
        let more = |at: &usize| after[*at].1 > least[*at].1;
        let left: Vec<_> = (0..after.len()).filter(more).map(|at| (after[at], least[at].1)).collect();
        assert!(left.is_empty(), "{test}: round {done} leaves more of these than one before it: {left:?}");
        for (least, after) in least.iter_mut().zip(after) {
            least.1 = least.1.min(after.1);
        }
    }
    for (kind, first) in used.iter().zip(first) {
        assert!(control.made(*kind) > first, "{test}: no round made any {kind:?}");
    }
}

/// What lives once it is no more than `most`: threads of the runtime give some of it back behind a call.
fn settled_below(control: &Control, most: &[(Kind, u64)]) -> Vec<(Kind, u64)> {
    let end = Instant::now() + SETTLES_WITHIN;
    loop {
        let census = control.census();
        let more = census.iter().zip(most).any(|(now, most)| now.1 > most.1);
        if !more || Instant::now() > end {
            return census;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The whole life of a device of one tier, around `work`.
fn life(tier: Tier, work: impl FnOnce(&Device) -> Result<()>) {
    let (device, watch) = ground::device(&[tier], Vec::new()).unwrap();
    work(&device).unwrap();
    drop(device);
    assert_eq!(settled(&watch), Live::default(), "{tier:?}");
}

fn material(device: &Device) -> Result<(Kernel, Buffer)> {
    Ok((device.kernel(kernels::INC)?, device.upload(&[1u32; WORDS])?))
}

fn graph(device: &Device, inc: &Kernel, buffer: &Buffer) -> Result<Graph> {
    let grid = Grid::stride(WORDS as u64);
    let record = device.capture(|c| {
        let grid = c.grid_param("grid", grid, Grid::groups(100));
        c.launch(inc, &grid, (buffer,))?;
        c.launch(inc, &grid, (buffer,))
    });
    Ok(record?.0)
}

/// What a life makes below the runtime, whatever it does.
const ALWAYS: [Kind; 7] =
    [Kind::DeviceMemory, Kind::HostMemory, Kind::Signal, Kind::Handler, Kind::Reader, Kind::Executable, Kind::Kernel];

#[test]
fn of_eager_work_nothing_is_left() {
    nothing_is_left("leaks::of_eager_work_nothing_is_left", &ALWAYS, || {
        life(Tier::Captured, |device| {
            let (inc, buffer) = material(device)?;
            let (copy, large) = (device.alloc(4 * WORDS as u64)?, device.alloc(5 << 20)?);
            large.fill(7)?;
            let streams = [device.stream(), device.stream(), device.stream()];
            for stream in &streams {
                stream.launch(&inc, Grid::stride(WORDS as u64), (&buffer,))?;
                stream.copy(&buffer, &copy)?;
            }
            assert_eq!(copy.read::<u32>()?, [4; WORDS]);
            drop(large);
            device.trim();
            streams[0].sync()
        });
    });
}

#[test]
fn of_graphs_nothing_is_left() {
    nothing_is_left("leaks::of_graphs_nothing_is_left", &ALWAYS, || {
        for tier in TIERS {
            life(tier, |device| {
                let (inc, buffer) = material(device)?;
                let graph = graph(device, &inc, &buffer)?;
                for groups in [3, 5, 7] {
                    graph.update(|update| update.grid("grid", [groups, 1, 1]))?;
                    graph.replay()?;
                }
                graph.replay_timed()?.wait()?;
                assert_eq!(buffer.read::<u32>()?, [9; WORDS]);
                Ok(())
            });
        }
    });
}

/// Updates enough for the executable to be made anew: two nodes each.
#[test]
fn of_executables_that_are_made_anew_nothing_is_left() {
    nothing_is_left("leaks::of_executables_that_are_made_anew_nothing_is_left", &ALWAYS, || {
        life(Tier::Captured, |device| {
            let (inc, buffer) = material(device)?;
            let graph = graph(device, &inc, &buffer)?;
            for groups in 0..140 {
                graph.update(|update| update.grid("grid", [1 + groups % 90, 1, 1]))?;
                graph.replay()?;
            }
            assert_eq!(buffer.read::<u32>()?, [281; WORDS]);
            Ok(())
        });
    });
}

/// Before a replay, before its end, and after the device's own handles.
#[test]
fn of_graphs_that_are_dropped_early_nothing_is_left() {
    nothing_is_left("leaks::of_graphs_that_are_dropped_early_nothing_is_left", &ALWAYS, || {
        for tier in TIERS {
            life(tier, |device| {
                let (inc, buffer) = material(device)?;
                drop(graph(device, &inc, &buffer)?);
                let running = graph(device, &inc, &buffer)?;
                running.replay()?;
                drop(running);
                let last = graph(device, &inc, &buffer)?;
                drop((inc, buffer));
                last.replay()?;
                Ok(())
            });
        }
    });
}

/// By the program's own error, by what a capture refuses, and given up.
#[test]
fn of_captures_that_fail_nothing_is_left() {
    nothing_is_left("leaks::of_captures_that_fail_nothing_is_left", &ALWAYS, || {
        for tier in TIERS {
            life(tier, |device| {
                let (inc, buffer) = material(device)?;
                let grid = Grid::stride(WORDS as u64);
                let stopped = || ServerError::unsupported("going on", "the test stops here");
                let failed = device.capture(|c| {
                    c.launch(&inc, grid, (&buffer,))?;
                    Err::<(), _>(stopped())
                });
                assert!(failed.is_err(), "{tier:?}");
                let failed = device.capture(|c| {
                    c.launch(&inc, grid, (&buffer,))?;
                    c.launch(&inc, [u32::MAX, 1, 1], (&buffer,))
                });
                assert!(failed.is_err(), "{tier:?}");
                let stream = device.stream();
                stream.graph_prepare()?;
                stream.begin_capture()?;
                stream.launch(&inc, grid, (&buffer,))?;
                stream.graph_abort()?;
                // What a window that ran nothing was to write holds no result.
                buffer.write(&[1u32; WORDS])?;
                graph(device, &inc, &buffer)?.replay()?.wait()?;
                assert_eq!(buffer.read::<u32>()?, [3; WORDS]);
                Ok(())
            });
        }
    });
}

/// A wait for the whole device breaks a capture, and the stream with it, below which another one is made.
fn broken(driver: &HipDriver, memory: &DeviceMemory) -> DriverResult {
    let stream = driver.stream_create()?;
    let words = NonZeroU64::new(16).unwrap();
    let fill = |word| {
        // SAFETY: the memory is longer, and lives until the stream is waited for.
        unsafe { driver.fill(memory.address, word, words, &stream) }
    };
    for word in 0..3 {
        driver.capture_begin(&stream)?;
        fill(word)?;
        // SAFETY: it takes nothing.
        let waited = unsafe { library().unwrap().calls.hipDeviceSynchronize() };
        assert!(waited.is_err(), "the runtime refuses it while a stream captures");
        let ended = driver.capture_end(&stream).map(drop).unwrap_err();
        assert_eq!(ended.kind, DriverErrorKind::CaptureBroken, "{ended}");
    }
    driver.capture_begin(&stream)?;
    fill(7)?;
    driver.graph_destroy(driver.capture_end(&stream)?)?;
    // SAFETY: what was captured never ran, so that it has no work.
    unsafe { driver.stream_destroy(stream) }
}

#[test]
fn of_captures_that_break_nothing_is_left() {
    nothing_is_left("leaks::of_captures_that_break_nothing_is_left", &[Kind::DeviceMemory, Kind::Signal], || {
        let (driver, _) = ground::open().unwrap();
        driver.context_set(Some(driver.context())).unwrap();
        let memory = driver.mem_alloc(NonZeroU64::new(1 << 20).unwrap()).unwrap();
        broken(&driver, &memory).unwrap();
        // SAFETY: nothing uses it any more.
        unsafe { driver.mem_free(memory) }.unwrap();
        driver.context_set(None).unwrap();
        driver.close().unwrap();
    });
}

/// A device that is closed with work under way, one that had none, and one of which only waits were asked.
#[test]
fn of_a_device_that_is_closed_nothing_is_left() {
    nothing_is_left("leaks::of_a_device_that_is_closed_nothing_is_left", &ALWAYS, || {
        life(Tier::Captured, |_| Ok(()));
        life(Tier::Captured, |device| {
            (0..4).try_for_each(|_| device.stream().sync())?;
            device.sync()
        });
        for tier in TIERS {
            life(tier, |device| {
                let (inc, buffer) = material(device)?;
                let graph = graph(device, &inc, &buffer)?;
                for _ in 0..10 {
                    graph.replay()?;
                    device.launch(&inc, Grid::stride(WORDS as u64), (&buffer,))?;
                }
                Ok(())
            });
        }
    });
}

/// An application that has a stream and, from the runtime's pool, memory.
struct Application {
    library: &'static Library,
    stream: *mut c_void,
    memory: *mut c_void,
}

/// Bytes of the application's memory, of which ours are the first: enough for the runtime to lock what a copy reads.
const LARGE: usize = 4 << 20;

impl Application {
    fn start() -> Self {
        let library = library().unwrap();
        let (mut stream, mut memory) = (null_mut(), null_mut());
        // SAFETY: there is room for the handle.
        unsafe { library.calls.hipStreamCreateWithFlags(&raw mut stream, hipStreamNonBlocking) }.unwrap();
        // SAFETY: there is room for the address, and the stream lives.
        unsafe { library.calls.hipMallocAsync(&raw mut memory, LARGE, stream) }.unwrap();
        let plain = vec![1u8; LARGE];
        // SAFETY: both have so many bytes, and live until the stream has done it.
        unsafe { library.calls.hipMemcpyHtoDAsync(memory, plain.as_ptr().cast_mut().cast(), LARGE, stream) }.unwrap();
        // SAFETY: the stream lives.
        unsafe { library.calls.hipStreamSynchronize(stream) }.unwrap();
        Self { library, stream: stream.cast(), memory }
    }

    fn fill(&self, word: i32) {
        // SAFETY: the memory has so many words, and the stream orders it.
        unsafe { self.library.calls.hipMemsetD32Async(self.memory.cast(), word, WORDS, self.stream.cast()) }.unwrap();
    }

    fn end(self) {
        let stream = self.stream.cast();
        // SAFETY: nothing uses it any more.
        unsafe { self.library.calls.hipFreeAsync(self.memory, stream) }.unwrap();
        // SAFETY: the stream lives.
        unsafe { self.library.calls.hipStreamSynchronize(stream) }.unwrap();
        // SAFETY: its work is done.
        unsafe { self.library.calls.hipStreamDestroy(stream) }.unwrap();
    }
}

/// Says when nothing of ours uses the application's memory.
struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn with<R>(device: &Device, act: impl FnOnce(&mut HipServer) -> R) -> R {
    device.with_server(act).expect("the device is over HIP")
}

/// The application's stream and memory as ours, with a graph over them, and our stream as its.
fn beside(application: &Application, device: &Device, unused: &Arc<AtomicBool>) -> Result<()> {
    // SAFETY: the stream waits for no other, captures nothing, and is destroyed after the device is given back.
    let theirs = with(device, |server| unsafe { server.adopt_raw_stream(application.stream) })?;
    let (address, bytes) = (application.memory as u64, 4 * WORDS as u64);
    let owner = Box::new(Owner(Arc::clone(unused)));
    // SAFETY: the application frees the memory at its end alone, and orders what it does with it by `raw_buffer`.
    let handle = with(device, |server| unsafe { server.wrap_pointer(theirs, address, bytes, owner) })?;
    let buffer = device.adopt(handle.binding())?;
    let inc = device.kernel(kernels::INC)?;
    let graph = graph(device, &inc, &buffer)?;
    for round in 0..3 {
        with(device, |server| server.raw_buffer(theirs, &buffer.binding(), Access::Write).map(drop))?;
        application.fill(round);
        graph.replay()?;
        assert_eq!(buffer.read::<u32>()?, [round as u32 + 2; WORDS]);
    }
    let ours = device.stream().id();
    with(device, |server| server.raw_stream(ours))?;
    drop((graph, buffer, inc));
    device.sync()?;
    with(device, |server| graphreel::Server::return_stream(server, theirs));
    device.trim();
    Ok(())
}

/// It copies from memory that is none of the runtime's, which nothing of ours does.
#[test]
fn of_an_application_beside_the_device_nothing_is_left() {
    let mut used = [&ALWAYS[..], &[Kind::LockedMemory]].concat();
    if library().is_ok_and(|library| library.version.release() >= (7, 0)) {
        // Pools of newer releases map memory into a range of addresses that they keep.
        used.extend([Kind::VirtualHandle, Kind::Mapping]);
    }
    nothing_is_left("leaks::of_an_application_beside_the_device_nothing_is_left", &used, || {
        for tier in TIERS {
            let application = Application::start();
            let (driver, translator) = ground::open().unwrap();
            let config = Config { tiers: vec![tier], ..Config::default() };
            let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone()).unwrap();
            let device = Device::new(Box::new(server), config);
            let unused = Arc::new(AtomicBool::new(false));
            beside(&application, &device, &unused).unwrap();
            drop(device);
            let end = Instant::now() + Duration::from_secs(30);
            while !unused.load(Ordering::Acquire) {
                assert!(Instant::now() < end, "something of ours uses the application's memory");
                std::thread::sleep(Duration::from_millis(1));
            }
            application.end();
        }
    });
}
