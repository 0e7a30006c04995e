//! The fault sweep: the same work again and again, while the n-th operation of the device fails. Each time it ends with its
//! result or an error, gives everything back, and the next device works. Host memory is left out: AMD's runtime uses its own
//! without asking whether it got any, and ends the process.

use graphreel::recording::Tier;
use graphreel::{Device, Grid, Result};
use graphreel_swhsa_rig::{Control, FaultKind};
use graphreel_testkit::watched::Live;
use graphreel_testkit::{announce, kernels};

use super::ground::{self, settled};

/// `HSA_STATUS_ERROR_OUT_OF_RESOURCES`.
const OUT_OF_RESOURCES: u32 = 0x1008;

/// More operations of a kind than the work makes.
const OPERATIONS_MAX: u32 = 400;

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
    if !ground::there(test) {
        return;
    }
    let device = || ground::device(&Tier::ALL, Vec::new());
    let control = Control::open().expect("the device is below the runtime");
    let mut failed = 0;
    for after in 0..OPERATIONS_MAX {
        control.fault(kind, after, 1, OUT_OF_RESOURCES);
        let mut watched = None;
        let outcome = device().and_then(|(device, watch)| {
            watched = Some(watch);
            work(&device)
        });
        let pending = control.fault_clear();
        match outcome {
            Ok(sum) => assert_eq!(sum, 6 * 5000, "{kind:?} {after}: a result is right or an error"),
            Err(error) => {
                assert_eq!(pending, 0, "{kind:?} {after}: without a fault there is no error, but: {error}");
                failed += 1;
            }
        }
        if let Some(watch) = watched {
            assert_eq!(settled(&watch), Live::default(), "{kind:?} {after}: all is given back");
        }
        let (device, _watch) = device().expect("a device opens once the fault is over");
        assert_eq!(work(&device).expect("it works"), 6 * 5000, "after {kind:?} {after}");
        if pending > 0 {
            assert!(after > 0 && failed > 0, "{kind:?}: {after} operations, {failed} faults reached the program");
            announce(&format!("{test}: {after} operations, {failed} faults reached the program"));
            return;
        }
    }
    panic!("the work makes more than {OPERATIONS_MAX} operations");
}

#[test]
fn memory_of_the_device_runs_out_anywhere() {
    sweep("sweep::memory_of_the_device_runs_out_anywhere", FaultKind::DeviceMemory);
}

#[test]
fn a_code_object_is_refused_anywhere() {
    sweep("sweep::a_code_object_is_refused_anywhere", FaultKind::Code);
}
