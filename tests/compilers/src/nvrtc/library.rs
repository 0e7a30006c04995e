//! The nine functions of NVRTC that a compile needs, loaded at run time. All of this crate's `unsafe` code.

#![expect(unsafe_code, reason = "a C library is called")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr;

/// `nvrtcProgram`: a pointer to what only the library knows.
type Handle = *mut std::ffi::c_void;
type SizeOf = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type TextOf = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

/// `NVRTC_SUCCESS`.
const SUCCESS: c_int = 0;

/// The library and its functions, which are called only while it is loaded: it is dropped with them.
#[derive(Debug)]
pub(super) struct Library {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: Create,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    log_size: SizeOf,
    log: TextOf,
    cubin_size: SizeOf,
    cubin: TextOf,
    _loaded: libloading::Library,
}

/// A program of the library's, destroyed when it goes.
struct Program<'a> {
    library: &'a Library,
    handle: Handle,
}

impl Library {
    /// Load the library at `path`, or of that name.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: NVRTC's initialisers only set up its own state.
        let loaded = unsafe { libloading::Library::new(path) }.map_err(|error| error.to_string())?;
        Ok(Self {
            version: symbol(&loaded, c"nvrtcVersion")?,
            error_string: symbol(&loaded, c"nvrtcGetErrorString")?,
            create: symbol(&loaded, c"nvrtcCreateProgram")?,
            destroy: symbol(&loaded, c"nvrtcDestroyProgram")?,
            compile: symbol(&loaded, c"nvrtcCompileProgram")?,
            log_size: symbol(&loaded, c"nvrtcGetProgramLogSize")?,
            log: symbol(&loaded, c"nvrtcGetProgramLog")?,
            cubin_size: symbol(&loaded, c"nvrtcGetCUBINSize")?,
            cubin: symbol(&loaded, c"nvrtcGetCUBIN")?,
            _loaded: loaded,
        })
    }

    /// Major and minor version; zeros where the library does not tell.
    pub(super) fn version(&self) -> (i32, i32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to integers that live through the call.
        unsafe { (self.version)(&raw mut major, &raw mut minor) };
        (major, minor)
    }

    /// The cubin of `source`, else the name of the failure and the log.
    pub(super) fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<Vec<u8>, (String, String)> {
        let text = |text: &str| CString::new(text).map_err(|_| (format!("a zero byte in `{text}`"), String::new()));
        let (source, name) = (text(source)?, text(name)?);
        let options: Vec<CString> = options.iter().map(|option| text(option)).collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: both texts end with a zero byte and live through the call, which copies them; there are no headers.
        let code =
            unsafe { (self.create)(&raw mut handle, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null()) };
        self.checked(code).map_err(|cause| (cause, String::new()))?;
        let program = Program { library: self, handle };
        let count = c_int::try_from(options.len()).expect("a few options");
        // SAFETY: the program is alive, and `options` has `count` texts that end with a zero byte.
        let code = unsafe { (self.compile)(program.handle, count, options.as_ptr()) };
        let failed = |cause| (cause, program.log());
        self.checked(code).map_err(failed)?;
        program.bytes(self.cubin_size, self.cubin).map_err(failed)
    }

    fn checked(&self, code: c_int) -> Result<(), String> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function takes any code.
        let text = unsafe { (self.error_string)(code) };
        // SAFETY: it gives a static text that ends with a zero byte.
        Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

impl Program<'_> {
    /// What the compiler said, without the zero byte at its end.
    fn log(&self) -> String {
        let bytes = self.bytes(self.library.log_size, self.library.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }

    fn bytes(&self, size: SizeOf, get: TextOf) -> Result<Vec<u8>, String> {
        let mut count = 0;
        // SAFETY: the program is alive, and the pointer is to an integer that lives through the call.
        let code = unsafe { size(self.handle, &raw mut count) };
        self.library.checked(code)?;
        let mut bytes = vec![0; count];
        // SAFETY: the program is alive, and the buffer has the size that the library asked for.
        let code = unsafe { get(self.handle, bytes.as_mut_ptr().cast()) };
        self.library.checked(code).map(|()| bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nobody has its handle after this.
        unsafe { (self.library.destroy)(&raw mut self.handle) };
    }
}

/// A function of the library. Its type is the header's: `T` follows from the field that it is put in.
fn symbol<T: Copy>(library: &libloading::Library, name: &CStr) -> Result<T, String> {
    // SAFETY: each field of `Library` has the type that nvrtc.h declares for the name it is loaded by.
    let found = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    found.map(|found| *found).map_err(|error| error.to_string())
}
