//! What a CUDA result code means: the name, the kind of failure and how far it reaches, by NVIDIA's documentation of
//! `CUresult`. The one place that knows codes.
//!
//! A code is a number here, never an enum: a driver that is newer than this table answers codes that it does not have, and an
//! unknown one counts as fatal to the context.

use std::ffi::c_uint;

use graphreel::error::{DriverError, DriverErrorKind, FaultClass};
use graphreel::graph::DriverResult;

/// The work asked about is not done.
pub(crate) const NOT_READY: i64 = 600;
/// The driver is NVIDIA's toolkit stub, which has no device.
pub(crate) const STUB_LIBRARY: i64 = 34;
/// There is no device, or none is visible.
pub(crate) const NO_DEVICE: i64 = 100;
/// Parts of the driver that do not fit each other.
pub(crate) const DRIVER_MISMATCH: i64 = 803;
/// What a call that answered no object is counted as.
const UNKNOWN: i64 = 999;

/// What a code means.
type Meaning = (DriverErrorKind, FaultClass);

/// Only this call, which did nothing.
const REFUSED: Meaning = (DriverErrorKind::Refused, FaultClass::CallLocal);
/// No memory; what there was is as it was.
const EXHAUSTED: Meaning = (DriverErrorKind::OutOfMemory, FaultClass::CallLocal);
/// An answer more than a failure.
const PENDING: Meaning = (DriverErrorKind::NotReady, FaultClass::CallLocal);
/// The capture of a stream is broken; the context is whole.
const CAPTURE: Meaning = (DriverErrorKind::CaptureBroken, FaultClass::CallLocal);
/// The documentation: every further call answers the same, until the process is started anew.
const STICKY: Meaning = (DriverErrorKind::Lost, FaultClass::ContextFatal);
/// Hardware that went wrong.
const DEVICE: Meaning = (DriverErrorKind::Lost, FaultClass::DeviceFatal);
/// No driver for this process any more.
const GONE: Meaning = (DriverErrorKind::Lost, FaultClass::DriverGone);

