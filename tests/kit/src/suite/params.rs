//! What may change in a sealed graph: scalars, slots and grids that were declared, all or nothing, until the next change.

use graphreel::device::Update;
use graphreel::{Buffer, Config, Graph, Grid, Result, ServerError};

use crate::env::{failure, says, taint_of};
use crate::{Env, kernels};

/// A vector, what accumulates it, and a graph of `y += a * x` with `a` declared as `rate`.
fn optimiser(env: &Env, rate: f32) -> Result<(Buffer, Graph)> {
    let axpy = env.kernel(kernels::AXPY);
    let x = env.device.upload(&[1.0f32; 64])?;
    let y = env.device.upload(&[0.0f32; 64])?;
    let (graph, ()) = env.device.capture(|c| {
        let rate = c.param("rate", rate);
        c.launch(&axpy, Grid::stride(64), (&x, &y, &rate))
    })?;
    Ok((y, graph))
}

/// The problem of an update that has to be refused.
#[track_caller]
fn refused(graph: &Graph, change: impl FnOnce(&mut Update) -> &mut Update, parts: &[&str]) {
    let error = failure(graph.update(change));
    assert!(matches!(error, ServerError::InvalidParam { .. }), "{error:?}");
    says(&error, parts);
}

/// D50: a declared scalar takes the new value from the next replay on, and keeps it.
pub fn a_scalar_changes_and_stays(env: &Env) -> Result<()> {
    let (y, graph) = optimiser(env, 0.5)?;
    graph.replay()?;
    assert_eq!(y.read::<f32>()?, [0.5; 64]);
    graph.update(|u| u.set("rate", 0.25f32))?;
    graph.replay()?;
    graph.replay()?;
    assert_eq!(y.read::<f32>()?, [1.0; 64]);
    assert_eq!(graph.report().params.iter().map(|name| &**name).collect::<Vec<_>>(), ["rate"]);
    assert!(graph.report().frozen.is_empty(), "{:?}", graph.report().frozen);
    Ok(())
}

/// D50: a plain number is frozen, listed in the report, and `verify` names it when it is another one now.
pub fn a_frozen_scalar_is_listed_and_verified(env: &Env) -> Result<()> {
    let axpy = env.kernel(kernels::AXPY);
    let (x, y) = (env.device.upload(&[1.0f32; 64])?, env.device.upload(&[0.0f32; 64])?);
    let rate = std::cell::Cell::new(0.5f32);
    let step = |c: &mut graphreel::Capture| c.launch(&axpy, Grid::stride(64), (&x, &y, rate.get()));
    let (graph, ()) = env.device.capture(step)?;
    let [frozen] = graph.report().frozen.as_slice() else { panic!("{:?}", graph.report().frozen) };
    assert_eq!((frozen.node, &*frozen.kernel, &*frozen.name, &*frozen.value), (0, "axpy", "a", "0.5"));
    graph.verify(step)?;
    rate.set(0.25);
    let error = failure(graph.verify(step));
    assert!(matches!(&error, ServerError::BakedValueChanged { node: 0, name, .. } if &**name == "a"), "{error:?}");
    says(&error, &["`a`", "0.5", "0.25", "c.param"]);
    refused(&graph, |u| u.set("a", 0.25f32), &["`a`"]);
    graph.replay()?;
    assert_eq!(y.read::<f32>()?, [0.5; 64], "the graph is as it was");
    Ok(())
}

/// An update holds for the replays issued after it: one that was issued before keeps the old value, waited for or not.
pub fn an_update_does_not_reach_back(env: &Env) -> Result<()> {
    let fill = env.kernel(kernels::FILL);
    let (value, seen) = (env.unwritten(64), env.unwritten(64));
    let (graph, ()) = env.device.capture(|c| {
        let param = c.param("value", 0u32);
        c.launch(&fill, Grid::stride(64), (&value, &param))
    })?;
    let copies: Vec<Buffer> = (0..50u32).map(|_| env.unwritten(64)).collect();
    for (round, copy) in (0u32..).zip(&copies) {
        graph.update(|u| u.set("value", round))?;
        graph.replay()?;
        copy.copy_from(&value)?;
    }
    seen.copy_from(&value)?;
    for (round, copy) in (0u32..).zip(&copies) {
        assert_eq!(copy.read::<u32>()?, [round; 64], "replay {round}");
    }
    assert_eq!(seen.read::<u32>()?, [49; 64]);
    Ok(())
}

