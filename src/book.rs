//! What every server of every backend keeps: the slots with their windows, the ledger of unreadable bytes, and the one
//! answer to who may do what in a window (C-55 to C-62 and C-75 to C-82 in docs/CAPTURE.md).
//!
//! The book reaches no device. A server asks [`Book::admit`] before each operation and tells [`Book::ran`] or
//! [`Book::failed`] after it, all under its one lock, so nothing can come between the answer and the act (C-93).

mod admit;
mod claims;
mod live;

pub use claims::GraphClaims;
pub use live::{Applied, LiveRecording, Touched};

use crate::caps::Caps;
use crate::capture::Window;
use crate::clock::{Clock, Tick};
use crate::config::Config;
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::memory::{Access, BufferBinding, DeviceId};
use crate::op::Op;
use crate::server::{CaptureStatus, WaitMode};
use crate::stream::{SlotIndex, SlotTable, StreamId};
use crate::taint::Ledger;

/// The bookkeeping of one device.
pub struct Book {
    device: DeviceId,
    slots: SlotTable<Window>,
    ledger: Ledger,
    clock: Clock,
    rules: BookRules,
    tainted_skips: u64,
}

/// The two ways in which backends differ inside a window (C-55 to C-58).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookRules {
    /// An owner's host write is recorded; else it dooms the window.
    pub records_host_writes: bool,
    /// Neighbours' work goes to a side stream and their host calls wait; else it runs and they are refused.
    pub defers_neighbours: bool,
}

/// What a stream is to the window that records on its slot. While a window is only prepared, everybody is free (C-59).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing records on the slot.
    Free,
    /// The stream's own window records.
    Owner,
    /// Another stream's window records.
    Neighbour {
        /// The window's owner.
        owner: StreamId,
    },
}

/// What a server does with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the operation has to be treated as admitted"]
pub enum Admission {
    /// Run it, then call [`Book::ran`] or [`Book::failed`].
    Run,
    /// It is in the recording as this node; nothing runs and no taint changes.
    Record {
        /// The node's number.
        node: u32,
    },
    /// As [`Admission::Run`], but on the slot's side stream, since a driver records the slot's own.
    Side {
        /// The window's owner.
        owner: StreamId,
    },
    /// Do nothing and answer success: the refusal dooms the window and is reported at its end (C-57).
    Refused,
}

impl Book {
    /// The book of a newly opened device, with `config.max_streams` shared slots.
    pub fn new(device: DeviceId, caps: &Caps, config: &Config) -> Self {
        Self {
            device,
            slots: SlotTable::new(config.max_streams, config.max_exclusive_streams, |_| Window::shared()),
            ledger: Ledger::new(),
            clock: config.clock.clone(),
            rules: BookRules {
                records_host_writes: caps.records_host_writes,
                defers_neighbours: caps.defers_neighbours,
            },
            tainted_skips: 0,
        }
    }

    /// The device it is about.
    pub const fn device(&self) -> DeviceId {
        self.device
    }

    /// How windows of this device treat neighbours and host writes.
    pub const fn rules(&self) -> BookRules {
        self.rules
    }

    /// The slots, each with its window.
    pub const fn slots(&self) -> &SlotTable<Window> {
        &self.slots
    }

    /// The slots, each with its window.
    pub const fn slots_mut(&mut self) -> &mut SlotTable<Window> {
        &mut self.slots
    }

    /// The unreadable bytes.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The unreadable bytes.
    pub const fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Operations and replays that did not run because an input carried an earlier failure.
    pub const fn tainted_skips(&self) -> u64 {
        self.tainted_skips
    }

    /// Lease a slot on which nothing folds; `None` when all are leased.
    pub fn lease_stream(&mut self) -> Option<StreamId> {
        self.slots.lease_exclusive(|_| Window::exclusive())
    }

    /// What `stream` is to the window on its slot.
    pub fn role(&self, stream: StreamId) -> Role {
        let capture = &self.slots.of(stream).capture;
        match capture.owner().filter(|_| capture.is_recording()) {
            None => Role::Free,
            Some(owner) if owner == stream => Role::Owner,
            Some(owner) => Role::Neighbour { owner },
        }
    }

