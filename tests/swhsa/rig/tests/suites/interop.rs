//! An application beside the device: its stream and memory as ours and ours as its, what of both is in order, and what is refused.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(unsafe_code, reason = "the application calls the runtime")]

use std::any::Any;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graphreel::error::GraphRule;
use graphreel::graph::HardwareServer;
use graphreel::memory::Handle;
use graphreel::op::Op;
use graphreel::recording::Tier;
use graphreel::{Access, Buffer, Config, Device, Grid, Kernel, Result, Server, ServerError, StreamId};
use graphreel_hip::{BACKEND, HipServer, Interop as _};
use graphreel_hip_sys::constant::{hipHostMallocDefault, hipStreamCaptureModeRelaxed, hipStreamNonBlocking};
use graphreel_hip_sys::handle::hipStream_t;
use graphreel_hip_sys::{Library, library};
use graphreel_testkit::kernels;

use super::ground::{self, TIERS};

/// Words of each buffer.
const WORDS: usize = 1 << 14;
const BYTES: usize = 4 * WORDS;

/// Fills before what counts, so that work which does not wait for it comes too early.
const BEFORE: i32 = 20;

/// Rounds on one device.
const ROUNDS: u32 = 5;

/// How long memory that was dropped takes to be given back: the runtime tells the end of its last use a little later.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(30);

/// An application with a stream, memory of the device and memory that the device reaches.
struct Application {
    library: &'static Library,
    stream: hipStream_t,
    memory: *mut c_void,
    up: *mut u32,
    down: *mut u32,
}

impl Application {
    fn start() -> Self {
        let library = library().unwrap();
        let (mut stream, mut memory, mut pinned) = (null_mut(), null_mut(), [null_mut(); 2]);
        // SAFETY: it takes a number.
        unsafe { library.calls.hipSetDevice(0) }.unwrap();
        // SAFETY: there is room for the handle.
        unsafe { library.calls.hipStreamCreateWithFlags(&raw mut stream, hipStreamNonBlocking) }.unwrap();
        // SAFETY: there is room for the address.
        unsafe { library.calls.hipMalloc(&raw mut memory, BYTES) }.unwrap();
        for address in &mut pinned {
            // SAFETY: as above.
            unsafe { library.calls.hipHostMalloc(address, BYTES, hipHostMallocDefault) }.unwrap();
        }
        let [up, down] = pinned.map(<*mut c_void>::cast);
        Self { library, stream, memory, up, down }
    }

    /// Let the stream fill so many words.
    fn fill(&self, stream: hipStream_t, to: *mut c_void, word: i32) {
        // SAFETY: the range is as long, and the caller orders it.
        unsafe { self.library.calls.hipMemsetD32Async(to.cast(), word, WORDS, stream) }.unwrap();
    }

    /// Let the application's stream write these words, after some that are wrong.
    fn put(&self, to: *mut c_void, words: &[u32]) {
        self.wait();
        for (at, word) in words.iter().enumerate().take(WORDS) {
            // SAFETY: the memory has so many words, and no copy reads it: all are done.
            unsafe { self.up.wrapping_add(at).write(*word) };
        }
        (0..BEFORE).for_each(|word| self.fill(self.stream, to, word));
        // SAFETY: both have so many bytes; the memory is written again once the stream is done.
        unsafe { self.library.calls.hipMemcpyHtoDAsync(to.cast(), self.up.cast(), BYTES, self.stream) }.unwrap();
    }

    /// Let the application's stream copy on the device.
    fn copy(&self, to: *mut c_void, from: *mut c_void) {
        // SAFETY: both have so many bytes, and the caller orders them.
        unsafe { self.library.calls.hipMemcpyDtoDAsync(to.cast(), from.cast(), BYTES, self.stream) }.unwrap();
    }