/// D56: an update with one bad change makes none of them; a good one lasts over replays.
pub fn an_update_is_all_or_nothing(env: &Env) -> Result<()> {
    let fill = env.kernel(kernels::FILL);
    let outputs: Vec<Buffer> = (0..5).map(|_| env.unwritten(64)).collect();
    let names = ["a", "b", "c", "d", "e"];
    let (graph, ()) = env.device.capture(|c| {
        for (output, name) in outputs.iter().zip(names) {
            let value = c.param(name, 1u32);
            c.launch(&fill, Grid::stride(64), (output, &value))?;
        }
        Ok(())
    })?;
    let read = || outputs.iter().map(|output| Ok(output.read::<u32>()?[7])).collect::<Result<Vec<u32>>>();
    refused(
        &graph,
        |u| u.set("a", 2u32).set("b", 2u32).set("c", 2.0f32).set("d", 2u32).set("e", 2u32),
        &["`c`", "u32"],
    );
    graph.replay()?;
    assert_eq!(read()?, [1; 5]);
    let updates = env.device.counters().updates;
    graph.update(|u| u.set("a", 3u32).set("b", 4u32).set("d", 5u32))?;
    assert_eq!(env.device.counters().updates, updates + 1);
    for _ in 0..3 {
        graph.replay()?;
        assert_eq!(read()?, [3, 4, 1, 5, 1]);
    }
    // The last change of a name counts.
    graph.update(|u| u.set("a", 9u32).set("a", 8u32))?;
    graph.replay()?;
    assert_eq!(read()?, [8, 4, 1, 5, 1]);
    Ok(())
}

/// Unknown names, other types, other kinds, grids out of bounds and buffers of another length, each by name.
pub fn updates_that_do_not_fit(env: &Env) -> Result<()> {
    let (fill, count) = (env.kernel(kernels::FILL), env.kernel(kernels::COUNT_GROUPS));
    let (output, groups) = (env.unwritten(64), env.buffer(&[0]));
    let (graph, ()) = env.device.capture(|c| {
        let (value, slot) = (c.param("value", 5u32), c.slot("output", &output)?);
        let grid = c.grid_param("rows", Grid::groups(2), Grid::new(8, 4, 1));
        c.launch(&fill, Grid::stride(64), (&slot, &value))?;
        c.launch(&count, &grid, (&groups,))
    })?;
    refused(&graph, |u| u.set("rate", 1u32), &["`rate`"]);
    refused(&graph, |u| u.set("value", 1i32), &["`value`", "u32", "i32"]);
    refused(&graph, |u| u.set("value", [1u32, 2]), &["`value`"]);
    refused(&graph, |u| u.grid("value", [1, 1, 1]), &["`value`"]);
    refused(&graph, |u| u.set("rows", 1u32), &["`rows`"]);
    refused(&graph, |u| u.grid("rows", [9, 1, 1]), &["`rows`", "8"]);
    refused(&graph, |u| u.grid("rows", [1, 0, 1]), &["`rows`"]);
    refused(&graph, |u| u.grid("rows", [1, 1, 2]), &["`rows`"]);
    refused(&graph, |u| u.bind("output", &env.unwritten(65)), &["`output`", "256", "260"]);
    refused(&graph, |u| u.bind("output", &env.unwritten(63)), &["`output`"]);
    refused(&graph, |u| u.bind("value", &output), &["`value`"]);
    let foreign = env.open(Config::default()).alloc(256)?;
    assert!(matches!(failure(graph.update(|u| u.bind("output", &foreign))), ServerError::ForeignHandle { .. }));
    graph.replay()?;
    assert_eq!((output.read::<u32>()?, groups.read::<u32>()?), (vec![5; 64], vec![2]));
    Ok(())
}

