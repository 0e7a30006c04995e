//! Which architectures AMD's compiler knows, asked of the library that hipRTC compiles with. hipRTC itself has no such question,
//! and several releases end the process when they are given a name that they do not know.

#![expect(unsafe_code, reason = "a library is loaded and asked")]

use std::ffi::{CStr, c_char, c_uint};
use std::path::{Path, PathBuf};

use crate::library::{cause, open};

/// What the library is called, newest first: hipRTC loads it by such a name.
#[cfg(not(windows))]
const NAMES: [&str; 2] = ["libamd_comgr.so.3", "libamd_comgr.so.2"];
#[cfg(windows)]
const NAMES: [&str; 2] = ["amd_comgr_3.dll", "amd_comgr_2.dll"];

/// What its names of architectures begin with.
const TRIPLE: &str = "amdgcn-amd-amdhsa--";

/// The architectures that the compiler behind a hipRTC of that file knows, as `gfx90a`.
///
/// # Errors
///
/// Why they cannot be told, in one line.
pub fn architectures(rtc: &Path) -> Result<Vec<String>, String> {
    type Count = unsafe extern "C" fn(*mut usize) -> c_uint;
    type Name = unsafe extern "C" fn(usize, *mut *const c_char) -> c_uint;
    let loaded = load(rtc)?;
    // SAFETY: AMD's header declares the function with this type.
    let count = unsafe { loaded.get::<Count>(b"amd_comgr_get_isa_count\0") };
    // SAFETY: as above.
    let name = unsafe { loaded.get::<Name>(b"amd_comgr_get_isa_name\0") };
    let (Ok(count), Ok(name)) = (count, name) else {
        return Err("AMD's libamd_comgr does not tell what it knows".to_owned());
    };
    let mut number = 0;
    // SAFETY: it writes one number.
    let answer = unsafe { count(&raw mut number) };
    let mut found = Vec::new();
    for index in 0..if answer == 0 { number } else { 0 } {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: it writes one pointer.
        let answer = unsafe { name(index, &raw mut text) };
        if answer == 0 && !text.is_null() {
            // SAFETY: it is a static text that ends with a zero byte.
            let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
            found.push(text.strip_prefix(TRIPLE).unwrap_or(&text).to_owned());
        }
    }
    // Its state is hipRTC's, too, so it stays.
    std::mem::forget(loaded);
    if found.is_empty() { Err(format!("AMD's libamd_comgr answers {answer} and knows nothing")) } else { Ok(found) }
}

/// The one beside hipRTC, else the one that the loader finds.
fn load(rtc: &Path) -> Result<libloading::Library, String> {
    let beside = rtc.parent().into_iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let beside = beside.filter(|file| file.is_absolute());
    let mut tried = Vec::new();
    for file in beside.chain(NAMES.map(PathBuf::from)) {
        match open(&file, &mut tried) {
            Ok(Some(loaded)) => return Ok(loaded),
            Ok(None) => {}
            Err(error) => return Err(cause(&error.to_string())),
        }
    }
    Err(format!("AMD's libamd_comgr is not there: install ROCm anew; tried {}", tried.join(", ")))
}
