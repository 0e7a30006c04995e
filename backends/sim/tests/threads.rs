//! The storm of threads on the simulator, on both tiers, and on a driver that lacks what drivers may lack: it finds what nothing
//! orders, and is asked for what was misused.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use graphreel::recording::Tier;
use graphreel::{Config, Device};
use graphreel_sim::{Completion, Probe, SimOptions};
use graphreel_testkit::{Expect, Faults, Fixture, Opened, run, storm};

/// How long a device takes at the most to give back what it made, on a slow machine.
const CLOSES_WITHIN: Duration = Duration::from_secs(30);

/// Seed of the runs in which work completes in any legal order.
const SEED: u64 = 0x5eed;

thread_local! {
    /// A look into each simulator that the test of this thread opened.
    static OPENED: RefCell<Vec<Probe>> = const { RefCell::new(Vec::new()) };
}

/// Nothing was misused, and all is given back, by whatever thread it was dropped.
fn audit() {
    for probe in OPENED.take() {
        assert_eq!(probe.misuse(), []);
        let end = Instant::now() + CLOSES_WITHIN;
        while probe.live().total() > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Err(unclean) = probe.check() {
            panic!("{unclean}");
        }
    }
}

macro_rules! storms {
    ($name:ident, $module:ident, $tier:expr, $options:expr) => {
        struct $name;

        impl Fixture for $name {
            const NAME: &'static str = "sim";

            fn open(config: Config) -> Opened {
                let config = Config { tiers: vec![$tier], ..config };
                let server = graphreel_sim::open($options, config.clone()).expect("a simulator opens");
                OPENED.with_borrow_mut(|opened| opened.push(server.driver().probe()));
                Opened::Ready(Device::new(Box::new(server), config))
            }

            fn expect(_test: &str) -> Expect {
                Expect::Pass
            }

            fn faults() -> Option<&'static dyn Faults> {
                None
            }

            fn audit(_test: &str) {
                audit();
            }
        }

        mod $module {
            use super::*;

            #[test]
            fn captures_beside_everything() {
                run::<$name, _>("threads::captures_beside_everything", storm::captures_beside_everything);
            }

            #[test]
            fn replays_of_one_graph_from_many_threads() {
                let test = "threads::replays_of_one_graph_from_many_threads";
                run::<$name, _>(test, storm::replays_of_one_graph_from_many_threads);
            }
        }
    };
}

fn whole() -> SimOptions {
    SimOptions { hazards: true, ..SimOptions::default() }
}

/// What drivers may lack, and completion in an order of the simulator's choice.
fn least() -> SimOptions {
    SimOptions {
        completion: Completion::Seeded(SEED),
        graph_upload: false,
        capture_tail: false,
        free_waits_for_device: true,
        updates_per_exec_max: Some(3),
        ..whole()
    }
}

storms!(Captured, captured, Tier::Captured, whole());
storms!(Built, built, Tier::Built, whole());
storms!(Least, least_driver, Tier::Captured, least());
