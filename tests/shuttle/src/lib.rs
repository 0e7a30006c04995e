//! Modules of the core, compiled over a model checker's locks and atomics instead of the standard library's: the same
//! files, found by path. What a module takes from `crate::sync` is the checker's here. Their own tests are not: compiled as
//! a test, this crate is empty.
#![cfg(not(test))]

pub mod sync;

pub use graphreel::{clock, error};

/// The parts of the backend facade that are explored; the rest is the core's own.
pub mod lifecycle {
    pub use graphreel::lifecycle::{config, error};

    #[path = "../../../../src/lifecycle/park.rs"]
    pub mod park;
    #[path = "../../../../src/lifecycle/pool/mod.rs"]
    pub mod pool;

    pub mod latch;
}
