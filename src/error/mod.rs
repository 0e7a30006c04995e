//! What can go wrong, as data: causes with fields, made into text once, in `Display`.
//!
//! [`ServerError`] is what every call of a handle or a [`Server`](crate::Server) answers. It is cheap to clone, since a
//! failure is kept on every byte it left unwritten.

mod driver;
mod graph_state;

use std::backtrace::Backtrace;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

pub use driver::{DriverError, DriverErrorKind, FaultClass};
pub use graph_state::{GraphOp, GraphRule, GraphState};

use crate::memory::ManagedMemoryId;
use crate::sync::Arc;

/// The result of a call that can fail with a [`ServerError`].
pub type Result<T, E = ServerError> = std::result::Result<T, E>;

/// Why a call did not do what was asked. Each text says what happened, to what, and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A capture, replay or graph call at the wrong time, or an operation a window refuses (C-85 to C-91).
    #[error("{0}")]
    GraphState(Arc<GraphState>),

    /// The device, the configured limit or the account cannot give the bytes.
    #[error("{0}")]
    OutOfMemory(OutOfMemory),

    /// The range was never written since it was allocated.
    #[error("bytes {}..{} of buffer {buffer} were never written; write them, or run a kernel that does", range.start, range.end)]
    Unwritten {
        /// The buffer's memory.
        buffer: ManagedMemoryId,
        /// The first unwritten bytes, relative to the memory.
        range: Range<u64>,
    },

    /// The bytes would have been written by work that failed (C-75 to C-82).
    #[error("bytes {}..{} of buffer {buffer} hold no result because of an earlier failure; write them again, or run their producer again: {cause}", range.start, range.end)]
    Tainted {
        /// The buffer's memory.
        buffer: ManagedMemoryId,
        /// The first tainted bytes, relative to the memory.
        range: Range<u64>,
        /// The failure.
        #[source]
        cause: Arc<ServerError>,
    },

    /// The kernel cannot be made from its source.
    #[error("{0}")]
    InvalidKernel(Arc<InvalidKernel>),

    /// A launch's arguments do not fit its kernel.
    #[error("{0}")]
    InvalidArguments(Arc<InvalidArguments>),

    /// A grid with a zero or too large a dimension.
    #[error("grid {}x{}x{} of {what} is invalid: each dimension must be 1 to {max}; {remedy}", groups[0], groups[1], groups[2])]
    InvalidGrid {
        /// The kernel or parameter it is for.
        what: Arc<str>,
        /// Workgroups asked for in x, y and z.
        groups: [u64; 3],
        /// The most workgroups in one dimension.
        max: u32,
        /// What to do.
        remedy: &'static str,
    },

    /// A byte range that is empty, misaligned, out of its buffer or of the wrong length.
    #[error("{op}: bytes {}..{} of a buffer of {size} bytes: {problem}", range.start, range.end)]
    InvalidRange {
        /// The call.
        op: &'static str,
        /// The range asked for, relative to the buffer.
        range: Range<u64>,
        /// The buffer's size in bytes.
        size: u64,
        /// What is wrong and what to do.
        problem: &'static str,
    },

    /// A size that cannot be allocated.
    #[error("cannot allocate {bytes} bytes: {problem}")]
    InvalidSize {
        /// Bytes asked for.
        bytes: u64,
        /// What is wrong and what to do.
        problem: Arc<str>,
    },

    /// A handle of one device was given to another.
    #[error("{what} belongs to device {of}, not to device {here}; make it on the device that uses it")]
    ForeignHandle {
        /// The kind of handle and its id.
        what: Arc<str>,
        /// The device that made it.
        of: u64,
        /// The device that was asked.
        here: u64,
    },

    /// A graph parameter that does not exist or has another type or kind.
    #[error("graph parameter `{name}`: {problem}")]
    InvalidParam {
        /// The parameter's name.
        name: Arc<str>,
        /// What is wrong and what to do.
        problem: Arc<str>,
    },

    /// An update or a check found another graph than the one that was recorded.
    #[error("node {node} of the graph differs from the recording: {what}; capture a new graph")]
    TopologyChanged {
        /// The first node that differs.
        node: u32,
        /// What differs.
        what: Arc<str>,
    },

    /// A value baked into the recording is another one now; declare it as a parameter to change it.
    #[error(
        "`{name}` of node {node} was recorded as {recorded} and is {now} now; declare it with `c.param` and set it by `graph.update`"
    )]
    BakedValueChanged {
        /// The node.
        node: u32,
        /// The argument's name in the kernel.
        name: Arc<str>,
        /// The recorded value.
        recorded: Arc<str>,
        /// The value now.
        now: Arc<str>,
    },

    /// No tier that the policy allows can execute the recording.
    #[error(
        "no allowed tier can run this graph: {reasons}; allow another tier in the capture policy or `GRAPHREEL_TIERS`"
    )]
    TierRefused {
        /// Each refused tier with its reason.
        reasons: Arc<str>,
    },

    /// The device or backend cannot do this, now or ever.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The feature or call.
        what: Arc<str>,
        /// Why, and what to do instead.
        why: Arc<str>,
    },

    /// A page that a graph pinned is not the one it recorded. The graph is not run.
    #[error(
        "graph {graph} was recorded over generation {recorded} of page {page}, which is at {found} now; capture it again"
    )]
    MovedMemory {
        /// The graph.
        graph: u64,
        /// The page.
        page: u64,
        /// The generation at seal.
        recorded: u64,
        /// The generation found.
        found: u64,
    },

    /// The closure given to `capture` or `profile` panicked. Nothing was launched or recorded.
    #[error("the closure given to `{op}` panicked, and nothing of it was recorded: {message}")]
    ClosurePanicked {
        /// `capture`, `profile` or the like.
        op: &'static str,
        /// The panic's message.
        message: Arc<str>,
    },

    /// The deadline came before the work was done. The work goes on; wait again to see its end.
    #[error("{what} was not done within {} ms; it goes on, wait again or with a longer deadline", waited.as_millis())]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// How long.
        waited: Duration,
    },

    /// The device is gone. Every later call answers this without reaching the driver.
    #[error("device {device} is lost: {reason}; open a new device")]
    DeviceLost {
        /// The device's process-wide number.
        device: u64,
        /// What the driver said.
        reason: Arc<str>,
    },

    /// What was asked for, or what it belongs to, was closed by its owner. Nothing reached the driver.
    #[error("{what} is closed: {why}")]
    Closed {
        /// The device, stream, buffer or graph.
        what: Arc<str>,
        /// Who closed it, and what to do.
        why: Arc<str>,
    },

    /// A fault in work that was already submitted. Reported once, then by taint on what it left unwritten.
    #[error("device fault in {origin}: {reason}")]
    DeviceFault {
        /// The work it came from, or `unattributed`.
        origin: Arc<str>,
        /// What the driver said.
        reason: Arc<str>,
    },

    /// Bytes that were to come from a file did not.
    #[error("`{path}` was not read: {problem}")]
    SourceFailed {
        /// The file.
        path: Arc<str>,
        /// What is wrong and what to do.
        problem: Arc<str>,
    },

    /// A driver call failed.
    #[error("{0}")]
    Driver(Arc<DriverError>),

    /// A backend of this process owns its devices exclusively, so nothing opens one beside it.
    #[error(
        "{what} cannot be opened: a backend of this process owns the devices {ordinals:?}; close it, use its sessions, or open with `OpenOptions::unleased()`"
    )]
    DevicesOwned {
        /// What was to be opened.
        what: Arc<str>,
        /// The ordinals of the live backend.
        ordinals: Arc<[usize]>,
    },

    /// Several failures that are all true, the most telling first (C-85).
    #[error("{}", SeveralText(errors))]
    Several {
        /// The failures, in order.
        errors: Arc<[ServerError]>,
        /// Where the report was built.
        backtrace: Arc<Backtrace>,
    },
}

