//! The wgpu backend as one of several: its adapters as candidates.

use graphreel::device::Device;
use graphreel::{Config, Result};
use graphreel_wgpu::{AdapterSummary, Options, Select};

use crate::catalog::Candidate;

/// Every adapter, best first.
pub(crate) fn candidates() -> Vec<Candidate> {
    let adapters = graphreel_wgpu::adapters().into_iter().enumerate();
    let candidate = |(index, adapter): (usize, AdapterSummary)| Candidate {
        info: adapter.info,
        open: Box::new(move |config| open(index, config)),
    };
    adapters.map(candidate).collect()
}

fn open(index: usize, config: Config) -> Result<Device> {
    let options = Options { select: Select::Index(index), config: config.clone(), ..Options::default() };
    Ok(Device::new(Box::new(graphreel_wgpu::open(options)?), config))
}

/// Why there is no adapter.
pub(crate) fn absence() -> String {
    graphreel_wgpu::absence()
}
