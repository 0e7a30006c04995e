//! Compiles generated C++ without a GPU: g++ with sanitizers, which also runs it, NVIDIA's NVRTC and AMD's hipRTC.
//!
//! The crate knows sources, symbols and reflection, and not who wrote them. Whatever is absent is said to be, and is a
//! failure where `GRAPHREEL_REQUIRE` names it.

mod child;
pub mod code_object;
pub mod hip;
pub mod hiprtc;
pub mod host;
pub mod nvrtc;
mod place;
mod presence;

pub use child::Ended;
pub use presence::{Absent, announce, present};
