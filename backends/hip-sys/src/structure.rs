//! Structures, laid out as AMD's headers of HIP 6 and 7 lay them out.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

use crate::handle::{
    hipDeviceptr_t, hipHostFn_t, hipMemAllocationHandleType, hipMemAllocationType, hipMemLocationType,
};

/// How one structure lies in memory, to be held against the header.
#[cfg(test)]
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// Name, offset and size of each field that C has by that name.
    pub(crate) fields: &'static [(&'static str, usize, usize)],
}

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name {
                $($(#[$of])* pub $field: $ty,)*
            }
        )*

        #[cfg(test)]
        pub(crate) const LAYOUTS: &[Layout] = &[$(Layout {
            name: stringify!($name),
            size: size_of::<$name>(),
            align: align_of::<$name>(),
            fields: &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$ty>()),)*],
        },)*];
    };
}

structures! {
    /// Three sizes.
    dim3 {
        /// Along x.
        x: c_uint,
        /// Along y.
        y: c_uint,
        /// Along z.
        z: c_uint,
    }

    /// A device's UUID: 16 bytes, which AMD fills with text.
    hipUUID {
        /// The bytes.
        bytes: [c_char; 16],
    }

    /// A launch as a node.
    hipKernelNodeParams {
        /// Threads of a group.
        blockDim: dim3,
        /// Parameters in one block; null where `kernelParams` has them.
        extra: *mut *mut c_void,
        /// The `hipFunction_t`.
        func: *mut c_void,
        /// Groups.
        gridDim: dim3,
        /// A pointer to each parameter.
        kernelParams: *mut *mut c_void,
        /// Dynamic workgroup memory in bytes.
        sharedMemBytes: c_uint,
    }

    /// A fill as a node.
    hipMemsetParams {
        /// The first byte.
        dst: *mut c_void,
        /// Bytes of an element: 1, 2 or 4.
        elementSize: c_uint,
        /// Rows.
        height: usize,
        /// Bytes from row to row, where there are more than one.
        pitch: usize,
        /// What each element becomes.
        value: c_uint,
        /// Elements of a row.
        width: usize,
    }

    /// A call on the host as a node.
    hipHostNodeParams {
        /// What is called.
        fn_: hipHostFn_t,
        /// With what.
        userData: *mut c_void,
    }

    /// Where memory lies.
    hipMemLocation {
        /// What it is.
        type_: hipMemLocationType,
        /// Which one.
        id: c_int,
    }

    /// What a pool is made of.
    hipMemPoolProps {
        /// `hipMemAllocationTypePinned`.
        allocType: hipMemAllocationType,
        /// How its memory can be shared.
        handleTypes: hipMemAllocationHandleType,
        /// Where it lies.
        location: hipMemLocation,
        /// Only on Windows, and only for shared memory.
        win32SecurityAttributes: *mut c_void,
        /// The most bytes; 0 for what the system allows.
        maxSize: usize,
        /// Zeros.
        reserved: [c_uchar; 56],
    }
}

/// What `hipGetDevicePropertiesR0600` writes. Named are the fields that nothing else tells; the rest of a device is asked for by
/// attributes, which have numbers and no layout.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct hipDeviceProp_tR0600 {
    /// The device's name.
    pub name: [c_char; 256],
    /// Its UUID.
    pub uuid: hipUUID,
    before_warp_size: [u8; 36],
    /// Lanes of a wave.
    pub warpSize: c_int,
    before_processors: [u8; 76],
    /// Compute units, or pairs of them where the architecture joins two.
    pub multiProcessorCount: c_int,
    before_arch: [u8; 768],
    /// The architecture, with its features: `gfx90a:sramecc+:xnack-`.
    pub gcnArchName: [c_char; 256],
    after_arch: [u8; 56],
}

impl hipDeviceProp_tR0600 {
    /// All zeros, for the call to fill.
    pub const fn zeroed() -> Self {
        Self {
            name: [0; 256],
            uuid: hipUUID { bytes: [0; 16] },
            before_warp_size: [0; 36],
            warpSize: 0,
            before_processors: [0; 76],
            multiProcessorCount: 0,
            before_arch: [0; 768],
            gcnArchName: [0; 256],
            after_arch: [0; 56],
        }
    }
}

/// That structure's size, and the fields that are named.
#[cfg(test)]
pub(crate) const PROPERTIES: Layout = {
    type It = hipDeviceProp_tR0600;
    Layout {
        name: "hipDeviceProp_tR0600",
        size: size_of::<It>(),
        align: align_of::<It>(),
        fields: &[
            ("name", std::mem::offset_of!(It, name), 256),
            ("uuid", std::mem::offset_of!(It, uuid), 16),
            ("warpSize", std::mem::offset_of!(It, warpSize), 4),
            ("multiProcessorCount", std::mem::offset_of!(It, multiProcessorCount), 4),
            ("gcnArchName", std::mem::offset_of!(It, gcnArchName), 256),
        ],
    }
};

/// A device address as the pointer that C has for it.
pub const fn device_pointer(address: u64) -> hipDeviceptr_t {
    address as usize as hipDeviceptr_t
}