    /// The words that lie there when the application's stream comes to it.
    fn get(&self, from: *mut c_void) -> Vec<u32> {
        // SAFETY: both have so many bytes, and nothing else uses the host's.
        unsafe { self.library.calls.hipMemcpyDtoHAsync(self.down.cast(), from.cast(), BYTES, self.stream) }.unwrap();
        self.wait();
        // SAFETY: the copy is done, and wrote so many words.
        unsafe { std::slice::from_raw_parts(self.down, WORDS) }.to_vec()
    }

    fn wait(&self) {
        // SAFETY: the stream lives.
        unsafe { self.library.calls.hipStreamSynchronize(self.stream) }.unwrap();
    }

    fn end(self) {
        self.wait();
        // SAFETY: its work is done, and the device was given back.
        unsafe { self.library.calls.hipStreamDestroy(self.stream) }.unwrap();
        // SAFETY: nothing uses it any more.
        unsafe { self.library.calls.hipFree(self.memory) }.unwrap();
        for pinned in [self.up, self.down] {
            // SAFETY: as above.
            unsafe { self.library.calls.hipHostFree(pinned.cast()) }.unwrap();
        }
    }
}

/// Says when nothing of ours uses the application's memory.
struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A device over the driver itself, which alone has the calls.
fn opened(tier: Tier) -> Device {
    let (driver, translator) = ground::open().unwrap();
    let config = Config { tiers: vec![tier], ..Config::default() };
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone()).unwrap();
    Device::new(Box::new(server), config)
}

fn with<R>(device: &Device, act: impl FnOnce(&mut HipServer) -> R) -> R {
    device.with_server(act).expect("the device is over HIP")
}

fn adopt(device: &Device, stream: hipStream_t) -> Result<StreamId> {
    // SAFETY: what is not refused is the application's stream, which waits for no other and outlives the device.
    with(device, |server| unsafe { server.adopt_raw_stream(stream.cast()) })
}

fn wrap(device: &Device, stream: StreamId, address: u64, bytes: u64, owner: Box<dyn Any + Send>) -> Result<Handle> {
    // SAFETY: what is not refused is the application's memory, which it frees at its end and orders by `raw_buffer`.
    with(device, |server| unsafe { server.wrap_pointer(stream, address, bytes, owner) })
}

/// Where a buffer's bytes lie, for the application's next work on the stream.
fn exposed(device: &Device, stream: StreamId, buffer: &Buffer, access: Access) -> Result<*mut c_void> {
    let raw = with(device, |server| server.raw_buffer(stream, &buffer.binding(), access))?;
    assert_eq!(raw.bytes, BYTES as u64);
    Ok(std::ptr::without_provenance_mut(raw.address as usize))
}

fn material(device: &Device) -> (Kernel, Buffer) {
    (device.kernel(kernels::INC).unwrap(), device.upload(&[0u32; WORDS]).unwrap())
}

/// Words of a round, no two alike.
fn pattern(round: u32) -> Vec<u32> {
    (0..WORDS as u32).map(|at| at.wrapping_mul(0x9e37_79b1) ^ (round << 16)).collect()
}

fn plus(words: &[u32], number: u32) -> Vec<u32> {
    words.iter().map(|word| word.wrapping_add(number)).collect()
}

#[track_caller]
fn same(found: &[u32], expected: &[u32], what: &str) {
    let wrong = found.iter().zip(expected).position(|(found, expected)| found != expected);
    assert_eq!((found.len(), wrong), (expected.len(), None), "{what}: length, and the first wrong word");
}

