//! HIP's C interface over NVIDIA's driver and NVRTC: a library that the HIP backend loads where AMD's would be, so that what it does
//! on the host is seen on a real GPU. It proves nothing of AMD's runtime, compiler or devices.
//!
//! Names and layouts are HIP's, behaviour is CUDA's: a call is the driver's own of the same meaning, and nothing that AMD's runtime
//! does otherwise is imitated. Needed is a driver for CUDA 12.3 or later. Without one each call answers that there is no device.
//!
//! No device of AMD's is claimed: the architecture is [`ARCHITECTURE`], and names say what the library is.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod calls;
mod comgr;
mod context;
mod cuda;
mod image;
mod node;
mod rtc;

/// What the devices say their architecture is. AMD has none of this name.
pub const ARCHITECTURE: &str = "gfx000";

/// What `hipRuntimeGetVersion` answers: HIP 7.2, whose interface this is a part of, and no patch of AMD's.
pub const VERSION: i32 = 70_200_001;

/// Names the compute capability that hipRTC compiles for where there is no device, as 90 for 9.0.
pub const CAPABILITY_VARIABLE: &str = "GRAPHREEL_HIP_ON_CUDA_ARCH";
