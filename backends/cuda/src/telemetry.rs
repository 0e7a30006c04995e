//! What NVML tells of a device while it runs, where it loads: for people, and for facts that the driver's own interface lacks.
//!
//! NVML does not heed `CUDA_VISIBLE_DEVICES`: devices are named by UUID, which both interfaces tell alike.

use graphreel::error::ServerError;
use graphreel::lifecycle::{TelemetrySample, TelemetrySource};

#[cfg(any(windows, target_os = "linux"))]
use nvml_wrapper::{Device, Nvml, enum_wrappers::device::TemperatureSensor, error::NvmlError};

/// One device, by its UUID.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As NVML writes it: `GPU-` or `MIG-` and the UUID.
    name: String,
}

/// Memory as NVML counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) free: u64,
}

/// NVML, loaded by the first call and never shut down; `None`, with a line in the log, where it is not there.
#[cfg(any(windows, target_os = "linux"))]
fn nvml() -> Option<&'static Nvml> {
    use graphreel::sync::OnceLock;
    static LOADED: OnceLock<Option<Nvml>> = OnceLock::new();
    let load = || {
        let loaded = Nvml::init();
        loaded.inspect_err(|error| tracing::debug!(%error, "no NVML, so no telemetry")).ok()
    };
    LOADED.get_or_init(load).as_ref()
}

/// The version of the driver, such as `580.82.07`.
#[cfg(any(windows, target_os = "linux"))]
pub(crate) fn driver_version() -> Option<String> {
    nvml()?.sys_driver_version().ok()
}

#[cfg(any(windows, target_os = "linux"))]
impl Source {
    /// The device of that UUID, written without a prefix; `None` where NVML does not load or does not know it.
    pub(crate) fn of(uuid: &str) -> Option<Self> {
        let nvml = nvml()?;
        let names = ["GPU-", "MIG-"].map(|kind| format!("{kind}{uuid}"));
        names.into_iter().find(|name| nvml.device_by_uuid(name.as_str()).is_ok()).map(|name| Self { name })
    }

    fn device(&self) -> Result<Device<'static>, ServerError> {
        let nvml = nvml().ok_or_else(|| ServerError::unsupported("telemetry", "NVML does not load"))?;
        nvml.device_by_uuid(self.name.as_str())
            .map_err(|error| ServerError::unsupported(format!("telemetry of {}", self.name), error.to_string()))
    }

    /// Whether it is a MIG instance; `None` where NVML does not tell.
    pub(crate) fn is_mig(&self) -> Option<bool> {
        self.device().ok()?.mig_is_mig_device_handle().ok()
    }

    /// Its memory now.
    pub(crate) fn memory(&self) -> Option<Memory> {
        let memory = self.device().ok()?.memory_info().ok()?;
        Some(Memory { total: memory.total, free: memory.free })
    }
}

#[cfg(any(windows, target_os = "linux"))]
impl TelemetrySource for Source {
    fn sample(&self) -> Result<TelemetrySample, ServerError> {
        let device = self.device()?;
        // An instance has no thermometer and no meter of its own: its GPU has.
        let whole = device.mig_parent_device().ok();
        let either = |ask: &dyn Fn(&Device<'_>) -> Result<u32, NvmlError>| {
            ask(&device).or_else(|error| whole.as_ref().map_or(Err(error), ask)).ok()
        };
        let temperature = either(&|device| device.temperature(TemperatureSensor::Gpu));
        let power = either(&|device| device.power_usage());
        let (memory, busy) = (device.memory_info().ok(), device.utilization_rates().ok());
        let percent = |value: u32| u8::try_from(value.min(100)).ok();
        let mut sample = TelemetrySample::default();
        sample.used_bytes = memory.as_ref().map(|memory| memory.used);
        sample.free_bytes = memory.as_ref().map(|memory| memory.free);
        sample.compute_percent = busy.as_ref().and_then(|busy| percent(busy.gpu));
        sample.memory_percent = busy.as_ref().and_then(|busy| percent(busy.memory));
        sample.temperature_celsius = temperature.and_then(|degrees| i32::try_from(degrees).ok());
        sample.power_milliwatts = power.map(u64::from);
        Ok(sample)
    }
}

/// There is no NVML on this system.
#[cfg(not(any(windows, target_os = "linux")))]
pub(crate) fn driver_version() -> Option<String> {
    None
}

#[cfg(not(any(windows, target_os = "linux")))]
impl Source {
    pub(crate) fn of(_uuid: &str) -> Option<Self> {
        None
    }

    pub(crate) fn is_mig(&self) -> Option<bool> {
        None
    }

    pub(crate) fn memory(&self) -> Option<Memory> {
        None
    }
}

#[cfg(not(any(windows, target_os = "linux")))]
impl TelemetrySource for Source {
    fn sample(&self) -> Result<TelemetrySample, ServerError> {
        Err(ServerError::unsupported(format!("telemetry of {}", self.name), "this system has no NVML"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_nobody_has_has_no_source() {
        assert!(Source::of("00000000-0000-0000-0000-000000000000").is_none());
        let nobody = Source { name: "GPU-00000000-0000-0000-0000-000000000000".to_owned() };
        assert_eq!((nobody.is_mig(), nobody.memory()), (None, None));
        let text = nobody.sample().expect_err("there is no such device").to_string();
        assert!(text.contains("telemetry") && !text.contains('\n'), "{text}");
    }
}
