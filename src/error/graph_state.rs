//! Lifecycle violations: which call, which rule, on which stream (C-85 to C-91).

use std::backtrace::Backtrace;
use std::fmt;

use crate::stream::StreamId;

/// The call that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the call of that name")]
pub enum GraphOp {
    Prepare,
    Begin,
    End,
    Abort,
    Replay,
    Update,
    Destroy,
    Read,
    Sync,
    Profile,
    Write,
    Launch,
    Copy,
    Fill,
    Upload,
    Alloc,
    Capture,
    Wait,
    Flush,
    ExternalWrite,
    Other,
}

impl GraphOp {
    /// The prefix of the message (C-89).
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Prepare => "graph_prepare",
            Self::Begin => "begin_capture",
            Self::End => "end_capture",
            Self::Abort => "graph_abort",
            Self::Replay => "replay",
            Self::Update => "graph_update",
            Self::Destroy => "graph_destroy",
            Self::Read => "read",
            Self::Sync => "sync",
            Self::Profile => "profile",
            Self::Write => "write",
            Self::Launch => "launch",
            Self::Copy => "copy",
            Self::Fill => "fill",
            Self::Upload => "upload",
            Self::Alloc => "alloc",
            Self::Capture => "capture",
            Self::Wait => "wait",
            Self::Flush => "flush",
            Self::ExternalWrite => "external_write",
            Self::Other => "graph",
        }
    }
}

/// The condition that made a call illegal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphRule {
    /// A window is prepared already.
    AlreadyPrepared,
    /// A window is recording already.
    AlreadyRecording,
    /// `begin_capture` without `graph_prepare`.
    NotPrepared,
    /// Nothing is recording on the slot.
    NothingRecording,
    /// The window was closed by another stream than its owner; the recording was discarded.
    Abandoned,
    /// `begin_capture` or `graph_abort` by another stream than the owner, where only the owner may.
    NotOwner,
    /// The operation is refused while the slot records a capture.
    RefusedInWindow,
    /// A host write that a software graph cannot record; it dooms the window.
    WriteInWindow {
        /// What was written, for the reader of the report.
        buffer: String,
    },
    /// A replay by the owner inside its own window.
    ReplayInCapture,
    /// A window that recorded nothing.
    EmptyCapture,
    /// A capture inside a capture closure.
    NestedCapture,
    /// A plain handle was used inside a capture closure; the text names the call of `c` to use.
    PlainHandleInClosure {
        /// The call to use instead.
        instead: &'static str,
    },
    /// A wait on another stream's work inside a window (one capture, one logical stream).
    ForeignStreamInWindow,
    /// The graph was destroyed, or its device reopened.
    UnknownGraph {
        /// The graph's number.
        graph: u64,
    },
    /// A wait that only its own caller could end.
    WouldWaitForItself,
    /// A condition with a text of its own.
    Other(String),
}

/// A refused lifecycle call.
#[derive(Debug)]
pub struct GraphState {
    /// The call.
    pub op: GraphOp,
    /// The rule it broke.
    pub rule: GraphRule,
    /// The pooled stream, where one is concerned.
    pub slot: Option<usize>,
    /// The window's owner, where there is one.
    pub owner: Option<StreamId>,
    /// Who called.
    pub caller: Option<StreamId>,
    /// Where the error was made (when backtraces are enabled).
    pub backtrace: Backtrace,
}

impl GraphState {
    /// A violation of `rule` by `op`, with no stream named yet.
    pub fn new(op: GraphOp, rule: GraphRule) -> Self {
        Self { op, rule, slot: None, owner: None, caller: None, backtrace: Backtrace::capture() }
    }

    /// Name the window's owner.
    #[must_use]
    pub fn owner(mut self, owner: Option<StreamId>) -> Self {
        self.owner = owner;
        self
    }

    /// Name the caller.
    #[must_use]
    pub fn caller(mut self, caller: StreamId) -> Self {
        self.caller = Some(caller);
        self
    }

    /// Name the pooled stream.
    #[must_use]
    pub fn slot(mut self, slot: usize) -> Self {
        self.slot = Some(slot);
        self
    }
}

impl fmt::Display for GraphState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.op.prefix())?;
        match &self.rule {
            GraphRule::AlreadyPrepared => {
                write!(f, "a capture is already prepared on this stream; begin or abort it first")?
            }
            GraphRule::AlreadyRecording => write!(f, "the stream is already recording a capture; end it first")?,
            GraphRule::NotPrepared => write!(f, "graph_prepare has to come first")?,
            GraphRule::NothingRecording => {
                write!(f, "nothing is recording on this stream; call graph_prepare and begin_capture first")?
            }
            GraphRule::Abandoned => write!(
                f,
                "the capture belongs to another logical stream than the caller, so it was closed and its recording discarded; \
                 pin the stream around a capture"
            )?,
            GraphRule::NotOwner => {
                write!(f, "the window belongs to another logical stream; only its owner may do this")?
            }
            GraphRule::RefusedInWindow => write!(
                f,
                "the slot is recording a capture; do this before begin_capture or after end_capture, or on a stream of another slot"
            )?,
            GraphRule::WriteInWindow { buffer } => write!(
                f,
                "the slot is recording a capture and this backend cannot record a host write to {buffer}; \
                 use `Capture::upload`, or write before the replay"
            )?,
            GraphRule::ReplayInCapture => write!(
                f,
                "a graph cannot be replayed into a window of its own stream; replay it on another stream, or after end_capture"
            )?,
            GraphRule::EmptyCapture => write!(
                f,
                "the window recorded nothing, so there is no graph (EmptyCapture); work on other streams is not recorded"
            )?,
            GraphRule::NestedCapture => {
                write!(f, "a capture closure of this device is running on this thread; captures do not nest")?
            }
            GraphRule::PlainHandleInClosure { instead } => {
                write!(f, "inside a capture closure use `{instead}`: only what goes through the capture is recorded")?
            }
            GraphRule::ForeignStreamInWindow => write!(
                f,
                "a window cannot wait for another stream: one capture is one logical stream; record the work on this stream, or wait before begin_capture"
            )?,
            GraphRule::UnknownGraph { graph } => {
                write!(f, "graph {graph} does not exist on this device any more; capture it again")?
            }
            GraphRule::WouldWaitForItself => write!(
                f,
                "this wait would only end by the caller's own end_capture; end the window first, or wait from another thread"
            )?,
            GraphRule::Other(text) => write!(f, "{text}")?,
        }
        if let Some(owner) = self.owner {
            write!(f, " (owner {owner:?})")?;
        }
        if let Some(caller) = self.caller {
            write!(f, " (caller {caller:?})")?;
        }
        if let Some(slot) = self.slot {
            write!(f, " (slot {slot})")?;
        }
        Ok(())
    }
}
