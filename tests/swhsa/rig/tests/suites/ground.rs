//! What the tests of a process stand on: the device's control interface, g++ for its kernels, and the wrapped compiler.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use graphreel::graph::{HardwareServer, Translator};
use graphreel::recording::Tier;
use graphreel::{Config, Device, Result};
use graphreel_hip::{BACKEND, HipDriver, HipOptions, devices, driver, translator};
use graphreel_swhsa_rig::{Control, HostKernels, Rigged, Twin, inside};
use graphreel_testkit::watched::{Live, Watch, Watched};
use graphreel_testkit::{Expect, announce};

/// How `GRAPHREEL_REQUIRE` lists the software device.
pub(crate) const NAME: &str = "swhsa";

/// The tiers of hardware graphs.
pub(crate) const TIERS: [Tier; 2] = [Tier::Captured, Tier::Built];

/// Why a process has no device.
const NONE: &str = "this process has no software device; start it by .ci/swhsa";

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

/// Whether the process runs on the device. Where not, it is said of the test.
pub(crate) fn there(test: &str) -> bool {
    if ground().is_none() {
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name.trim() == NAME), "GRAPHREEL_REQUIRE names {NAME}: {NONE}");
        announce(&format!("{test}: SKIPPED, {NONE}"));
        return false;
    }
    true
}

/// The driver on the device, and a compiler whose kernels run there.
pub(crate) fn open() -> std::result::Result<(HipDriver, Box<dyn Translator>), String> {
    open_with(Vec::new())
}

/// The same, where kernels in HIP's own languages run that have a twin among these.
pub(crate) fn open_with(twins: Vec<Twin>) -> std::result::Result<(HipDriver, Box<dyn Translator>), String> {
    let ground = ground().ok_or(NONE)?;
    let options = HipOptions::default();
    let driver = driver(&options).expect("a device that is there opens");
    let translator = translator(&driver, &options).expect("the device has a compiler");
    let rigged = Rigged::new(translator, Arc::clone(&ground.kernels), Arc::clone(&ground.control), twins);
    Ok((driver, Box::new(rigged)))
}

/// A device that uses these tiers, and a view of the driver below it.
///
/// # Errors
///
/// What opening it answers.
pub(crate) fn device(tiers: &[Tier], twins: Vec<Twin>) -> Result<(Device, Watch)> {
    device_with(Config { tiers: tiers.to_vec(), ..Config::default() }, twins)
}

/// The same for a whole configuration.
///
/// # Errors
///
/// What opening it answers.
pub(crate) fn device_with(config: Config, twins: Vec<Twin>) -> Result<(Device, Watch)> {
    let (driver, translator) = open_with(twins).expect("the process runs on the device");
    let driver = Watched::new(driver);
    let watch = driver.watch();
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone())?;
    Ok((Device::new(Box::new(server), config), watch))
}

/// What of the waist AMD's runtime does otherwise.
pub(crate) fn waist(test: &str) -> Expect {
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

/// The full volumes are run.
pub(crate) fn thorough() -> bool {
    std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1")
}
