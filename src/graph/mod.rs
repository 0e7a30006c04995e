//! Hardware graphs, written once: the [`driver`] waist that a vendor implements, and the server above it.
//!
//! Only the waist exists so far. The server over it joins the same state machines that software graphs use.

pub mod driver;
mod translate;

pub use driver::{Driver, DriverResult};
pub use translate::{Translated, Translator};
