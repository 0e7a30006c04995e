//! The conformance suite on wgpu: on whatever adapter is chosen, which in the project's own runs is the software one. Once
//! with scalars as immediates where the device has them, once without, as on devices that have none.

use graphreel::{Config, Device};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};
use graphreel_wgpu::{Options, WgpuServer};

fn open(options: Options) -> Opened {
    let config = options.config.clone();
    match graphreel_wgpu::open(options) {
        Ok(server) => Opened::Ready(Device::new(Box::new(server), config)),
        Err(error) => Opened::Absent(error.to_string()),
    }
}

fn expect(test: &str) -> Expect {
    match test {
        "neighbours::deferred_waits_end_with_the_window" => {
            Expect::Unsupported("a software graph refuses neighbours' waits and defers none (spec C-55)")
        }
        _ => Expect::Pass,
    }
}

/// The backend as it opens by itself.
struct Wgpu;

impl Fixture for Wgpu {
    const NAME: &'static str = "wgpu";

    fn open(config: Config) -> Opened {
        open(Options { config, ..Options::default() })
    }

    fn expect(test: &str) -> Expect {
        expect(test)
    }

    fn faults() -> Option<&'static dyn Faults> {
        Some(&Injection)
    }
}

/// The backend with scalars in uniform buffers.
struct WithoutImmediates;

impl Fixture for WithoutImmediates {
    const NAME: &'static str = "wgpu";

    fn open(config: Config) -> Opened {
        open(Options { config, without_immediates: true, ..Options::default() })
    }

    fn expect(test: &str) -> Expect {
        expect(test)
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

mod without_immediates {
    use super::WithoutImmediates;

    graphreel_testkit::conformance!(WithoutImmediates);
}
