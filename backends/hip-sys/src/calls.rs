//! Every call of the runtime that is used, or that tests of its behaviour make: looked up by name once, all of them before any is
//! made. (The version is asked for before that, by `library`.)

#![expect(unsafe_code, reason = "a library's functions are called")]
#![expect(clippy::too_many_arguments, reason = "a launch takes as many")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

use crate::failure::{Answer, answer};
use crate::handle::{
    hipCtx_t, hipDevice_t, hipDeviceAttribute_t, hipDeviceptr_t, hipEvent_t, hipFuncAttribute, hipFunction_attribute,
    hipFunction_t, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateResult, hipGraphNode_t, hipGraphNodeType, hipHostFn_t,
    hipMemPool_t, hipMemPoolAttr, hipMemcpyKind, hipModule_t, hipStream_t, hipStreamCaptureMode,
    hipStreamCaptureStatus,
};
use crate::structure::{
    hipDeviceProp_tR0600, hipHostNodeParams, hipKernelNodeParams, hipMemPoolProps, hipMemsetParams, hipUUID,
};

/// Gives every call to a macro, as `required { name(argument: type, ...); ... } optional { ... }`: a backend makes methods of
/// them that answer its own errors. The types are those of [`handle`](crate::handle), [`structure`](crate::structure) and
/// [`std::ffi`], which the place of use has to have in scope.
///
/// Every HIP from 6.0 on has those that are required. The others came later, or left.
#[macro_export]
macro_rules! each_call {
    ($then:ident) => {
        $then! {
            required {
                hipInit(flags: c_uint);
                hipDriverGetVersion(version: *mut c_int);
                hipRuntimeGetVersion(version: *mut c_int);
                hipGetLastError();
                hipGetDeviceCount(count: *mut c_int);
                hipDeviceGet(device: *mut hipDevice_t, ordinal: c_int);
                hipDeviceGetName(name: *mut c_char, len: c_int, device: hipDevice_t);
                hipDeviceGetUuid(uuid: *mut hipUUID, device: hipDevice_t);
                hipDeviceGetPCIBusId(address: *mut c_char, len: c_int, device: c_int);
                hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t);
                hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int);
                hipGetDevicePropertiesR0600(properties: *mut hipDeviceProp_tR0600, device: c_int);
                hipDevicePrimaryCtxRetain(context: *mut hipCtx_t, device: hipDevice_t);
                hipDevicePrimaryCtxRelease(device: hipDevice_t);
                hipSetDevice(device: c_int);
                hipGetDevice(device: *mut c_int);
                hipDeviceSynchronize();
                hipMemGetInfo(free: *mut usize, total: *mut usize);

                hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint);
                hipStreamDestroy(stream: hipStream_t);
                hipStreamGetDevice(stream: hipStream_t, device: *mut hipDevice_t);
                hipStreamGetFlags(stream: hipStream_t, flags: *mut c_uint);
                hipStreamQuery(stream: hipStream_t);
                hipStreamSynchronize(stream: hipStream_t);
                hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint);
                hipLaunchHostFunc(stream: hipStream_t, call: hipHostFn_t, with: *mut c_void);
                hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint);
                hipEventDestroy(event: hipEvent_t);
                hipEventRecord(event: hipEvent_t, stream: hipStream_t);
                hipEventQuery(event: hipEvent_t);
                hipEventSynchronize(event: hipEvent_t);
                hipEventElapsedTime(milliseconds: *mut f32, from: hipEvent_t, to: hipEvent_t);

                hipMalloc(address: *mut *mut c_void, bytes: usize);
                hipFree(address: *mut c_void);
                hipHostMalloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
                hipHostFree(address: *mut c_void);
                hipMallocAsync(address: *mut *mut c_void, bytes: usize, stream: hipStream_t);
                hipFreeAsync(address: *mut c_void, stream: hipStream_t);
                hipMallocFromPoolAsync(address: *mut *mut c_void, bytes: usize, pool: hipMemPool_t, stream: hipStream_t);
                hipDeviceGetDefaultMemPool(pool: *mut hipMemPool_t, device: c_int);
                hipMemPoolCreate(pool: *mut hipMemPool_t, properties: *const hipMemPoolProps);
                hipMemPoolDestroy(pool: hipMemPool_t);
                hipMemPoolSetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void);
                hipMemPoolGetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void);
                hipMemPoolTrimTo(pool: hipMemPool_t, bytes: usize);
                hipMemcpy(dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind);
                hipMemset(dst: *mut c_void, value: c_int, bytes: usize);
                hipMemcpyAsync(
                    dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind, stream: hipStream_t
                );
                hipMemcpyHtoDAsync(dst: hipDeviceptr_t, src: *const c_void, bytes: usize, stream: hipStream_t);
                hipMemcpyDtoHAsync(dst: *mut c_void, src: hipDeviceptr_t, bytes: usize, stream: hipStream_t);
                hipMemcpyDtoDAsync(dst: hipDeviceptr_t, src: hipDeviceptr_t, bytes: usize, stream: hipStream_t);
                hipMemsetAsync(dst: *mut c_void, value: c_int, bytes: usize, stream: hipStream_t);
                hipMemsetD8Async(dst: hipDeviceptr_t, value: c_uchar, count: usize, stream: hipStream_t);
                hipMemsetD32Async(dst: hipDeviceptr_t, value: c_int, count: usize, stream: hipStream_t);

                hipModuleLoadData(module: *mut hipModule_t, image: *const c_void);
                hipModuleUnload(module: hipModule_t);
                hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char);
                hipModuleGetGlobal(
                    address: *mut hipDeviceptr_t, bytes: *mut usize, module: hipModule_t, name: *const c_char
                );
                hipFuncGetAttribute(value: *mut c_int, attribute: hipFunction_attribute, function: hipFunction_t);
                hipFuncSetAttribute(function: *const c_void, attribute: hipFuncAttribute, value: c_int);
                hipModuleLaunchKernel(
                    function: hipFunction_t,
                    groups_x: c_uint,
                    groups_y: c_uint,
                    groups_z: c_uint,
                    threads_x: c_uint,
                    threads_y: c_uint,
                    threads_z: c_uint,
                    shared_bytes: c_uint,
                    stream: hipStream_t,
                    params: *mut *mut c_void,
                    extra: *mut *mut c_void
                );

                hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode);
                hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t);
                hipStreamIsCapturing(stream: hipStream_t, status: *mut hipStreamCaptureStatus);
                hipStreamGetCaptureInfo(
                    stream: hipStream_t, status: *mut hipStreamCaptureStatus, id: *mut c_ulonglong
                );
                hipStreamGetCaptureInfo_v2(
                    stream: hipStream_t,
                    status: *mut hipStreamCaptureStatus,
                    id: *mut c_ulonglong,
                    graph: *mut hipGraph_t,
                    tail: *mut *const hipGraphNode_t,
                    count: *mut usize
                );
                hipStreamUpdateCaptureDependencies(
                    stream: hipStream_t, tail: *mut hipGraphNode_t, count: usize, flags: c_uint
                );
                hipThreadExchangeStreamCaptureMode(mode: *mut hipStreamCaptureMode);

                hipGraphCreate(graph: *mut hipGraph_t, flags: c_uint);
                hipGraphDestroy(graph: hipGraph_t);
                hipGraphClone(clone: *mut hipGraph_t, graph: hipGraph_t);
                hipGraphAddKernelNode(
                    node: *mut hipGraphNode_t,
                    graph: hipGraph_t,
                    after: *const hipGraphNode_t,
                    count: usize,
                    params: *const hipKernelNodeParams
                );
                hipGraphAddMemcpyNode1D(
                    node: *mut hipGraphNode_t,
                    graph: hipGraph_t,
                    after: *const hipGraphNode_t,
                    count: usize,
                    dst: *mut c_void,
                    src: *const c_void,
                    bytes: usize,
                    kind: hipMemcpyKind
                );
                hipGraphAddMemsetNode(
                    node: *mut hipGraphNode_t,
                    graph: hipGraph_t,
                    after: *const hipGraphNode_t,
                    count: usize,
                    params: *const hipMemsetParams
                );
                hipGraphAddEmptyNode(
                    node: *mut hipGraphNode_t, graph: hipGraph_t, after: *const hipGraphNode_t, count: usize
                );
                hipGraphAddHostNode(
                    node: *mut hipGraphNode_t,
                    graph: hipGraph_t,
                    after: *const hipGraphNode_t,
                    count: usize,
                    params: *const hipHostNodeParams
                );
                hipGraphAddChildGraphNode(
                    node: *mut hipGraphNode_t,
                    graph: hipGraph_t,
                    after: *const hipGraphNode_t,
                    count: usize,
                    child: hipGraph_t
                );
                hipGraphAddDependencies(
                    graph: hipGraph_t, from: *const hipGraphNode_t, to: *const hipGraphNode_t, count: usize
                );
                hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize);
                hipGraphGetRootNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize);
                hipGraphGetEdges(
                    graph: hipGraph_t, from: *mut hipGraphNode_t, to: *mut hipGraphNode_t, count: *mut usize
                );
                hipGraphNodeGetType(node: hipGraphNode_t, is: *mut hipGraphNodeType);
                hipGraphInstantiateWithFlags(exec: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong);
                hipGraphUpload(exec: hipGraphExec_t, stream: hipStream_t);
                hipGraphLaunch(exec: hipGraphExec_t, stream: hipStream_t);
                hipGraphExecUpdate(
                    exec: hipGraphExec_t,
                    graph: hipGraph_t,
                    wrong: *mut hipGraphNode_t,
                    result: *mut hipGraphExecUpdateResult
                );
                hipGraphExecKernelNodeSetParams(
                    exec: hipGraphExec_t, node: hipGraphNode_t, params: *const hipKernelNodeParams
                );
                hipGraphExecMemcpyNodeSetParams1D(
                    exec: hipGraphExec_t,
                    node: hipGraphNode_t,
                    dst: *mut c_void,
                    src: *const c_void,
                    bytes: usize,
                    kind: hipMemcpyKind
                );
                hipGraphExecMemsetNodeSetParams(
                    exec: hipGraphExec_t, node: hipGraphNode_t, params: *const hipMemsetParams
                );
                hipGraphExecDestroy(exec: hipGraphExec_t);
            }
            optional {
                hipExtGetLastError();
                hipEventRecordWithFlags(event: hipEvent_t, stream: hipStream_t, flags: c_uint);
                hipGraphNodeSetEnabled(exec: hipGraphExec_t, node: hipGraphNode_t, enabled: c_uint);
                hipGraphExecGetFlags(exec: hipGraphExec_t, flags: *mut c_ulonglong);
                hipStreamGetId(stream: hipStream_t, id: *mut c_ulonglong);
            }
        }
    };
}

