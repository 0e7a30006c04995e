//! The backend facade: declare devices, validate, build once, admit, close (docs/BACKEND.md).
//!
//! | Module | What it holds |
//! | --- | --- |
//! | [`error`] | the facade's error: code, operation, facts |
//! | [`bytes`] | how byte counts are written |
//! | [`config`] | what a deployment declares, and every rule on it |
//! | [`inventory`] | what is known about the machine's devices |
//! | [`capacity`] | what a declaration comes to on a device |
//! | [`records`] | what a build found and installed |
//! | [`identity`] | which backend is which |
//! | [`lease`] | who owns the devices of this process |

pub mod bytes;
pub mod capacity;
pub mod config;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod coordinator;
pub mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod gate;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub mod identity;
pub mod inventory;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod journal;
pub mod lease;
pub mod records;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod reentrancy;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod resource;
pub(crate) mod service;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod tracker;
pub(crate) mod watched;

pub use bytes::bytes_with_gib;
pub use capacity::{
    GpuDeviceCapacity, GpuDeviceCapacityProbe, probe_capacity, probe_device_capacity, resolve_capacity,
};
pub use coordinator::GpuBackendCloseSnapshot;
pub use error::{QueryError, QueryErrorCode, QueryResult, native_error};
pub use identity::GpuBackendCoreIdentity;
#[cfg(any(test, feature = "test-hooks"))]
pub use inventory::FakeInventory;
pub use inventory::{BackendKind, DeviceFacts, FactProvenance, GpuInventory, normalize_device_ordinals};
pub use lease::{DirectUse, LiveBackendLease, LiveBackendToken, claim_live_backend, hold_direct};
pub use records::{DeviceResourceProfile, GpuBackendDeviceStartupRecord, MemoryManagerInstallation};
