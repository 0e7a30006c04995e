//! What the tests of a process stand on: the device's control interface, g++ for its kernels, and the wrapped compiler.

use std::sync::{Arc, OnceLock};

use graphreel::graph::Translator;
use graphreel_hip::{HipDriver, HipOptions, devices, driver, translator};
use graphreel_swhsa_rig::{Control, HostKernels, Rigged, inside};

/// How `GRAPHREEL_REQUIRE` lists the software device.
pub(crate) const NAME: &str = "swhsa";

struct Ground {
    kernels: Arc<HostKernels>,
    control: Arc<Control>,
}

/// What is made once for a process; `None` for one that does not run on the device.
fn ground() -> Option<&'static Ground> {
    static GROUND: OnceLock<Option<Ground>> = OnceLock::new();
    let make = || {
        let folder = inside()?;
        let control = Arc::new(Control::open().expect("the device is below the runtime"));
        let wave = devices().expect("the device is listed").first().expect("there is one").wave_size;
        let kernels = Arc::new(HostKernels::new(&folder, wave).expect("g++ compiles the host runtime"));
        Some(Ground { kernels, control })
    };
    GROUND.get_or_init(make).as_ref()
}

/// The driver on the device, and a compiler whose kernels run there.
pub(crate) fn open() -> Result<(HipDriver, Box<dyn Translator>), String> {
    let Some(ground) = ground() else {
        return Err("this process has no software device; start it by .ci/swhsa".into());
    };
    let options = HipOptions::default();
    let driver = driver(&options).expect("a device that is there opens");
    let translator = translator(&driver, &options).expect("the device has a compiler");
    let rigged = Rigged::new(translator, Arc::clone(&ground.kernels), Arc::clone(&ground.control));
    Ok((driver, Box::new(rigged)))
}
