//! What is written, given to real compilers: run on the processor against the interpreter and the expectation files, and
//! accepted by the vendors' compilers. One program, so that its parts share a rig and are linked once.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod constructs_host;
mod corpus;
mod cts_host;
mod failures_host;
mod hip_metadata;
mod interpreter;
mod random_host;
mod rig;
mod shaders_host;
mod vendor_compilers;
