//! What is known of an attempt once it is over.

use std::time::Duration;

use crate::lifecycle::error::{QueryError, QueryErrorCode};
use crate::sync::Arc;

/// How an attempt ended (B-132).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// It did what was asked.
    Succeeded,
    /// It went wrong.
    Failed,
    /// Its caller gave up, or the backend was closing.
    Cancelled,
    /// Admission refused it.
    Rejected,
    /// Its owner went away without a word.
    Dropped,
}

impl AttemptOutcome {
    /// All of them, in the order of their labels.
    pub const ALL: [Self; 5] = [Self::Succeeded, Self::Failed, Self::Cancelled, Self::Rejected, Self::Dropped];

    /// Its label in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
            Self::Dropped => "dropped",
        }
    }

    /// The outcome of an attempt that ends with `error`.
    pub(crate) fn of_error(error: &QueryError) -> Self {
        match error.code() {
            QueryErrorCode::Cancelled => Self::Cancelled,
            QueryErrorCode::ServiceOverloaded
            | QueryErrorCode::NoCapableDevice
            | QueryErrorCode::NoHealthyDevice
            | QueryErrorCode::GrantExceedsDeviceCapacity => Self::Rejected,
            _ => Self::Failed,
        }
    }
}

/// How far an attempt came (B-132).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttemptDisposition {
    /// It ended before it was planned.
    Unplanned,
    /// It was planned, and no device worked for it.
    HostOnly,
    /// A device worked for it.
    Native,
}

impl AttemptDisposition {
    /// All of them, in the order of their labels.
    pub const ALL: [Self; 3] = [Self::Unplanned, Self::HostOnly, Self::Native];

    /// Its label in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unplanned => "unplanned",
            Self::HostOnly => "host_only",
            Self::Native => "native",
        }
    }
}

/// The sealed report of one attempt. Durations go by the backend's clock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueryAttemptReport {
    /// Unique among the attempts of one backend, from 1 in the order of their begins.
    pub attempt_id: u64,
    /// The name that it was begun with.
    pub name: Option<Arc<str>>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// How far it came.
    pub disposition: AttemptDisposition,
    /// Whether the backend was closing when it ended (B-87).
    pub backend_closing: bool,
    /// What it ended with, or what went wrong while its resources were given back.
    pub error: Option<QueryError>,
    /// The device that it was admitted to.
    pub device_ordinal: Option<usize>,
    /// Bytes granted on that device.
    pub granted_bytes: u64,
    /// From its begin to this report.
    pub total: Duration,
    /// From its begin until it was planned; zero if it never was.
    pub planning: Duration,
    /// In the admission queue.
    pub queue_wait: Duration,
    /// On the device.
    pub physical_execution: Duration,
}
