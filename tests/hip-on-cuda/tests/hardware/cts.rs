//! The expected results of WGSL, in strict floating-point mode: what the C++ of the HIP backend makes of it on a real device.

use graphreel::{Config, Device};
use graphreel_hip::{HipOptions, open};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};

use super::ground;

struct HipOnCuda;

impl Fixture for HipOnCuda {
    const NAME: &'static str = ground::NAME;

    fn open(config: Config) -> Opened {
        if !ground::there("cts") {
            return Opened::Absent("there is no device".into());
        }
        let server = open(&HipOptions::default(), config.clone()).expect("a device that is there opens");
        Opened::Ready(Device::new(Box::new(server), config))
    }

    fn expect(_list: &str) -> Expect {
        Expect::Pass
    }

    fn faults() -> Option<&'static dyn Faults> {
        None
    }

    fn audit(_test: &str) {}
}

graphreel_cts::lists!(HipOnCuda);
