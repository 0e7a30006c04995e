//! The expected results of WGSL on CUDA, in strict floating-point mode: every list has to be met.

use graphreel::{Config, Device};
use graphreel_cuda::{CudaOptions, absence, devices, open};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};

struct Cuda;

impl Fixture for Cuda {
    const NAME: &'static str = "cuda";

    fn open(config: Config) -> Opened {
        if devices().is_err() {
            return Opened::Absent(absence());
        }
        let server = open(&CudaOptions::default(), config.clone()).expect("a device that is there opens");
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

graphreel_cts::lists!(Cuda);
