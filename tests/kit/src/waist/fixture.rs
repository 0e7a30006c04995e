//! What a driver gives the suite, and how one test runs on it.

use graphreel::graph::{Driver, DriverResult, Translator};

use super::Rig;
use crate::Expect;
use crate::fixture::judge;

/// A driver under test.
pub trait Fixture: 'static {
    /// The driver.
    type Driver: Driver;

    /// The backend's name, as `GRAPHREEL_REQUIRE` lists it.
    const NAME: &'static str;

    /// Open a device, or say why there is none.
    fn open() -> Opened<Self::Driver>;

    /// What is expected of the test `topic::name`. There is no default, so that each backend lists its gaps.
    fn expect(test: &str) -> Expect;

    /// What looks at the device after a test that passed, everything having been given back: for drivers that count what is
    /// alive and what was misused. With `allow_misuse` the test made mistakes on purpose.
    fn audit(driver: &Self::Driver, allow_misuse: bool) -> Box<dyn FnOnce()>;
}

/// What opening a device came to.
pub enum Opened<D> {
    /// A driver, and the compiler for it.
    Ready(D, Box<dyn Translator>),
    /// None, with the reason.
    Absent(String),
}

/// Run one entry of the suite on `F`, as its expectation says, and give the device back.
///
/// # Panics
///
/// When the test fails, when a `Broken` one passes, or when `GRAPHREEL_REQUIRE` names a backend that is absent.
pub fn run<F: Fixture, O: Outcome>(test: &'static str, body: fn(&Rig<F::Driver>) -> O) {
    judge(test, F::NAME, F::expect(test), || {
        let (driver, translator) = match F::open() {
            Opened::Ready(driver, translator) => (driver, translator),
            Opened::Absent(why) => return Err(why),
        };
        let audit = F::audit(&driver, test.starts_with("misuse::"));
        Ok(move || {
            let rig = Rig::open(driver, translator).unwrap_or_else(|error| panic!("{test}: no streams: {error}"));
            body(&rig).settle(test);
            rig.close().unwrap_or_else(|error| panic!("{test}: the device could not be given back: {error}"));
            audit();
        })
    });
}

/// What a test returns: nothing, or a `DriverResult` whose error fails it.
pub trait Outcome {
    /// Panic when the test failed.
    fn settle(self, test: &str);
}

impl Outcome for () {
    fn settle(self, _test: &str) {}
}

impl Outcome for DriverResult {
    fn settle(self, test: &str) {
        if let Err(error) = self {
            panic!("{test}: a call that had to work answered: {error}");
        }
    }
}
