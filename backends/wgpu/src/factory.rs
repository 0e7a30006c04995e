//! wgpu's adapters as the devices of a backend facade. An ordinal is an index into [`adapters`](fn@crate::adapters), which lists
//! each device once, best kind first and software adapters last (QB-2).

use graphreel::lifecycle::{
    BackendKind, DeviceFacts, FactProvenance, GpuInventory, MemoryManagerOptions, QueryError, QueryErrorCode,
    QueryResult, ServerFactory, TelemetrySource,
};
use graphreel::server::Server;
use graphreel::sync::Arc;
use graphreel::{Config, Result, ServerError};

use crate::adapters::{AdapterSummary, Select, absence, adapters};
use crate::open::{Options, open};

/// Opens wgpu's devices, and claims none: the backend that is built over it has the claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct WgpuFactory;

impl ServerFactory for WgpuFactory {
    fn kind(&self) -> BackendKind {
        BackendKind::Wgpu
    }

    fn inventory(&self) -> Arc<dyn GpuInventory> {
        Arc::new(*self)
    }

    fn open(&self, ordinal: usize, config: Config) -> Result<Box<dyn Server>> {
        let options = Options { select: Select::Index(ordinal), config, unleased: true, ..Options::default() };
        Ok(Box::new(open(options)?))
    }

    fn validate_memory_options(&self, _ordinal: usize, options: &MemoryManagerOptions) -> Result<(), ServerError> {
        options.validate()
    }

    fn telemetry(&self, _ordinal: usize) -> Option<Arc<dyn TelemetrySource>> {
        None
    }
}

impl GpuInventory for WgpuFactory {
    fn facts(&self, ordinal: usize) -> QueryResult<DeviceFacts> {
        let found = adapters();
        match found.get(ordinal) {
            Some(adapter) => Ok(facts(ordinal, adapter)),
            None => Err(absent(ordinal, found.len())),
        }
    }
}

/// wgpu has no call for a device's memory. Where the native interface tells the size of its heap that is reported; else the
/// largest buffer that the adapter allows is what can be said of it. Free memory is not told: it is estimated as all of it.
fn facts(ordinal: usize, adapter: &AdapterSummary) -> DeviceFacts {
    let info = &adapter.info;
    let (total, provenance) = match info.memory_bytes {
        Some(bytes) => (bytes, FactProvenance::Reported),
        None => (adapter.adapter.limits().max_buffer_size, FactProvenance::Estimated),
    };
    let mut facts = DeviceFacts::new(BackendKind::Wgpu, ordinal, total, total);
    facts.model_name = Some(info.name.clone());
    facts.uuid.clone_from(&info.uuid);
    facts.pci_bus_id.clone_from(&info.pci);
    (facts.total_bytes_provenance, facts.free_bytes_provenance) = (provenance, FactProvenance::Estimated);
    facts
}

fn absent(ordinal: usize, count: usize) -> QueryError {
    let message = match count {
        0 => format!("there is no device {ordinal}: {}", absence()),
        _ => format!("there is no device {ordinal}; the largest ordinal is {}", count - 1),
    };
    QueryError::new(QueryErrorCode::InvalidConfiguration, "gpu_inventory.facts", message)
        .with_fact("device_ordinal", ordinal)
        .with_fact("device_count", count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-43, B-202: what is not told is marked, and an unknown ordinal says how many there are.
    #[test]
    fn adapters_are_facts_with_where_they_come_from() {
        let found = adapters();
        for (ordinal, adapter) in found.iter().enumerate() {
            let facts = WgpuFactory.facts(ordinal).expect("it is listed");
            assert_eq!((facts.device, facts.model_name.as_ref()), (ordinal, Some(&adapter.info.name)));
            assert!(facts.total_bytes > 0 && facts.free_bytes <= facts.total_bytes, "{facts:?}");
            assert_eq!(facts.free_bytes_provenance, FactProvenance::Estimated);
        }
        let error = WgpuFactory.facts(usize::MAX).expect_err("no machine has that many");
        assert_eq!(error.fact_value("device_count"), Some(found.len().to_string().as_str()));
    }
}
