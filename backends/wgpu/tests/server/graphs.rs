//! Windows, seals and replays.

use graphreel::error::GraphRule;
use graphreel::op::{LaunchIndirect, Op};
use graphreel::recording::{CapturePolicy, Tier};
use graphreel::server::{CaptureOptions, WaitMode};
use graphreel::{Server, ServerError};
use graphreel_wgpu::Options;

use crate::rig::{NEIGHBOUR, OWNER, SAXPY, launch, options, rig, rig_with, saxpy, write};

#[test]
fn a_replay_follows_its_inputs_and_equals_eager_work() {
    // XC-22, with more nodes than one submit takes.
    let Some(mut rig) = rig_with(options(|config| config.submit_nodes = Some(64))) else { return };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&[1.0f32; 32]);
    let y = rig.upload(&[0.0f32; 32]);
    let graph = rig.capture(|rig| (0..200).for_each(|_| rig.run(saxpy(&kernel, &x, &y, 0.5)))).expect("a graph");
    assert_eq!((graph.report.tier, graph.report.nodes, graph.report.submits), (Tier::ReEncoded, 200, 4));
    assert_eq!(graph.report.critical_path, 200);
    assert_eq!(rig.read::<f32>(&y), [0.0; 32], "a capture runs nothing");
    rig.replay(&graph).expect("a replay");
    assert_eq!(rig.read::<f32>(&y), [100.0; 32]);
    rig.write(&x, &[2.0f32; 32]);
    rig.write(&y, &[1.0f32; 32]);
    rig.replay(&graph).expect("a replay");
    assert_eq!(rig.read::<f32>(&y), [201.0; 32]);
    assert_eq!(rig.server.counters().replayed_nodes, 400);
    rig.server.graph_destroy(graph.id);
    let gone = rig.server.replay(OWNER, graph.id, false).expect_err("it was destroyed");
    assert!(matches!(gone.graph_rule(), Some(GraphRule::UnknownGraph { .. })));
}

#[test]
fn every_kind_of_node_replays() {
    for without_immediates in [false, true] {
        let Some(mut rig) = rig_with(Options { without_immediates, ..Options::default() }) else { return };
        let kernel = rig.kernel(SAXPY);
        let count = rig.kernel(
            "@group(0) @binding(0) var<storage, read_write> total: array<atomic<u32>>;
            @compute @workgroup_size(1) fn count() { atomicAdd(&total[0], 1u); }",
        );
        let (x, y, z) = (rig.alloc(256), rig.alloc(256), rig.alloc(512));
        let total = rig.upload(&[0u32; 1]);
        let counts = rig.upload(&[7u32, 2, 3, 1]);
        let graph = rig
            .capture(|rig| {
                rig.run(Op::Upload { dst: x.binding().into(), bytes: bytemuck::cast_slice(&[3.0f32; 64]).into() });
                rig.run(Op::Fill { dst: y.binding().into(), word: 1.0f32.to_bits() });
                rig.run(Op::Fill { dst: z.binding().into(), word: 0 });
                rig.run(saxpy(&kernel, &x, &y, 2.0));
                let half = |from| z.binding().slice(from..from + 256).expect("half of 512");
                rig.run(Op::Copy { src: y.binding().into(), dst: half(0).into() });
                rig.run(Op::Copy { src: half(0).into(), dst: half(256).into() });
                let mut launch = launch(&count, 1, &[&total], &[]);
                launch.grid = graphreel::op::GridArg::Fixed([8, 8, 8]);
                let counts = counts.binding().slice(4..16).expect("three words").into();
                rig.run(Op::LaunchIndirect(LaunchIndirect { launch, counts }));
            })
            .expect("a graph");
        assert!(matches!(rig.try_read::<f32>(&z.binding()), Err(ServerError::Unwritten { .. })));
        for round in 1..=3 {
            rig.replay(&graph).expect("a replay");
            assert_eq!(rig.read::<f32>(&z), [7.0; 128]);
            assert_eq!(rig.read::<u32>(&total), [6 * round]);
        }
    }
}

