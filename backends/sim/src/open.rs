//! Opening the simulator as a device of its own.

use graphreel::graph::{Backend, HardwareServer};
use graphreel::sync::Arc;
use graphreel::{Config, DeviceKind, Result, ServerError};

use crate::{SimDriver, SimOptions};

/// The hardware-graph server over the simulated driver.
pub type SimServer = HardwareServer<SimDriver>;

/// Open a simulated device.
///
/// # Errors
///
/// `Unsupported` for options of a driver that cannot be served, or a tier that `GRAPHREEL_TIERS` misspells.
pub fn open(options: SimOptions, config: Config) -> Result<SimServer> {
    let backend = Backend { name: "sim", api: "sim", kind: Some(DeviceKind::Simulated) };
    let driver = SimDriver::new(options).map_err(|error| ServerError::Driver(Arc::new(error)))?;
    let translator = Arc::new(driver.translator());
    HardwareServer::open(driver, &backend, translator, config)
}
