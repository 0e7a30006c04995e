//! Eager work: operations given to a stream in the order of the data, reads, waits and timing.

use std::num::NonZeroU64;

use super::action::{Action, Launch};
use super::arguments::{Arguments, shape};
use super::compile::Loaded;
use super::driver::{CopyEnd, DevicePtr, Driver, EventTiming, HostPtr, NodeCopy, NodeFill};
use super::fence::{DeferredFence, EventFence};
use super::lanes::Role;
use super::order::{LaneId, Point, Points};
use super::server::HardwareServer;
use super::shared::EventCell;
use crate::error::{Result, ServerError};
use crate::kernel::{PackedScalars, Variant};
use crate::memory::{Access, BufferBinding};
use crate::op::{Bytes, Launch as LaunchOp, Op, ValueArg, check, check_range};
use crate::recording::{NodeTime, TimeSource};
use crate::server::Server;
use crate::stream::StreamId;
use crate::sync::Arc;
use crate::ticket::{Fence, Profile, Ticket};

/// Work that failed, and whether something of it may have run.
pub(super) struct Failed {
    pub(super) error: ServerError,
    pub(super) ran: bool,
}

impl From<ServerError> for Failed {
    /// A failure before the device was given anything.
    fn from(error: ServerError) -> Self {
        Self { error, ran: false }
    }
}

/// What goes with an operation that is given to a lane.
pub(super) struct With<'a, D: Driver> {
    /// Where a host write's bytes are pinned already; else they are staged.
    pub(super) pinned: Option<HostPtr>,
    /// Events around it.
    pub(super) timed: Option<&'a (EventCell<D>, EventCell<D>)>,
}

impl<D: Driver> Default for With<'_, D> {
    fn default() -> Self {
        Self { pinned: None, timed: None }
    }
}

/// Timing events around each operation of a profile, or node of a replay.
pub(super) struct Timings<D: Driver>(Vec<(EventCell<D>, EventCell<D>)>);

impl<D: Driver> HardwareServer<D> {
    /// Run an admitted operation on the lane of `role`.
    pub(super) fn run(&mut self, stream: StreamId, role: Role, op: &Op) -> Result<()> {
        self.run_with(stream, role, op, With::default())
    }

    /// As [`HardwareServer::run`], with what goes with it.
    pub(super) fn run_with(&mut self, stream: StreamId, role: Role, op: &Op, with: With<'_, D>) -> Result<()> {
        let lane = self.lane(role);
        let given = lane.map_err(Failed::from).and_then(|lane| self.give(lane, op, with));
        if let Err(Failed { error, .. }) = given {
            self.book.failed(stream, op, &error);
            return Err(error);
        }
        self.book.ran(op);
        if op.launch().is_some() {
            self.counters.launches += 1;
        }
        Ok(())
    }

    /// The lane of a role. A side lane comes after what its slot had before the window.
    pub(super) fn lane(&mut self, role: Role) -> Result<LaneId> {
        let lane = self.lanes.of(role)?;
        self.lanes.check_runs(lane)?;
        if let Role::Side(slot) = role
            && let Some(before) = self.windows.get(&slot).and_then(|window| window.before)
        {
            self.lanes.follow(lane, &before.into())?;
        }
        Ok(lane)
    }

