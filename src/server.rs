//! The waist that faces the handles: one device, every operation, no blocking.
//!
//! The handle layer keeps a `Box<dyn Server>` behind the device's one lock. No method waits for the device: what has to
//! wait answers a [`Ticket`]. There are no default methods, so a backend answers for every call; what it can never do it
//! says in [`Caps`] and refuses by name.
//!
//! docs/CAPTURE.md is the contract of the graph calls; numbers like C-58 are its rules. `capture::window` implements their
//! order once for all servers.

use std::any::Any;
use std::time::Duration;

use crate::caps::{Caps, DeviceInfo};
use crate::error::{Result, ServerError};
use crate::kernel::{Compiler, Value};
use crate::memory::{Account, BufferBinding, ClaimKey, Handle, MemoryService, MemoryUsage, TrimReport};
use crate::op::{Bytes, Op};
use crate::recording::{CapturePolicy, GraphReport, Recording};
use crate::staging::Staging;
use crate::stream::StreamId;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::ticket::{Fence, Profile, ReplayReport, Ticket};

static NEXT_GRAPH: AtomicU64 = AtomicU64::new(1);

/// A sealed graph of one device. Never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphId(pub u64);

impl GraphId {
    /// An id that no graph of this process has had. Backends take one for each graph that they seal.
    pub fn fresh() -> Self {
        Self(NEXT_GRAPH.fetch_add(1, Ordering::Relaxed))
    }
}

/// A graph that `end_capture` sealed.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// Its identity.
    pub id: GraphId,
    /// How it runs and what it holds.
    pub report: GraphReport,
    /// What it recorded.
    pub recording: Arc<Recording>,
    /// The bytes that each of its buffers names, in order; names only, they hold nothing.
    pub buffers: Arc<[ClaimKey]>,
}

/// How a caller will wait for an answer. A hardware graph's owner may ask for a future inside its window, since that can
/// resolve once the window closes; blocking there would never end (C-58, QC-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// The calling thread blocks.
    Blocking,
    /// The answer is awaited, or waited for later.
    Future,
}

/// What `graph_prepare` is told about the coming capture.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    /// Tiers that the capture may use.
    pub policy: CapturePolicy,
    /// A name for reports and dumps.
    pub label: Option<Arc<str>>,
}

/// A new value for a parameter.
#[derive(Clone, Debug)]
pub enum ParamUpdate {
    /// For a scalar declared by `c.param`.
    Value(Value),
    /// For a grid declared by `c.grid_param`.
    Grid([u32; 3]),
    /// For a buffer declared by `c.slot`.
    Buffer(BufferBinding),
}

/// Changes to a graph's parameters, made all or not at all.
#[derive(Clone, Debug, Default)]
pub struct GraphUpdate {
    /// Parameter and new value; the last one of a name counts.
    pub changes: Vec<(Arc<str>, ParamUpdate)>,
}

/// Where a stream's slot is in its capture lifecycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureStatus {
    /// Prepared or recording.
    pub active: bool,
    /// Recording.
    pub recording: bool,
    /// The window's owner, when one is active.
    pub owner: Option<StreamId>,
}

/// Counters that only grow, for metrics and for tests of what did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Eager launches that ran.
    pub launches: u64,
    /// Batches or driver calls submitted.
    pub submits: u64,
    /// Replays enqueued.
    pub replays: u64,
    /// Nodes that those replays ran.
    pub replayed_nodes: u64,
    /// Graphs sealed.
    pub captures: u64,
    /// Windows that did not become a graph.
    pub captures_failed: u64,
    /// Captures that run eagerly because the policy allowed it and nothing better was left.
    pub captures_eager: u64,
    /// Parameter updates applied.
    pub updates: u64,
    /// Updates of them for which the whole graph was given to the driver, since it refused to change a node.
    pub updates_whole: u64,
    /// Updates of them for which a new executable was made.
    pub updates_anew: u64,
    /// Allocations asked of the driver.
    pub driver_allocations: u64,
    /// Operations that did not run because an input carried an earlier failure.
    pub tainted_skips: u64,
    /// Faults that the device reported.
    pub device_faults: u64,
    /// Time spent making executables.
    pub seal_time: Duration,
}

