//! Graphreel on CUDA: hardware graphs over NVIDIA's driver and NVRTC, which are loaded at run time.
//!
//! Nothing of CUDA is needed to build it. `docs/backends/cuda.md` says what maps to what.
//!
//! | Module | What it holds |
//! | --- | --- |
//! | `library`, `calls`, `fault` | loading the driver, its calls by name, what its codes mean |
//! | `driver`, `handle`, `node`, `pages` | the waist of the hardware-graph server |
//! | `device`, `options`, `open`, `factory`, `interop` | finding, opening and adopting devices |
//! | `translator`, `nvrtc` | WGSL to code for the device |
//! | `telemetry` | what NVML tells |

mod calls;
mod device;
mod driver;
mod factory;
mod fault;
mod handle;
mod interop;
mod library;
mod node;
pub mod nvrtc;
mod open;
mod options;
mod pages;
mod telemetry;
mod translator;

pub use device::{BACKEND, CudaDevice, absence, devices, problems};
pub use driver::CudaDriver;
pub use factory::CudaFactory;
pub use handle::{
    CudaContext, CudaEvent, CudaExec, CudaFunction, CudaGraph, CudaModule, CudaNode, CudaStream, RawStream,
};
pub use interop::{Interop, RawBuffer, adopt};
pub use open::{CudaServer, driver, open, translator};
pub use options::{CudaOptions, Select};
pub use pages::Pages;
pub use translator::{CudaTranslator, Toolchain};
