//! Which file a loaded library came from: it goes to the log, and tells one release from another.

use std::ffi::CStr;
use std::path::PathBuf;

/// The file that the function of that name is in, links followed: the library's own, or one that it was linked with. `None` where
/// there is no such function or the system does not tell.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the loader is asked")]
pub fn origin(library: &libloading::Library, name: &CStr) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    // SAFETY: the symbol's address is taken, and it is not called.
    let symbol = unsafe { library.get::<unsafe extern "C" fn()>(name.to_bytes_with_nul()) }.ok()?;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is of a loaded library, and the structure is one for the call to fill.
    let found = unsafe { libc::dladdr(*symbol as *const libc::c_void, info.as_mut_ptr()) };
    // SAFETY: all zeros are a value of this structure, and the call only fills it.
    let info = unsafe { info.assume_init() };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own name of a library that is loaded, ended by a zero byte.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    Some(std::fs::canonicalize(&path).unwrap_or(path))
}

/// Not told here.
#[cfg(not(unix))]
pub fn origin(_library: &libloading::Library, _name: &CStr) -> Option<PathBuf> {
    None
}
