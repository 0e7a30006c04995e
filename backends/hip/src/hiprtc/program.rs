//! One program of hipRTC's, from its text to its code.

#![expect(unsafe_code, reason = "a C library is called")]

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use graphreel_hip_sys::handle::hiprtcProgram;
use graphreel_hip_sys::{Answer, RtcCalls};

/// What is said where hipRTC says nothing.
const NO_LOG: &str = "hipRTC gave no message. Its log is empty where it does not know an option, an architecture or one of its own files; \
                      AMD_COMGR_EMIT_VERBOSE_LOGS=1 with AMD_COMGR_REDIRECT_LOGS=stderr makes its compiler say more";

/// A program of the library's, destroyed when it goes.
pub(super) struct Program<'a> {
    calls: &'a RtcCalls,
    handle: hiprtcProgram,
}

impl<'a> Program<'a> {
    /// A program from C++; `name` is what messages call it.
    pub(super) fn new(calls: &'a RtcCalls, source: &str, name: &str) -> Result<Self, String> {
        let (source, name) = (text(source)?, text(name)?);
        let mut handle: hiprtcProgram = ptr::null_mut();
        // SAFETY: both texts end with a zero byte and live through the call, which copies them; there are no headers.
        let answer = unsafe {
            calls.hiprtcCreateProgram(&raw mut handle, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        };
        checked(calls, answer).map(|()| Self { calls, handle })
    }

    pub(super) fn compile(&mut self, options: &[String]) -> Result<(), String> {
        let options: Vec<CString> = options.iter().map(|option| text(option)).collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).map_err(|error| error.to_string())?;
        // SAFETY: the program is alive, and `options` has `count` texts that end with a zero byte.
        let answer = unsafe { self.calls.hiprtcCompileProgram(self.handle, count, options.as_ptr()) };
        checked(self.calls, answer)
    }

    /// What the compiler said, without the zero byte at its end; a note where it said nothing.
    pub(super) fn log_or_note(&self) -> String {
        let mut count = 0;
        // SAFETY: the program is alive, and the pointer is to an integer that lives through the call.
        let answer = unsafe { self.calls.hiprtcGetProgramLogSize(self.handle, &raw mut count) };
        let mut bytes = vec![0u8; if answer.is_ok() { count } else { 0 }];
        if !bytes.is_empty() {
            // SAFETY: the program is alive, and the buffer has the size that the library asked for.
            let answer = unsafe { self.calls.hiprtcGetProgramLog(self.handle, bytes.as_mut_ptr().cast()) };
            if answer.is_err() {
                bytes.clear();
            }
        }
        let log = String::from_utf8_lossy(&bytes).trim_matches(['\0', '\n', ' ']).to_owned();
        if log.is_empty() { NO_LOG.to_owned() } else { log }
    }

    pub(super) fn code(&self) -> Result<Vec<u8>, String> {
        let mut count = 0;
        // SAFETY: the program is alive, and the pointer is to an integer that lives through the call.
        let answer = unsafe { self.calls.hiprtcGetCodeSize(self.handle, &raw mut count) };
        checked(self.calls, answer)?;
        let mut bytes = vec![0u8; count];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        // SAFETY: the program is alive, and the buffer has the size that the library asked for.
        let answer = unsafe { self.calls.hiprtcGetCode(self.handle, bytes.as_mut_ptr().cast()) };
        checked(self.calls, answer).map(|()| bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nobody has its handle after this. There is nobody to tell of a failure.
        let _ = unsafe { self.calls.hiprtcDestroyProgram(&raw mut self.handle) };
    }
}

fn checked(calls: &RtcCalls, answer: Answer) -> Result<(), String> {
    answer.map_err(|failure| format!("{}, {}", failure.call, calls.error_text(failure.code)))
}

fn text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|error| format!("a zero byte at {} of a text", error.nul_position()))
}