impl ServerError {
    /// A lifecycle violation with a text of its own (C-89); prefer a [`GraphRule`] that names the condition.
    pub fn graph_state(message: impl Into<String>) -> Self {
        GraphState::new(GraphOp::Other, GraphRule::Other(message.into())).into()
    }

    /// The rule that was broken, when this is a lifecycle violation.
    pub fn graph_rule(&self) -> Option<&GraphRule> {
        match self {
            Self::GraphState(state) => Some(&state.rule),
            _ => None,
        }
    }

    /// Something that its owner closed: `what`, and `why` with the remedy.
    pub fn closed(what: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Self::Closed { what: what.into(), why: why.into() }
    }

    /// Whether it was refused because its owner closed it.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Tainted { cause, .. } => cause.is_closed(),
            Self::Several { errors, .. } => errors.iter().any(Self::is_closed),
            _ => false,
        }
    }

    /// Whether the device is gone.
    pub fn is_device_lost(&self) -> bool {
        match self {
            Self::DeviceLost { .. } => true,
            Self::Tainted { cause, .. } => cause.is_device_lost(),
            Self::Several { errors, .. } => errors.iter().any(Self::is_device_lost),
            _ => false,
        }
    }

    /// Something a backend or device cannot do: `what`, and `why` with the remedy.
    pub fn unsupported(what: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Self::Unsupported { what: what.into(), why: why.into() }
    }

    /// Failures that are all true, in order of telling; one alone stays as it is.
    pub fn several(errors: Vec<Self>) -> Self {
        Self::Several { errors: errors.into(), backtrace: Arc::new(Backtrace::capture()) }
    }
}

