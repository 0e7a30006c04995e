//! A device whose driver is watched, so that it is seen which calls reached it, and that nothing is left of a test.

use std::time::{Duration, Instant};

use graphreel::graph::HardwareServer;
use graphreel::{Config, Device};
use graphreel_cuda::{BACKEND, CudaOptions, absence, devices, driver, translator};
use graphreel_testkit::announce;
use graphreel_testkit::watched::{Live, Watch, Watched};

/// How long a device takes at the most to give back what it made.
const CLOSES_WITHIN: Duration = Duration::from_secs(30);

/// Run `body` on a device, where there is one; where not it is said, and fails where one is required.
pub(crate) fn on_device(test: &str, config: Config, body: impl FnOnce(&Device, &Watch)) {
    if devices().is_err() {
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name.trim() == "cuda"), "GRAPHREEL_REQUIRE names cuda: {}", absence());
        return announce(&format!("{test}: skipped, {}", absence()));
    }
    let options = CudaOptions::default();
    let driver = driver(&options).expect("a device that is there opens");
    let translator = translator(&driver, &options).expect("the device has a compiler");
    let driver = Watched::new(driver);
    let watch = driver.watch();
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone()).unwrap();
    let device = Device::new(Box::new(server), config);
    body(&device, &watch);
    assert!(device.lost().is_none(), "{test}: {:?}", device.lost());
    assert_eq!(device.counters().device_faults, 0, "{test}");
    drop(device);
    let started = Instant::now();
    while watch.live() != Live::default() {
        assert!(started.elapsed() < CLOSES_WITHIN, "{test}: left behind: {:?}", watch.live());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The compute capability of that device, 90 for 9.0.
pub(crate) fn capability() -> u32 {
    let (major, minor) = devices().unwrap().remove(0).compute_capability;
    major * 10 + minor
}
