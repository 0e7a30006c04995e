//! The driver as a caller sees it: each mode of completion, each rule, each fault.

mod completion;
mod fault;
mod hazard;
mod kernel;
mod misuse;
mod rig;
mod sweep;
