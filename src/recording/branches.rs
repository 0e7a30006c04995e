//! The built tier's schedule: which nodes follow one another on a branch, and which edges between branches are left.
//!
//! A driver runs a graph's independent nodes side by side, and past a few branches only the cost of issuing grows. So the
//! nodes are dealt to a bounded number of branches, each a chain, and only what the chains do not imply becomes an edge.

use super::node::{Node, Recording};

/// The nodes of a recording dealt to branches. Following [`Branches::after`] keeps every dependence of the recording, and
/// no more nodes than there are branches can run at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branches {
    count: usize,
    /// For each node, its branch.
    branch: Vec<u32>,
    /// For each node, where its predecessors begin in `edges`; one more at the end.
    starts: Vec<usize>,
    edges: Vec<u32>,
    critical_path: usize,
}

impl Branches {
    /// The most branches that can be asked for; what a node costs grows with their number.
    pub const MAX: usize = 64;

    /// Deal nodes to at most `max` branches (brought into 1 to [`Branches::MAX`]). `after` gives, for each node in order, the nodes that must be done
    /// before it; one that is not earlier than its node is ignored, as no recording that was validated has it.
    pub fn deal<'a>(after: impl Iterator<Item = &'a [u32]>, max: usize) -> Self {
        let mut dealer = Dealer::new(max.clamp(1, Self::MAX));
        after.for_each(|before| dealer.push(before));
        Self {
            count: dealer.tails.len(),
            critical_path: dealer.nodes.iter().map(|node| node.depth as usize).max().unwrap_or(0),
            branch: dealer.nodes.iter().map(|node| node.branch).collect(),
            starts: dealer.starts,
            edges: dealer.edges,
        }
    }

    /// How many branches have a node.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many nodes were dealt.
    pub fn nodes(&self) -> usize {
        self.branch.len()
    }

    /// The branch of a node, below [`Branches::count`]; `None` for a node that is not there.
    pub fn branch(&self, node: usize) -> Option<usize> {
        self.branch.get(node).map(|branch| *branch as usize)
    }

    /// The nodes that a node waits for, ascending: none twice, and none that another of them implies.
    pub fn after(&self, node: usize) -> &[u32] {
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(start), Some(end)) => &self.edges[*start..*end],
            _ => &[],
        }
    }

    /// Edges, all nodes together.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Nodes on the longest chain of edges; 0 for no nodes.
    pub fn critical_path(&self) -> usize {
        self.critical_path
    }
}

impl Recording {
    /// The recording's nodes dealt to at most `max` branches.
    pub fn branches(&self, max: usize) -> Branches {
        Branches::deal(self.nodes.iter().map(|node: &Node| node.after.as_slice()), max)
    }
}

/// A node that was dealt.
#[derive(Clone, Copy)]
struct Dealt {
    branch: u32,
    /// Its number on its branch, from 1.
    rank: u32,
    /// Nodes on the longest chain of edges that ends in it.
    depth: u32,
}

/// Deals one node after another. `known` is the vector clock that makes implied edges visible: for each node, how many nodes
/// of each branch are done once it is.
struct Dealer {
    max: usize,
    nodes: Vec<Dealt>,
    /// `max` numbers for each node.
    known: Vec<u32>,
    /// The last node of each branch.
    tails: Vec<u32>,
    starts: Vec<usize>,
    edges: Vec<u32>,
    /// For each branch, the latest node on it that the node at hand waits for.
    latest: Vec<Option<u32>>,
    /// The clock of the node at hand.
    clock: Vec<u32>,
}

impl Dealer {
    fn new(max: usize) -> Self {
        Self {
            max,
            nodes: Vec::new(),
            known: Vec::new(),
            tails: Vec::new(),
            starts: vec![0],
            edges: Vec::new(),
            latest: Vec::new(),
            clock: Vec::new(),
        }
    }

