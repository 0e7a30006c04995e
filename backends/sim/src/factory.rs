//! Simulators as the devices of a backend facade: one for each ordinal, each with its own options, and a look into the last
//! one that was opened.

use std::collections::BTreeMap;

use graphreel::lifecycle::{
    BackendKind, DeviceFacts, GpuInventory, MemoryManagerOptions, QueryError, QueryErrorCode, QueryResult,
    ServerFactory, TelemetrySource,
};
use graphreel::server::Server;
use graphreel::sync::{Arc, Mutex};
use graphreel::{Config, Result, ServerError};

use crate::options::SimOptions;
use crate::probe::Probe;
use crate::{describe, open};

/// Opens simulators. Clones share it.
#[derive(Clone, Debug)]
pub struct SimFactory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    devices: BTreeMap<usize, SimOptions>,
    probes: Mutex<BTreeMap<usize, Probe>>,
}

impl Default for SimFactory {
    /// One simulator with the default options, as device 0.
    fn default() -> Self {
        Self::new([(0, SimOptions::default())])
    }
}

impl SimFactory {
    /// A simulator for each ordinal.
    pub fn new(devices: impl IntoIterator<Item = (usize, SimOptions)>) -> Self {
        Self(Arc::new(Inner { devices: devices.into_iter().collect(), probes: Mutex::default() }))
    }

    /// A look into the simulator that was opened last as `ordinal`; `None` before that.
    pub fn probe(&self, ordinal: usize) -> Option<Probe> {
        self.0.probes.lock().get(&ordinal).cloned()
    }

    fn options(&self, ordinal: usize) -> Option<&SimOptions> {
        self.0.devices.get(&ordinal)
    }

    fn absent(&self, ordinal: usize) -> ServerError {
        let have: Vec<String> = self.0.devices.keys().map(ToString::to_string).collect();
        ServerError::unsupported(
            format!("simulator {ordinal}"),
            format!("the ordinals are {}; name one of them", have.join(", ")),
        )
    }
}

impl ServerFactory for SimFactory {
    fn kind(&self) -> BackendKind {
        BackendKind::Sim
    }

    fn inventory(&self) -> Arc<dyn GpuInventory> {
        Arc::new(self.clone())
    }

    fn open(&self, ordinal: usize, config: Config) -> Result<Box<dyn Server>> {
        let options = self.options(ordinal).ok_or_else(|| self.absent(ordinal))?;
        let server = open(options.clone(), config)?;
        self.0.probes.lock().insert(ordinal, server.driver().probe());
        Ok(Box::new(server))
    }

    fn validate_memory_options(&self, _ordinal: usize, options: &MemoryManagerOptions) -> Result<()> {
        options.validate()
    }

    fn telemetry(&self, _ordinal: usize) -> Option<Arc<dyn TelemetrySource>> {
        None
    }
}

impl GpuInventory for SimFactory {
    fn facts(&self, ordinal: usize) -> QueryResult<DeviceFacts> {
        let options = self.options(ordinal).ok_or_else(|| {
            let message = self.absent(ordinal).to_string();
            let error = QueryError::new(QueryErrorCode::InvalidConfiguration, "gpu_inventory.facts", message);
            error.with_fact("device_ordinal", ordinal)
        })?;
        let mut facts = DeviceFacts::new(BackendKind::Sim, ordinal, options.memory_bytes, options.memory_bytes);
        facts.model_name = Some(describe(options).name);
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factory_opens_what_it_was_given() {
        let factory = SimFactory::new([(3, SimOptions { memory_bytes: 1 << 20, ..SimOptions::default() })]);
        let facts = factory.inventory().facts(3).expect("it was given");
        assert_eq!((facts.device, facts.total_bytes), (3, 1 << 20));
        assert!(factory.probe(3).is_none());
        let server = factory.open(3, Config::default()).expect("it needs nothing");
        assert!(
            factory.probe(3).expect("it was opened").live().total() > 0 || server.info().memory_bytes == Some(1 << 20)
        );
        let error = factory.open(0, Config::default()).err().expect("there is no such device").to_string();
        assert!(error.contains("the ordinals are 3;"), "{error}");
        assert_eq!(factory.facts(0).unwrap_err().fact_value("device_ordinal"), Some("0"));
    }
}
