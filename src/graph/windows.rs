//! Windows of a hardware graph: the driver records the slot's stream, or nothing is open and the graph is built at the end.

use std::time::Instant;

use super::driver::{CaptureState, Driver};
use super::executable::{Executable, HardwareGraph, Source};
use super::fence::Gate;
use super::lanes::Role;
use super::order::{Point, Points};
use super::pinned::PinnedBytes;
use super::server::HardwareServer;
use crate::book::{Book, LiveRecording};
use crate::capture::{SealParts, WindowHost};
use crate::error::{Result, ServerError};
use crate::op::{BufferArg, GridArg, Op, ValueArg};
use crate::recording::{CapturePolicy, GraphReport, Tier, TierChoice};
use crate::server::{GraphId, Sealed};
use crate::stream::{SlotIndex, StreamId};
use crate::sync::thread;

/// Branches of a built graph: beyond these only the time to issue it grows.
const BRANCHES_MAX: usize = 8;

/// A window between its opening and its close.
pub(super) struct OpenWindow<D: Driver> {
    tier: Tier,
    /// Host bytes of recorded copies.
    host: PinnedBytes,
    /// The driver's node of each recorded operation that an update may change.
    nodes: Vec<Option<D::Node>>,
    /// All that the slot had before; an event stands for it, so nothing has to be asked of the recording stream.
    pub(super) before: Option<Point>,
    pub(super) gate: Gate,
}

/// A closed window, not yet a graph.
pub struct ClosedWindow<D: Driver> {
    tier: Tier,
    graph: Option<D::Graph>,
    host: PinnedBytes,
    nodes: Vec<Option<D::Node>>,
}

impl<D: Driver> HardwareServer<D> {
    /// The tier of a window, or why there is none.
    fn choose_tier(&self, policy: &CapturePolicy) -> Result<TierChoice> {
        policy.choose(&self.caps.tiers).map_err(|reasons| ServerError::TierRefused { reasons: reasons.into() })
    }

    /// An operation of a window's owner, which the recording holds as `node`: on the captured tier the driver records it too.
    pub(super) fn record(&mut self, stream: StreamId, slot: SlotIndex, node: u32, op: &Op) -> Result<()> {
        let recorded = self.record_at_driver(slot, node, op);
        if let Err(error) = &recorded {
            self.book.failed(stream, op, error);
        }
        recorded
    }

    #[expect(unsafe_code, reason = "the graph will hold what the recorded work reaches")]
    fn record_at_driver(&mut self, slot: SlotIndex, node: u32, op: &Op) -> Result<()> {
        let Some(window) = self.windows.get_mut(&slot).filter(|window| window.tier == Tier::Captured) else {
            return Ok(());
        };
        let host = match op {
            Op::Write { bytes, .. } | Op::Upload { bytes, .. } => Some(window.host.push(&self.shared, bytes)?),
            _ => None,
        };
        let action = self.resolve(op, host)?;
        let lane = self.lanes.of(Role::Main(slot))?;
        let (driver, stream) = (self.shared.driver(), self.lanes.stream(lane));
        // SAFETY: nothing runs now. The recording and the window's host bytes keep what it reaches until the graph does, and
        // each replay is ordered.
        let given = unsafe { action.run(driver, stream) };
        self.shared.settle(given, op.call().prefix())?;
        let mut tail = None;
        if is_changeable(op) && driver.caps().capture_tail {
            let nodes = self.shared.settle(driver.capture_tail(stream), "finding a captured node")?;
            // Work on one stream is a chain, so the next node has one predecessor: this one.
            tail = nodes.last().copied().filter(|_| nodes.len() == 1);
        }
        if let Some(window) = self.windows.get_mut(&slot) {
            window.nodes.resize(node as usize, None);
            window.nodes.push(tail);
        }
        Ok(())
    }

