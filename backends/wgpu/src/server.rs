//! The server: every call of the contract, over the parts of this crate.

use std::any::Any;
use std::collections::{BTreeSet, HashMap, VecDeque};

use graphreel::book::{Admission, Book, Role};
use graphreel::capture::window;
use graphreel::device::Monitor;
use graphreel::error::{GraphOp, MemoryLimit, Result};
use graphreel::kernel::Compiler;
use graphreel::lifecycle::DirectUse;
use graphreel::memory::{Account, BufferBinding, Handle, ManagedMemoryId, MemoryService, MemoryUsage, TrimReport};
use graphreel::op::{Bytes, Op, check, check_range};
use graphreel::server::{CaptureOptions, CaptureStatus, Counters, GraphId, GraphUpdate, ParamUpdate, Sealed, WaitMode};
use graphreel::staging::Staging;
use graphreel::stream::{SlotIndex, StreamId};
use graphreel::sync::Arc;
use graphreel::ticket::{Fence, Profile, ReplayReport, Ticket};
use graphreel::{Caps, Config, DeviceInfo, Server, ServerError};

use crate::batch::Batch;
use crate::gpu::Gpu;
use crate::graph::Graph;
use crate::pages::{Pages, Spot};
use crate::pipeline::WgpuCompiler;
use crate::replay::{Injected, unknown};
use crate::staging::StagingPool;
use crate::submits::Submits;
use crate::uploads::Uploads;

/// One wgpu device. All streams share its one queue, so the order of calls is the order of execution.
pub struct WgpuServer {
    // Graphs go first: their programs hold bind groups and buffers of the rest (C-83).
    pub(crate) graphs: HashMap<GraphId, Graph>,
    pub(crate) batch: Batch,
    pub(crate) submits: Submits,
    pub(crate) pages: Pages,
    pub(crate) staging: StagingPool,
    pub(crate) uploads: Uploads,
    pub(crate) book: Book,
    pub(crate) service: MemoryService,
    pub(crate) compiler: Arc<WgpuCompiler>,
    pub(crate) config: Config,
    pub(crate) counters: Counters,
    /// Slots with an active window: while there is one, caches keep everything (C-63).
    pub(crate) armed: BTreeSet<SlotIndex>,
    /// Failures of earlier batches that no call has answered with yet.
    pub(crate) unreported: VecDeque<ServerError>,
    pub(crate) injected: Injected,
    pub(crate) gpu: Arc<Gpu>,
    dropped: Vec<ManagedMemoryId>,
    torn_down: bool,
    /// The hold of a direct user, given back behind the device.
    pub(crate) claim: Option<DirectUse>,
}

impl std::fmt::Debug for WgpuServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WgpuServer")
            .field("info", &self.gpu.info)
            .field("graphs", &self.graphs.len())
            .finish_non_exhaustive()
    }
}

impl WgpuServer {
    /// A server over an opened device.
    ///
    /// # Errors
    ///
    /// What making its own kernels and buffers answers.
    pub(crate) fn new(gpu: Arc<Gpu>, service: MemoryService, config: Config) -> Result<Self> {
        Ok(Self {
            graphs: HashMap::new(),
            batch: Batch::new(&gpu)?,
            submits: Submits::new(&gpu, config.submits_in_flight_max),
            pages: Pages::new(&gpu, &config),
            staging: StagingPool::default(),
            uploads: Uploads::default(),
            book: Book::new(gpu.info.id, &gpu.caps, &config),
            service,
            compiler: Arc::new(WgpuCompiler { gpu: gpu.clone() }),
            config,
            counters: Counters::default(),
            armed: BTreeSet::new(),
            unreported: VecDeque::new(),
            injected: Injected::default(),
            gpu,
            dropped: Vec::new(),
            torn_down: false,
            claim: None,
        })
    }

    /// The head of each call: nothing reaches wgpu after the loss, and dropped memory is taken back.
    pub(crate) fn enter(&mut self) -> Result<()> {
        if let Some(lost) = self.gpu.monitor.lost() {
            if !self.torn_down {
                self.torn_down = true;
                window::teardown(self, &lost);
                self.graphs.clear();
                // wgpu may complain about a pass of a lost device; nobody needs to hear it.
                let _ = self.gpu.scoped(|| drop(self.batch.close(&self.gpu.queue)));
            }
            return Err(lost);
        }
        self.collect();
        Ok(())
    }

    /// Take back memory whose last handle went.
    pub(crate) fn collect(&mut self) {
        self.service.drain_dropped(&mut self.dropped);
        for id in self.dropped.drain(..) {
            self.pages.release(id);
            self.batch.freed(id);
            self.book.ledger_mut().freed(id);
        }
        self.forget_pages();
    }

