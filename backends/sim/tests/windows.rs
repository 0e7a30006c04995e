//! Windows of a hardware graph as only the simulator can show them: which driver calls were made in them, what is left
//! when one of those fails, and when each wait that a window put off is answered.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::thread;
use std::time::{Duration, Instant};

use graphreel::error::GraphRule;
use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Graph, Grid, Kernel, Result, ServerError, Stream, StreamId};
use graphreel_sim::{Failure, FaultPlan, Probe, SimOptions, Then, When};

const WORDS: usize = 64;

/// No wait takes as long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Both tiers of hardware graphs.
const TIERS: [Tier; 2] = [Tier::Captured, Tier::Built];

const BUMP: &str = "
    var<immediate> by: u32;
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64) fn bump(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += by; }";

/// A device whose work runs when the test says so, with two streams that fold on one slot and one on another.
struct Scene {
    device: Device,
    probe: Probe,
    bump: Kernel,
    owner: Stream,
    neighbour: Stream,
    foreign: Stream,
}

impl Scene {
    fn new(tier: Tier) -> Self {
        Self::with(tier, SimOptions::manual())
    }

    fn with(tier: Tier, options: SimOptions) -> Self {
        let config = Config { max_streams: 2, tiers: vec![tier], page_bytes: 64 << 10, ..Config::default() };
        let server = graphreel_sim::open(options, config.clone()).unwrap();
        let probe = server.driver().probe();
        let device = Device::new(Box::new(server), config);
        let stream = |number: u64| device.stream_of(StreamId { value: (1 << 40) + number });
        let (owner, neighbour, foreign) = (stream(0), stream(2), stream(1));
        Self { bump: device.kernel(BUMP).unwrap(), device, probe, owner, neighbour, foreign }
    }

    /// A buffer whose writing is done.
    fn buffer(&self, word: u32) -> Buffer {
        let buffer = self.device.upload(&[word; WORDS]).unwrap();
        self.probe.run_all();
        buffer
    }

    fn holds(&self, buffer: &Buffer, word: u32) {
        let read = self.foreign.read_async::<u32>(buffer).unwrap();
        self.probe.run_all();
        assert_eq!(read.wait().unwrap(), [word; WORDS]);
    }

    fn bump(&self, stream: &Stream, buffer: &Buffer, by: u32) -> Result<()> {
        stream.launch(&self.bump, Grid::groups(1), (buffer, by))
    }

    fn open(&self) {
        self.owner.graph_prepare().unwrap();
        self.owner.begin_capture().unwrap();
    }

    /// A window that adds 1 works, from its opening to the bytes of a replay.
    fn records_again(&self) {
        let buffer = self.buffer(40);
        assert!(!self.owner.capture_status().active);
        assert_eq!(self.device.memory_usage().primed_bytes, 0, "priming is off");
        self.open();
        self.bump(&self.owner, &buffer, 1).unwrap();
        self.owner.end_capture().unwrap().replay().unwrap();
        self.holds(&buffer, 41);
    }

    /// Calls of these names from the line `from` of the trace on.
    fn called(&self, from: usize, names: &[&str]) -> Vec<String> {
        let is_named = |line: &String| names.iter().any(|name| line.split(' ').next() == Some(name));
        self.probe.trace().into_iter().skip(from).filter(is_named).collect()
    }

    fn calls(&self) -> usize {
        self.probe.trace().len()
    }

    fn fail(&self, call: &'static str, nth: u64, then: Then) {
        self.probe.arm(FaultPlan::one(When::Nth { call, nth }, then));
    }

    /// Drop the device with the last handles on it, and look at what is left.
    fn close<T>(self, held: T) {
        let probe = self.probe.clone();
        drop((held, self));
        closes(&probe);
    }
}

/// The driver is closed, nothing is alive and nothing was misused.
fn closes(probe: &Probe) {
    let started = Instant::now();
    while probe.names().last() != Some(&"close") {
        assert!(started.elapsed() < PATIENCE, "the driver is not closed: {}", probe.live());
        probe.run_all();
        thread::yield_now();
    }
    probe.check().unwrap();
}

