//! Graphreel on HIP: hardware graphs over AMD's runtime and hipRTC, which are loaded at run time.
//!
//! Nothing of ROCm is needed to build it. `docs/backends/hip.md` says what maps to what, and how far each claim is proven: it
//! has never run on an AMD GPU.
//!
//! | Module | What it holds |
//! | --- | --- |
//! | `calls`, `fault` | the runtime's calls, what its codes mean |
//! | `driver`, `handle`, `node`, `roots` | the waist of the hardware-graph server |
//! | `device`, `options`, `open`, `factory`, `interop` | finding and opening devices |
//! | `translator`, `hiprtc` | WGSL to code for the device |

mod calls;
mod device;
mod driver;
mod factory;
mod fault;
mod handle;
pub mod hiprtc;
mod interop;
mod node;
mod open;
mod options;
mod roots;
mod translator;

pub use device::{BACKEND, HipDevice, absence, devices, problems};
pub use driver::HipDriver;
pub use factory::HipFactory;
pub use handle::{HipContext, HipEvent, HipExec, HipFunction, HipGraph, HipModule, HipNode, HipStream, RawStream};
pub use interop::{Interop, RawBuffer};
pub use open::{HipServer, driver, open, translator};
pub use options::{HipOptions, Select};
pub use translator::{HipTranslator, Toolchain};
