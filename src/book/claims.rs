//! What a sealed graph reads and may write, and what its replays do to the ledger (C-76, C-77, C-84).

use std::ops::Range;

use super::{Admission, Book, Role};
use crate::error::{GraphOp, GraphRule, Result, ServerError};
use crate::memory::{Access, BufferBinding, ManagedMemoryId};
use crate::recording::Recorded;
use crate::server::GraphId;
use crate::stream::StreamId;

/// What a sealed graph touches. Plain data: an update that puts another buffer into a slot builds it anew.
#[derive(Clone, Debug)]
pub struct GraphClaims {
    /// The graph.
    pub id: GraphId,
    /// Every distinct range it was given and what it does there; keeps their memory alive.
    pub claims: Vec<(BufferBinding, Access)>,
    /// Ranges that a node reads and no earlier node has wholly written, relative to their memory.
    pub inputs: Vec<(ManagedMemoryId, Range<u64>)>,
}

impl GraphClaims {
    /// The claims of a window that was sealed as `id`.
    pub fn new(id: GraphId, claims: Vec<(BufferBinding, Access)>, recorded: &Recorded) -> Self {
        let exposed = recorded.recording.exposed_reads();
        let inputs = exposed.iter().filter_map(|place| {
            let buffer = recorded.buffers.get(place.buffer as usize)?;
            let start = buffer.range().start;
            Some((buffer.memory.id(), start + place.start..start + place.end()))
        });
        Self { id, inputs: inputs.collect(), claims }
    }

    /// The ranges that the graph may write.
    pub fn outputs(&self) -> impl Iterator<Item = &BufferBinding> {
        self.claims.iter().filter(|(_, access)| access.writes()).map(|(binding, _)| binding)
    }
}

impl Book {
    /// Decide whether a graph may be replayed on `stream` now. After it come [`Book::replayed`], or
    /// [`Book::replay_refused`] when nothing could be submitted.
    ///
    /// # Errors
    ///
    /// [`ServerError::GraphState`] inside the caller's own window; nothing changes then, not even the window.
    /// [`ServerError::Tainted`] for an input, unless only refused replays of this graph tainted it; what the graph may
    /// write carries the failure then. [`ServerError::Closed`] for memory that its payer took back.
    pub fn admit_replay(&mut self, stream: StreamId, graph: &GraphClaims) -> Result<Admission> {
        let admission = match self.role(stream) {
            Role::Owner => return Err(self.refusal(stream, GraphOp::Replay, GraphRule::ReplayInCapture)),
            Role::Neighbour { owner } if self.rules.defers_neighbours => Admission::Side { owner },
            Role::Neighbour { .. } | Role::Free => Admission::Run,
        };
        if let Some(closed) = graph.claims.iter().find_map(|(binding, _)| binding.memory.revoked()) {
            self.replay_refused(graph, &closed);
            return Err(closed);
        }
        if !self.ledger.has_taint() {
            return Ok(admission);
        }
        let tainted =
            |(id, range): &(ManagedMemoryId, Range<u64>)| self.ledger.input_taint(*id, range.clone(), Some(graph.id));
        match graph.inputs.iter().find_map(tainted) {
            None => Ok(admission),
            Some(error) => {
                self.tainted_skips += 1;
                self.replay_refused(graph, &error);
                Err(error)
            }
        }
    }

    /// A replay was enqueued: what the graph writes is readable after it (C-77).
    pub fn replayed(&mut self, graph: &GraphClaims) {
        for binding in graph.outputs() {
            self.ledger.written(binding.memory.id(), binding.range());
        }
    }

    /// A replay ran nothing: what it would have written carries the failure, and the graph itself may try again.
    pub fn replay_refused(&mut self, graph: &GraphClaims, error: &ServerError) {
        self.taint_graph(graph, error, Some(graph.id));
    }

    /// A replay failed after its first submit: what the graph may write is wrong, for its own next replay too.
    pub fn replay_faulted(&mut self, graph: &GraphClaims, error: &ServerError) {
        self.taint_graph(graph, error, None);
    }

    fn taint_graph(&mut self, graph: &GraphClaims, error: &ServerError, by: Option<GraphId>) {
        for binding in graph.outputs() {
            self.ledger.taint(binding.memory.id(), binding.range(), error, by);
        }
    }
}
