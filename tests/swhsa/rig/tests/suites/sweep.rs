//! The fault sweep: the same work again and again, while the n-th operation of the device fails. Each time it ends with its
//! result or an error, gives everything back, and the next device works. Host memory is left out: AMD's runtime uses its own
//! without asking whether it got any, and ends the process.

use graphreel::graph::HardwareServer;
use graphreel::{Config, Device, Grid, Result};
use graphreel_hip::BACKEND;
use graphreel_swhsa_rig::{Control, FaultKind};
use graphreel_testkit::watched::{Live, Watch, Watched};
use graphreel_testkit::{announce, kernels};

use super::ground;

/// `HSA_STATUS_ERROR_OUT_OF_RESOURCES`.
const OUT_OF_RESOURCES: u32 = 0x1008;

/// More operations of a kind than the work makes.
const OPERATIONS_MAX: u32 = 400;

/// A device, what the driver below it makes, and nothing where opening fails.
fn device() -> Result<(Device, Watch)> {
    let (driver, translator) = ground::open().expect("the process runs on the device");
    let driver = Watched::new(driver);
    let watch = driver.watch();
    let config = Config::default();
    let server = HardwareServer::open(driver, &BACKEND, translator.into(), config.clone())?;
    Ok((Device::new(Box::new(server), config), watch))
}

/// Eager work, a capture, replays and a read: the sum that comes out.
fn work(device: &Device) -> Result<u32> {
    let inc = device.kernel(kernels::INC)?;
    let buffer = device.upload(&[1u32; 5000])?;
    device.launch(&inc, Grid::stride(5000), (&buffer,))?;
    let large = device.alloc(40 << 20)?;
    large.fill(7)?;
    let (graph, ()) = device.capture(|c| {
        c.launch(&inc, Grid::stride(5000), (&buffer,))?;
        c.launch(&inc, Grid::stride(5000), (&buffer,))
    })?;
    graph.replay()?;
    graph.replay()?.wait()?;
    let words = buffer.read::<u32>()?;
    Ok(words.iter().sum())
}

/// Let the n-th operation of the kind fail, for each n that there is.
fn sweep(test: &str, kind: FaultKind) {
    if ground::open().is_err() {
        announce(&format!("{test}: SKIPPED, this process has no software device; start it by .ci/swhsa"));
        return;
    }
    let control = Control::open().expect("the device is below the runtime");
    let mut failed = 0;
    for after in 0..OPERATIONS_MAX {
        control.fault(kind, after, 1, OUT_OF_RESOURCES);
        let outcome = device().and_then(|(device, watch)| work(&device).map(|sum| (sum, watch)));
        let pending = control.fault_clear();
        match outcome {
            Ok((sum, watch)) => {
                assert_eq!(sum, 6 * 5000, "{kind:?} {after}: a result is right or an error");
                assert_eq!(settled(&watch), Live::default(), "{kind:?} {after}");
            }
            Err(error) => {
                assert_eq!(pending, 0, "{kind:?} {after}: without a fault there is no error, but: {error}");
                failed += 1;
            }
        }
        let (device, _watch) = device().expect("a device opens once the fault is over");
        assert_eq!(work(&device).expect("it works"), 6 * 5000, "after {kind:?} {after}");
        if pending > 0 {
            announce(&format!("{test}: {after} operations, {failed} faults reached the program"));
            return;
        }
    }
    panic!("the work makes more than {OPERATIONS_MAX} operations");
}

/// What is left once a closed device's work is done.
fn settled(watch: &Watch) -> Live {
    for _ in 0..5000 {
        if watch.live() == Live::default() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    watch.live()
}

#[test]
fn memory_of_the_device_runs_out_anywhere() {
    sweep("sweep::memory_of_the_device_runs_out_anywhere", FaultKind::DeviceMemory);
}

#[test]
fn a_code_object_is_refused_anywhere() {
    sweep("sweep::a_code_object_is_refused_anywhere", FaultKind::Code);
}

/// Opening, working and closing leave nothing on the device that the first rounds did not.
#[test]
fn nothing_is_left_behind() {
    if ground::open().is_err() {
        announce("sweep::nothing_is_left_behind: SKIPPED, this process has no software device; start it by .ci/swhsa");
        return;
    }
    let control = Control::open().expect("the device is below the runtime");
    let round = || {
        let (device, watch) = device().expect("a device opens");
        assert_eq!(work(&device).expect("it works"), 6 * 5000);
        drop(device);
        assert_eq!(settled(&watch), Live::default());
    };
    (0..4).for_each(|_| round());
    let leaks = control.leaks(6, round);
    assert!(leaks.is_empty(), "{leaks:?}");
}
