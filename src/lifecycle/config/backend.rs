//! A whole backend as declared: its devices and what they share.

use crate::lifecycle::config::{GpuBackendDeviceConfig, QueryExecutionConfig, QueueBounds};

/// Devices, execution and queue of one backend (B-28). Only what `validate` makes of it can be built (B-29).
#[derive(Clone, Debug)]
pub struct GpuBackendConfig {
    pub(super) devices: Vec<GpuBackendDeviceConfig>,
    pub(super) execution_config: QueryExecutionConfig,
    pub(super) queue_bounds: QueueBounds,
    pub(super) attempt_completion_queue_capacity: Option<usize>,
    pub(super) leased: bool,
}

impl GpuBackendConfig {
    /// A backend over `devices`, without a completion queue.
    pub fn new(
        devices: Vec<GpuBackendDeviceConfig>,
        execution_config: QueryExecutionConfig,
        queue_bounds: QueueBounds,
    ) -> Self {
        Self { devices, execution_config, queue_bounds, attempt_completion_queue_capacity: None, leased: true }
    }

    /// Keep up to `capacity` reports that nobody waited for. Zero is the same as no queue (B-37).
    #[must_use]
    pub fn with_attempt_completion_queue_capacity(self, capacity: usize) -> Self {
        Self { attempt_completion_queue_capacity: Some(capacity), ..self }
    }

    /// The devices as declared, in the given order.
    pub fn devices(&self) -> &[GpuBackendDeviceConfig] {
        &self.devices
    }

    /// The same with other devices.
    #[must_use]
    pub fn with_devices(self, devices: Vec<GpuBackendDeviceConfig>) -> Self {
        Self { devices, ..self }
    }

    /// Build without the process-wide claim. The caller then answers for it that nobody else uses these devices.
    #[must_use]
    pub fn unleased(self) -> Self {
        Self { leased: false, ..self }
    }
}
