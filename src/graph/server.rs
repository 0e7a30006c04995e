//! The server of CUDA, HIP and the simulator: every call of the contract over one thin driver.

use std::any::Any;
use std::collections::HashMap;

use super::close::Closing;
use super::compile::HardwareCompiler;
use super::driver::{Driver, DriverFacts};
use super::executable::HardwareGraph;
use super::fence::{EventFence, Gate};
use super::lanes::{Lanes, Role};
use super::order::{Order, Points};
use super::pages::Pages;
use super::reclaim::{Doomed, Reclaim};
use super::shared::{Bound, Shared};
use super::staging::Staging;
use super::translate::Translator;
use super::windows::OpenWindow;
use crate::book::{Admission, Book};
use crate::caps::{Caps, DeviceInfo, DeviceKind};
use crate::capture::window;
use crate::config::Config;
use crate::device::Monitor;
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::kernel::{ADDRESS_ALIGNMENT, Compiler, SCALAR_BYTES_MAX};
use crate::memory::{
    Account, BufferBinding, DeviceId, Handle, ManagedMemoryId, MemoryService, MemoryUsage, TrimReport,
};
use crate::op::{Bytes, MAX_GROUPS, Op, check, check_range};
use crate::recording::Tier;
use crate::server::{
    CaptureOptions, CaptureStatus, Counters, GraphId, GraphUpdate, ParamUpdate, Sealed, Server, WaitMode,
};
use crate::stream::{SlotIndex, StreamId};
use crate::sync::Arc;
use crate::ticket::{Fence, Profile, ReplayReport, Ticket};

/// The tiers that hardware graphs offer, best first. Built is proven equal by the conformance suite, which runs on both.
const TIERS: [Tier; 3] = [Tier::Captured, Tier::Built, Tier::Eager];

/// What a backend is called.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Its name: `cuda`, `hip`, `sim`.
    pub name: &'static str,
    /// The vendor API below it.
    pub api: &'static str,
    /// What kind of device it is; `None` to tell by the driver's facts.
    pub kind: Option<DeviceKind>,
}

impl Backend {
    /// A device with these facts, as it tells of itself.
    pub fn describe(&self, facts: &DriverFacts, id: DeviceId) -> DeviceInfo {
        let kind = if facts.integrated { DeviceKind::Integrated } else { DeviceKind::Discrete };
        let uuid = |bytes: &[u8; 16]| {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        };
        DeviceInfo {
            backend: self.name.to_owned(),
            name: facts.name.clone(),
            api: self.api.to_owned(),
            kind: self.kind.unwrap_or(kind),
            driver: facts.driver.clone(),
            pci: facts.pci.clone(),
            uuid: facts.uuid.as_ref().map(uuid),
            memory_bytes: Some(facts.memory_bytes),
            id,
        }
    }
}

/// One device behind a [`Driver`].
///
/// Its drop hands everything to the device, waits for nothing, and destroys what it made: at once where no work is in flight,
/// else on a thread of its own once the work is done.
pub struct HardwareServer<D: Driver> {
    pub(super) graphs: HashMap<GraphId, HardwareGraph<D>>,
    pub(super) windows: HashMap<SlotIndex, OpenWindow<D>>,
    pub(super) book: Book,
    pub(super) order: Order,
    pub(super) lanes: Lanes<D>,
    pub(super) pages: Pages<D>,
    pub(super) staging: Staging<D>,
    pub(super) reclaim: Reclaim<D>,
    pub(super) shared: Arc<Shared<D>>,
    pub(super) caps: Caps,
    pub(super) config: Config,
    pub(super) counters: Counters,
    pub(super) info: DeviceInfo,
    /// Kept between calls, so that ordering a launch allocates nothing.
    pub(super) scratch: Points,
    /// Windows that are closed and whose waits are still to be let go.
    pub(super) deferred: Vec<(SlotIndex, Gate)>,
    pub(super) service: MemoryService,
    compiler: Arc<HardwareCompiler<D>>,
    dropped: Vec<ManagedMemoryId>,
    torn_down: bool,
}

