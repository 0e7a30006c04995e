//! A HIP runtime, its compiler and what is below it, opened by one test; calls answer codes.
#![expect(unsafe_code, reason = "a library's functions are called, and kernels read what a launch gives")]
#![expect(dead_code, reason = "each call of the bindings has its method, whether a test makes it or not")]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::ptr::null_mut;

use graphreel_hip_sys::constant::{hipHostMallocDefault, hipStreamNonBlocking};
use graphreel_hip_sys::handle::*;
use graphreel_hip_sys::structure::*;
use graphreel_hip_sys::{Answer, Library, RtcLibrary, each_call, library};

use super::below::{self, Below};

/// Multiplies by `factor` and adds one, over the first `count` floats.
pub(crate) const SCALE: &str = "extern \"C\" __global__ void scale(float* x, unsigned count, float factor) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] = x[i] * factor + 1;
}";

/// Invocations of its workgroups.
pub(crate) const THREADS: u32 = 64;

/// The runtime and the device.
pub(crate) struct Hip {
    pub(crate) library: &'static Library,
    pub(crate) control: Below,
    pub(crate) scale: hipFunction_t,
    pub(crate) module: hipModule_t,
}

fn code(answer: Answer) -> u32 {
    answer.err().map_or(0, |failure| failure.code)
}

/// The call went well.
#[track_caller]
pub(crate) fn ok(code: u32) {
    assert_eq!(code, 0, "a call of HIP failed");
}

macro_rules! calls {
    (
        required { $($name:ident($($arg:ident: $ty:ty),*);)* }
        optional { $($extra:ident($($extra_arg:ident: $extra_ty:ty),*);)* }
    ) => {
        #[expect(clippy::too_many_arguments, reason = "a launch takes as many")]
        impl Hip {
            $(pub(crate) fn $name(&self, $($arg: $ty),*) -> u32 {
                // SAFETY: the tests beside this give live handles and addresses, and what a call refuses it checks itself.
                code(unsafe { self.library.calls.$name($($arg),*) })
            })*
        }
    };
}

each_call!(calls);

impl Hip {
    /// Open the runtime, compile the kernel and register its function.
    pub(crate) fn open() -> Self {
        let mut hip = Self::bare();
        let image = hip.compile(SCALE);
        below::register_scale(&hip, &image);
        let (module, function) = hip.load(&image, c"scale");
        (hip.module, hip.scale) = (module, function);
        hip
    }

    /// Open the runtime alone.
    pub(crate) fn bare() -> Self {
        let library = library().expect("the runtime of the suite loads");
        let control = below::open();
        let hip = Self { library, control, scale: null_mut(), module: null_mut() };
        ok(hip.hipInit(0));
        ok(hip.hipSetDevice(0));
        hip
    }

    /// Load code and find a function.
    pub(crate) fn load(&self, image: &[u8], name: &CStr) -> (hipModule_t, hipFunction_t) {
        let (mut module, mut function) = (null_mut(), null_mut());
        ok(self.hipModuleLoadData(&raw mut module, image.as_ptr().cast()));
        ok(self.hipModuleGetFunction(&raw mut function, module, name.as_ptr()));
        (module, function)
    }

    /// The device's architecture, as its runtime names it.
    pub(crate) fn architecture(&self) -> String {
        let mut properties = hipDeviceProp_tR0600::zeroed();
        ok(self.hipGetDevicePropertiesR0600(&raw mut properties, 0));
        text(&properties.gcnArchName)
    }

