//! The wgpu backend as one of several: its adapters as candidates.

use graphreel_wgpu::Select;

use crate::catalog::Candidate;

/// Every adapter, best first.
pub(crate) fn candidates() -> Vec<Candidate> {
    let adapters = graphreel_wgpu::adapters().into_iter().enumerate();
    let candidate = |(index, adapter): (usize, graphreel_wgpu::AdapterSummary)| Candidate {
        info: adapter.info,
        open: Box::new(move |config| graphreel_wgpu::open(&Select::Index(index), config)),
    };
    adapters.map(candidate).collect()
}

/// Why there is no adapter.
pub(crate) fn absence() -> String {
    graphreel_wgpu::absence()
}
