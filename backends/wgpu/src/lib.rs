//! Graphreel on wgpu: a software graph over Vulkan, Metal and DX12.
//!
//! wgpu records no graph itself, so a window's operations are kept in Graphreel's own recording, resolved to a program once
//! when the window is sealed, and encoded again for each replay. `docs/backends/wgpu.md` says what maps to what.
//!
//! | Module | What it holds |
//! | --- | --- |
//! | `adapters`, `vulkan`, `needs`, `open`, `interop` | finding, opening and adopting devices |
//! | `server` | the contract's calls |
//! | `eager`, `batch`, `tape`, `groups`, `scalars`, `builtin` | eager work |
//! | `recorder`, `lowering`, `program`, `graph`, `cuts`, `replay` | windows and graphs |
//! | `pages`, `staging` | memory |
//! | `pipeline` | kernels |
//! | `submits`, `fence`, `fault`, `timing` | the queue, waits, what goes wrong, times |

mod adapters;
mod batch;
mod builtin;
mod cuts;
mod eager;
mod fault;
mod fence;
mod gpu;
mod graph;
mod groups;
mod interop;
mod lowering;
mod needs;
mod open;
mod pages;
mod pipeline;
mod program;
mod recorder;
mod replay;
mod scalars;
mod server;
mod staging;
mod submits;
mod tape;
#[cfg(test)]
mod tests;
mod timing;
mod uploads;
#[cfg(any(windows, target_os = "linux", target_os = "android"))]
mod vulkan;

pub use adapters::{AdapterSummary, Select, absence, adapters};
pub use interop::RawBuffer;
pub use open::{Options, open};
pub use server::WgpuServer;
