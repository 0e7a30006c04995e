//! What a backend gives the suite, and how one test runs on it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use graphreel::{Config, Device, ServerError};

use crate::Env;

/// A backend under test.
pub trait Fixture: 'static {
    /// The backend's name, as `GRAPHREEL_REQUIRE` lists it.
    const NAME: &'static str;

    /// Open a device, or say why there is none.
    fn open(config: Config) -> Opened;

    /// What is expected of the test `topic::name`. There is no default, so that each backend lists its gaps.
    fn expect(test: &str) -> Expect;

    /// The backend's fault injection; `None` where it has none.
    fn faults() -> Option<&'static dyn Faults>;

    /// Panic where `test` made the server misuse what is below it, or where something is left of the devices that this thread
    /// opened. Asked after each test that passed, when all its handles are gone. Does nothing on a backend that keeps no
    /// books.
    fn audit(test: &str);
}

/// Test hooks of a backend.
pub trait Faults: Sync {
    /// Let the next `times` replays fail before their first submit: nothing of them runs.
    fn refuse_replays(&self, device: &Device, times: u32);

    /// Let the next `times` replays fault after their first submit: what they write holds no result.
    fn fault_replays(&self, device: &Device, times: u32);

    /// Lose the device, as by a driver reset.
    fn lose(&self, device: &Device);
}

/// What opening a device came to.
#[derive(Debug)]
pub enum Opened {
    /// A device.
    Ready(Device),
    /// None, with the reason.
    Absent(String),
}

/// What is expected of a test on one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It passes.
    Pass,
    /// The backend cannot do this; the test does not run.
    Unsupported(&'static str),
    /// It fails today, for this reason. A pass is a failure: the line has to go.
    Broken(&'static str),
}

/// What a test returns: nothing, or a `Result` whose error fails it.
pub trait Outcome {
    /// Panic when the test failed.
    fn settle(self, test: &str);
}

impl Outcome for () {
    fn settle(self, _test: &str) {}
}

impl Outcome for Result<(), ServerError> {
    fn settle(self, test: &str) {
        if let Err(error) = self {
            panic!("{test}: a call that had to work answered: {error}\n{error:?}");
        }
    }
}

/// Run one entry of the suite on `F`, as its expectation says.
///
/// # Panics
///
/// When the test fails, when a `Broken` one passes, or when `GRAPHREEL_REQUIRE` names a backend that is absent.
pub fn run<F: Fixture, O: Outcome>(test: &'static str, body: fn(&Env) -> O) {
    judge(test, F::NAME, F::expect(test), || {
        let device = match F::open(Config::default()) {
            Opened::Ready(device) => device,
            Opened::Absent(why) => return Err(why),
        };
        let env = Env::new(F::NAME, device, F::open, F::faults());
        Ok(move || {
            body(&env).settle(test);
            drop(env);
            F::audit(test);
        })
    });
}

/// Run one test as `expect` says: `prepare` gives the test, or why the backend is absent.
pub(crate) fn judge<T: FnOnce()>(
    test: &'static str,
    name: &str,
    expect: Expect,
    prepare: impl FnOnce() -> Result<T, String>,
) {
    if let Expect::Unsupported(why) = expect {
        announce(&format!("{test}: not supported by {name}: {why}"));
        return;
    }
    let body = match prepare() {
        Ok(body) => body,
        Err(why) => return skip(test, name, &why),
    };
    let Expect::Broken(why) = expect else { return body() };
    let passed = catch_unwind(AssertUnwindSafe(body)).is_ok();
    assert!(!passed, "{test} passes on {name}, but is listed as broken ({why}): remove that line");
    announce(&format!("{test}: broken on {name} as listed: {why}"));
}

/// A device of `F` for `test`; `None`, after saying so, where the backend is absent.
///
/// # Panics
///
/// When `GRAPHREEL_REQUIRE` names the backend and it is absent.
pub fn opened<F: Fixture>(test: &str) -> Option<Device> {
    match F::open(Config::default()) {
        Opened::Ready(device) => Some(device),
        Opened::Absent(why) => {
            skip(test, F::NAME, &why);
            None
        }
    }
}

/// Say that a test did not run, unless its backend was required.
fn skip(test: &str, name: &str, why: &str) {
    assert!(!required(name), "GRAPHREEL_REQUIRE names {name}, which is absent: {why}");
    announce(&format!("{test}: skipped, {name} is absent: {why}"));
}

fn required(name: &str) -> bool {
    let listed = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    listed.split(',').any(|wanted| wanted.trim() == name)
}

/// Say on the test's own output why it did not run as written.
#[expect(clippy::print_stderr, reason = "a test that is left out has to say so where people look")]
pub fn announce(text: &str) {
    eprintln!("{text}");
}
