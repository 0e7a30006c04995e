//! An application beside the server, on one context: what its plain driver calls do to ours, and ours to its.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(unsafe_code, reason = "the application calls the driver")]

use std::ffi::c_void;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graphreel::graph::Driver;
use graphreel::graph::driver::{DeviceMemory, DevicePtr, EventTiming, PinnedMemory};
use graphreel::memory::Access;
use graphreel::server::Server as _;
use graphreel::{Buffer, Config, Device, Grid, ServerError, StreamId};
use graphreel_cuda::{CudaDriver, CudaOptions, CudaServer, CudaStream, Interop, absence, adopt, devices, driver, open};
use graphreel_testkit::announce;

const WORDS: usize = 1 << 16;

const INC: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64) fn inc(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] += 1u; }
    }";

/// An application: a driver of its own on the same primary context, bound to this thread.
struct Application {
    driver: CudaDriver,
    stream: CudaStream,
    memory: DeviceMemory,
    back: PinnedMemory,
}

fn bytes(words: usize) -> NonZeroU64 {
    NonZeroU64::new(4 * words as u64).unwrap()
}

impl Application {
    /// `None`, after saying why, where there is no device.
    fn start(test: &str) -> Option<Self> {
        if devices().is_err() {
            let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
            assert!(
                !required.split(',').any(|name| name.trim() == "cuda"),
                "GRAPHREEL_REQUIRE names cuda: {}",
                absence()
            );
            announce(&format!("{test}: skipped, {}", absence()));
            return None;
        }
        let driver = driver(&CudaOptions::default()).unwrap();
        driver.context_set(Some(driver.context())).unwrap();
        let stream = driver.stream_create().unwrap();
        let (memory, back) = (driver.mem_alloc(bytes(WORDS)).unwrap(), driver.pinned_alloc(bytes(WORDS)).unwrap());
        Some(Self { driver, stream, memory, back })
    }

    fn raw_stream(&self) -> *mut c_void {
        self.stream.as_raw()
    }

    fn fill(&self, at: DevicePtr, word: u32) {
        let words = NonZeroU64::new(WORDS as u64).unwrap();
        // SAFETY: the range is as long, lives long enough, and the caller orders it.
        unsafe { self.driver.fill(at, word, words, &self.stream) }.unwrap();
    }

    /// What lies there once the application's stream has done all that it was given.
    fn read(&self, at: DevicePtr) -> Vec<u32> {
        // SAFETY: both ranges are as long, and nothing else uses the host's.
        unsafe { self.driver.copy_to_host(self.back.address, at, bytes(WORDS), &self.stream) }.unwrap();
        self.wait();
        // SAFETY: the copy is done, and wrote so many words.
        unsafe { std::slice::from_raw_parts(self.back.address.0.as_ptr().cast::<u32>(), WORDS) }.to_vec()
    }

    fn wait(&self) {
        let done = self.driver.event_create(EventTiming::Off).unwrap();
        self.driver.event_record(&done, &self.stream).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while !self.driver.event_query(&done).unwrap() {
            assert!(Instant::now() < end, "the application's work does not end");
        }
        self.driver.event_destroy(done).unwrap();
    }

    /// The device has been given back before.
    fn end(self) {
        self.wait();
        let Self { driver, stream, memory, back } = self;
        // SAFETY: its work is done.
        unsafe { driver.stream_destroy(stream) }.unwrap();
        // SAFETY: nothing uses it any more.
        unsafe { driver.mem_free(memory) }.unwrap();
        // SAFETY: as above.
        unsafe { driver.pinned_free(back) }.unwrap();
        driver.context_set(None).unwrap();
        driver.close().unwrap();
    }
}

/// Says when nothing of ours uses the application's memory.
struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn with<R>(device: &Device, act: impl FnOnce(&mut CudaServer) -> R) -> R {
    device.with_server(act).unwrap()
}

fn wrap(device: &Device, stream: StreamId, memory: &DeviceMemory, unused: &Arc<AtomicBool>) -> Buffer {
    let owner = Box::new(Owner(unused.clone()));
    let (address, bytes) = (memory.address.0.get(), memory.bytes.get());
    // SAFETY: the memory is freed by `Application::end` alone, and its work is ordered by `raw_buffer`.
    let handle = with(device, |server| unsafe { server.wrap_pointer(stream, address, bytes, owner) }).unwrap();
    device.adopt(handle.binding()).unwrap()
}

