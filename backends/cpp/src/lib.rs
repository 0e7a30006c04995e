//! Writes a WGSL entry point as CUDA C++, HIP C++ or host C++ that keeps WGSL's guarantees: a pure function from source and
//! options to C++ and reflection, with no device and no vendor's compiler in it. Beside it, [`cache`] keeps what those make of it.

pub mod cache;
mod code;
mod dialect;
mod ir;
mod keywords;
mod layout;
mod lint;
mod names;
mod options;
mod prelude;
mod ranges;
mod refusal;
mod translation;
mod writer;

pub use lint::{Lint, Rule, lint};
pub use options::{Bounds, Dialect, FloatMode, Loops, Options, Removed};
pub use translation::{Translation, join, translate};

/// The runtime of host C++: a file of C++17 for Linux, compiled once beside the kernels, with the same `WG_SUBGROUP_SIZE` if one
/// is given. Its `wg_host_run` is what a kernel's symbol calls.
pub const HOST_RUNTIME: &str = include_str!("host/runtime.cpp");
