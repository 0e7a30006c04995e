//! The simulator as the last of several backends. It needs nothing, so it is always there.

use graphreel::device::Device;
use graphreel::lifecycle::hold_direct;
use graphreel_sim::SimOptions;

use crate::catalog::Candidate;
use crate::options::OpenOptions;

/// The one that every process can have.
pub(crate) fn candidates() -> Vec<Candidate> {
    let options = SimOptions::default();
    let info = graphreel_sim::describe(&options);
    let name = info.name.clone();
    let open = Box::new(move |OpenOptions { config, unleased }| {
        let claim = if unleased { None } else { Some(hold_direct(&format!("sim device {name}"))?) };
        let server = graphreel_sim::open(options, config.clone())?;
        Ok(Device::holding(Box::new(server), config, claim))
    });
    vec![Candidate { info, open }]
}
