//! The backend facade over simulators: construction, admission, attempts, close, with every fault at every step.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod attempts;
mod closing;
mod construct;
mod endings;
mod faults;
mod load;
mod model;
mod placement;
mod rig;
mod service;
mod storm;