impl<D: Driver> std::fmt::Debug for HardwareServer<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HardwareServer")
            .field("info", &self.info)
            .field("graphs", &self.graphs.len())
            .finish_non_exhaustive()
    }
}

impl<D: Driver> HardwareServer<D> {
    /// A server over an opened driver.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a driver that cannot capture in relaxed mode, or a tier that `GRAPHREEL_TIERS` misspells.
    pub fn open(driver: D, backend: &Backend, translator: Arc<dyn Translator>, config: Config) -> Result<Self> {
        let service = MemoryService::new();
        let device = service.device();
        let refuse = |driver: D, error: ServerError| {
            drop(driver.close());
            Err(error)
        };
        if !driver.caps().relaxed_capture {
            let why = "another thread's calls would break every capture; use a newer driver";
            return refuse(driver, ServerError::unsupported("a driver without relaxed stream capture", why));
        }
        let allowed = match config.allowed_tiers() {
            Ok(allowed) => allowed,
            Err(error) => return refuse(driver, error),
        };
        let tiers = TIERS.into_iter().filter(|tier| allowed.contains(tier)).collect();
        let caps = caps(&driver, &*translator, tiers);
        let info = backend.describe(driver.facts(), device);
        let shared = Shared::new(driver, Arc::new(Monitor::new(device)));
        let compiler = HardwareCompiler { shared: shared.clone(), translator, caps: caps.clone(), device };
        Ok(Self {
            graphs: HashMap::new(),
            windows: HashMap::new(),
            book: Book::new(device, &caps, &config),
            order: Order::default(),
            lanes: Lanes::new(shared.clone()),
            pages: Pages::new(shared.clone(), &config, caps.buffer_bytes_max),
            staging: Staging::new(shared.clone()),
            reclaim: Reclaim::new(shared.clone()),
            shared,
            caps,
            config,
            counters: Counters::default(),
            info,
            scratch: Points::default(),
            deferred: Vec::new(),
            service,
            compiler: Arc::new(compiler),
            dropped: Vec::new(),
            torn_down: false,
        })
    }

    /// The driver, for a backend's own calls.
    pub fn driver(&self) -> &D {
        self.shared.driver()
    }

    /// Count the device as lost: for a backend, or a supervisor, that knows of a reset before any call could tell.
    pub fn lose(&mut self, reason: &str) {
        self.shared.lose(reason);
        self.tear_down();
    }

    /// The head of each call: nothing reaches the driver after the loss, the thread is bound, and dropped memory is taken back.
    pub(super) fn enter(&mut self) -> Result<Bound<D>> {
        if let Some(lost) = self.shared.monitor().lost() {
            self.tear_down();
            return Err(lost);
        }
        let bound = self.shared.bind()?;
        self.take_dropped();
        Ok(bound)
    }

    /// As [`HardwareServer::enter`] for what may be a part of the window that `stream` records: refused, it is missing (C-30).
    fn enter_or_doom(&mut self, stream: StreamId) -> Result<Bound<D>> {
        self.enter().inspect_err(|error| self.book.doom(stream, error.clone()))
    }

    /// Windows end with the device (C-74). Once.
    fn tear_down(&mut self) {
        if let Some(lost) = self.shared.monitor().lost()
            && !self.torn_down
        {
            self.torn_down = true;
            // Handles are given back on a bound thread where that still works; nobody waits for an answer.
            let _bound = (!self.windows.is_empty()).then(|| self.shared.bind());
            window::teardown(self, &lost);
        }
    }

    /// Memory whose last handle went is free for others; what used it stays known.
    fn take_dropped(&mut self) {
        self.service.drain_dropped(&mut self.dropped);
        for id in self.dropped.drain(..) {
            let points = self.order.forget(id);
            if let Some(owner) = self.pages.unwrap(id) {
                self.reclaim.push(&mut self.lanes, points, vec![Doomed::Holds(owner)]);
            } else {
                self.pages.release(id, points);
            }
            self.book.ledger_mut().freed(id);
        }
    }

    /// Destroy what was dropped and is not used any more. Not while a window records (C-58).
    pub(super) fn collect(&mut self) -> Result<()> {
        self.take_dropped();
        self.reclaim.adopt_orphans(&mut self.lanes);
        if self.reclaim.is_empty() {
            return Ok(());
        }
        let collected = self.reclaim.collect(&mut self.lanes);
        // Claims of destroyed graphs may have held the last handles.
        self.take_dropped();
        collected
    }

