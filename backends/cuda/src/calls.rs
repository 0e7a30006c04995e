//! Every call of the driver that is used, by its name: looked up once, all of them before any is made. (The version is asked
//! for before that, by `library`.)
//!
//! cudarc has such a table, too, and it is not used: it looks each name up at its first call and panics where it is missing,
//! it looks for `libcuda.so` before `libcuda.so.1` and so may take the toolkit's stub for the driver, and it takes result
//! codes for an enum, which a code of a newer driver is not. The types behind the calls are cudarc's.
//! `docs/decisions/0016-cuda-bindings.md` has the reasons.

#![expect(unsafe_code, reason = "a library's functions are called")]
#![expect(non_snake_case, reason = "each method is named as the call that it makes")]
#![expect(clippy::too_many_arguments, reason = "a launch takes as many")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUdevice, CUdevice_attribute,
    CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUmemoryPool, CUmodule,
    CUstream, CUuuid,
};
use graphreel::graph::DriverResult;

use crate::fault;

macro_rules! calls {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// The names, all of which a driver has to have.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The driver's functions. Result codes and values that the driver writes are numbers.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Calls {
            $($name: unsafe extern "system" fn($($ty),*) -> c_uint,)*
        }

        impl Calls {
            /// Look all of them up.
            ///
            /// # Errors
            ///
            /// The name of the first that is missing.
            pub(crate) fn find(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self { $($name: symbol(library, concat!(stringify!($name), "\0"))?,)* })
            }

            $(
                /// The call of that name.
                ///
                /// # Safety
                ///
                /// What NVIDIA's documentation of the call demands.
                pub(crate) unsafe fn $name(&self, $($arg: $ty),*) -> DriverResult {
                    // SAFETY: the function has this type in cuda.h, its library is never unloaded, and the caller keeps to
                    // its documentation.
                    fault::answer(stringify!($name), unsafe { (self.$name)($($arg),*) })
                }
            )*
        }
    };
}

/// A function of the library. Its type is the header's: `T` follows from the field that it is put in.
fn symbol<T: Copy>(library: &libloading::Library, name: &'static str) -> Result<T, &'static str> {
    // SAFETY: each field of `Calls` has the type that cuda.h declares for the name it is looked up by.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| name.trim_end_matches('\0'))
}

calls! {
    cuInit(flags: c_uint);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceGetPCIBusId(address: *mut c_char, len: c_int, device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuCtxGetCurrent(context: *mut CUcontext);
    cuCtxSetCurrent(context: CUcontext);
    cuCtxGetDevice(device: *mut CUdevice);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamQuery(stream: CUstream);
    cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventQuery(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, from: CUevent, to: CUevent);
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    cuMemFree_v2(address: CUdeviceptr);
    cuMemPoolCreate(pool: *mut CUmemoryPool, props: *const c_void);
    cuMemPoolDestroy(pool: CUmemoryPool);
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void);
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void);
    cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    cuMemFreeHost(address: *mut c_void);
    cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemsetD32Async(dst: CUdeviceptr, word: c_uint, words: usize, stream: CUstream);
    cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void
    );
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleUnload(module: CUmodule);
    cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    cuLaunchKernel(
        function: CUfunction,
        groups_x: c_uint,
        groups_y: c_uint,
        groups_z: c_uint,
        threads_x: c_uint,
        threads_y: c_uint,
        threads_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void
    );
    cuStreamBeginCapture_v2(stream: CUstream, mode: c_uint);
    cuStreamIsCapturing(stream: CUstream, state: *mut c_uint);
    cuStreamGetCaptureInfo_v2(
        stream: CUstream,
        state: *mut c_uint,
        id: *mut u64,
        graph: *mut CUgraph,
        tail: *mut *const CUgraphNode,
        count: *mut usize
    );
    cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    cuThreadExchangeStreamCaptureMode(mode: *mut c_uint);
    cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
    cuGraphAddKernelNode_v2(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        params: *const CUDA_KERNEL_NODE_PARAMS_v2
    );
    cuGraphAddMemcpyNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        copy: *const CUDA_MEMCPY3D,
        context: CUcontext
    );
    cuGraphAddMemsetNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        fill: *const CUDA_MEMSET_NODE_PARAMS,
        context: CUcontext
    );
    cuGraphAddDependencies(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, count: usize);
    cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize);
    cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    cuGraphDestroy(graph: CUgraph);
    cuGraphUpload(exec: CUgraphExec, stream: CUstream);
    cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
    cuGraphExecKernelNodeSetParams_v2(exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_KERNEL_NODE_PARAMS_v2);
    cuGraphExecMemcpyNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        copy: *const CUDA_MEMCPY3D,
        context: CUcontext
    );
    cuGraphExecMemsetNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        fill: *const CUDA_MEMSET_NODE_PARAMS,
        context: CUcontext
    );
    cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, info: *mut c_void);
    cuGraphExecDestroy(exec: CUgraphExec);
}
