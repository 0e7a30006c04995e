//! The conformance suite on wgpu: on whatever adapter is chosen, which in the project's own runs is the software one. Once
//! with scalars as immediates where the device has them, once without, as on devices that have none.

use graphreel::{Config, Device};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};
use graphreel_wgpu::{Options, WgpuServer};

/// Only a machine without an adapter is skipped; one whose adapter does not open fails.
fn open(options: Options) -> Opened {
    if graphreel_wgpu::adapters().is_empty() {
        return Opened::Absent(graphreel_wgpu::absence());
    }
    let config = options.config.clone();
    let server = graphreel_wgpu::open(options).expect("an adapter that is there opens");
    Opened::Ready(Device::new(Box::new(server), config))
}

fn expect(test: &str) -> Expect {
    match test {
        "neighbours::deferred_waits_end_with_the_window" => {
            Expect::Unsupported("a software graph refuses neighbours' waits and defers none (C-55)")
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

    fn audit(_test: &str) {}
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

    fn audit(_test: &str) {}
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

/// The kit's own rule for gaps, which needs a device to be tried: a line that says `Broken` goes when the test passes.
mod expectations {
    use super::*;
    use graphreel_testkit::{Env, run};

    struct AllBroken;

    impl Fixture for AllBroken {
        const NAME: &'static str = "wgpu";

        fn open(config: Config) -> Opened {
            Wgpu::open(config)
        }

        fn expect(_test: &str) -> Expect {
            Expect::Broken("so that the rule is tried")
        }

        fn faults() -> Option<&'static dyn Faults> {
            None
        }

        fn audit(_test: &str) {}
    }

    fn passes(_env: &Env) {}

    fn fails(_env: &Env) {
        panic!("as expected");
    }

    #[test]
    fn a_broken_test_that_fails_is_as_listed() {
        run::<AllBroken, _>("expectations::fails", fails);
    }

    #[test]
    fn a_broken_test_that_passes_has_to_be_listed_no_more() {
        if matches!(Wgpu::open(Config::default()), Opened::Absent(_)) {
            return;
        }
        let ran = std::panic::catch_unwind(|| run::<AllBroken, _>("expectations::passes", passes));
        let text = ran.expect_err("a pass of a broken test is a failure");
        let text = text.downcast_ref::<String>().expect("a panic with a text");
        assert!(text.contains("listed as broken") && text.contains("remove that line"), "{text}");
    }
}