    /// An allocation of `stream`, placed and zeroed where it has to be.
    fn place(&mut self, stream: StreamId, handle: &Handle, account: &Account) -> Result<()> {
        let id = handle.memory().id();
        let slot = self.book.slots().index_of(stream);
        let request = super::pages::Request { id, bytes: handle.memory().size(), account, slot };
        let placed = self.pages.reserve(&mut self.lanes, &mut self.reclaim, request)?;
        let Some((address, bytes)) = placed.zero else {
            self.order.inherit(id, &placed.after);
            return Ok(());
        };
        match self.zero(address, bytes, &placed.after) {
            Ok(point) => {
                self.order.used(id, crate::memory::Access::Write, point);
                self.pages.zeroed(id, point);
                Ok(())
            }
            Err(error) => {
                self.pages.not_zeroed(id, bytes);
                // The fill may have been taken all the same.
                let mut points = placed.after;
                self.lanes.existing(Role::Service).into_iter().for_each(|lane| points.add(self.lanes.end(lane)));
                self.pages.release(id, points);
                Err(error)
            }
        }
    }
}

fn caps<D: Driver>(driver: &D, translator: &dyn Translator, tiers: Vec<Tier>) -> Caps {
    let (caps, facts) = (driver.caps(), driver.facts());
    Caps {
        tiers,
        records_host_writes: true,
        defers_neighbours: true,
        binding_alignment: ADDRESS_ALIGNMENT,
        binding_bytes_max: facts.memory_bytes,
        buffer_bytes_max: facts.memory_bytes,
        bindings_max: super::arguments::BINDINGS_MAX as u32,
        immediate_bytes_max: SCALAR_BYTES_MAX as u32,
        groups_max: caps.groups_max.iter().fold(MAX_GROUPS, |least, most| least.min(*most)),
        workgroup_invocations_max: caps.group_threads_max,
        workgroup_size_max: caps.threads_max,
        workgroup_bytes_max: caps.shared_bytes_max,
        features: translator.features(),
        times_eager: true,
        times_nodes: true,
    }
}

impl<D: Driver> Drop for HardwareServer<D> {
    fn drop(&mut self) {
        let bound = self.shared.bind();
        let lost = self.shared.monitor().lost();
        let closed = || {
            let rule = GraphRule::Other("its device was closed; nothing of what it recorded runs".to_owned());
            GraphState::new(GraphOp::Abort, rule).into()
        };
        window::teardown(self, &lost.unwrap_or_else(closed));
        // In the order in which they were sealed, so that runs of one seed end alike.
        let mut graphs: Vec<_> = self.graphs.drain().collect();
        graphs.sort_by_key(|(id, _)| *id);
        for (_, graph) in graphs {
            graph.release(&mut self.lanes, &mut self.reclaim);
        }
        self.take_dropped();
        drop(bound);
        let shared = &self.shared;
        let closing = Closing {
            lanes: std::mem::replace(&mut self.lanes, Lanes::new(shared.clone())),
            pages: std::mem::replace(&mut self.pages, Pages::new(shared.clone(), &self.config, 1)),
            staging: std::mem::replace(&mut self.staging, Staging::new(shared.clone())),
            reclaim: std::mem::replace(&mut self.reclaim, Reclaim::new(shared.clone())),
            shared: shared.clone(),
        };
        closing.run();
    }
}

impl<D: Driver> Server for HardwareServer<D> {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn caps(&self) -> Caps {
        self.caps.clone()
    }

    fn memory_service(&self) -> MemoryService {
        self.service.clone()
    }

    fn compiler(&self) -> Arc<dyn Compiler> {
        self.compiler.clone()
    }

    fn monitor(&self) -> Arc<Monitor> {
        self.shared.monitor().clone()
    }