impl From<GraphState> for ServerError {
    fn from(state: GraphState) -> Self {
        Self::GraphState(Arc::new(state))
    }
}

impl From<DriverError> for ServerError {
    fn from(error: DriverError) -> Self {
        Self::Driver(Arc::new(error))
    }
}

impl From<InvalidKernel> for ServerError {
    fn from(error: InvalidKernel) -> Self {
        Self::InvalidKernel(Arc::new(error))
    }
}

impl From<InvalidArguments> for ServerError {
    fn from(error: InvalidArguments) -> Self {
        Self::InvalidArguments(Arc::new(error))
    }
}

struct SeveralText<'a>(&'a [ServerError]);

impl fmt::Display for SeveralText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            write!(f, "{}({}) {error}", if index == 0 { "" } else { "; " }, index + 1)?;
        }
        Ok(())
    }
}

/// Bytes that could not be had, and who said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Who refused.
    pub refused_by: MemoryLimit,
    /// Bytes needed, after rounding to the pool's slice.
    pub need: u64,
    /// Bytes still free under that limit; `None` where only the driver knows.
    pub have: Option<u64>,
    /// The limit in bytes; `None` where only the driver knows.
    pub limit: Option<u64>,
    /// Bytes of pages that were given up and that the driver takes back only once the device is idle and nothing records.
    pub held: u64,
}

