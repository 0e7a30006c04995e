//! The suite at the driver waist on NVIDIA's driver, with plain pages and with those of a stream-ordered pool; and what of it waits for
//! the device.

#![expect(unsafe_code, reason = "the waist declares unsafe methods")]

use std::num::NonZeroU64;

use graphreel::graph::{Driver, DriverResult};
use graphreel_cuda::{CudaDriver, CudaOptions, Pages, absence, devices, driver, translator};
use graphreel_testkit::kernels::COUNT_GROUPS;
use graphreel_testkit::waist::{Fixture, Opened, Rig, run};
use graphreel_testkit::watched::{Live, Watched};
use graphreel_testkit::{Expect, announce};

/// The driver on the first device, with pages from there; what it made is counted.
fn opened(pages: Pages) -> Opened<Watched<CudaDriver>> {
    if devices().is_err() {
        return Opened::Absent(absence());
    }
    let options = CudaOptions { pages, ..CudaOptions::default() };
    let driver = driver(&options).expect("a device that is there opens");
    assert_eq!(driver.pages(), pages);
    let translator = translator(&driver, &options).expect("the device has a compiler");
    Opened::Ready(Watched::new(driver), translator)
}

macro_rules! fixture {
    ($name:ident, $module:ident, $pages:expr) => {
        mod $module {
            use super::*;

            pub(super) struct $name;

            impl Fixture for $name {
                type Driver = Watched<CudaDriver>;

                const NAME: &'static str = "cuda";

                fn open() -> Opened<Watched<CudaDriver>> {
                    opened($pages)
                }

                fn expect(_test: &str) -> Expect {
                    Expect::Pass
                }

                fn audit(driver: &Watched<CudaDriver>, _allow_misuse: bool) -> Box<dyn FnOnce()> {
                    let watch = driver.watch();
                    Box::new(move || assert_eq!(watch.live(), Live::default(), "everything is given back"))
                }
            }

            graphreel_testkit::waist_conformance!($name);
        }
    };
}

fixture!(Plain, plain, Pages::Plain);
fixture!(Pooled, pooled, Pages::StreamOrdered);

/// Whether giving something back waits for the device, which NVIDIA does not say: where it does the driver has to say so, since the
/// server would keep the device's lock for as long, and where it does not there is nothing to put off. `told` is what the driver
/// says.
fn waits<D: Driver>(rig: &Rig<D>, what: &str, told: bool, back: impl FnOnce(&D) -> DriverResult) -> DriverResult {
    let driver = rig.driver();
    let (slow, done) = (rig.slow()?, rig.event()?);
    (0..400).try_for_each(|_| slow.on(&rig.a))?;
    driver.event_record(&done, &rig.a)?;
    let before = driver.event_query(&done)?;
    back(driver)?;
    let after = driver.event_query(&done)?;
    announce(&format!("cuda, {what}: other work was done before it: {before}, and after it: {after}"));
    assert!(!before, "the other work ended too soon to tell whether {what} waits");
    assert_eq!(after, told, "whether {what} waits for the device is not what the driver's caps say");
    Ok(())
}

fn a_free<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let memory = rig.driver().mem_alloc(NonZeroU64::new(1 << 20).expect("it is not zero"))?;
    // SAFETY: nothing ever used it.
    waits(rig, "a free of memory", rig.driver().caps().free_waits_for_device, |driver| unsafe {
        driver.mem_free(memory)
    })
}

#[test]
fn a_free_waits_only_where_the_driver_says_so() {
    run::<plain::Plain, _>("memory::a_free_waits_only_where_the_driver_says_so", a_free);
}

#[test]
fn a_free_to_a_pool_waits_for_nothing() {
    run::<pooled::Pooled, _>("memory::a_free_to_a_pool_waits_for_nothing", |rig: &Rig<Watched<CudaDriver>>| {
        assert!(!rig.driver().caps().free_waits_for_device);
        a_free(rig)
    });
}

#[test]
fn pinned_memory_waits_only_where_the_driver_says_so() {
    run::<plain::Plain, _>(
        "memory::pinned_memory_waits_only_where_the_driver_says_so",
        |rig: &Rig<Watched<CudaDriver>>| {
            let memory = rig.driver().pinned_alloc(NonZeroU64::new(1 << 20).expect("it is not zero"))?;
            let told = rig.driver().caps().unload_waits_for_device;
            // SAFETY: nothing ever used it.
            waits(rig, "a free of pinned memory", told, |driver| unsafe { driver.pinned_free(memory) })
        },
    );
}

#[test]
fn code_waits_only_where_the_driver_says_so() {
    run::<plain::Plain, _>("launches::code_waits_only_where_the_driver_says_so", |rig: &Rig<Watched<CudaDriver>>| {
        let code = rig.code(COUNT_GROUPS)?;
        let told = rig.driver().caps().unload_waits_for_device;
        waits(rig, "an unload of code", told, |_| code.unload_at_once())
    });
}

/// The server destroys executables under its lock as soon as their own launches are done.
#[test]
fn an_executables_end_waits_for_no_other_work() {
    run::<plain::Plain, _>(
        "executables::an_executables_end_waits_for_no_other_work",
        |rig: &Rig<Watched<CudaDriver>>| {
            let driver = rig.driver();
            let graph = driver.graph_create()?;
            let exec = driver.graph_instantiate(&graph)?;
            waits(rig, "the end of an executable", false, |driver| {
                // SAFETY: it was never launched.
                unsafe { driver.exec_destroy(exec) }?;
                driver.graph_destroy(graph)
            })
        },
    );
}
