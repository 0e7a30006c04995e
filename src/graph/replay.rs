//! Replays and updates: ordered after everything their buffers' users do, and serialised with each other by the driver.

use super::driver::Driver;
use super::executable::{HardwareGraph, Source};
use super::fence::EventFence;
use super::issue::{Failed, Timings, With};
use super::lanes::Role;
use super::order::LaneId;
use super::server::{HardwareServer, unknown};
use crate::book::{Admission, Applied};
use crate::error::{GraphOp, Result, ServerError};
use crate::memory::BufferBinding;
use crate::recording::Tier;
use crate::server::{GraphId, GraphUpdate, Server};
use crate::stream::{SlotIndex, StreamId};
use crate::sync::Arc;
use crate::ticket::{ReplayReport, Ticket};

impl<D: Driver> HardwareServer<D> {
    /// See [`Server::replay`].
    pub(super) fn run_graph(&mut self, stream: StreamId, id: GraphId, timed: bool) -> Result<Ticket<ReplayReport>> {
        let mut graph = self.graphs.remove(&id).ok_or_else(|| unknown(GraphOp::Replay, id))?;
        let outcome = self.admit_and_run(stream, &mut graph, timed);
        let nodes = graph.live.recording.nodes.len();
        self.graphs.insert(id, graph);
        let ticket = outcome?;
        self.counters.replays += 1;
        self.counters.replayed_nodes += nodes as u64;
        Ok(ticket)
    }

    fn admit_and_run(
        &mut self,
        stream: StreamId,
        graph: &mut HardwareGraph<D>,
        timed: bool,
    ) -> Result<Ticket<ReplayReport>> {
        let slot = self.book.slots().index_of(stream);
        let role = match self.book.admit_replay(stream, &graph.live.claims)? {
            Admission::Side { .. } => Role::Side(slot),
            Admission::Run | Admission::Record { .. } | Admission::Refused => Role::Main(slot),
        };
        match self.launch_graph(graph, role, timed) {
            Ok(ticket) => {
                self.book.replayed(&graph.live.claims);
                Ok(ticket)
            }
            Err(Failed { error, ran }) => {
                if ran {
                    self.book.replay_faulted(&graph.live.claims, &error);
                } else {
                    self.book.replay_refused(&graph.live.claims, &error);
                }
                Err(error)
            }
        }
    }

    fn launch_graph(
        &mut self,
        graph: &mut HardwareGraph<D>,
        role: Role,
        timed: bool,
    ) -> Result<Ticket<ReplayReport>, Failed> {
        self.check_pages(graph)?;
        let lane = self.lane(role)?;
        if timed || graph.tier == Tier::Eager {
            return self.run_nodes(graph, lane, timed);
        }
        if graph.executable.is_none() {
            // An update failed half way through.
            self.make_anew(graph, Vec::new())?;
        }
        self.launch_executable(graph, lane)?;
        // The replay is enqueued: what fails from here on takes nothing of it back.
        let ran = |error| Failed { error, ran: true };
        let event = self.lanes.mark(self.lanes.end(lane)).map_err(ran)?.1;
        let fence = Arc::new(EventFence::new(vec![event]));
        Ok(Ticket { fence, finish: Box::new(|_| Ok(ReplayReport { nodes: Vec::new() })) })
    }

    #[expect(unsafe_code, reason = "orders the replay and keeps what it reaches")]
    fn launch_executable(&mut self, graph: &mut HardwareGraph<D>, lane: LaneId) -> Result<()> {
        let Some(executable) = &graph.executable else { return Ok(()) };
        self.scratch.clear();
        for (binding, access) in &graph.live.claims.claims {
            self.order.before(binding.memory.id(), *access, &mut self.scratch);
        }
        // One launch of an executable at a time: both vendors see to it, and this makes it so for any driver.
        self.scratch.add_all(&graph.launched);
        self.lanes.follow(lane, &self.scratch)?;
        let point = self.lanes.issue(lane);
        for (binding, access) in &graph.live.claims.claims {
            self.order.used(binding.memory.id(), *access, point);
        }
        graph.launched = point.into();
        // SAFETY: the graph holds all that its nodes reach, and is destroyed after the point; the order above brings it after
        // its buffers' other users.
        let launched = unsafe { self.shared.driver().exec_launch(&executable.exec, self.lanes.stream(lane)) };
        self.shared.settle(launched, "replay")?;
        self.counters.submits += 1;
        Ok(())
    }

