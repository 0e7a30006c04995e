//! Opening a simulator as a server: the hardware-graph server over the driver in memory.

use graphreel::graph::{Backend, HardwareServer};
use graphreel::memory::DeviceId;
use graphreel::sync::Arc;
use graphreel::{Config, DeviceInfo, DeviceKind, Result};

use crate::driver::SimDriver;
use crate::options::SimOptions;

/// The server of a simulator. [`SimDriver::probe`] through [`HardwareServer::driver`] looks into it.
pub type SimServer = HardwareServer<SimDriver>;

/// What the backend is called, wherever it is named.
const NAME: &str = "sim";

/// A simulator of its own: it shares nothing with others of the process, so it holds no claim on devices and none refuses
/// it. `graphreel_backends::open`, which opens it as any device, holds one.
///
/// # Errors
///
/// A call of the driver that fails, by [`SimOptions::faults`] too; `Unsupported` without
/// [`SimOptions::relaxed_capture`], or for a tier that `GRAPHREEL_TIERS` misspells.
pub fn open(options: SimOptions, config: Config) -> Result<SimServer> {
    let driver = SimDriver::new(options)?;
    let translator = Arc::new(driver.translator());
    let backend = Backend { name: NAME, api: NAME, kind: Some(DeviceKind::Simulated) };
    HardwareServer::open(driver, &backend, translator, config)
}

/// What [`open`] with these options will say of itself, without opening it.
pub fn describe(options: &SimOptions) -> DeviceInfo {
    let facts = options.facts();
    DeviceInfo {
        backend: NAME.to_owned(),
        name: facts.name,
        api: NAME.to_owned(),
        kind: DeviceKind::Simulated,
        driver: facts.driver,
        pci: facts.pci,
        uuid: None,
        memory_bytes: Some(facts.memory_bytes),
        id: DeviceId(0),
    }
}

#[cfg(test)]
mod tests {
    use graphreel::server::Server as _;

    use super::*;

    #[test]
    fn a_simulator_says_of_itself_what_was_said_before() {
        let options = SimOptions { memory_bytes: 1 << 20, ..SimOptions::default() };
        let described = describe(&options);
        let opened = open(options, Config::default()).expect("it needs no device").info();
        assert_eq!(opened.kind, DeviceKind::Simulated);
        assert_eq!(DeviceInfo { id: described.id, ..opened }, described);
    }

    #[test]
    fn a_driver_that_cannot_capture_is_refused_and_closed() {
        let options = SimOptions { relaxed_capture: false, ..SimOptions::default() };
        let error = open(options, Config::default()).expect_err("captures would break");
        assert!(error.to_string().contains("relaxed"), "{error}");
    }
}