macro_rules! table {
    (
        required { $($name:ident($($arg:ident: $ty:ty),*);)* }
        optional { $($extra:ident($($extra_arg:ident: $extra_ty:ty),*);)* }
    ) => {
        /// The runtime's functions, each a method of the name that C has for it. Result codes and values that the runtime writes are
        /// numbers.
        #[derive(Clone, Copy, Debug)]
        pub struct Calls {
            $($name: unsafe extern "C" fn($($ty),*) -> c_uint,)*
            $($extra: Option<unsafe extern "C" fn($($extra_ty),*) -> c_uint>,)*
        }

        impl Calls {
            /// The names that a runtime has to have.
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The names that it may lack.
            pub const OPTIONAL: &'static [&'static str] = &[$(stringify!($extra)),*];

            /// Look all of them up.
            ///
            /// # Errors
            ///
            /// The name of the first required one that is missing.
            pub(crate) fn find(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: symbol(library, concat!(stringify!($name), "\0"))?,)*
                    $($extra: symbol(library, concat!(stringify!($extra), "\0")).ok(),)*
                })
            }

            $(
                /// The call of that name.
                ///
                /// # Errors
                ///
                /// What it answers.
                ///
                /// # Safety
                ///
                /// What AMD's documentation of the call demands.
                pub unsafe fn $name(&self, $($arg: $ty),*) -> Answer {
                    // SAFETY: the function has this type in AMD's header, its library is never unloaded, and the caller keeps
                    // to its documentation.
                    answer(stringify!($name), unsafe { (self.$name)($($arg),*) })
                }
            )*

            $(
                /// The call of that name, where the runtime has it.
                ///
                /// # Errors
                ///
                /// What it answers.
                ///
                /// # Safety
                ///
                /// What AMD's documentation of the call demands.
                pub unsafe fn $extra(&self, $($extra_arg: $extra_ty),*) -> Option<Answer> {
                    let call = self.$extra?;
                    // SAFETY: as for those that are always there.
                    Some(answer(stringify!($extra), unsafe { call($($extra_arg),*) }))
                }
            )*
        }

        /// Every call with the types of its arguments, to be held against the header.
        #[cfg(test)]
        pub(crate) const SIGNATURES: &[(&str, &[&str])] = &[
            $((stringify!($name), &[$(stringify!($ty)),*]),)*
            $((stringify!($extra), &[$(stringify!($extra_ty)),*]),)*
        ];
    };
}

each_call!(table);

/// A function of the library. Its type is the header's: `T` follows from the field that it is put in.
pub(crate) fn symbol<T: Copy>(library: &libloading::Library, name: &'static str) -> Result<T, &'static str> {
    // SAFETY: each field that this fills has the type that AMD's header declares for the name it is looked up by.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| name.trim_end_matches('\0'))
}
