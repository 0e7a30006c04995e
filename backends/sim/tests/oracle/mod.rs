//! Random programs against a simple oracle: what each buffer has to hold, and which calls may fail. Faults of the driver may
//! make any call fail; they may never make one succeed that did not happen, nor give bytes that were not written.

pub mod model;
pub mod program;
pub mod world;

pub use program::{Program, shrink};
pub use world::{Outcome, Plan, run};
