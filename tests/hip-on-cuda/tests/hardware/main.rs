//! The suites of the HIP backend on a real GPU of NVIDIA's, through HIP's interface over NVIDIA's driver: those that AMD's runtime
//! passes on the software device, the storm of threads, the expectation files, and what CUDA does in a capture. By itself it has no
//! device: `GRAPHREEL_HIP_LIBRARY` and `GRAPHREEL_HIPRTC_LIBRARY` have to name the library of this package.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod below;
#[path = "../../../swhsa/rig/tests/runtime/capture.rs"]
mod capture;
#[path = "../../../swhsa/rig/tests/suites/conformance.rs"]
mod conformance;
mod cts;
#[path = "../../../swhsa/rig/tests/suites/digits.rs"]
mod digits;
mod ground;
#[path = "../../../swhsa/rig/tests/runtime/hip.rs"]
mod hip;
#[path = "../../../swhsa/rig/tests/suites/interop.rs"]
mod interop;
mod matrix;
#[path = "../../../swhsa/rig/tests/runtime/promises.rs"]
mod promises;
mod threads;
#[path = "../../../swhsa/rig/tests/suites/waist.rs"]
mod waist;