    /// Where the slot of `stream` is in its capture lifecycle.
    pub fn status(&self, stream: StreamId) -> CaptureStatus {
        let capture = &self.slots.of(stream).capture;
        CaptureStatus { active: capture.is_active(), recording: capture.is_recording(), owner: capture.owner() }
    }

    /// Whether a window refuses `call` to `stream` on the spot; this never dooms it (C-36, QC-10).
    ///
    /// On a software graph a read, sync or profile is refused to everybody. On a hardware graph only a profile is, and to
    /// the owner a read or sync that blocks, which only its own `end_capture` could end (QC-3, QC-7); what may be answered
    /// later is deferred by the server.
    ///
    /// # Errors
    ///
    /// [`ServerError::GraphState`] naming the owner, the caller and the slot.
    pub fn refuse_in_window(&self, stream: StreamId, call: GraphOp, mode: WaitMode) -> Result<()> {
        let (role, hardware) = (self.role(stream), self.rules.defers_neighbours);
        let rule = match (role, call) {
            (Role::Free, _) => return Ok(()),
            (_, GraphOp::Profile) => GraphRule::RefusedInWindow,
            (_, GraphOp::Read | GraphOp::Sync) if !hardware => GraphRule::RefusedInWindow,
            (Role::Owner, GraphOp::Read | GraphOp::Sync) if mode == WaitMode::Blocking => GraphRule::WouldWaitForItself,
            _ => return Ok(()),
        };
        Err(self.refusal(stream, call, rule))
    }

    /// Whether the bytes of a binding can be read.
    ///
    /// # Errors
    ///
    /// [`ServerError::Unwritten`] or [`ServerError::Tainted`] for the first bytes that cannot.
    pub fn check_read(&self, range: &BufferBinding) -> Result<()> {
        self.ledger.check_read(range.memory.id(), range.range())
    }

    /// Doom the window that `stream` records, if it records one: an operation is missing in it (C-30).
    pub fn doom(&mut self, stream: StreamId, error: ServerError) {
        if self.role(stream) == Role::Owner {
            self.slots.of_mut(stream).capture.fail(error);
        }
    }

    /// An admitted operation ran, or is queued and will: what it writes is readable after it.
    pub fn ran(&mut self, op: &Op) {
        let ledger = &mut self.ledger;
        op.for_each_use(|arg, access| {
            if access.writes() {
                ledger.written(arg.binding.memory.id(), arg.binding.range());
            }
        });
    }

    /// An operation did not run: the failure passes to what it would have written, and dooms the window that `stream`
    /// records, if it records one.
    pub fn failed(&mut self, stream: StreamId, op: &Op, error: &ServerError) {
        self.taint_outputs(op, error);
        self.doom(stream, error.clone());
    }

    /// The time now, by the device's clock.
    pub(crate) fn now(&self) -> Tick {
        self.clock.now()
    }

    pub(crate) fn window(&mut self, slot: SlotIndex) -> &mut Window {
        self.slots.get_mut(slot)
    }

    /// Taint what an unsealed window would have written (C-76).
    pub(crate) fn taint_claims(&mut self, claims: &[(BufferBinding, Access)], cause: &ServerError) {
        for (binding, _) in claims.iter().filter(|(_, access)| access.writes()) {
            self.ledger.taint(binding.memory.id(), binding.range(), cause, None);
        }
    }

    fn taint_outputs(&mut self, op: &Op, error: &ServerError) {
        let ledger = &mut self.ledger;
        op.for_each_use(|arg, access| {
            if access.writes() {
                ledger.taint(arg.binding.memory.id(), arg.binding.range(), error, None);
            }
        });
    }

    fn refusal(&self, stream: StreamId, call: GraphOp, rule: GraphRule) -> ServerError {
        let owner = self.slots.of(stream).capture.owner();
        GraphState::new(call, rule).owner(owner).caller(stream).slot(self.slots.index_of(stream).0).into()
    }
}

#[cfg(test)]
mod tests;