    /// The recorded operations, launched one by one: on the eager tier, and to time each.
    fn run_nodes(
        &mut self,
        graph: &mut HardwareGraph<D>,
        lane: LaneId,
        timed: bool,
    ) -> Result<Ticket<ReplayReport>, Failed> {
        let count = graph.live.recording.nodes.len();
        let timings = if timed { Some(Timings::new(self, count)) } else { None };
        let timings = timings.transpose()?;
        // Replays of one graph do not overlap, timed or not.
        self.lanes.follow(lane, &graph.launched)?;
        for index in 0..count {
            let Some(op) = graph.live.operation(index) else { continue };
            let events = timings.as_ref().and_then(|timings| timings.get(index));
            let with = With { pinned: graph.host_of(index), timed: events };
            let given = self.give(lane, &op, with);
            graph.launched.add(self.lanes.end(lane));
            given.map_err(|failed| Failed { ran: failed.ran || index > 0, ..failed })?;
        }
        let ran = |error| Failed { error, ran: true };
        let event = self.lanes.mark(self.lanes.end(lane)).map_err(ran)?.1;
        let finish = move |_: &mut dyn Server| {
            let nodes = timings.as_ref().map(Timings::read).transpose()?;
            Ok(ReplayReport { nodes: nodes.map_or(Vec::new(), |(nodes, _)| nodes) })
        };
        Ok(Ticket { fence: Arc::new(EventFence::new(vec![event])), finish: Box::new(finish) })
    }

    fn check_pages(&self, graph: &mut HardwareGraph<D>) -> Result<()> {
        let pool = self.pages.pool();
        if graph.epoch == pool.epoch() {
            return Ok(());
        }
        for (page, recorded) in &graph.pages {
            let found = pool.generation(*page).unwrap_or(0);
            if found != *recorded {
                let (graph, page, recorded) = (graph.live.claims.id.0, page.0, *recorded);
                return Err(ServerError::MovedMemory { graph, page, recorded, found });
            }
        }
        graph.epoch = pool.epoch();
        Ok(())
    }

    /// Bring a new executable to the device ahead of its first launch, where the driver can.
    pub(super) fn upload(&mut self, slot: SlotIndex, graph: &mut HardwareGraph<D>) {
        let Some(executable) = graph.executable.as_ref().filter(|_| self.shared.driver().caps().graph_upload) else {
            return;
        };
        let uploaded = self.lanes.of(Role::Main(slot)).and_then(|lane| {
            self.lanes.check_runs(lane)?;
            graph.launched = self.lanes.issue(lane).into();
            let answer = self.shared.driver().exec_upload(&executable.exec, self.lanes.stream(lane));
            self.shared.settle(answer, "bringing a graph to the device")
        });
        if let Err(error) = uploaded {
            tracing::debug!(%error, "a graph will be brought to the device by its first replay");
        }
    }

    /// See [`Server::graph_update`]: all or none.
    pub(super) fn update(&mut self, graph: &mut HardwareGraph<D>, update: &GraphUpdate) -> Result<()> {
        let applied = graph.live.apply(update, &self.caps, self.info.id)?;
        let rebinds = !applied.touched.rebound.is_empty();
        if let Err(error) = self.install(graph, &applied) {
            graph.live.undo(applied);
            return Err(error);
        }
        if rebinds {
            graph.live.renew_claims();
            graph.pages = self.pages.generations(&graph.live.held());
            graph.epoch = self.pages.pool().epoch();
        }
        Ok(())
    }

