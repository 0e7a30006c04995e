//! The backend facade: declare devices, validate, build once, admit, close (docs/BACKEND.md).
//!
//! | Module | What it holds |
//! | --- | --- |
//! | [`error`] | the facade's error: code, operation, facts |
//! | [`bytes`] | how byte counts are written |
//! | [`config`] | what a deployment declares, and every rule on it |
//! | [`inventory`] | what is known about the machine's devices |
//! | [`capacity`] | what a declaration comes to on a device |
//! | [`io`] | files to device memory, by one pool for the process |
//! | [`records`] | what a build found and installed |

pub mod bytes;
pub mod capacity;
pub mod config;
pub mod error;
pub mod inventory;
pub mod io;
pub mod records;
pub(crate) mod service;

pub use bytes::bytes_with_gib;
pub use capacity::{
    GpuDeviceCapacity, GpuDeviceCapacityProbe, probe_capacity, probe_device_capacity, resolve_capacity,
};
pub use error::{QueryError, QueryErrorCode, QueryResult, native_error};
#[cfg(any(test, feature = "test-hooks"))]
pub use inventory::FakeInventory;
pub use inventory::{BackendKind, DeviceFacts, FactProvenance, GpuInventory, normalize_device_ordinals};
pub use io::{
    IoPoolMode, IoPoolProcessConfig, SourceProgress, SourceRead, SourceWork, configure_io_pool_process, read_source,
};
pub use records::{DeviceResourceProfile, GpuBackendDeviceStartupRecord, MemoryManagerInstallation};
