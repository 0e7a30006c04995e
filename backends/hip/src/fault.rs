//! What a HIP result code means: the name, the kind of failure and how far it reaches, by AMD's documentation of
//! `hipError_t`. The one place that knows codes. Most numbers are those of CUDA's driver, 911, 912, 1052 and 1053 are not.
//!
//! A code is a number here, never an enum: a runtime that is newer than this table answers codes that it does not have, and an
//! unknown one counts as fatal to the context.

use graphreel::error::{DriverError, DriverErrorKind, FaultClass};
use graphreel::graph::DriverResult;
use graphreel_hip_sys::{Answer, Failure, constant};

/// The work asked about is not done.
pub(crate) const NOT_READY: i64 = constant::hipErrorNotReady as i64;
/// There is no device, or none is visible.
pub(crate) const NO_DEVICE: i64 = constant::hipErrorNoDevice as i64;
/// What some releases answer in its place.
pub(crate) const INVALID_DEVICE: i64 = constant::hipErrorInvalidDevice as i64;
/// What a call that answered no object is counted as.
const UNKNOWN: i64 = constant::hipErrorUnknown as i64;

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
/// A fault of a kernel or of the runtime: nothing that follows can be relied on, until the process is started anew.
const STICKY: Meaning = (DriverErrorKind::Lost, FaultClass::ContextFatal);
/// Hardware that went wrong.
const DEVICE: Meaning = (DriverErrorKind::Lost, FaultClass::DeviceFatal);
/// No driver for this process any more.
const GONE: Meaning = (DriverErrorKind::Lost, FaultClass::DriverGone);

macro_rules! codes {
    ($($name:ident $meaning:ident,)*) => {
        /// Every code of HIP 6.0 to 7.2, ascending.
        const CODES: &[(i64, &str, Meaning)] = &[$((constant::$name as i64, stringify!($name), $meaning),)*];
    };
}

codes! {
    hipErrorInvalidValue REFUSED,
    hipErrorOutOfMemory EXHAUSTED,
    hipErrorNotInitialized GONE,
    hipErrorDeinitialized GONE,
    hipErrorProfilerDisabled REFUSED,
    hipErrorProfilerNotInitialized REFUSED,
    hipErrorProfilerAlreadyStarted REFUSED,
    hipErrorProfilerAlreadyStopped REFUSED,
    hipErrorInvalidConfiguration REFUSED,
    hipErrorInvalidPitchValue REFUSED,
    hipErrorInvalidSymbol REFUSED,
    hipErrorInvalidDevicePointer REFUSED,
    hipErrorInvalidMemcpyDirection REFUSED,
    hipErrorInsufficientDriver GONE,
    hipErrorMissingConfiguration REFUSED,
    // An earlier launch went wrong, and nobody was told by its own call.
    hipErrorPriorLaunchFailure STICKY,
    hipErrorInvalidDeviceFunction REFUSED,
    hipErrorNoDevice GONE,
    // Indices are given only where a device is opened, bound or closed: one that was there is not.
    hipErrorInvalidDevice DEVICE,
    hipErrorInvalidImage REFUSED,
    // Threads are bound to a context that is held: it was destroyed behind our back.
    hipErrorInvalidContext STICKY,
    hipErrorContextAlreadyCurrent REFUSED,
    hipErrorMapFailed REFUSED,
    hipErrorUnmapFailed REFUSED,
    hipErrorArrayIsMapped REFUSED,
    hipErrorAlreadyMapped REFUSED,
    hipErrorNoBinaryForGpu REFUSED,
    hipErrorAlreadyAcquired REFUSED,
    hipErrorNotMapped REFUSED,
    hipErrorNotMappedAsArray REFUSED,
    hipErrorNotMappedAsPointer REFUSED,
    hipErrorECCNotCorrectable DEVICE,
    hipErrorUnsupportedLimit REFUSED,
    hipErrorContextAlreadyInUse REFUSED,
    hipErrorPeerAccessUnsupported REFUSED,
    hipErrorInvalidKernelFile REFUSED,
    hipErrorInvalidGraphicsContext REFUSED,
    hipErrorInvalidSource REFUSED,
    hipErrorFileNotFound REFUSED,
    hipErrorSharedObjectSymbolNotFound REFUSED,
    hipErrorSharedObjectInitFailed REFUSED,
    hipErrorOperatingSystem REFUSED,
    hipErrorInvalidHandle REFUSED,
    hipErrorIllegalState REFUSED,
    hipErrorNotFound REFUSED,
    hipErrorNotReady PENDING,
    hipErrorIllegalAddress STICKY,
    hipErrorLaunchOutOfResources REFUSED,
    hipErrorLaunchTimeOut STICKY,
    hipErrorPeerAccessAlreadyEnabled REFUSED,
    hipErrorPeerAccessNotEnabled REFUSED,
    hipErrorSetOnActiveProcess REFUSED,
    hipErrorContextIsDestroyed STICKY,
    hipErrorAssert STICKY,
    hipErrorHostMemoryAlreadyRegistered REFUSED,
    hipErrorHostMemoryNotRegistered REFUSED,
    hipErrorLaunchFailure STICKY,
    hipErrorCooperativeLaunchTooLarge REFUSED,
    hipErrorNotSupported REFUSED,
    hipErrorStreamCaptureUnsupported CAPTURE,
    hipErrorStreamCaptureInvalidated CAPTURE,
    hipErrorStreamCaptureMerge CAPTURE,
    // The end of another stream's capture, or from another thread: that capture goes on.
    hipErrorStreamCaptureUnmatched REFUSED,
    hipErrorStreamCaptureUnjoined CAPTURE,
    hipErrorStreamCaptureIsolation CAPTURE,
    hipErrorStreamCaptureImplicit CAPTURE,
    hipErrorCapturedEvent CAPTURE,
    hipErrorStreamCaptureWrongThread REFUSED,
    hipErrorGraphExecUpdateFailure REFUSED,
    hipErrorInvalidChannelDescriptor REFUSED,
    hipErrorInvalidTexture REFUSED,
    hipErrorUnknown STICKY,
    // The layer below the runtime failed, which is not said to be survived.
    hipErrorRuntimeMemory STICKY,
    hipErrorRuntimeOther STICKY,
}

