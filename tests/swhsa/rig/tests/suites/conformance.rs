//! The conformance suite, on the captured and on the built tier, and where no graph is to be had and captures allow that their
//! operations are launched one by one.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use graphreel::graph::HardwareServer;
use graphreel::recording::Tier;
use graphreel::{Config, Device, Server};
use graphreel_hip::{BACKEND, HipDriver};
use graphreel_testkit::watched::{Live, Watch, Watched, WatchedFaults};
use graphreel_testkit::{Expect, Faults, Fixture, Opened, eager};

use super::ground;

/// How long a device takes at the most to give back what it made.
const CLOSES_WITHIN: Duration = Duration::from_secs(30);

/// It forgets a handle on purpose, so that its device stays open.
const FORGETS: &str = "abandoned::an_owner_that_never_returns_locks_nobody_out";

thread_local! {
    /// A view of each driver that the test of this thread opened.
    static OPENED: RefCell<Vec<Watch>> = const { RefCell::new(Vec::new()) };
}

/// A device whose captures use `tier`, unless the test wants other tiers.
fn open(config: Config, tier: Tier) -> Opened {
    let (driver, translator) = match ground::open() {
        Ok(opened) => opened,
        Err(why) => return Opened::Absent(why),
    };
    let asked = config.allowed_tiers();
    let tiers = if config.tiers == Tier::ALL && asked.is_ok() { vec![tier] } else { config.tiers.clone() };
    let config = Config { tiers, ..config };
    let driver = Watched::new(driver);
    OPENED.with_borrow_mut(|opened| opened.push(driver.watch()));
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone());
    let server = server.expect("a driver that is there can be served");
    let server: Box<dyn Server> =
        if tier == Tier::Eager { Box::new(eager::EagerAllowed(server)) } else { Box::new(server) };
    Opened::Ready(Device::new(server, config))
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
    ($name:ident, $module:ident, $tier:expr) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) struct $name;

            impl Fixture for $name {
                const NAME: &'static str = ground::NAME;

                fn open(config: Config) -> Opened {
                    open(config, $tier)
                }

                fn expect(test: &str) -> Expect {
                    if $tier == Tier::Eager { eager::expect(test) } else { Expect::Pass }
                }

                fn faults() -> Option<&'static dyn Faults> {
                    Some(&WatchedFaults::<HipDriver>(PhantomData))
                }

                fn audit(test: &str) {
                    audit(test);
                }
            }

            graphreel_testkit::conformance!($name);
        }
    };
}

fixture!(Captured, captured, Tier::Captured);
fixture!(Built, built, Tier::Built);
fixture!(Eager, eager_only, Tier::Eager);