/// What an allocation ran into.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// The limit of an account, by name.
    Account(Arc<str>),
    /// `Config::memory_limit`.
    Config,
    /// The device's own memory.
    Device,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory: {} bytes are needed", self.need)?;
        if let (Some(have), Some(limit)) = (self.have, self.limit) {
            write!(f, ", {have} are free under the limit of {limit}")?;
        }
        match &self.refused_by {
            MemoryLimit::Account(name) => {
                write!(f, " of account `{name}`; drop buffers or graphs of that account, or raise its limit")
            }
            MemoryLimit::Config => {
                write!(f, " in `Config::memory_limit`; drop buffers or graphs, call `trim`, or raise the limit")
            }
            MemoryLimit::Device => {
                write!(f, " and the device has no more; drop buffers or graphs, call `trim`, or use less")?;
                if self.held > 0 {
                    write!(
                        f,
                        "; {} bytes more are held until the device is idle and nothing records: wait for its work, then ask again",
                        self.held
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// A kernel that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", subject(kernel.as_deref()))]
pub struct InvalidKernel {
    /// The entry point that was asked for, else the only one of the text; `None` when that does not tell one.
    pub kernel: Option<String>,
    /// What is wrong.
    pub problem: KernelProblem,
}

/// Why a kernel cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelProblem {
    /// The WGSL does not parse. `rendered` is naga's text with the source line.
    #[error("the WGSL does not parse (line {line}, column {column}): {message}\n{rendered}")]
    Parse {
        /// 1-based line.
        line: u32,
        /// 1-based column, in characters.
        column: u32,
        /// The first line of the diagnosis.
        message: String,
        /// naga's rendering with the source.
        rendered: String,
    },
    /// The WGSL parses and is not valid.
    #[error("the WGSL is not valid (line {line}, column {column}): {message}\n{rendered}")]
    Validate {
        /// 1-based line, 0 where naga names no place.
        line: u32,
        /// 1-based column, 0 where naga names no place.
        column: u32,
        /// The first line of the diagnosis.
        message: String,
        /// naga's rendering with the source.
        rendered: String,
    },
    /// There is no such compute entry point.
    #[error("there is no such compute entry point; the source has: {}", listed(found))]
    UnknownEntry {
        /// Compute entry points that the source has.
        found: Vec<String>,
    },
    /// The source has several entry points and none was named.
    #[error("the source has several compute entry points, name one with `.entry(..)`: {}", listed(found))]
    AmbiguousEntry {
        /// Compute entry points that the source has.
        found: Vec<String>,
    },
    /// An override without a default was given no value.
    #[error("override `{name}` has no default value; set it with `.constant(\"{name}\", ..)`")]
    MissingOverride {
        /// The override's name or numeric id.
        name: String,
    },
    /// A value for an override that the source does not have.
    #[error("there is no override `{name}`; the source has: {}", listed(found))]
    UnknownOverride {
        /// The name given.
        name: String,
        /// Overrides that the source has.
        found: Vec<String>,
    },
    /// The declaration of a native kernel contradicts itself or its code.
    #[error("its declaration as native code cannot be used: {0}")]
    Signature(String),
    /// Something a Graphreel kernel cannot use, or this device cannot run.
    #[error("{0}")]
    Unsupported(String),
    /// The backend's compiler refused it.
    #[error("the backend's compiler refused it: {0}")]
    Backend(String),
}

fn subject(kernel: Option<&str>) -> String {
    kernel.map_or_else(|| "kernel source".to_owned(), |kernel| format!("kernel `{kernel}`"))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Arguments that do not fit a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("launch of kernel `{kernel}`: {problem}")]
pub struct InvalidArguments {
    /// The entry point.
    pub kernel: String,
    /// What is wrong.
    pub problem: ArgumentProblem,
}

/// Why arguments do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentProblem {
    /// Too few or too many buffers.
    #[error("it takes {expected} buffers ({names}) and was given {given}")]
    BufferCount {
        /// Bindings of the entry point.
        expected: usize,
        /// Buffers given.
        given: usize,
        /// The bindings' names in order of (group, binding).
        names: String,
    },
    /// Too few or too many scalars.
    #[error("it takes {expected} scalars ({names}) and was given {given}")]
    ScalarCount {
        /// Members of the `var<immediate>` struct.
        expected: usize,
        /// Scalars given.
        given: usize,
        /// The members' names and types in order.
        names: String,
    },
    /// A scalar of another type than the member.
    #[error("scalar `{name}` is {expected} in the kernel and was given as {given}")]
    ScalarType {
        /// The member's name.
        name: String,
        /// Its type in the kernel.
        expected: String,
        /// The type given.
        given: String,
    },
    /// A buffer smaller than the binding needs.
    #[error("buffer `{name}` needs at least {need} bytes and has {have}")]
    BufferTooSmall {
        /// The binding's name.
        name: String,
        /// Bytes needed.
        need: u64,
        /// Bytes given.
        have: u64,
    },
    /// A binding offset or size that the device does not allow.
    #[error("buffer `{name}` is bound at byte {offset}, {size} bytes long; {rule}")]
    BufferAlignment {
        /// The binding's name.
        name: String,
        /// The offset in its memory.
        offset: u64,
        /// The bound size in bytes.
        size: u64,
        /// The rule and the remedy.
        rule: String,
    },
    /// An access declared at the launch that the kernel does not have.
    #[error(
        "buffer `{name}` was given as {given}, but the kernel uses it as {used}; only a written buffer can be `WritePart`"
    )]
    Access {
        /// The binding's name.
        name: String,
        /// The access given at the launch.
        given: String,
        /// What the entry point does.
        used: String,
    },
    /// Two bindings of one launch overlap and one of them is written.
    #[error(
        "buffers `{first}` and `{second}` overlap and one of them is written; bind disjoint ranges, or one binding"
    )]
    Overlap {
        /// The first binding's name.
        first: String,
        /// The second binding's name.
        second: String,
    },
    /// The copy's source and destination overlap or differ in length.
    #[error("{0}")]
    Copy(String),
}
