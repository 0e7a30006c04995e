//! An application beside the server, on one driver: its memory and its streams as the server's, and the server's addresses for its
//! own work. The driver finds what nothing orders, whatever order work comes in.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(unsafe_code, reason = "the application calls the driver")]

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphreel::graph::Driver;
use graphreel::graph::driver::{CaptureState, DeviceMemory, DevicePtr};
use graphreel::memory::Access;
use graphreel::server::Server as _;
use graphreel::{Buffer, Config, Device, Grid, Kernel, Result, ServerError, StreamId};
use graphreel_sim::{Probe, SimOptions, SimServer};

const WORDS: u64 = 64;

const INC: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64) fn inc(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += 1u; }";

/// A device, and an application with memory of its own.
struct Scene {
    device: Device,
    probe: Probe,
    memory: (DevicePtr, NonZeroU64),
    /// Set once the application's memory is not used any more.
    unused: Arc<AtomicBool>,
    inc: Kernel,
}

struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        assert!(!self.0.swap(true, Ordering::AcqRel), "an owner is dropped once");
    }
}

fn scene(seed: u64) -> Scene {
    let config = Config::default();
    let server = graphreel_sim::open(SimOptions::seeded(seed), config.clone()).unwrap();
    let probe = server.driver().probe();
    let device = Device::new(Box::new(server), config);
    let memory = bound(&device, |server| server.driver().mem_alloc(NonZeroU64::new(4 * WORDS).unwrap()).unwrap());
    let inc = device.kernel(INC).unwrap();
    Scene { device, probe, memory: (memory.address, memory.bytes), unused: Arc::default(), inc }
}

/// Call the driver, as an application that binds the context itself.
fn bound<R>(device: &Device, act: impl FnOnce(&mut SimServer) -> R) -> R {
    let acted = device.with_server(|server: &mut SimServer| {
        let before = server.driver().context_current().unwrap();
        server.driver().context_set(Some(server.driver().context())).unwrap();
        let result = act(server);
        server.driver().context_set(before).unwrap();
        result
    });
    acted.unwrap()
}

impl Scene {
    fn adopt(&self) -> StreamId {
        bound(&self.device, |server| {
            let stream = server.driver().stream_create().unwrap();
            // SAFETY: it is of this driver, captures nothing, and goes with the server.
            unsafe { server.adopt_stream(stream) }.unwrap()
        })
    }

    fn wrap(&self, stream: StreamId) -> Result<Buffer> {
        let (address, bytes) = self.memory;
        let owner = Box::new(Owner(self.unused.clone()));
        let wrapped = self.device.with_server(|server: &mut SimServer| {
            // SAFETY: it is freed after the device's end alone, and other work on it is ordered.
            unsafe { server.wrap(stream, DeviceMemory { address, bytes }, owner) }
        });
        self.device.adopt(wrapped.unwrap()?.binding())
    }

    /// The application fills a buffer on its stream.
    fn fill(&self, stream: StreamId, buffer: &Buffer, word: u32) {
        bound(&self.device, |server| {
            let at = server.expose(stream, &buffer.binding(), Access::Write).unwrap();
            let raw: *const _ = server.driver_stream(stream).unwrap();
            // SAFETY: the stream is the server's, which is borrowed until the end of this call.
            let raw = unsafe { &*raw };
            // SAFETY: the range lives with the buffer, and the stream orders it.
            unsafe { server.driver().fill(at, word, NonZeroU64::new(WORDS).unwrap(), raw) }.unwrap();
        });
    }

    /// Give the application's memory back, and see that nothing is left and nothing was misused.
    fn end(self) {
        let Self { device, probe, memory: (address, bytes), unused, inc } = self;
        drop(inc);
        device.stream().sync().unwrap();
        device.trim();
        assert!(unused.load(Ordering::Acquire), "nothing uses the memory any more");
        // SAFETY: as just seen.
        bound(&device, |server| unsafe { server.driver().mem_free(DeviceMemory { address, bytes }) }).unwrap();
        drop(device);
        probe.run_all();
        probe.check().unwrap();
    }
}

