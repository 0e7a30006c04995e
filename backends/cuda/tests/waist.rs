//! The suite at the driver waist on NVIDIA's driver.

#![expect(unsafe_code, reason = "the waist declares unsafe methods")]

use std::num::NonZeroU64;

use graphreel::graph::Driver as _;
use graphreel_cuda::{CudaDriver, CudaOptions, absence, devices, driver, translator};
use graphreel_testkit::waist::{Fixture, Opened, Rig, run};
use graphreel_testkit::watched::{Live, Watched};
use graphreel_testkit::{Expect, announce};

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

/// Whether a free waits for the device, which NVIDIA does not say: where it does the driver has to say so, since the server would
/// keep the device's lock for as long.
#[test]
fn a_free_waits_only_where_the_driver_says_so() {
    run::<Cuda, _>("memory::a_free_waits_only_where_the_driver_says_so", |rig: &Rig<Watched<CudaDriver>>| {
        let driver = rig.driver();
        let (slow, done) = (rig.slow()?, rig.event()?);
        let memory = driver.mem_alloc(NonZeroU64::new(1 << 20).expect("it is not zero"))?;
        (0..400).try_for_each(|_| slow.on(&rig.a))?;
        driver.event_record(&done, &rig.a)?;
        let before = driver.event_query(&done)?;
        // SAFETY: nothing ever used it.
        unsafe { driver.mem_free(memory) }?;
        let after = driver.event_query(&done)?;
        announce(&format!("cuMemFree: other work was done before it: {before}, and after it: {after}"));
        let waits = !before && after;
        assert!(!waits || driver.caps().free_waits_for_device, "a free waited for the device");
        Ok(())
    });
}
