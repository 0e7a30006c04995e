//! The conformance suite on wgpu: on whatever adapter is chosen, which in the project's own runs is the software one.

use graphreel::{Config, Device};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};
use graphreel_wgpu::{Options, WgpuServer};

struct Wgpu;

impl Fixture for Wgpu {
    const NAME: &'static str = "wgpu";

    fn open(config: Config) -> Opened {
        match graphreel_wgpu::open(Options { config: config.clone(), ..Options::default() }) {
            Ok(server) => Opened::Ready(Device::new(Box::new(server), config)),
            Err(error) => Opened::Absent(error.to_string()),
        }
    }

    fn expect(_test: &str) -> Expect {
        Expect::Pass
    }

    fn faults() -> Option<&'static dyn Faults> {
        Some(&Injection)
    }
}

/// Faults by the backend's own hooks.
struct Injection;

impl Injection {
    fn with<R>(device: &Device, act: impl FnOnce(&mut WgpuServer) -> R) -> R {
        device.with_server(act).expect("the device is one of this backend")
    }
}

impl Faults for Injection {
    fn refuse_replays(&self, device: &Device, times: u32) {
        Self::with(device, |server| server.inject_replay_failure(times, false));
    }

    fn fault_replays(&self, device: &Device, times: u32) {
        Self::with(device, |server| server.inject_replay_failure(times, true));
    }

    fn lose(&self, device: &Device) {
        Self::with(device, WgpuServer::destroy_device);
    }
}

graphreel_testkit::conformance!(Wgpu);
