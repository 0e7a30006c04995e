//! The capture state machine, and the order of graph calls around it (spec C, sections 3 to 12).
//!
//! it, so that the order of steps is written once for all servers.

mod end;
mod state;

pub use end::CaptureEnd;
pub use state::{CacheMode, StreamCapture};
