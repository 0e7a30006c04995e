//! The CUDA backend as one of several: the devices that NVIDIA's driver shows as candidates.

use graphreel::Result;
use graphreel::device::Device;
use graphreel::lifecycle::hold_direct;
use graphreel_cuda::{CudaDevice, CudaOptions, Select};

use crate::catalog::Candidate;
use crate::options::OpenOptions;

/// Every device, in the driver's order.
pub(crate) fn candidates() -> Vec<Candidate> {
    let found = graphreel_cuda::devices().unwrap_or_default().into_iter();
    let candidate = |device: CudaDevice| Candidate {
        info: device.info.clone(),
        open: Box::new(move |options| open(&device, options)),
    };
    found.map(candidate).collect()
}

fn open(device: &CudaDevice, OpenOptions { config, unleased }: OpenOptions) -> Result<Device> {
    let claim = if unleased { None } else { Some(hold_direct(&format!("cuda device {}", device.info.name))?) };
    let options = CudaOptions { select: Select::Index(device.index), ..CudaOptions::default() };
    let server = graphreel_cuda::open(&options, config.clone())?;
    Ok(Device::holding(Box::new(server), config, claim))
}

/// Why there is no device.
pub(crate) fn absence() -> String {
    graphreel_cuda::absence()
}

/// What is wrong with devices that cannot be asked.
pub(crate) fn problems() -> Vec<String> {
    graphreel_cuda::problems()
}
