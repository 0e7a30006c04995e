//! The wgpu backend as one of several: its adapters as candidates.

use graphreel::Result;
use graphreel::device::Device;
use graphreel_wgpu::{AdapterSummary, Options, Select};

use crate::catalog::Candidate;
use crate::options::OpenOptions;

/// Every adapter, best first.
pub(crate) fn candidates() -> Vec<Candidate> {
    let adapters = graphreel_wgpu::adapters().into_iter().enumerate();
    let candidate = |(index, adapter): (usize, AdapterSummary)| Candidate {
        info: adapter.info,
        open: Box::new(move |options| open(index, options)),
    };
    adapters.map(candidate).collect()
}

fn open(index: usize, OpenOptions { config, unleased }: OpenOptions) -> Result<Device> {
    let options = Options { select: Select::Index(index), config: config.clone(), unleased, ..Options::default() };
    Ok(Device::new(Box::new(graphreel_wgpu::open(options)?), config))
}

/// Why there is no adapter.
pub(crate) fn absence() -> String {
    graphreel_wgpu::absence()
}
