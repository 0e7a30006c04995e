//! Graphreel's simulator: a driver in memory that records graphs as a vendor's does, runs the same WGSL on the processor,
//! and answers every misuse. It is no device, and says so wherever it is named.

pub mod interp;
pub mod memory;
