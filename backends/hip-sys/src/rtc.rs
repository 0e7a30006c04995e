//! hipRTC's functions, and the library that has them: one of its own from HIP 6 on, before that the runtime's.

#![expect(unsafe_code, reason = "a library's functions are called")]

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::{Path, PathBuf};

use graphreel_loader::{one_line, origin};

use crate::calls::symbol;
use crate::failure::{Answer, answer};
use crate::handle::hiprtcProgram;
use crate::library::{Candidates, LoadError, RTC_VARIABLE, Version};

macro_rules! table {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// hipRTC's functions, each a method of the name that C has for it.
        #[derive(Clone, Copy, Debug)]
        pub struct RtcCalls {
            $($name: unsafe extern "C" fn($($ty),*) -> c_uint,)*
            hiprtcGetErrorString: unsafe extern "C" fn(c_uint) -> *const c_char,
        }

        impl RtcCalls {
            /// The names, all of which it has to have.
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($name),)* "hiprtcGetErrorString"];

            fn find(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: symbol(library, concat!(stringify!($name), "\0"))?,)*
                    hiprtcGetErrorString: symbol(library, "hiprtcGetErrorString\0")?,
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
        }

        /// Every call with the types of its arguments, to be held against the header.
        #[cfg(test)]
        pub(crate) const SIGNATURES: &[(&str, &[&str])] = &[$((stringify!($name), &[$(stringify!($ty)),*]),)*];
    };
}

table! {
    hiprtcVersion(major: *mut c_int, minor: *mut c_int);
    hiprtcCreateProgram(
        program: *mut hiprtcProgram,
        source: *const c_char,
        name: *const c_char,
        headers: c_int,
        texts: *const *const c_char,
        names: *const *const c_char
    );
    hiprtcDestroyProgram(program: *mut hiprtcProgram);
    hiprtcCompileProgram(program: hiprtcProgram, count: c_int, options: *const *const c_char);
    hiprtcGetProgramLogSize(program: hiprtcProgram, bytes: *mut usize);
    hiprtcGetProgramLog(program: hiprtcProgram, log: *mut c_char);
    hiprtcGetCodeSize(program: hiprtcProgram, bytes: *mut usize);
    hiprtcGetCode(program: hiprtcProgram, code: *mut c_char);
}

impl RtcCalls {
    /// hipRTC's own name of a code.
    pub fn error_text(&self, code: c_uint) -> String {
        // SAFETY: the function takes any code.
        let text = unsafe { (self.hiprtcGetErrorString)(code) };
        if text.is_null() {
            return format!("code {code}");
        }
        // SAFETY: it gives a static text that ends with a zero byte.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// hipRTC, loaded. It is never unloaded.
#[derive(Clone, Debug)]
pub struct RtcLibrary {
    /// Its functions.
    pub calls: RtcCalls,
    /// Major and minor version of HIP, as it tells them.
    pub version: (c_int, c_int),
    /// The file that it came from, or the name that it was looked for by.
    pub file: PathBuf,
}

impl RtcLibrary {
    /// hipRTC for a runtime of this version: the file that `GRAPHREEL_HIPRTC_LIBRARY` names and no other; else the newest that is not
    /// newer than the runtime, which would not load its code; else the one that is in the runtime itself.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn load(runtime: Version, runtime_file: &Path) -> Result<Self, LoadError> {
        let candidates = Candidates::rtc(std::env::var_os(RTC_VARIABLE), runtime, runtime_file);
        Self::find(&candidates)
    }

    /// The file of that name and no other.
    ///
    /// # Errors
    ///
    /// Why it does not do.
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, LoadError> {
        Self::find(&Candidates::file(file.into(), "hipRTC"))
    }

    pub(crate) fn find(candidates: &Candidates) -> Result<Self, LoadError> {
        candidates.first(Self::check)
    }

    fn check(loaded: &libloading::Library, name: &Path) -> Result<Self, LoadError> {
        let calls = RtcCalls::find(loaded).map_err(|missing| LoadError::MissingSymbol {
            file: name.to_owned(),
            version: None,
            missing,
        })?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the call writes two numbers.
        let answer = unsafe { calls.hiprtcVersion(&raw mut major, &raw mut minor) };
        answer.map_err(|error| LoadError::Broken { file: name.to_owned(), why: one_line(&error.to_string()) })?;
        let file = origin(loaded, c"hiprtcVersion").unwrap_or_else(|| name.to_owned());
        tracing::info!(file = %file.display(), hip = format!("{major}.{minor}"), "hipRTC loaded");
        Ok(Self { calls, version: (major, minor), file })
    }
}
