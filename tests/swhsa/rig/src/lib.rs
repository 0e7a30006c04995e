//! Runs tests on the software device: below AMD's own HIP runtime, each in a child process that starts through the loader
//! beside that runtime. What the device does is reached by [`Control`]; [`HostKernels`] and [`Rigged`] give it the kernels.

mod bundle;
mod control;
mod host_kernels;
mod stage;
mod translator;
mod twin;

pub use bundle::bundle;
pub use control::{Body, Control, FaultKind, Kind};
pub use host_kernels::HostKernels;
pub use stage::{Ended, PERSONALITIES, Personality, Stage, again, ending, everywhere, inside};
pub use translator::{Rigged, Twin};