/// Every code up to CUDA 13.4, ascending, with its name without `CUDA_ERROR_`.
const CODES: [(i64, &str, Meaning); 105] = [
    (1, "INVALID_VALUE", REFUSED),
    (2, "OUT_OF_MEMORY", EXHAUSTED),
    (3, "NOT_INITIALIZED", GONE),
    (4, "DEINITIALIZED", GONE),
    (5, "PROFILER_DISABLED", REFUSED),
    (6, "PROFILER_NOT_INITIALIZED", REFUSED),
    (7, "PROFILER_ALREADY_STARTED", REFUSED),
    (8, "PROFILER_ALREADY_STOPPED", REFUSED),
    (STUB_LIBRARY, "STUB_LIBRARY", GONE),
    (36, "CALL_REQUIRES_NEWER_DRIVER", REFUSED),
    // Another process has it for itself: an answer to opening it.
    (46, "DEVICE_UNAVAILABLE", REFUSED),
    (47, "MULTICAST_RESOURCE_FULL", EXHAUSTED),
    (NO_DEVICE, "NO_DEVICE", GONE),
    // Ordinals are given only where a device is opened or closed: one that was there is not.
    (101, "INVALID_DEVICE", DEVICE),
    (102, "DEVICE_NOT_LICENSED", REFUSED),
    (200, "INVALID_IMAGE", REFUSED),
    // Threads are bound to a context that is held: it was destroyed behind our back.
    (201, "INVALID_CONTEXT", STICKY),
    (202, "CONTEXT_ALREADY_CURRENT", REFUSED),
    (205, "MAP_FAILED", REFUSED),
    (206, "UNMAP_FAILED", REFUSED),
    (207, "ARRAY_IS_MAPPED", REFUSED),
    (208, "ALREADY_MAPPED", REFUSED),
    (209, "NO_BINARY_FOR_GPU", REFUSED),
    (210, "ALREADY_ACQUIRED", REFUSED),
    (211, "NOT_MAPPED", REFUSED),
    (212, "NOT_MAPPED_AS_ARRAY", REFUSED),
    (213, "NOT_MAPPED_AS_POINTER", REFUSED),
    (214, "ECC_UNCORRECTABLE", DEVICE),
    (215, "UNSUPPORTED_LIMIT", REFUSED),
    (216, "CONTEXT_ALREADY_IN_USE", REFUSED),
    (217, "PEER_ACCESS_UNSUPPORTED", REFUSED),
    (218, "INVALID_PTX", REFUSED),
    (219, "INVALID_GRAPHICS_CONTEXT", REFUSED),
    (220, "NVLINK_UNCORRECTABLE", DEVICE),
    (221, "JIT_COMPILER_NOT_FOUND", REFUSED),
    (222, "UNSUPPORTED_PTX_VERSION", REFUSED),
    (223, "JIT_COMPILATION_DISABLED", REFUSED),
    (224, "UNSUPPORTED_EXEC_AFFINITY", REFUSED),
    (225, "UNSUPPORTED_DEVSIDE_SYNC", REFUSED),
    // Hardware again, but kept within this process.
    (226, "CONTAINED", STICKY),
    (227, "INSUFFICIENT_LOADER_VERSION", REFUSED),
    (300, "INVALID_SOURCE", REFUSED),
    (301, "FILE_NOT_FOUND", REFUSED),
    (302, "SHARED_OBJECT_SYMBOL_NOT_FOUND", REFUSED),
    (303, "SHARED_OBJECT_INIT_FAILED", REFUSED),
    (304, "OPERATING_SYSTEM", REFUSED),
    (400, "INVALID_HANDLE", REFUSED),
    (401, "ILLEGAL_STATE", REFUSED),
    (402, "LOSSY_QUERY", REFUSED),
    (500, "NOT_FOUND", REFUSED),
    (NOT_READY, "NOT_READY", PENDING),
    (700, "ILLEGAL_ADDRESS", STICKY),
    (701, "LAUNCH_OUT_OF_RESOURCES", REFUSED),
    (702, "LAUNCH_TIMEOUT", STICKY),
    (703, "LAUNCH_INCOMPATIBLE_TEXTURING", REFUSED),
    (704, "PEER_ACCESS_ALREADY_ENABLED", REFUSED),
    (705, "PEER_ACCESS_NOT_ENABLED", REFUSED),
    (708, "PRIMARY_CONTEXT_ACTIVE", REFUSED),
    (709, "CONTEXT_IS_DESTROYED", STICKY),
    (710, "ASSERT", STICKY),
    (711, "TOO_MANY_PEERS", REFUSED),
    (712, "HOST_MEMORY_ALREADY_REGISTERED", REFUSED),
    (713, "HOST_MEMORY_NOT_REGISTERED", REFUSED),
    (714, "HARDWARE_STACK_ERROR", STICKY),
    (715, "ILLEGAL_INSTRUCTION", STICKY),
    (716, "MISALIGNED_ADDRESS", STICKY),
    (717, "INVALID_ADDRESS_SPACE", STICKY),
    (718, "INVALID_PC", STICKY),
    (719, "LAUNCH_FAILED", STICKY),
    (720, "COOPERATIVE_LAUNCH_TOO_LARGE", REFUSED),
    (721, "TENSOR_MEMORY_LEAK", STICKY),
    (800, "NOT_PERMITTED", REFUSED),
    (801, "NOT_SUPPORTED", REFUSED),
    (802, "SYSTEM_NOT_READY", REFUSED),
    (DRIVER_MISMATCH, "SYSTEM_DRIVER_MISMATCH", GONE),
    (804, "COMPAT_NOT_SUPPORTED_ON_DEVICE", GONE),
    (805, "MPS_CONNECTION_FAILED", GONE),
    (806, "MPS_RPC_FAILURE", GONE),
    (807, "MPS_SERVER_NOT_READY", REFUSED),
    (808, "MPS_MAX_CLIENTS_REACHED", REFUSED),
    (809, "MPS_MAX_CONNECTIONS_REACHED", REFUSED),
    (810, "MPS_CLIENT_TERMINATED", GONE),
    (811, "CDP_NOT_SUPPORTED", REFUSED),
    (812, "CDP_VERSION_MISMATCH", REFUSED),
    (900, "STREAM_CAPTURE_UNSUPPORTED", CAPTURE),
    (901, "STREAM_CAPTURE_INVALIDATED", CAPTURE),
    (902, "STREAM_CAPTURE_MERGE", CAPTURE),
    // The end of another stream's capture, or from another thread: that capture goes on.
    (903, "STREAM_CAPTURE_UNMATCHED", REFUSED),
    (904, "STREAM_CAPTURE_UNJOINED", CAPTURE),
    (905, "STREAM_CAPTURE_ISOLATION", CAPTURE),
    (906, "STREAM_CAPTURE_IMPLICIT", CAPTURE),
    (907, "CAPTURED_EVENT", CAPTURE),
    (908, "STREAM_CAPTURE_WRONG_THREAD", REFUSED),
    (909, "TIMEOUT", REFUSED),
    (910, "GRAPH_EXEC_UPDATE_FAILURE", REFUSED),
    (911, "EXTERNAL_DEVICE", STICKY),
    (912, "INVALID_CLUSTER_SIZE", REFUSED),
    (913, "FUNCTION_NOT_LOADED", REFUSED),
    (914, "INVALID_RESOURCE_TYPE", REFUSED),
    (915, "INVALID_RESOURCE_CONFIGURATION", REFUSED),
    (916, "KEY_ROTATION", REFUSED),
    (917, "STREAM_DETACHED", REFUSED),
    (918, "GRAPH_RECAPTURE_FAILURE", REFUSED),
    (919, "FABRIC_NOT_READY", REFUSED),
    (UNKNOWN, "UNKNOWN", STICKY),
];

