//! Modules of the core, compiled over a model checker's locks and atomics instead of the standard library's: the same
//! files, found by path. What a module takes from `crate::sync` is the checker's here.

#[expect(dead_code, unused_imports, unreachable_pub, reason = "the models use a part of it")]
#[path = "../../../src/lifecycle/admission/mod.rs"]
mod admission;
pub mod models;
pub mod sync;

pub use graphreel::{clock, error};

/// The parts of the backend facade that are explored; the rest is the core's own.
pub mod lifecycle {
    pub(crate) use crate::admission;
    pub use graphreel::lifecycle::{bytes, config, error};
}
