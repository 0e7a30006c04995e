//! What a thread has bound, how its calls meet captures, and what a driver says of itself.

use graphreel::graph::driver::CaptureMode;
use graphreel::graph::{Driver, DriverResult};
use graphreel::sync::thread;

use super::Rig;

/// CUDA: a fresh thread has no context, and unbinding leaves none. HIP: a thread always has a device, and unbinding is ignored.
pub fn a_thread_gets_back_what_it_had<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let driver = rig.driver();
    let bind = || {
        let before = driver.context_current()?;
        driver.context_set(Some(driver.context()))?;
        assert!(driver.context_current()?.is_some());
        let x = rig.words(&[5])?;
        assert_eq!(rig.read(&x)?, [5], "a thread works with what it has bound");
        drop(x);
        driver.context_set(before)?;
        assert_eq!(driver.context_current()?.is_some(), before.is_some());
        Ok(())
    };
    thread::scope(|scope| scope.spawn(bind).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    // What another thread did leaves this one as it was.
    assert!(driver.context_current()?.is_some());
    rig.assert_usable(&rig.a)
}

/// Both: a thread starts in global mode, and an exchange answers what was set before, for this thread alone.
pub fn a_thread_starts_in_global_mode<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let exchange = |mode| rig.driver().capture_mode_exchange(mode);
    rig.on_thread(|| {
        assert_eq!(exchange(CaptureMode::Relaxed)?, CaptureMode::Global);
        let elsewhere = rig.on_thread(|| exchange(CaptureMode::Global))?;
        assert_eq!(elsewhere, CaptureMode::Global);
        assert_eq!(exchange(CaptureMode::ThreadLocal)?, CaptureMode::Relaxed);
        assert_eq!(exchange(CaptureMode::Global)?, CaptureMode::ThreadLocal);
        Ok(())
    })
}

/// Ours: what the server relies on is said, and said in sizes that a kernel of the suite fits in.
pub fn a_driver_says_what_it_can_do<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let (caps, facts) = (rig.driver().caps(), rig.driver().facts());
    assert!(caps.relaxed_capture, "a driver without relaxed captures cannot be served");
    assert!(caps.warp_width.is_power_of_two(), "{caps:?}");
    assert!(caps.groups_max.iter().all(|most| *most >= 65_535), "{caps:?}");
    assert!(caps.threads_max[0] >= 256 && caps.group_threads_max >= 256, "{caps:?}");
    assert!(caps.launch_items_max >= 1 << 24 && caps.shared_bytes_max >= 16 << 10, "{caps:?}");
    assert!(![&facts.name, &facts.architecture, &facts.driver].iter().any(|text| text.is_empty()), "{facts:?}");
    // What is there for allocations is at most what the device has.
    let info = rig.driver().mem_info()?;
    assert!(info.total <= facts.memory_bytes, "{info:?} of {facts:?}");
    Ok(())
}
