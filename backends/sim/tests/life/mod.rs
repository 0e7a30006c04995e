//! One device from its opening to its close, doing everything once, beside a model of what its buffers have to hold.

pub(crate) mod model;
mod script;
mod windows;
mod world;

pub(crate) use world::{Fault, Outcome, Setting, live};
