//! The graph of a function in which an edge leads from a value, or from a place in the flow, to what it depends on. Whatever
//! reaches a source that differs between invocations is not uniform.

use naga::Span;

use super::cause::Note;

/// Edges of one function's graph. A 10,000-line kernel has some 100,000; millions come of loops with thousands of exits in
/// which thousands of variables are written.
const EDGES_MAX: usize = 1 << 22;

/// Nodes of one function's graph; likewise.
const NODES_MAX: usize = 1 << 22;

/// A value, or a place in the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(u32);

impl Node {
    /// What is the same for all, whatever happens.
    pub(super) const UNIFORM: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// How far the values of a source differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// From subgroup to subgroup; the invocations of one agree.
    Subgroup,
    /// From invocation to invocation.
    Invocation,
}

/// One dependence.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    from: Node,
    to: Node,
    /// The `return` without which there were no such dependence.
    pub(super) left_by: Option<Span>,
}

/// Nodes and edges, as they are found.
pub(super) struct Graph<'m> {
    notes: Vec<Note<'m>>,
    edges: Vec<Edge>,
}

impl<'m> Graph<'m> {
    pub(super) fn new() -> Self {
        Self { notes: vec![Note::None], edges: Vec::new() }
    }

    /// A node whose edges are still to come.
    pub(super) fn node(&mut self, note: Note<'m>) -> Node {
        let node = Node(u32::try_from(self.notes.len()).expect("the walk ends where the graph is full"));
        self.notes.push(note);
        node
    }

    /// What depends on all of `parts` and on nothing else.
    pub(super) fn join(&mut self, note: Note<'m>, parts: &[Node]) -> Node {
        let mut varying = parts.iter().copied().filter(|part| *part != Node::UNIFORM);
        match (varying.next(), &note) {
            (None, _) => Node::UNIFORM,
            (Some(first), Note::None) if varying.all(|part| part == first) => first,
            _ => {
                let node = self.node(note);
                parts.iter().for_each(|part| self.edge(node, *part));
                node
            }
        }
    }

    pub(super) fn edge(&mut self, from: Node, to: Node) {
        self.put(Edge { from, to, left_by: None });
    }

    /// An edge that is there because of a `return`.
    pub(super) fn edge_left_by(&mut self, from: Node, to: Node, left_by: Span) {
        self.put(Edge { from, to, left_by: Some(left_by) });
    }

    fn put(&mut self, edge: Edge) {
        if edge.to != Node::UNIFORM && edge.from != edge.to && !self.is_full() {
            self.edges.push(edge);
        }
    }

    /// Whether it took all that it takes, so that edges are missing.
    pub(super) fn is_full(&self) -> bool {
        self.edges.len() >= EDGES_MAX || self.notes.len() >= NODES_MAX
    }

    pub(super) fn note(&self, node: Node) -> &Note<'m> {
        &self.notes[node.index()]
    }

    /// The sources whose values differ at least so far.
    fn sources(&self, level: Level) -> Vec<Node> {
        let found = (0u32..).zip(&self.notes).filter(|(_, note)| note.level().is_some_and(|of| of >= level));
        found.map(|(index, _)| Node(index)).collect()
    }
}

/// A graph that is complete, with the edges that lead to each node.
pub(super) struct Complete<'m> {
    graph: Graph<'m>,
    starts: Vec<u32>,
    incoming: Vec<u32>,
}

/// Which edges are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// All.
    All,
    /// Those that are there without any `return`.
    Staying,
}

const UNREACHED: u32 = u32::MAX;
const SOURCE: u32 = u32::MAX - 1;

/// For each node the first edge of the shortest way to a source.
pub(super) struct Reach {
    next: Vec<u32>,
}

impl<'m> Complete<'m> {
    pub(super) fn new(graph: Graph<'m>) -> Self {
        let mut starts = vec![0u32; graph.notes.len() + 1];
        graph.edges.iter().for_each(|edge| starts[edge.to.index() + 1] += 1);
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut ends = starts.clone();
        let mut incoming = vec![0; graph.edges.len()];
        for (index, edge) in (0u32..).zip(&graph.edges) {
            let end = &mut ends[edge.to.index()];
            incoming[*end as usize] = index;
            *end += 1;
        }
        Self { graph, starts, incoming }
    }

    pub(super) fn note(&self, node: Node) -> &Note<'m> {
        self.graph.note(node)
    }

    /// What depends on values that differ at least so far.
    pub(super) fn reach_level(&self, level: Level, follow: Follow) -> Reach {
        self.reach(&self.graph.sources(level), follow)
    }

    /// What depends on one of `sources`.
    pub(super) fn reach(&self, sources: &[Node], follow: Follow) -> Reach {
        let mut next = vec![UNREACHED; self.graph.notes.len()];
        sources.iter().for_each(|source| next[source.index()] = SOURCE);
        let mut queue = sources.to_vec();
        let mut at = 0;
        while let Some(node) = queue.get(at).copied() {
            at += 1;
            let incoming = self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize;
            for &index in &self.incoming[incoming] {
                let edge = self.graph.edges[index as usize];
                let followed = follow == Follow::All || edge.left_by.is_none();
                if followed && next[edge.from.index()] == UNREACHED {
                    next[edge.from.index()] = index;
                    queue.push(edge.from);
                }
            }
        }
        Reach { next }
    }

    /// The shortest way from a node to a source: the nodes on it, the first left out, each with the edge that leads to it.
    pub(super) fn way(&self, reach: &Reach, from: Node) -> Vec<(Edge, Node)> {
        let mut way = Vec::new();
        let mut at = from;
        while let Some(edge) = self.graph.edges.get(reach.next[at.index()] as usize) {
            way.push((*edge, edge.to));
            at = edge.to;
        }
        way
    }
}

impl Reach {
    /// Whether a node depends on a source.
    pub(super) fn has(&self, node: Node) -> bool {
        self.next[node.index()] != UNREACHED
    }
}
