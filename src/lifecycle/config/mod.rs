//! What a deployment declares about its devices, as values: nothing here touches a device, takes a lock or owns anything.

pub mod backend;
pub mod bounds;
pub mod capabilities;
pub mod device;
pub mod execution;
pub mod file;
pub mod limit;
pub mod manager;
pub mod ownership;
pub mod profile;
pub mod queue;
pub(super) mod refusal;
pub mod validate;

pub use backend::GpuBackendConfig;
pub use bounds::{GpuBackendDeviceInstallationBounds, RESERVED_LIFECYCLE_WORKERS};
pub use capabilities::{DeviceCapabilities, RequiredCapabilities};
pub use device::GpuBackendDeviceConfig;
pub use execution::{QueryExecutionConfig, SourceSchedulerPolicy};
pub use file::{BackendChoice, GpuBackendConfigFile};
pub use limit::{GpuDeviceMemoryLimit, GpuMemoryFraction};
pub use manager::MemoryManagerOptions;
pub use ownership::GpuMemoryOwnership;
pub use profile::GpuBackendDeviceProfile;
pub use queue::QueueBounds;
pub use validate::{
    BACKEND_METRIC_DEVICE_CAPACITY, NativeValidator, ValidatedGpuBackendConfig, ValidatedGpuBackendDevice,
};
