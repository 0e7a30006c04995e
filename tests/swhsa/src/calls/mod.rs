//! The functions of HSA that AMD's HIP runtime imports, by their names. Each works, or answers an error and says so.

mod agent;
mod executable;
mod loader;
mod memory;
mod queue;
mod signal;
mod system;
mod transfer;
mod unsupported;
mod virtual_memory;
