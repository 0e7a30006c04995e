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
        ground::waist(test)
    }

    fn audit(driver: &Watched<HipDriver>, _allow_misuse: bool) -> Box<dyn FnOnce()> {
        let watch = driver.watch();
        Box::new(move || assert_eq!(watch.live(), Live::default(), "everything is given back"))
    }
}

graphreel_testkit::waist_conformance!(Hip);
