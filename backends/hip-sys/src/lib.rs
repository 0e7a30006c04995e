//! AMD's HIP runtime and its compiler hipRTC, found and loaded at run time; nothing of ROCm is needed to build it.
//!
//! Three things, each as C declares it: [`handle`] and [`structure`] have the types, [`constant`] the numbers, [`Calls`] and
//! [`RtcCalls`] the functions. What the library writes is a number here and never a Rust enum, since a newer one may write values that
//! nobody here knows. A C compiler with AMD's headers checks every signature, layout and number.
//! `docs/decisions/0006-own-hip-sys.md` says why the crate is ours.

#![expect(non_camel_case_types, reason = "types have the names of AMD's headers")]
#![expect(non_upper_case_globals, reason = "constants have the names of AMD's headers")]
#![expect(non_snake_case, reason = "methods and fields have the names of AMD's headers")]

mod calls;
pub mod comgr;
pub mod constant;
mod failure;
pub mod handle;
mod library;
mod rtc;
pub mod structure;

pub use calls::Calls;
pub use failure::{Answer, Failure};
pub use library::{LIBRARY_VARIABLE, Library, LoadError, RTC_VARIABLE, Version, library};
pub use rtc::{RtcCalls, RtcLibrary};

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests;
