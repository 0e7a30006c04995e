//! Parameters of graphs: scalars, grids and buffers, changed all or not at all.

use graphreel::op::{GridArg, Op, ValueArg};
use graphreel::server::{GraphUpdate, ParamUpdate};
use graphreel::{Server, ServerError};
use graphreel_wgpu::Options;

use crate::rig::{SAXPY, launch, rig, rig_with, slot};

fn update(changes: &[(&str, ParamUpdate)]) -> GraphUpdate {
    GraphUpdate { changes: changes.iter().map(|(name, change)| ((*name).into(), change.clone())).collect() }
}

#[test]
fn scalars_grids_and_buffers_change_for_later_replays() {
    for without_immediates in [false, true] {
        let Some(mut rig) = rig_with(Options { without_immediates, ..Options::default() }) else { return };
        let kernel = rig.kernel(SAXPY);
        let x = rig.upload(&[1.0f32; 256]);
        let (y, other) = (rig.upload(&[0.0f32; 256]), rig.upload(&[0.0f32; 256]));
        let graph = rig.capture(|rig| {
            let mut op = launch(&kernel, 4, &[&x, &y], &[]);
            op.values = vec![ValueArg::Param { name: "a".into(), value: 2.0f32.into() }];
            op.grid = GridArg::Param { name: "n".into(), groups: [4, 1, 1], max: [4, 1, 1] };
            op.buffers[1] = slot(&y, "y");
            rig.run(Op::Launch(op));
            rig.run(Op::Fill { dst: slot(&y, "y"), word: 0 });
            let mut op = launch(&kernel, 4, &[&x, &y], &[]);
            op.values = vec![ValueArg::Param { name: "a".into(), value: 2.0f32.into() }];
            op.grid = GridArg::Param { name: "n".into(), groups: [4, 1, 1], max: [4, 1, 1] };
            op.buffers[1] = slot(&y, "y");
            rig.run(Op::Launch(op));
        });
        let graph = graph.expect("a graph");
        rig.replay(&graph).expect("a replay");
        assert_eq!(rig.read::<f32>(&y), [2.0; 256]);
        let half = update(&[("a", ParamUpdate::Value(5.0f32.into())), ("n", ParamUpdate::Grid([2, 1, 1]))]);
        rig.server.graph_update(graph.id, half).expect("an update");
        rig.replay(&graph).expect("a replay");
        let read = rig.read::<f32>(&y);
        assert_eq!((read[0], read[127], read[128]), (5.0, 5.0, 0.0));
        let rebind = update(&[("y", ParamUpdate::Buffer(other.binding())), ("n", ParamUpdate::Grid([4, 1, 1]))]);
        rig.server.graph_update(graph.id, rebind).expect("an update");
        rig.replay(&graph).expect("a replay");
        assert_eq!(rig.read::<f32>(&other), [5.0; 256]);
        assert_eq!(rig.read::<f32>(&y)[0], 5.0, "the old buffer is left alone");
        let wrong = update(&[("a", ParamUpdate::Value(9.0f32.into())), ("n", ParamUpdate::Grid([5, 1, 1]))]);
        assert!(matches!(rig.server.graph_update(graph.id, wrong), Err(ServerError::InvalidParam { .. })));
        rig.replay(&graph).expect("a replay");
        assert_eq!(rig.read::<f32>(&other), [5.0; 256], "nothing of a refused update holds");
        assert_eq!(rig.server.counters().updates, 2);
    }
}

#[test]
fn a_rebound_fill_and_copy_find_their_new_offsets() {
    let Some(mut rig) = rig() else { return };
    let base = rig.upload(&[1u32; 256]);
    let part = |from: u64| base.clone().offset_start(from * 4).offset_end(1024 - from * 4 - 64);
    let source = rig.upload(&[8u32; 16]);
    let (first, second) = (part(4), part(100));
    let graph = rig.capture(|rig| {
        rig.run(Op::Fill { dst: slot(&first, "out"), word: 9 });
        let front = first.binding().slice(0..8).expect("two words");
        let mut dst = slot(&first, "out");
        dst.binding = first.binding();
        rig.run(Op::Copy { src: source.binding().into(), dst });
        let _ = front;
    });
    let graph = graph.expect("a graph");
    rig.replay(&graph).expect("a replay");
    assert_eq!(rig.read::<u32>(&base)[3..6], [1, 8, 8]);
    rig.write(&base, &[1u32; 256]);
    rig.server.graph_update(graph.id, update(&[("out", ParamUpdate::Buffer(second.binding()))])).expect("an update");
    rig.replay(&graph).expect("a replay");
    let read = rig.read::<u32>(&base);
    assert_eq!((read[4], read[99], read[100], read[115], read[116]), (1, 1, 8, 8, 1));
}