    /// Give an operation to a lane, after everything that its buffers' earlier users do, with events around it if it is timed.
    #[expect(unsafe_code, reason = "orders the work and keeps what it reaches")]
    pub(super) fn give(&mut self, lane: LaneId, op: &Op, with: With<'_, D>) -> Result<(), Failed> {
        let With { pinned, timed } = with;
        let staged = match op {
            Op::Write { bytes, .. } | Op::Upload { bytes, .. } if pinned.is_none() => Some(self.stage(bytes)?),
            _ => None,
        };
        let action = self.resolve(op, pinned.or(staged))?;
        self.scratch.clear();
        let (order, points) = (&self.order, &mut self.scratch);
        op.for_each_use(|arg, access| order.before(arg.binding.memory.id(), access, points));
        self.lanes.follow(lane, &self.scratch)?;
        // Counted even if the call fails: it may have been taken.
        let point = self.lanes.issue(lane);
        let order = &mut self.order;
        op.for_each_use(|arg, access| order.used(arg.binding.memory.id(), access, point));
        if staged.is_some() {
            self.staging.used(point);
        }
        let (driver, stream) = (self.shared.driver(), self.lanes.stream(lane));
        if let Some((start, _)) = timed {
            self.shared.settle(driver.event_record(start.event(), stream), "timing an operation")?;
        }
        // SAFETY: the order above brings it after its buffers' other users, and everything that comes to free or change them
        // comes after the point noted for it; staged bytes are not used again before.
        let given = unsafe { action.run(driver, stream) };
        self.shared.settle(given, op.call().prefix())?;
        if let Some((_, end)) = timed {
            let recorded = self.shared.settle(driver.event_record(end.event(), stream), "timing an operation");
            recorded.map_err(|error| Failed { error, ran: true })?;
        }
        self.counters.submits += 1;
        Ok(())
    }

    fn stage(&mut self, bytes: &Bytes) -> Result<HostPtr> {
        let len = NonZeroU64::new(bytes.len() as u64).unwrap_or(NonZeroU64::MIN);
        let piece = self.staging.take(&mut self.lanes, len)?;
        piece.write(bytes);
        Ok(piece.address())
    }

    /// An operation with addresses in the place of handles; `host` is where a host write's bytes lie.
    pub(super) fn resolve(&self, op: &Op, host: Option<HostPtr>) -> Result<Action<D>> {
        let here = self.info.id.0;
        let at = |binding: &BufferBinding| self.pages.locate(binding, here);
        match op {
            Op::Launch(launch) => self.resolve_launch(launch, Variant::Direct, None),
            Op::LaunchIndirect(indirect) => {
                let counts = at(&indirect.counts.binding)?;
                self.resolve_launch(&indirect.launch, Variant::Indirect, Some(counts))
            }
            Op::Copy { src, dst } => Ok(Action::Copy(NodeCopy {
                src: CopyEnd::Device(at(&src.binding)?),
                dst: CopyEnd::Device(at(&dst.binding)?),
                bytes: length(&dst.binding)?,
            })),
            Op::Fill { dst, word } => Ok(Action::Fill(NodeFill {
                dst: at(&dst.binding)?,
                word: *word,
                // A slice is padded to whole words behind its last byte.
                words: words(length(&dst.binding)?),
            })),
            Op::Write { dst, .. } | Op::Upload { dst, .. } => {
                let src = host.ok_or_else(|| ServerError::graph_state("a host write has no bytes behind it"))?;
                let dst_at = at(&dst.binding)?;
                let (src, dst_at) = (CopyEnd::Host(src), CopyEnd::Device(dst_at));
                Ok(Action::Copy(NodeCopy { src, dst: dst_at, bytes: length(&dst.binding)? }))
            }
        }
    }

    fn resolve_launch(&self, launch: &LaunchOp, variant: Variant, counts: Option<DevicePtr>) -> Result<Action<D>> {
        let (kernel, here) = (&launch.kernel, self.info.id.0);
        let code = kernel.compiled::<Loaded<D>>().and_then(|loaded| loaded.code(variant)).ok_or_else(|| {
            ServerError::unsupported(
                format!("this launch of kernel `{}`", kernel.entry()),
                "its code was not prepared; launch it through a handle of this device",
            )
        })?;
        let mut buffers = [(DevicePtr(NonZeroU64::MIN), 0); super::arguments::BINDINGS_MAX];
        for (place, arg) in buffers.iter_mut().zip(&launch.buffers) {
            *place = (self.pages.locate(&arg.binding, here)?, arg.binding.len());
        }
        let scalars = PackedScalars::new(kernel.reflection(), launch.values.iter().map(ValueArg::value));
        let (reflection, items_max) = (kernel.reflection(), self.shared.driver().caps().launch_items_max);
        let arguments = Arguments::new(&code.params, reflection, &buffers, scalars, counts)?;
        let shape = shape(reflection, launch.grid.groups(), code.shared_bytes, items_max, &self.caps)?;
        Ok(Action::Launch(Box::new(Launch { function: code.function, shape, arguments })))
    }

