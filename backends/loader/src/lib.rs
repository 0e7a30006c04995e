//! Vendors' libraries loaded at run time, as the CUDA and HIP backends do it.
//!
//! A system's loader maps a file and trusts what its headers say: one that is cut short ends the process, and one that is a pipe
//! keeps it waiting. So a file that is named by its path is looked at first. The crate knows no vendor and nothing of Graphreel.

mod file;
mod open;
mod origin;

pub use open::{Refused, one_line, open};
pub use origin::origin;