/// One round: the application writes, we change it in a graph and eagerly, it reads and writes again, and we read.
fn round(application: &Application, device: &Device, theirs: StreamId, wrapped: &Buffer, round: u32) {
    let ((inc, ours), grid) = (material(device), Grid::stride(WORDS as u64));
    let (graph, ()) = device.capture(|c| c.launch(&inc, grid, (wrapped,))).unwrap();
    let first = pattern(round);
    let address = exposed(device, theirs, wrapped, Access::Write).unwrap();
    assert_eq!(address, application.memory, "the application's own bytes");
    application.put(address, &first);
    graph.replay().unwrap();
    device.stream().launch(&inc, grid, (wrapped,)).unwrap();
    device.stream().copy(wrapped, &ours).unwrap();
    let address = exposed(device, theirs, &ours, Access::Read).unwrap();
    same(&application.get(address), &plus(&first, 2), "theirs after ours");
    let second = pattern(!round);
    let address = exposed(device, theirs, &ours, Access::Write).unwrap();
    application.put(address, &second);
    device.launch(&inc, grid, (&ours,)).unwrap();
    same(&ours.read::<u32>().unwrap(), &plus(&second, 1), "ours after theirs");
    let (from, to) = (
        exposed(device, theirs, &ours, Access::Read).unwrap(),
        exposed(device, theirs, wrapped, Access::Write).unwrap(),
    );
    application.copy(to, from);
    graph.replay().unwrap();
    same(&wrapped.read::<u32>().unwrap(), &plus(&second, 2), "a graph after a copy of theirs");
    // Of work on one stream nothing has to be said.
    let fill = Op::Fill { dst: wrapped.binding().into(), word: 7 + round };
    with(device, |server| server.submit(theirs, fill)).unwrap();
    with(device, |server| Server::flush(server, theirs)).unwrap();
    same(&application.get(application.memory), &[7 + round; WORDS], "ours on their stream");
}

#[test]
fn an_application_and_a_device_work_on_each_others_bytes() {
    if !ground::there("interop::an_application_and_a_device_work_on_each_others_bytes") {
        return;
    }
    for tier in TIERS {
        let (application, device, unused) = (Application::start(), opened(tier), Arc::new(AtomicBool::new(false)));
        assert_eq!(with(&device, |server| server.raw_device()), 0);
        let theirs = adopt(&device, application.stream).unwrap();
        let owner = Box::new(Owner(Arc::clone(&unused)));
        let handle = wrap(&device, theirs, application.memory as u64, BYTES as u64, owner).unwrap();
        let wrapped = device.adopt(handle.binding()).unwrap();
        (0..ROUNDS).for_each(|number| round(&application, &device, theirs, &wrapped, number));
        assert!(!unused.load(Ordering::Acquire), "{tier:?}: it is in use");
        drop((wrapped, handle));
        device.sync().unwrap();
        with(&device, |server| Server::return_stream(server, theirs));
        let end = Instant::now() + GIVEN_BACK_WITHIN;
        while !unused.load(Ordering::Acquire) {
            assert!(Instant::now() < end, "{tier:?}: something of ours uses the application's memory");
            device.trim();
        }
        assert!(device.lost().is_none(), "{tier:?}");
        drop(device);
        // What was lent is the application's, as it was.
        application.put(application.memory, &pattern(9));
        same(&application.get(application.memory), &pattern(9), "after the device");
        application.end();
    }
}

#[test]
fn our_stream_takes_the_applications_work() {
    if !ground::there("interop::our_stream_takes_the_applications_work") {
        return;
    }
    for tier in TIERS {
        let (application, device) = (Application::start(), opened(tier));
        let ((inc, ours), grid) = (material(&device), Grid::stride(WORDS as u64));
        let stream = device.stream().id();
        let raw: hipStream_t = with(&device, |server| server.raw_stream(stream)).unwrap().cast();
        assert!(raw as usize > 2 && raw != application.stream, "a stream of ours, which is none of the default ones");
        for word in 0..3 {
            let address = exposed(&device, stream, &ours, Access::Write).unwrap();
            (0..BEFORE).for_each(|before| application.fill(raw, address, before));
            application.fill(raw, address, 40 + word);
            device.launch(&inc, grid, (&ours,)).unwrap();
            same(&ours.read::<u32>().unwrap(), &[41 + word as u32; WORDS], "ours after theirs");
        }
        drop((device, inc, ours));
        application.end();
    }
}