    /// Zero memory that nobody uses yet, after its bytes' earlier users.
    #[expect(unsafe_code, reason = "orders the fill before everything that will use the memory")]
    pub(super) fn zero(&mut self, address: DevicePtr, bytes: NonZeroU64, after: &Points) -> Result<Point> {
        let lane = self.lanes.of(Role::Service)?;
        self.lanes.follow(lane, after)?;
        let point = self.lanes.issue(lane);
        let Some(words) = NonZeroU64::new(bytes.get() / 4) else { return Ok(point) };
        // SAFETY: the page lives until its pool gives it up, which comes after this point; earlier users are followed.
        let filled = unsafe { self.shared.driver().fill(address, 0, words, self.lanes.stream(lane)) };
        self.shared.settle(filled, "zeroing memory")?;
        Ok(point)
    }

    /// See [`Server::read`]; no window refuses it. The copy is made at once, in the stream's order. Inside a window it goes to
    /// the side stream, and only the wait for what the slot had queued before is put off (C-56).
    #[expect(unsafe_code, reason = "orders the copies and keeps what they reach")]
    pub(super) fn read_ranges(&mut self, stream: StreamId, ranges: &[BufferBinding]) -> Result<Ticket<Vec<Bytes>>> {
        let mut parts = Vec::with_capacity(ranges.len());
        let mut total = 0u64;
        let mut points = Points::default();
        let mut held_back = false;
        let slot = self.book.slots().index_of(stream);
        let recording = self.book.status(stream).recording;
        let before = self.windows.get(&slot).and_then(|window| window.before).filter(|_| recording);
        for range in ranges {
            check_range("read", range, self.info.id)?;
            self.book.check_read(range)?;
            parts.push((self.pages.locate(range, self.info.id.0)?, length(range)?, total));
            total = (total + range.len()).next_multiple_of(16);
            let id = range.memory.id();
            self.order.before(id, Access::Read, &mut points);
            let of_slot = |point: Point| before.is_some_and(|before| before.lane == point.lane);
            held_back |= self.order.writers(id).any(|point| of_slot(point) && !self.lanes.is_known_passed(point));
        }
        let Some(total) = NonZeroU64::new(total) else { return Ok(Ticket::ready(Vec::new())) };
        let lane = self.lane(if recording { Role::Side(slot) } else { Role::Main(slot) })?;
        let piece = self.staging.take(&mut self.lanes, total)?;
        self.lanes.follow(lane, &points)?;
        let point = self.lanes.issue(lane);
        self.staging.used(point);
        for (range, (src, bytes, at)) in ranges.iter().zip(&parts) {
            self.order.used(range.memory.id(), Access::Read, point);
            let dst = piece.part(*at);
            // SAFETY: the copies follow the ranges' writers, later writers follow this point, and the piece is not used again
            // while it lives or before the point is passed.
            let copied = unsafe { self.shared.driver().copy_to_host(dst, *src, *bytes, self.lanes.stream(lane)) };
            self.shared.settle(copied, "read")?;
        }
        self.counters.submits += 1;
        let fence = EventFence::new(vec![self.lanes.mark(point)?.1]);
        let fence = self.deferred(stream, held_back, fence);
        let monitor = self.shared.monitor().clone();
        let finish = move |_: &mut dyn Server| {
            monitor.check()?;
            Ok(parts.iter().map(|(_, bytes, at)| piece.read(*at, bytes.get())).collect())
        };
        Ok(Ticket { fence, finish: Box::new(finish) })
    }

    /// See [`Server::sync`]; no window refuses it. Inside a window its end is waited for where the slot had work before it.
    pub(super) fn sync_stream(&mut self, stream: StreamId) -> Result<Ticket<()>> {
        let slot = self.book.slots().index_of(stream);
        let mut points = Points::default();
        for role in [Role::Main(slot), Role::Side(slot)] {
            if let Some(lane) = self.lanes.existing(role) {
                points.add(self.lanes.end(lane));
            }
        }
        let recording = self.book.status(stream).recording;
        let before = self.windows.get(&slot).and_then(|window| window.before).filter(|_| recording);
        let held_back = before.is_some_and(|before| !self.lanes.is_known_passed(before));
        let events = self.lanes.marks(&points)?;
        if events.is_empty() {
            return Ok(Ticket::ready(()));
        }
        let fence = self.deferred(stream, held_back, EventFence::new(events));
        Ok(Ticket { fence, finish: Box::new(|_| Ok(())) })
    }

