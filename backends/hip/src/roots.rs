//! Nodes of a built graph that depend on nothing. HIP 7.2 starts them ahead of earlier work of the launch's stream, all but the first of
//! them. So a graph has at the most one: from the second one on, all of them depend on an empty node. A graph that needs none has none,
//! since it costs time in each replay: NVIDIA's driver launches a plain row of kernels faster than anything else.

use graphreel::graph::DriverResult;

use crate::handle::HipNode;

/// What of a graph depends on nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    /// The only node that was added so, until it depends on `empty`.
    first: Option<HipNode>,
    /// The empty node.
    empty: Option<HipNode>,
}

impl Roots {
    /// What a node depends on that is to run after `nodes`. `make` adds an empty node, `link` lets its second node run after its first.
    /// After a failure it can be called again.
    pub(crate) fn behind<'a>(
        &'a mut self,
        nodes: &'a [HipNode],
        make: impl FnOnce() -> DriverResult<HipNode>,
        link: impl FnOnce(HipNode, HipNode) -> DriverResult,
    ) -> DriverResult<&'a [HipNode]> {
        if !nodes.is_empty() || (self.first.is_none() && self.empty.is_none()) {
            return Ok(nodes);
        }
        let empty = match self.empty {
            Some(empty) => empty,
            None => *self.empty.insert(make()?),
        };
        if let Some(first) = self.first {
            link(empty, first)?;
            self.first = None;
        }
        Ok(self.empty.as_slice())
    }

    /// A node was added that depends on so many others.
    pub(crate) fn added(&mut self, node: HipNode, dependences: usize) -> HipNode {
        if dependences == 0 {
            self.first = Some(node);
        }
        node
    }

    /// How many nodes of the graph nobody asked for.
    pub(crate) fn own(&self) -> usize {
        self.empty.as_slice().len()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::ptr;

    use graphreel::error::{DriverError, DriverErrorKind, FaultClass};

    use super::*;

    fn node(number: usize) -> HipNode {
        HipNode(ptr::without_provenance_mut(number))
    }

    /// The empty node.
    const EMPTY: usize = 99;

    /// A graph as the driver builds it: the edges that it was given.
    #[derive(Default)]
    struct Graph {
        roots: Roots,
        edges: RefCell<Vec<(HipNode, HipNode)>>,
    }

    impl Graph {
        fn add(&mut self, number: usize, after: &[usize]) -> DriverResult {
            let after: Vec<HipNode> = after.iter().map(|number| node(*number)).collect();
            let link = |from, to| {
                self.edges.borrow_mut().push((from, to));
                Ok(())
            };
            let behind = self.roots.behind(&after, || Ok(node(EMPTY)), link)?.to_vec();
            self.edges.borrow_mut().extend(behind.iter().map(|from| (*from, node(number))));
            self.roots.added(node(number), behind.len());
            Ok(())
        }

        fn edges(&self) -> Vec<(HipNode, HipNode)> {
            self.edges.borrow().clone()
        }
    }

    #[test]
    fn one_beginning_needs_no_empty_node() {
        let mut graph = Graph::default();
        graph.add(1, &[]).unwrap();
        graph.add(2, &[1]).unwrap();
        graph.add(3, &[1, 2]).unwrap();
        assert_eq!(graph.edges(), [(1, 2), (1, 3), (2, 3)].map(|(from, to)| (node(from), node(to))));
        assert_eq!(graph.roots.own(), 0);
    }

    #[test]
    fn from_the_second_beginning_on_all_are_behind_one_node() {
        let mut graph = Graph::default();
        graph.add(1, &[]).unwrap();
        graph.add(2, &[1]).unwrap();
        graph.add(3, &[]).unwrap();
        graph.add(4, &[]).unwrap();
        let expected = [(1, 2), (EMPTY, 1), (EMPTY, 3), (EMPTY, 4)].map(|(from, to)| (node(from), node(to)));
        assert_eq!((graph.edges(), graph.roots.own()), (expected.to_vec(), 1));
    }

    #[test]
    fn what_failed_is_done_the_next_time() {
        let failed = || DriverError {
            call: "hipGraphAddDependencies",
            code: 2,
            name: "hipErrorOutOfMemory".into(),
            kind: DriverErrorKind::OutOfMemory,
            class: FaultClass::CallLocal,
            log: None,
        };
        let mut graph = Graph::default();
        graph.add(1, &[]).unwrap();
        assert!(graph.roots.behind(&[], || Err(failed()), |_, _| Ok(())).is_err());
        assert_eq!(graph.roots.own(), 0);
        assert!(graph.roots.behind(&[], || Ok(node(EMPTY)), |_, _| Err(failed())).is_err());
        assert_eq!(graph.roots.own(), 1, "it is in the graph already");
        graph.add(2, &[]).unwrap();
        assert_eq!(graph.edges(), [(EMPTY, 1), (EMPTY, 2)].map(|(from, to)| (node(from), node(to))));
        assert_eq!(graph.roots.own(), 1);
    }
}
