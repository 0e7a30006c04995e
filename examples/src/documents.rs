//! The code in the documents, compiled by `cargo test --doc`, so that it stays true.

/// The page every reader sees first.
#[doc = include_str!("../../README.md")]
pub mod readme {}

/// For those who know CubeCL.
#[doc = include_str!("../../docs/from/cubecl.md")]
pub mod from_cubecl {}

/// For those who know cudarc.
#[doc = include_str!("../../docs/from/cudarc.md")]
pub mod from_cudarc {}

/// For those who know PyTorch's CUDA graphs.
#[doc = include_str!("../../docs/from/pytorch.md")]
pub mod from_pytorch {}
