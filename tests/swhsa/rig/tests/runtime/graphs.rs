//! Graphs: captured, built node by node, replayed and updated.
#![expect(unsafe_code, reason = "a host node writes a word of the test's")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use graphreel_hip_sys::constant::{hipGraphExecUpdateSuccess, hipMemcpyDeviceToHost, hipStreamCaptureModeRelaxed};
use graphreel_hip_sys::handle::{hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipStream_t};
use graphreel_hip_sys::structure::{dim3, hipHostNodeParams, hipKernelNodeParams, hipMemsetParams};
use graphreel_swhsa_rig::everywhere;

use super::hip::{Hip, THREADS, ok};

fn captured(hip: &Hip, stream: hipStream_t, work: impl FnOnce()) -> hipGraph_t {
    ok(hip.hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    work();
    let mut graph = null_mut();
    ok(hip.hipStreamEndCapture(stream, &raw mut graph));
    graph
}

fn executable(hip: &Hip, graph: hipGraph_t) -> hipGraphExec_t {
    let mut exec = null_mut();
    ok(hip.hipGraphInstantiateWithFlags(&raw mut exec, graph, 0));
    exec
}

fn nodes(hip: &Hip, graph: hipGraph_t) -> Vec<hipGraphNode_t> {
    let mut count = 0;
    ok(hip.hipGraphGetNodes(graph, null_mut(), &raw mut count));
    let mut nodes = vec![null_mut(); count];
    ok(hip.hipGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count));
    nodes
}

/// A launch over `count` floats, as a node has it.
fn with_node<T>(
    hip: &Hip,
    x: *mut c_void,
    count: u32,
    factor: f32,
    use_it: impl FnOnce(&hipKernelNodeParams) -> T,
) -> T {
    let (mut x, mut count, mut factor) = (x, count, factor);
    let mut params: [*mut c_void; 3] = [(&raw mut x).cast(), (&raw mut count).cast(), (&raw mut factor).cast()];
    use_it(&hipKernelNodeParams {
        blockDim: dim3 { x: THREADS, y: 1, z: 1 },
        extra: null_mut(),
        func: hip.scale.cast(),
        gridDim: dim3 { x: count.div_ceil(THREADS), y: 1, z: 1 },
        kernelParams: params.as_mut_ptr(),
        sharedMemBytes: 0,
    })
}

#[test]
fn a_captured_graph_replays_and_takes_updates() {
    everywhere("graphs::a_captured_graph_replays_and_takes_updates", || {
        let hip = Hip::open();
        let (stream, x, y) = (hip.stream(), hip.device_memory(400), hip.device_memory(400));
        let host = hip.pinned(100, 0);
        let work = |factor: f32| {
            ok(hip.hipMemcpyHtoDAsync(x, host.address.cast(), 400, stream));
            ok(hip.launch(x, 100, factor, stream));
            ok(hip.launch(x, 100, factor, stream));
            ok(hip.hipMemcpyDtoDAsync(y, x, 400, stream));
        };
        let graph = captured(&hip, stream, || work(2.0));
        assert_eq!(nodes(&hip, graph).len(), 4);
        let exec = executable(&hip, graph);
        for round in 0..3u32 {
            (0..100).for_each(|at| host.set(at, (round as f32).to_bits()));
            ok(hip.hipGraphLaunch(exec, stream));
            let expected = (round as f32 * 2.0 + 1.0) * 2.0 + 1.0;
            assert_eq!(hip.floats(y, 100, stream), [expected; 100], "replay {round}");
        }
        // The whole graph, from another of the same shape.
        let other = captured(&hip, stream, || work(10.0));
        let (mut wrong, mut result) = (null_mut(), 99);
        ok(hip.hipGraphExecUpdate(exec, other, &raw mut wrong, &raw mut result));
        assert_eq!(result, hipGraphExecUpdateSuccess);
        (0..100).for_each(|at| host.set(at, 1.0f32.to_bits()));
        ok(hip.hipGraphLaunch(exec, stream));
        assert_eq!(hip.floats(y, 100, stream), [111.0; 100]);
        // One of fewer nodes is refused, and the executable stays as it was.
        let fewer = captured(&hip, stream, || ok(hip.launch(x, 100, 2.0, stream)));
        assert_ne!(hip.hipGraphExecUpdate(exec, fewer, &raw mut wrong, &raw mut result), 0);
        ok(hip.hipGraphLaunch(exec, stream));
        assert_eq!(hip.floats(y, 100, stream), [111.0; 100]);
        for graph in [graph, other, fewer] {
            ok(hip.hipGraphDestroy(graph));
        }
        ok(hip.hipGraphLaunch(exec, stream));
        assert_eq!(hip.floats(y, 100, stream), [111.0; 100], "an executable outlives its graph");
        ok(hip.hipGraphExecDestroy(exec));
    });
}

