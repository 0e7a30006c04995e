//! The functions of NVRTC that hipRTC's need, loaded at run time.
#![expect(unsafe_code, reason = "a library is loaded and called")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::iter::once;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::OnceLock;

use graphreel_hip_sys::constant::HIPRTC_ERROR_INVALID_OPTION;
use graphreel_hip_sys::handle::hiprtcResult;

use crate::cuda::release;

/// Names a file in place of those below, as it does for the CUDA backend.
const VARIABLE: &str = "GRAPHREEL_NVRTC";

/// Names of the library, newest first, with the release of CUDA that they belong to.
const SONAMES: [(c_int, &str); 2] = [(13, "libnvrtc.so.13"), (12, "libnvrtc.so.12")];

/// Where a toolkit puts it, beside the folder that `CUDA_PATH` names.
const FOLDERS: [&str; 2] = ["/usr/local/cuda/lib64", "/opt/cuda/lib64"];

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> hiprtcResult;
type SizeOf = unsafe extern "C" fn(Handle, *mut usize) -> hiprtcResult;
type BytesOf = unsafe extern "C" fn(Handle, *mut c_char) -> hiprtcResult;

/// NVRTC, never unloaded.
pub(super) struct Nvrtc {
    create: Create,
    destroy: unsafe extern "C" fn(*mut Handle) -> hiprtcResult,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> hiprtcResult,
    log_size: SizeOf,
    log: BytesOf,
    cubin_size: SizeOf,
    cubin: BytesOf,
}

/// NVRTC, or why there is none.
pub(super) fn nvrtc() -> &'static Result<Nvrtc, String> {
    static LOADED: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
    LOADED.get_or_init(load)
}

/// Where it may be: none that is newer than the driver, which would not load its code.
fn candidates(driver: Option<c_int>, toolkit: Option<PathBuf>) -> Vec<PathBuf> {
    let toolkit = toolkit.map(|toolkit| toolkit.join("lib64"));
    let folders: Vec<PathBuf> = toolkit.into_iter().chain(FOLDERS.map(PathBuf::from)).collect();
    let fitting = SONAMES.iter().filter(|(major, _)| driver.is_none_or(|driver| *major <= driver));
    fitting
        .flat_map(|(_, name)| once(PathBuf::from(name)).chain(folders.iter().map(move |folder| folder.join(name))))
        .collect()
}

fn load() -> Result<Nvrtc, String> {
    let set = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let files = set(VARIABLE).map_or_else(|| candidates(release(), set("CUDA_PATH")), |named| vec![named]);
    // SAFETY: NVRTC's initialisers only set up its own state.
    let library = files.iter().find_map(|file| unsafe { libloading::Library::new(file) }.ok());
    let library = library.ok_or_else(|| {
        let tried: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        format!("NVRTC is not there: install it, or let {VARIABLE} name the file; tried {}", tried.join(", "))
    })?;
    let nvrtc = Nvrtc {
        create: symbol(&library, c"nvrtcCreateProgram")?,
        destroy: symbol(&library, c"nvrtcDestroyProgram")?,
        compile: symbol(&library, c"nvrtcCompileProgram")?,
        log_size: symbol(&library, c"nvrtcGetProgramLogSize")?,
        log: symbol(&library, c"nvrtcGetProgramLog")?,
        cubin_size: symbol(&library, c"nvrtcGetCUBINSize")?,
        cubin: symbol(&library, c"nvrtcGetCUBIN")?,
    };
    std::mem::forget(library);
    Ok(nvrtc)
}

fn symbol<T: Copy>(library: &libloading::Library, name: &CStr) -> Result<T, String> {
    // SAFETY: each field has the type that nvrtc.h declares for the name it is loaded by.
    let found = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    found.map(|found| *found).map_err(|_| format!("NVRTC lacks {}", name.to_string_lossy()))
}

/// A program of NVRTC's, destroyed when it goes.
pub(super) struct Program<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl<'a> Program<'a> {
    pub(super) fn new(
        nvrtc: &'a Nvrtc,
        text: &CStr,
        name: &CStr,
        headers: &[(CString, CString)],
    ) -> Result<Self, String> {
        let texts: Vec<*const c_char> = headers.iter().map(|(text, _)| text.as_ptr()).collect();
        let names: Vec<*const c_char> = headers.iter().map(|(_, name)| name.as_ptr()).collect();
        let count = c_int::try_from(headers.len()).map_err(|error| error.to_string())?;
        let mut handle = null_mut();
        let (text, name) = (text.as_ptr(), name.as_ptr());
        // SAFETY: all texts end with a zero byte and live through the call, which copies them.
        match unsafe { (nvrtc.create)(&raw mut handle, text, name, count, texts.as_ptr(), names.as_ptr()) } {
            0 => Ok(Self { nvrtc, handle }),
            code => Err(format!("nvrtcCreateProgram answers {code}")),
        }
    }

    pub(super) fn compile(&self, options: &[String]) -> hiprtcResult {
        let options: Result<Vec<CString>, _> = options.iter().map(|option| CString::new(option.as_str())).collect();
        let Ok(options) = options else { return HIPRTC_ERROR_INVALID_OPTION };
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let Ok(count) = c_int::try_from(options.len()) else { return HIPRTC_ERROR_INVALID_OPTION };
        // SAFETY: the program is alive, and there are so many texts.
        unsafe { (self.nvrtc.compile)(self.handle, count, options.as_ptr()) }
    }

    /// What the compiler said, without the zero byte at its end.
    pub(super) fn log(&self) -> Vec<u8> {
        let mut log = self.bytes(self.nvrtc.log_size, self.nvrtc.log).unwrap_or_default();
        log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(log.len()));
        log
    }

    pub(super) fn cubin(&self) -> Result<Vec<u8>, String> {
        self.bytes(self.nvrtc.cubin_size, self.nvrtc.cubin)
    }

    fn bytes(&self, size: SizeOf, get: BytesOf) -> Result<Vec<u8>, String> {
        let told = |code| if code == 0 { Ok(()) } else { Err(format!("NVRTC answers {code}")) };
        let mut count = 0;
        // SAFETY: the program is alive; the call writes one number.
        told(unsafe { size(self.handle, &raw mut count) })?;
        let mut bytes = vec![0; count];
        // SAFETY: the program is alive, and there is room for so many bytes.
        told(unsafe { get(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nobody has its handle after this.
        unsafe { (self.nvrtc.destroy)(&raw mut self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_newer_than_the_driver() {
        let of = |driver| candidates(driver, Some("/toolkit".into()));
        assert_eq!(of(Some(13)), of(None));
        assert_eq!(of(Some(13))[..2], ["libnvrtc.so.13", "/toolkit/lib64/libnvrtc.so.13"].map(PathBuf::from));
        let older = of(Some(12));
        assert_eq!(older.first(), Some(&PathBuf::from("libnvrtc.so.12")));
        assert!(older.iter().all(|file| file.ends_with("libnvrtc.so.12")), "{older:?}");
        assert_eq!(of(Some(11)), Vec::<PathBuf>::new());
    }
}
