//! How observation is delivered: two lanes of threads, isolation of callers' code, and an observation without a backend.

pub(crate) mod executor;
pub(crate) mod isolation;
mod lane;
pub mod owner;
