//! What the facade installs on one device, over the simulator: the memory manager, the stream pool, the resident cache.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "facade_parts/cache.rs"]
mod cache;
#[path = "facade_parts/manager.rs"]
mod manager;
#[path = "facade_parts/rig.rs"]
mod rig;
#[path = "facade_parts/streams.rs"]
mod streams;
