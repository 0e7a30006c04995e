//! What a build would install, and every reason for which it would refuse, without claiming or installing anything.

use std::collections::BTreeSet;

use crate::lifecycle::capacity::{GpuDeviceCapacity, resolve_capacity};
use crate::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceInstallationBounds, ValidatedGpuBackendDevice,
};
use crate::lifecycle::error::{QueryError, QueryResult};
use crate::lifecycle::factory::ServerFactory;
use crate::lifecycle::inventory::DeviceFacts;
use crate::lifecycle::standing;

/// What [`preflight`] found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Preflight {
    /// The devices that a build would install, by ordinal.
    pub devices: Vec<PlannedDevice>,
    /// Why it would refuse, the first reason of each device and those of the whole; empty when it would build.
    pub refusals: Vec<QueryError>,
}

/// One device as a build would install it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlannedDevice {
    /// The device as declared.
    pub config: GpuBackendDeviceConfig,
    /// Streams, workers and lanes.
    pub bounds: GpuBackendDeviceInstallationBounds,
    /// What was discovered.
    pub facts: DeviceFacts,
    /// What the declaration comes to on it.
    pub capacity: GpuDeviceCapacity,
}

/// Check a declaration and look at its devices. The build stays the authority: what is free, and what is visible, can change
/// in between, and only the build asks for the claim.
pub fn preflight(config: &GpuBackendConfig, factory: &dyn ServerFactory) -> Preflight {
    let native = |ordinal: usize, options: &_| factory.validate_memory_options(ordinal, options);
    let mut found = Preflight { devices: Vec::new(), refusals: Vec::new() };
    let mut said = BTreeSet::new();
    let mut refuse = |found: &mut Preflight, error: QueryError| {
        if said.insert(error.to_string()) {
            found.refusals.push(error);
        }
    };
    let rest = config.clone().with_devices(Vec::new());
    let mut devices: Vec<_> = config.devices().to_vec();
    devices.sort_by_key(GpuBackendDeviceConfig::device_ordinal);
    devices.dedup();
    for device in devices {
        // Each device alone, so that a fault of one hides none of another.
        let alone = rest.clone().with_devices(vec![device]);
        match alone.validate_with(&native) {
            Err(error) => refuse(&mut found, error),
            Ok(valid) => {
                for device in valid.validated_devices() {
                    match plan(device, factory) {
                        Ok(planned) => found.devices.push(planned),
                        Err(error) => refuse(&mut found, error),
                    }
                }
            }
        }
    }
    if let Err(error) = config.clone().validate_with(&native) {
        refuse(&mut found, error);
    }
    found
}

fn plan(device: &ValidatedGpuBackendDevice, factory: &dyn ServerFactory) -> QueryResult<PlannedDevice> {
    let ordinal = device.config().device_ordinal();
    standing::check(factory.kind(), ordinal)?;
    let facts = factory.inventory().facts(ordinal)?;
    let capacity = resolve_capacity(&facts, device.config())?;
    Ok(PlannedDevice { config: device.config().clone(), bounds: device.installation_bounds(), facts, capacity })
}

impl Preflight {
    /// Nothing but a refusal.
    pub fn refused(error: QueryError) -> Self {
        Self { devices: Vec::new(), refusals: vec![error] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::error::ServerError;
    use crate::lifecycle::config::{
        GpuBackendDeviceProfile, GpuMemoryOwnership, MemoryManagerOptions, QueryExecutionConfig, QueueBounds,
    };
    use crate::lifecycle::inventory::{BackendKind, FakeInventory, GpuInventory};
    use crate::lifecycle::telemetry::TelemetrySource;
    use crate::server::Server;
    use crate::sync::Arc;

    #[derive(Debug)]
    struct Shelf(FakeInventory);

    impl ServerFactory for Shelf {
        fn kind(&self) -> BackendKind {
            BackendKind::Sim
        }

        fn inventory(&self) -> Arc<dyn GpuInventory> {
            Arc::new(self.0.clone())
        }

        fn open(&self, _ordinal: usize, _config: Config) -> Result<Box<dyn Server>, ServerError> {
            panic!("a preflight opens nothing")
        }

        fn validate_memory_options(&self, _: usize, options: &MemoryManagerOptions) -> Result<(), ServerError> {
            options.validate()
        }

        fn telemetry(&self, _ordinal: usize) -> Option<Arc<dyn TelemetrySource>> {
            None
        }
    }

    fn device(ordinal: usize) -> GpuBackendDeviceProfile {
        GpuBackendDeviceProfile::new(ordinal)
    }

    fn asked(profiles: Vec<GpuBackendDeviceProfile>) -> Preflight {
        let facts = |ordinal| DeviceFacts::new(BackendKind::Sim, ordinal, 1 << 30, 1 << 30);
        let shelf = Shelf(FakeInventory::default().with_device(facts(0)).with_device(facts(1)));
        let bind = |profile| GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
        let devices = profiles.into_iter().map(bind).collect();
        preflight(&GpuBackendConfig::new(devices, QueryExecutionConfig::default(), QueueBounds::default()), &shelf)
    }

    fn reasons(found: &Preflight) -> Vec<&str> {
        found.refusals.iter().map(|error| error.reason().unwrap_or("none")).collect()
    }

    #[test]
    fn a_declaration_that_would_build_says_what_it_installs() {
        let found = asked(vec![device(1), device(0).with_max_active_attempts(4)]);
        assert_eq!(reasons(&found), [""; 0]);
        let planned: Vec<_> =
            found.devices.iter().map(|device| (device.facts.device, device.bounds.stream_pool_size)).collect();
        assert_eq!(planned, [(0, 8), (1, 4)]);
    }

    /// B-36, V-1: what validation cannot see comes beside what it can, once each.
    #[test]
    fn every_device_says_why_it_is_refused() {
        let greedy = device(0).with_cache_cap_bytes(1 << 40);
        let idle = device(1).with_max_active_attempts(0);
        assert_eq!(
            reasons(&asked(vec![greedy, idle, device(7)])),
            ["cache_cap_exceeds_managed_capacity", "zero", "none"]
        );
        assert_eq!(reasons(&asked(vec![])), ["no_devices"]);
        let twice = asked(vec![device(0), device(0).with_max_active_attempts(1)]);
        assert_eq!(reasons(&twice), ["duplicate_device_ordinal"]);
    }
}