/// A capture of the application is broken by nothing of ours: each call that would is refused, and the driver was only asked.
#[test]
fn a_capture_of_the_application_is_left_alone() {
    let scene = scene(3);
    let device = &scene.device;
    // What a refused call leaves unwritten carries the refusal.
    let refused = |result: Result<()>| {
        let text = result.expect_err("it is refused").to_string();
        assert!(text.contains("end that capture first"), "{text}");
    };
    bound(device, |server| {
        let stream = server.driver().stream_create().unwrap();
        server.driver().capture_begin(&stream).unwrap();
        // SAFETY: it is of this driver, and is refused.
        refused(unsafe { server.adopt_stream(stream) }.map(drop));
    });
    let theirs = scene.adopt();
    let buffer = scene.wrap(theirs).unwrap();
    scene.fill(theirs, &buffer, 5);
    let (graph, ()) = device.capture(|c| c.launch(&scene.inc, Grid::groups(1), (&buffer,))).unwrap();
    let on_theirs = |act: &dyn Fn(&SimServer, &<graphreel_sim::SimDriver as Driver>::Stream)| {
        bound(device, |server| {
            let raw: *const _ = server.driver_stream(theirs).unwrap();
            // SAFETY: the stream is the server's, which is borrowed until the end of this call.
            act(server, unsafe { &*raw });
        });
    };
    on_theirs(&|server, stream| server.driver().capture_begin(stream).unwrap());
    let stream = device.stream_of(theirs);
    refused(stream.launch(&scene.inc, Grid::groups(1), (&buffer,)));
    refused(stream.read::<u32>(&buffer).map(drop));
    refused(stream.fill(&buffer, 1));
    refused(graph.replay_on_stream(&stream).map(drop));
    refused(stream.graph_prepare().and_then(|()| stream.begin_capture()));
    // Others would have to wait for what is in the capture's stream, which nobody has marked.
    refused(device.launch(&scene.inc, Grid::groups(1), (&buffer,)));
    on_theirs(&|server, stream| {
        assert_eq!(server.driver().capture_state(stream), Ok(CaptureState::Active));
        let recorded = server.driver().capture_end(stream).unwrap();
        assert_eq!(server.driver().graph_nodes(&recorded), Ok(0), "nothing of ours is in it");
        server.driver().graph_destroy(recorded).unwrap();
    });
    buffer.fill(7).unwrap();
    stream.launch(&scene.inc, Grid::groups(1), (&buffer,)).unwrap();
    assert_eq!(buffer.read::<u32>().unwrap(), [8; WORDS as usize]);
}

/// Work of both on one stream and on others, in any order that is legal.
#[test]
fn work_of_an_application_and_ours_are_in_order() {
    for seed in 0..40 {
        let scene = scene(seed);
        let theirs = scene.adopt();
        let buffer = scene.wrap(theirs).unwrap();
        let ours = scene.device.alloc(4 * WORDS).unwrap();
        let (grid, device) = (Grid::groups(1), &scene.device);
        scene.fill(theirs, &buffer, 5);
        device.launch(&scene.inc, grid, (&buffer,)).unwrap();
        device.stream().copy(&buffer, &ours).unwrap();
        scene.fill(theirs, &buffer, 20);
        let (graph, ()) = device.capture(|c| c.launch(&scene.inc, grid, (&buffer,))).unwrap();
        graph.replay().unwrap();
        assert_eq!(ours.read::<u32>().unwrap(), [6; WORDS as usize]);
        scene.fill(theirs, &ours, 1);
        assert_eq!(buffer.read::<u32>().unwrap(), [21; WORDS as usize]);
        device.launch(&scene.inc, grid, (&ours,)).unwrap();
        assert_eq!(ours.read::<u32>().unwrap(), [2; WORDS as usize]);
        drop((graph, buffer, ours));
        bound(device, |server| server.return_stream(theirs));
        scene.end();
    }
}

