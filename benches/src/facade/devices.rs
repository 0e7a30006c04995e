//! Devices that do nothing, as a vendor would supply them, and backends over them.

use std::time::Duration;

use graphreel::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit, GpuMemoryOwnership,
    QueryExecutionConfig, QueueBounds,
};
use graphreel::lifecycle::{
    BackendKind, DeviceFacts, GpuBackendCore, GpuInventory, MemoryManagerOptions, QueryError, QueryErrorCode,
    QueryResult, ServerFactory, TelemetrySource,
};
use graphreel::server::Server;
use graphreel::sync::Arc;
use graphreel::{Config, Result};

use super::text;
use crate::hardware;

/// Bytes of each device; its queries share them.
pub const DEVICE_BYTES: u64 = 64 << 30;

/// What a request that names no bytes is granted.
pub const GRANT_BYTES: u64 = 1 << 30;

/// Requests that may wait.
const QUEUED_MAX: usize = 256;

/// Opens servers over [`crate::null::NullDriver`], for ordinals 0 to `count`.
#[derive(Clone, Copy, Debug)]
pub struct NullFactory {
    count: usize,
}

impl ServerFactory for NullFactory {
    /// The kind of what is no hardware.
    fn kind(&self) -> BackendKind {
        BackendKind::Sim
    }

    fn inventory(&self) -> Arc<dyn GpuInventory> {
        Arc::new(*self)
    }

    fn open(&self, _ordinal: usize, config: Config) -> Result<Box<dyn Server>> {
        Ok(Box::new(hardware::server(config)?))
    }

    fn validate_memory_options(&self, _ordinal: usize, options: &MemoryManagerOptions) -> Result<()> {
        options.validate()
    }

    fn telemetry(&self, _ordinal: usize) -> Option<Arc<dyn TelemetrySource>> {
        None
    }
}

impl GpuInventory for NullFactory {
    fn facts(&self, ordinal: usize) -> QueryResult<DeviceFacts> {
        if ordinal >= self.count {
            let message = format!("there is no device {ordinal}; name one below {}", self.count);
            return Err(QueryError::new(QueryErrorCode::InvalidConfiguration, "gpu_inventory.facts", message));
        }
        Ok(DeviceFacts::new(BackendKind::Sim, ordinal, DEVICE_BYTES, DEVICE_BYTES))
    }
}

/// A backend over `count` devices, each for `attempts` at once.
///
/// # Errors
///
/// What the build answers.
pub fn build(count: usize, attempts: usize) -> std::result::Result<GpuBackendCore, String> {
    let device = |ordinal| {
        let profile = GpuBackendDeviceProfile::new(ordinal)
            .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: DEVICE_BYTES })
            .with_default_query_limit_bytes(GRANT_BYTES)
            .with_derived_installation_bounds(attempts);
        GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive)
    };
    let queue = QueueBounds::new(QUEUED_MAX, Duration::from_secs(30));
    let config = GpuBackendConfig::new((0..count).map(device).collect(), QueryExecutionConfig::default(), queue);
    let valid = config.validate().map_err(text)?;
    GpuBackendCore::new(valid, &NullFactory { count }).map_err(text)
}
