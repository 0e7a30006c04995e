//! The vendor-neutral recording: what a window launched, in our own terms.
//!
//! A recording names buffers by number, kernels by source and parameters by name; no address or handle is in it, so it
//! can be stored and run elsewhere. [`RecordingBuilder`] turns live operations into one and keeps the handles beside it.

mod branches;
mod builder;
mod dependence;
mod diff;
mod dump;
#[cfg(test)]
mod fixture;
mod intern;
mod node;
mod params;
mod report;
mod users;
mod validate;

pub use branches::Branches;
pub use builder::{Recorded, RecordingBuilder};
pub use diff::Difference;
pub(crate) use dump::hex;
pub use dump::{RecordingError, SCHEMA};
pub use node::{BufferDecl, Node, NodeGrid, NodeOp, NodeValue, ParamDecl, ParamKind, Place, Recording, Use};
pub use params::{ParamTable, PlannedChange};
pub use report::{CapturePolicy, FrozenArgument, GraphReport, NodeTime, Tier, TierChoice, TimeSource};
pub use users::{BufferRole, ParamUser};
