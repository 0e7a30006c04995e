//! Random compute kernels in WGSL whose results are the same on every correct implementation, whatever its order of
//! invocations: [`generate`](fn@generate) makes one from a seed, [`shrink`](fn@shrink) makes one that fails small.
//!
//! An invocation writes elements of its own. What is shared is changed by commutative atomics whose results are not used, or
//! written, waited for and read. Loops are counted, indices stay in range, and floats are such that no operation rounds.

mod bound;
mod check;
mod expr;
mod generate;
mod kernel;
mod module;
mod options;
mod shape;
mod shrink;
mod stmt;

pub use generate::generate;
pub use kernel::{BufferData, Kernel};
pub use options::{Options, Subgroups};
pub use shrink::shrink;
