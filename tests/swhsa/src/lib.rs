//! A software device below AMD's HIP runtime: the library `libhsa-runtime64.so.1`, written from the public headers of HSA.
//! AMD's own `libamdhip64` runs on it unchanged, on a machine with no GPU. It has one processor and one device, whose
//! memory the host cannot read; kernels are functions that a test registers. Nothing of a code object is executed.

#[cfg(target_os = "linux")]
mod abi;
#[cfg(target_os = "linux")]
mod agent;
#[cfg(target_os = "linux")]
mod blit;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod chance;
#[cfg(target_os = "linux")]
mod code;
#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod copy;
#[cfg(target_os = "linux")]
mod count;
#[cfg(target_os = "linux")]
mod dispatch;
#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod queue;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod signal;
