//! Logical streams, and how they share the pooled ones.

mod fold;
mod id;

pub use fold::{SlotIndex, SlotTable};
pub use id::{PinnedStream, StreamId};
