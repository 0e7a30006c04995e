//! Parameters of graphs: scalars, grids and buffers, changed all or not at all.

use graphreel::memory::Handle;
use graphreel::op::{BufferArg, GridArg, Launch, LaunchIndirect, Op, ValueArg};
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

const MEET: &str = "
var<immediate> a: u32;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<uniform> shift: vec4<u32>;
@group(1) @binding(0) var<storage, read> only_its_length: array<u32>;

@compute @workgroup_size(64)
fn meet(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = a * x[id.x] + shift.y + 1000u * arrayLength(&only_its_length); }
}
";

/// `count` words of `handle` from word `first` on, as the slot `name` if it has one.
fn words(handle: &Handle, first: u64, count: u64, name: Option<&str>) -> BufferArg {
    let binding = handle.binding().slice(first * 4..(first + count) * 4).expect("in range");
    BufferArg { slot: name.map(Into::into), ..binding.into() }
}

#[test]
fn parts_of_one_buffer_meet_in_a_launch_eager_indirect_recorded_and_after_an_update() {
    for without_immediates in [false, true] {
        let Some(mut rig) = rig_with(Options { without_immediates, ..Options::default() }) else { return };
        let kernel = rig.kernel(MEET);
        let mut values: Vec<u32> = (0..512).map(|word| word % 64).collect();
        values[256..259].fill(1);
        let (one, apart) = (rig.upload(&values), [(); 4].map(|()| rig.upload(&values)));
        let meet = |x: BufferArg, y: BufferArg, shift: BufferArg, length: BufferArg| Launch {
            buffers: vec![x, y, shift, length],
            ..launch(&kernel, 1, &[], &[3u32.into()])
        };
        let within = |y: u64| {
            let part = |first, count| words(&one, first, count, None);
            meet(part(0, 64), part(y, 64), part(128, 4), part(192, 10))
        };
        rig.run(Op::Launch(within(64)));
        let counted = LaunchIndirect { launch: within(320), counts: words(&one, 256, 3, None) };
        rig.run(Op::LaunchIndirect(counted.clone()));
        let read = rig.read::<u32>(&one);
        assert_eq!((read[66], read[127], read[128], read[322]), (10_007, 10_190, 0, 10_007));
        rig.write(&one, &values);
        let graph = rig.capture(|rig| {
            rig.run(Op::Launch(within(64)));
            rig.run(Op::LaunchIndirect(counted));
            let slots = ["x", "y", "shift", "length"].into_iter().zip([64, 64, 4, 8]).zip(&apart);
            let mut slots = slots.map(|((name, count), handle)| words(handle, 0, count, Some(name)));
            let mut next = || slots.next().expect("there are four");
            rig.run(Op::Launch(meet(next(), next(), next(), next())));
        });
        let graph = graph.expect("a graph");
        rig.replay(&graph).expect("a replay");
        let (read, slot) = (rig.read::<u32>(&one), rig.read::<u32>(&apart[1]));
        assert_eq!((read[66], read[322], slot[2], slot[64]), (10_007, 10_007, 8007, 0));
        let [first, second, ..] = &apart;
        for (x, y) in [((first, 0), (first, 64)), ((second, 0), (first, 128)), ((second, 64), (second, 128))] {
            rig.write(y.0, &values);
            let bind = |(handle, at): (&Handle, u64)| ParamUpdate::Buffer(words(handle, at, 64, None).binding);
            rig.server.graph_update(graph.id, update(&[("x", bind(x)), ("y", bind(y))])).expect("an update");
            rig.replay(&graph).expect("a replay");
            let read = rig.read::<u32>(y.0);
            let at = y.1 as usize;
            let of_x = rig.read::<u32>(x.0)[x.1 as usize + 2];
            assert_eq!((read[at + 2], read[at - 1], read[at + 64]), (3 * of_x + 8001, 63, 0), "{at}");
        }
    }
}