/// A slot takes another buffer: replays go there, the old one is left alone, and inputs are checked where they lie now.
pub fn a_slot_takes_another_buffer(env: &Env) -> Result<()> {
    let mul2 = env.kernel(kernels::MUL2);
    let (first, second) = (env.buffer(&[4; 64]), env.buffer(&[5; 64]));
    let (old, new) = (env.unwritten(64), env.unwritten(64));
    let (graph, ()) = env.device.capture(|c| {
        let (source, output) = (c.slot("source", &first)?, c.slot("output", &old)?);
        c.launch(&mul2, Grid::stride(64), (&source, &output))
    })?;
    graph.replay()?;
    graph.update(|u| u.bind("source", &second).bind("output", &new))?;
    graph.replay()?;
    assert_eq!((old.read::<u32>()?, new.read::<u32>()?), (vec![8; 64], vec![10; 64]));

    let (owner, _) = env.folded();
    owner.graph_prepare()?;
    owner.begin_capture()?;
    owner.fill(&second, 0)?;
    owner.graph_abort()?;
    assert!(matches!(failure(graph.replay()), ServerError::Tainted { .. }), "the input now is the tainted one");
    taint_of(&new);
    assert_eq!(old.read::<u32>()?, [8; 64], "and the output now is the other one");
    graph.update(|u| u.bind("source", &first))?;
    graph.replay()?;
    assert_eq!(new.read::<u32>()?, [8; 64]);
    Ok(())
}

/// C-84: a range that an operation could not take at its call is no range for its slot either: the update is refused, and
/// no byte beside a slot is ever written.
pub fn a_range_that_no_operation_takes_is_refused(env: &Env) -> Result<()> {
    let fill = env.kernel(kernels::FILL);
    let (words, odd, source) = (env.buffer(&[1; 16]), env.device.upload(&[1u8; 5])?, env.device.upload(&[9u8; 5])?);
    let other = env.device.upload(&[2u8; 512])?;
    let (launches, ()) = env.device.capture(|c| {
        let output = c.slot("output", &words)?;
        c.launch(&fill, Grid::stride(16), (&output, 3u32))
    })?;
    let (fills, ()) = env.device.capture(|c| c.slot("output", &words).and_then(|output| c.fill(&output, 3)))?;
    let (copies, ()) = env.device.capture(|c| c.slot("output", &odd).and_then(|output| c.copy(&source, &output)))?;
    let unaligned = other.slice(2..66)?;
    refused(&launches, |u| u.bind("output", &unaligned), &["`output`", "multiple of"]);
    refused(&fills, |u| u.bind("output", &unaligned), &["`output`", "multiple of 4"]);
    for range in [2..7, 8..13] {
        let part = other.slice(range)?;
        refused(&copies, |u| u.bind("output", &part), &["`output`", "multiple of 4"]);
    }
    for graph in [&launches, &fills, &copies] {
        graph.replay()?;
    }
    assert_eq!(other.read::<u8>()?, [2; 512], "a refused update writes nowhere");
    assert_eq!((words.read::<u32>()?, odd.read::<u8>()?), (vec![3; 16], vec![9; 5]), "and leaves the graph as it was");
    let aligned = other.slice(4..68)?;
    fills.update(|u| u.bind("output", &aligned))?;
    fills.replay()?;
    let read = other.read::<u8>()?;
    assert_eq!((&read[..4], &read[4..8], &read[68..72]), (&[2; 4][..], &[3, 0, 0, 0][..], &[2; 4][..]));
    Ok(())
}

/// The graph keeps what its slots hold now, and lets go of what they held.
pub fn a_slot_keeps_its_buffer_alive(env: &Env) -> Result<()> {
    let mul2 = env.kernel(kernels::MUL2);
    let (placeholder, output) = (env.buffer(&[0; 64]), env.unwritten(64));
    let (graph, ()) = env.device.capture(|c| {
        let source = c.slot("source", &placeholder)?;
        c.launch(&mul2, Grid::stride(64), (&source, &output))
    })?;
    for round in 0..30u32 {
        let source = env.buffer(&[round; 64]);
        graph.update(|u| u.bind("source", &source))?;
        drop(source);
        let churn: Vec<Buffer> = (0..4).map(|index| env.buffer(&[900 + index; 64])).collect();
        graph.replay()?;
        assert_eq!(output.read::<u32>()?, [2 * round; 64]);
        drop(churn);
    }
    Ok(())
}

