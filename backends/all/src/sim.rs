//! The simulator as the last of several backends. It needs nothing, so it is always there.

use graphreel::device::Device;
use graphreel_sim::SimOptions;

use crate::catalog::Candidate;

/// The one that every process can have.
pub(crate) fn candidates() -> Vec<Candidate> {
    let options = SimOptions::default();
    let info = graphreel_sim::describe(&options);
    let open = Box::new(move |config: graphreel::Config| {
        let server = graphreel_sim::open(options, config.clone())?;
        Ok(Device::new(Box::new(server), config))
    });
    vec![Candidate { info, open }]
}
