//! The CUDA backend: WGSL becomes C++, and NVRTC makes it code for the device. Nothing of CUDA is linked.

pub mod nvrtc;
mod translator;

pub use translator::{CudaTranslator, Toolchain};
