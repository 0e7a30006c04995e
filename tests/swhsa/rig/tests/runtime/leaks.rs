//! What is made and given back, round after round, leaves nothing behind on the device.

use std::ptr::null_mut;

use graphreel_hip_sys::constant::hipStreamCaptureModeRelaxed;
use graphreel_swhsa_rig::{Kind, everywhere};

use super::hip::{Hip, ok};

/// One of everything, given back.
fn round(hip: &Hip, image: &[u8]) {
    let (stream, x, event) = (hip.stream(), hip.device_memory(1 << 20), hip.event());
    let (module, _) = hip.load(image, c"scale");
    ok(hip.hipMemsetD32Async(x, 0, 1000, stream));
    ok(hip.hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    (0..5).for_each(|_| ok(hip.launch(x, 1000, 2.0, stream)));
    let (mut graph, mut exec) = (null_mut(), null_mut());
    ok(hip.hipStreamEndCapture(stream, &raw mut graph));
    ok(hip.hipGraphInstantiateWithFlags(&raw mut exec, graph, 0));
    ok(hip.hipGraphLaunch(exec, stream));
    ok(hip.hipEventRecord(event, stream));
    assert_eq!(hip.floats(x, 3, stream), [31.0; 3]);
    ok(hip.hipGraphExecDestroy(exec));
    ok(hip.hipGraphDestroy(graph));
    ok(hip.hipEventDestroy(event));
    ok(hip.hipFree(x));
    ok(hip.hipModuleUnload(module));
    ok(hip.hipStreamDestroy(stream));
}

#[test]
fn nothing_is_left_behind() {
    everywhere("leaks::nothing_is_left_behind", || {
        let hip = Hip::open();
        let image = hip.compile(super::hip::SCALE);
        (0..5).for_each(|_| round(&hip, &image));
        let leaks = hip.control.leaks(10, || {
            round(&hip, &image);
            ok(hip.hipDeviceSynchronize());
        });
        assert!(leaks.is_empty(), "{leaks:?}");
        assert!(hip.control.made(Kind::Signal) > 0);
    });
}
