//! The suite at the driver waist on NVIDIA's driver.

use graphreel_cuda::{CudaDriver, CudaOptions, absence, devices, driver, translator};
use graphreel_testkit::Expect;
use graphreel_testkit::waist::{Fixture, Opened};
use graphreel_testkit::watched::{Live, Watched};

/// The driver on the first device; what it made is counted.
struct Cuda;

impl Fixture for Cuda {
    type Driver = Watched<CudaDriver>;

    const NAME: &'static str = "cuda";

    fn open() -> Opened<Watched<CudaDriver>> {
        if devices().is_err() {
            return Opened::Absent(absence());
        }
        let options = CudaOptions::default();
        let driver = driver(&options).expect("a device that is there opens");
        let translator = translator(&driver, &options).expect("the device has a compiler");
        Opened::Ready(Watched::new(driver), translator)
    }

    fn expect(_test: &str) -> Expect {
        Expect::Pass
    }

    fn audit(driver: &Watched<CudaDriver>, _allow_misuse: bool) -> Box<dyn FnOnce()> {
        let watch = driver.watch();
        Box::new(move || assert_eq!(watch.live(), Live::default(), "everything is given back"))
    }
}

graphreel_testkit::waist_conformance!(Cuda);
