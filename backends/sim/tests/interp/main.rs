//! The interpreter through its public interface: every construct of WGSL, the shaders of the project, traps and findings.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod atomics;
mod barriers;
mod control;
mod expressions;
mod layout;
mod limits;
mod math;
mod places;
mod random;
mod rig;
mod sanitizer;
mod shaders;
mod speed;
mod subgroups;