    /// Open the driver's capture on the slot's stream.
    fn open_capture(&mut self, slot: SlotIndex) -> Result<()> {
        let lane = self.lanes.of(Role::Main(slot))?;
        // One that the application opened must not be ended below.
        self.lanes.check_lent(lane)?;
        let (driver, stream) = (self.shared.driver(), self.lanes.stream(lane));
        let opened = self.shared.settle(driver.capture_begin(stream), "opening a capture");
        if opened.is_err() && driver.capture_state(stream).is_ok_and(|state| state != CaptureState::None) {
            // It failed and is open all the same: only ending it makes the stream usable again.
            if let Ok(graph) = driver.capture_end(stream) {
                self.shared.destroyed(driver.graph_destroy(graph), "destroying a graph");
            }
        }
        self.lanes.set_capturing(lane, opened.is_ok());
        opened
    }

    /// End the driver's capture. The stream is usable again in every case.
    fn close_capture(&mut self, slot: SlotIndex) -> Result<D::Graph> {
        let lane = self.lanes.of(Role::Main(slot))?;
        let (driver, stream) = (self.shared.driver(), self.lanes.stream(lane));
        let ended = driver.capture_end(stream);
        self.lanes.set_capturing(lane, false);
        self.shared.settle(ended, "end_capture: the driver's capture")
    }

    fn build(
        &mut self,
        id: GraphId,
        closed: ClosedWindow<D>,
        parts: SealParts,
    ) -> Result<(HardwareGraph<D>, GraphReport)> {
        let started = Instant::now();
        let mut report = GraphReport::new(self.choose_tier(&parts.options.policy)?);
        report.tier = closed.tier;
        let SealParts { recorded, claims, .. } = parts;
        let live = LiveRecording::new(id, claims, recorded);
        let recording = live.recording.clone();
        let places = (self.pages.generations(&live.held()), self.pages.pool().epoch());
        let ClosedWindow { tier, graph: captured, host, nodes } = closed;
        let mut graph = HardwareGraph::new(tier, live, host, places);
        match self.executable(&mut graph, captured.map(|graph| Source { graph, nodes }), &mut report) {
            Ok(executable) => graph.executable = executable,
            Err(error) => {
                graph.release(&mut self.lanes, &mut self.reclaim);
                return Err(error);
            }
        }
        report.nodes = recording.nodes.len();
        report.edges = recording.edges();
        report.critical_path = recording.critical_path();
        report.submits = if graph.executable.is_some() { 1 } else { report.nodes };
        report.host_bytes = recording.host.iter().map(|bytes| bytes.len() as u64).sum();
        report.frozen = recording.frozen(&graph.live.kernels);
        report.params = recording.params.iter().map(|param| param.name.clone()).collect();
        report.exclusive_slot = parts.exclusive;
        report.record_time = parts.record_time;
        report.pinned_bytes = self.pin(&graph);
        report.seal_time = started.elapsed();
        Ok((graph, report))
    }

    /// The executable of a new graph, from its capture or built.
    fn executable(
        &mut self,
        graph: &mut HardwareGraph<D>,
        captured: Option<Source<D>>,
        report: &mut GraphReport,
    ) -> Result<Option<Executable<D>>> {
        let changeable = !graph.live.recording.params.is_empty();
        let source = match (graph.tier, captured) {
            (Tier::Eager, _) => return self.rehearse(graph).map(|()| None),
            (_, Some(source)) => self.checked(graph, source)?,
            (_, None) => self.built(graph)?,
        };
        let executable = source.instantiate(&self.shared, &mut self.lanes, &mut self.reclaim, changeable)?;
        if changeable && graph.tier == Tier::Captured && !self.shared.driver().caps().capture_tail {
            report.why.push_str("; an update makes it anew, since this driver does not name captured nodes");
        }
        Ok(Some(executable))
    }

    /// Settle what could fail in a replay that launches the recorded operations one by one (C-84): host bytes are pinned, and
    /// each operation is one that the driver can be asked for.
    fn rehearse(&mut self, graph: &mut HardwareGraph<D>) -> Result<()> {
        self.pin_host(graph)?;
        (0..graph.live.recording.nodes.len()).try_for_each(|index| self.node_action(graph, index).map(drop))
    }

    /// A captured graph that has one node for each recorded operation: drivers have accepted calls and recorded nothing.
    fn checked(&mut self, graph: &HardwareGraph<D>, source: Source<D>) -> Result<Source<D>> {
        let counted = self.shared.settle(self.shared.driver().graph_nodes(&source.graph), "counting captured nodes");
        let expected = graph.live.recording.nodes.len();
        match counted {
            Ok(found) if found == expected => Ok(source),
            found => {
                source.discard(&mut self.lanes, &mut self.reclaim);
                let found = found?;
                Err(ServerError::unsupported(
                    format!("a capture in which the driver recorded {found} of {expected} operations"),
                    "the driver does not record one of them; use the built tier",
                ))
            }
        }
    }

