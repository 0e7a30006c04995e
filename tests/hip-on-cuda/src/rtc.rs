//! hipRTC over NVRTC: options become NVRTC's, the text gets what HIP's compiler has and NVRTC has not, and the code is wrapped.
#![expect(unsafe_code, reason = "texts and buffers of the caller")]

mod nvrtc;
mod options;

use std::ffi::{CStr, CString, c_char, c_int, c_uint};

use graphreel_hip_sys::constant::{
    HIPRTC_ERROR_COMPILATION, HIPRTC_ERROR_INTERNAL_ERROR, HIPRTC_SUCCESS, hipErrorNoDevice,
};
use graphreel_hip_sys::handle::hiprtcResult;

use crate::calls::capability;
use crate::cuda::cuda;
use crate::{CAPABILITY_VARIABLE, VERSION, image};
use nvrtc::{Nvrtc, Program as Inner, nvrtc};

/// What stands before each text.
const PRELUDE: &str = include_str!("prelude.h");

/// `hiprtcResult` of an argument that is none.
const INVALID_INPUT: hiprtcResult = 3;

type Code = Vec<u8>;
type Log = Vec<u8>;

/// A program: what `hiprtcProgram` points to.
struct Program {
    text: CString,
    name: CString,
    /// Texts that it may include, and their names.
    headers: Vec<(CString, CString)>,
    log: Vec<u8>,
    code: Vec<u8>,
}

impl Program {
    /// What is wrong becomes the log.
    fn compile(&mut self, options: &[String]) -> hiprtcResult {
        self.code.clear();
        match self.compiled(options) {
            Ok((code, log)) => {
                (self.code, self.log) = (image::wrapped(&code), log);
                HIPRTC_SUCCESS
            }
            Err((result, log)) => {
                self.log = log;
                result
            }
        }
    }

    /// The code and the log; else the answer and the log.
    fn compiled(&self, options: &[String]) -> Result<(Code, Log), (hiprtcResult, Log)> {
        let failed = |why: String| (HIPRTC_ERROR_INTERNAL_ERROR, why.into_bytes());
        let nvrtc: &Nvrtc = nvrtc().as_ref().map_err(|why| failed(why.clone()))?;
        let target = target().map_err(failed)?;
        let options = options::translated(options, target);
        let program = Inner::new(nvrtc, &self.text, &self.name, &self.headers).map_err(failed)?;
        let answer = program.compile(&options);
        let log = program.log();
        match answer {
            HIPRTC_SUCCESS => Ok((program.cubin().map_err(failed)?, log)),
            code => Err((code, log)),
        }
    }
}

/// The compute capability that code is made for.
fn target() -> Result<c_int, String> {
    if let Some(named) = std::env::var_os(CAPABILITY_VARIABLE).filter(|named| !named.is_empty()) {
        let number = named.to_str().and_then(|text| text.parse().ok());
        return number.ok_or_else(|| format!("{CAPABILITY_VARIABLE} is no compute capability, such as 90"));
    }
    let found = cuda().and_then(capability);
    found.map_err(|code| {
        let what = if code == hipErrorNoDevice { "there is no device".to_owned() } else { format!("error {code}") };
        format!("{what} to compile for; let {CAPABILITY_VARIABLE} name a compute capability, such as 90")
    })
}

/// A text of the caller's.
///
/// # Safety
///
/// It is null, or ends with a zero byte.
unsafe fn text(text: *const c_char) -> Option<CString> {
    // SAFETY: the caller says that it ends.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_owned())
}

/// The texts of an array, which may be null where there are none.
///
/// # Safety
///
/// It has so many texts.
unsafe fn texts(array: *const *const c_char, count: usize) -> Option<Vec<CString>> {
    if array.is_null() && count > 0 {
        return None;
    }
    let each = (0..count).map(|index| {
        // SAFETY: the caller says that there are so many.
        let at = unsafe { array.wrapping_add(index).read() };
        // SAFETY: each is such a text.
        unsafe { text(at) }
    });
    each.collect()
}

