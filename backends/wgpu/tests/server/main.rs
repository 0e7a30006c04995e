//! The wgpu server through its contract, on whatever adapter there is. Without one each test says so and passes, unless
//! `GRAPHREEL_REQUIRE` names `wgpu`.

mod eager;
mod faults;
mod graphs;
mod interop;
mod memory;
mod rig;
mod updates;
