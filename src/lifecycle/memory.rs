//! One device's memory: the server is opened under the deployment's cap, and no second one on that device while it is.

use std::collections::BTreeSet;

use crate::config::Config;
use crate::device::Device;
use crate::lifecycle::config::MemoryManagerOptions;
use crate::lifecycle::config::refusal;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, native_code, native_error, operation};
use crate::lifecycle::factory::ServerFactory;
use crate::lifecycle::inventory::BackendKind;
use crate::lifecycle::records::MemoryManagerInstallation;
use crate::sync::{Arc, Mutex};

/// The devices of this process that have a memory manager.
static INSTALLED: Mutex<BTreeSet<(BackendKind, usize)>> = Mutex::new(BTreeSet::new());

/// The memory manager of one device (B-176). Clones share it; the last one's drop closes the device for good, since another
/// may be installed from then on.
#[derive(Clone, Debug)]
pub struct DeviceMemoryManager(Arc<Installed>);

#[derive(Debug)]
struct Installed {
    device: Device,
    device_ordinal: usize,
    installation: MemoryManagerInstallation,
    /// Given back behind the device, at the latest with the last clone.
    place: Mutex<Option<Place>>,
}

impl Drop for Installed {
    fn drop(&mut self) {
        self.device.close("its backend was closed; build a new one");
    }
}

/// A device's place for one memory manager.
#[derive(Debug)]
struct Place(BackendKind, usize);

impl Drop for Place {
    fn drop(&mut self) {
        INSTALLED.lock().remove(&(self.0, self.1));
    }
}

impl Place {
    /// Take the place, if it is free.
    fn take(kind: BackendKind, ordinal: usize) -> QueryResult<Self> {
        if INSTALLED.lock().insert((kind, ordinal)) {
            return Ok(Self(kind, ordinal));
        }
        let message =
            format!("device {ordinal} of {kind} has a memory manager already; close the backend that installed it");
        Err(QueryError::new(QueryErrorCode::ServiceOverloaded, operation::BUILD, message)
            .with_reason("device_memory_manager_already_installed")
            .with_fact("device_ordinal", ordinal))
    }
}

impl DeviceMemoryManager {
    /// Open the device under the cap of `options`, with `stream_pool_size` exclusive streams (B-204), whatever `config` says
    /// of both: the declaration alone constrains the allocator (B-13).
    ///
    /// # Errors
    ///
    /// `invalid_device_memory_manager_options`; `device_memory_manager_already_installed` while another holds the device
    /// (B-177); the native layer's, with nothing left open.
    pub fn install(
        factory: &dyn ServerFactory,
        ordinal: usize,
        options: MemoryManagerOptions,
        config: Config,
        stream_pool_size: usize,
    ) -> QueryResult<Self> {
        check(factory, ordinal, &options)?;
        let place = Place::take(factory.kind(), ordinal)?;
        let cap = options.allocation_limit_bytes.map(|bytes| bytes as u64);
        let config = Config { memory_limit: cap, max_exclusive_streams: stream_pool_size, ..config };
        let server = factory.open(ordinal, config.clone()).map_err(|error| {
            let context = format!("device {ordinal}: its memory manager could not be installed");
            native_error(operation::BUILD, &context, &error).with_fact("device_ordinal", ordinal)
        })?;
        let device = Device::managed(server, config);
        let installation = observed(&device);
        let place = Mutex::new(Some(place));
        Ok(Self(Arc::new(Installed { device, device_ordinal: ordinal, installation, place })))
    }

    /// How it was installed, as the device's pools say.
    pub fn installation(&self) -> MemoryManagerInstallation {
        self.0.installation
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Its ordinal.
    pub fn device_ordinal(&self) -> usize {
        self.0.device_ordinal
    }

    /// Whether nothing of it runs, as far as can be known: a device that is lost runs nothing that could be waited for.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.device.with_contract(|server| server.is_idle()).unwrap_or(true)
    }

    /// Close the device for good, however many handles on it are left. False when it was closed before.
    pub fn retire(&self, why: &str) -> bool {
        self.0.device.close(why)
    }

    /// As [`DeviceMemoryManager::retire`], and let another one be installed, although clones of this one are left: a call
    /// that still runs may have one.
    pub(crate) fn uninstall(&self, why: &str) {
        self.retire(why);
        let place = self.0.place.lock().take();
        drop(place);
    }
}

/// What no vendor can have, and what this one cannot.
fn check(factory: &dyn ServerFactory, ordinal: usize, options: &MemoryManagerOptions) -> QueryResult {
    options.validate().and_then(|()| factory.validate_memory_options(ordinal, options)).map_err(|error| {
        let code = native_code(&error, QueryErrorCode::InvalidConfiguration);
        let (field, reason) = ("device_memory_manager_options", "invalid_device_memory_manager_options");
        refusal::device(ordinal, field, reason, &format!("are refused by the native layer: {error}"))
            .with_code(code)
            .with_native(&error)
    })
}

/// The options in effect are those that the pools answer, not those that were asked for (B-176).
fn observed(device: &Device) -> MemoryManagerInstallation {
    let limit = device.memory_usage().limit_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    MemoryManagerInstallation { effective_options: Some(MemoryManagerOptions::new(limit)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-177: by kind and ordinal, and no longer than it is held.
    #[test]
    fn a_place_is_taken_once() {
        let ordinal = usize::MAX - 70;
        let held = Place::take(BackendKind::Sim, ordinal).unwrap();
        let error = Place::take(BackendKind::Sim, ordinal).unwrap_err();
        assert_eq!(error.reason(), Some("device_memory_manager_already_installed"));
        let _others =
            (Place::take(BackendKind::Wgpu, ordinal).unwrap(), Place::take(BackendKind::Sim, ordinal - 1).unwrap());
        drop(held);
        drop(Place::take(BackendKind::Sim, ordinal).unwrap());
    }
}
