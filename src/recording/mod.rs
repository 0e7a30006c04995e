//! The vendor-neutral recording: what a window launched, in our own terms (design §3).
//!
//! A recording names buffers by number, kernels by source and parameters by name; no address or handle is in it, so it
//! can be stored and run elsewhere. [`RecordingBuilder`] turns live operations into one and keeps the handles beside it.

mod builder;
mod dependence;
mod intern;
mod node;
mod report;

pub use builder::{Recorded, RecordingBuilder};
pub use node::{BufferDecl, Node, NodeGrid, NodeOp, NodeValue, ParamDecl, ParamKind, Place, Recording, Use};
pub use report::{CapturePolicy, FrozenArgument, GraphReport, NodeTime, Tier, TierChoice, TimeSource};
