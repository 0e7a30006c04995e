//! The suites that every backend passes, on the HIP backend over AMD's own runtime and the software device. Kernels are compiled
//! twice: by hipRTC for the runtime to load, and by g++ to run. `.ci/swhsa` starts this on each runtime, as each personality; by
//! itself it has no device.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod conformance;
mod cts;
mod digits;
mod ground;
mod interop;
mod leaks;
mod native;
mod sweep;
mod waist;
