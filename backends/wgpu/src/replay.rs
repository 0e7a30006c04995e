//! Replays: what must be known is checked, the nodes are encoded again, and submits are cut so that the device runs the
//! first while the next are encoded.

use graphreel::ServerError;
use graphreel::error::{GraphOp, GraphRule, GraphState, Result};
use graphreel::server::GraphId;
use graphreel::stream::StreamId;
use graphreel::sync::Arc;
use graphreel::ticket::{Passed, ReplayReport, Ticket};

use crate::batch::Scene;
use crate::graph::Graph;
use crate::pages::Pages;
use crate::server::WgpuServer;
use crate::staging::Staging;
use crate::tape::Tape;
use crate::timing::{StampReader, Stamps};

/// Failures to be made in coming replays, for tests of what follows from them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Injected {
    /// Replays that fail before their first submit.
    pub(crate) before: u32,
    /// Replays that fail after it.
    pub(crate) after: u32,
}

/// A replay that failed, and whether something of it may have run.
struct Failed {
    error: ServerError,
    ran: bool,
}

/// What a timed replay is read from.
type Timed = Option<(Staging, StampReader, u64)>;

impl WgpuServer {
    /// See [`graphreel::Server::replay`].
    pub(crate) fn run_graph(&mut self, stream: StreamId, id: GraphId, timed: bool) -> Result<Ticket<ReplayReport>> {
        let mut graph = self.graphs.remove(&id).ok_or_else(|| unknown(GraphOp::Replay, id))?;
        let outcome = self.admit_and_run(stream, &mut graph, timed);
        let nodes = graph.live.recording.nodes.len();
        self.graphs.insert(id, graph);
        let times = outcome?;
        self.counters.replays += 1;
        self.counters.replayed_nodes += nodes as u64;
        Ok(self.replay_ticket(times, timed.then_some(nodes)))
    }

    fn admit_and_run(&mut self, stream: StreamId, graph: &mut Graph, timed: bool) -> Result<Timed> {
        // The eager work before it comes first; its failure is its own, told by taint and once as a fault.
        if self.book.role(stream) != graphreel::book::Role::Owner
            && let Err(error) = self.submit_batch()
        {
            self.gpu.monitor.check()?;
            self.report_later(error);
        }
        let _ = self.book.admit_replay(stream, &graph.live.claims)?;
        match self.run_program(graph, timed) {
            Ok(times) => {
                self.book.replayed(&graph.live.claims);
                Ok(times)
            }
            Err(Failed { error, ran }) => {
                if ran {
                    self.gpu.faults.count();
                    self.book.replay_faulted(&graph.live.claims, &error);
                } else {
                    self.book.replay_refused(&graph.live.claims, &error);
                }
                Err(error)
            }
        }
    }

    fn run_program(&mut self, graph: &mut Graph, timed: bool) -> Result<Timed, Failed> {
        let refuse = |error| Failed { error, ran: false };
        check_pages(graph, &self.pages).map_err(refuse)?;
        if self.injected.before > 0 {
            self.injected.before -= 1;
            let fault =
                || ServerError::DeviceFault { origin: "a replay".into(), reason: "injected before submit".into() };
            return Err(refuse(fault()));
        }
        if graph.program.is_none() {
            return self.run_eagerly(graph);
        }
        let nodes = graph.live.recording.nodes.len();
        let mut stamps = None;
        let mut readback = None;
        if timed {
            let made = self.gpu.scoped(|| Stamps::new(&self.gpu, nodes));
            let fault =
                |caught: crate::fault::Caught| caught.into_memory(&self.gpu.monitor, "timestamps", nodes as u64 * 16);
            stamps = made.map_err(fault).map_err(refuse)?;
            if stamps.is_some() {
                readback = Some(self.staging.take(&self.gpu, nodes as u64 * 16).map_err(refuse)?);
            }
        }
        self.encode_and_submit(graph, stamps, readback)
    }

