//! A device over a simulator that the test steers, with what every such test does.

use std::time::{Duration, Instant};

use graphreel::{Config, Device, Kernel};
use graphreel_sim::{Probe, SimOptions};

pub(crate) const INC: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1) fn main() { x[0] += 1u; }";

/// Small pages, so that buffers share them.
pub(crate) fn small() -> Config {
    Config { page_bytes: 4096, slice_bytes_max: 1024, ..Config::default() }
}

pub(crate) fn opened(options: SimOptions, config: Config) -> (Device, Probe) {
    let server = graphreel_sim::open(options, config.clone()).unwrap();
    let probe = server.driver().probe();
    (Device::new(Box::new(server), config), probe)
}

pub(crate) fn inc(device: &Device) -> Kernel {
    device.kernel(INC).unwrap()
}

/// Let what was queued run, and the server see it.
pub(crate) fn settle(device: &Device, probe: &Probe) {
    let pending = device.stream().sync_async().unwrap();
    probe.run_all();
    pending.wait().unwrap();
}

/// Close the device, and hold the driver against its rules.
pub(crate) fn close(device: Device, probe: &Probe) {
    let started = Instant::now();
    drop(device);
    while probe.live().total() > 0 && started.elapsed() < Duration::from_secs(10) {
        probe.run_all();
        std::thread::sleep(Duration::from_millis(1));
    }
    probe.check().unwrap();
}
