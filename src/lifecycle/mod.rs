//! The backend facade: declare devices, validate, build once, admit, close (docs/BACKEND.md).
//!
//! | Module | What it holds |
//! | --- | --- |
//! | [`error`], [`bytes`] | the facade's error, and how byte counts are written |
//! | [`config`] | what a deployment declares, and every rule on it |
//! | [`inventory`], [`capacity`], [`preflight`](mod@preflight) | what is known about the devices, and what a declaration comes to on them |
//! | [`factory`], [`telemetry`] | what a vendor supplies |
//! | [`lease`], [`identity`] | who owns the devices of this process, and which backend is which |
//! | [`checkpoint`], `construct`, [`records`], `service` | building: the boundaries, the transaction, what was installed |
//! | [`core`], [`session`], [`fault`], [`diagnostics`] | the public handle and the capabilities |
//! | `admission`, `admit`, `admitted`, [`handle`] | from a request to an attempt on its device |
//! | [`attempt`], [`observation`] | one execution try from its begin to its report, and how observation is delivered |
//! | [`metrics`], [`health`] | what is counted, and whether all is well |
//! | [`pool`], [`streams`], [`memory`], [`context`], [`cache`], `lanes` | what is installed on a device |
//! | [`io`] | reading files into device buffers |
//! | `gate`, `resource`, `journal`, `coordinator`, `tracker`, `reentrancy`, `exit` | closing without losing anything |

pub mod admission;
#[cfg(test)]
#[path = "admission/tests/mod.rs"]
mod admission_tests;
pub mod admit;
mod admitted;
pub mod attempt;
pub mod bytes;
pub mod cache;
pub mod capacity;
pub mod checkpoint;
pub mod config;
mod construct;
pub mod context;
pub(crate) mod coordinator;
pub mod core;
pub mod diagnostics;
mod drain;
pub mod error;
mod exit;
pub mod factory;
#[cfg(feature = "qualification")]
pub mod fault;
pub(crate) mod gate;
pub mod handle;
pub mod health;
#[cfg(any(test, feature = "test-hooks"))]
pub mod hooks;
pub mod identity;
pub mod inventory;
pub mod io;
pub(crate) mod journal;
mod lanes;
pub mod lease;
pub mod memory;
pub mod metrics;
pub mod observation;
pub(crate) mod park;
pub mod pool;
pub mod preflight;
pub mod records;
pub(crate) mod reentrancy;
pub(crate) mod resource;
pub(crate) mod service;
pub mod session;
mod standing;
pub mod streams;
pub mod telemetry;
pub(crate) mod tracker;
mod watch;
pub(crate) mod watched;

pub use admission::{AdmissionClass, AdmissionSnapshot, CancellationToken};
pub use admit::{Admission, QueryAdmissionRequest};
pub use attempt::activity::QueryActivityLease;
pub use attempt::binding::AttemptBinding;
pub use attempt::completion::{AttemptCompletion, AttemptCompletionReceiver, AttemptReady};
pub use attempt::ledger::AttemptCountersSnapshot;
pub use attempt::owner::{AttemptBegin, AttemptOwner, BeginAttemptRequest};
pub use attempt::report::{AttemptDisposition, AttemptOutcome, QueryAttemptReport};
pub use bytes::bytes_with_gib;
pub use cache::{CacheEntry, ResidentCacheReport};
pub use capacity::{
    GpuDeviceCapacity, GpuDeviceCapacityProbe, probe_capacity, probe_device_capacity, resolve_capacity,
};
pub use checkpoint::{GpuBackendConstructionCheckpoint, GpuBackendConstructionProbe, NoopConstructionProbe};
pub use config::MemoryManagerOptions;
pub use coordinator::GpuBackendCloseSnapshot;
pub use core::GpuBackendCore;
pub use diagnostics::{BackendDiagnostics, DeviceDiagnostics};
pub use error::{QueryError, QueryErrorCode, QueryResult, native_error};
pub use factory::ServerFactory;
pub use handle::{QueryContext, QueryHandle};
pub use health::{BackendHealth, DeviceClosedReason, DeviceHealthInput, HealthInput, HealthReason};
pub use identity::GpuBackendCoreIdentity;
#[cfg(any(test, feature = "test-hooks"))]
pub use inventory::FakeInventory;
pub use inventory::{BackendKind, DeviceFacts, FactProvenance, GpuInventory, normalize_device_ordinals};
pub use io::{IoPoolProcessConfig, SourceProgress, SourceRead, SourceWork, configure_io_pool_process, read_source};
#[cfg(any(test, feature = "test-hooks"))]
pub use lease::one_claiming_test;
pub use lease::{DirectUse, LiveBackendLease, LiveBackendToken, claim_live_backend, hold_direct};
pub use metrics::gauges::{AdmissionGauges, DeviceAdmissionGauges};
pub use metrics::prometheus::{PROMETHEUS_CONTENT_TYPE, PrometheusPage};
pub use metrics::store::{
    AttemptDurations, AttemptMetrics, BackendMetricsSnapshot, BackendMetricsStore, DeviceMetrics,
};
pub use observation::owner::{ObservationBounds, ObservationOwner, ObservationSnapshot};
pub use pool::ExecutionPoolReport;
pub use preflight::{PlannedDevice, Preflight, preflight};
pub use records::{DeviceResourceProfile, GpuBackendDeviceStartupRecord, MemoryManagerInstallation};
pub use session::GpuBackendSession;
pub use streams::StreamPoolReport;
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

    /// An account as an admitted attempt has one.
    pub fn granted_account(name: &str, limit: Option<u64>) -> crate::Account {
        crate::Account::granted(name, limit)
    }
}
