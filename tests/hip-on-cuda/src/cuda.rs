//! NVIDIA's driver, loaded when the first call needs it: every function that stands behind one of HIP's.
#![expect(unsafe_code, reason = "a library is loaded")]
#![expect(non_snake_case, reason = "each function is named as NVIDIA names it, without its version")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::io::Write as _;
use std::sync::OnceLock;

use graphreel_hip_sys::constant as hip;
use graphreel_hip_sys::handle::{hipError_t, hipHostFn_t};

use crate::node::{Copy3D, Fill, KernelNode};

/// A handle or an address of the driver's, which HIP passes on.
pub(crate) type Any = *mut c_void;
/// Where one of them is written.
pub(crate) type Out = *mut Any;
/// An array of nodes.
pub(crate) type Nodes = *const Any;

/// The driver's library: its SONAME.
const NAME: &str = "libcuda.so.1";

macro_rules! table {
    ($($name:ident = $symbols:expr, ($($ty:ty),*);)*) => {
        /// The driver's functions.
        pub(crate) struct Cuda {
            $(pub(crate) $name: unsafe extern "C" fn($($ty),*) -> c_uint,)*
        }

        impl Cuda {
            fn find(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self { $($name: symbol(library, &$symbols)?,)* })
            }
        }
    };
}

