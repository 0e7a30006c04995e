//! What the tests of a process stand on: the HIP backend over this package's library.

use std::convert::Infallible;
use std::time::Duration;

use graphreel::graph::{HardwareServer, Translator};
use graphreel::recording::Tier;
use graphreel::{Config, Device, Result};
use graphreel_hip::{BACKEND, HipDriver, HipOptions, devices, driver, translator};
use graphreel_hip_sys::LIBRARY_VARIABLE;
use graphreel_testkit::watched::{Live, Watch, Watched};
use graphreel_testkit::{Expect, announce};

/// How `GRAPHREEL_REQUIRE` lists it.
pub(crate) const NAME: &str = "hip-on-cuda";

/// The tiers of hardware graphs.
pub(crate) const TIERS: [Tier; 2] = [Tier::Captured, Tier::Built];

/// Why there is no device; empty where there is one.
fn absence() -> String {
    let named = std::env::var(LIBRARY_VARIABLE).unwrap_or_default();
    if !named.contains("hip_on_cuda") {
        return format!("{LIBRARY_VARIABLE} does not name this package's library");
    }
    devices().err().unwrap_or_default()
}

/// Whether there is a device. Where not, it is said of the test.
pub(crate) fn there(test: &str) -> bool {
    let why = absence();
    if !why.is_empty() {
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name.trim() == NAME), "GRAPHREEL_REQUIRE names {NAME}: {why}");
        announce(&format!("{test}: skipped, {why}"));
    }
    why.is_empty()
}

/// The driver and its compiler.
pub(crate) fn open() -> std::result::Result<(HipDriver, Box<dyn Translator>), String> {
    let why = absence();
    if !why.is_empty() {
        return Err(why);
    }
    let options = HipOptions::default();
    let driver = driver(&options).expect("a device that is there opens");
    let translator = translator(&driver, &options).expect("the device has a compiler");
    Ok((driver, translator))
}

/// A device that uses these tiers, and a view of the driver below it. Its kernels run as they are: none has a twin.
///
/// # Errors
///
/// What opening it answers.
pub(crate) fn device(tiers: &[Tier], _twins: Vec<Infallible>) -> Result<(Device, Watch)> {
    let (driver, translator) = open().expect("there is a device");
    let driver = Watched::new(driver);
    let watch = driver.watch();
    let config = Config { tiers: tiers.to_vec(), ..Config::default() };
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone())?;
    Ok((Device::new(Box::new(server), config), watch))
}

/// What of the waist is otherwise here than it should be: nothing.
pub(crate) fn waist(_test: &str) -> Expect {
    Expect::Pass
}

/// What is left once a closed device's work is done.
pub(crate) fn settled(watch: &Watch) -> Live {
    for _ in 0..5000 {
        if watch.live() == Live::default() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    watch.live()
}

/// A real device has time for the full volumes.
pub(crate) fn thorough() -> bool {
    true
}