    /// A fence of `stream`, held back to the end of the slot's window where it has to be.
    fn deferred(&self, stream: StreamId, held_back: bool, fence: EventFence<D>) -> Arc<dyn Fence> {
        let slot = self.book.slots().index_of(stream);
        let owner = self.book.status(stream).owner == Some(stream) && self.book.status(stream).recording;
        match self.windows.get(&slot).filter(|_| held_back || owner) {
            Some(window) => Arc::new(DeferredFence::new(window.gate.clone(), stream, &self.config, fence)),
            None => Arc::new(fence),
        }
    }

    /// See [`Server::profile`]; no window refuses it.
    pub(super) fn profile_ops(&mut self, stream: StreamId, ops: &[Op]) -> Result<Ticket<Profile>> {
        let slot = self.book.slots().index_of(stream);
        let lane = self.lane(Role::Main(slot))?;
        let timings = Timings::new(self, ops.len())?;
        for (op, events) in ops.iter().zip(&timings.0) {
            check(op, &self.caps, self.info.id)?;
            let _ = self.book.admit(stream, op)?;
            if let Err(Failed { error, .. }) = self.give(lane, op, With { timed: Some(events), pinned: None }) {
                self.book.failed(stream, op, &error);
                return Err(error);
            }
            self.book.ran(op);
            self.counters.launches += u64::from(op.launch().is_some());
        }
        let end = self.lanes.end(lane);
        let fence: Arc<dyn Fence> = Arc::new(EventFence::new(self.lanes.marks(&end.into())?));
        let finish = move |_: &mut dyn Server| {
            let (operations, total) = timings.read()?;
            Ok(Profile { total, operations })
        };
        Ok(Ticket { fence, finish: Box::new(finish) })
    }
}

impl<D: Driver> Timings<D> {
    /// Events for `count` operations.
    pub(super) fn new(server: &HardwareServer<D>, count: usize) -> Result<Self> {
        let shared = &server.shared;
        let pair = |_| Ok((shared.event(EventTiming::On)?, shared.event(EventTiming::On)?));
        (0..count).map(pair).collect::<Result<_>>().map(Self)
    }

    pub(super) fn get(&self, index: usize) -> Option<&(EventCell<D>, EventCell<D>)> {
        self.0.get(index)
    }

    /// The times, once all is done; and from the first start to the last end.
    ///
    /// # Errors
    ///
    /// The device's loss.
    pub(super) fn read(&self) -> Result<(Vec<NodeTime>, Option<std::time::Duration>)> {
        let Some(((first, _), (_, last))) = self.0.first().zip(self.0.last()) else { return Ok((Vec::new(), None)) };
        let shared = first.shared();
        let _bound = shared.bind()?;
        let between = |from: &EventCell<D>, to: &EventCell<D>| {
            shared.settle(shared.driver().event_elapsed(from.event(), to.event()), "reading times")
        };
        let mut times = Vec::with_capacity(self.0.len());
        for (node, (start, end)) in (0u32..).zip(&self.0) {
            let nanoseconds = u64::try_from(between(start, end)?.as_nanos()).ok();
            times.push(NodeTime { node, nanoseconds, source: TimeSource::Event });
        }
        Ok((times, Some(between(first, last)?)))
    }
}

/// The bytes of a checked range.
fn length(binding: &BufferBinding) -> Result<NonZeroU64> {
    NonZeroU64::new(binding.len()).ok_or_else(|| ServerError::InvalidRange {
        op: "submit",
        range: binding.range(),
        size: binding.memory.size(),
        problem: "a range has at least one byte",
    })
}

/// Words that cover this many bytes.
fn words(bytes: NonZeroU64) -> NonZeroU64 {
    NonZeroU64::new(bytes.get().div_ceil(4)).unwrap_or(NonZeroU64::MIN)
}
