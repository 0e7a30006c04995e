//! Windows of a software graph: nothing is open at the driver, so opening and closing cannot fail, and the recording that
//! the book keeps is lowered to a program at the end.

use std::time::Instant;

use graphreel::DeviceKind;
use graphreel::ServerError;
use graphreel::book::{Book, LiveRecording};
use graphreel::capture::{SealParts, WindowHost};
use graphreel::error::Result;
use graphreel::recording::{GraphReport, Tier, TierChoice};
use graphreel::server::{GraphId, Sealed};
use graphreel::stream::SlotIndex;

use crate::cuts::{Shape, cuts};
use crate::graph::Graph;
use crate::lowering::{Source, lower};
use crate::server::WgpuServer;

impl WgpuServer {
    /// The tier of a window, or why there is none.
    fn choose_tier(&self, slot: SlotIndex, policy: &graphreel::CapturePolicy) -> Result<TierChoice> {
        policy.choose(&self.gpu.caps.tiers).map_err(|reasons| {
            tracing::debug!(slot = slot.0, reasons, "no tier for a capture");
            ServerError::TierRefused { reasons: reasons.into() }
        })
    }

    fn build(&mut self, slot: SlotIndex, id: GraphId, parts: SealParts) -> Result<(Graph, GraphReport)> {
        let started = Instant::now();
        let choice = self.choose_tier(slot, &parts.options.policy)?;
        let SealParts { recorded, claims, .. } = parts;
        let live = LiveRecording::new(id, claims, recorded);
        let recording = live.recording.clone();
        let mut report = GraphReport::new(choice);
        let mut program = None;
        if report.tier == Tier::ReEncoded {
            let (gpu, pages, builtins) = (&*self.gpu, &self.pages, &self.batch.builtins);
            let lowered = lower(Source { gpu, pages, builtins, live: &live })?;
            lowered.rehearse(gpu)?;
            program = Some(lowered);
        }
        self.gpu.monitor.check()?;
        report.nodes = recording.nodes.len();
        report.edges = recording.edges();
        report.critical_path = recording.critical_path();
        let cuts = cuts(Shape {
            nodes: report.nodes,
            critical_path: report.critical_path,
            software: self.gpu.info.kind == DeviceKind::Software,
            fixed: self.config.submit_nodes,
        });
        report.submits = match report.tier {
            Tier::ReEncoded => cuts.len(),
            _ => report.nodes.div_ceil(self.config.batch_operations_max.max(1)),
        };
        report.host_bytes = recording.host.iter().map(|bytes| bytes.len() as u64).sum();
        report.frozen = recording.frozen(&live.kernels);
        report.params = recording.params.iter().map(|param| param.name.clone()).collect();
        report.exclusive_slot = parts.exclusive;
        report.record_time = parts.record_time;
        let mut graph = Graph { program, cuts, live, pages: Vec::new(), epoch: 0 };
        graph.note_pages(&self.pages, self.gpu.info.id.0);
        report.pinned_bytes = self.pin(&graph);
        report.seal_time = started.elapsed();
        Ok((graph, report))
    }

    /// Count what `graph` holds as pinned; its bytes.
    pub(crate) fn pin(&mut self, graph: &Graph) -> u64 {
        let ids = graph.live.held();
        ids.iter().for_each(|id| self.pages.pool_mut().pin(*id));
        ids.iter().filter_map(|id| self.pages.pool().slice_of(*id)).map(|slice| slice.bytes).sum()
    }

    /// Undo [`WgpuServer::pin`].
    pub(crate) fn unpin(&mut self, graph: &Graph) {
        graph.live.held().iter().for_each(|id| self.pages.pool_mut().unpin(*id));
    }
}

impl WindowHost for WgpuServer {
    type Closed = ();

    fn book(&mut self) -> &mut Book {
        &mut self.book
    }

    fn arm(&mut self, slot: SlotIndex) -> Result<()> {
        // A policy that no tier meets is told before the warmup, not after the recording.
        let policy = self.book.slots().get(slot).options.policy.clone();
        self.choose_tier(slot, &policy)?;
        self.armed.insert(slot);
        self.pages.pool_mut().prime(slot);
        Ok(())
    }

    fn end_priming(&mut self, slot: SlotIndex) {
        self.pages.pool_mut().end_priming(slot);
    }

    fn window_closed(&mut self, slot: SlotIndex) {
        self.armed.remove(&slot);
        self.collect();
        self.pages.pool_mut().window_closed(slot);
    }

    fn flush_before_window(&mut self, _slot: SlotIndex) -> Result<()> {
        self.collect();
        self.submit_batch().map(|_| ())
    }

    fn open_window(&mut self, _slot: SlotIndex) -> Result<()> {
        self.gpu.monitor.check()
    }

    fn close_window(&mut self, _slot: SlotIndex) -> Result<()> {
        Ok(())
    }

    fn seal(&mut self, slot: SlotIndex, _closed: (), parts: SealParts) -> Result<Sealed> {
        let id = GraphId::fresh();
        let buffers = parts.recorded.buffers.iter().map(graphreel::memory::BufferBinding::claim_key).collect();
        let recording = parts.recorded.recording.clone();
        let (graph, report) = self.build(slot, id, parts)?;
        tracing::debug!(graph = id.0, tier = %report.tier, nodes = report.nodes, "graph sealed");
        self.counters.captures += 1;
        self.counters.captures_eager += u64::from(report.tier == Tier::Eager);
        self.counters.seal_time += report.seal_time;
        self.graphs.insert(id, graph);
        Ok(Sealed { id, report, recording, buffers })
    }

    fn discard(&mut self, _slot: SlotIndex, _closed: ()) {}

    /// Nothing is deferred on a software graph: it refuses instead (C-55).
    fn run_deferred(&mut self, _slot: SlotIndex) {}
}
