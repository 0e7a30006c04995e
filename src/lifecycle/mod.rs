//! The backend facade: declare devices, validate, build once, admit, close (docs/BACKEND.md).
//!
//! | Module | What it holds |
//! | --- | --- |
//! | [`error`] | the facade's error: code, operation, facts |
//! | [`bytes`] | how byte counts are written |
//! | [`config`] | what a deployment declares, and every rule on it |
//! | [`inventory`] | what is known about the machine's devices |
//! | [`capacity`] | what a declaration comes to on a device |
//! | [`admission`] | who gets room on which device, and who waits |
//! | [`records`] | what a build found and installed |

#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod admission;
// Not inside of it: the model checkers compile that folder by path, and these tests use the machine's own threads.
#[cfg(test)]
#[path = "admission/tests/mod.rs"]
mod admission_tests;
pub mod bytes;
pub mod capacity;
pub mod config;
pub mod error;
pub mod inventory;
pub mod records;
pub(crate) mod service;

pub use admission::{
    AdmissionClass, AdmissionCounters, AdmissionSnapshot, CancellationToken, DeviceAdmissionSnapshot, DeviceClosure,
};
pub use bytes::bytes_with_gib;
pub use capacity::{
    GpuDeviceCapacity, GpuDeviceCapacityProbe, probe_capacity, probe_device_capacity, resolve_capacity,
};
pub use error::{QueryError, QueryErrorCode, QueryResult, native_error};
#[cfg(any(test, feature = "test-hooks"))]
pub use inventory::FakeInventory;
pub use inventory::{BackendKind, DeviceFacts, FactProvenance, GpuInventory, normalize_device_ordinals};
pub use records::{DeviceResourceProfile, GpuBackendDeviceStartupRecord, MemoryManagerInstallation};
