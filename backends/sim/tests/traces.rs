//! What the driver is asked for, call by call, in the situations where the order of calls is the point. Each is told twice
//! and has to come out the same.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::cell::{Cell, RefCell};
use std::thread;

use expect_test::{Expect, expect};
use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Grid, Kernel, ServerError, Stream, StreamId};
use graphreel_sim::{Failure, FaultPlan, Probe, SimOptions, Then, When};

const BUMP: &str = "
    var<immediate> by: u32;
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64) fn bump(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += by; }";

const ADD: &str = "
    @group(0) @binding(0) var<storage> a: array<u32>;
    @group(0) @binding(1) var<storage> b: array<u32>;
    @group(0) @binding(2) var<storage, read_write> c: array<u32>;
    @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) { c[id.x] = a[id.x] + b[id.x]; }";

/// A device whose work runs when the test says so, with its calls so far under headings.
struct Stage {
    device: Device,
    probe: Probe,
    bump: Kernel,
    add: Kernel,
    told: RefCell<String>,
    seen: Cell<usize>,
}

impl Stage {
    fn new(tier: Tier, options: SimOptions) -> Self {
        let config = Config { max_streams: 2, tiers: vec![tier], ..Config::default() };
        let server = graphreel_sim::open(options, config.clone()).unwrap();
        let probe = server.driver().probe();
        let device = Device::new(Box::new(server), config);
        let (bump, add) = (device.kernel(BUMP).unwrap(), device.kernel(ADD).unwrap());
        Self { device, probe, bump, add, told: RefCell::default(), seen: Cell::new(0) }
    }

    /// The calls since the last heading belong to this one.
    fn calls(&self, heading: &str) {
        let trace = self.probe.trace();
        let mut told = self.told.borrow_mut();
        told.push_str(&format!("{heading}:\n"));
        for line in &trace[self.seen.replace(trace.len())..] {
            told.push_str(&format!("  {line}\n"));
        }
    }

    /// Leave the calls since the last heading out.
    fn skip(&self) {
        self.seen.set(self.probe.trace().len());
    }

    /// Streams 0 and 2 fold on one slot.
    fn stream(&self, number: u64) -> Stream {
        self.device.stream_of(StreamId { value: (1 << 40) + number })
    }

    /// A buffer of 64 words whose writing is done.
    fn buffer(&self, word: u32) -> Buffer {
        let buffer = self.device.upload(&[word; 64]).unwrap();
        self.probe.run_all();
        buffer
    }

    fn words(&self, buffer: &Buffer) -> Vec<u32> {
        let read = buffer.read_async::<u32>().unwrap();
        self.probe.run_all();
        read.wait().unwrap()
    }

    fn holds(&self, buffer: &Buffer, word: u32) {
        assert_eq!(self.words(buffer), [word; 64]);
    }
}

/// Tell the story twice, and hold it against what is expected.
fn told(tier: Tier, story: fn(&Stage), expected: &Expect) {
    told_by(tier, &SimOptions::manual(), story, expected);
}

/// The same on a driver of these options.
fn told_by(tier: Tier, options: &SimOptions, story: fn(&Stage), expected: &Expect) {
    let tell = || {
        let _pinned = StreamId { value: (1 << 40) + 1 }.pin();
        let stage = Stage::new(tier, options.clone());
        story(&stage);
        let (told, probe) = (stage.told.take(), stage.probe.clone());
        drop(stage);
        probe.run_all();
        while probe.names().last() != Some(&"close") {
            thread::yield_now();
        }
        probe.check().unwrap();
        told
    };
    let first = tell();
    assert_eq!(first, tell(), "the same calls make the same trace");
    expected.assert_eq(&first);
}