/// A name as a line directive has it between its quotes, which it may not leave.
fn quoted(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult {
    if major.is_null() || minor.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller's number.
    unsafe { major.write(VERSION / 10_000_000) };
    // SAFETY: the caller's number.
    unsafe { minor.write(VERSION % 10_000_000 / 100_000) };
    HIPRTC_SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcCreateProgram(
    program: *mut *mut Program,
    source: *const c_char,
    name: *const c_char,
    headers: c_int,
    header_texts: *const *const c_char,
    header_names: *const *const c_char,
) -> hiprtcResult {
    if program.is_null() {
        return INVALID_INPUT;
    }
    let Ok(count) = usize::try_from(headers) else { return INVALID_INPUT };
    // SAFETY: the caller's text.
    let Some(source) = (unsafe { text(source) }) else { return INVALID_INPUT };
    // SAFETY: the caller's text, which it need not give.
    let name = unsafe { text(name) }.unwrap_or_else(|| c"program.hip".to_owned());
    // SAFETY: the caller's array.
    let Some(header_texts) = (unsafe { texts(header_texts, count) }) else { return INVALID_INPUT };
    // SAFETY: the caller's array.
    let Some(header_names) = (unsafe { texts(header_names, count) }) else { return INVALID_INPUT };
    let mut whole = format!("{PRELUDE}#line 1 \"{}\"\n", quoted(&name.to_string_lossy())).into_bytes();
    whole.extend_from_slice(source.as_bytes());
    let Ok(whole) = CString::new(whole) else { return INVALID_INPUT };
    let headers = header_texts.into_iter().zip(header_names).collect();
    let made = Program { text: whole, name, headers, log: Vec::new(), code: Vec::new() };
    // SAFETY: the caller's place for a handle.
    unsafe { program.write(Box::into_raw(Box::new(made))) };
    HIPRTC_SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcDestroyProgram(program: *mut *mut Program) -> hiprtcResult {
    if program.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller's handle.
    let handle = unsafe { program.replace(std::ptr::null_mut()) };
    if handle.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: it was made by the call above, and is given up.
    drop(unsafe { Box::from_raw(handle) });
    HIPRTC_SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcCompileProgram(
    program: *mut Program,
    count: c_int,
    options: *const *const c_char,
) -> hiprtcResult {
    let Ok(count) = usize::try_from(count) else { return INVALID_INPUT };
    // SAFETY: the caller's array.
    let Some(options) = (unsafe { texts(options, count) }) else { return INVALID_INPUT };
    let options: Vec<String> = options.iter().map(|option| option.to_string_lossy().into_owned()).collect();
    // SAFETY: the caller's program, which no other call uses at the same time.
    match unsafe { program.as_mut() } {
        Some(program) => program.compile(&options),
        None => INVALID_INPUT,
    }
}

/// Write how many bytes of a program there are.
///
/// # Safety
///
/// The program is alive, and there is a place for the number.
unsafe fn size(program: *mut Program, bytes: *mut usize, of: fn(&Program) -> usize) -> hiprtcResult {
    // SAFETY: the caller says that it is alive.
    let Some(program) = (unsafe { program.as_ref() }) else { return INVALID_INPUT };
    if bytes.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller's number.
    unsafe { bytes.write(of(program)) };
    HIPRTC_SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetProgramLogSize(program: *mut Program, bytes: *mut usize) -> hiprtcResult {
    // SAFETY: the caller's program and number. A zero byte ends the log.
    unsafe { size(program, bytes, |program| program.log.len() + 1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetCodeSize(program: *mut Program, bytes: *mut usize) -> hiprtcResult {
    // SAFETY: the caller's program and number.
    unsafe { size(program, bytes, |program| program.code.len()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetProgramLog(program: *mut Program, log: *mut c_char) -> hiprtcResult {
    // SAFETY: the caller's program.
    let Some(program) = (unsafe { program.as_ref() }) else { return INVALID_INPUT };
    if log.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller made room for as many bytes as it was told.
    unsafe { log.cast::<u8>().copy_from_nonoverlapping(program.log.as_ptr(), program.log.len()) };
    // SAFETY: the last of them.
    unsafe { log.wrapping_add(program.log.len()).write(0) };
    HIPRTC_SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetCode(program: *mut Program, code: *mut c_char) -> hiprtcResult {
    // SAFETY: the caller's program.
    let Some(program) = (unsafe { program.as_ref() }) else { return INVALID_INPUT };
    if program.code.is_empty() {
        return HIPRTC_ERROR_COMPILATION;
    }
    if code.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller made room for as many bytes as it was told.
    unsafe { code.cast::<u8>().copy_from_nonoverlapping(program.code.as_ptr(), program.code.len()) };
    HIPRTC_SUCCESS
}

/// Both have the same results, as far as these.
#[unsafe(no_mangle)]
extern "C" fn hiprtcGetErrorString(result: c_uint) -> *const c_char {
    let text = match result {
        0 => c"HIPRTC_SUCCESS",
        1 => c"HIPRTC_ERROR_OUT_OF_MEMORY",
        2 => c"HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
        3 => c"HIPRTC_ERROR_INVALID_INPUT",
        4 => c"HIPRTC_ERROR_INVALID_PROGRAM",
        5 => c"HIPRTC_ERROR_INVALID_OPTION",
        6 => c"HIPRTC_ERROR_COMPILATION",
        7 => c"HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        11 => c"HIPRTC_ERROR_INTERNAL_ERROR",
        _ => c"HIPRTC_ERROR of another number",
    };
    text.as_ptr()
}
