//! Memory, pools, copies and fills.
#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{c_int, c_uchar, c_uint, c_void};
use std::ptr::null_mut;

use graphreel_hip_sys::constant::{hipErrorInvalidValue, hipSuccess};
use graphreel_hip_sys::handle::{hipDeviceptr_t, hipMemPool_t, hipMemPoolAttr, hipMemcpyKind, hipStream_t};
use graphreel_hip_sys::structure::hipMemPoolProps;

use super::exported;

/// Flags of host memory that both have: portable, mapped, write-combined. HIP's others are about coherence, which it has here.
const HOST_FLAGS: c_uint = 7;

/// The byte of a fill that is given as a wider number.
const fn byte(value: c_int) -> c_uchar {
    value.to_le_bytes()[0]
}

exported! {
    // HIP gives null where nothing is asked for, and takes it back.
    bound hipMalloc(address: *mut *mut c_void, bytes: usize) |cuda|
        if address.is_null() {
            hipErrorInvalidValue
        } else if bytes == 0 {
            address.write(null_mut());
            hipSuccess
        } else {
            (cuda.cuMemAlloc)(address, bytes)
        };
    bound hipFree(address: *mut c_void) |cuda|
        if address.is_null() { hipSuccess } else { (cuda.cuMemFree)(address) };
    bound hipHostMalloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) |cuda|
        (cuda.cuMemHostAlloc)(address, bytes, flags & HOST_FLAGS);
    bound hipHostFree(address: *mut c_void) |cuda|
        if address.is_null() { hipSuccess } else { (cuda.cuMemFreeHost)(address) };
    bound hipMallocAsync(address: *mut *mut c_void, bytes: usize, stream: hipStream_t) |cuda|
        (cuda.cuMemAllocAsync)(address, bytes, stream.cast());
    bound hipFreeAsync(address: *mut c_void, stream: hipStream_t) |cuda| (cuda.cuMemFreeAsync)(address, stream.cast());
    bound hipMallocFromPoolAsync(address: *mut *mut c_void, bytes: usize, pool: hipMemPool_t, stream: hipStream_t) |cuda|
        (cuda.cuMemAllocFromPoolAsync)(address, bytes, pool.cast(), stream.cast());
    bound hipDeviceGetDefaultMemPool(pool: *mut hipMemPool_t, device: c_int) |cuda|
        (cuda.cuDeviceGetDefaultMemPool)(pool.cast(), device);
    bound hipMemPoolCreate(pool: *mut hipMemPool_t, properties: *const hipMemPoolProps) |cuda|
        (cuda.cuMemPoolCreate)(pool.cast(), properties.cast());
    bound hipMemPoolDestroy(pool: hipMemPool_t) |cuda| (cuda.cuMemPoolDestroy)(pool.cast());
    bound hipMemPoolSetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void) |cuda|
        (cuda.cuMemPoolSetAttribute)(pool.cast(), attribute, value);
    bound hipMemPoolGetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void) |cuda|
        (cuda.cuMemPoolGetAttribute)(pool.cast(), attribute, value);
    bound hipMemPoolTrimTo(pool: hipMemPool_t, bytes: usize) |cuda| (cuda.cuMemPoolTrimTo)(pool.cast(), bytes);

    // The driver finds out from where to where a copy goes.
    bound hipMemcpy(dst: *mut c_void, src: *const c_void, bytes: usize, _kind: hipMemcpyKind) |cuda|
        (cuda.cuMemcpy)(dst, src.cast_mut(), bytes);
    bound hipMemcpyAsync(
        dst: *mut c_void, src: *const c_void, bytes: usize, _kind: hipMemcpyKind, stream: hipStream_t
    ) |cuda| (cuda.cuMemcpyAsync)(dst, src.cast_mut(), bytes, stream.cast());
    bound hipMemcpyHtoDAsync(dst: hipDeviceptr_t, src: *const c_void, bytes: usize, stream: hipStream_t) |cuda|
        (cuda.cuMemcpyHtoDAsync)(dst, src, bytes, stream.cast());
    bound hipMemcpyDtoHAsync(dst: *mut c_void, src: hipDeviceptr_t, bytes: usize, stream: hipStream_t) |cuda|
        (cuda.cuMemcpyDtoHAsync)(dst, src, bytes, stream.cast());
    bound hipMemcpyDtoDAsync(dst: hipDeviceptr_t, src: hipDeviceptr_t, bytes: usize, stream: hipStream_t) |cuda|
        (cuda.cuMemcpyDtoDAsync)(dst, src, bytes, stream.cast());
    bound hipMemset(dst: *mut c_void, value: c_int, bytes: usize) |cuda| (cuda.cuMemsetD8)(dst, byte(value), bytes);
    bound hipMemsetAsync(dst: *mut c_void, value: c_int, bytes: usize, stream: hipStream_t) |cuda|
        (cuda.cuMemsetD8Async)(dst, byte(value), bytes, stream.cast());
    bound hipMemsetD8Async(dst: hipDeviceptr_t, value: c_uchar, count: usize, stream: hipStream_t) |cuda|
        (cuda.cuMemsetD8Async)(dst, value, count, stream.cast());
    bound hipMemsetD32Async(dst: hipDeviceptr_t, value: c_int, count: usize, stream: hipStream_t) |cuda|
        (cuda.cuMemsetD32Async)(dst, value.cast_unsigned(), count, stream.cast());
}