/// One open device.
///
/// Every method answers [`ServerError::DeviceLost`] after the device is lost, without
/// reaching the driver.
pub trait Server: Send {
    /// Who the device is.
    fn info(&self) -> DeviceInfo;

    /// What it can do.
    fn caps(&self) -> Caps;

    /// Where its handles are made and their drops are noted.
    fn memory_service(&self) -> MemoryService;

    /// Compiles kernels without the device's lock.
    fn compiler(&self) -> Arc<dyn Compiler>;

    /// Tells whether the device is lost without the device's lock.
    fn monitor(&self) -> Arc<crate::device::Monitor>;

    /// Reserve `bytes` (at least 1) and charge them to `account`. Nothing is written: a read answers `Unwritten`, a
    /// kernel sees zeros where the last user was another account. Allowed in every state of a window (C-96).
    ///
    /// # Errors
    ///
    /// `InvalidSize`, `OutOfMemory`. An owner's failure inside its recording window dooms it (C-30).
    fn alloc(&mut self, stream: StreamId, bytes: u64, account: &Account) -> Result<Handle>;

    /// Lease an exclusive slot; `None` when all are leased.
    fn lease_stream(&mut self) -> Option<StreamId>;

    /// Give a leased exclusive slot back. Its window, if one is open, is aborted.
    fn return_stream(&mut self, stream: StreamId);

    /// Run one operation, record it, or refuse it, as C-58 says for the caller and the slot's state.
    ///
    /// # Errors
    ///
    /// Bad arguments; `GraphState` for what a window refuses; `Tainted` when an input carries a failure: nothing runs
    /// then, and the failure passes to what would have been written.
    fn submit(&mut self, stream: StreamId, op: Op) -> Result<()>;

    /// Note that an operation of `stream` could not even be made, so it was never submitted: it is missing in the window
    /// that the stream records, if it records one, and dooms it (C-30).
    fn doom(&mut self, stream: StreamId, error: &ServerError);

    /// Host memory of `bytes` bytes (at least 1) that [`Server::write_staged`] copies from. Allowed in every state of a
    /// window. What is kept for the next call is bounded; what is lent and in flight is the caller's to bound, by
    /// [`Server::pressure`].
    ///
    /// # Errors
    ///
    /// `InvalidSize`, `OutOfMemory`, or what the driver answers.
    fn stage(&mut self, bytes: u64) -> Result<Box<dyn Staging>>;

    /// Write staging memory to `dst`, which has as many bytes: as `submit` of an [`Op::Write`] in every rule (order, taint,
    /// windows), without a copy on the host. Where a window records it, its bytes are copied to the recording. The memory
    /// is the server's again in every case.
    ///
    /// # Errors
    ///
    /// As [`Server::submit`]; `ForeignHandle` for memory of another device.
    fn write_staged(&mut self, stream: StreamId, dst: BufferBinding, staged: Box<dyn Staging>) -> Result<()>;

    /// Note that a host write of `dst`, promised to others, will not come: its bytes hold no result because of `error`, as
    /// after a write that failed, and the window that `stream` records is doomed. Also of a lost device.
    ///
    /// # Errors
    ///
    /// `InvalidRange`, `ForeignHandle`.
    fn fail_write(&mut self, stream: StreamId, dst: BufferBinding, error: &ServerError) -> Result<()>;

    /// Hand everything queued so far to the device. Does nothing in a window.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    fn flush(&mut self, stream: StreamId) -> Result<()>;

    /// Read ranges, in order, after all work queued on them.
    ///
    /// # Errors
    ///
    /// `Unwritten`, `Tainted`, or `GraphState` where a window refuses it.
    fn read(&mut self, stream: StreamId, ranges: Vec<BufferBinding>, mode: WaitMode) -> Result<Ticket<Vec<Bytes>>>;

    /// Wait for all work queued on the stream.
    ///
    /// # Errors
    ///
    /// `GraphState` where a window refuses it.
    fn sync(&mut self, stream: StreamId, mode: WaitMode) -> Result<Ticket<()>>;

    /// Whether all work of every stream is done; what waits in a batch is handed over first. Does not block. Work that a
    /// window records, or that waits for one, is not counted.
    ///
    /// # Errors
    ///
    /// [`ServerError::DeviceLost`].
    fn is_idle(&mut self) -> Result<bool>;