    /// As [`Pages::reserve`]. Where the device has no memory left, what is free goes back to it first, with the bind groups
    /// that would keep it.
    fn reserve(&mut self, id: ManagedMemoryId, bytes: u64, account: &Account, slot: SlotIndex) -> Result<Option<Spot>> {
        match self.pages.reserve(&self.gpu, id, bytes, account, Some(slot)) {
            Err(ServerError::OutOfMemory(refusal)) if refusal.refused_by == MemoryLimit::Device => {
                self.trim();
                self.pages.reserve(&self.gpu, id, bytes, account, Some(slot))
            }
            outcome => outcome,
        }
    }

    /// Zero what another account used, in a batch of its own: one that is refused for an operation beside it must not leave
    /// that account's bytes readable.
    fn zero(&mut self, spot: &Spot) -> Result<()> {
        if let Err(error) = self.submit_batch() {
            self.gpu.monitor.check()?;
            self.report_later(error);
        }
        self.batch.clear(&self.gpu, &self.pages, spot)?;
        self.submit_batch()
    }

    fn forget_pages(&mut self) {
        let removed = self.pages.take_removed();
        self.batch.groups.forget(&removed);
    }
}

impl Drop for WgpuServer {
    /// Queued work was accepted, and may write an application's buffers: it is handed to the device, without waiting for it.
    fn drop(&mut self) {
        if self.gpu.monitor.lost().is_none()
            && let Err(error) = self.submit_batch()
        {
            tracing::warn!(%error, "the last batch of a dropped device was refused");
        }
    }
}

impl Server for WgpuServer {
    fn info(&self) -> DeviceInfo {
        self.gpu.info.clone()
    }

    fn caps(&self) -> Caps {
        self.gpu.caps.clone()
    }

    fn memory_service(&self) -> MemoryService {
        self.service.clone()
    }

    fn compiler(&self) -> Arc<dyn Compiler> {
        self.compiler.clone()
    }

    fn monitor(&self) -> Arc<Monitor> {
        self.gpu.monitor.clone()
    }

    fn alloc(&mut self, stream: StreamId, bytes: u64, account: &Account) -> Result<Handle> {
        self.enter()?;
        if bytes == 0 {
            let error = ServerError::InvalidSize { bytes, problem: "a buffer has at least one byte".into() };
            self.book.doom(stream, error.clone());
            return Err(error);
        }
        let handle = Handle::new(&self.service, stream, bytes);
        let id = handle.memory().id();
        let slot = self.book.slots().index_of(stream);
        let zero = self.reserve(id, bytes, account, slot);
        let placed = zero.and_then(|zero| match zero {
            Some(spot) => self.zero(&spot).inspect_err(|_| self.pages.pool_mut().not_zeroed(id)),
            None => Ok(()),
        });
        self.forget_pages();
        if let Err(error) = placed {
            self.book.doom(stream, error.clone());
            return Err(error);
        }
        self.book.ledger_mut().allocated(id, bytes);
        Ok(handle)
    }

    fn lease_stream(&mut self) -> Option<StreamId> {
        self.book.lease_stream()
    }

    fn return_stream(&mut self, stream: StreamId) {
        window::return_stream(self, stream);
    }

    fn submit(&mut self, stream: StreamId, op: Op) -> Result<()> {
        self.enter()?;
        if let Err(error) = check(&op, &self.gpu.caps, self.gpu.info.id) {
            self.book.doom(stream, error.clone());
            return Err(error);
        }
        match self.book.admit(stream, &op)? {
            Admission::Record { .. } | Admission::Refused => Ok(()),
            Admission::Run | Admission::Side { .. } => {
                self.run(stream, &op)?;
                if self.batch.is_full(self.config.batch_operations_max) { self.submit_batch() } else { Ok(()) }
            }
        }
    }

    fn doom(&mut self, stream: StreamId, error: &ServerError) {
        self.book.doom(stream, error.clone());
    }

    fn stage(&mut self, bytes: u64) -> Result<Box<dyn Staging>> {
        self.enter()?;
        self.lend(bytes)
    }

    fn write_staged(&mut self, stream: StreamId, dst: BufferBinding, staged: Box<dyn Staging>) -> Result<()> {
        self.enter()?;
        self.write_lent(stream, dst, staged)
    }

    fn fail_write(&mut self, stream: StreamId, dst: BufferBinding, error: &ServerError) -> Result<()> {
        check_range("write", &dst, self.gpu.info.id)?;
        self.book.failed(stream, &Op::staged_write(dst), error);
        Ok(())
    }

    fn flush(&mut self, stream: StreamId) -> Result<()> {
        self.enter()?;
        if self.book.role(stream) != Role::Free {
            return Ok(());
        }
        self.submit_batch()?;
        self.report()
    }