/// The recorded work has nodes and no run; a replay is one launch of the executable and the event that tells of its end.
#[test]
fn a_capture_and_two_replays() {
    told(
        Tier::Captured,
        |stage| {
            let (a, b) = (stage.buffer(1), stage.buffer(2));
            stage.skip();
            let captured = stage.device.capture(|c| {
                c.launch(&stage.bump, Grid::groups(1), (&a, 3u32))?;
                c.copy(&a, &b)?;
                c.upload(&a, &[7u32; 64])
            });
            let (graph, ()) = captured.unwrap();
            stage.calls("capture");
            let first = graph.replay().unwrap();
            stage.calls("replay");
            let second = graph.replay().unwrap();
            stage.calls("again");
            stage.probe.run_all();
            first.wait().unwrap();
            second.wait().unwrap();
            stage.calls("wait");
            stage.holds(&b, 10);
        },
        &expect![[r#"
            capture:
              stream_create -> s3
              capture_begin s3
              launch c1 bump 1x1x1 s3
              copy_on_device m1+256 <- m1+0 x256 s3
              pinned_alloc 4096 -> p2+0
              copy_to_device m1+0 <- p2+0 x256 s3
              capture_end s3 -> g1
              graph_nodes g1
              graph_instantiate g1 -> x1
              exec_upload x1 s3
              graph_destroy g1
            replay:
              event_create -> e2
              event_record e2 s3
              stream_wait_event s2 e2
              exec_launch x1 s2
              event_create -> e3
              event_record e3 s2
            again:
              exec_launch x1 s2
              event_create -> e4
              event_record e4 s2
            wait:
              event_query e3 -> true
              event_query e4 -> true
        "#]],
    );
}

/// XC-14: between the window's opening and its end no event is asked about; the neighbour's sync runs right after it.
#[test]
fn a_neighbours_sync_in_a_window() {
    told(
        Tier::Captured,
        |stage| {
            let (owner, neighbour) = (stage.stream(0), stage.stream(2));
            let (a, b) = (stage.buffer(1), stage.buffer(2));
            neighbour.fill(&b, 5).unwrap();
            stage.skip();
            owner.graph_prepare().unwrap();
            owner.begin_capture().unwrap();
            stage.calls("begin");
            owner.launch(&stage.bump, Grid::groups(1), (&a, 3u32)).unwrap();
            let (asked, asks) = std::sync::mpsc::channel();
            let graph = thread::scope(|scope| {
                let waits = scope.spawn(move || {
                    let pending = neighbour.sync_async().unwrap();
                    asked.send(pending.is_ready()).unwrap();
                    pending.wait().unwrap();
                });
                assert!(!asks.recv().unwrap(), "it waits for the window");
                stage.calls("launch and sync");
                stage.probe.run_all();
                let graph = owner.end_capture().unwrap();
                waits.join().unwrap();
                graph
            });
            stage.calls("end, and the sync's answer");
            graph.replay().unwrap();
            stage.holds(&a, 4);
        },
        &expect![[r#"
            begin:
              event_create -> e3
              event_record e3 s3
              capture_begin s3
            launch and sync:
              launch c1 bump 1x1x1 s3
            end, and the sync's answer:
              capture_end s3 -> g1
              graph_nodes g1
              graph_instantiate g1 -> x1
              exec_upload x1 s3
              graph_destroy g1
              event_query e3 -> true
        "#]],
    );
}

/// XC-21: the driver's capture is ended by the thread that abandons the window, and what it recorded is destroyed.
#[test]
fn a_window_abandoned_from_another_thread() {
    told(
        Tier::Captured,
        |stage| {
            let (owner, other) = (stage.stream(0), stage.stream(2));
            let a = stage.buffer(1);
            stage.skip();
            owner.graph_prepare().unwrap();
            owner.begin_capture().unwrap();
            owner.launch(&stage.bump, Grid::groups(1), (&a, 3u32)).unwrap();
            stage.calls("window");
            let ended = thread::scope(|scope| scope.spawn(|| other.end_capture()).join().unwrap());
            assert!(matches!(ended, Err(ServerError::Several { .. })));
            stage.calls("end");
            owner.fill(&a, 9).unwrap();
            stage.calls("fill");
            stage.holds(&a, 9);
        },
        &expect![[r#"
            window:
              stream_create -> s3
              capture_begin s3
              launch c1 bump 1x1x1 s3
            end:
              capture_end s3 -> g1
              graph_destroy g1
            fill:
              event_create -> e2
              event_record e2 s2
              stream_wait_event s3 e2
              fill m1+0 = 0x9 x64 s3
        "#]],
    );
}

/// A window that lacks an operation is closed at the driver, and its graph is never made ready.
#[test]
fn a_doomed_window() {
    told(
        Tier::Captured,
        |stage| {
            let owner = stage.stream(0);
            let a = stage.buffer(1);
            stage.skip();
            owner.graph_prepare().unwrap();
            owner.begin_capture().unwrap();
            stage.calls("begin");
            owner.launch(&stage.bump, Grid::groups(1), (&a, 3u32)).unwrap();
            owner.launch(&stage.bump, Grid::groups(1), (&a,)).unwrap_err();
            owner.fill(&a, 8).unwrap();
            stage.calls("a launch, one that lacks an argument, and a fill");
            owner.end_capture().unwrap_err();
            stage.calls("end");
            assert!(matches!(a.read::<u32>(), Err(ServerError::Tainted { .. })));
        },
        &expect![[r#"
            begin:
              stream_create -> s3
              capture_begin s3
            a launch, one that lacks an argument, and a fill:
              launch c1 bump 1x1x1 s3
              fill m1+0 = 0x8 x64 s3
            end:
              capture_end s3 -> g1
              graph_destroy g1
        "#]],
    );
}

/// XC-13: what was captured is destroyed where it cannot be made ready, and the slot records again.
#[test]
fn a_graph_that_cannot_be_made_ready() {
    told(
        Tier::Captured,
        |stage| {
            let owner = stage.stream(0);
            let a = stage.buffer(1);
            stage.skip();
            for attempt in ["refused", "made"] {
                if attempt == "refused" {
                    let first = When::Nth { call: "graph_instantiate", nth: 0 };
                    stage.probe.arm(FaultPlan::one(first, Then::Before(Failure::REFUSED)));
                }
                owner.graph_prepare().unwrap();
                owner.begin_capture().unwrap();
                owner.fill(&a, 8).unwrap();
                assert_eq!(owner.end_capture().is_err(), attempt == "refused");
                stage.calls(attempt);
            }
        },
        &expect![[r#"
            refused:
              stream_create -> s3
              capture_begin s3
              fill m1+0 = 0x8 x64 s3
              capture_end s3 -> g1
              graph_nodes g1
              graph_instantiate g1 ! injected fault
              graph_destroy g1
            made:
              capture_begin s3
              fill m1+0 = 0x8 x64 s3
              capture_end s3 -> g2
              graph_nodes g2
              graph_instantiate g2 -> x1
              exec_upload x1 s3
              graph_destroy g2
              event_create -> e2
              event_record e2 s3
              event_query e2 -> false
        "#]],
    );
}

/// A diamond has the edges of a diamond: the middle two depend on the first, the last on both of them.
#[test]
fn a_diamond_on_the_built_tier() {
    told(
        Tier::Built,
        |stage| {
            let (a, b, c, d) = (stage.buffer(1), stage.buffer(2), stage.buffer(3), stage.buffer(4));
            stage.skip();
            let captured = stage.device.capture(|capture| {
                capture.launch(&stage.bump, Grid::groups(1), (&a, 1u32))?;
                capture.copy(&a, &b)?;
                capture.launch(&stage.add, Grid::groups(1), (&a, &a, &c))?;
                capture.launch(&stage.add, Grid::groups(1), (&b, &c, &d))
            });
            let (graph, ()) = captured.unwrap();
            stage.calls("capture");
            graph.replay().unwrap();
            stage.calls("replay");
            stage.holds(&d, 6);
        },
        &expect![[r#"
            capture:
              graph_create -> g1
              graph_add_launch g1 after [] c1 bump 1x1x1 -> g1.0
              graph_add_copy g1 after [g1.0] m1+256 <- m1+0 x256 -> g1.1
              graph_add_launch g1 after [g1.0] c2 add 1x1x1 -> g1.2
              graph_add_launch g1 after [g1.1 g1.2] c2 add 1x1x1 -> g1.3
              graph_instantiate g1 -> x1
              stream_create -> s3
              exec_upload x1 s3
              graph_destroy g1
            replay:
              event_create -> e2
              event_record e2 s3
              stream_wait_event s2 e2
              exec_launch x1 s2
              event_create -> e3
              event_record e3 s2
        "#]],
    );
}

/// A driver that takes no branches side by side gets the nodes one after the other.
#[test]
fn independent_work_on_a_driver_of_one_branch() {
    told_by(
        Tier::Built,
        &SimOptions { branches_max: 1, ..SimOptions::manual() },
        |stage| {
            let (a, b, c) = (stage.buffer(1), stage.buffer(2), stage.buffer(3));
            stage.skip();
            let captured = stage.device.capture(|capture| {
                capture.launch(&stage.bump, Grid::groups(1), (&a, 1u32))?;
                capture.launch(&stage.bump, Grid::groups(1), (&b, 1u32))?;
                capture.launch(&stage.bump, Grid::groups(1), (&c, 1u32))
            });
            let (graph, ()) = captured.unwrap();
            stage.calls("capture");
            graph.replay().unwrap();
            stage.holds(&c, 4);
        },
        &expect![[r#"
            capture:
              graph_create -> g1
              graph_add_launch g1 after [] c1 bump 1x1x1 -> g1.0
              graph_add_launch g1 after [g1.0] c1 bump 1x1x1 -> g1.1
              graph_add_launch g1 after [g1.1] c1 bump 1x1x1 -> g1.2
              graph_instantiate g1 -> x1
              stream_create -> s3
              exec_upload x1 s3
              graph_destroy g1
        "#]],
    );
}

fn updated(stage: &Stage) {
    let (a, b) = (stage.buffer(1), stage.buffer(2));
    let captured = stage.device.capture(|c| {
        let by = c.param("by", 3u32);
        c.launch(&stage.bump, Grid::groups(1), (&a, &by))?;
        c.launch(&stage.bump, Grid::groups(1), (&b, 1u32))
    });
    let (graph, ()) = captured.unwrap();
    graph.replay().unwrap();
    stage.skip();
    graph.update(|update| update.set("by", 30u32)).unwrap();
    stage.calls("update");
    graph.replay().unwrap();
    stage.calls("replay");
    stage.holds(&a, 34);
    stage.holds(&b, 4);
}

/// A changed scalar is one call for its one node, with a replay in flight that keeps the old value.
#[test]
fn a_scalar_changed_in_a_captured_graph() {
    told(
        Tier::Captured,
        updated,
        &expect![[r#"
        update:
          exec_set_launch x1 g1.0 c1 bump 1x1x1
        replay:
          exec_launch x1 s2
          event_create -> e4
          event_record e4 s2
    "#]],
    );
}

#[test]
fn a_scalar_changed_in_a_built_graph() {
    told(
        Tier::Built,
        updated,
        &expect![[r#"
        update:
          exec_set_launch x1 g1.0 c1 bump 1x1x1
        replay:
          exec_launch x1 s2
          event_create -> e4
          event_record e4 s2
    "#]],
    );
}

/// What a graph's launch uses is destroyed once that is done, executable first.
#[test]
fn a_graph_dropped_in_flight() {
    told(
        Tier::Captured,
        |stage| {
            let a = stage.buffer(1);
            let captured = stage.device.capture(|c| {
                c.upload(&a, &[7u32; 64])?;
                c.launch(&stage.bump, Grid::groups(1), (&a, 3u32))
            });
            let (graph, ()) = captured.unwrap();
            graph.replay().unwrap();
            stage.skip();
            drop(graph);
            stage.calls("drop");
            stage.device.memory_usage();
            stage.calls("looked at in flight");
            stage.probe.run_all();
            stage.device.memory_usage();
            stage.calls("looked at when it is done");
            stage.holds(&a, 10);
        },
        &expect![[r#"
            drop:
              event_query e3 -> false
            looked at in flight:
              event_query e3 -> false
            looked at when it is done:
              event_query e3 -> true
              exec_destroy x1
              pinned_free p2+0
        "#]],
    );
}