    fn alloc(&mut self, stream: StreamId, bytes: u64, account: &Account) -> Result<Handle> {
        let _bound = self.enter_or_doom(stream)?;
        let made = if bytes == 0 {
            Err(ServerError::InvalidSize { bytes, problem: "a buffer has at least one byte".into() })
        } else {
            self.collect().and_then(|()| {
                let handle = Handle::new(&self.service, stream, bytes);
                self.place(stream, &handle, account).map(|()| handle)
            })
        };
        match made {
            Ok(handle) => {
                self.book.ledger_mut().allocated(handle.memory().id(), bytes);
                Ok(handle)
            }
            Err(error) => {
                self.book.doom(stream, error.clone());
                Err(error)
            }
        }
    }

    fn lease_stream(&mut self) -> Option<StreamId> {
        self.book.lease_stream()
    }

    fn return_stream(&mut self, stream: StreamId) {
        let bound = self.enter();
        if bound.is_err() {
            // Its window ends with the device.
            self.tear_down();
        }
        let slot = self.book.slots().index_of(stream);
        window::return_stream(self, stream);
        if stream.exclusive_index().is_some() {
            self.lanes.let_go(Role::Main(slot));
        }
    }

    fn submit(&mut self, stream: StreamId, op: Op) -> Result<()> {
        let _bound = self.enter_or_doom(stream)?;
        if let Err(error) = check(&op, &self.caps, self.info.id) {
            self.book.doom(stream, error.clone());
            return Err(error);
        }
        let slot = self.book.slots().index_of(stream);
        match self.book.admit(stream, &op)? {
            Admission::Run => self.run(stream, Role::Main(slot), &op),
            Admission::Side { .. } => self.run(stream, Role::Side(slot), &op),
            Admission::Record { node } => self.record(stream, slot, node, &op),
            Admission::Refused => Ok(()),
        }
    }

    fn doom(&mut self, stream: StreamId, error: &ServerError) {
        self.book.doom(stream, error.clone());
    }

    fn stage(&mut self, bytes: u64) -> Result<Box<dyn crate::staging::Staging>> {
        let _bound = self.enter()?;
        self.lend(bytes)
    }

    fn write_staged(
        &mut self,
        stream: StreamId,
        dst: BufferBinding,
        staged: Box<dyn crate::staging::Staging>,
    ) -> Result<()> {
        let _bound = self.enter_or_doom(stream)?;
        self.write_lent(stream, dst, staged)
    }

    fn fail_write(&mut self, stream: StreamId, dst: BufferBinding, error: &ServerError) -> Result<()> {
        check_range("write", &dst, self.info.id)?;
        self.book.failed(stream, &Op::staged_write(dst), error);
        Ok(())
    }

    fn flush(&mut self, _stream: StreamId) -> Result<()> {
        // A driver is given each operation at its call; nothing is queued here.
        self.enter().map(drop)
    }

    fn read(&mut self, stream: StreamId, ranges: Vec<BufferBinding>, mode: WaitMode) -> Result<Ticket<Vec<Bytes>>> {
        let _bound = self.enter()?;
        self.book.refuse_in_window(stream, GraphOp::Read, mode)?;
        self.collect()?;
        self.read_ranges(stream, &ranges)
    }

    fn sync(&mut self, stream: StreamId, mode: WaitMode) -> Result<Ticket<()>> {
        let _bound = self.enter()?;
        self.book.refuse_in_window(stream, GraphOp::Sync, mode)?;
        self.collect()?;
        self.sync_stream(stream)
    }

    fn is_idle(&mut self) -> Result<bool> {
        let _bound = self.enter()?;
        self.lanes.is_idle()
    }

    fn runs_in_process(&self) -> bool {
        // Devices of these drivers are not of this process, and their drivers see to their work at its exit.
        false
    }