/// The answer of a call.
pub(crate) fn answer(call: &'static str, code: c_uint) -> DriverResult {
    if code == 0 { Ok(()) } else { Err(failure(call, i64::from(code))) }
}

/// A call that said it worked and gave nothing.
pub(crate) fn nothing(call: &'static str) -> DriverError {
    DriverError { name: "success without an object".to_owned(), ..failure(call, UNKNOWN) }
}

/// What the driver's compiler wrote in `buffer`, up to its zero byte; `None` for nothing.
pub(crate) fn log(buffer: &[u8]) -> Option<Box<str>> {
    let len = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    let text = String::from_utf8_lossy(&buffer[..len]);
    Some(text.trim_end()).filter(|text| !text.is_empty()).map(Into::into)
}

/// The failure of `call` by `code`.
pub(crate) fn failure(call: &'static str, code: i64) -> DriverError {
    let found = CODES.binary_search_by_key(&code, |(known, ..)| *known).map(|index| CODES[index]);
    let (name, (kind, class)) = match found {
        Ok((_, name, meaning)) => (format!("CUDA_ERROR_{name}"), meaning),
        Err(_) => ("unknown to this version".to_owned(), STICKY),
    };
    DriverError { call, code, name, kind, class, log: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: i64) -> Meaning {
        let error = failure("cuTest", code);
        (error.kind, error.class)
    }

    #[test]
    fn codes_are_found_by_search_and_have_names() {
        assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0), "the table is searched as a sorted one");
        for (code, name, meaning) in CODES {
            let error = failure("cuTest", code);
            assert_eq!((error.name.strip_prefix("CUDA_ERROR_"), of(code)), (Some(name), meaning), "{code}");
            assert!(name.chars().all(|c| c.is_ascii_uppercase() || c == '_') && !name.starts_with("CUDA"), "{name}");
        }
    }

    #[test]
    fn faults_of_kernels_end_the_context_and_refusals_do_not() {
        for code in [700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 911, 999] {
            assert_eq!(of(code), STICKY, "{code}");
        }
        for code in [1, 200, 209, 218, 400, 401, 500, 701, 720, 800, 801, 903, 908, 910] {
            assert_eq!(of(code), REFUSED, "{code}");
        }
        assert_eq!([of(2), of(NOT_READY)], [EXHAUSTED, PENDING]);
        assert_eq!([of(214), of(220), of(101)], [DEVICE; 3]);
        assert_eq!([of(3), of(4), of(NO_DEVICE), of(STUB_LIBRARY), of(DRIVER_MISMATCH)], [GONE; 5]);
        for code in [900, 901, 902, 904, 905, 906, 907] {
            assert_eq!(of(code), CAPTURE, "{code}");
        }
    }

    #[test]
    fn a_code_of_a_later_driver_is_fatal_to_the_context() {
        for code in [9, 722, 4242, -1] {
            let error = failure("cuTest", code);
            assert_eq!(((error.kind, error.class), error.code), (STICKY, code));
            assert!(error.to_string().contains(&code.to_string()), "{error}");
        }
    }

    #[test]
    fn a_log_ends_at_its_zero_byte() {
        assert_eq!(log(b"ptxas, line 3; fatal\n\0rest").as_deref(), Some("ptxas, line 3; fatal"));
        assert_eq!(log(b"cut").as_deref(), Some("cut"));
        assert_eq!([log(&[]), log(&[0; 4]), log(b" \n\0")], [None, None, None]);
    }

    #[test]
    fn zero_is_no_failure() {
        assert_eq!(answer("cuTest", 0), Ok(()));
        assert_eq!(answer("cuTest", 2).unwrap_err().kind, DriverErrorKind::OutOfMemory);
        assert!(nothing("cuTest").to_string().contains("cuTest"));
    }
}