/// A declared grid takes other counts, up to its maximum.
pub fn a_grid_changes_within_its_maximum(env: &Env) -> Result<()> {
    let count = env.kernel(kernels::COUNT_GROUPS);
    let groups = env.buffer(&[0]);
    let (graph, ()) = env.device.capture(|c| {
        let grid = c.grid_param("rows", Grid::groups(2), Grid::new(8, 4, 2));
        c.fill(&groups, 0)?;
        c.launch(&count, &grid, (&groups,))
    })?;
    for (grid, expected) in [([2, 1, 1], 2u32), ([8, 4, 2], 64), ([1, 1, 1], 1), ([3, 2, 1], 6)] {
        graph.update(|u| u.grid("rows", grid))?;
        graph.replay()?;
        assert_eq!(groups.read::<u32>()?, [expected], "{grid:?}");
    }
    let over = env.device.capture(|c| {
        let grid = c.grid_param("rows", Grid::groups(9), Grid::groups(8));
        c.launch(&count, &grid, (&groups,))
    });
    assert!(matches!(failure(over), ServerError::InvalidGrid { .. } | ServerError::InvalidParam { .. }));
    Ok(())
}

/// One name may be used by many nodes, and means the same in all; declared in two ways it is refused.
pub fn one_name_means_one_thing(env: &Env) -> Result<()> {
    let (fill, iota) = (env.kernel(kernels::FILL), env.kernel(kernels::IOTA));
    let (a, b) = (env.unwritten(4), env.unwritten(4));
    let (graph, ()) = env.device.capture(|c| {
        let value = c.param("value", 1u32);
        c.launch(&fill, Grid::stride(4), (&a, &value))?;
        c.launch(&iota, Grid::stride(4), (&b, &value))
    })?;
    graph.update(|u| u.set("value", 10u32))?;
    graph.replay()?;
    assert_eq!((a.read::<u32>()?, b.read::<u32>()?), (vec![10; 4], vec![10, 11, 12, 13]));
    let twice = failure(env.device.capture(|c| {
        let (one, two) = (c.param("value", 1u32), c.param("value", 2u32));
        c.launch(&fill, Grid::stride(4), (&a, &one))?;
        c.launch(&fill, Grid::stride(4), (&b, &two))
    }));
    assert!(matches!(twice, ServerError::InvalidParam { .. }), "{twice:?}");
    says(&twice, &["`value`", "unique"]);
    Ok(())
}

/// D54: a change of one argument costs the same whatever the graph's size: nothing is submitted, allocated or sealed.
pub fn an_update_touches_only_what_changes(env: &Env) -> Result<()> {
    let (fill, inc) = (env.kernel(kernels::FILL), env.kernel(kernels::INC));
    for nodes in [10u32, 1000] {
        let buffer = env.unwritten(64);
        let (graph, ()) = env.device.capture(|c| {
            let value = c.param("value", 0u32);
            c.launch(&fill, Grid::stride(64), (&buffer, &value))?;
            (1..nodes).try_for_each(|_| c.launch(&inc, Grid::stride(64), (&buffer,)))
        })?;
        graph.replay()?.wait()?;
        let before = env.device.counters();
        for value in 1..=20u32 {
            graph.update(|u| u.set("value", 100 * value))?;
        }
        let after = env.device.counters();
        assert_eq!(after.updates, before.updates + 20);
        assert_eq!((after.submits, after.captures), (before.submits, before.captures), "{nodes} nodes");
        assert_eq!((after.driver_allocations, after.seal_time), (before.driver_allocations, before.seal_time));
        graph.replay()?;
        assert_eq!(buffer.read::<u32>()?, [2000 + nodes - 1; 64]);
    }
    Ok(())
}