    fn read(&mut self, stream: StreamId, ranges: Vec<BufferBinding>, mode: WaitMode) -> Result<Ticket<Vec<Bytes>>> {
        self.enter()?;
        self.book.refuse_in_window(stream, GraphOp::Read, mode)?;
        self.read_ranges(&ranges)
    }

    fn sync(&mut self, stream: StreamId, mode: WaitMode) -> Result<Ticket<()>> {
        self.enter()?;
        self.book.refuse_in_window(stream, GraphOp::Sync, mode)?;
        self.submit_batch()?;
        self.report()?;
        Ok(self.done(()))
    }

    fn is_idle(&mut self) -> Result<bool> {
        self.enter()?;
        // A batch that is refused is done, and its outputs say so.
        if let Err(error) = self.submit_batch() {
            self.gpu.monitor.check()?;
            self.report_later(error);
        }
        self.submits.fence(None).map_or(Ok(true), |fence| fence.is_passed())
    }

    fn runs_in_process(&self) -> bool {
        self.gpu.info.kind == graphreel::DeviceKind::Software && self.submits.may_run()
    }

    fn pressure(&self) -> Option<Arc<dyn Fence>> {
        if self.gpu.monitor.lost().is_some() {
            return None;
        }
        self.submits.pressure().or_else(|| self.upload_pressure())
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn profile(&mut self, stream: StreamId, ops: Vec<Op>) -> Result<Ticket<Profile>> {
        self.enter()?;
        self.book.refuse_in_window(stream, GraphOp::Profile, WaitMode::Blocking)?;
        self.profile_ops(stream, &ops)
    }

    fn graph_prepare(&mut self, stream: StreamId, options: CaptureOptions) -> Result<()> {
        self.enter()?;
        window::graph_prepare(self, stream, options)
    }

    fn begin_capture(&mut self, stream: StreamId) -> Result<()> {
        self.enter()?;
        window::begin_capture(self, stream)
    }

    fn end_capture(&mut self, stream: StreamId) -> Result<Sealed> {
        self.enter()?;
        let sealed = window::end_capture(self, stream);
        if sealed.as_ref().is_err_and(|error| !is_misplaced_end(error)) {
            self.counters.captures_failed += 1;
        }
        sealed
    }

    fn graph_abort(&mut self, stream: StreamId) -> Result<()> {
        self.enter()?;
        let recording = self.book.status(stream).recording;
        window::graph_abort(self, stream)?;
        self.counters.captures_failed += u64::from(recording);
        Ok(())
    }

    fn capture_status(&self, stream: StreamId) -> CaptureStatus {
        self.book.status(stream)
    }

    fn replay(&mut self, stream: StreamId, graph: GraphId, timed: bool) -> Result<Ticket<ReplayReport>> {
        self.enter()?;
        self.run_graph(stream, graph, timed)
    }

    fn graph_update(&mut self, graph: GraphId, update: GraphUpdate) -> Result<()> {
        self.enter()?;
        let mut found = self.graphs.remove(&graph).ok_or_else(|| unknown(GraphOp::Update, graph))?;
        let rebinds = update.changes.iter().any(|(_, change)| matches!(change, ParamUpdate::Buffer(_)));
        if rebinds {
            self.unpin(&found);
        }
        let outcome = found.update(&self.gpu, &self.pages, &self.batch.builtins, &update);
        if rebinds {
            self.pin(&found);
        }
        self.graphs.insert(graph, found);
        outcome?;
        self.counters.updates += 1;
        Ok(())
    }

    fn graph_destroy(&mut self, graph: GraphId) {
        if let Some(graph) = self.graphs.remove(&graph) {
            self.unpin(&graph);
            drop(graph);
            self.collect();
        }
    }

    fn external_write(&mut self, _stream: StreamId, range: BufferBinding) -> Result<()> {
        self.enter()?;
        check_range("external_write", &range, self.gpu.info.id)?;
        // What was queued before comes before the outside writer's next submission.
        self.submit_batch()?;
        self.book.ledger_mut().written(range.memory.id(), range.range());
        Ok(())
    }

    fn memory_usage(&mut self) -> MemoryUsage {
        self.collect();
        self.pages.pool().usage()
    }

    fn trim(&mut self) -> TrimReport {
        if self.enter().is_err() {
            return TrimReport::default();
        }
        self.staging.clear();
        self.uploads.clear();
        let report = self.pages.trim();
        self.forget_pages();
        self.submits.poll();
        report
    }

    fn counters(&self) -> Counters {
        Counters {
            submits: self.submits.count(),
            tainted_skips: self.book.tainted_skips(),
            device_faults: self.gpu.faults.seen(),
            driver_allocations: self.pages.allocations(),
            ..self.counters
        }
    }
}

/// Whether an `end_capture` found no window to end: then no window failed.
fn is_misplaced_end(error: &ServerError) -> bool {
    matches!(error.graph_rule(), Some(graphreel::GraphRule::NothingRecording))
}