/// The answer of a call.
pub(crate) fn answer(answer: Answer) -> DriverResult {
    answer.map_err(|Failure { call, code }| failure(call, i64::from(code)))
}

/// A call that said it worked and gave nothing.
pub(crate) fn nothing(call: &'static str) -> DriverError {
    DriverError { name: "success without an object".to_owned(), ..failure(call, UNKNOWN) }
}

/// The failure of `call` by `code`.
pub(crate) fn failure(call: &'static str, code: i64) -> DriverError {
    let found = CODES.binary_search_by_key(&code, |(known, ..)| *known).map(|index| CODES[index]);
    let (name, (kind, class)) = match found {
        Ok((_, name, meaning)) => (name.to_owned(), meaning),
        Err(_) => ("unknown to this version".to_owned(), STICKY),
    };
    DriverError { call, code, name, kind, class, log: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: i64) -> Meaning {
        let error = failure("hipTest", code);
        (error.kind, error.class)
    }

    #[test]
    fn codes_are_found_by_search_and_have_names() {
        assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0), "the table is searched as a sorted one");
        assert_eq!(CODES.len(), 74);
        for (code, name, meaning) in CODES {
            let error = failure("hipTest", *code);
            assert_eq!((error.name.as_str(), of(*code)), (*name, *meaning), "{code}");
        }
    }

    #[test]
    fn faults_of_kernels_end_the_context_and_refusals_do_not() {
        for code in [53, 201, 700, 702, 709, 710, 719, 999, 1052, 1053] {
            assert_eq!(of(code), STICKY, "{code}");
        }
        for code in [1, 9, 98, 200, 209, 218, 400, 401, 500, 701, 720, 801, 903, 908, 910, 911, 912] {
            assert_eq!(of(code), REFUSED, "{code}");
        }
        assert_eq!([of(2), of(NOT_READY)], [EXHAUSTED, PENDING]);
        assert_eq!([of(214), of(101)], [DEVICE; 2]);
        assert_eq!([of(3), of(4), of(35), of(NO_DEVICE)], [GONE; 4]);
        for code in [900, 901, 902, 904, 905, 906, 907] {
            assert_eq!(of(code), CAPTURE, "{code}");
        }
    }

    #[test]
    fn a_code_of_a_later_runtime_is_fatal_to_the_context() {
        for code in [10, 722, 4242, -1] {
            let error = failure("hipTest", code);
            assert_eq!(((error.kind, error.class), error.code), (STICKY, code));
            assert!(error.to_string().contains(&code.to_string()), "{error}");
        }
    }

    #[test]
    fn zero_is_no_failure() {
        assert_eq!(answer(Ok(())), Ok(()));
        let error = answer(Err(Failure { call: "hipTest", code: 2 })).unwrap_err();
        assert_eq!((error.kind, error.call), (DriverErrorKind::OutOfMemory, "hipTest"));
        assert!(nothing("hipTest").to_string().contains("hipTest"));
    }
}
