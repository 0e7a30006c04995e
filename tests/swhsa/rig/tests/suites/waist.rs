//! The suite at the driver waist.

use graphreel_hip::HipDriver;
use graphreel_testkit::Expect;
use graphreel_testkit::waist::{Fixture, Opened};
use graphreel_testkit::watched::{Live, Watched};

use super::ground;

/// The driver; what it made is counted.
struct Hip;

impl Fixture for Hip {
    type Driver = Watched<HipDriver>;

    const NAME: &'static str = ground::NAME;

    fn open() -> Opened<Watched<HipDriver>> {
        match ground::open() {
            Ok((driver, translator)) => Opened::Ready(Watched::new(driver), translator),
            Err(why) => Opened::Absent(why),
        }
    }

    fn expect(test: &str) -> Expect {
        match test {
            "executables::launches_of_one_executable_do_not_overlap" => Expect::Unsupported(
                "AMD's runtime runs them side by side on two streams; the server orders them by their data",
            ),
            "misuse::a_wait_from_outside_for_a_captured_event_is_no_fork" => Expect::Unsupported(
                "AMD's runtime never takes the stream back that joined and did not return; the server forks none",
            ),
            _ => Expect::Pass,
        }
    }

    fn audit(driver: &Watched<HipDriver>, _allow_misuse: bool) -> Box<dyn FnOnce()> {
        let watch = driver.watch();
        Box::new(move || assert_eq!(watch.live(), Live::default(), "everything is given back"))
    }
}

graphreel_testkit::waist_conformance!(Hip);
