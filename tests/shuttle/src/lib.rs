//! Modules of the core, compiled over a model checker's locks and atomics instead of the standard library's: the same
//! files, found by path. What a module takes from `crate::sync` is the checker's here. Their own tests are not: compiled as
//! a test, this crate is empty.
#![cfg(not(test))]
#![cfg(not(test))]

#[expect(dead_code, unused_imports, unreachable_pub, reason = "the models use a part of it")]
#[path = "../../../src/lifecycle/admission/mod.rs"]
mod admission;
pub mod models;
pub mod process;
pub mod sync;

pub use graphreel::{clock, error};

/// The parts of the backend facade that are explored; the rest is the core's own.
pub mod lifecycle {
    pub use graphreel::lifecycle::{bytes, config, error, records};

    #[path = "../../../../src/lifecycle/gate.rs"]
    pub mod gate;
    #[path = "../../../../src/lifecycle/journal.rs"]
    #[expect(dead_code, reason = "the models use a part of it")]
    pub mod journal;
    #[path = "../../../../src/lifecycle/resource.rs"]
    #[expect(dead_code, reason = "the models use a part of it")]
    pub mod resource;
    #[path = "../../../../src/lifecycle/tracker.rs"]
    pub mod tracker;
    #[path = "../../../../src/lifecycle/watched.rs"]
    pub mod watched;

    #[path = "../../../../src/lifecycle/coordinator/mod.rs"]
    pub mod coordinator;

    #[path = "../../../../src/lifecycle/attempt/mod.rs"]
    #[expect(dead_code, reason = "the models use a part of it")]
    pub mod attempt;
    #[path = "../../../../src/lifecycle/health.rs"]
    pub mod health;
    #[path = "../../../../src/lifecycle/metrics/mod.rs"]
    pub mod metrics;
    #[path = "../../../../src/lifecycle/reentrancy.rs"]
    pub mod reentrancy;

    pub mod close_model;
    pub mod lease;
    pub mod service;
    pub(crate) use crate::admission;
    /// Without the standalone owner, which has a static.
    #[path = "../../../../src/lifecycle/observation"]
    pub mod observation {
        #[expect(dead_code, reason = "the models use a part of it")]
        pub(crate) mod executor;
        pub(crate) mod isolation;
        pub(crate) mod lane;
    }

    pub mod attempts;

    #[path = "../../../../src/lifecycle/park.rs"]
    pub mod park;
    #[path = "../../../../src/lifecycle/pool/mod.rs"]
    pub mod pool;

    pub mod latch;
}