/// Work of both over memory of both, on an adopted stream, with a graph among it.
fn work(application: &Application, device: &Device) {
    let unused = Arc::new(AtomicBool::new(false));
    // SAFETY: the stream does not wait for others, captures nothing, and is destroyed after the device is given back.
    let theirs = with(device, |server| unsafe { server.adopt_raw_stream(application.raw_stream()) }).unwrap();
    let buffer = wrap(device, theirs, &application.memory, &unused);
    let inc = device.kernel(INC).unwrap();
    let (ours, grid) = (device.alloc(4 * WORDS as u64).unwrap(), Grid::cover(WORDS as u64));
    let (graph, ()) = device.capture(|c| c.launch(&inc, grid, (&buffer,))).unwrap();
    for round in 0..20u32 {
        with(device, |server| {
            let raw = server.raw_buffer(theirs, &buffer.binding(), Access::Write).unwrap();
            assert_eq!((raw.address, raw.bytes), (application.memory.address.0.get(), 4 * WORDS as u64));
            application.fill(application.memory.address, round);
        });
        graph.replay().unwrap();
        device.launch(&inc, grid, (&buffer,)).unwrap();
        device.stream().copy(&buffer, &ours).unwrap();
        let seen = with(device, |server| {
            let raw = server.raw_buffer(theirs, &ours.binding(), Access::Read).unwrap();
            application.read(DevicePtr(NonZeroU64::new(raw.address).unwrap()))
        });
        assert_eq!(seen, vec![round + 2; WORDS]);
        assert_eq!(buffer.read::<u32>().unwrap(), seen);
    }
    drop((graph, buffer, ours, inc));
    device.stream().sync().unwrap();
    with(device, |server| server.return_stream(theirs));
    device.trim();
    assert!(unused.load(Ordering::Acquire), "nothing of ours uses the application's memory");
}

#[test]
fn an_application_shares_the_primary_context() {
    let Some(application) = Application::start("interop") else { return };
    let config = Config::default();
    let server = open(&CudaOptions::default(), config.clone()).unwrap();
    assert_eq!(server.raw_context(), application.driver.context().as_raw(), "there is one for the process");
    let device = Device::new(Box::new(server), config);
    work(&application, &device);
    // The thread has what it had bound, whatever we did in between.
    assert_eq!(application.driver.context_current().unwrap(), Some(application.driver.context()));
    drop(device);
    assert_eq!(application.read(application.memory.address).len(), WORDS, "the context outlives our use of it");
    application.end();
}

#[test]
fn an_applications_context_is_adopted_and_left_alone() {
    let Some(application) = Application::start("interop") else { return };
    let config = Config::default();
    let context = application.driver.context().as_raw();
    // SAFETY: the application holds its context until the end of this test.
    let server = unsafe { adopt(context, &CudaOptions::default(), config.clone()) }.unwrap();
    let device = Device::new(Box::new(server), config);
    work(&application, &device);
    drop(device);
    assert_eq!(application.read(application.memory.address).len(), WORDS, "it was not released");
    application.end();
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let Some(application) = Application::start("interop") else { return };
    // SAFETY: a null context is refused.
    let error = unsafe { adopt(std::ptr::null_mut(), &CudaOptions::default(), Config::default()) }.unwrap_err();
    assert!(error.to_string().contains("null"), "{error}");
    let mut server = open(&CudaOptions::default(), Config::default()).unwrap();
    for default in [0usize, 1, 2] {
        // SAFETY: a default stream is refused.
        let error = unsafe { server.adopt_raw_stream(default as *mut c_void) }.unwrap_err();
        assert!(error.to_string().contains("default stream"), "{error}");
    }
    let stream = StreamId { value: 7 };
    let at = application.memory.address.0.get();
    let mut wrap = |address: u64, bytes: u64| {
        // SAFETY: what is not refused is the application's own memory, which it frees at its end.
        unsafe { server.wrap_pointer(stream, address, bytes, Box::new(())) }
    };
    assert!(wrap(0, 16).unwrap_err().to_string().contains("null"));
    assert!(matches!(wrap(at, 0), Err(ServerError::InvalidSize { bytes: 0, .. })));
    assert!(matches!(wrap(at, 7), Err(ServerError::InvalidSize { bytes: 7, .. })));
    assert!(wrap(at + 4, 16).unwrap_err().to_string().contains("no multiple of 16"));
    let first = wrap(at, 4 * WORDS as u64).unwrap();
    assert!(wrap(at + 1024, 16).unwrap_err().to_string().contains("clone the first handle"));
    drop(first);
    wrap(at, 16).unwrap();
    drop(server);
    application.end();
}

/// Our own stream, for the application's calls.
#[test]
fn our_stream_can_be_used_by_the_application() {
    let Some(application) = Application::start("interop") else { return };
    let config = Config::default();
    let device = Device::new(Box::new(open(&CudaOptions::default(), config.clone()).unwrap()), config);
    let (inc, ours) = (device.kernel(INC).unwrap(), device.alloc(4 * WORDS as u64).unwrap());
    let stream = device.stream().id();
    with(&device, |server| {
        let raw = server.raw_buffer(stream, &ours.binding(), Access::Write).unwrap();
        let theirs = server.raw_stream(stream).unwrap();
        let words = NonZeroU64::new(WORDS as u64).unwrap();
        let at = DevicePtr(NonZeroU64::new(raw.address).unwrap());
        // SAFETY: the stream is the server's, which lives; it is used for this call alone.
        let theirs = unsafe { CudaStream::from_raw(theirs) };
        // SAFETY: the range is as long, and the stream orders it.
        unsafe { application.driver.fill(at, 41, words, &theirs) }.unwrap();
    });
    device.launch(&inc, Grid::cover(WORDS as u64), (&ours,)).unwrap();
    assert_eq!(ours.read::<u32>().unwrap(), vec![42; WORDS]);
    drop((device, inc, ours));
    application.end();
}
