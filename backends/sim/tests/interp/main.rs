//! The interpreter through its public interface: every construct of WGSL, the shaders of the project, traps and findings.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod rig;
mod shaders;
mod speed;