fn rule(error: &ServerError) -> &GraphRule {
    error.graph_rule().unwrap_or_else(|| panic!("it is no error of a graph's state: {error}"))
}

/// XC-11 (C-70): calls out of order in a window reach no driver; the window goes on.
#[test]
fn a_refused_call_makes_no_driver_call() {
    for tier in TIERS {
        let scene = Scene::new(tier);
        let buffer = scene.buffer(1);
        scene.bump(&scene.neighbour, &buffer, 1).unwrap();
        scene.open();
        scene.bump(&scene.owner, &buffer, 2).unwrap();
        let before = scene.calls();
        for stream in [&scene.owner, &scene.neighbour] {
            assert_eq!(rule(&stream.begin_capture().unwrap_err()), &GraphRule::AlreadyRecording);
            assert_eq!(rule(&stream.graph_prepare().unwrap_err()), &GraphRule::AlreadyRecording);
        }
        assert_eq!(rule(&scene.neighbour.graph_abort().unwrap_err()), &GraphRule::NotOwner);
        assert_eq!(rule(&scene.foreign.end_capture().unwrap_err()), &GraphRule::NothingRecording);
        assert_eq!(scene.calls(), before, "{:?}", &scene.probe.trace()[before..]);
        scene.owner.end_capture().unwrap().replay().unwrap();
        scene.holds(&buffer, 4);
        scene.close(buffer);
    }
}

/// XC-12 (C-66), D13: whichever call of the opening fails, before or after its effect, the slot is idle and unprimed, nothing is
/// tainted, and the next window works.
#[test]
fn an_opening_that_fails_leaves_the_slot_as_it_was() {
    let refused = Failure::REFUSED;
    let cases = [
        ("capture_begin", Then::Before(refused)),
        ("capture_begin", Then::After(refused)),
        ("event_record", Then::Before(refused)),
        ("event_record", Then::After(refused)),
        ("event_create", Then::Before(Failure::OUT_OF_MEMORY)),
    ];
    for (call, then) in cases {
        let scene = Scene::new(Tier::Captured);
        let buffer = scene.buffer(1);
        // Work in flight, which the opening marks; and memory that the warmup leaves primed.
        scene.owner.graph_prepare().unwrap();
        scene.bump(&scene.owner, &buffer, 1).unwrap();
        drop({
            let _pin = scene.owner.id().pin();
            scene.device.alloc(256).unwrap()
        });
        scene.fail(call, 0, then);
        let error = scene.owner.begin_capture().unwrap_err();
        assert!(matches!(&error, ServerError::Driver(error) if error.call == call), "{call} {then:?}: {error:?}");
        assert!(!scene.owner.capture_status().active);
        assert_eq!(rule(&scene.owner.end_capture().unwrap_err()), &GraphRule::NothingRecording);
        scene.bump(&scene.owner, &buffer, 1).unwrap();
        scene.holds(&buffer, 3);
        scene.records_again();
        scene.close(buffer);
    }
}

/// The same where the slot's stream cannot be made.
#[test]
fn a_window_on_a_stream_that_cannot_be_made_leaves_the_slot_as_it_was() {
    let scene = Scene::new(Tier::Captured);
    scene.fail("stream_create", 0, Then::Before(Failure::OUT_OF_MEMORY));
    scene.owner.graph_prepare().unwrap();
    let error = scene.owner.begin_capture().unwrap_err();
    assert!(matches!(&error, ServerError::Driver(error) if error.call == "stream_create"), "{error:?}");
    scene.records_again();
    scene.close(());
}