// The types are those of cuda.h of CUDA 13, an address being a pointer of its size.
table! {
    cuInit = ["cuInit"], (c_uint);
    cuDriverGetVersion = ["cuDriverGetVersion"], (*mut c_int);
    cuDeviceGetCount = ["cuDeviceGetCount"], (*mut c_int);
    cuDeviceGet = ["cuDeviceGet"], (*mut c_int, c_int);
    cuDeviceGetName = ["cuDeviceGetName"], (*mut c_char, c_int, c_int);
    cuDeviceGetUuid = ["cuDeviceGetUuid_v2"], (Any, c_int);
    cuDeviceGetPCIBusId = ["cuDeviceGetPCIBusId"], (*mut c_char, c_int, c_int);
    cuDeviceTotalMem = ["cuDeviceTotalMem_v2"], (*mut usize, c_int);
    cuDeviceGetAttribute = ["cuDeviceGetAttribute"], (*mut c_int, c_uint, c_int);
    cuDevicePrimaryCtxRetain = ["cuDevicePrimaryCtxRetain"], (Out, c_int);
    cuDevicePrimaryCtxRelease = ["cuDevicePrimaryCtxRelease_v2"], (c_int);
    cuCtxSetCurrent = ["cuCtxSetCurrent"], (Any);
    cuCtxPushCurrent = ["cuCtxPushCurrent_v2"], (Any);
    cuCtxPopCurrent = ["cuCtxPopCurrent_v2"], (Out);
    cuCtxGetDevice = ["cuCtxGetDevice"], (*mut c_int);
    cuCtxSynchronize = ["cuCtxSynchronize"], ();
    cuMemGetInfo = ["cuMemGetInfo_v2"], (*mut usize, *mut usize);

    cuStreamCreate = ["cuStreamCreate"], (Out, c_uint);
    cuStreamDestroy = ["cuStreamDestroy_v2"], (Any);
    cuStreamGetCtx = ["cuStreamGetCtx"], (Any, Out);
    cuStreamGetFlags = ["cuStreamGetFlags"], (Any, *mut c_uint);
    cuStreamGetId = ["cuStreamGetId"], (Any, *mut c_ulonglong);
    cuStreamQuery = ["cuStreamQuery"], (Any);
    cuStreamSynchronize = ["cuStreamSynchronize"], (Any);
    cuStreamWaitEvent = ["cuStreamWaitEvent"], (Any, Any, c_uint);
    cuLaunchHostFunc = ["cuLaunchHostFunc"], (Any, hipHostFn_t, Any);
    cuEventCreate = ["cuEventCreate"], (Out, c_uint);
    cuEventDestroy = ["cuEventDestroy_v2"], (Any);
    cuEventRecord = ["cuEventRecord"], (Any, Any);
    cuEventRecordWithFlags = ["cuEventRecordWithFlags"], (Any, Any, c_uint);
    cuEventQuery = ["cuEventQuery"], (Any);
    cuEventSynchronize = ["cuEventSynchronize"], (Any);
    cuEventElapsedTime = ["cuEventElapsedTime_v2", "cuEventElapsedTime"], (*mut f32, Any, Any);

    cuMemAlloc = ["cuMemAlloc_v2"], (Out, usize);
    cuMemFree = ["cuMemFree_v2"], (Any);
    cuMemHostAlloc = ["cuMemHostAlloc"], (Out, usize, c_uint);
    cuMemFreeHost = ["cuMemFreeHost"], (Any);
    cuMemAllocAsync = ["cuMemAllocAsync"], (Out, usize, Any);
    cuMemFreeAsync = ["cuMemFreeAsync"], (Any, Any);
    cuMemAllocFromPoolAsync = ["cuMemAllocFromPoolAsync"], (Out, usize, Any, Any);
    cuDeviceGetDefaultMemPool = ["cuDeviceGetDefaultMemPool"], (Out, c_int);
    cuMemPoolCreate = ["cuMemPoolCreate"], (Out, *const c_void);
    cuMemPoolDestroy = ["cuMemPoolDestroy"], (Any);
    cuMemPoolSetAttribute = ["cuMemPoolSetAttribute"], (Any, c_uint, Any);
    cuMemPoolGetAttribute = ["cuMemPoolGetAttribute"], (Any, c_uint, Any);
    cuMemPoolTrimTo = ["cuMemPoolTrimTo"], (Any, usize);
    cuMemcpy = ["cuMemcpy"], (Any, Any, usize);
    cuMemcpyAsync = ["cuMemcpyAsync"], (Any, Any, usize, Any);
    cuMemcpyHtoDAsync = ["cuMemcpyHtoDAsync_v2"], (Any, *const c_void, usize, Any);
    cuMemcpyDtoHAsync = ["cuMemcpyDtoHAsync_v2"], (Any, Any, usize, Any);
    cuMemcpyDtoDAsync = ["cuMemcpyDtoDAsync_v2"], (Any, Any, usize, Any);
    cuMemsetD8 = ["cuMemsetD8_v2"], (Any, c_uchar, usize);
    cuMemsetD8Async = ["cuMemsetD8Async"], (Any, c_uchar, usize, Any);
    cuMemsetD32Async = ["cuMemsetD32Async"], (Any, c_uint, usize, Any);

    cuModuleLoadData = ["cuModuleLoadData"], (Out, *const c_void);
    cuModuleUnload = ["cuModuleUnload"], (Any);
    cuModuleGetFunction = ["cuModuleGetFunction"], (Out, Any, *const c_char);
    cuModuleGetGlobal = ["cuModuleGetGlobal_v2"], (Out, *mut usize, Any, *const c_char);
    cuFuncGetAttribute = ["cuFuncGetAttribute"], (*mut c_int, c_uint, Any);
    cuFuncSetAttribute = ["cuFuncSetAttribute"], (Any, c_uint, c_int);
    cuLaunchKernel = ["cuLaunchKernel"],
        (Any, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Any, Out, Out);

    cuStreamBeginCapture = ["cuStreamBeginCapture_v2"], (Any, c_uint);
    cuStreamEndCapture = ["cuStreamEndCapture"], (Any, Out);
    cuStreamIsCapturing = ["cuStreamIsCapturing"], (Any, *mut c_uint);
    cuStreamGetCaptureInfo = ["cuStreamGetCaptureInfo_v3"],
        (Any, *mut c_uint, *mut c_ulonglong, Out, *mut Nodes, *mut *const c_void, *mut usize);
    cuStreamUpdateCaptureDependencies = ["cuStreamUpdateCaptureDependencies_v2"],
        (Any, Out, *const c_void, usize, c_uint);
    cuThreadExchangeStreamCaptureMode = ["cuThreadExchangeStreamCaptureMode"], (*mut c_uint);

    cuGraphCreate = ["cuGraphCreate"], (Out, c_uint);
    cuGraphDestroy = ["cuGraphDestroy"], (Any);
    cuGraphClone = ["cuGraphClone"], (Out, Any);
    cuGraphAddKernelNode = ["cuGraphAddKernelNode_v2"], (Out, Any, Nodes, usize, *const KernelNode);
    cuGraphAddMemcpyNode = ["cuGraphAddMemcpyNode"], (Out, Any, Nodes, usize, *const Copy3D, Any);
    cuGraphAddMemsetNode = ["cuGraphAddMemsetNode"], (Out, Any, Nodes, usize, *const Fill, Any);
    cuGraphAddEmptyNode = ["cuGraphAddEmptyNode"], (Out, Any, Nodes, usize);
    cuGraphAddHostNode = ["cuGraphAddHostNode"], (Out, Any, Nodes, usize, *const c_void);
    cuGraphAddChildGraphNode = ["cuGraphAddChildGraphNode"], (Out, Any, Nodes, usize, Any);
    cuGraphAddDependencies = ["cuGraphAddDependencies_v2"], (Any, Nodes, Nodes, *const c_void, usize);
    cuGraphGetNodes = ["cuGraphGetNodes"], (Any, Out, *mut usize);
    cuGraphGetRootNodes = ["cuGraphGetRootNodes"], (Any, Out, *mut usize);
    cuGraphGetEdges = ["cuGraphGetEdges_v2"], (Any, Out, Out, Any, *mut usize);
    cuGraphNodeGetType = ["cuGraphNodeGetType"], (Any, *mut c_uint);
    cuGraphInstantiate = ["cuGraphInstantiateWithFlags"], (Out, Any, c_ulonglong);
    cuGraphUpload = ["cuGraphUpload"], (Any, Any);
    cuGraphLaunch = ["cuGraphLaunch"], (Any, Any);
    cuGraphExecUpdate = ["cuGraphExecUpdate_v2"], (Any, Any, *mut UpdateResult);
    cuGraphExecKernelNodeSetParams = ["cuGraphExecKernelNodeSetParams_v2"], (Any, Any, *const KernelNode);
    cuGraphExecMemcpyNodeSetParams = ["cuGraphExecMemcpyNodeSetParams"], (Any, Any, *const Copy3D, Any);
    cuGraphExecMemsetNodeSetParams = ["cuGraphExecMemsetNodeSetParams"], (Any, Any, *const Fill, Any);
    cuGraphNodeSetEnabled = ["cuGraphNodeSetEnabled"], (Any, Any, c_uint);
    cuGraphExecGetFlags = ["cuGraphExecGetFlags"], (Any, *mut c_ulonglong);
    cuGraphExecDestroy = ["cuGraphExecDestroy"], (Any);
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
pub(crate) struct UpdateResult {
    pub(crate) result: c_uint,
    pub(crate) node: Any,
    pub(crate) from: Any,
}

/// The driver, started; else what each call answers.
pub(crate) fn cuda() -> Result<&'static Cuda, hipError_t> {
    static LOADED: OnceLock<Result<Cuda, hipError_t>> = OnceLock::new();
    LOADED.get_or_init(load).as_ref().map_err(|code| *code)
}

