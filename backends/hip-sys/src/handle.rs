//! Handles: pointers to what only the library looks behind, and numbers.

use std::ffi::{c_int, c_uint, c_void};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident = $hidden:ident;)*) => {
        $(
            /// What the library keeps behind its pointer.
            #[repr(C)]
            #[derive(Debug)]
            pub struct $hidden {
                private: [u8; 0],
            }

            $(#[$doc])*
            pub type $name = *mut $hidden;
        )*
    };
}

opaque! {
    /// A context, of which only the primary one of a device is used.
    hipCtx_t = ihipCtx_t;
    /// A stream.
    hipStream_t = ihipStream_t;
    /// An event.
    hipEvent_t = ihipEvent_t;
    /// A module.
    hipModule_t = ihipModule_t;
    /// A function of a module.
    hipFunction_t = ihipModuleSymbol_t;
    /// A pool of memory.
    hipMemPool_t = ihipMemPoolHandle_t;
    /// A graph.
    hipGraph_t = ihipGraph;
    /// A node of a graph.
    hipGraphNode_t = hipGraphNode;
    /// A graph made ready to launch.
    hipGraphExec_t = hipGraphExec;
    /// A program of hipRTC.
    hiprtcProgram = _hiprtcProgram;
}

/// A device: its index.
pub type hipDevice_t = c_int;
/// An address on a device. C has it as a pointer.
pub type hipDeviceptr_t = *mut c_void;
/// A function that a stream calls on the host.
pub type hipHostFn_t = Option<unsafe extern "C" fn(*mut c_void)>;

macro_rules! number {
    ($($(#[$doc:meta])* $name:ident;)*) => { $($(#[$doc])* pub type $name = c_uint;)* };
}

number! {
    /// The answer of every call of the runtime.
    hipError_t;
    /// The answer of every call of hipRTC.
    hiprtcResult;
    /// What of a device is asked for.
    hipDeviceAttribute_t;
    /// What of a function is asked for.
    hipFunction_attribute;
    /// What of a function is set.
    hipFuncAttribute;
    /// From where to where a copy goes.
    hipMemcpyKind;
    /// How a thread's calls meet captures.
    hipStreamCaptureMode;
    /// What a stream does with work.
    hipStreamCaptureStatus;
    /// What a node is.
    hipGraphNodeType;
    /// Why a graph does not fit an executable one.
    hipGraphExecUpdateResult;
    /// What of a pool is asked for or set.
    hipMemPoolAttr;
    /// How memory is allocated.
    hipMemAllocationType;
    /// How memory can be shared with other processes.
    hipMemAllocationHandleType;
    /// What a location is.
    hipMemLocationType;
}
