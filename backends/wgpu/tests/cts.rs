//! The expectation files of the WebGPU conformance test suite on wgpu.

use graphreel::{Config, Device};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};
use graphreel_wgpu::Options;

/// The backend as it opens by itself.
struct Wgpu;

impl Fixture for Wgpu {
    const NAME: &'static str = "wgpu";

    fn open(config: Config) -> Opened {
        if graphreel_wgpu::adapters().is_empty() {
            return Opened::Absent(graphreel_wgpu::absence());
        }
        let server = graphreel_wgpu::open(Options { config: config.clone(), ..Options::default() });
        Opened::Ready(Device::new(Box::new(server.expect("an adapter that is there opens")), config))
    }

    fn expect(_list: &str) -> Expect {
        Expect::Pass
    }

    fn faults() -> Option<&'static dyn Faults> {
        None
    }
}

graphreel_cts::lists!(Wgpu);
