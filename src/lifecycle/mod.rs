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
//! | [`attempt`] | one execution try, from its begin to its report |
//! | [`observation`] | how observation is delivered |
//! | [`metrics`], [`health`] | what is counted, and whether all is well |

#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub mod attempt;
pub mod bytes;
pub mod capacity;
pub mod config;
pub mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod gate;
pub mod health;
pub mod inventory;
pub mod metrics;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub mod observation;
pub mod records;
#[cfg_attr(not(test), expect(dead_code, reason = "the service joins it"))]
pub(crate) mod reentrancy;
pub(crate) mod service;

pub use attempt::activity::QueryActivityLease;
pub use attempt::binding::AttemptBinding;
pub use attempt::completion::{AttemptCompletion, AttemptCompletionReceiver, AttemptReady};
pub use attempt::ledger::AttemptCountersSnapshot;
pub use attempt::owner::{AttemptBegin, AttemptOwner, BeginAttemptRequest};
pub use attempt::report::{AttemptDisposition, AttemptOutcome, QueryAttemptReport};
pub use bytes::bytes_with_gib;
pub use capacity::{
    GpuDeviceCapacity, GpuDeviceCapacityProbe, probe_capacity, probe_device_capacity, resolve_capacity,
};
pub use error::{QueryError, QueryErrorCode, QueryResult, native_error};
pub use health::{BackendHealth, DeviceClosedReason, DeviceHealthInput, HealthInput, HealthReason};
#[cfg(any(test, feature = "test-hooks"))]
pub use inventory::FakeInventory;
pub use inventory::{BackendKind, DeviceFacts, FactProvenance, GpuInventory, normalize_device_ordinals};
pub use metrics::gauges::{AdmissionGauges, DeviceAdmissionGauges};
pub use metrics::prometheus::{PROMETHEUS_CONTENT_TYPE, PrometheusPage};
pub use metrics::store::{
    AttemptDurations, AttemptMetrics, BackendMetricsSnapshot, BackendMetricsStore, DeviceMetrics,
};
pub use observation::owner::{ObservationBounds, ObservationOwner, ObservationSnapshot};
pub use records::{DeviceResourceProfile, GpuBackendDeviceStartupRecord, MemoryManagerInstallation};