    fn pressure(&self) -> Option<Arc<dyn Fence>> {
        if self.shared.monitor().lost().is_some() {
            return None;
        }
        if let Some(late) = self.staging.pressure(&self.lanes) {
            return Some(Arc::new(EventFence::new(late)));
        }
        Some(Arc::new(EventFence::brief(self.reclaim.pressure(&self.lanes)?)))
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn profile(&mut self, stream: StreamId, ops: Vec<Op>) -> Result<Ticket<Profile>> {
        let _bound = self.enter()?;
        self.book.refuse_in_window(stream, GraphOp::Profile, WaitMode::Blocking)?;
        self.profile_ops(stream, &ops)
    }

    fn graph_prepare(&mut self, stream: StreamId, options: CaptureOptions) -> Result<()> {
        let _bound = self.enter()?;
        window::graph_prepare(self, stream, options)
    }

    fn begin_capture(&mut self, stream: StreamId) -> Result<()> {
        let _bound = self.enter()?;
        window::begin_capture(self, stream)
    }

    fn end_capture(&mut self, stream: StreamId) -> Result<Sealed> {
        let _bound = self.enter()?;
        let sealed = window::end_capture(self, stream);
        let misplaced = |error: &ServerError| matches!(error.graph_rule(), Some(GraphRule::NothingRecording));
        if sealed.as_ref().is_err_and(|error| !misplaced(error)) {
            self.counters.captures_failed += 1;
        }
        sealed
    }

    fn graph_abort(&mut self, stream: StreamId) -> Result<()> {
        let _bound = self.enter()?;
        let recording = self.book.status(stream).recording;
        window::graph_abort(self, stream)?;
        self.counters.captures_failed += u64::from(recording);
        Ok(())
    }

    fn capture_status(&self, stream: StreamId) -> CaptureStatus {
        self.book.status(stream)
    }

    fn replay(&mut self, stream: StreamId, graph: GraphId, timed: bool) -> Result<Ticket<ReplayReport>> {
        let _bound = self.enter()?;
        self.run_graph(stream, graph, timed)
    }

    fn graph_update(&mut self, graph: GraphId, update: GraphUpdate) -> Result<()> {
        let _bound = self.enter()?;
        let mut found = self.graphs.remove(&graph).ok_or_else(|| unknown(GraphOp::Update, graph))?;
        let rebinds = update.changes.iter().any(|(_, change)| matches!(change, ParamUpdate::Buffer(_)));
        if rebinds {
            self.unpin(&found);
        }
        let outcome = self.update(&mut found, &update);
        if rebinds {
            self.pin(&found);
        }
        self.graphs.insert(graph, found);
        outcome?;
        self.counters.updates += 1;
        Ok(())
    }

    fn graph_destroy(&mut self, graph: GraphId) {
        // Of a lost device nothing is given back before its closing, which takes the graph along.
        let Ok(_bound) = self.enter() else { return };
        let Some(graph) = self.graphs.remove(&graph) else { return };
        self.unpin(&graph);
        graph.release(&mut self.lanes, &mut self.reclaim);
        if let Err(error) = self.collect() {
            tracing::debug!(%error, "the device was lost while a graph was destroyed");
        }
    }

    fn external_write(&mut self, _stream: StreamId, range: BufferBinding) -> Result<()> {
        let _bound = self.enter()?;
        check_range("external_write", &range, self.info.id)?;
        self.book.ledger_mut().written(range.memory.id(), range.range());
        Ok(())
    }

    fn memory_usage(&mut self) -> MemoryUsage {
        if let Ok(_bound) = self.enter()
            && let Err(error) = self.collect()
        {
            tracing::debug!(%error, "the device was lost while its memory was counted");
        }
        self.take_dropped();
        self.pages.pool().usage()
    }

    fn trim(&mut self) -> TrimReport {
        let Ok(_bound) = self.enter() else { return TrimReport::default() };
        self.staging.trim(&mut self.lanes, &mut self.reclaim);
        let collected = self.collect();
        let report = self.pages.trim(&mut self.lanes, &mut self.reclaim);
        if let Err(error) = collected.and_then(|()| self.collect()) {
            tracing::debug!(%error, "the device was lost while its memory was trimmed");
        }
        report
    }

    fn counters(&self) -> Counters {
        Counters {
            tainted_skips: self.book.tainted_skips(),
            device_faults: self.shared.faults(),
            driver_allocations: self.pages.allocations(),
            ..self.counters
        }
    }
}

/// A graph that this device does not have.
pub(super) fn unknown(call: GraphOp, id: GraphId) -> ServerError {
    GraphState::new(call, GraphRule::UnknownGraph { graph: id.0 }).into()
}
