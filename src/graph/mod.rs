//! Hardware graphs, written once: the [`driver`] waist that a vendor implements, and the server above it.
//!
//! The server over it joins the same state machines that software graphs use. Its parts, from the device up:
//!
//! | Part | What it decides |
//! | --- | --- |
//! | `shared` | the driver, its events, what a failure means for the device |
//! | `lanes`, `order` | which stream runs what, and after what |
//! | `pages`, `staging`, `staged`, `pinned`, `spare` | where bytes lie, on the device and on the host |
//! | `reclaim`, `close` | what is destroyed when |
//! | `compile`, `arguments`, `action` | kernels, and operations with addresses in the place of handles |
//! | `issue` | eager work, reads, waits, timing |
//! | `interop` | memory and streams of an application as ours, and ours as its |
//! | `listing` | which of a driver's devices can be used |
//! | `windows`, `executable`, `replay` | capture, sealing, updates and replays |

mod action;
mod arguments;
mod close;
mod compile;
pub mod driver;
mod executable;
mod fence;
mod interop;
mod issue;
mod lanes;
mod listing;
mod order;
mod pages;
mod pinned;
mod reclaim;
mod replay;
mod server;
mod shared;
mod spare;
mod staged;
mod staging;
mod translate;
mod windows;

pub use driver::{Driver, DriverResult};
pub use listing::Listing;
pub use server::{Backend, HardwareServer};
pub use translate::{Translated, Translator};
