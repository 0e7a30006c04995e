//! Graphs: nodes with what each waits for.

use graphreel::sync::Arc;

use crate::failure::{Fail, Rule};
use crate::op::{Holder, Work};
use crate::state::State;

/// A graph as recorded or built.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

/// One node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) work: Arc<Work>,
    /// The nodes it waits for.
    pub(crate) after: Vec<u32>,
}

/// The shape of a graph, as an executable keeps it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// How many nodes each waits for.
    pub(crate) waits: Vec<u32>,
    pub(crate) roots: Vec<u32>,
    /// The nodes that wait for node `n`: `next[starts[n]..starts[n + 1]]`.
    starts: Vec<usize>,
    next: Vec<u32>,
}

impl Plan {
    /// `None` where the graph has a circle.
    pub(crate) fn new(nodes: &[Node]) -> Option<Self> {
        let mut starts = vec![0; nodes.len() + 1];
        for before in nodes.iter().flat_map(|node| &node.after) {
            starts[*before as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut filled = starts.clone();
        let mut next = vec![0; *starts.last().unwrap_or(&0)];
        for (index, node) in (0u32..).zip(nodes) {
            for before in &node.after {
                let place = &mut filled[*before as usize];
                next[*place] = index;
                *place += 1;
            }
        }
        let waits: Vec<u32> = nodes.iter().map(|node| node.after.len() as u32).collect();
        let roots = (0u32..).zip(&waits).filter(|(_, waits)| **waits == 0).map(|(index, _)| index).collect();
        let plan = Self { waits, roots, starts, next };
        (plan.order().len() == nodes.len()).then_some(plan)
    }

    pub(crate) fn next(&self, node: u32) -> &[u32] {
        &self.next[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    /// The nodes in an order of their edges; fewer than there are, where those have a circle.
    pub(crate) fn order(&self) -> Vec<u32> {
        let (mut waits, mut ready) = (self.waits.clone(), self.roots.clone());
        let mut order = Vec::with_capacity(waits.len());
        while let Some(node) = ready.pop() {
            order.push(node);
            for next in self.next(node) {
                waits[*next as usize] -= 1;
                if waits[*next as usize] == 0 {
                    ready.push(*next);
                }
            }
        }
        order
    }
}

impl State {
    pub(crate) fn graph_create(&mut self) -> u64 {
        let id = self.ids.graph();
        self.graphs.insert(id, Graph::default());
        id
    }

    /// Add a node after others, which the caller has found to be of this graph.
    pub(crate) fn graph_add(&mut self, graph: u64, after: Vec<u32>, work: Work) -> Result<u32, Fail> {
        let mut sorted = after.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Fail::misuse(Rule::BadEdge, format!("after g{graph}.{} twice", twice[0]));
        }
        self.hold(&work.uses, Holder::Graph);
        let nodes = &mut self.graph(graph).nodes;
        let index = u32::try_from(nodes.len()).expect("a graph below four billion nodes");
        nodes.push(Node { work: Arc::new(work), after });
        Ok(index)
    }

    /// Take the node added last away again.
    pub(crate) fn graph_pop(&mut self, graph: u64) {
        if let Some(node) = self.graph(graph).nodes.pop() {
            self.release(&node.work.uses, Holder::Graph);
        }
    }

    pub(crate) fn graph_add_edges(&mut self, graph: u64, edges: &[(u32, u32)]) -> Result<(), Fail> {
        let nodes = &mut self.graph(graph).nodes;
        for (position, (from, to)) in edges.iter().enumerate() {
            let known = nodes[*to as usize].after.contains(from) || edges[..position].contains(&(*from, *to));
            if from == to || known {
                return Fail::misuse(Rule::BadEdge, format!("from g{graph}.{from} to g{graph}.{to}"));
            }
        }
        for (from, to) in edges {
            nodes[*to as usize].after.push(*from);
        }
        Ok(())
    }

    pub(crate) fn graph_destroy(&mut self, graph: u64) {
        let Some(found) = self.graphs.remove(&graph) else { return };
        for node in found.nodes {
            self.release(&node.work.uses, Holder::Graph);
        }
    }
}