    /// A graph made node by node, as its recording and parameters are now: with only the true dependences on the built
    /// tier, one after the other on the captured one.
    #[expect(unsafe_code, reason = "the graph holds what its nodes reach")]
    pub(super) fn built(&mut self, graph: &mut HardwareGraph<D>) -> Result<Source<D>> {
        let recording = graph.live.recording.clone();
        self.pin_host(graph)?;
        let allowed = BRANCHES_MAX.min(self.shared.driver().caps().branches_max);
        let most = if graph.tier == Tier::Built { allowed } else { 1 };
        let plan = recording.branches(most);
        let made = self.shared.settle(self.shared.driver().graph_create(), "making a graph")?;
        let mut source = Source { graph: made, nodes: Vec::with_capacity(recording.nodes.len()) };
        let mut after = Vec::new();
        for index in 0..recording.nodes.len() {
            after.clear();
            after.extend(plan.after(index).iter().filter_map(|node| source.nodes[*node as usize]));
            let added = self.node_action(graph, index).and_then(|action| {
                // SAFETY: the graph holds its buffers, kernels and host bytes until every launch of it is done, and each
                // replay is ordered.
                let added = unsafe { action.add(self.shared.driver(), &mut source.graph, &after) };
                self.shared.settle(added, "adding a node")
            });
            match added {
                Ok(node) => source.nodes.push(Some(node)),
                Err(error) => {
                    source.discard(&mut self.lanes, &mut self.reclaim);
                    return Err(error);
                }
            }
        }
        Ok(source)
    }

    /// Pin what the graph's copies read, where the window did not.
    fn pin_host(&mut self, graph: &mut HardwareGraph<D>) -> Result<()> {
        for bytes in graph.unpinned() {
            graph.host.push(&self.shared, &bytes)?;
        }
        Ok(())
    }

    /// Node `index` as the driver is asked for it now.
    pub(super) fn node_action(&self, graph: &HardwareGraph<D>, index: usize) -> Result<super::action::Action<D>> {
        let op = graph.live.operation(index);
        let op = op.ok_or_else(|| ServerError::graph_state(format!("node {index} has no bytes behind it")))?;
        let host = matches!(op, Op::Upload { .. }).then(|| graph.host_of(index)).flatten();
        self.resolve(&op, host)
    }

    /// Count what `graph` holds as pinned; its bytes.
    pub(super) fn pin(&mut self, graph: &HardwareGraph<D>) -> u64 {
        let ids = graph.live.held();
        ids.iter().for_each(|id| self.pages.pool_mut().pin(*id));
        ids.iter().filter_map(|id| self.pages.pool().slice_of(*id)).map(|slice| slice.bytes).sum()
    }

    /// Undo [`HardwareServer::pin`].
    pub(super) fn unpin(&mut self, graph: &HardwareGraph<D>) {
        graph.live.held().iter().for_each(|id| self.pages.pool_mut().unpin(*id));
    }
}

/// Whether an update may change the operation.
fn is_changeable(op: &Op) -> bool {
    let slot = |arg: &BufferArg| arg.slot.is_some();
    let mut slotted = false;
    op.for_each_use(|arg, _| slotted |= slot(arg));
    let launch = op.launch().is_some_and(|launch| {
        launch.buffers.iter().any(slot)
            || matches!(launch.grid, GridArg::Param { .. })
            || launch.values.iter().any(|value| matches!(value, ValueArg::Param { .. }))
    });
    slotted || launch
}

impl<D: Driver> WindowHost for HardwareServer<D> {
    type Closed = ClosedWindow<D>;

    fn book(&mut self) -> &mut Book {
        &mut self.book
    }

    fn arm(&mut self, slot: SlotIndex) -> Result<()> {
        // A policy that no tier meets is told before the warmup, not after the recording.
        let policy = self.book.slots().get(slot).options.policy.clone();
        self.choose_tier(&policy)?;
        self.pages.pool_mut().prime(slot);
        Ok(())
    }

