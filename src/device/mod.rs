//! The handles that callers hold: cheap, cloneable, `Send + Sync`, over one device behind one lock.

mod args;
mod buffer;
mod build;
mod capture;
mod closed;
mod graph;
mod grid;
mod inner;
mod monitor;
mod open;
mod stream;
mod wait;
mod waiter;

pub use args::{Arg, ArgList, Args, BufferSlot, Param, WritePart};
pub use buffer::Buffer;
pub use capture::{BufferRef, Capture};
pub use graph::{Graph, Update};
pub use grid::{Grid, GridParam, IntoGrid};
pub(crate) use inner::ATTEMPT_ENDED;
pub use monitor::Monitor;
pub use open::Device;
pub use stream::Stream;
pub use wait::{Done, DoneFuture, Pending};