#[test]
fn memory_is_kept_while_a_graph_holds_it() {
    let scene = scene(3);
    let buffer = scene.wrap(scene.device.stream().id()).unwrap();
    buffer.fill(4).unwrap();
    let (graph, ()) = scene.device.capture(|c| c.launch(&scene.inc, Grid::groups(1), (&buffer,))).unwrap();
    drop(buffer);
    graph.replay().unwrap().wait().unwrap();
    scene.device.trim();
    assert!(!scene.unused.load(Ordering::Acquire), "the graph holds it");
    drop(graph);
    scene.end();
}

#[test]
fn what_cannot_be_wrapped_is_refused() {
    let scene = scene(4);
    let stream = scene.device.stream().id();
    let first = scene.wrap(stream).unwrap();
    let text = scene.wrap(stream).unwrap_err().to_string();
    assert!(text.contains("again") && text.contains("clone the first handle"), "{text}");
    assert!(scene.unused.swap(false, Ordering::AcqRel), "what is refused is given back");
    let try_at = |address: u64, bytes: u64| {
        let memory = DeviceMemory {
            address: DevicePtr(NonZeroU64::new(address).unwrap()),
            bytes: NonZeroU64::new(bytes).unwrap(),
        };
        // SAFETY: it is refused.
        bound(&scene.device, |server| unsafe { server.wrap(stream, memory, Box::new(())) }).unwrap_err()
    };
    let own = scene.device.upload(&[1u32; 4]).unwrap();
    let at = bound(&scene.device, |server| server.expose(stream, &own.binding(), Access::Read).unwrap());
    assert!(try_at(at.0.get(), 16).to_string().contains("own pool"));
    assert!(try_at(1 << 40 | 4, 16).to_string().contains("no multiple of 16"));
    assert!(matches!(try_at(1 << 40, 6), ServerError::InvalidSize { bytes: 6, .. }));
    let unwritten = scene.device.alloc(16).unwrap();
    let read = bound(&scene.device, |server| server.expose(stream, &unwritten.binding(), Access::Read));
    assert!(matches!(read, Err(ServerError::Unwritten { .. })), "{read:?}");
    drop((first, own, unwritten));
    scene.end();
}

#[test]
fn nothing_is_shared_while_the_slot_records() {
    let scene = scene(5);
    let stream = scene.adopt();
    let buffer = scene.wrap(stream).unwrap();
    bound(&scene.device, |server| {
        server.graph_prepare(stream, Default::default()).unwrap();
        server.begin_capture(stream).unwrap();
        let refused = server.expose(stream, &buffer.binding(), Access::Write);
        assert!(refused.unwrap_err().graph_rule().is_some());
        server.graph_abort(stream).unwrap();
        server.expose(stream, &buffer.binding(), Access::Write).unwrap();
        server.return_stream(stream);
    });
    drop(buffer);
    scene.end();
}

/// Exclusive streams are bounded, and one that is returned can be had again, with a stream of the server's own.
#[test]
fn a_returned_stream_is_the_applications_no_more() {
    let scene = scene(6);
    let most = Config::default().max_exclusive_streams;
    let streams: Vec<StreamId> = (0..most).map(|_| scene.adopt()).collect();
    let text = bound(&scene.device, |server| {
        let stream = server.driver().stream_create().unwrap();
        // SAFETY: it is refused.
        unsafe { server.adopt_stream(stream) }.unwrap_err().to_string()
    });
    assert!(text.contains("max_exclusive_streams"), "{text}");
    for stream in streams {
        bound(&scene.device, |server| server.return_stream(stream));
    }
    let buffer = scene.wrap(scene.device.stream().id()).unwrap();
    let (graph, ()) = scene.device.capture(|c| c.fill(&buffer, 3)).unwrap();
    graph.replay().unwrap();
    assert_eq!(buffer.read::<u32>().unwrap(), [3; WORDS as usize]);
    drop((graph, buffer));
    // The stream that was refused is the application's still, which here forgot it.
    let Scene { device, probe, .. } = scene;
    drop(device);
    probe.run_all();
    assert_eq!((probe.live().streams, probe.leaked()), (1, 1));
}