fn load() -> Result<Cuda, hipError_t> {
    // SAFETY: NVIDIA's driver may be loaded and initialised at any time and on any thread.
    let library = unsafe { libloading::Library::new(NAME) }.map_err(|_| hip::hipErrorNoDevice)?;
    let cuda = Cuda::find(&library).map_err(|missing| {
        // Whoever called knows no such reason.
        drop(writeln!(
            std::io::stderr(),
            "HIP on CUDA: {NAME} lacks {missing}; a driver for CUDA 12.3 or later is needed"
        ));
        hip::hipErrorNoDevice
    })?;
    // Its threads may run until the process ends.
    std::mem::forget(library);
    // SAFETY: the call takes no pointer; its flags have to be 0.
    match unsafe { (cuda.cuInit)(0) } {
        hip::hipSuccess => Ok(cuda),
        code => Err(crate::context::translated(code)),
    }
}

/// The release of CUDA that the driver is for, as 13; `None` where there is no driver.
pub(crate) fn release() -> Option<c_int> {
    let cuda = cuda().ok()?;
    let mut version = 0;
    // SAFETY: the call writes one number.
    let code = unsafe { (cuda.cuDriverGetVersion)(&raw mut version) };
    (code == hip::hipSuccess).then_some(version / 1000)
}

/// The first of these functions that is there.
fn symbol<T: Copy>(library: &libloading::Library, names: &[&'static str]) -> Result<T, &'static str> {
    // SAFETY: each field of the table has the type that cuda.h declares for its names.
    let found = names.iter().find_map(|name| unsafe { library.get::<T>(name.as_bytes()) }.ok());
    found.map(|found| *found).ok_or(names[0])
}
