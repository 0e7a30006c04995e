//! What a graph's node does, in the runtime's own structures.

use std::ffi::c_void;
use std::ptr;

use graphreel::graph::driver::{CopyEnd, KernelParams, LaunchShape, NodeCopy, NodeFill};
use graphreel_hip_sys::constant::{
    hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost, hipMemcpyHostToDevice, hipMemcpyHostToHost,
};
use graphreel_hip_sys::handle::hipMemcpyKind;
use graphreel_hip_sys::structure::{device_pointer, dim3, hipKernelNodeParams, hipMemsetParams};

use crate::handle::HipFunction;

/// A launch. The runtime copies the values behind `params` during the call that it is given to.
pub(crate) fn launch(function: HipFunction, shape: &LaunchShape, params: KernelParams<'_>) -> hipKernelNodeParams {
    let ([groups_x, groups_y, groups_z], [threads_x, threads_y, threads_z]) = (shape.groups, shape.threads);
    hipKernelNodeParams {
        blockDim: dim3 { x: threads_x, y: threads_y, z: threads_z },
        extra: ptr::null_mut(),
        func: function.0.cast(),
        gridDim: dim3 { x: groups_x, y: groups_y, z: groups_z },
        kernelParams: pointers(params),
        sharedMemBytes: shape.shared_bytes,
    }
}

/// The parameters as the runtime takes them: it reads through the pointers and writes through none.
pub(crate) fn pointers(params: KernelParams<'_>) -> *mut *mut c_void {
    params.as_ptr().cast_mut().cast()
}

/// A copy of one row, which every release means alike; what a copy of more dimensions means has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy1D {
    pub(crate) dst: *mut c_void,
    pub(crate) src: *const c_void,
    pub(crate) bytes: usize,
    pub(crate) kind: hipMemcpyKind,
}

/// The address of one end.
fn end(end: CopyEnd) -> *mut c_void {
    match end {
        CopyEnd::Host(address) => address.0.as_ptr().cast(),
        CopyEnd::Device(address) => device_pointer(address.0.get()),
    }
}

pub(crate) fn copy(copy: &NodeCopy) -> Copy1D {
    let kind = match (copy.src, copy.dst) {
        (CopyEnd::Host(_), CopyEnd::Host(_)) => hipMemcpyHostToHost,
        (CopyEnd::Host(_), CopyEnd::Device(_)) => hipMemcpyHostToDevice,
        (CopyEnd::Device(_), CopyEnd::Host(_)) => hipMemcpyDeviceToHost,
        (CopyEnd::Device(_), CopyEnd::Device(_)) => hipMemcpyDeviceToDevice,
    };
    Copy1D { dst: end(copy.dst), src: end(copy.src).cast_const(), bytes: copy.bytes.get() as usize, kind }
}

/// A fill of one row of words.
pub(crate) fn fill(fill: &NodeFill) -> hipMemsetParams {
    hipMemsetParams {
        dst: device_pointer(fill.dst.0.get()),
        elementSize: 4,
        height: 1,
        pitch: 0,
        value: fill.word,
        width: fill.words.get() as usize,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use graphreel::graph::driver::{DevicePtr, HostPtr};

    use super::*;

    #[test]
    fn a_copy_has_both_addresses_and_says_which_way_it_goes() {
        let device = CopyEnd::Device(DevicePtr(NonZeroU64::new(0x500).unwrap()));
        let mut word = 0u8;
        let address: *mut u8 = &raw mut word;
        let host = CopyEnd::Host(HostPtr(ptr::NonNull::new(address).unwrap()));
        let bytes = NonZeroU64::new(1 << 33).unwrap();
        let up = copy(&NodeCopy { src: host, dst: device, bytes });
        assert_eq!((up.src.addr(), up.dst.addr(), up.bytes), (address.addr(), 0x500, 1 << 33));
        let kinds = [(host, host), (host, device), (device, host), (device, device)];
        let kinds = kinds.map(|(src, dst)| copy(&NodeCopy { src, dst, bytes }).kind);
        assert_eq!(kinds, [0, 1, 2, 3]);
    }

    #[test]
    fn a_fill_is_one_row_of_words() {
        let dst = DevicePtr(NonZeroU64::new(0x700).unwrap());
        let row = fill(&NodeFill { dst, word: u32::MAX, words: NonZeroU64::new(3).unwrap() });
        assert_eq!((row.dst.addr(), row.value, row.elementSize), (0x700, u32::MAX, 4));
        assert_eq!((row.width, row.height), (3, 1));
    }
}
