//! Capture. Modes and states have the same numbers in both.
#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{c_uint, c_ulonglong};
use std::ptr::{null, null_mut};

use graphreel_hip_sys::handle::{
    hipGraph_t, hipGraphNode_t, hipStream_t, hipStreamCaptureMode, hipStreamCaptureStatus,
};

use super::exported;

exported! {
    bound hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode) |cuda|
        (cuda.cuStreamBeginCapture)(stream.cast(), mode);
    bound hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) |cuda|
        (cuda.cuStreamEndCapture)(stream.cast(), graph.cast());
    bound hipStreamIsCapturing(stream: hipStream_t, status: *mut hipStreamCaptureStatus) |cuda|
        (cuda.cuStreamIsCapturing)(stream.cast(), status);
    bound hipStreamGetCaptureInfo(stream: hipStream_t, status: *mut hipStreamCaptureStatus, id: *mut c_ulonglong) |cuda|
        (cuda.cuStreamGetCaptureInfo)(stream.cast(), status, id, null_mut(), null_mut(), null_mut(), null_mut());
    bound hipStreamGetCaptureInfo_v2(
        stream: hipStream_t,
        status: *mut hipStreamCaptureStatus,
        id: *mut c_ulonglong,
        graph: *mut hipGraph_t,
        tail: *mut *const hipGraphNode_t,
        count: *mut usize,
    ) |cuda| (cuda.cuStreamGetCaptureInfo)(stream.cast(), status, id, graph.cast(), tail.cast(), null_mut(), count);
    bound hipStreamUpdateCaptureDependencies(
        stream: hipStream_t, tail: *mut hipGraphNode_t, count: usize, flags: c_uint
    ) |cuda| (cuda.cuStreamUpdateCaptureDependencies)(stream.cast(), tail.cast(), null(), count, flags);
    bound hipThreadExchangeStreamCaptureMode(mode: *mut hipStreamCaptureMode) |cuda|
        (cuda.cuThreadExchangeStreamCaptureMode)(mode);
}