#[test]
fn a_node_takes_new_parameters() {
    everywhere("graphs::a_node_takes_new_parameters", || {
        let hip = Hip::open();
        let (stream, x) = (hip.stream(), hip.device_memory(400));
        let (mut graph, mut node) = (null_mut(), null_mut());
        ok(hip.hipGraphCreate(&raw mut graph, 0));
        with_node(&hip, x, 100, 2.0, |params| {
            ok(hip.hipGraphAddKernelNode(&raw mut node, graph, null(), 0, params));
        });
        let exec = executable(&hip, graph);
        ok(hip.hipMemsetD32Async(x, 0, 100, stream));
        ok(hip.hipGraphLaunch(exec, stream));
        with_node(&hip, x, 50, 5.0, |params| ok(hip.hipGraphExecKernelNodeSetParams(exec, node, params)));
        ok(hip.hipGraphLaunch(exec, stream));
        let floats = hip.floats(x, 100, stream);
        assert_eq!((floats[0], floats[49], floats[50]), (6.0, 6.0, 1.0));
        ok(hip.hipGraphExecDestroy(exec));
        ok(hip.hipGraphDestroy(graph));
    });
}

#[test]
fn a_built_graph_runs_in_the_order_of_its_edges() {
    everywhere("graphs::a_built_graph_runs_in_the_order_of_its_edges", || {
        extern "C" fn count(calls: *mut c_void) {
            // SAFETY: the graph was given the counter's address, which outlives it.
            unsafe { &*calls.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
        }
        let hip = Hip::open();
        let (stream, x, calls) = (hip.stream(), hip.device_memory(400), AtomicU32::new(0));
        let host = hip.pinned(100, 0);
        let mut graph = null_mut();
        ok(hip.hipGraphCreate(&raw mut graph, 0));
        let [mut fill, mut first, mut second, mut copy, mut call] = [null_mut(); 5];
        let zero = hipMemsetParams { dst: x, elementSize: 4, height: 1, pitch: 0, value: 0, width: 100 };
        ok(hip.hipGraphAddMemsetNode(&raw mut fill, graph, null(), 0, &raw const zero));
        with_node(&hip, x, 100, 2.0, |params| {
            ok(hip.hipGraphAddKernelNode(&raw mut first, graph, &raw const fill, 1, params));
            // Its edge is added afterwards.
            ok(hip.hipGraphAddKernelNode(&raw mut second, graph, null(), 0, params));
        });
        ok(hip.hipGraphAddDependencies(graph, &raw const first, &raw const second, 1));
        let (to, kind) = (host.address.cast(), hipMemcpyDeviceToHost);
        ok(hip.hipGraphAddMemcpyNode1D(&raw mut copy, graph, &raw const second, 1, to, x, 400, kind));
        let params = hipHostNodeParams { fn_: Some(count), userData: (&raw const calls).cast_mut().cast() };
        ok(hip.hipGraphAddHostNode(&raw mut call, graph, &raw const copy, 1, &raw const params));
        let exec = executable(&hip, graph);
        for round in 1..=3 {
            (0..100).for_each(|at| host.set(at, 0));
            ok(hip.hipGraphLaunch(exec, stream));
            ok(hip.hipStreamSynchronize(stream));
            assert_eq!(host.all(), [3.0f32.to_bits(); 100]);
            assert_eq!(calls.load(Ordering::Relaxed), round);
        }
        ok(hip.hipGraphExecDestroy(exec));
        ok(hip.hipGraphDestroy(graph));
    });
}

/// How a graph of eight launches begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// Each launch depends on nothing.
    Apart,
    /// All depend on one empty node, which is the first.
    Together,
    /// The same, where the empty node comes to be with the second launch, as `HipDriver` makes it.
    Later,
    /// The first launch depends on nothing, and all others on it.
    First,
    /// Each launch depends on the one before it.
    Row,
}

