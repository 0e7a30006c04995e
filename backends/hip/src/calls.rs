//! The calls of AMD's runtime as methods that answer the core's errors. The functions and their signatures are those of
//! `graphreel-hip-sys`, looked up once.

#![expect(unsafe_code, reason = "a library's functions are called")]
#![expect(dead_code, reason = "the table has calls that only tests of the runtime make")]
#![expect(clippy::too_many_arguments, reason = "a launch takes as many")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

use graphreel::graph::DriverResult;
use graphreel_hip_sys::each_call;
use graphreel_hip_sys::handle::{
    hipCtx_t, hipDevice_t, hipDeviceAttribute_t, hipDeviceptr_t, hipEvent_t, hipFuncAttribute, hipFunction_attribute,
    hipFunction_t, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateResult, hipGraphNode_t, hipGraphNodeType, hipHostFn_t,
    hipMemPool_t, hipMemPoolAttr, hipMemcpyKind, hipModule_t, hipStream_t, hipStreamCaptureMode,
    hipStreamCaptureStatus,
};
use graphreel_hip_sys::structure::{
    hipDeviceProp_tR0600, hipHostNodeParams, hipKernelNodeParams, hipMemPoolProps, hipMemsetParams, hipUUID,
};

use crate::fault;

/// The runtime's functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls(pub(crate) &'static graphreel_hip_sys::Calls);

macro_rules! methods {
    (
        required { $($name:ident($($arg:ident: $ty:ty),*);)* }
        optional { $($rest:tt)* }
    ) => {
        impl Calls {
            $(
                /// The call of that name.
                ///
                /// # Safety
                ///
                /// What AMD's documentation of the call demands.
                pub(crate) unsafe fn $name(&self, $($arg: $ty),*) -> DriverResult {
                    // SAFETY: the caller keeps to the call's documentation.
                    fault::answer(unsafe { self.0.$name($($arg),*) })
                }
            )*
        }
    };
}

each_call!(methods);
