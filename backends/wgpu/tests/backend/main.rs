//! The backend facade over wgpu, on whatever adapter is first, which in the project's own runs is the software one: a whole
//! life, closes out of destructors and observers, a device that is lost, the probe of a real adapter (B-201, XB-24).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod capacity;
mod closing;
mod life;
mod loss;
mod rig;
