//! What is known about the devices of this machine, before anything is installed on one.

use std::fmt;

use crate::lifecycle::config::refusal;
use crate::lifecycle::error::QueryResult;

/// The vendor interface of a backend. One backend core is of one kind, so an ordinal is enough inside it (QB-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BackendKind {
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// wgpu.
    Wgpu,
    /// The simulator.
    Sim,
}

impl BackendKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Cuda, Self::Hip, Self::Wgpu, Self::Sim];

    /// Its name: `cuda`, `hip`, `wgpu`, `sim`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Hip => "hip",
            Self::Wgpu => "wgpu",
            Self::Sim => "sim",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a figure comes from, since some interfaces do not tell it (B-202).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FactProvenance {
    /// The driver said so.
    Reported,
    /// The configuration said so.
    Configured,
    /// It was worked out from something else.
    Estimated,
}

impl FactProvenance {
    /// Its name: `reported`, `configured`, `estimated`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Configured => "configured",
            Self::Estimated => "estimated",
        }
    }
}

/// One device as discovered (B-54). What a missing management library would have told is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceFacts {
    /// The vendor interface it was found through.
    pub backend: BackendKind,
    /// Its ordinal there.
    pub device: usize,
    /// The model's name.
    pub model_name: Option<String>,
    /// The UUID; of the instance, where the device is a part of one.
    pub uuid: Option<String>,
    /// The PCI bus id, for devices that have no UUID to tell them apart.
    pub pci_bus_id: Option<String>,
    /// The management library's figure, which may exceed what is visible.
    pub physical_total_bytes: Option<u64>,
    /// Bytes visible to this process.
    pub total_bytes: u64,
    /// Where `total_bytes` comes from.
    pub total_bytes_provenance: FactProvenance,
    /// Bytes free when they were asked for: a sample, not a balance.
    pub free_bytes: u64,
    /// Where `free_bytes` comes from.
    pub free_bytes_provenance: FactProvenance,
    /// Multiprocessors or compute units.
    pub compute_unit_count: Option<u32>,
}

impl DeviceFacts {
    /// A device of which the sizes are reported and nothing else is known.
    pub fn new(backend: BackendKind, device: usize, total_bytes: u64, free_bytes: u64) -> Self {
        Self {
            backend,
            device,
            model_name: None,
            uuid: None,
            pci_bus_id: None,
            physical_total_bytes: None,
            total_bytes,
            total_bytes_provenance: FactProvenance::Reported,
            free_bytes,
            free_bytes_provenance: FactProvenance::Reported,
            compute_unit_count: None,
        }
    }
}

/// Who knows the devices: one for each vendor, and a fake for tests.
pub trait GpuInventory: fmt::Debug + Send + Sync {
    /// What is known about the device of that ordinal.
    ///
    /// # Errors
    ///
    /// The inventory's own, when there is no such device or no driver. They pass through unchanged (B-43).
    fn facts(&self, ordinal: usize) -> QueryResult<DeviceFacts>;
}

/// The ordinals in ascending order (B-55).
///
/// # Errors
///
/// `no_devices` when there are none, `duplicate_device_ordinal` with the lowest that is there twice.
pub fn normalize_device_ordinals(ordinals: &[usize]) -> QueryResult<Vec<usize>> {
    if ordinals.is_empty() {
        let tail = "are missing; name at least one device";
        return Err(refusal::backend("devices", "no_devices", tail));
    }
    let mut sorted = ordinals.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(sorted),
        Some(pair) => {
            let tail = "is declared more than once; declare each device once";
            Err(refusal::device(pair[0], "device_ordinal", "duplicate_device_ordinal", tail))
        }
    }
}

#[cfg(any(test, feature = "test-hooks"))]
pub use fake::FakeInventory;

#[cfg(any(test, feature = "test-hooks"))]
mod fake {
    use std::collections::BTreeMap;

    use super::{DeviceFacts, GpuInventory};
    use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};

    /// Devices made up by a test.
    #[derive(Clone, Debug, Default)]
    pub struct FakeInventory {
        devices: BTreeMap<usize, QueryResult<DeviceFacts>>,
    }

    impl FakeInventory {
        /// One more device, at the ordinal of its facts.
        #[must_use]
        pub fn with_device(mut self, facts: DeviceFacts) -> Self {
            self.devices.insert(facts.device, Ok(facts));
            self
        }

        /// A device that cannot be asked.
        #[must_use]
        pub fn with_failure(mut self, ordinal: usize, error: QueryError) -> Self {
            self.devices.insert(ordinal, Err(error));
            self
        }
    }

    impl GpuInventory for FakeInventory {
        fn facts(&self, ordinal: usize) -> QueryResult<DeviceFacts> {
            self.devices.get(&ordinal).cloned().unwrap_or_else(|| {
                let message = format!("there is no device {ordinal}; name one that the inventory has");
                let error = QueryError::new(QueryErrorCode::InvalidConfiguration, operation::BUILD, message);
                Err(error.with_fact("device_ordinal", ordinal))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-55, V-1.
    #[test]
    fn ordinals_are_sorted_and_each_is_there_once() {
        assert_eq!(normalize_device_ordinals(&[usize::MAX, 0, 7]).unwrap(), [0, 7, usize::MAX]);
        let error = normalize_device_ordinals(&[]).unwrap_err();
        assert_eq!((error.reason(), error.fact_value("field")), (Some("no_devices"), Some("devices")));
        let error = normalize_device_ordinals(&[9, 5, 9, 5, 1]).unwrap_err();
        assert_eq!(error.reason(), Some("duplicate_device_ordinal"));
        assert_eq!(
            (error.fact_value("field"), error.fact_value("device_ordinal")),
            (Some("device_ordinal"), Some("5"))
        );
    }

    /// B-54, B-202: what the driver did not tell is absent, and what it told says so.
    #[test]
    fn an_inventory_gives_the_facts_of_the_devices_it_has() {
        let facts = DeviceFacts::new(BackendKind::Sim, 4, 1000, 900);
        assert_eq!((&facts.model_name, &facts.uuid, facts.physical_total_bytes), (&None, &None, None));
        assert_eq!(facts.total_bytes_provenance.as_str(), "reported");
        let inventory = FakeInventory::default().with_device(facts.clone());
        assert_eq!(inventory.facts(4).unwrap(), facts);
        let error = inventory.facts(3).unwrap_err();
        assert_eq!((error.reason(), error.fact_value("device_ordinal")), (None, Some("3")));
    }

    /// QB-1: a kind is told by its name, and by no other word.
    #[test]
    fn kinds_have_names() {
        for kind in BackendKind::ALL {
            assert_eq!(BackendKind::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!((BackendKind::from_name("CUDA"), BackendKind::from_name("")), (None, None));
    }
}
