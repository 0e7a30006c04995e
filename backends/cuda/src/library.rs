//! Loading NVIDIA's driver at run time, once, by its SONAME; and why there is none, in one line.
//!
//! Nothing of the driver is called before its version and the presence of every call that is used are known, so that no driver
//! makes a program panic.

#![expect(unsafe_code, reason = "a library is loaded, and asked for its version")]

use std::ffi::c_int;

use graphreel::sync::OnceLock;
use graphreel_loader::{Refused, origin};

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
        match unsafe { graphreel_loader::open(name.as_ref()) } {
            Ok(loaded) => return check(loaded, name),
            Err(Refused::Absent) => {}
            Err(Refused::Broken(why)) => {
                return Err(format!("{name} cannot be loaded, install NVIDIA's driver anew: {why}"));
            }
        }
    }
    let tried = names.first().copied().unwrap_or_default();
    Err(format!("no NVIDIA driver ({tried}): install it, or make it visible to this process or container"))
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
    // Links are followed: its name has the driver's version.
    let path = origin(&loaded, c"cuInit").unwrap_or_else(|| name.into());
    tracing::info!(path = %path.display(), cuda = version_text(version), "NVIDIA driver loaded");
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

#[cfg(all(test, target_os = "linux"))]
mod tests;