/// D52: running the closure again makes its declared parameters the graph's; another topology is refused by node, and
/// the next replay works all the same.
pub fn a_closure_run_again_updates_or_is_refused(env: &Env) -> Result<()> {
    let (fill, inc, mul2) = (env.kernel(kernels::FILL), env.kernel(kernels::INC), env.kernel(kernels::MUL2));
    let (one, two) = (env.unwritten(64), env.unwritten(64));
    let step = |value: u32, output: &Buffer, c: &mut graphreel::Capture| {
        let (value, output) = (c.param("value", value), c.slot("output", output)?);
        c.launch(&fill, Grid::stride(64), (&output, &value))?;
        c.launch(&inc, Grid::stride(64), (&output,))
    };
    let (graph, ()) = env.device.capture(|c| step(10, &one, c))?;
    graph.update_from(|c| step(20, &two, c))?;
    graph.replay()?;
    assert_eq!(two.read::<u32>()?, [21; 64]);
    assert!(matches!(one.read::<u32>(), Err(ServerError::Unwritten { .. })));

    let changed = |error: ServerError, expected: u32| match &error {
        ServerError::TopologyChanged { node, .. } => assert_eq!(*node, expected, "{error}"),
        other => panic!("{other:?}"),
    };
    changed(failure(graph.update_from(|c| step(30, &two, c).and_then(|()| c.fill(&one, 0)))), 2);
    changed(failure(graph.update_from(|c| c.fill(&one, 0))), 0);
    changed(
        failure(graph.update_from(|c| {
            let (value, output) = (c.param("value", 40u32), c.slot("output", &two)?);
            c.launch(&fill, Grid::stride(64), (&output, &value))?;
            c.launch(&mul2, Grid::stride(64), (&output, &one))
        })),
        1,
    );
    graph.replay()?;
    assert_eq!(two.read::<u32>()?, [21; 64], "a refused update changed nothing");
    graph.verify(|c| step(99, &one, c))?;
    graph.replay()?;
    assert_eq!(two.read::<u32>()?, [21; 64], "a check changes nothing either");
    Ok(())
}

/// A buffer that was not declared as a slot belongs to the graph: another one is another graph.
pub fn an_undeclared_buffer_cannot_change(env: &Env) -> Result<()> {
    let inc = env.kernel(kernels::INC);
    let (one, two) = (env.buffer(&[0; 64]), env.buffer(&[0; 64]));
    let (graph, ()) = env.device.capture(|c| c.launch(&inc, Grid::stride(64), (&one,)))?;
    let error = failure(graph.verify(|c| c.launch(&inc, Grid::stride(64), (&two,))));
    assert!(matches!(error, ServerError::TopologyChanged { node: 0, .. }), "{error:?}");
    says(&error, &["c.slot", &two.memory_id().to_string()]);
    graph.verify(|c| c.launch(&inc, Grid::stride(64), (&one,)))?;
    Ok(())
}

/// Scalars of every type that all devices have, alone and as vectors, in one struct with its padding.
pub fn scalars_of_every_type_arrive(env: &Env) -> Result<()> {
    let kernel = env.kernel(
        "
struct Scalars { a: u32, b: vec2<f32>, c: i32, d: vec3<u32>, e: f32, f: vec4<i32> }
var<immediate> s: Scalars;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1)
fn scalars() {
    o[0] = s.a; o[1] = bitcast<u32>(s.b.x); o[2] = bitcast<u32>(s.b.y); o[3] = bitcast<u32>(s.c);
    o[4] = s.d.x; o[5] = s.d.y; o[6] = s.d.z; o[7] = bitcast<u32>(s.e);
    o[8] = bitcast<u32>(s.f.x); o[9] = bitcast<u32>(s.f.y); o[10] = bitcast<u32>(s.f.z); o[11] = bitcast<u32>(s.f.w);
}",
    );
    let output = env.unwritten(12);
    let expected = |a: u32, e: f32| {
        let (b, c, f) = ([1.5f32, -2.5].map(f32::to_bits), -3i32 as u32, [-4i32, 5, -6, 7].map(|lane| lane as u32));
        vec![a, b[0], b[1], c, 11, 12, 13, e.to_bits(), f[0], f[1], f[2], f[3]]
    };
    let args = (&output, 9u32, [1.5f32, -2.5], -3i32, [11u32, 12, 13], 0.1f32, [-4i32, 5, -6, 7]);
    env.device.launch(&kernel, Grid::groups(1), args)?;
    assert_eq!(output.read::<u32>()?, expected(9, 0.1));
    let (graph, ()) = env.device.capture(|c| {
        let (a, e) = (c.param("a", 9u32), c.param("e", 0.1f32));
        let args = (&output, &a, [1.5f32, -2.5], -3i32, [11u32, 12, 13], &e, [-4i32, 5, -6, 7]);
        c.launch(&kernel, Grid::groups(1), args)
    })?;
    graph.update(|u| u.set("a", u32::MAX).set("e", f32::MIN_POSITIVE))?;
    graph.replay()?;
    assert_eq!(output.read::<u32>()?, expected(u32::MAX, f32::MIN_POSITIVE));
    assert_eq!(graph.report().frozen.len(), 4, "{:?}", graph.report().frozen);
    Ok(())
}