    /// Compile HIP C++ with AMD's compiler for this device.
    pub(crate) fn compile(&self, source: &str) -> Vec<u8> {
        let rtc = RtcLibrary::load(self.library.version, &self.library.file).expect("hipRTC is beside the runtime");
        let (source, mut program, mut bytes) =
            (CString::new(source).expect("a text without zero bytes"), null_mut(), 0);
        let option = CString::new(format!("--offload-arch={}", self.architecture()));
        let option = option.expect("a text without zero bytes");
        let (calls, options) = (rtc.calls, [option.as_ptr()]);
        let name = c"test.hip".as_ptr();
        let (none, nothing) = (std::ptr::null(), std::ptr::null());
        // SAFETY: the texts end with zero bytes, and no headers are given.
        ok(code(unsafe { calls.hiprtcCreateProgram(&raw mut program, source.as_ptr(), name, 0, none, nothing) }));
        // SAFETY: the program is live, and there is one option.
        ok(code(unsafe { calls.hiprtcCompileProgram(program, 1, options.as_ptr()) }));
        // SAFETY: the program is live.
        ok(code(unsafe { calls.hiprtcGetCodeSize(program, &raw mut bytes) }));
        let mut image = vec![0u8; bytes];
        // SAFETY: the room is as large as it was just said to be.
        ok(code(unsafe { calls.hiprtcGetCode(program, image.as_mut_ptr().cast()) }));
        // SAFETY: the program is not used again.
        ok(code(unsafe { calls.hiprtcDestroyProgram(&raw mut program) }));
        image
    }

    pub(crate) fn stream(&self) -> hipStream_t {
        let mut stream = null_mut();
        ok(self.hipStreamCreateWithFlags(&raw mut stream, hipStreamNonBlocking));
        stream
    }

    pub(crate) fn event(&self) -> hipEvent_t {
        let mut event = null_mut();
        ok(self.hipEventCreateWithFlags(&raw mut event, 0));
        event
    }

    pub(crate) fn device_memory(&self, bytes: usize) -> *mut c_void {
        let mut address = null_mut();
        ok(self.hipMalloc(&raw mut address, bytes));
        address
    }

    /// Pinned words, all of one value.
    pub(crate) fn pinned(&self, words: usize, value: u32) -> Pinned {
        let mut address = null_mut();
        ok(self.hipHostMalloc(&raw mut address, words * 4, hipHostMallocDefault));
        let pinned = Pinned { address: address.cast(), words };
        (0..words).for_each(|at| pinned.set(at, value));
        pinned
    }

    /// Launch the kernel over `count` floats.
    pub(crate) fn launch(&self, x: *mut c_void, count: u32, factor: f32, stream: hipStream_t) -> u32 {
        let (mut x, mut count, mut factor) = (x, count, factor);
        let mut params: [*mut c_void; 3] = [(&raw mut x).cast(), (&raw mut count).cast(), (&raw mut factor).cast()];
        let groups = count.div_ceil(THREADS);
        let params = params.as_mut_ptr();
        self.hipModuleLaunchKernel(self.scale, groups, 1, 1, THREADS, 1, 1, 0, stream, params, null_mut())
    }

    /// Words of the device, by a copy that is waited for.
    pub(crate) fn words(&self, from: *mut c_void, words: usize, stream: hipStream_t) -> Vec<u32> {
        let pinned = self.pinned(words, 0xDEAD_BEEF);
        ok(self.hipMemcpyDtoHAsync(pinned.address.cast(), from, words * 4, stream));
        ok(self.hipStreamSynchronize(stream));
        let all = pinned.all();
        ok(self.hipHostFree(pinned.address.cast()));
        all
    }

    pub(crate) fn floats(&self, from: *mut c_void, count: usize, stream: hipStream_t) -> Vec<f32> {
        self.words(from, count, stream).into_iter().map(f32::from_bits).collect()
    }
}

/// Host memory of the runtime's, which the device may write at any time.
#[derive(Clone, Copy)]
pub(crate) struct Pinned {
    pub(crate) address: *mut u32,
    words: usize,
}

impl Pinned {
    pub(crate) fn set(&self, at: usize, value: u32) {
        assert!(at < self.words);
        // SAFETY: the word lies in the allocation, which lives until the end of its test.
        unsafe { self.address.wrapping_add(at).write_volatile(value) };
    }

    pub(crate) fn all(&self) -> Vec<u32> {
        // SAFETY: as in `set`.
        (0..self.words).map(|at| unsafe { self.address.wrapping_add(at).read_volatile() }).collect()
    }
}

/// A C text in an array.
pub(crate) fn text(chars: &[c_char]) -> String {
    chars.iter().take_while(|char| **char != 0).map(|char| char::from(char.cast_unsigned())).collect()
}
