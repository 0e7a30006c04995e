//! Graphs built node by node: edges alone order their nodes.

use graphreel::graph::driver::{CopyEnd, NodeCopy};
use graphreel::graph::{Driver, DriverResult};
use graphreel::recording::Branches;

use super::Rig;
use super::kernels::PUSH;
use super::nodes::{node_copy, node_fill};
use super::rig::{at, whole};
use crate::kernels::{ADD, FILL, INC, MUL2};

/// Both: a node runs once all that it waits for is done.
pub fn a_diamond_keeps_its_order<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (inc, mul2, add) = (rig.code(INC)?, rig.code(MUL2)?, rig.code(ADD)?);
    let new = || rig.words(&[0; 500]);
    let (x, y, z, o) = (new()?, new()?, new()?, new()?);
    let mut graph = rig.graph()?;
    let top = rig.add_launch(&mut graph, &[], &inc, [8, 1, 1], &inc.params(&[whole(&x)], &[]))?;
    let left = rig.add_launch(&mut graph, &[top], &mul2, [8, 1, 1], &mul2.params(&[whole(&x), whole(&y)], &[]))?;
    let right = rig.add_copy(&mut graph, &[top], &node_copy(&z, &x))?;
    let params = add.params(&[whole(&y), whole(&z), whole(&o)], &[]);
    rig.add_launch(&mut graph, &[left, right], &add, [8, 1, 1], &params)?;
    let exec = rig.exec(&graph)?;
    for turn in 1..=20 {
        rig.run(&exec, &rig.a)?;
        // x is the turn, y twice that, z the same as x.
        assert_eq!(rig.read(&o)?, [3 * turn; 500]);
    }
    Ok(())
}

/// Both: nodes without an edge between them all run, in whatever order.
pub fn independent_nodes_all_run<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let inc = rig.code(INC)?;
    let parts = (0..40).map(|part| rig.words(&[part; 9])).collect::<DriverResult<Vec<_>>>()?;
    let mut graph = rig.graph()?;
    for part in &parts {
        rig.add_launch(&mut graph, &[], &inc, [1; 3], &inc.params(&[whole(part)], &[]))?;
    }
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    rig.run(&exec, &rig.a)?;
    for (part, memory) in (0u32..).zip(&parts) {
        assert_eq!(rig.read(memory)?, [part + 2; 9]);
    }
    Ok(())
}

/// Both: an edge that is added later orders its nodes as one that was given with the node.
pub fn edges_can_be_added_later<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let push = rig.code(PUSH)?;
    let log = rig.words(&[0; 42])?;
    let mut graph = rig.graph()?;
    // Added last to first, so that the order of adding is no help.
    let nodes = (0..40u32)
        .rev()
        .map(|value| {
            let params = push.params(&[whole(&log)], &[value.into()]);
            rig.add_launch(&mut graph, &[], &push, [1; 3], &params)
        })
        .collect::<DriverResult<Vec<_>>>()?;
    let edges: Vec<_> = nodes.windows(2).map(|pair| (pair[1], pair[0])).collect();
    rig.driver().graph_add_edges(&mut graph, &edges)?;
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!(rig.read(&log)?[..41], [&[40], &*(0..40).collect::<Vec<u32>>()].concat());
    Ok(())
}

/// Both: copies of every direction and fills are nodes; host bytes are read and written at each launch.
pub fn copies_and_fills_are_nodes<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (mut input, output) = (rig.pinned(&[0; 3])?, rig.pinned(&[0; 6])?);
    let (x, y) = (rig.words(&[0; 3])?, rig.words(&[0; 6])?);
    let mut graph = rig.graph()?;
    let copy = |src, dst, bytes| NodeCopy { src, dst, bytes };
    let into = copy(CopyEnd::Host(input.address), CopyEnd::Device(x.address), input.bytes);
    let out = copy(CopyEnd::Device(y.address), CopyEnd::Host(output.address), output.bytes);
    let read = rig.add_copy(&mut graph, &[], &into)?;
    let filled = rig.add_fill(&mut graph, &[], &node_fill(&y, 9))?;
    let moved = rig.add_copy(&mut graph, &[read, filled], &node_copy(&y, &x))?;
    rig.add_copy(&mut graph, &[moved], &out)?;
    let exec = rig.exec(&graph)?;
    for turn in 1..4 {
        rig.set_host(&mut input, &[turn, turn + 1, turn + 2]);
        rig.run(&exec, &rig.a)?;
        rig.drain();
        assert_eq!(rig.host(&output), [turn, turn + 1, turn + 2, 9, 9, 9]);
    }
    Ok(())
}

/// Both: a graph has as many nodes as were added to it, whatever their edges.
pub fn nodes_are_counted<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let x = rig.words(&[0])?;
    let mut graph = rig.graph()?;
    let mut nodes = Vec::new();
    for count in 0..20 {
        assert_eq!(rig.driver().graph_nodes(&graph)?, count);
        nodes.push(rig.add_fill(&mut graph, &nodes, &node_fill(&x, count as u32))?);
    }
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    assert_eq!((rig.read(&x)?, rig.driver().graph_nodes(&graph)?), (vec![19], 20));
    Ok(())
}

/// Ours: nodes with the edges of [`Branches`] give what their order of recording gives.
pub fn branches_of_a_recording_give_its_result<D: Driver>(rig: &Rig<D>) -> DriverResult {
    // A triangle of sums: each cell is the one before it and that one's left neighbour, so that branches depend on one another.
    const WIDTH: u32 = 12;
    const STEPS: u32 = 8;
    let before = |node: u32| node.checked_sub(WIDTH);
    let left = |node: u32| before(node).filter(|_| !node.is_multiple_of(WIDTH)).map(|above| above - 1);
    let after: Vec<Vec<u32>> =
        (0..WIDTH * STEPS).map(|node| left(node).into_iter().chain(before(node)).collect()).collect();
    let dealt = Branches::deal(after.iter().map(Vec::as_slice), 8);
    assert_eq!(dealt.count(), 8);
    // Cells lie 16 bytes apart, as the calling convention asks of an address; the last one stays zero.
    let zero = WIDTH * STEPS;
    let cells = rig.words(&vec![0; 4 * (zero as usize + 1)])?;
    let cell = |node: u32| (at(&cells, u64::from(node) * 16), 4);
    let (fill, add) = (rig.code(FILL)?, rig.code(ADD)?);
    let mut graph = rig.graph()?;
    let mut nodes: Vec<D::Node> = Vec::new();
    for node in 0..zero {
        let waits: Vec<D::Node> = dealt.after(node as usize).iter().map(|before| nodes[*before as usize]).collect();
        let (code, params) = match before(node) {
            None => (&fill, fill.params(&[cell(node)], &[1u32.into()])),
            Some(above) => (&add, add.params(&[cell(above), cell(left(node).unwrap_or(zero)), cell(node)], &[])),
        };
        nodes.push(rig.add_launch(&mut graph, &waits, code, [1; 3], &params)?);
    }
    let exec = rig.exec(&graph)?;
    rig.run(&exec, &rig.a)?;
    let mut expected = vec![1; WIDTH as usize];
    let found = rig.read(&cells)?;
    for row in found[..4 * zero as usize].chunks(4 * WIDTH as usize) {
        assert_eq!(row.iter().step_by(4).copied().collect::<Vec<u32>>(), expected);
        for index in (1..expected.len()).rev() {
            expected[index] += expected[index - 1];
        }
    }
    Ok(())
}