#[test]
fn a_timed_replay_answers_for_each_node() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&[1.0f32; 32]);
    let y = rig.upload(&[0.0f32; 32]);
    let graph = rig.capture(|rig| (0..70).for_each(|_| rig.run(saxpy(&kernel, &x, &y, 1.0)))).expect("a graph");
    let ticket = rig.server.replay(OWNER, graph.id, true).expect("a replay");
    let report = rig.finish(ticket).expect("times");
    assert_eq!(report.nodes.len(), 70);
    let measured = report.nodes.iter().all(|time| time.nanoseconds.is_some());
    assert_eq!(measured, rig.server.caps().times_nodes);
    assert_eq!(rig.read::<f32>(&y), [70.0; 32]);
}

#[test]
fn a_window_refuses_and_admits_as_the_matrix_says() {
    // C-58, XC-15, XC-16.
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let (x, y) = (rig.upload(&[1.0f32; 4]), rig.upload(&[0.0f32; 4]));
    let (theirs, private) = (rig.upload(&[5.0f32; 4]), rig.upload(&[0.0f32; 4]));
    let refused = |error: ServerError| matches!(error.graph_rule(), Some(GraphRule::RefusedInWindow));
    let graph = rig.capture(|rig| {
        rig.run(saxpy(&kernel, &x, &y, 1.0));
        for stream in [OWNER, NEIGHBOUR] {
            let read = rig.server.read(stream, vec![x.binding()], WaitMode::Blocking).map(|_| ());
            assert!(refused(read.expect_err("a window records")));
            assert!(refused(rig.server.sync(stream, WaitMode::Blocking).map(|_| ()).expect_err("a window records")));
            assert!(refused(rig.server.profile(stream, Vec::new()).map(|_| ()).expect_err("a window records")));
        }
        rig.server.submit(NEIGHBOUR, saxpy(&kernel, &theirs, &private, 2.0)).expect("a neighbour's launch runs");
        let write = rig.server.submit(NEIGHBOUR, write(&theirs, &[9.0f32; 4]));
        assert!(refused(write.expect_err("a neighbour's write is refused")));
    });
    let graph = graph.expect("neighbours do not doom");
    assert_eq!(graph.report.nodes, 1);
    assert_eq!(rig.read::<f32>(&private), [10.0; 4]);
    assert!(matches!(rig.try_read::<f32>(&theirs.binding()), Err(ServerError::Tainted { .. })));
}

#[test]
fn an_owners_write_dooms_at_the_end() {
    // C-57, XC-17.
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let (x, y) = (rig.upload(&[1.0f32; 4]), rig.upload(&[0.0f32; 4]));
    let graph = rig.capture(|rig| {
        rig.run(saxpy(&kernel, &x, &y, 1.0));
        rig.write(&x, &[2.0f32; 4]);
    });
    let error = graph.expect_err("the write is missing in the recording");
    assert!(matches!(error.graph_rule(), Some(GraphRule::WriteInWindow { .. })), "{error}");
    for handle in [&x, &y] {
        assert!(matches!(rig.try_read::<f32>(&handle.binding()), Err(ServerError::Tainted { .. })));
    }
    rig.write(&x, &[2.0f32; 4]);
    assert_eq!(rig.read::<f32>(&x), [2.0; 4]);
    assert_eq!(rig.server.counters().captures_failed, 1);
}

