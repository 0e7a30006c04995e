//! The conformance suite on CUDA, on the captured and on the built tier, and with pages from a stream-ordered pool. The driver is watched: faults are injected above it, and
//! what it made is counted after each test.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use graphreel::graph::HardwareServer;
use graphreel::recording::Tier;
use graphreel::{Config, Device};
use graphreel_cuda::{BACKEND, CudaDriver, CudaOptions, Pages, absence, devices, driver, translator};
use graphreel_testkit::watched::{Live, Watch, Watched, WatchedFaults};
use graphreel_testkit::{Expect, Faults, Fixture, Opened};

/// How long a device takes at the most to give back what it made.
const CLOSES_WITHIN: Duration = Duration::from_secs(30);

/// It forgets a handle on purpose, so that its device stays open.
const FORGETS: &str = "abandoned::an_owner_that_never_returns_locks_nobody_out";

thread_local! {
    /// A view of each driver that the test of this thread opened.
    static OPENED: RefCell<Vec<Watch>> = const { RefCell::new(Vec::new()) };
}

/// A device whose captures use `tier`, unless the test wants other tiers.
fn open(config: Config, tier: Tier, pages: Pages) -> Opened {
    if devices().is_err() {
        return Opened::Absent(absence());
    }
    let asked = config.allowed_tiers();
    let tiers = if config.tiers == Tier::ALL && asked.is_ok() { vec![tier] } else { config.tiers.clone() };
    let config = Config { tiers, ..config };
    let options = CudaOptions { pages, ..CudaOptions::default() };
    let driver = driver(&options).expect("a device that is there opens");
    let translator = translator(&driver, &options).expect("the device has a compiler");
    let driver = Watched::new(driver);
    OPENED.with_borrow_mut(|opened| opened.push(driver.watch()));
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone());
    Opened::Ready(Device::new(Box::new(server.expect("a driver that is there can be served")), config))
}

/// Nothing is left of the devices that the test opened, once their work is done.
fn audit(test: &str) {
    for watch in OPENED.take() {
        let end = Instant::now() + CLOSES_WITHIN;
        while test != FORGETS && watch.live() != Live::default() {
            assert!(Instant::now() < end, "{test}: left behind: {:?}", watch.live());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

macro_rules! fixture {
    ($name:ident, $module:ident, $tier:expr, $pages:expr) => {
        mod $module {
            use super::*;

            pub(super) struct $name;

            impl Fixture for $name {
                const NAME: &'static str = "cuda";

                fn open(config: Config) -> Opened {
                    open(config, $tier, $pages)
                }

                fn expect(_test: &str) -> Expect {
                    Expect::Pass
                }

                fn faults() -> Option<&'static dyn Faults> {
                    Some(&WatchedFaults::<CudaDriver>(PhantomData))
                }

                fn audit(test: &str) {
                    audit(test);
                }
            }

            graphreel_testkit::conformance!($name);
        }
    };
}

fixture!(Captured, captured, Tier::Captured, Pages::Plain);
fixture!(Built, built, Tier::Built, Pages::Plain);
fixture!(Pooled, pooled, Tier::Captured, Pages::StreamOrdered);
