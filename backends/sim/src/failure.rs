//! Why a call of the simulator fails: misuse, which no correct caller meets, and the answers that any driver gives.

use std::fmt;

use graphreel::error::{DriverError, DriverErrorKind, FaultClass};

/// What a caller did that a driver forbids, or leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A call on a thread with no context bound.
    ContextNotBound,
    /// A call on a thread with another device's context bound.
    OtherContext,
    /// A handle of another device.
    ForeignHandle,
    /// A copyable handle of something that was destroyed.
    StaleHandle,
    /// A capture begun on a stream that captures.
    NestedCapture,
    /// A question about a capture, or its end, where none is open.
    NoCapture,
    /// A wait that leads into a capture or out of it.
    CaptureEdge,
    /// A question about an event that was recorded in a capture.
    CapturedEvent,
    /// A graph launched or uploaded into a capturing stream.
    LaunchIntoCapture,
    /// A call that waits for the device while a capture is open.
    WaitInCapture,
    /// A stream destroyed while it captures.
    CapturingStream,
    /// A stream destroyed before its work was done.
    BusyStream,
    /// Memory that was freed.
    UseAfterFree,
    /// An address that is in no allocation.
    NoAllocation,
    /// A range that leaves its allocation.
    PastTheEnd,
    /// Memory freed twice, or freed as what it is not.
    BadFree,
    /// Memory freed while work, an open capture or an executable uses it.
    MemoryInUse,
    /// A copy whose ends overlap.
    Overlap,
    /// A copy between two ranges of host memory.
    HostToHost,
    /// An address without the alignment that the call needs.
    Misaligned,
    /// A module unloaded while work or a graph uses it.
    ModuleInUse,
    /// A launch of a shape that its kernel or the device does not take.
    BadShape,
    /// Parameters that are not those of the kernel.
    BadParams,
    /// A dependence that exists, is its own, or closes a circle.
    BadEdge,
    /// A node of another graph, or of one that was destroyed.
    ForeignNode,
    /// An update that changes the kind or the direction of a node.
    NodeKind,
    /// More updates of one executable than the driver's capabilities allow.
    TooManyUpdates,
    /// An executable destroyed with launches in flight.
    ExecInFlight,
    /// Time asked of an event without timing, or one that was never recorded.
    NoTime,
    /// A call that the driver's capabilities rule out.
    NotInCaps,
    /// Work on the same bytes as other work, at least one of them writing, and nothing orders the two.
    Unordered,
    /// The device closed with handles alive.
    HandlesAlive,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContextNotBound => "no context is bound on this thread",
            Self::OtherContext => "another device's context is bound on this thread",
            Self::ForeignHandle => "the handle is another device's",
            Self::StaleHandle => "what the handle stood for was destroyed",
            Self::NestedCapture => "the stream captures already",
            Self::NoCapture => "the stream does not capture",
            Self::CaptureEdge => "a wait across the edge of a capture",
            Self::CapturedEvent => "the event was recorded in a capture",
            Self::LaunchIntoCapture => "a graph cannot be launched into a capture",
            Self::WaitInCapture => "a call that waits for the device while a capture is open",
            Self::CapturingStream => "a capturing stream cannot be destroyed",
            Self::BusyStream => "the stream has work that is not done",
            Self::UseAfterFree => "the memory was freed",
            Self::NoAllocation => "the address is in no allocation",
            Self::PastTheEnd => "the range leaves its allocation",
            Self::BadFree => "there is no such allocation to free",
            Self::MemoryInUse => "the memory is in use",
            Self::Overlap => "the ends of the copy overlap",
            Self::HostToHost => "both ends of the copy are host memory",
            Self::Misaligned => "the address is misaligned",
            Self::ModuleInUse => "the module is in use",
            Self::BadShape => "the shape of the launch does not fit",
            Self::BadParams => "the parameters are not the kernel's",
            Self::BadEdge => "the dependence cannot be",
            Self::ForeignNode => "the node is not of a live graph that this was made from",
            Self::NodeKind => "an update changes the kind of its node",
            Self::TooManyUpdates => "the executable was updated more often than the capabilities allow",
            Self::ExecInFlight => "launches of the executable are in flight",
            Self::NoTime => "the event has no time",
            Self::NotInCaps => "the capabilities rule the call out",
            Self::Unordered => "nothing orders this with other work on the same bytes",
            Self::HandlesAlive => "handles are alive",
        })
    }
}

/// One misuse, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {rule} ({detail})")]
pub struct Misuse {
    /// The call.
    pub call: &'static str,
    /// What it broke.
    pub rule: Rule,
    /// With which handles and numbers.
    pub detail: String,
}

/// A [`DriverError`] but for the call that reports it.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: i64,
    pub(crate) name: String,
    pub(crate) kind: DriverErrorKind,
    pub(crate) class: FaultClass,
}

impl Answer {
    pub(crate) fn at(&self, call: &'static str) -> DriverError {
        DriverError { call, code: self.code, name: self.name.clone(), kind: self.kind, class: self.class, log: None }
    }

    /// A refusal that correct callers can meet.
    pub(crate) fn refused(code: i64, name: impl Into<String>) -> Self {
        Self { code, name: name.into(), kind: DriverErrorKind::Refused, class: FaultClass::CallLocal }
    }

    pub(crate) fn out_of_memory(what: &str) -> Self {
        Self { kind: DriverErrorKind::OutOfMemory, ..Self::refused(2, format!("out of {what}")) }
    }

    pub(crate) fn not_ready() -> Self {
        Self { kind: DriverErrorKind::NotReady, ..Self::refused(600, "not ready") }
    }

    pub(crate) fn capture_broken(why: &str) -> Self {
        Self { kind: DriverErrorKind::CaptureBroken, ..Self::refused(901, format!("capture invalidated: {why}")) }
    }

    /// A kernel, or another command, that ended in a fault: the context is gone.
    pub(crate) fn trap(text: impl fmt::Display) -> Self {
        let (kind, class) = (DriverErrorKind::Lost, FaultClass::ContextFatal);
        Self { code: 719, name: format!("launch failure: {text}"), kind, class }
    }

    pub(crate) fn lost(reason: &str) -> Self {
        let (kind, class) = (DriverErrorKind::Lost, FaultClass::DeviceFatal);
        Self { code: 46, name: format!("device lost: {reason}"), kind, class }
    }
}

/// Why what a call should do was not done.
#[derive(Clone, Debug)]
pub(crate) enum Fail {
    Misuse(Rule, String),
    Answer(Answer),
}

impl Fail {
    pub(crate) fn misuse<T>(rule: Rule, detail: impl Into<String>) -> Result<T, Self> {
        Err(Self::Misuse(rule, detail.into()))
    }
}

impl From<Answer> for Fail {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}