/// XC-13 (C-71), D13: whichever call of the sealing fails, the slot is idle, what the window would have written answers that
/// call's failure, what it only reads is spared, and the next window works.
#[test]
fn a_sealing_that_fails_taints_the_claims_and_frees_the_slot() {
    let (refused, memory) = (Failure::REFUSED, Failure::OUT_OF_MEMORY);
    let cases = [
        (Tier::Captured, "capture_end", Then::Before(refused)),
        (Tier::Captured, "capture_end", Then::After(refused)),
        (Tier::Captured, "graph_nodes", Then::Before(refused)),
        (Tier::Captured, "graph_instantiate", Then::Before(memory)),
        (Tier::Captured, "graph_instantiate", Then::After(refused)),
        (Tier::Built, "graph_create", Then::Before(memory)),
        (Tier::Built, "graph_add_launch", Then::After(refused)),
        (Tier::Built, "graph_add_copy", Then::Before(refused)),
        (Tier::Built, "graph_instantiate", Then::Before(refused)),
    ];
    for (tier, call, then) in cases {
        let scene = Scene::new(tier);
        let (read, copied, bumped) = (scene.buffer(1), scene.buffer(2), scene.buffer(3));
        scene.open();
        scene.owner.copy(&read, &copied).unwrap();
        scene.bump(&scene.owner, &bumped, 4).unwrap();
        scene.fail(call, 0, then);
        let error = scene.owner.end_capture().unwrap_err();
        assert!(error.to_string().contains(call), "{call} {then:?}: {error}");
        for output in [&copied, &bumped] {
            let tainted = output.read::<u32>().unwrap_err();
            assert!(matches!(tainted, ServerError::Tainted { .. }), "{call} {then:?}: {tainted:?}");
            assert!(tainted.to_string().contains(&error.to_string()), "{tainted} tells nothing of {error}");
        }
        scene.holds(&read, 1);
        scene.neighbour.fill(&copied, 9).unwrap();
        scene.holds(&copied, 9);
        assert!(bumped.read::<u32>().is_err(), "C-79: the other one is as it was");
        scene.records_again();
        scene.close((read, copied, bumped));
    }
}

/// XC-14 (C-56): whatever a neighbour waits for in a window, the host asks the device for nothing before the window's end;
/// then each wait is answered and the capture is whole.
#[test]
fn no_event_is_asked_about_while_a_window_waits() {
    let scene = Scene::new(Tier::Captured);
    let (worked, theirs) = (scene.buffer(1), scene.buffer(2));
    scene.bump(&scene.neighbour, &theirs, 10).unwrap();
    scene.open();
    let opened = scene.calls();
    scene.bump(&scene.owner, &worked, 1).unwrap();
    let waits = [
        thread::spawn({
            let (stream, theirs) = (scene.neighbour.clone(), theirs.clone());
            move || stream.read::<u32>(&theirs).map(|words| words[0])
        }),
        thread::spawn({
            let stream = scene.neighbour.clone();
            move || stream.sync().map(|()| 0)
        }),
    ];
    let mut pending = scene.neighbour.read_async::<u32>(&theirs).unwrap();
    assert!(!pending.is_ready());
    assert!(matches!(pending.wait_for(Duration::from_millis(20)), Err(ServerError::GraphState(_))), "its own window");
    scene.probe.run_all();
    thread::sleep(Duration::from_millis(20));
    assert!(waits.iter().all(|wait| !wait.is_finished()), "they wait for the window");
    assert_eq!(scene.called(opened, &["event_query"]), [""; 0]);
    scene.bump(&scene.owner, &worked, 1).unwrap();
    let graph = scene.owner.end_capture().unwrap();
    let answers = waits.map(|wait| {
        while !wait.is_finished() {
            scene.probe.run_all();
        }
        wait.join().unwrap().unwrap()
    });
    assert_eq!(answers, [12, 0]);
    assert_eq!(pending.wait_for(PATIENCE).unwrap(), [12; WORDS]);
    graph.replay().unwrap();
    scene.holds(&worked, 3);
    scene.close((worked, theirs, graph, pending));
}

