//! The conformance suite on the simulator: on both tiers of hardware graphs and on the eager one, on a driver that lacks what drivers
//! may lack, and with work completed in any legal order.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use graphreel::error::Result;
use graphreel::recording::Tier;
use graphreel::{Config, Device};
use graphreel_sim::{Completion, Failure, FaultPlan, Probe, SimOptions, SimServer, Then, When};
use graphreel_testkit::{Expect, Faults, Fixture, Opened, eager};

/// How long a device takes at the most to give back what it made, on a slow machine.
const CLOSES_WITHIN: Duration = Duration::from_secs(30);

/// Seed of the runs in which work completes in any legal order.
const SEED: u64 = 0x5eed;

thread_local! {
    /// A view of each simulator that the test of this thread opened.
    static OPENED: RefCell<Vec<Probe>> = const { RefCell::new(Vec::new()) };
}

/// It forgets a handle on purpose, so that its device stays open.
const FORGETS: &str = "abandoned::an_owner_that_never_returns_locks_nobody_out";

/// Whatever a test does with handles, the server below them breaks no rule of the driver, and gives back all that it made,
/// which a device that is dropped with work in flight does once that work is done.
fn audit(test: &str) {
    for probe in OPENED.take() {
        assert_eq!(probe.misuse(), [], "{test}");
        if test == FORGETS {
            continue;
        }
        let end = Instant::now() + CLOSES_WITHIN;
        while probe.live().total() > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Err(unclean) = probe.check() {
            panic!("{unclean}");
        }
        assert_eq!(probe.leaked(), 0, "handles were dropped and not destroyed");
    }
}

/// A simulator whose captures use `tier`, unless the test wants other tiers.
fn open(options: SimOptions, config: Config, tier: Tier) -> Opened {
    let asked: Result<Vec<Tier>> = config.allowed_tiers();
    let tiers = if config.tiers == Tier::ALL && asked.is_ok() { vec![tier] } else { config.tiers.clone() };
    let config = Config { tiers, ..config };
    let server = graphreel_sim::open(options, config.clone()).expect("a simulator opens");
    OPENED.with_borrow_mut(|opened| opened.push(server.driver().probe()));
    let server: Box<dyn graphreel::Server> =
        if tier == Tier::Eager { Box::new(eager::EagerAllowed(server)) } else { Box::new(server) };
    Opened::Ready(Device::new(server, config))
}

/// Tests of waits that are too brief, which only work that goes on by itself can be. All of them run on the other fixtures.
const LATE: [&str; 10] = [
    "field_replay::a_deadline_ends_the_wait_only",
    "loss::loss_while_a_thread_reads",
    "loss::loss_while_reads_wait",
    "loss::loss_while_replays_run",
    "waits::a_configured_bound_ends_plain_waits",
    "waits::a_deadline_ends_the_wait_only",
    "waits::a_read_can_be_waited_for_again",
    "waits::a_wait_does_not_hold_the_device",
    "waits::answers_can_be_awaited",
    "waits::plain_reads_and_syncs_wait",
];

fn expect(options: &SimOptions, test: &str) -> Expect {
    match options.completion {
        Completion::Seeded(_) if LATE.contains(&test) => {
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
                    if $tier == Tier::Eager { eager::expect(test) } else { expect(&$options, test) }
                }

                fn faults() -> Option<&'static dyn Faults> {
                    Some(&Injection)
                }

                fn audit(test: &str) {
                    audit(test);
                }
            }

            graphreel_testkit::conformance!($name);
        }
    };
}

fixture!(Captured, captured, Tier::Captured, SimOptions { hazards: true, ..SimOptions::default() });
fixture!(Built, built, Tier::Built, SimOptions { hazards: true, ..SimOptions::default() });
fixture!(Eager, eager_only, Tier::Eager, SimOptions { hazards: true, ..SimOptions::default() });

/// What drivers may lack, and completion in an order of the simulator's choice.
fn least() -> SimOptions {
    SimOptions {
        completion: Completion::Seeded(SEED),
        hazards: true,
        graph_upload: false,
        capture_tail: false,
        free_waits_for_device: true,
        unload_waits_for_device: true,
        updates_per_exec_max: Some(3),
        ..SimOptions::default()
    }
}

fixture!(Least, least_driver, Tier::Captured, least());
