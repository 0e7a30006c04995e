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
//! | [`factory`], [`telemetry`] | what a vendor supplies: servers, and what a device says of itself |

pub mod bytes;
#[cfg_attr(not(feature = "test-hooks"), expect(dead_code, unreachable_pub, reason = "tests of backends reach it"))]
mod cache;
pub mod capacity;
pub mod config;
#[cfg_attr(not(feature = "test-hooks"), expect(dead_code, unreachable_pub, reason = "tests of backends reach it"))]
mod context;
mod drain;
pub mod error;
pub mod factory;
pub mod inventory;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
mod journal;
#[cfg_attr(not(feature = "test-hooks"), expect(dead_code, unreachable_pub, reason = "tests of backends reach it"))]
mod memory;
#[cfg_attr(not(feature = "test-hooks"), expect(unreachable_pub, reason = "model checkers compile it on its own"))]
mod park;
#[cfg_attr(not(feature = "test-hooks"), expect(unreachable_pub, reason = "model checkers compile it on its own"))]
#[cfg_attr(not(any(test, feature = "test-hooks")), expect(dead_code, reason = "the service joins it"))]
mod pool;
pub mod records;
pub(crate) mod service;
#[cfg_attr(not(feature = "test-hooks"), expect(dead_code, unreachable_pub, reason = "tests of backends reach it"))]
mod streams;
pub mod telemetry;

pub use bytes::bytes_with_gib;
pub use capacity::{
    GpuDeviceCapacity, GpuDeviceCapacityProbe, probe_capacity, probe_device_capacity, resolve_capacity,
};
pub use error::{QueryError, QueryErrorCode, QueryResult, native_error};
pub use factory::ServerFactory;
#[cfg(any(test, feature = "test-hooks"))]
pub use inventory::FakeInventory;
pub use inventory::{BackendKind, DeviceFacts, FactProvenance, GpuInventory, normalize_device_ordinals};
pub use records::{DeviceResourceProfile, GpuBackendDeviceStartupRecord, MemoryManagerInstallation};
pub use telemetry::{DeviceTelemetrySnapshot, TelemetrySample, TelemetrySource, TelemetryState};

/// Parts that are no interface, for tests of backends and for model checkers.
#[cfg(feature = "test-hooks")]
pub mod parts {
    pub use super::cache::{CacheEntry, LOAD_WAIT_MAX, ResidentCache, ResidentCacheReport};
    pub use super::context::DeviceContext;
    pub use super::memory::DeviceMemoryManager;
    pub use super::park::block_on;
    pub use super::pool::{ExecutionPoolReport, GpuExecutionPool, PoolJob, QUEUED_JOBS_MAX};
    pub use super::streams::{ServiceStreamPool, StreamPoolReport, StreamSet};
}
