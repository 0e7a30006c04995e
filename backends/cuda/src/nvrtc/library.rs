//! The functions of NVRTC that a compile needs, loaded at run time. A table of our own, since cudarc's ends the process where a
//! library or one of some two dozen functions is missing; a missing one is an error here.

#![expect(unsafe_code, reason = "a C library is called")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use graphreel_loader::origin;

/// `nvrtcProgram`: a pointer to what only the library knows.
type Handle = *mut c_void;
type SizeOf = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type BytesOf = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
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
    architecture_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: Create,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    log_size: SizeOf,
    log: BytesOf,
    cubin_size: SizeOf,
    cubin: BytesOf,
    ptx_size: SizeOf,
    ptx: BytesOf,
    loaded: libloading::Library,
}

impl Library {
    /// Load the library at `path`, or of that name.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: NVRTC's initialisers only set up its own state.
        let loaded = unsafe { graphreel_loader::open(path) }.map_err(|refused| refused.to_string())?;
        Ok(Self {
            version: symbol(&loaded, c"nvrtcVersion")?,
            architecture_count: symbol(&loaded, c"nvrtcGetNumSupportedArchs")?,
            architectures: symbol(&loaded, c"nvrtcGetSupportedArchs")?,
            error_string: symbol(&loaded, c"nvrtcGetErrorString")?,
            create: symbol(&loaded, c"nvrtcCreateProgram")?,
            destroy: symbol(&loaded, c"nvrtcDestroyProgram")?,
            compile: symbol(&loaded, c"nvrtcCompileProgram")?,
            log_size: symbol(&loaded, c"nvrtcGetProgramLogSize")?,
            log: symbol(&loaded, c"nvrtcGetProgramLog")?,
            cubin_size: symbol(&loaded, c"nvrtcGetCUBINSize")?,
            cubin: symbol(&loaded, c"nvrtcGetCUBIN")?,
            ptx_size: symbol(&loaded, c"nvrtcGetPTXSize")?,
            ptx: symbol(&loaded, c"nvrtcGetPTX")?,
            loaded,
        })
    }

    /// The file that it was loaded from, where the system tells.
    pub(super) fn path(&self) -> Option<PathBuf> {
        origin(&self.loaded, c"nvrtcVersion")
    }

    /// Major and minor version.
    pub(super) fn version(&self) -> Result<(i32, i32), String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to integers that live through the call.
        let code = unsafe { (self.version)(&raw mut major, &raw mut minor) };
        self.checked(code).map(|()| (major, minor))
    }

    /// Compute capabilities that it compiles for, as 90 for 9.0.
    pub(super) fn architectures(&self) -> Result<Vec<u32>, String> {
        let mut count = 0;
        // SAFETY: the pointer is to an integer that lives through the call.
        let code = unsafe { (self.architecture_count)(&raw mut count) };
        self.checked(code)?;
        let mut found: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the array has the length that the library asked for.
        let code = unsafe { (self.architectures)(found.as_mut_ptr()) };
        self.checked(code)?;
        Ok(found.into_iter().filter_map(|one| u32::try_from(one).ok()).collect())
    }

    fn checked(&self, code: c_int) -> Result<(), String> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function takes any code.
        let text = unsafe { (self.error_string)(code) };
        if text.is_null() {
            return Err(format!("code {code}"));
        }
        // SAFETY: it gives a static text that ends with a zero byte.
        Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// A program of the library's, destroyed when it goes.
pub(super) struct Program<'a> {
    library: &'a Library,
    handle: Handle,
}

impl<'a> Program<'a> {
    /// A program from C++; `name` is what messages call it.
    pub(super) fn new(library: &'a Library, source: &str, name: &str) -> Result<Self, String> {
        let (source, name) = (text(source)?, text(name)?);
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: both texts end with a zero byte and live through the call, which copies them; there are no headers.
        let code =
            unsafe { (library.create)(&raw mut handle, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null()) };
        library.checked(code).map(|()| Self { library, handle })
    }

    pub(super) fn compile(&mut self, options: &[String]) -> Result<(), String> {
        let options: Vec<CString> = options.iter().map(|option| text(option)).collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).map_err(|error| error.to_string())?;
        // SAFETY: the program is alive, and `options` has `count` texts that end with a zero byte.
        let code = unsafe { (self.library.compile)(self.handle, count, options.as_ptr()) };
        self.library.checked(code)
    }

    /// What the compiler said, without the zero byte at its end.
    pub(super) fn log(&self) -> String {
        let bytes = self.bytes(self.library.log_size, self.library.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }

    pub(super) fn cubin(&self) -> Result<Vec<u8>, String> {
        self.bytes(self.library.cubin_size, self.library.cubin)
    }

    pub(super) fn ptx(&self) -> Result<Vec<u8>, String> {
        self.bytes(self.library.ptx_size, self.library.ptx)
    }

    fn bytes(&self, size: SizeOf, get: BytesOf) -> Result<Vec<u8>, String> {
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

fn text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|error| format!("a zero byte at {} of a text", error.nul_position()))
}

/// A function of the library. Its type is the header's: `T` follows from the field that it is put in.
fn symbol<T: Copy>(library: &libloading::Library, name: &CStr) -> Result<T, String> {
    // SAFETY: each field of `Library` has the type that nvrtc.h declares for the name it is loaded by.
    let found = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    found.map(|found| *found).map_err(|error| error.to_string())
}