/// XC-26 (C-69, C-70, C-96): after a warmup of the same work no memory is asked for in the window, and as little where the
/// warmup's work is still in flight: what it freed is there for the recording, which comes after it on the device.
#[test]
fn a_window_finds_what_its_warmup_left_done_or_not() {
    for tier in TIERS {
        for done in [true, false] {
            let scene = Scene::new(tier);
            let (input, output) = (scene.buffer(1), scene.buffer(0));
            let work = || {
                let _pin = scene.owner.id().pin();
                for bytes in [256, 4096, 100 << 10] {
                    let between = scene.device.alloc(bytes).unwrap().slice(0..256).unwrap();
                    scene.owner.copy(&input, &between).unwrap();
                    scene.bump(&scene.owner, &between, 5).unwrap();
                    scene.owner.copy(&between, &output).unwrap();
                }
            };
            scene.owner.graph_prepare().unwrap();
            work();
            if done {
                scene.probe.run_all();
            }
            scene.owner.begin_capture().unwrap();
            let begun = scene.calls();
            work();
            let memory = scene.called(begun, &["mem_alloc", "mem_free", "pinned_alloc", "pinned_free"]);
            assert_eq!(memory, [""; 0], "{tier:?}, warmup done: {done}");
            let graph = scene.owner.end_capture().unwrap();
            scene.owner.fill(&input, 30).unwrap();
            graph.replay().unwrap();
            scene.holds(&output, 35);
            scene.close((input, output, graph));
        }
    }
}

/// C-98: whatever other streams do with a window's buffers, and it with theirs, nothing waits into the capture or out of it;
/// the graph and the eager work are ordered all the same.
#[test]
fn no_stream_is_joined_to_a_capture() {
    for seed in 0..20 {
        let scene = Scene::with(Tier::Captured, SimOptions::seeded(seed));
        let (shared, theirs) =
            (scene.device.upload(&[1u32; WORDS]).unwrap(), scene.device.upload(&[2u32; WORDS]).unwrap());
        // In flight elsewhere as the window opens.
        scene.bump(&scene.foreign, &shared, 10).unwrap();
        scene.bump(&scene.neighbour, &theirs, 20).unwrap();
        scene.open();
        let opened = scene.calls();
        let begun = scene.called(0, &["capture_begin"]).pop().unwrap();
        let capturing = begun.split(' ').nth(1).unwrap().to_owned();
        scene.bump(&scene.owner, &shared, 100).unwrap();
        scene.bump(&scene.foreign, &shared, 1_000).unwrap();
        scene.bump(&scene.neighbour, &theirs, 40).unwrap();
        scene.owner.copy(&theirs, &shared).unwrap();
        scene.foreign.copy(&theirs, &shared).unwrap();
        scene.bump(&scene.neighbour, &shared, 5).unwrap();
        let crossing = |line: &String| line.split(' ').any(|word| word == capturing);
        let edges: Vec<String> = scene.called(opened, &["stream_wait_event", "event_record"]);
        assert!(!edges.iter().any(crossing), "{edges:?} with {capturing} capturing");
        assert!(edges.len() >= 2, "the others are ordered among themselves: {edges:?}");
        let graph = scene.owner.end_capture().unwrap();
        assert_eq!(graph.report().nodes, 2);
        assert_eq!(shared.read::<u32>().unwrap(), [67; WORDS]);
        scene.bump(&scene.foreign, &theirs, 1).unwrap();
        graph.replay_on_stream(&scene.neighbour).unwrap();
        scene.bump(&scene.foreign, &shared, 3).unwrap();
        assert_eq!(shared.read::<u32>().unwrap(), [66; WORDS]);
        scene.close((shared, theirs, graph));
    }
}