    fn push(&mut self, before: &[u32]) {
        let node = self.nodes.len() as u32;
        self.gather(before);
        let ready = self.latest.iter().flatten().map(|before| self.dealt(*before).depth).max().unwrap_or(0);
        let branch = self.choose(ready);
        if branch == self.tails.len() {
            self.tails.push(node);
            self.latest.push(None);
            self.clock.push(0);
        } else {
            let tail = std::mem::replace(&mut self.tails[branch], node);
            self.wait_for(tail);
        }
        let start = self.edges.len();
        for branch in 0..self.latest.len() {
            let kept = self.latest[branch].filter(|before| !self.implied(*before));
            self.edges.extend(kept);
        }
        self.edges[start..].sort_unstable();
        self.starts.push(self.edges.len());
        let depth = 1 + self.edges[start..].iter().map(|before| self.dealt(*before).depth).max().unwrap_or(0);
        self.clock[branch] += 1;
        self.nodes.push(Dealt { branch: branch as u32, rank: self.clock[branch], depth });
        self.known.extend_from_slice(&self.clock);
        self.known.resize(self.nodes.len() * self.max, 0);
    }

    fn dealt(&self, node: u32) -> Dealt {
        self.nodes[node as usize]
    }

    fn known(&self, node: u32) -> &[u32] {
        &self.known[node as usize * self.max..][..self.max]
    }

    /// Take in what the node at hand depends on: of each branch only the latest, whose clock includes the earlier ones'.
    fn gather(&mut self, before: &[u32]) {
        self.latest.clear();
        self.latest.resize(self.tails.len(), None);
        self.clock.clear();
        self.clock.resize(self.tails.len(), 0);
        for node in before.iter().filter(|node| (**node as usize) < self.nodes.len()) {
            let latest = &mut self.latest[self.nodes[*node as usize].branch as usize];
            *latest = (*latest).max(Some(*node));
        }
        for branch in 0..self.latest.len() {
            if let Some(node) = self.latest[branch] {
                self.wait_for(node);
            }
        }
    }

    /// The node at hand waits for `node` and all that is done by then.
    fn wait_for(&mut self, node: u32) {
        let known = &self.known[node as usize * self.max..][..self.max];
        self.clock.iter_mut().zip(known).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
        self.latest[self.nodes[node as usize].branch as usize] = Some(node);
    }

    /// Whether another node that the one at hand waits for waits for `before` itself.
    fn implied(&self, before: u32) -> bool {
        let Dealt { branch, rank, .. } = self.dealt(before);
        self.latest.iter().flatten().any(|other| *other != before && self.known(*other)[branch as usize] >= rank)
    }

