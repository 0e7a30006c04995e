//! Opening a device as a server: the hardware-graph server over AMD's runtime.

use graphreel::graph::{Driver, HardwareServer, Translator};
use graphreel::server::Server as _;
use graphreel::sync::Arc;
use graphreel::{Config, Result, ServerError};
use graphreel_hip_sys::library;

use crate::device::BACKEND;
use crate::driver::HipDriver;
use crate::options::HipOptions;
use crate::translator::{HipTranslator, Toolchain};

/// The server of a HIP device.
pub type HipServer = HardwareServer<HipDriver>;

/// The driver on the device that `options` select, without a server: for tests of the waist.
///
/// # Errors
///
/// `Unsupported` where there is no such device, with why; what the driver answers.
pub fn driver(options: &HipOptions) -> Result<HipDriver> {
    let device = options.select.find()?;
    let library = library().map_err(|why| ServerError::unsupported("opening a HIP device", why.to_string()))?;
    Ok(HipDriver::open(library, device.index)?)
}

/// Open the device that `options` select, over its primary context, which it shares with everything in the process that uses
/// HIP. No claim on devices is held and none refuses it: `graphreel_backends::open`, which opens it as any
/// device, holds one.
///
/// # Errors
///
/// `Unsupported` where there is no such device, with why, or for a tier that `GRAPHREEL_TIERS` misspells; what the driver
/// answers.
pub fn open(options: &HipOptions, config: Config) -> Result<HipServer> {
    assemble(driver(options)?, options, config)
}

/// A server over a driver.
pub(crate) fn assemble(driver: HipDriver, options: &HipOptions, config: Config) -> Result<HipServer> {
    let translator = match translator(&driver, options) {
        Ok(translator) => translator,
        Err(error) => {
            drop(driver.close());
            return Err(error);
        }
    };
    let server = HardwareServer::open(driver, &BACKEND, Arc::from(translator), config)?;
    let info = server.info();
    tracing::info!(device = info.id.0, name = %info.name, driver = %info.driver, pci = info.pci, "device opened");
    Ok(server)
}

/// The compiler of a device: hipRTC, which all devices of the process share, and the code cache before it.
///
/// # Errors
///
/// `Unsupported` for a device that no code can be compiled for.
pub fn translator(driver: &HipDriver, options: &HipOptions) -> Result<Box<dyn Translator>> {
    let toolchain = Toolchain::of_process(driver.library());
    Ok(Box::new(HipTranslator::new(driver.arch(), driver.facts(), driver.caps(), options.floats, toolchain)?))
}
