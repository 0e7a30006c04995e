//! The Graphreel backends by feature, and how to choose among them: what a library user adds.
//!
//! ```no_run
//! use graphreel_backends::{Select, open};
//!
//! let device = open(&Select::Auto)?;
//! println!("{}", device.info().name);
//! # Ok::<(), graphreel::ServerError>(())
//! ```

mod catalog;
#[cfg(feature = "cuda")]
mod cuda;
mod factory;
#[cfg(feature = "hip")]
mod hip;
mod options;
mod select;
#[cfg(feature = "sim")]
mod sim;
#[cfg(feature = "wgpu")]
mod wgpu;

pub use catalog::{BACKENDS, BackendReport, DeviceReport, Opened, list, open, open_explained, open_with};
pub use factory::factory;
pub use options::OpenOptions;
pub use select::{Select, SelectError};