fn unsupported(result: Result<impl Sized>, word: &str) {
    match result {
        Err(error @ ServerError::Unsupported { .. }) => assert!(error.to_string().contains(word), "{word} in {error}"),
        Err(error) => panic!("{word}: {error:?}"),
        Ok(_) => panic!("{word}: it was not refused"),
    }
}

#[test]
fn streams_that_cannot_be_ours_are_refused() {
    if !ground::there("interop::streams_that_cannot_be_ours_are_refused") {
        return;
    }
    let (application, device) = (Application::start(), opened(Tier::Captured));
    for default in 0..=2usize {
        unsupported(adopt(&device, std::ptr::without_provenance_mut(default)), "default stream");
    }
    let (calls, stream, mut graph) = (&application.library.calls, application.stream, null_mut());
    // SAFETY: the stream lives, and has no work.
    unsafe { calls.hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed) }.unwrap();
    unsupported(adopt(&device, stream), "captur");
    // SAFETY: it captures; there is room for the handle.
    unsafe { calls.hipStreamEndCapture(stream, &raw mut graph) }.unwrap();
    // SAFETY: the graph was just made.
    unsafe { calls.hipGraphDestroy(graph) }.unwrap();
    let theirs = adopt(&device, stream).unwrap();
    with(&device, |server| Server::return_stream(server, theirs));
    drop(device);
    application.end();
}

#[test]
fn memory_that_cannot_be_ours_is_refused() {
    if !ground::there("interop::memory_that_cannot_be_ours_is_refused") {
        return;
    }
    let (application, device) = (Application::start(), opened(Tier::Built));
    let (stream, at) = (device.stream().id(), application.memory as u64);
    let wrapped = |address, bytes| wrap(&device, stream, address, bytes, Box::new(()));
    unsupported(wrapped(0, 16), "null");
    unsupported(wrapped(at + 4, 16), "no multiple of 16");
    assert!(matches!(wrapped(at, 0), Err(ServerError::InvalidSize { bytes: 0, .. })));
    assert!(matches!(wrapped(at, 7), Err(ServerError::InvalidSize { bytes: 7, .. })));
    let first = wrapped(at, BYTES as u64).unwrap();
    unsupported(wrapped(at + 1024, 16), "clone the first handle");
    drop(first);
    drop(wrapped(at, 16).unwrap());
    // Memory of ours is ours already.
    let ours = device.alloc(BYTES as u64).unwrap();
    let address = exposed(&device, stream, &ours, Access::Write).unwrap() as u64;
    unsupported(wrapped(address, 16), "own pool");
    // Bytes of another device, and bytes that hold no result.
    let other = opened(Tier::Built);
    let foreign = other.upload(&[1u32; WORDS]).unwrap();
    assert!(matches!(exposed(&device, stream, &foreign, Access::Read), Err(ServerError::ForeignHandle { .. })));
    let (inc, tainted) = material(&device);
    let window = device.stream();
    window.graph_prepare().unwrap();
    window.begin_capture().unwrap();
    window.launch(&inc, Grid::stride(WORDS as u64), (&tainted,)).unwrap();
    let refused = |result: Result<()>| match result {
        Err(ServerError::GraphState(state)) => assert_eq!(state.rule, GraphRule::RefusedInWindow),
        other => panic!("a window records: {other:?}"),
    };
    refused(exposed(&device, window.id(), &tainted, Access::Write).map(drop));
    refused(wrap(&device, window.id(), at, 16, Box::new(())).map(drop));
    window.graph_abort().unwrap();
    assert!(exposed(&device, stream, &tainted, Access::Read).is_err(), "what a window was to write holds no result");
    let address = exposed(&device, stream, &tainted, Access::Write).unwrap();
    let raw = with(&device, |server| server.raw_stream(stream)).unwrap();
    application.fill(raw.cast(), address, 3);
    same(&tainted.read::<u32>().unwrap(), &[3; WORDS], "after a write of theirs");
    drop((device, other, inc, tainted, foreign, ours, window));
    application.end();
}
