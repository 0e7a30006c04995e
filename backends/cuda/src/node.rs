//! What a graph's node does, in the driver's own structures.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUmemorytype};
use graphreel::graph::driver::{CopyEnd, KernelParams, LaunchShape, NodeCopy, NodeFill};

use crate::handle::CudaFunction;

/// A launch. The driver copies the values behind `params` during the call that it is given to.
pub(crate) fn launch(
    function: CudaFunction,
    shape: &LaunchShape,
    params: KernelParams<'_>,
) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    let ([groups_x, groups_y, groups_z], [threads_x, threads_y, threads_z]) = (shape.groups, shape.threads);
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func: function.0,
        gridDimX: groups_x,
        gridDimY: groups_y,
        gridDimZ: groups_z,
        blockDimX: threads_x,
        blockDimY: threads_y,
        blockDimZ: threads_z,
        sharedMemBytes: shape.shared_bytes,
        kernelParams: pointers(params),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}

/// The parameters as the driver takes them: it reads through the pointers and writes through none.
pub(crate) fn pointers(params: KernelParams<'_>) -> *mut *mut c_void {
    params.as_ptr().cast_mut().cast()
}

/// One end of a copy: its kind, and its address as one or the other.
fn end(end: CopyEnd) -> (CUmemorytype, *mut c_void, u64) {
    match end {
        CopyEnd::Host(address) => (CUmemorytype::CU_MEMORYTYPE_HOST, address.0.as_ptr().cast(), 0),
        CopyEnd::Device(address) => (CUmemorytype::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), address.0.get()),
    }
}

/// A copy of one row. Pitch and height are for more rows than one, and a pitch has a maximum that a long row exceeds.
pub(crate) fn copy(copy: &NodeCopy) -> CUDA_MEMCPY3D {
    let (src_type, src_host, src_device) = end(copy.src);
    let (dst_type, dst_host, dst_device) = end(copy.dst);
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: src_type,
        srcHost: src_host,
        srcDevice: src_device,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: dst_type,
        dstHost: dst_host,
        dstDevice: dst_device,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: copy.bytes.get() as usize,
        Height: 1,
        Depth: 1,
    }
}

/// A fill of one row of words.
pub(crate) fn fill(fill: &NodeFill) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS {
        dst: fill.dst.0.get(),
        pitch: 0,
        value: fill.word,
        elementSize: 4,
        width: fill.words.get() as usize,
        height: 1,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use graphreel::graph::driver::{DevicePtr, HostPtr};

    use super::*;

    /// The sizes that NVIDIA's headers of CUDA 12 and 13 give them on 64 bits.
    #[test]
    fn structures_have_the_drivers_sizes() {
        assert_eq!(size_of::<CUDA_KERNEL_NODE_PARAMS_v2>(), 72);
        assert_eq!(size_of::<CUDA_MEMCPY3D>(), 200);
        assert_eq!(size_of::<CUDA_MEMSET_NODE_PARAMS>(), 40);
    }

    #[test]
    fn each_end_of_a_copy_has_the_address_of_its_kind() {
        let device = CopyEnd::Device(DevicePtr(NonZeroU64::new(0x500).unwrap()));
        let mut word = 0u8;
        let host = CopyEnd::Host(HostPtr(ptr::NonNull::from(&mut word)));
        let bytes = NonZeroU64::new(1 << 33).unwrap();
        let up = copy(&NodeCopy { src: host, dst: device, bytes });
        assert_eq!(
            (up.srcMemoryType, up.dstMemoryType),
            (CUmemorytype::CU_MEMORYTYPE_HOST, CUmemorytype::CU_MEMORYTYPE_DEVICE)
        );
        assert!(!up.srcHost.is_null() && up.srcDevice == 0 && up.dstHost.is_null() && up.dstDevice == 0x500);
        assert_eq!((up.WidthInBytes, up.Height, up.Depth), (1 << 33, 1, 1));
        let down = copy(&NodeCopy { src: device, dst: host, bytes });
        assert!(down.srcHost.is_null() && down.srcDevice == 0x500 && !down.dstHost.is_null());
    }
}
