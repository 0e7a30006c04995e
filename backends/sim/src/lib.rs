//! Graphreel's simulator: a driver in memory that records graphs as a vendor's does, runs the same WGSL on the processor,
//! and answers every misuse. It is no device, and says so wherever it is named.

mod bytes;
mod call;
mod capture;
mod driver;
mod exec;
mod factory;
mod failure;
mod fault;
mod graph;
mod handle;
mod hazard;
mod image;
mod instance;
pub mod interp;
pub mod memory;
mod op;
mod open;
mod options;
mod perform;
mod pinned;
mod probe;
mod raw;
mod schedule;
mod space;
mod state;
mod stream;
#[cfg(test)]
mod tests;
mod trace;
mod translator;
mod work;
mod worker;

pub use driver::SimDriver;
pub use factory::SimFactory;
pub use failure::{Misuse, Rule};
pub use fault::{Failure, FaultPlan, FaultRule, RunKind, Then, When};
pub use handle::{SimContext, SimEvent, SimExec, SimFunction, SimGraph, SimModule, SimNode, SimStream};
pub use open::{SimServer, describe, open};
pub use options::{Completion, SimOptions};
pub use probe::{KernelFinding, Probe, Unclean};
pub use state::Live;
pub use translator::SimTranslator;