#[test]
fn the_eager_tier_is_used_only_where_it_is_allowed() {
    let Some(mut rig) = rig_with(options(|config| config.tiers = vec![Tier::Eager])) else { return };
    let kernel = rig.kernel(SAXPY);
    let (x, y) = (rig.upload(&[1.0f32; 4]), rig.upload(&[0.0f32; 4]));
    let best = rig.server.graph_prepare(OWNER, CaptureOptions::default());
    assert!(matches!(best, Err(ServerError::TierRefused { .. })));
    let options = CaptureOptions { policy: CapturePolicy::AllowEager, label: None };
    rig.server.graph_prepare(OWNER, options).expect("the slot is free again");
    rig.server.begin_capture(OWNER).expect("prepared");
    rig.run(saxpy(&kernel, &x, &y, 4.0));
    let graph = rig.server.end_capture(OWNER).expect("a graph");
    assert_eq!(graph.report.tier, Tier::Eager);
    rig.replay(&graph).expect("a replay");
    rig.replay(&graph).expect("a replay");
    assert_eq!(rig.read::<f32>(&y), [8.0; 4]);
    assert_eq!(rig.server.counters().captures_eager, 1);
}

#[test]
fn calls_out_of_order_change_nothing() {
    // TC-14.
    let Some(mut rig) = rig() else { return };
    assert!(rig.server.begin_capture(OWNER).is_err());
    assert!(rig.server.end_capture(OWNER).is_err());
    rig.server.graph_prepare(OWNER, CaptureOptions::default()).expect("idle");
    assert!(rig.server.graph_prepare(NEIGHBOUR, CaptureOptions::default()).is_err());
    assert!(rig.server.begin_capture(NEIGHBOUR).is_err());
    assert!(rig.server.end_capture(OWNER).is_err());
    rig.server.begin_capture(OWNER).expect("prepared");
    let empty = rig.server.end_capture(OWNER).expect_err("nothing was recorded");
    assert!(matches!(empty.graph_rule(), Some(GraphRule::EmptyCapture)));
    assert!(!rig.server.capture_status(OWNER).active);
}

#[test]
fn a_hundred_captures_leave_the_pool_as_it_was() {
    // XC-31, XC-26.
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let x = rig.upload(&[1.0f32; 1024]);
    let mut reserved = Vec::new();
    for _ in 0..100 {
        let graph = rig.capture(|rig| {
            let y = rig.alloc(4096);
            rig.run(Op::Fill { dst: y.binding().into(), word: 0 });
            rig.run(saxpy(&kernel, &x, &y, 1.0));
        });
        let graph = graph.expect("a graph");
        assert!(graph.report.pinned_bytes >= 8192);
        rig.replay(&graph).expect("a replay");
        rig.server.graph_destroy(graph.id);
        reserved.push(rig.server.memory_usage().reserved_bytes);
    }
    assert_eq!(reserved[1], reserved[99]);
    let usage = rig.server.memory_usage();
    assert_eq!((usage.pinned_bytes, usage.primed_bytes), (0, 0));
}

#[test]
fn a_stream_that_was_returned_leaves_the_pooled_slot_alone() {
    let Some(mut rig) = rig() else { return };
    let options = graphreel::server::CaptureOptions::default;
    let first = rig.server.lease_stream().expect("a slot is free");
    rig.server.graph_prepare(first, options()).expect("nothing is on the slot");
    rig.server.return_stream(first);
    // Whoever kept the number opens a window where everybody folds, and the next lease finds its slot empty.
    rig.server.graph_prepare(first, options()).expect("the window was dropped with the lease");
    let second = rig.server.lease_stream().expect("a slot is free");
    assert_eq!(second, first, "slots are pooled");
    assert!(!rig.server.capture_status(second).active);
    rig.server.graph_prepare(second, options()).expect("nothing is on the slot");
    rig.server.return_stream(second);

    // A number that nobody leased takes no other stream's window along: 7 + 16 k folds as the owner does.
    rig.server.graph_prepare(OWNER, options()).expect("idle");
    rig.server.return_stream(graphreel::StreamId::exclusive(7 + 16 * 50));
    assert_eq!(rig.server.capture_status(OWNER).owner, Some(OWNER));
}