    fn end_priming(&mut self, slot: SlotIndex) {
        self.pages.pool_mut().end_priming(slot);
    }

    fn window_closed(&mut self, slot: SlotIndex) {
        if let Err(error) = self.collect() {
            tracing::debug!(%error, "the device was lost as a window closed");
        }
        self.pages.pool_mut().window_closed(slot);
    }

    fn flush_before_window(&mut self, _slot: SlotIndex) -> Result<()> {
        self.collect()
    }

    fn open_window(&mut self, slot: SlotIndex) -> Result<()> {
        let window = self.book.slots().get(slot);
        let owner = window.capture.owner().unwrap_or(StreamId { value: slot.0 as u64 });
        let tier = self.choose_tier(&window.options.policy.clone())?.tier;
        let mut before = None;
        if let Some(lane) = self.lanes.existing(Role::Main(slot)) {
            let end = self.lanes.end(lane);
            if !self.lanes.is_known_passed(end) {
                self.lanes.mark(end)?;
                before = Some(end);
            }
        }
        if tier == Tier::Captured {
            self.open_capture(slot)?;
        }
        let gate = Gate { closed: self.shared.gate(), opener: thread::current().id(), owner, slot };
        let window = OpenWindow { tier, host: PinnedBytes::default(), nodes: Vec::new(), before, gate };
        self.windows.insert(slot, window);
        self.reclaim.hold();
        Ok(())
    }

    fn close_window(&mut self, slot: SlotIndex) -> Result<ClosedWindow<D>> {
        let window = self.windows.remove(&slot);
        let window = window.ok_or_else(|| ServerError::graph_state("the window was not open at the driver"))?;
        self.deferred.push((slot, window.gate));
        self.reclaim.let_go();
        let captured = (window.tier == Tier::Captured).then(|| self.close_capture(slot)).transpose();
        // Whatever came to the side stream meanwhile is before what the slot does next.
        if let (Some(main), Some(side)) = (self.lanes.existing(Role::Main(slot)), self.lanes.existing(Role::Side(slot)))
        {
            let end = self.lanes.end(side);
            if let Err(error) = self.lanes.follow(main, &end.into()) {
                tracing::warn!(%error, "a slot could not be ordered after its side stream; its buffers still are");
            }
        }
        match captured {
            Ok(graph) => Ok(ClosedWindow { tier: window.tier, graph, host: window.host, nodes: window.nodes }),
            Err(error) => {
                let pinned = window.host.into_doomed().collect();
                self.reclaim.push(&mut self.lanes, Points::default(), pinned);
                Err(error)
            }
        }
    }

    fn seal(&mut self, slot: SlotIndex, closed: ClosedWindow<D>, parts: SealParts) -> Result<Sealed> {
        let id = GraphId::fresh();
        let buffers = parts.recorded.buffers.iter().map(crate::memory::BufferBinding::claim_key).collect();
        let recording = parts.recorded.recording.clone();
        let (mut graph, report) = self.build(id, closed, parts)?;
        self.upload(slot, &mut graph);
        tracing::debug!(graph = id.0, tier = %report.tier, nodes = report.nodes, "graph sealed");
        self.counters.captures += 1;
        self.counters.captures_eager += u64::from(report.tier == Tier::Eager);
        self.counters.seal_time += report.seal_time;
        self.graphs.insert(id, graph);
        Ok(Sealed { id, report, recording, buffers })
    }

    fn discard(&mut self, _slot: SlotIndex, closed: ClosedWindow<D>) {
        let mut doomed: Vec<_> = closed.graph.map(super::reclaim::Doomed::Graph).into_iter().collect();
        doomed.extend(closed.host.into_doomed());
        self.reclaim.push(&mut self.lanes, Points::default(), doomed);
    }

    fn run_deferred(&mut self, slot: SlotIndex) {
        // In the order in which they were asked for: a gate lets all its waits go at once, each to its own fence.
        let shared = self.shared.clone();
        self.deferred.retain(|(of, gate)| {
            if *of == slot {
                shared.open_gate(&gate.closed);
            }
            *of != slot
        });
    }
}
