//! The storm of threads on the first device, on both tiers and in full. The driver is watched: what the storm made is given back.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use graphreel::graph::HardwareServer;
use graphreel::recording::Tier;
use graphreel::{Config, Device};
use graphreel_cuda::{BACKEND, CudaOptions, absence, devices, driver, translator};
use graphreel_testkit::watched::{Live, Watch, Watched};
use graphreel_testkit::{Expect, Faults, Fixture, Opened, run, storm};

/// How long a device takes at the most to give back what it made.
const CLOSES_WITHIN: Duration = Duration::from_secs(30);

thread_local! {
    /// A view of each driver that the test of this thread opened.
    static OPENED: RefCell<Vec<Watch>> = const { RefCell::new(Vec::new()) };
}

fn open(config: Config, tier: Tier) -> Opened {
    if devices().is_err() {
        return Opened::Absent(absence());
    }
    let config = Config { tiers: vec![tier], ..config };
    let options = CudaOptions::default();
    let driver = driver(&options).expect("a device that is there opens");
    let translator = translator(&driver, &options).expect("the device has a compiler");
    let driver = Watched::new(driver);
    OPENED.with_borrow_mut(|opened| opened.push(driver.watch()));
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone());
    Opened::Ready(Device::new(Box::new(server.expect("a driver that is there can be served")), config))
}

/// All is given back, by whatever thread it was dropped.
fn audit(test: &str) {
    for watch in OPENED.take() {
        let end = Instant::now() + CLOSES_WITHIN;
        while watch.live() != Live::default() {
            assert!(Instant::now() < end, "{test}: left behind: {:?}", watch.live());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

macro_rules! storms {
    ($name:ident, $module:ident, $tier:expr) => {
        struct $name;

        impl Fixture for $name {
            const NAME: &'static str = "cuda";

            fn open(config: Config) -> Opened {
                open(config, $tier)
            }

            fn expect(_test: &str) -> Expect {
                Expect::Pass
            }

            fn faults() -> Option<&'static dyn Faults> {
                None
            }

            fn audit(test: &str) {
                audit(test);
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

storms!(Captured, captured, Tier::Captured);
storms!(Built, built, Tier::Built);
