//! The conformance suite on the simulator: on both tiers of hardware graphs and on the eager one, on a driver that lacks
//! what drivers may lack, and with work completed in any legal order.

use graphreel::error::Result;
use graphreel::recording::Tier;
use graphreel::{Config, Device};
use graphreel_sim::{Completion, Failure, FaultPlan, Probe, SimOptions, SimServer, Then, When};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};

/// Seed of the runs in which work completes in any legal order.
const SEED: u64 = 0x5eed;

/// A simulator whose captures use `tier`, unless the test wants other tiers.
fn open(options: SimOptions, config: Config, tier: Tier) -> Opened {
    let asked: Result<Vec<Tier>> = config.allowed_tiers();
    let tiers = if config.tiers == Tier::ALL && asked.is_ok() { vec![tier] } else { config.tiers.clone() };
    let config = Config { tiers, ..config };
    let server = graphreel_sim::open(options, config.clone()).expect("a simulator opens");
    Opened::Ready(Device::new(Box::new(server), config))
}

/// Only work that goes on by itself can be waited for too briefly; all of these run on the other fixtures.
fn expect(options: &SimOptions, test: &str) -> Expect {
    let late = test.starts_with("loss::loss_while_") && test != "loss::loss_while_idle"
        || test == "field_replay::a_deadline_ends_the_wait_only"
        || ["a_configured", "a_deadline", "a_read_can", "a_wait_does", "answers_can", "plain_reads"]
            .iter()
            .any(|name| test.strip_prefix("waits::").is_some_and(|test| test.starts_with(name)));
    match options.completion {
        Completion::Seeded(_) if late => {
            Expect::Unsupported("the asking itself completes the work here, so nothing is ever late")
        }
        _ => Expect::Pass,
    }
}

/// Faults by the driver's own plan.
struct Injection;

impl Injection {
    fn probe(device: &Device) -> Probe {
        let probe = device.with_server(|server: &mut SimServer| server.driver().probe());
        probe.expect("the device is a simulator")
    }

    /// What a graph's replay begins with.
    fn first_call(device: &Device) -> &'static str {
        if device.caps().tiers.first() == Some(&Tier::Eager) { "launch" } else { "exec_launch" }
    }
}

impl Faults for Injection {
    fn refuse_replays(&self, device: &Device, times: u32) {
        let mut plan = FaultPlan::default();
        for nth in 0..times.into() {
            plan = plan.and(When::Nth { call: Self::first_call(device), nth }, Then::Before(Failure::REFUSED));
        }
        Self::probe(device).arm(plan);
    }

    fn fault_replays(&self, device: &Device, times: u32) {
        // Enqueued, and then the event that should tell of its end cannot be recorded: nobody knows how it went.
        let after = Self::first_call(device);
        let mut plan = FaultPlan::default();
        for nth in 0..times.into() {
            plan = plan.and(When::NextAfter { call: "event_record", after, nth }, Then::Before(Failure::REFUSED));
        }
        Self::probe(device).arm(plan);
    }

    fn lose(&self, device: &Device) {
        Self::probe(device).lose("the test took it away");
        let told = device.with_server(|server: &mut SimServer| server.lose("the test took it away"));
        told.expect("the device is a simulator");
    }
}

macro_rules! fixture {
    ($name:ident, $module:ident, $tier:expr, $options:expr) => {
        mod $module {
            use super::*;

            pub(super) struct $name;

            impl Fixture for $name {
                const NAME: &'static str = "sim";

                fn open(config: Config) -> Opened {
                    open($options, config, $tier)
                }

                fn expect(test: &str) -> Expect {
                    expect(&$options, test)
                }

                fn faults() -> Option<&'static dyn Faults> {
                    Some(&Injection)
                }
            }

            graphreel_testkit::conformance!($name);
        }
    };
}

fixture!(Captured, captured, Tier::Captured, SimOptions { hazards: true, ..SimOptions::default() });
fixture!(Built, built, Tier::Built, SimOptions { hazards: true, ..SimOptions::default() });

/// What drivers may lack, and completion in an order of the simulator's choice.
fn least() -> SimOptions {
    SimOptions {
        completion: Completion::Seeded(SEED),
        hazards: true,
        graph_upload: false,
        capture_tail: false,
        free_waits_for_device: true,
        updates_per_exec_max: Some(3),
        ..SimOptions::default()
    }
}

fixture!(Least, least_driver, Tier::Captured, least());
