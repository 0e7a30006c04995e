//! The HIP backend as one of several: the devices that AMD's runtime shows as candidates.

use graphreel::Result;
use graphreel::device::Device;
use graphreel::lifecycle::hold_direct;
use graphreel_hip::{HipDevice, HipOptions, Select};

use crate::catalog::Candidate;
use crate::options::OpenOptions;

/// Every device, in the runtime's order.
pub(crate) fn candidates() -> Vec<Candidate> {
    let found = graphreel_hip::devices().unwrap_or_default().into_iter();
    let candidate = |device: HipDevice| Candidate {
        info: device.info.clone(),
        open: Box::new(move |options| open(&device, options)),
    };
    found.map(candidate).collect()
}

fn open(device: &HipDevice, OpenOptions { config, unleased }: OpenOptions) -> Result<Device> {
    let claim = if unleased { None } else { Some(hold_direct(&format!("hip device {}", device.info.name))?) };
    let options = HipOptions { select: Select::Index(device.index), ..HipOptions::default() };
    let server = graphreel_hip::open(&options, config.clone())?;
    Ok(Device::holding(Box::new(server), config, claim))
}

/// Why there is no device.
pub(crate) fn absence() -> String {
    graphreel_hip::absence()
}

/// What is wrong with devices that cannot be asked.
pub(crate) fn problems() -> Vec<String> {
    graphreel_hip::problems()
}
