//! Graphreel records GPU compute work once and replays it on any vendor. This crate is the vendor-neutral core.
//!
//! It names no backend: `graphreel-backends` opens devices, and `graphreel-wgpu` and its siblings implement [`Server`].
//!
//! | Module | What it holds |
//! | --- | --- |
//! | [`device`] | the handles: [`Device`](device) and what it makes |
//! | [`server`] | the contract that a backend implements |
//! | [`staging`] | host memory that a device copies from |
//! | [`book`] | what every server keeps: slots, windows, taint, who may do what |
//! | [`capture`] | the window's state machine and the order of graph calls |
//! | [`taint`] | which failure owns which bytes |
//! | [`recording`] | what a window launched, in our own terms |
//! | [`kernel`] | WGSL source, reflection, compiled handles |
//! | [`graph`] | the driver waist under hardware graphs |
//! | [`memory`] | handles, accounts, pools |
//! | [`stream`] | logical streams and slots |
//! | [`lifecycle`] | the backend facade: configuration, capacity, what a device declares |
//! | [`clock`], [`ticket`] | time, waits and answers to come |
//! | [`error`] | what can go wrong |

pub mod book;
pub mod caps;
pub mod capture;
pub mod clock;
pub mod config;
pub mod device;
pub mod error;
pub mod graph;
pub mod kernel;
pub mod lifecycle;
pub mod memory;
pub mod op;
pub(crate) mod process;
pub mod recording;
pub mod server;
pub mod shaders;
pub mod staging;
pub mod stream;
pub mod sync;
pub mod taint;
pub mod ticket;

pub use caps::{Caps, DeviceInfo, DeviceKind};
pub use clock::{Clock, Deadline};
pub use config::Config;
pub use device::{Buffer, Capture, Device, Done, Graph, Grid, Stream};
pub use error::{GraphRule, Result, ServerError};
pub use kernel::{Kernel, KernelSource, Wgsl};
pub use memory::{Access, Account};
pub use recording::{CapturePolicy, GraphReport, Recording, Tier};
pub use server::Server;
pub use stream::StreamId;