/// C-96: the pool grows in a window, outside of the capture; the graph holds what it got, through drops and trims. An
/// allocation that fails dooms the window with its size, and the slot records again.
#[test]
fn a_pool_that_grows_in_a_window() {
    for tier in TIERS {
        let scene = Scene::new(tier);
        let output = scene.buffer(0);
        scene.open();
        let begun = scene.calls();
        let _pin = scene.owner.id().pin();
        let between = scene.device.alloc(300 << 10).unwrap();
        assert_eq!(scene.called(begun, &["mem_alloc"]).len(), 1, "the pool has nothing of that size");
        let part = between.slice(0..256).unwrap();
        scene.owner.fill(&part, 6).unwrap();
        scene.owner.copy(&part, &output).unwrap();
        drop((between, part));
        let graph = scene.owner.end_capture().unwrap();
        assert_eq!(graph.report().nodes, 2, "memory is no node");
        assert!(graph.report().pinned_bytes >= 300 << 10);
        scene.device.trim();
        let other = scene.device.alloc(300 << 10).unwrap();
        scene.owner.fill(&other, 0xbad).unwrap();
        graph.replay().unwrap();
        scene.holds(&output, 6);

        scene.open();
        scene.owner.fill(&output, 7).unwrap();
        // Once more after what is free was given back.
        let [first, again] = [0, 1].map(|nth| When::Nth { call: "mem_alloc", nth });
        let refuse = Then::Before(Failure::OUT_OF_MEMORY);
        scene.probe.arm(FaultPlan::one(first, refuse).and(again, refuse));
        let refused = scene.device.alloc(900 << 10).unwrap_err();
        assert!(matches!(refused, ServerError::OutOfMemory(_)), "{refused:?}");
        let ended = scene.owner.end_capture().unwrap_err();
        assert_eq!(ended.to_string(), refused.to_string(), "the window ends with what doomed it");
        scene.neighbour.fill(&output, 8).unwrap();
        scene.records_again();
        drop((graph, other));
        scene.close(output);
    }
}

/// How a window is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Owned,
    Abandoned,
    Doomed,
    DriverFailure,
    Aborted,
    StreamDropped,
    Lost,
}

impl Way {
    fn close(self, scene: &Scene, owner: Stream) -> Option<Result<Graph>> {
        match self {
            Self::Owned => return Some(owner.end_capture()),
            Self::Abandoned => drop(scene.neighbour.end_capture().unwrap_err()),
            Self::Doomed => {
                owner.launch(&scene.bump, Grid::groups(1), ()).unwrap_err();
                owner.end_capture().unwrap_err();
            }
            Self::DriverFailure => {
                scene.fail("capture_end", 0, Then::Before(Failure::REFUSED));
                owner.end_capture().unwrap_err();
            }
            Self::Aborted => owner.graph_abort().unwrap(),
            Self::StreamDropped => drop(owner),
            Self::Lost => {
                scene.probe.lose("the test took it away");
                assert!(owner.end_capture().unwrap_err().is_device_lost());
            }
        }
        None
    }
}