    /// Bring the executable to the parameters as they are now: node by node, else whole, else made anew. Each step that is refused
    /// leaves it to the next, so that it is all old or all new in the end.
    fn install(&mut self, graph: &mut HardwareGraph<D>, applied: &Applied) -> Result<()> {
        let touched = &applied.touched;
        let mut nodes: Vec<u32> =
            touched.scalars.iter().chain(&touched.grids).chain(&touched.rebound).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        if graph.tier == Tier::Eager || nodes.is_empty() {
            return Ok(());
        }
        let mut actions = Vec::with_capacity(nodes.len());
        for node in &nodes {
            actions.push((*node, self.node_action(graph, *node as usize)?));
        }
        let updates_max = self.shared.driver().caps().updates_per_exec_max;
        if let Some(executable) = &mut graph.executable
            && executable.knows(nodes)
            && !executable.is_worn(actions.len(), updates_max)
        {
            match executable.set(&self.shared, &actions) {
                Ok(()) => return Ok(()),
                Err(error) if error.is_device_lost() => return Err(error),
                // Some nodes may have changed: only all of them together are sure to be all old or all new.
                Err(error) => tracing::debug!(%error, "a node could not be changed; the whole graph is"),
            }
            // Where updates never give memory back, a whole graph of them is worse than a new executable.
            if updates_max.is_none() {
                return self.update_whole(graph, applied);
            }
        }
        self.make_anew(graph, applied.replaced())?;
        self.counters.updates_anew += 1;
        Ok(())
    }

    /// Bring all nodes of the executable to the parameters as they are now, or make a new one of the graph that was to do it.
    #[expect(unsafe_code, reason = "the graph's claims keep what its nodes reach")]
    fn update_whole(&mut self, graph: &mut HardwareGraph<D>, applied: &Applied) -> Result<()> {
        let source = match self.built(graph) {
            Ok(source) => source,
            failed => return self.replace(graph, failed, applied.replaced()),
        };
        if let Some(executable) = &mut graph.executable {
            // SAFETY: the graph holds its buffers and host bytes until every launch is done, and each replay is ordered.
            let answer = unsafe { self.shared.driver().exec_update(&mut executable.exec, &source.graph) };
            match self.shared.settle(answer, "updating a whole graph") {
                Ok(()) => {
                    source.discard(&mut self.lanes, &mut self.reclaim);
                    self.counters.updates_whole += 1;
                    return Ok(());
                }
                Err(error) if error.is_device_lost() => {
                    source.discard(&mut self.lanes, &mut self.reclaim);
                    return Err(error);
                }
                Err(error) => tracing::debug!(%error, "a graph could not be updated; its executable is made anew"),
            }
        }
        self.replace(graph, Ok(source), applied.replaced())?;
        self.counters.updates_anew += 1;
        Ok(())
    }

    /// A new executable in the place of the old one.
    fn make_anew(&mut self, graph: &mut HardwareGraph<D>, replaced: Vec<BufferBinding>) -> Result<()> {
        let source = self.built(graph);
        self.replace(graph, source, replaced)
    }

    /// An executable of `source` in the place of the old one, whose launches in flight keep it and the buffers `replaced` in it.
    fn replace(
        &mut self,
        graph: &mut HardwareGraph<D>,
        source: Result<Source<D>>,
        replaced: Vec<BufferBinding>,
    ) -> Result<()> {
        let made = source.and_then(|source| source.instantiate(&self.shared, &mut self.lanes, &mut self.reclaim, true));
        // The old one may hold some new values. It never runs again: where there is no new one, the next replay makes it, or
        // says why not.
        graph.retire(&mut self.lanes, &mut self.reclaim, replaced);
        graph.executable = Some(made?);
        Ok(())
    }
}
