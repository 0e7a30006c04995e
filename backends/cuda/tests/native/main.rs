//! Kernels in CUDA C++, PTX and cubins on the first device: beside kernels in WGSL in one graph, on both tiers, and what is refused of
//! them, with whose words and before what call.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod graphs;
mod refusals;
mod rig;
mod sources;
