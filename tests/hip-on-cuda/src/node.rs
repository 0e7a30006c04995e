//! What a node does, in the driver's structures, made of HIP's.

use std::ffi::{c_uint, c_void};
use std::ptr::{null, null_mut};

use graphreel_hip_sys::constant as hip;
use graphreel_hip_sys::handle::hipMemcpyKind;
use graphreel_hip_sys::structure::{hipKernelNodeParams, hipMemsetParams};

use crate::cuda::{Any, Out};

/// What ends a list of `extra`, in HIP and in CUDA.
const HIP_LAUNCH_PARAM_END: usize = 3;
const CU_LAUNCH_PARAM_END: usize = 0;

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
pub(crate) struct KernelNode {
    function: Any,
    groups: [c_uint; 3],
    threads: [c_uint; 3],
    shared_bytes: c_uint,
    params: Out,
    extra: Out,
    kernel: Any,
    context: Any,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
pub(crate) struct Fill {
    dst: Any,
    pitch: usize,
    value: c_uint,
    element_bytes: c_uint,
    width: usize,
    height: usize,
}

/// One end of a `CUDA_MEMCPY3D`.
#[repr(C)]
struct CopyEnd {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_uint,
    host: *const c_void,
    device: *const c_void,
    array: Any,
    reserved: Any,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
pub(crate) struct Copy3D {
    src: CopyEnd,
    dst: CopyEnd,
    bytes: usize,
    height: usize,
    depth: usize,
}

/// `CUmemorytype`.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
/// The driver finds out.
const UNIFIED: c_uint = 4;

impl CopyEnd {
    fn new(kind: c_uint, at: *const c_void) -> Self {
        let (host, device) = if kind == HOST { (at, null()) } else { (null(), at) };
        let (array, reserved) = (null_mut(), null_mut());
        Self { x: 0, y: 0, z: 0, level: 0, kind, host, device, array, reserved, pitch: 0, height: 0 }
    }
}

impl Copy3D {
    /// A copy of one row.
    pub(crate) fn row(dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind) -> Self {
        let (from, to) = match kind {
            hip::hipMemcpyHostToHost => (HOST, HOST),
            hip::hipMemcpyHostToDevice => (HOST, DEVICE),
            hip::hipMemcpyDeviceToHost => (DEVICE, HOST),
            hip::hipMemcpyDeviceToDevice => (DEVICE, DEVICE),
            _ => (UNIFIED, UNIFIED),
        };
        Self { src: CopyEnd::new(from, src), dst: CopyEnd::new(to, dst), bytes, height: 1, depth: 1 }
    }
}

impl From<&hipMemsetParams> for Fill {
    fn from(fill: &hipMemsetParams) -> Self {
        Self {
            dst: fill.dst,
            pitch: fill.pitch,
            value: fill.value,
            element_bytes: fill.elementSize,
            width: fill.width,
            height: fill.height,
        }
    }
}

impl KernelNode {
    /// `extra` is the driver's list, where the launch has one.
    pub(crate) fn new(launch: &hipKernelNodeParams, extra: Out) -> Self {
        let (groups, threads) = (launch.gridDim, launch.blockDim);
        Self {
            function: launch.func,
            groups: [groups.x, groups.y, groups.z],
            threads: [threads.x, threads.y, threads.z],
            shared_bytes: launch.sharedMemBytes,
            params: launch.kernelParams,
            extra,
            kernel: null_mut(),
            context: null_mut(),
        }
    }
}

/// A list of `extra` as CUDA ends it: two pairs at most, then its end.
pub(crate) struct Extra([Any; 5]);

impl Extra {
    /// The list that HIP gave; `None` where it gave none.
    ///
    /// # Safety
    ///
    /// It is null, or a list that HIP's documentation allows.
    #[expect(unsafe_code, reason = "a caller's list is read")]
    pub(crate) unsafe fn of(list: Out) -> Option<Self> {
        if list.is_null() {
            return None;
        }
        let mut made = [CU_LAUNCH_PARAM_END as Any; 5];
        for (index, to) in made.iter_mut().enumerate().take(4) {
            // SAFETY: the caller says that it goes on until its end, which ends this.
            let entry = unsafe { list.wrapping_add(index).read() };
            // A value of a pair may be any number.
            if index % 2 == 0 && entry.addr() == HIP_LAUNCH_PARAM_END {
                break;
            }
            *to = entry;
        }
        Some(Self(made))
    }

    pub(crate) fn as_out(&mut self) -> Out {
        self.0.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use graphreel_hip_sys::structure::dim3;

    use super::*;

    /// As NVIDIA's headers of CUDA 12 and 13 have them on 64 bits.
    #[test]
    fn structures_lie_as_the_driver_takes_them() {
        assert_eq!([size_of::<KernelNode>(), size_of::<Fill>(), size_of::<Copy3D>()], [72, 40, 200]);
        assert_eq!([offset_of!(KernelNode, params), offset_of!(KernelNode, context)], [40, 64]);
        assert_eq!([offset_of!(Fill, value), offset_of!(Fill, width), offset_of!(Fill, height)], [16, 24, 32]);
        assert_eq!([offset_of!(Copy3D, dst), offset_of!(Copy3D, bytes)], [88, 176]);
        assert_eq!([offset_of!(CopyEnd, kind), offset_of!(CopyEnd, device), offset_of!(CopyEnd, pitch)], [32, 48, 72]);
    }

    #[test]
    fn a_launch_keeps_what_it_is() {
        let launch = hipKernelNodeParams {
            blockDim: dim3 { x: 1, y: 2, z: 3 },
            extra: null_mut(),
            func: 7 as Any,
            gridDim: dim3 { x: 4, y: 5, z: 6 },
            kernelParams: 8 as Out,
            sharedMemBytes: 9,
        };
        let node = KernelNode::new(&launch, null_mut());
        assert_eq!((node.groups, node.threads, node.shared_bytes), ([4, 5, 6], [1, 2, 3], 9));
        assert_eq!((node.function.addr(), node.params.addr()), (7, 8));
    }

    #[test]
    fn a_copy_says_where_its_ends_are() {
        let of = |kind| {
            let copy = Copy3D::row(1 as Any, 2 as Any, 5, kind);
            (copy.src.kind, copy.src.host.addr(), copy.src.device.addr(), copy.dst.kind, copy.dst.device.addr())
        };
        assert_eq!(of(hip::hipMemcpyHostToDevice), (HOST, 2, 0, DEVICE, 1));
        assert_eq!(of(hip::hipMemcpyDeviceToHost), (DEVICE, 0, 2, HOST, 0));
        assert_eq!(of(4), (UNIFIED, 0, 2, UNIFIED, 1));
    }

    #[test]
    #[expect(unsafe_code, reason = "a list is read")]
    fn a_list_of_parameters_ends_as_cuda_ends_it() {
        let mut list = [1 as Any, 3 as Any, 2 as Any, 5 as Any, 3 as Any];
        // SAFETY: it is such a list.
        let made = unsafe { Extra::of(list.as_mut_ptr()) }.expect("there is one");
        assert_eq!(made.0.map(|entry| entry.addr()), [1, 3, 2, 5, 0]);
        let mut short = [3 as Any];
        // SAFETY: as above.
        let made = unsafe { Extra::of(short.as_mut_ptr()) }.expect("there is one");
        assert_eq!(made.0.map(|entry| entry.addr()), [0; 5]);
        // SAFETY: null is no list.
        assert!(unsafe { Extra::of(null_mut()) }.is_none());
    }
}
