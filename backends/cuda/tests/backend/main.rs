//! The backend facade over CUDA, on the first device: whole lives, capacity and telemetry, closes over work in flight, and a loss,
//! which no backend of the process gets over (B-201, XB-24).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod life;
mod loss;
mod rig;
