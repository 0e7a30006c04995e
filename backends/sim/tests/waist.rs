//! The suite at the driver waist on the simulator: as it opens by itself, in orders that seeds choose, and with what the
//! capabilities of other drivers leave out.

use graphreel_sim::{SimDriver, SimOptions};
use graphreel_testkit::Expect;
use graphreel_testkit::waist::{Fixture, Opened, Rig, run};

fn open(options: SimOptions) -> Opened<SimDriver> {
    // Small, so that a test can use it up.
    let options = SimOptions { memory_bytes: 64 << 20, ..options };
    let driver = SimDriver::new(options).expect("a simulator opens anywhere");
    let translator = driver.translator();
    Opened::Ready(driver, Box::new(translator))
}

/// Nothing is alive and nothing was dropped; nothing was misused but by a test that does so.
fn audit(driver: &SimDriver, allow_misuse: bool) -> Box<dyn FnOnce()> {
    let probe = driver.probe();
    Box::new(move || {
        assert_eq!((probe.live().total(), probe.leaked(), probe.pending()), (0, 0, 0), "{}", probe.live());
        assert!(allow_misuse || probe.misuse_count() == 0, "misused: {:?}", probe.misuse());
        assert_eq!(probe.findings(), [], "the suite's kernels are sound");
    })
}

macro_rules! simulator {
    ($fixture:ident, $doc:literal, $options:expr) => {
        #[doc = $doc]
        struct $fixture;

        impl Fixture for $fixture {
            type Driver = SimDriver;

            const NAME: &'static str = "sim";

            fn open() -> Opened<SimDriver> {
                open($options)
            }

            fn expect(_test: &str) -> Expect {
                Expect::Pass
            }

            fn audit(driver: &SimDriver, allow_misuse: bool) -> Box<dyn FnOnce()> {
                audit(driver, allow_misuse)
            }
        }
    };
}

simulator!(Prompt, "Work runs at once, on a thread of its own.", SimOptions::default());
simulator!(
    Seeded,
    "Work runs in an order that a seed chooses among all legal ones, and kernels are watched for races.",
    SimOptions { sanitize: true, ..SimOptions::seeded(seed()) }
);
simulator!(
    Spare,
    "The capabilities of a driver that can do little, and memory that is freed late.",
    SimOptions {
        capture_tail: false,
        graph_upload: false,
        free_waits_for_device: true,
        unload_waits_for_device: true,
        updates_per_exec_max: Some(8),
        ..SimOptions::seeded(seed())
    }
);

/// `GRAPHREEL_SEED`, or another one each time; printed, so that a failure can be repeated.
#[expect(clippy::print_stdout, reason = "a test's output is where the seed of a failure is looked for")]
fn seed() -> u64 {
    let given = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("GRAPHREEL_SEED={seed}");
    seed
}

mod prompt {
    use super::Prompt;

    graphreel_testkit::waist_conformance!(Prompt);
}

mod seeded {
    use super::Seeded;

    graphreel_testkit::waist_conformance!(Seeded);
}

mod spare {
    use super::Spare;

    graphreel_testkit::waist_conformance!(Spare);
}

/// What the suite holds against a test that leaves the device otherwise than it found it.
mod audits {
    use graphreel::graph::Driver;

    use super::*;

    fn text(test: &'static str, body: fn(&Rig<SimDriver>)) -> String {
        let ran = std::panic::catch_unwind(|| run::<Prompt, _>(test, body));
        *ran.expect_err("the test has to fail").downcast::<String>().expect("a panic with a text")
    }

    fn misuse(rig: &Rig<SimDriver>) {
        rig.driver().capture_end(&rig.a).expect_err("nothing captures");
    }

    #[test]
    fn misuse_outside_of_its_group_fails() {
        assert!(text("audits::misuse", misuse).contains("misused: "));
        run::<Prompt, _>("misuse::on_purpose", misuse);
    }

    #[test]
    fn what_is_left_alive_fails() {
        let text = text("audits::leak", |rig| std::mem::forget(rig.event()));
        assert!(text.contains("could not be given back") && text.contains("events: 1"), "{text}");
    }

    #[test]
    fn a_call_that_fails_fails_the_test() {
        let ran = std::panic::catch_unwind(|| {
            run::<Prompt, _>("audits::error", |rig: &Rig<SimDriver>| rig.driver().capture_end(&rig.a).map(drop));
        });
        let text = *ran.expect_err("the test has to fail").downcast::<String>().expect("a panic with a text");
        assert!(text.contains("audits::error") && text.contains("capture_end"), "{text}");
    }
}
