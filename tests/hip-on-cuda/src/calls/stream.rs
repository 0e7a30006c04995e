//! Streams and events.
#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{c_uint, c_ulonglong, c_void};
use std::ptr::null_mut;

use graphreel_hip_sys::constant::hipSuccess;
use graphreel_hip_sys::handle::{hipDevice_t, hipEvent_t, hipHostFn_t, hipStream_t};

use super::exported;
use crate::cuda::Cuda;

exported! {
    bound hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) |cuda|
        (cuda.cuStreamCreate)(stream.cast(), flags);
    bound hipStreamDestroy(stream: hipStream_t) |cuda| (cuda.cuStreamDestroy)(stream.cast());
    bound hipStreamGetDevice(stream: hipStream_t, device: *mut hipDevice_t) |cuda| device_of(cuda, stream, device);
    bound hipStreamGetFlags(stream: hipStream_t, flags: *mut c_uint) |cuda| (cuda.cuStreamGetFlags)(stream.cast(), flags);
    bound hipStreamGetId(stream: hipStream_t, id: *mut c_ulonglong) |cuda| (cuda.cuStreamGetId)(stream.cast(), id);
    bound hipStreamQuery(stream: hipStream_t) |cuda| (cuda.cuStreamQuery)(stream.cast());
    bound hipStreamSynchronize(stream: hipStream_t) |cuda| (cuda.cuStreamSynchronize)(stream.cast());
    bound hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) |cuda|
        (cuda.cuStreamWaitEvent)(stream.cast(), event.cast(), flags);
    bound hipLaunchHostFunc(stream: hipStream_t, call: hipHostFn_t, with: *mut c_void) |cuda|
        (cuda.cuLaunchHostFunc)(stream.cast(), call, with);
    bound hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) |cuda| (cuda.cuEventCreate)(event.cast(), flags);
    bound hipEventDestroy(event: hipEvent_t) |cuda| (cuda.cuEventDestroy)(event.cast());
    bound hipEventRecord(event: hipEvent_t, stream: hipStream_t) |cuda|
        (cuda.cuEventRecord)(event.cast(), stream.cast());
    bound hipEventRecordWithFlags(event: hipEvent_t, stream: hipStream_t, flags: c_uint) |cuda|
        (cuda.cuEventRecordWithFlags)(event.cast(), stream.cast(), flags);
    bound hipEventQuery(event: hipEvent_t) |cuda| (cuda.cuEventQuery)(event.cast());
    bound hipEventSynchronize(event: hipEvent_t) |cuda| (cuda.cuEventSynchronize)(event.cast());
    bound hipEventElapsedTime(milliseconds: *mut f32, from: hipEvent_t, to: hipEvent_t) |cuda|
        (cuda.cuEventElapsedTime)(milliseconds, from.cast(), to.cast());
}

/// The device of a stream's context.
///
/// # Safety
///
/// The stream is alive.
unsafe fn device_of(cuda: &Cuda, stream: hipStream_t, device: *mut hipDevice_t) -> u32 {
    let mut context = null_mut();
    // SAFETY: the caller says that the stream is alive; the call writes one handle.
    let code = unsafe { (cuda.cuStreamGetCtx)(stream.cast(), &raw mut context) };
    if code != hipSuccess {
        return code;
    }
    // SAFETY: it is the context of a live stream.
    let code = unsafe { (cuda.cuCtxPushCurrent)(context) };
    if code != hipSuccess {
        return code;
    }
    // SAFETY: the call writes one number.
    let code = unsafe { (cuda.cuCtxGetDevice)(device) };
    // SAFETY: what was pushed is taken back.
    let back = unsafe { (cuda.cuCtxPopCurrent)(&raw mut context) };
    if code == hipSuccess { back } else { code }
}
