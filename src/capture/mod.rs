//! The capture state machine, and the order of graph calls around it (docs/CAPTURE.md).
//!
//! [`StreamCapture`] is the machine: it takes no lock and reaches no device. [`window`] brackets a server's own work with
//! it, so that the order of steps is written once for all servers.

mod end;
mod state;
pub mod window;

pub use end::CaptureEnd;
pub use state::{CacheMode, StreamCapture};
pub use window::{SealParts, Window, WindowHost};