    fn encode_and_submit(
        &mut self,
        graph: &mut Graph,
        mut stamps: Option<Stamps>,
        readback: Option<Staging>,
    ) -> Result<Timed, Failed> {
        let Some(program) = &mut graph.program else { return Ok(None) };
        let nodes = program.nodes.len();
        // Timestamps of all nodes are resolved together.
        let whole = [nodes];
        let ends = if stamps.is_some() { &whole[..] } else { &graph.cuts };
        let gpu = &*self.gpu;
        let mut times = None;
        let mut first = 0;
        for last in ends.iter().copied() {
            let ran = first > 0;
            let stamps = stamps.take();
            let encode = || {
                program.write_entries(&gpu.queue);
                let mut tape = Tape::new(&gpu.device, "graphreel replay", stamps);
                (first..last).for_each(|index| program.encode(index, &mut tape));
                tape.finish(readback.as_ref().map(Staging::buffer))
            };
            let encoded = gpu.scoped(encode).map_err(|caught| caught.into_fault(&gpu.monitor, "a replay"));
            let submitted = encoded.and_then(|(commands, reader)| {
                times = reader;
                self.submits.submit(gpu, [commands], "a replay")
            });
            submitted.map_err(|error| {
                // It is not known whether the queue took them.
                program.entries_changed = true;
                Failed { error, ran }
            })?;
            first = last;
            if self.injected.after > 0 {
                self.injected.after -= 1;
                let reason = "injected after submit".into();
                return Err(Failed {
                    error: ServerError::DeviceFault { origin: "a replay".into(), reason },
                    ran: true,
                });
            }
        }
        Ok(readback.zip(times).map(|(staging, (reader, bytes))| (staging, reader, bytes)))
    }

    /// The eager tier: the recorded operations, launched again.
    fn run_eagerly(&mut self, graph: &Graph) -> Result<Timed, Failed> {
        for index in 0..graph.live.recording.nodes.len() {
            let Some(op) = graph.live.operation(index) else { continue };
            let scene = Scene { gpu: &self.gpu, pages: &self.pages, keep_all: !self.armed.is_empty() };
            self.batch.encode(scene, &op).map_err(|error| Failed { error, ran: index > 0 })?;
            if self.batch.is_full(self.config.batch_operations_max) {
                self.submit_batch().map_err(|error| Failed { error, ran: true })?;
            }
        }
        self.submit_batch().map_err(|error| Failed { error, ran: true })?;
        Ok(None)
    }

    fn replay_ticket(&mut self, timed: Timed, nodes: Option<usize>) -> Ticket<ReplayReport> {
        let absent = nodes.map_or(Vec::new(), |nodes| StampReader::absent(nodes).read(&[]).0);
        match timed {
            Some((mut staging, reader, bytes)) if bytes > 0 => {
                let mapped = staging.map(bytes);
                let fence = self.submits.fence(Some(mapped)).unwrap_or_else(|| Arc::new(Passed));
                let finish = move |_: &mut dyn graphreel::Server| {
                    let read = staging.read(bytes, &[(0, bytes)])?;
                    Ok(ReplayReport { nodes: reader.read(&read[0]).0 })
                };
                Ticket { fence, finish: Box::new(finish) }
            }
            _ => {
                let fence = self.submits.fence(None).unwrap_or_else(|| Arc::new(Passed));
                Ticket { fence, finish: Box::new(move |_| Ok(ReplayReport { nodes: absent })) }
            }
        }
    }
}

/// A graph that this device does not have.
pub(crate) fn unknown(call: GraphOp, id: GraphId) -> ServerError {
    GraphState::new(call, GraphRule::UnknownGraph { graph: id.0 }).into()
}

fn check_pages(graph: &mut Graph, pages: &Pages) -> Result<()> {
    match graph.moved(pages) {
        None => Ok(()),
        Some((page, recorded, found)) => {
            Err(ServerError::MovedMemory { graph: graph.live.claims.id.0, page, recorded, found })
        }
    }
}

#[cfg(test)]
mod tests {
    use graphreel::server::CaptureOptions;
    use graphreel::{Server, ServerError};

    use crate::tests::Breakable;

    #[test]
    fn scalars_of_a_replay_that_was_refused_are_handed_over_again() {
        // C-84: a graph that ran nothing is tried again, with what it has then.
        let Some(mut rig) = Breakable::open() else { return };
        let (plain, wrapped) = (rig.alloc(), rig.wrapped.clone());
        rig.server.graph_prepare(rig.stream, CaptureOptions::default()).expect("no window is open");
        rig.server.begin_capture(rig.stream).expect("it is prepared");
        rig.fill(&wrapped);
        rig.fill(&plain);
        let graph = rig.server.end_capture(rig.stream).expect("a graph").id;
        rig.raw.destroy();
        let refused = rig.server.replay(rig.stream, graph, false).map(drop);
        let refused = refused.expect_err("wgpu refuses a destroyed buffer");
        assert!(matches!(refused, ServerError::DeviceFault { .. }), "{refused}");
        let program = rig.server.graphs[&graph].program.as_ref().expect("it is re-encoded");
        assert!(program.entries_changed, "the queue may not have taken them");
    }
}
