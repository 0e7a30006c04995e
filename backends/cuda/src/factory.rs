//! CUDA's devices as the devices of a backend facade. An ordinal is a device's [`index`](crate::CudaDevice::index).

use graphreel::lifecycle::{
    BackendKind, DeviceFacts, FactProvenance, GpuInventory, MemoryManagerOptions, QueryError, QueryErrorCode,
    QueryResult, ServerFactory, TelemetrySource,
};
use graphreel::server::Server;
use graphreel::sync::Arc;
use graphreel::{Config, Result, ServerError};
use graphreel_cpp::FloatMode;

use crate::device::{CudaDevice, absence, devices, problems};
use crate::open::open;
use crate::options::{CudaOptions, Select};
use crate::pages::Pages;
use crate::telemetry::Source;

/// Opens CUDA devices, and claims none: the backend that is built over it has the claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct CudaFactory {
    /// How floating-point arithmetic of WGSL kernels is compiled.
    pub floats: FloatMode,
    /// Where pages of device memory come from.
    pub pages: Pages,
}

impl ServerFactory for CudaFactory {
    fn kind(&self) -> BackendKind {
        BackendKind::Cuda
    }

    fn inventory(&self) -> Arc<dyn GpuInventory> {
        Arc::new(*self)
    }

    fn open(&self, ordinal: usize, config: Config) -> Result<Box<dyn Server>> {
        let options = CudaOptions { select: Select::Index(ordinal), floats: self.floats, pages: self.pages };
        Ok(Box::new(open(&options, config)?))
    }

    fn validate_memory_options(&self, _ordinal: usize, options: &MemoryManagerOptions) -> Result<(), ServerError> {
        options.validate()
    }

    fn telemetry(&self, ordinal: usize) -> Option<Arc<dyn TelemetrySource>> {
        let device = devices().ok()?.into_iter().find(|device| device.index == ordinal)?;
        Some(Arc::new(Source::of(&device.info.uuid?)?))
    }
}

impl GpuInventory for CudaFactory {
    fn facts(&self, ordinal: usize) -> QueryResult<DeviceFacts> {
        let found = devices().unwrap_or_default();
        match found.iter().find(|device| device.index == ordinal) {
            Some(device) => Ok(facts(ordinal, device)),
            None => Err(absent(ordinal, &found)),
        }
    }
}

/// The driver tells what is free only where a context is, and none is made for a look: NVML tells, else it is estimated as all.
fn facts(ordinal: usize, device: &CudaDevice) -> DeviceFacts {
    let info = &device.info;
    let told = info.uuid.as_deref().and_then(Source::of).and_then(|source| source.memory());
    let total = info.memory_bytes.unwrap_or(0);
    let mut facts =
        DeviceFacts::new(BackendKind::Cuda, ordinal, total, told.map_or(total, |told| told.free.min(total)));
    if told.is_none() {
        facts.free_bytes_provenance = FactProvenance::Estimated;
    }
    facts.physical_total_bytes = told.map(|told| told.total);
    facts.model_name = Some(info.name.clone());
    facts.uuid.clone_from(&info.uuid);
    facts.pci_bus_id.clone_from(&info.pci);
    facts.compute_unit_count = Some(device.multiprocessors);
    facts
}

fn absent(ordinal: usize, found: &[CudaDevice]) -> QueryError {
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
            let facts = CudaFactory::default().facts(ordinal).expect("it is listed");
            assert_eq!((facts.device, facts.model_name.as_ref()), (ordinal, Some(&device.info.name)));
            assert!(facts.total_bytes > 0 && facts.free_bytes <= facts.total_bytes, "{facts:?}");
            assert!(facts.compute_unit_count.is_some_and(|count| count > 0) && facts.uuid.is_some(), "{facts:?}");
        }
        let error = CudaFactory::default().facts(usize::MAX).expect_err("no machine has that many");
        assert_eq!(error.fact_value("device_count"), Some(found.len().to_string().as_str()));
        assert!(CudaFactory::default().telemetry(usize::MAX).is_none());
    }
}
