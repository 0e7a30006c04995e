//! AMD's compiler, the library that hipRTC compiles with: which files it is, and which architectures it knows. hipRTC itself has no
//! such question, and several releases end the process when they are given a name that they do not know.

#![expect(unsafe_code, reason = "a library is loaded and asked")]

use std::ffi::{CStr, c_char, c_uint};
use std::path::{Path, PathBuf};

use graphreel_loader::{one_line, origin};

use crate::library::open;

/// What the library is called, newest first: hipRTC loads it by such a name.
#[cfg(not(windows))]
const NAMES: [&str; 2] = ["libamd_comgr.so.3", "libamd_comgr.so.2"];
#[cfg(windows)]
const NAMES: [&str; 2] = ["amd_comgr_3.dll", "amd_comgr_2.dll"];

/// What its names of architectures begin with.
const TRIPLE: &str = "amdgcn-amd-amdhsa--";

/// The compiler behind a hipRTC.
#[derive(Clone, Debug)]
pub struct Comgr {
    /// The files that its code is in: its own, and LLVM's where that is another. Empty where the system does not tell.
    pub files: Vec<PathBuf>,
    /// The architectures that it knows, as `gfx90a`; or why they cannot be told, in one line.
    pub architectures: Result<Vec<String>, String>,
}

impl Comgr {
    /// Of a hipRTC of that file.
    pub fn of(rtc: &Path) -> Self {
        let loaded = match load(rtc) {
            Ok(loaded) => loaded,
            Err(why) => return Self { files: Vec::new(), architectures: Err(why) },
        };
        let files = files(origin(&loaded, c"amd_comgr_get_isa_count"), origin(&loaded, c"LLVMContextCreate"));
        let architectures = architectures(&loaded);
        // Its state is hipRTC's, too, so it stays.
        std::mem::forget(loaded);
        Self { files, architectures }
    }
}

/// Each once: AMD's own builds have LLVM within.
fn files(own: Option<PathBuf>, llvm: Option<PathBuf>) -> Vec<PathBuf> {
    let llvm = llvm.filter(|llvm| Some(llvm) != own.as_ref());
    own.into_iter().chain(llvm).collect()
}

fn architectures(loaded: &libloading::Library) -> Result<Vec<String>, String> {
    type Count = unsafe extern "C" fn(*mut usize) -> c_uint;
    type Name = unsafe extern "C" fn(usize, *mut *const c_char) -> c_uint;
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
    if found.is_empty() { Err(format!("AMD's libamd_comgr answers {answer} and knows nothing")) } else { Ok(found) }
}

/// The one beside hipRTC, else the one that the loader finds. One that is broken is passed over, and told of where none is whole.
fn load(rtc: &Path) -> Result<libloading::Library, String> {
    let beside = rtc.parent().into_iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let beside = beside.filter(|file| file.is_absolute());
    let (mut tried, mut broken) = (Vec::new(), None);
    for file in beside.chain(NAMES.map(PathBuf::from)) {
        match open(&file, &mut tried) {
            Ok(Some(loaded)) => return Ok(loaded),
            Ok(None) => {}
            Err(error) => broken = broken.or(Some(one_line(&error.to_string()))),
        }
    }
    let absent = || format!("AMD's libamd_comgr is not there: install ROCm anew; tried {}", tried.join(", "));
    Err(broken.unwrap_or_else(absent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_its_own_file_and_that_of_llvm() {
        let (own, llvm) =
            (|| Some(PathBuf::from("/a/libamd_comgr.so.3")), || Some(PathBuf::from("/b/libLLVM.so.21.1")));
        assert_eq!(files(own(), llvm()), [own(), llvm()].map(Option::unwrap));
        assert_eq!(files(own(), own()), [own().unwrap()], "LLVM is within");
        assert_eq!(files(own(), None), [own().unwrap()]);
        assert!(files(None, None).is_empty());
    }
}
