//! Executables: what they keep from their graph, how their launches are ordered, and what an update reaches.

use graphreel::error::{DriverErrorKind, FaultClass};
use graphreel::graph::{Driver, DriverResult};

use super::kernels::PUSH;
use super::nodes::{Exec, Graph, node_copy, node_fill};
use super::rig::{Memory, whole};
use super::{Code, Rig};
use crate::kernels::FILL;

/// A chain of entries to `log`, as a graph, and its nodes.
fn chain<'r, D: Driver>(
    rig: &'r Rig<D>,
    push: &Code<'r, D>,
    log: &Memory<'r, D>,
    values: &[u32],
) -> DriverResult<(Graph<'r, D>, Vec<D::Node>)> {
    let mut graph = rig.graph()?;
    let mut nodes: Vec<D::Node> = Vec::new();
    for value in values {
        let params = push.params(&[whole(log)], &[(*value).into()]);
        let before: Vec<D::Node> = nodes.last().copied().into_iter().collect();
        nodes.push(rig.add_launch(&mut graph, &before, push, [1; 3], &params)?);
    }
    Ok((graph, nodes))
}

/// The entries of a log.
fn entries<D: Driver>(rig: &Rig<D>, log: &Memory<'_, D>) -> DriverResult<Vec<u32>> {
    let words = rig.read(log)?;
    Ok(words[1..=words[0] as usize].to_vec())
}

/// Both: destroying a graph leaves its executables as they are.
pub fn an_executable_outlives_its_graph<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 30])?;
    let (built, _) = chain(rig, &push, &log, &[1, 2])?;
    let built_exec = rig.exec(&built)?;
    let params = push.params(&[whole(&log)], &[3u32.into()]);
    let captured = rig.capture(&rig.a, || rig.launch(&push, [1; 3], &params, &rig.a))?;
    let captured_exec = rig.exec(&captured)?;
    built.destroy_at_once()?;
    captured.destroy_at_once()?;
    for exec in [&built_exec, &captured_exec, &built_exec] {
        rig.run(exec, &rig.a)?;
    }
    assert_eq!(entries(rig, &log)?, [1, 2, 3, 1, 2]);
    Ok(())
}

/// Both: an executable is a snapshot of its graph; nodes that are added later are in the next one.
pub fn an_executable_is_a_snapshot<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 30])?;
    let (mut graph, nodes) = chain(rig, &push, &log, &[1, 2])?;
    let before = rig.exec(&graph)?;
    let params = push.params(&[whole(&log)], &[3u32.into()]);
    rig.add_launch(&mut graph, &nodes[1..], &push, [1; 3], &params)?;
    let after = rig.exec(&graph)?;
    rig.run(&before, &rig.a)?;
    rig.run(&after, &rig.a)?;
    rig.run(&before, &rig.a)?;
    assert_eq!(entries(rig, &log)?, [1, 2, 1, 2, 3, 1, 2]);
    Ok(())
}

/// Both: an upload brings an executable to the device and runs nothing. HIP has the call from 5.7 on.
pub fn an_executable_may_be_uploaded_first<D: Driver>(rig: &Rig<D>) -> DriverResult {
    if !rig.has(rig.driver().caps().graph_upload, "uploads of executables") {
        return Ok(());
    }
    let (slow, push) = (rig.slow()?, rig.code(PUSH)?);
    let log = rig.words(&[0; 30])?;
    let (graph, _) = chain(rig, &push, &log, &[1, 2])?;
    let exec = rig.exec(&graph)?;
    slow.on(&rig.a)?;
    rig.driver().exec_upload(&exec, &rig.a)?;
    assert!(entries(rig, &log)?.is_empty());
    rig.run(&exec, &rig.a)?;
    rig.driver().exec_upload(&exec, &rig.a)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(entries(rig, &log)?, [1, 2, 1, 2]);
    Ok(())
}

/// Both: a launch of an executable is work of its stream, between what was given before and after it.
pub fn launches_keep_the_order_of_their_stream<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, push) = (rig.slow()?, rig.code(PUSH)?);
    let log = rig.words(&[0; 120])?;
    let one = rig.exec(&chain(rig, &push, &log, &[1, 2])?.0)?;
    let two = rig.exec(&chain(rig, &push, &log, &[5])?.0)?;
    slow.on(&rig.a)?;
    for _ in 0..10 {
        rig.run(&one, &rig.a)?;
        rig.launch(&push, [1; 3], &push.params(&[whole(&log)], &[3u32.into()]), &rig.a)?;
        rig.run(&two, &rig.a)?;
        rig.run(&one, &rig.a)?;
    }
    assert_eq!(entries(rig, &log)?, [1, 2, 3, 5, 1, 2].repeat(10));
    Ok(())
}

/// Both: launches of one executable never overlap, on whatever streams they are.
pub fn launches_of_one_executable_do_not_overlap<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 401])?;
    let exec = rig.exec(&chain(rig, &push, &log, &[1, 2, 3, 4, 5])?.0)?;
    for _ in 0..40 {
        // Nothing orders the streams; two entries at once would lose one.
        rig.run(&exec, &rig.a)?;
        rig.run(&exec, &rig.b)?;
    }
    assert_eq!(entries(rig, &log)?, [1, 2, 3, 4, 5].repeat(80));
    Ok(())
}

