//! HIP's devices as the devices of a backend facade. An ordinal is a device's [`index`](crate::HipDevice::index).

use graphreel::lifecycle::{
    BackendKind, DeviceFacts, FactProvenance, GpuInventory, MemoryManagerOptions, QueryError, QueryErrorCode,
    QueryResult, ServerFactory, TelemetrySource,
};
use graphreel::server::Server;
use graphreel::sync::Arc;
use graphreel::{Config, Result, ServerError};
use graphreel_cpp::FloatMode;

use crate::device::{HipDevice, absence, devices, problems};
use crate::open::open;
use crate::options::{HipOptions, Select};

/// Opens HIP devices, and claims none: the backend that is built over it has the claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct HipFactory {
    /// How floating-point arithmetic of WGSL kernels is compiled.
    pub floats: FloatMode,
}

impl ServerFactory for HipFactory {
    fn kind(&self) -> BackendKind {
        BackendKind::Hip
    }

    fn inventory(&self) -> Arc<dyn GpuInventory> {
        Arc::new(*self)
    }

    fn open(&self, ordinal: usize, config: Config) -> Result<Box<dyn Server>> {
        let options = HipOptions { select: Select::Index(ordinal), floats: self.floats };
        Ok(Box::new(open(&options, config)?))
    }

    fn validate_memory_options(&self, _ordinal: usize, options: &MemoryManagerOptions) -> Result<(), ServerError> {
        options.validate()
    }

    /// None: no library that AMD installs with HIP tells what a device does.
    fn telemetry(&self, _ordinal: usize) -> Option<Arc<dyn TelemetrySource>> {
        None
    }
}

impl GpuInventory for HipFactory {
    fn facts(&self, ordinal: usize) -> QueryResult<DeviceFacts> {
        let found = devices().unwrap_or_default();
        match found.iter().find(|device| device.index == ordinal) {
            Some(device) => Ok(facts(ordinal, device)),
            None => Err(absent(ordinal, &found)),
        }
    }
}

/// The runtime tells what is free only of a device that a thread has bound, and none is bound for a look: it is estimated as all.
fn facts(ordinal: usize, device: &HipDevice) -> DeviceFacts {
    let info = &device.info;
    let total = info.memory_bytes.unwrap_or(0);
    let mut facts = DeviceFacts::new(BackendKind::Hip, ordinal, total, total);
    facts.free_bytes_provenance = FactProvenance::Estimated;
    facts.model_name = Some(info.name.clone());
    facts.uuid.clone_from(&info.uuid);
    facts.pci_bus_id.clone_from(&info.pci);
    facts.compute_unit_count = Some(device.compute_units);
    facts
}

fn absent(ordinal: usize, found: &[HipDevice]) -> QueryError {
    let message = match found.last() {
        None => format!("there is no device {ordinal}: {}", absence()),
        Some(last) => {
            let lines = std::iter::once(format!("the largest ordinal is {}", last.index)).chain(problems());
            format!("there is no device {ordinal}; {}", lines.collect::<Vec<_>>().join("; "))
        }
    };
    QueryError::new(QueryErrorCode::InvalidConfiguration, "gpu_inventory.facts", message)
        .with_fact("device_ordinal", ordinal)
        .with_fact("device_count", found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-43, B-54, B-202: each device is facts with where they come from, and an unknown ordinal says how many there are.
    #[test]
    fn devices_are_facts_and_an_unknown_ordinal_is_told_what_there_is() {
        let found = devices().unwrap_or_default();
        for device in &found {
            let ordinal = device.index;
            let facts = HipFactory::default().facts(ordinal).expect("it is listed");
            assert_eq!((facts.device, facts.model_name.as_ref()), (ordinal, Some(&device.info.name)));
            assert!(facts.total_bytes > 0 && facts.free_bytes <= facts.total_bytes, "{facts:?}");
            assert!(facts.compute_unit_count.is_some_and(|count| count > 0) && facts.uuid.is_some(), "{facts:?}");
        }
        let error = HipFactory::default().facts(usize::MAX).expect_err("no machine has that many");
        assert_eq!(error.fact_value("device_count"), Some(found.len().to_string().as_str()));
        assert!(HipFactory::default().telemetry(usize::MAX).is_none());
    }
}