/// C-61: what a window put off is answered when it closes, however it closes, each with its own outcome and in the order
/// in which it was asked for.
#[test]
fn deferred_waits_are_answered_in_order_however_the_window_closes() {
    let ways =
        [Way::Owned, Way::Abandoned, Way::Doomed, Way::DriverFailure, Way::Aborted, Way::StreamDropped, Way::Lost];
    for way in ways {
        let scene = Scene::new(Tier::Captured);
        let (worked, first, second) = (scene.buffer(1), scene.buffer(2), scene.buffer(3));
        let never = scene.device.alloc(256).unwrap();
        scene.bump(&scene.neighbour, &first, 10).unwrap();
        scene.bump(&scene.neighbour, &second, 20).unwrap();
        let owner = scene.device.stream_of(StreamId { value: (1 << 40) + 4 });
        owner.graph_prepare().unwrap();
        owner.begin_capture().unwrap();
        scene.bump(&owner, &worked, 1).unwrap();
        let mut reads = [
            scene.neighbour.read_async::<u32>(&first).unwrap(),
            scene.neighbour.read_async::<u32>(&second).unwrap(),
            scene.neighbour.read_async::<u32>(&first).unwrap(),
        ];
        let sync = scene.neighbour.sync_async().unwrap();
        assert!(matches!(scene.neighbour.read_async::<u32>(&never).err(), Some(ServerError::Unwritten { .. })));
        scene.probe.run_all();
        assert!(reads.iter().all(|read| !read.is_ready()) && !sync.is_ready(), "{way:?}: they wait for the window");
        let sealed = way.close(&scene, owner);
        if way == Way::Lost {
            for read in reads {
                assert!(read.wait().unwrap_err().is_device_lost());
            }
            assert!(sync.wait().unwrap_err().is_device_lost());
            scene.close((worked, first, second, never));
            continue;
        }
        assert!(reads.iter().all(graphreel::device::Pending::is_ready) && sync.is_ready(), "{way:?}: all at its close");
        let words: Vec<u32> = reads.iter_mut().map(|read| read.wait_for(PATIENCE).unwrap()[0]).collect();
        assert_eq!(words, [12, 23, 12], "{way:?}");
        sync.wait().unwrap();
        let copies: Vec<String> = scene.probe.ran().into_iter().filter(|line| line.contains("copy p")).collect();
        let asked = scene.called(0, &["copy_to_host"]);
        assert_eq!(copies.len(), 3, "{copies:?}");
        for (ran, asked) in copies.iter().zip(&asked) {
            let destination = asked.split(' ').nth(1).unwrap();
            assert!(ran.contains(destination), "{way:?}: {copies:?} ran for {asked:?}");
        }
        match sealed {
            Some(graph) => drop(graph.unwrap()),
            None => drop(worked.read::<u32>().unwrap_err()),
        }
        scene.records_again();
        scene.close((worked, first, second, never, reads));
    }
}

/// C-74: a device that is dropped with windows open, prepared and recording, ends the driver's captures, leaves nothing
/// alive, and keeps nobody waiting.
#[test]
fn a_device_dropped_with_windows_open() {
    for tier in TIERS {
        let scene = Scene::new(tier);
        let (worked, theirs) = (scene.buffer(1), scene.buffer(2));
        scene.bump(&scene.neighbour, &theirs, 1).unwrap();
        scene.open();
        scene.bump(&scene.owner, &worked, 1).unwrap();
        scene.owner.write(&worked, &[5u32; WORDS]).unwrap();
        scene.foreign.graph_prepare().unwrap();
        let opened = scene.calls();
        let probe = scene.probe.clone();
        let deferred = scene.neighbour.read_async::<u32>(&theirs).unwrap();
        assert!(!deferred.is_ready());
        drop((worked, theirs, deferred));
        drop(scene);
        closes(&probe);
        let ends = probe.trace()[opened..].iter().filter(|line| line.starts_with("capture_end")).count();
        assert_eq!(ends, usize::from(tier == Tier::Captured), "{tier:?}");
    }
}

/// C-74: a device that is lost with a window open answers so to everybody, and gives everything back.
#[test]
fn a_device_lost_with_windows_open() {
    for tier in TIERS {
        let scene = Scene::new(tier);
        let (worked, theirs) = (scene.buffer(1), scene.buffer(2));
        scene.open();
        scene.bump(&scene.owner, &worked, 1).unwrap();
        scene.foreign.graph_prepare().unwrap();
        // Found out by a neighbour's call.
        scene.probe.lose("the test took it away");
        assert!(scene.bump(&scene.neighbour, &theirs, 1).unwrap_err().is_device_lost());
        for answer in [
            scene.owner.end_capture().map(drop),
            scene.owner.graph_prepare(),
            scene.foreign.begin_capture(),
            worked.read::<u32>().map(drop),
            theirs.read::<u32>().map(drop),
        ] {
            assert!(answer.unwrap_err().is_device_lost());
        }
        assert!(!scene.owner.capture_status().active && !scene.foreign.capture_status().active);
        drop((worked, theirs));
        scene.close(());
    }
}