/// A graph of launches, each over memory of its own.
fn eight(hip: &Hip, begins: Begins, all: &[*mut c_void]) -> hipGraph_t {
    let (mut graph, mut root) = (null_mut(), null_mut());
    ok(hip.hipGraphCreate(&raw mut graph, 0));
    let empty = |root: &mut hipGraphNode_t| ok(hip.hipGraphAddEmptyNode(root, graph, null(), 0));
    if begins == Begins::Together {
        empty(&mut root);
    }
    let mut nodes: Vec<hipGraphNode_t> = Vec::new();
    for x in all {
        if begins == Begins::Later && nodes.len() == 1 {
            empty(&mut root);
            ok(hip.hipGraphAddDependencies(graph, &raw const root, &raw const nodes[0], 1));
        }
        let after = match begins {
            Begins::Apart => None,
            Begins::Together | Begins::Later => Some(root).filter(|root| !root.is_null()),
            Begins::First => nodes.first().copied(),
            Begins::Row => nodes.last().copied(),
        };
        let (after, mut node) = (after.as_slice(), null_mut());
        with_node(hip, *x, 100, 2.0, |params| {
            ok(hip.hipGraphAddKernelNode(&raw mut node, graph, after.as_ptr(), after.len(), params));
        });
        nodes.push(node);
    }
    graph
}

/// Launch such a graph behind fills of what it changes, again and again; how many results were wrong.
fn wrong_results(hip: &Hip, begins: Begins) -> usize {
    let (stream, all) = (hip.stream(), [(); 8].map(|()| hip.device_memory(400)));
    let graph = eight(hip, begins, &all);
    let exec = executable(hip, graph);
    let mut wrong = 0;
    for round in 1..=10u32 {
        // What the launches read is filled just before them.
        let value = (round as f32).to_bits().cast_signed();
        (0..20).for_each(|_| all.iter().for_each(|x| ok(hip.hipMemsetD32Async(*x, value, 100, stream))));
        ok(hip.hipGraphLaunch(exec, stream));
        let expected = [round as f32 * 2.0 + 1.0; 100];
        wrong += all.iter().filter(|x| hip.floats(**x, 100, stream) != expected).count();
    }
    ok(hip.hipGraphExecDestroy(exec));
    ok(hip.hipGraphDestroy(graph));
    wrong
}

#[test]
fn launches_behind_one_node_wait_for_what_was_before_them() {
    everywhere("graphs::launches_behind_one_node_wait_for_what_was_before_them", || {
        let hip = Hip::open();
        for begins in [Begins::Together, Begins::Later, Begins::First, Begins::Row] {
            assert_eq!(wrong_results(&hip, begins), 0, "{begins:?}: a graph runs behind the work of its stream");
        }
        let apart = wrong_results(&hip, Begins::Apart);
        println!("wrong results where each depends on nothing: {apart}");
        // HIP 7.2.4 starts all but one of them ahead of it, which `HipDriver` lets no graph have.
        assert!(
            apart == 0 || hip.library.version.release() >= (7, 0),
            "they ran ahead of earlier work of their stream"
        );
    });
}
