//! Random programs against a simple oracle: what each buffer has to hold, and which calls may fail. Faults of the driver may
//! make any call fail; they may never make one succeed that did not happen, nor give bytes that were not written.

pub(crate) mod model;
pub(crate) mod program;
pub(crate) mod world;

pub(crate) use program::{Program, shrink};
pub(crate) use world::{Plan, run};