    /// The branch for a node whose predecessors are done at `ready`; one past the last for a new one.
    fn choose(&self, ready: u32) -> usize {
        let depth = |branch: usize| self.dealt(self.tails[branch]).depth;
        let branches = 0..self.tails.len();
        // Behind a tail that the node waits for anyway, best the one that is done last, nothing is held up.
        let behind = branches.clone().filter(|branch| self.clock[*branch] == self.dealt(self.tails[*branch]).rank);
        if let Some(branch) = behind.max_by_key(|branch| (depth(*branch), std::cmp::Reverse(*branch))) {
            return branch;
        }
        if self.tails.len() < self.max {
            return self.tails.len();
        }
        // Every branch holds it up or is busy: it takes the one that lets it start first, and of those its predecessors'.
        let cost = |branch: &usize| {
            let theirs = self.latest[*branch].is_some();
            (depth(*branch).max(ready), !theirs, depth(*branch), *branch)
        };
        branches.min_by_key(cost).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal(after: &[Vec<u32>], max: usize) -> Branches {
        Branches::deal(after.iter().map(Vec::as_slice), max)
    }

    fn edges(branches: &Branches) -> Vec<&[u32]> {
        (0..branches.nodes()).map(|node| branches.after(node)).collect()
    }

    fn measures(branches: &Branches) -> (usize, usize, usize) {
        (branches.count(), branches.edges(), branches.critical_path())
    }

    fn lengths(branches: &Branches) -> Vec<usize> {
        let mut lengths = vec![0; branches.count()];
        (0..branches.nodes()).for_each(|node| lengths[branches.branch(node).unwrap()] += 1);
        lengths
    }

    #[test]
    fn nothing_has_no_branch() {
        let none = deal(&[], 8);
        assert_eq!((measures(&none), none.nodes()), ((0, 0, 0), 0));
        assert_eq!((none.branch(0), none.after(0)), (None, &[] as &[u32]));
    }

    #[test]
    fn a_chain_stays_a_chain() {
        let chain: Vec<_> = (0..1000u32).map(|node| node.checked_sub(1).into_iter().collect()).collect();
        assert_eq!(measures(&deal(&chain, 8)), (1, 999, 1000));
    }

    #[test]
    fn independent_chains_have_no_edge_between_them() {
        let one_by_one: Vec<Vec<u32>> =
            (0..512u32).map(|node| if node % 64 == 0 { vec![] } else { vec![node - 1] }).collect();
        let in_turns: Vec<Vec<u32>> = (0..512u32).map(|node| node.checked_sub(8).into_iter().collect()).collect();
        for chains in [one_by_one, in_turns] {
            let dealt = deal(&chains, 8);
            assert_eq!(measures(&dealt), (8, 8 * 63, 64));
            assert_eq!(edges(&dealt), chains);
        }
    }

    #[test]
    fn more_chains_than_branches_are_balanced() {
        let chains: Vec<Vec<u32>> =
            (0..1024u32).map(|node| if node % 64 == 0 { vec![] } else { vec![node - 1] }).collect();
        assert_eq!(measures(&deal(&chains, 8)), (8, 1024 - 8, 128));
        let in_turns: Vec<Vec<u32>> = (0..1024u32).map(|node| node.checked_sub(16).into_iter().collect()).collect();
        assert_eq!(measures(&deal(&in_turns, 8)), (8, 1024 - 8, 128));
    }

    #[test]
    fn a_fan_out_is_dealt_evenly() {
        let dealt = deal(&vec![vec![]; 100], 8);
        assert_eq!(lengths(&dealt), [13, 13, 13, 13, 12, 12, 12, 12]);
        assert_eq!(measures(&dealt), (8, 92, 13));
        let mut around: Vec<Vec<u32>> = vec![vec![]];
        around.extend(vec![vec![0]; 100]);
        around.push((1..=100).collect());
        // One root, eight branches of 12 or 13, one join that needs the last of each.
        let dealt = deal(&around, 8);
        assert_eq!((dealt.count(), dealt.critical_path(), dealt.after(101).len()), (8, 15, 8));
        assert_eq!(dealt.edges(), 100 + 8);
    }

    #[test]
    fn diamonds_reuse_two_branches() {
        let diamonds: Vec<Vec<u32>> = (0..400u32)
            .map(|node| match node % 4 {
                0 => node.checked_sub(1).into_iter().collect(),
                1 => vec![node - 1],
                2 => vec![node - 2],
                _ => vec![node - 2, node - 1],
            })
            .collect();
        let dealt = deal(&diamonds, 8);
        assert_eq!(measures(&dealt), (2, 499, 300));
        assert_eq!(edges(&dealt), diamonds);
    }

    #[test]
    fn what_a_branch_implies_is_no_edge() {
        // 0 -> 1 -> 2 on one branch, 3 -> 4 on another; 4 needs 2, and so 0 and 1.
        let dealt = deal(&[vec![], vec![0], vec![1], vec![], vec![0, 1, 2, 3], vec![1, 4]], 8);
        assert_eq!(edges(&dealt), [&[] as &[u32], &[0], &[1], &[], &[2, 3], &[4]]);
    }

    #[test]
    fn one_branch_is_the_order_of_the_calls() {
        for max in [0, 1] {
            let dealt = deal(&[vec![], vec![], vec![0], vec![]], max);
            assert_eq!(edges(&dealt), [&[] as &[u32], &[0], &[1], &[2]]);
        }
    }

    #[test]
    fn nodes_that_are_not_earlier_are_ignored() {
        let dealt = deal(&[vec![0, 7], vec![0, 0, 1]], 8);
        assert_eq!(edges(&dealt), [&[] as &[u32], &[0]]);
    }
}
