//! Loading NVIDIA's driver at run time, once, by its SONAME; and why there is none, in one line.
//!
//! Nothing of the driver is called before its version and the presence of every call that is used are known, so that no driver
//! makes a program panic.

#![expect(unsafe_code, reason = "a library is loaded, and asked for its version")]

use std::ffi::c_int;

use graphreel::sync::OnceLock;

use crate::calls::Calls;
use crate::fault;

/// The oldest driver that is served, as the driver counts: CUDA 12.0.
const VERSION_MIN: c_int = 12_000;

/// What the driver's library is called, best name first. On Linux the plain name is the development one, which may be the
/// toolkit's stub.
#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// The driver, loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library {
    pub(crate) calls: Calls,
    version: c_int,
}

impl Library {
    /// The release of CUDA that the driver serves: `13.0`.
    pub(crate) fn version(&self) -> String {
        version_text(self.version)
    }

    /// As numbers: (13, 0).
    pub(crate) fn release(&self) -> (u32, u32) {
        let number = |value: c_int| u32::try_from(value).unwrap_or(0);
        (number(self.version / 1000), number(self.version % 1000 / 10))
    }
}

/// The driver; loaded by the first call, and never unloaded, since its threads may run until the process ends.
///
/// # Errors
///
/// Why there is none, in one line with the remedy.
pub(crate) fn library() -> Result<&'static Library, &'static str> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    LOADED.get_or_init(|| load(NAMES)).as_ref().map_err(String::as_str)
}

fn version_text(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Load the first library that is there under one of `names`.
fn load(names: &[&str]) -> Result<Library, String> {
    for name in names {
        // SAFETY: NVIDIA's driver may be loaded and initialised at any time and on any thread.
        match unsafe { libloading::Library::new(name) } {
            Ok(loaded) => return check(loaded, name),
            Err(error) if is_absent(&error, name) => {}
            Err(error) => {
                return Err(format!("{name} cannot be loaded, install NVIDIA's driver anew: {}", cause(&error)));
            }
        }
    }
    let tried = names.first().copied().unwrap_or_default();
    Err(format!("no NVIDIA driver ({tried}): install it, or make it visible to this process or container"))
}

/// Whether it is `name` itself that was not found: a driver that lacks a library of its own is there, and broken.
fn is_absent(error: &libloading::Error, name: &str) -> bool {
    let text = cause(error);
    // Loaders of Linux and musl, of macOS, and of Windows by the number of its error.
    let unix = text.contains(name) && (text.contains("No such file or directory") || text.contains("no such file"));
    let other_first = !text.starts_with(name) && text.contains(": cannot open shared object file");
    (unix && !other_first) || (cfg!(windows) && text.contains("os error 126"))
}

/// What the loader said, as one line.
fn cause(error: &libloading::Error) -> String {
    let text = match error {
        libloading::Error::DlOpen { desc } => format!("{desc:?}").trim_matches('"').to_owned(),
        other => std::error::Error::source(other).map_or_else(|| other.to_string(), ToString::to_string),
    };
    text.lines().collect::<Vec<_>>().join(" ")
}

/// A library that can be served: its version first, which says more than a name that an old one lacks.
fn check(loaded: libloading::Library, name: &str) -> Result<Library, String> {
    let version = version(&loaded).map_err(|why| format!("{name} is no NVIDIA driver: {why}"))?;
    if version < VERSION_MIN {
        let (found, least) = (version_text(version), version_text(VERSION_MIN));
        return Err(format!(
            "the NVIDIA driver serves CUDA {found}, and {least} is the oldest that will do: update it"
        ));
    }
    let calls = Calls::find(&loaded).map_err(|call| {
        format!("the NVIDIA driver, for CUDA {}, lacks {call}: install it anew", version_text(version))
    })?;
    let path = place(&loaded).unwrap_or_else(|| name.to_owned());
    tracing::info!(path, cuda = version_text(version), "NVIDIA driver loaded");
    std::mem::forget(loaded);
    Ok(Library { calls, version })
}

/// What `cuDriverGetVersion` answers, which needs no initialisation.
fn version(loaded: &libloading::Library) -> Result<c_int, String> {
    type Call = unsafe extern "system" fn(*mut c_int) -> std::ffi::c_uint;
    // SAFETY: cuda.h declares the function with this type.
    let call = unsafe { loaded.get::<Call>(b"cuDriverGetVersion\0") };
    let call = call.map_err(|_| "it lacks cuDriverGetVersion".to_owned())?;
    let mut version = 0;
    // SAFETY: the call writes one number, and the library is loaded.
    let code = unsafe { call(&raw mut version) };
    fault::answer("cuDriverGetVersion", code).map_err(|error| error.to_string())?;
    Ok(version)
}

/// The file that the library came from, links followed: its name has the driver's version.
#[cfg(unix)]
fn place(loaded: &libloading::Library) -> Option<String> {
    // SAFETY: the symbol's address is taken, and it is not called.
    let symbol = unsafe { loaded.get::<unsafe extern "C" fn()>(b"cuInit\0") }.ok()?;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is of a loaded library, and the structure is one for the call to fill.
    let found = unsafe { libc::dladdr(*symbol as *const libc::c_void, info.as_mut_ptr()) };
    // SAFETY: all zeros are a value of this structure, and the call only fills it.
    let info = unsafe { info.assume_init() };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own name of a library that stays loaded, ended by a zero byte.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    Some(std::fs::canonicalize(&name).map_or(name, |path| path.display().to_string()))
}

#[cfg(not(unix))]
fn place(_loaded: &libloading::Library) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