/// Both: an update is for launches made after it; launches in flight keep what they had.
pub fn an_update_reaches_later_launches_only<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (slow, push) = (rig.slow()?, rig.code(PUSH)?);
    let log = rig.words(&[0; 121])?;
    let (graph, nodes) = chain(rig, &push, &log, &[0, 100, 200])?;
    let mut exec = rig.exec(&graph)?;
    slow.on(&rig.a)?;
    let mut expected = Vec::new();
    for value in 0..rig.driver().caps().updates_per_exec_max.unwrap_or(u32::MAX).min(40) {
        let params = push.params(&[whole(&log)], &[(100 + value).into()]);
        rig.set_launch(&mut exec, nodes[1], &push, [1; 3], &params)?;
        rig.run(&exec, &rig.a)?;
        expected.extend([0, 100 + value, 200]);
    }
    assert_eq!(entries(rig, &log)?, expected);
    Ok(())
}

/// Both: an update may change grid, buffers and kernel of a launch node.
pub fn a_launch_node_takes_another_grid_and_buffer<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (push, count) = (rig.code(PUSH)?, rig.code(crate::kernels::COUNT_GROUPS)?);
    let (first, second) = (rig.words(&[0; 9])?, rig.words(&[0; 9])?);
    let mut graph = rig.graph()?;
    let node = rig.add_launch(&mut graph, &[], &count, [3, 1, 1], &count.params(&[whole(&first)], &[]))?;
    let mut exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    rig.set_launch(&mut exec, node, &count, [5, 2, 1], &count.params(&[whole(&first)], &[]))?;
    rig.run(&exec, &rig.a)?;
    rig.set_launch(&mut exec, node, &count, [2, 1, 1], &count.params(&[whole(&second)], &[]))?;
    rig.run(&exec, &rig.a)?;
    assert_eq!((rig.read(&first)?[0], rig.read(&second)?[0]), (13, 2));
    rig.set(&second, &[0; 9])?;
    rig.set_launch(&mut exec, node, &push, [1; 3], &push.params(&[whole(&second)], &[8u32.into()]))?;
    rig.run(&exec, &rig.a)?;
    assert_eq!((rig.read(&first)?[0], entries(rig, &second)?), (13, vec![8]));
    Ok(())
}

/// Both: copy nodes take other addresses and lengths, fill nodes other addresses, words and lengths.
#[expect(unsafe_code, reason = "drives the waist, whose ordering rules the suite keeps")]
pub fn copy_and_fill_nodes_take_other_addresses<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (x, y, z) = (rig.words(&[0; 4])?, rig.words(&[0; 4])?, rig.words(&[7; 3])?);
    let mut graph = rig.graph()?;
    let filled = rig.add_fill(&mut graph, &[], &node_fill(&x, 1))?;
    let copied = rig.add_copy(&mut graph, &[filled], &node_copy(&y, &x))?;
    let mut exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!((rig.read(&x)?, rig.read(&y)?), (vec![1; 4], vec![1; 4]));
    // SAFETY: the memory is freed only once the streams are drained.
    unsafe { rig.driver().exec_set_fill(&mut exec, filled, &node_fill(&z, 3)) }?;
    // SAFETY: as above; two allocations do not overlap.
    unsafe { rig.driver().exec_set_copy(&mut exec, copied, &node_copy(&y, &z)) }?;
    rig.run(&exec, &rig.a)?;
    assert_eq!((rig.read(&x)?, rig.read(&y)?, rig.read(&z)?), (vec![1; 4], vec![3, 3, 3, 1], vec![3; 3]));
    Ok(())
}

/// Both: an update changes one executable, neither its graph nor another executable of it.
pub fn executables_of_one_graph_are_updated_apart<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let fill = rig.code(FILL)?;
    let x = rig.words(&[0; 3])?;
    let params = |value: u32| fill.params(&[whole(&x)], &[value.into()]);
    let mut graph = rig.graph()?;
    let node = rig.add_launch(&mut graph, &[], &fill, [1; 3], &params(1))?;
    let mut execs: Vec<Exec<'_, D>> = vec![rig.exec(&graph)?, rig.exec(&graph)?];
    rig.set_launch(&mut execs[0], node, &fill, [1; 3], &params(2))?;
    execs.push(rig.exec(&graph)?);
    for (exec, expected) in execs.iter().zip([2, 1, 1]) {
        rig.run(exec, &rig.a)?;
        assert_eq!(rig.read(&x)?, [expected; 3]);
    }
    Ok(())
}

/// Both: a graph of the same shape gives an executable all of its parameters, and one of another shape none that counts; the
/// nodes by which it is updated stay those of its own graph.
pub fn a_whole_graph_updates_an_executable_of_its_shape<D: Driver>(rig: &Rig<D>) -> DriverResult {
    if !rig.has(rig.driver().caps().updates_per_exec_max.is_none(), "updates that give memory back") {
        return Ok(());
    }
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 30])?;
    let (graph, nodes) = chain(rig, &push, &log, &[1, 2])?;
    let mut exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    let (other, _) = chain(rig, &push, &log, &[3, 4])?;
    rig.update(&mut exec, &other)?;
    other.destroy_at_once()?;
    rig.run(&exec, &rig.a)?;
    rig.set_launch(&mut exec, nodes[1], &push, [1; 3], &push.params(&[whole(&log)], &[5u32.into()]))?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(entries(rig, &log)?, [1, 2, 3, 4, 3, 5]);
    let (longer, _) = chain(rig, &push, &log, &[6, 7, 8])?;
    let refused = rig.update(&mut exec, &longer).err().map(|error| (error.kind, error.class));
    assert_eq!(refused, Some((DriverErrorKind::Refused, FaultClass::CallLocal)));
    Ok(())
}
