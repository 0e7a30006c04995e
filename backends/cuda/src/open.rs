//! Opening a device as a server: the hardware-graph server over NVIDIA's driver.

use graphreel::graph::{Driver, HardwareServer, Translator};
use graphreel::server::Server as _;
use graphreel::sync::Arc;
use graphreel::{Config, Result, ServerError};

use crate::device::BACKEND;
use crate::driver::CudaDriver;
use crate::library::library;
use crate::options::CudaOptions;
use crate::translator::{CudaTranslator, Toolchain};

/// The server of a CUDA device.
pub type CudaServer = HardwareServer<CudaDriver>;

/// The driver on the device that `options` select, without a server: for tests of the waist.
///
/// # Errors
///
/// `Unsupported` where there is no such device, with why; what the driver answers.
pub fn driver(options: &CudaOptions) -> Result<CudaDriver> {
    let device = options.select.find()?;
    let library = library().map_err(|why| ServerError::unsupported("opening a CUDA device", why))?;
    CudaDriver::open(library, device.index, options.pages)
}

/// Open the device that `options` select, over its primary context, which it shares with everything in the process that uses
/// the CUDA runtime. No claim on devices is held and none refuses it: `graphreel_backends::open`, which opens it as any
/// device, holds one.
///
/// # Errors
///
/// `Unsupported` where there is no such device, with why, or for a tier that `GRAPHREEL_TIERS` misspells; what the driver
/// answers.
pub fn open(options: &CudaOptions, config: Config) -> Result<CudaServer> {
    assemble(driver(options)?, options, config)
}

/// A server over a driver.
pub(crate) fn assemble(driver: CudaDriver, options: &CudaOptions, config: Config) -> Result<CudaServer> {
    let translator = match translator(&driver, options) {
        Ok(translator) => translator,
        Err(error) => {
            drop(driver.close());
            return Err(error);
        }
    };
    let server = HardwareServer::open(driver, &BACKEND, Arc::from(translator), config)?;
    let info = server.info();
    let pages = server.driver().pages();
    tracing::info!(?pages, device = info.id.0, name = %info.name, driver = %info.driver, pci = info.pci, "device opened");
    Ok(server)
}

/// The compiler of a device: NVRTC, which all devices of the process share, and the code cache before it.
///
/// # Errors
///
/// `Unsupported` for a device that no code can be compiled for.
pub fn translator(driver: &CudaDriver, options: &CudaOptions) -> Result<Box<dyn Translator>> {
    let toolchain = Toolchain::of_process(driver.release());
    Ok(Box::new(CudaTranslator::new(driver.facts(), driver.caps(), options.floats, toolchain)?))
}
