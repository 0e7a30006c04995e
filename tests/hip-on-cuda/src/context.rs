//! What HIP keeps for a thread and CUDA does not: the device that it uses, whose primary context is bound when the first call needs
//! it, and the last error.
#![expect(unsafe_code, reason = "the driver is called")]

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use graphreel_hip_sys::constant as hip;
use graphreel_hip_sys::handle::hipError_t;

use crate::cuda::{Any, Cuda, Out, cuda};

/// Devices that are served: more than a machine has.
const DEVICES_MAX: usize = 64;

/// No device.
const NONE: i32 = -1;

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// The device whose context this thread has bound by a call here.
    static BOUND: Cell<i32> = const { Cell::new(NONE) };
    static LAST: Cell<hipError_t> = const { Cell::new(hip::hipSuccess) };
}

/// The primary contexts, each retained once and never released. They are kept as numbers, which threads may share.
static CONTEXTS: [OnceLock<usize>; DEVICES_MAX] = [const { OnceLock::new() }; DEVICES_MAX];

/// How often callers retained each of them and did not release it, beside the library itself.
static RETAINED: [AtomicU32; DEVICES_MAX] = [const { AtomicU32::new(0) }; DEVICES_MAX];

/// HIP's number of a result of the driver's: the same, but for two that mean something else in HIP.
pub(crate) fn translated(code: u32) -> hipError_t {
    // CUDA_ERROR_EXTERNAL_DEVICE and CUDA_ERROR_INVALID_CLUSTER_SIZE.
    if matches!(code, 911 | 912) { hip::hipErrorUnknown } else { code }
}

/// An answer, kept where it is an error.
pub(crate) fn answer(code: u32) -> hipError_t {
    if code == hip::hipSuccess {
        return hip::hipSuccess;
    }
    let code = translated(code);
    if code != hip::hipErrorNotReady {
        LAST.set(code);
    }
    code
}

/// The last error of this thread, which is forgotten.
pub(crate) fn take_last() -> hipError_t {
    LAST.replace(hip::hipSuccess)
}

/// A call that needs the driver and no context.
pub(crate) fn asked(call: impl FnOnce(&'static Cuda) -> u32) -> hipError_t {
    answer(cuda().map_or_else(|code| code, call))
}

/// A call that needs the context of the thread's device.
pub(crate) fn bound(call: impl FnOnce(&'static Cuda) -> u32) -> hipError_t {
    asked(
        |cuda| {
            if BOUND.get() == DEVICE.get() { call(cuda) } else { bind(cuda).map_or_else(|code| code, |()| call(cuda)) }
        },
    )
}

/// The device that the thread uses.
pub(crate) fn device() -> i32 {
    DEVICE.get()
}

/// Use that device from now on. Its context is bound anew, since an application may have bound another since.
pub(crate) fn set_device(cuda: &'static Cuda, device: i32) -> u32 {
    let before = DEVICE.replace(device);
    match bind(cuda) {
        Ok(()) => hip::hipSuccess,
        Err(code) => {
            DEVICE.set(before);
            code
        }
    }
}

fn bind(cuda: &'static Cuda) -> Result<(), u32> {
    let context = context(cuda, DEVICE.get())?;
    // SAFETY: the context is retained for good.
    match unsafe { (cuda.cuCtxSetCurrent)(context) } {
        hip::hipSuccess => {
            BOUND.set(DEVICE.get());
            Ok(())
        }
        code => Err(code),
    }
}

/// The primary context of a device.
pub(crate) fn context(cuda: &'static Cuda, device: i32) -> Result<Any, u32> {
    let slot = usize::try_from(device).ok().and_then(|index| CONTEXTS.get(index)).ok_or(hip::hipErrorInvalidDevice)?;
    if let Some(context) = slot.get() {
        return Ok(*context as Any);
    }
    let mut context = null_mut();
    // SAFETY: the call writes one handle.
    match unsafe { (cuda.cuDevicePrimaryCtxRetain)(&raw mut context, device) } {
        hip::hipSuccess => Ok(*slot.get_or_init(|| context as usize) as Any),
        code => Err(code),
    }
}

fn retained(device: i32) -> Result<&'static AtomicU32, u32> {
    usize::try_from(device).ok().and_then(|index| RETAINED.get(index)).ok_or(hip::hipErrorInvalidDevice)
}

/// Retain a device's primary context for the caller.
///
/// # Safety
///
/// There is a place for the handle, or null.
pub(crate) unsafe fn retain(cuda: &Cuda, context: Out, device: i32) -> u32 {
    let count = match retained(device) {
        Ok(count) => count,
        Err(code) => return code,
    };
    // SAFETY: the caller says that there is a place for it; the driver refuses null.
    let code = unsafe { (cuda.cuDevicePrimaryCtxRetain)(context, device) };
    if code == hip::hipSuccess {
        count.fetch_add(1, Ordering::Relaxed);
    }
    code
}

/// Release what a caller retained, and nothing more: the library's own hold stays, since threads have the context bound.
pub(crate) fn release(cuda: &Cuda, device: i32) -> u32 {
    match retained(device) {
        Ok(count) if take_one(count) => {
            // SAFETY: the call takes a number.
            let code = unsafe { (cuda.cuDevicePrimaryCtxRelease)(device) };
            if code != hip::hipSuccess {
                count.fetch_add(1, Ordering::Relaxed);
            }
            code
        }
        Ok(_) => hip::hipErrorInvalidContext,
        Err(code) => code,
    }
}

/// Count one less; false where there is none left.
fn take_one(count: &AtomicU32) -> bool {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
}

/// The context of the thread's device, for a node that names one.
pub(crate) fn current(cuda: &'static Cuda) -> Any {
    context(cuda, DEVICE.get()).unwrap_or(null_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_releases_what_another_holds() {
        let count = AtomicU32::new(1);
        assert_eq!([take_one(&count), take_one(&count)], [true, false]);
        assert_eq!(count.into_inner(), 0);
        assert_eq!([retained(-1).err(), retained(64).err()], [Some(hip::hipErrorInvalidDevice); 2]);
    }

    #[test]
    fn an_error_is_kept_until_it_is_asked_for() {
        assert_eq!(answer(1), 1);
        assert_eq!(answer(hip::hipErrorNotReady), hip::hipErrorNotReady);
        assert_eq!(answer(0), 0);
        assert_eq!([take_last(), take_last()], [1, 0]);
        assert_eq!([translated(911), translated(912), translated(900)], [999, 999, 900]);
    }
}
