//! The expected results of WGSL, on the interpreter: every list has to be met.

use graphreel::{Config, Device};
use graphreel_sim::SimOptions;
use graphreel_testkit::{Expect, Faults, Fixture, Opened};

struct Sim;

impl Fixture for Sim {
    const NAME: &'static str = "sim";

    fn open(config: Config) -> Opened {
        let server = graphreel_sim::open(SimOptions::default(), config.clone()).expect("a simulator opens");
        Opened::Ready(Device::new(Box::new(server), config))
    }

    fn expect(_test: &str) -> Expect {
        Expect::Pass
    }

    fn faults() -> Option<&'static dyn Faults> {
        None
    }

    fn audit(_test: &str) {}
}

graphreel_cts::lists!(Sim);