    /// Whether the driver may be running work on threads of this process, as a software driver does: work was handed over
    /// that is not known to be done. Asked when the process exits; makes no driver call.
    fn runs_in_process(&self) -> bool;

    /// A point that the caller should wait for, with the lock released, before it queues more: too much is in flight.
    /// `None` while there is room.
    fn pressure(&self) -> Option<Arc<dyn Fence>>;

    /// The server itself, for a backend's own calls through `Device::with_server`.
    fn as_any_mut(&mut self) -> &mut dyn Any;

    /// Run operations as by [`Server::submit`] and time each on the device. Refused in a window.
    ///
    /// # Errors
    ///
    /// As [`Server::submit`]; operations before the failing one have run.
    fn profile(&mut self, stream: StreamId, ops: Vec<Op>) -> Result<Ticket<Profile>>;

    /// Open a window (C-69): arm priming and the capture cache.
    ///
    /// # Errors
    ///
    /// `GraphState` when a window is active on the slot; `TierRefused` when the policy cannot be met.
    fn graph_prepare(&mut self, stream: StreamId, options: CaptureOptions) -> Result<()>;

    /// Start recording (C-70). Only the owner may (QC-1).
    ///
    /// # Errors
    ///
    /// `GraphState`; or what the flush or the driver answered, the window being aborted then.
    fn begin_capture(&mut self, stream: StreamId) -> Result<()>;

    /// Close the window in all cases and seal it where the table of C-71 says so.
    ///
    /// # Errors
    ///
    /// As that table says.
    fn end_capture(&mut self, stream: StreamId) -> Result<Sealed>;

    /// Drop the window (QC-4): by its owner in any state, by anyone while it is only prepared. Nothing to abort is fine.
    ///
    /// # Errors
    ///
    /// `GraphState` when another stream than the owner would abort a recording window.
    fn graph_abort(&mut self, stream: StreamId) -> Result<()>;

    /// Where the stream's slot is in its lifecycle.
    fn capture_status(&self, stream: StreamId) -> CaptureStatus;

    /// Run a graph: all of it, or nothing (C-84). Does not block. With `timed`, each node is timed where the device
    /// can.
    ///
    /// # Errors
    ///
    /// `GraphState` in the caller's own window or for an unknown graph; `Tainted` for an input; `MovedMemory`; what
    /// failed before the first submit. Each taints what the graph writes (C-76), but `GraphState` and foreign handles.
    fn replay(&mut self, stream: StreamId, graph: GraphId, timed: bool) -> Result<Ticket<ReplayReport>>;

    /// Change parameters for the replays issued after it: all or none, O(changed).
    ///
    /// # Errors
    ///
    /// `InvalidParam` or `ForeignHandle`, with nothing changed.
    fn graph_update(&mut self, graph: GraphId, update: GraphUpdate) -> Result<()>;

    /// Release a graph: executable first, then claims and host bytes (C-83). Does not wait for replays in flight.
    fn graph_destroy(&mut self, graph: GraphId);

    /// Count an outside writer as the next in order: the bytes are written from here on.
    ///
    /// # Errors
    ///
    /// `ForeignHandle`, `InvalidRange`.
    fn external_write(&mut self, stream: StreamId, range: BufferBinding) -> Result<()>;

    /// Bytes reserved, used and pinned.
    fn memory_usage(&mut self) -> MemoryUsage;

    /// Give pages that nothing uses back to the device. Pinned pages stay.
    fn trim(&mut self) -> TrimReport;

    /// What happened so far.
    fn counters(&self) -> Counters;
}

#[cfg(test)]
mod tests {
    use super::GraphId;

    #[test]
    fn graph_ids_are_never_given_twice() {
        // D23: a graph that is not of this device, or no more, is refused; so no other graph may have its id.
        let some = || std::iter::repeat_with(GraphId::fresh).take(100).collect::<Vec<_>>();
        let mut ids: Vec<GraphId> = crate::sync::thread::scope(|scope| {
            let threads = [scope.spawn(some), scope.spawn(some)];
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 200);
    }
}
