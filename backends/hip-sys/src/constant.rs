//! Numbers of AMD's headers, which are the same in HIP 6 and 7.

use std::ffi::c_uint;

use crate::handle::{
    hipDeviceAttribute_t, hipError_t, hipFuncAttribute, hipFunction_attribute, hipGraphExecUpdateResult,
    hipGraphNodeType, hipMemAllocationHandleType, hipMemAllocationType, hipMemLocationType, hipMemPoolAttr,
    hipMemcpyKind, hipStreamCaptureMode, hipStreamCaptureStatus, hiprtcResult,
};

macro_rules! constants {
    ($($ty:ident { $($name:ident = $value:literal,)* })*) => {
        $($(
            #[doc = concat!("`", stringify!($ty), "`.")]
            pub const $name: $ty = $value;
        )*)*

        /// Every one of them, to be held against the header.
        #[cfg(test)]
        pub(crate) const CONSTANTS: &[(&str, c_uint)] = &[$($((stringify!($name), $name),)*)*];
    };
}

constants! {
    hipError_t {
        hipSuccess = 0,
        hipErrorInvalidValue = 1,
        hipErrorOutOfMemory = 2,
        hipErrorNotInitialized = 3,
        hipErrorDeinitialized = 4,
        hipErrorProfilerDisabled = 5,
        hipErrorProfilerNotInitialized = 6,
        hipErrorProfilerAlreadyStarted = 7,
        hipErrorProfilerAlreadyStopped = 8,
        hipErrorInvalidConfiguration = 9,
        hipErrorInvalidPitchValue = 12,
        hipErrorInvalidSymbol = 13,
        hipErrorInvalidDevicePointer = 17,
        hipErrorInvalidMemcpyDirection = 21,
        hipErrorInsufficientDriver = 35,
        hipErrorMissingConfiguration = 52,
        hipErrorPriorLaunchFailure = 53,
        hipErrorInvalidDeviceFunction = 98,
        hipErrorNoDevice = 100,
        hipErrorInvalidDevice = 101,
        hipErrorInvalidImage = 200,
        hipErrorInvalidContext = 201,
        hipErrorContextAlreadyCurrent = 202,
        hipErrorMapFailed = 205,
        hipErrorUnmapFailed = 206,
        hipErrorArrayIsMapped = 207,
        hipErrorAlreadyMapped = 208,
        hipErrorNoBinaryForGpu = 209,
        hipErrorAlreadyAcquired = 210,
        hipErrorNotMapped = 211,
        hipErrorNotMappedAsArray = 212,
        hipErrorNotMappedAsPointer = 213,
        hipErrorECCNotCorrectable = 214,
        hipErrorUnsupportedLimit = 215,
        hipErrorContextAlreadyInUse = 216,
        hipErrorPeerAccessUnsupported = 217,
        hipErrorInvalidKernelFile = 218,
        hipErrorInvalidGraphicsContext = 219,
        hipErrorInvalidSource = 300,
        hipErrorFileNotFound = 301,
        hipErrorSharedObjectSymbolNotFound = 302,
        hipErrorSharedObjectInitFailed = 303,
        hipErrorOperatingSystem = 304,
        hipErrorInvalidHandle = 400,
        hipErrorIllegalState = 401,
        hipErrorNotFound = 500,
        hipErrorNotReady = 600,
        hipErrorIllegalAddress = 700,
        hipErrorLaunchOutOfResources = 701,
        hipErrorLaunchTimeOut = 702,
        hipErrorPeerAccessAlreadyEnabled = 704,
        hipErrorPeerAccessNotEnabled = 705,
        hipErrorSetOnActiveProcess = 708,
        hipErrorContextIsDestroyed = 709,
        hipErrorAssert = 710,
        hipErrorHostMemoryAlreadyRegistered = 712,
        hipErrorHostMemoryNotRegistered = 713,
        hipErrorLaunchFailure = 719,
        hipErrorCooperativeLaunchTooLarge = 720,
        hipErrorNotSupported = 801,
        hipErrorStreamCaptureUnsupported = 900,
        hipErrorStreamCaptureInvalidated = 901,
        hipErrorStreamCaptureMerge = 902,
        hipErrorStreamCaptureUnmatched = 903,
        hipErrorStreamCaptureUnjoined = 904,
        hipErrorStreamCaptureIsolation = 905,
        hipErrorStreamCaptureImplicit = 906,
        hipErrorCapturedEvent = 907,
        hipErrorStreamCaptureWrongThread = 908,
        hipErrorGraphExecUpdateFailure = 910,
        hipErrorInvalidChannelDescriptor = 911,
        hipErrorInvalidTexture = 912,
        hipErrorUnknown = 999,
        hipErrorRuntimeMemory = 1052,
        hipErrorRuntimeOther = 1053,
    }
    c_uint {
        hipStreamDefault = 0,
        hipStreamNonBlocking = 1,
        hipEventDefault = 0,
        hipEventDisableTiming = 2,
        hipHostMallocDefault = 0,
        hipHostMallocPortable = 1,
        hipStreamAddCaptureDependencies = 0,
        hipStreamSetCaptureDependencies = 1,
    }
    hipDeviceAttribute_t {
        hipDeviceAttributeIntegrated = 16,
        hipDeviceAttributeComputeCapabilityMajor = 23,
        hipDeviceAttributeMaxBlockDimX = 26,
        hipDeviceAttributeMaxBlockDimY = 27,
        hipDeviceAttributeMaxBlockDimZ = 28,
        hipDeviceAttributeMaxGridDimX = 29,
        hipDeviceAttributeMaxGridDimY = 30,
        hipDeviceAttributeMaxGridDimZ = 31,
        hipDeviceAttributeMaxThreadsPerBlock = 56,
        hipDeviceAttributeComputeCapabilityMinor = 61,
        hipDeviceAttributeMultiprocessorCount = 63,
        hipDeviceAttributePciBusId = 67,
        hipDeviceAttributePciDeviceId = 68,
        hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
        hipDeviceAttributeWarpSize = 87,
        hipDeviceAttributeMemoryPoolsSupported = 88,
        hipDeviceAttributeVirtualMemoryManagementSupported = 89,
        hipDeviceAttributeIsLargeBar = 10011,
    }
    hipFunction_attribute {
        HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
        HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
        HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
        HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
        HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    }
    hipFuncAttribute {
        hipFuncAttributeMaxDynamicSharedMemorySize = 8,
    }
    hipMemcpyKind {
        hipMemcpyHostToHost = 0,
        hipMemcpyHostToDevice = 1,
        hipMemcpyDeviceToHost = 2,
        hipMemcpyDeviceToDevice = 3,
        hipMemcpyDefault = 4,
    }
    hipStreamCaptureMode {
        hipStreamCaptureModeGlobal = 0,
        hipStreamCaptureModeThreadLocal = 1,
        hipStreamCaptureModeRelaxed = 2,
    }
    hipStreamCaptureStatus {
        hipStreamCaptureStatusNone = 0,
        hipStreamCaptureStatusActive = 1,
        hipStreamCaptureStatusInvalidated = 2,
    }
    hipGraphNodeType {
        hipGraphNodeTypeKernel = 0,
        hipGraphNodeTypeMemcpy = 1,
        hipGraphNodeTypeMemset = 2,
        hipGraphNodeTypeHost = 3,
        hipGraphNodeTypeGraph = 4,
        hipGraphNodeTypeEmpty = 5,
        hipGraphNodeTypeWaitEvent = 6,
        hipGraphNodeTypeEventRecord = 7,
        hipGraphNodeTypeMemAlloc = 10,
        hipGraphNodeTypeMemFree = 11,
    }
    hipGraphExecUpdateResult {
        hipGraphExecUpdateSuccess = 0,
        hipGraphExecUpdateError = 1,
        hipGraphExecUpdateErrorTopologyChanged = 2,
        hipGraphExecUpdateErrorNodeTypeChanged = 3,
    }
    hipMemPoolAttr {
        hipMemPoolAttrReleaseThreshold = 4,
        hipMemPoolAttrReservedMemCurrent = 5,
        hipMemPoolAttrUsedMemCurrent = 7,
    }
    hipMemAllocationType {
        hipMemAllocationTypePinned = 1,
    }
    hipMemAllocationHandleType {
        hipMemHandleTypeNone = 0,
    }
    hipMemLocationType {
        hipMemLocationTypeDevice = 1,
    }
    hiprtcResult {
        HIPRTC_SUCCESS = 0,
        HIPRTC_ERROR_INVALID_OPTION = 5,
        HIPRTC_ERROR_COMPILATION = 6,
        HIPRTC_ERROR_INTERNAL_ERROR = 11,
    }
}
