//! The kernels, in CUDA C++: each does its work until it is armed, and faults then. What they do wrong is in volatile accesses and
//! assembly, so that no compiler leaves it out.

use std::sync::Arc;

use graphreel::error::FaultClass;
use graphreel::graph::Translator as _;
use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::kernel::{KernelSource, NativeBuffer, NativeKernel, NativeLanguage, ScalarType, Variant};
use graphreel::{Access, ServerError};
use graphreel_compilers::{Absent, present};
use graphreel_cpp::FloatMode;
use graphreel_cpp::cache::{Cache, Place, Settings};
use graphreel_cuda::nvrtc::{Nvrtc, Search};
use graphreel_cuda::{CudaTranslator, Toolchain};

/// The name of the scalar that arms a kernel.
pub(crate) const ARMED: &str = "armed";

/// Words of the buffer that a kernel writes, and its launch.
pub(crate) const WORDS: u32 = 256;

/// A store to the second cache line of the address space, where nothing is ever mapped.
const OUT_OF_RANGE: &str = r#"
extern "C" __global__ void out_of_range(unsigned armed, unsigned* out, unsigned out_len) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (armed != 0u) {
        asm volatile("st.global.u32 [%0], %1;" :: "l"((unsigned long long)armed * 64ull), "r"(i) : "memory");
    }
    if (i < out_len) { out[i] = i + 1u; }
}"#;

const TRAP: &str = r#"
extern "C" __global__ void trap(unsigned armed, unsigned* out, unsigned out_len) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (armed != 0u) { __trap(); }
    if (i < out_len) { out[i] = i + 1u; }
}"#;

/// A load of a word at an odd address within the buffer.
const MISALIGNED: &str = r#"
extern "C" __global__ void misaligned(unsigned armed, unsigned* out, unsigned out_len) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned more = 0u;
    if (armed != 0u) { more = *(volatile unsigned*)((char*)out + armed); }
    if (i < out_len) { out[i] = i + 1u + more; }
}"#;

/// A million calls of 256 bytes and more, on a stack that NVIDIA limits to 512 KiB of local memory at the most.
const STACK: &str = r#"
__device__ __noinline__ unsigned deeper(unsigned left, unsigned seed) {
    volatile unsigned frame[64];
    for (unsigned j = 0u; j < 64u; ++j) { frame[j] = seed + j; }
    if (left == 0u) { return frame[seed % 64u]; }
    unsigned below = deeper(left - 1u, frame[seed % 64u]);
    return below + frame[below % 64u];
}
extern "C" __global__ void stack(unsigned armed, unsigned* out, unsigned out_len) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned more = 0u;
    if (armed != 0u) { more = deeper(armed << 20, i); }
    if (i < out_len) { out[i] = i + 1u + more; }
}"#;

/// What a kernel does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    OutOfRange,
    Trap,
    Misaligned,
    Stack,
}

impl Fault {
    pub(crate) const ALL: [Self; 4] = [Self::OutOfRange, Self::Trap, Self::Misaligned, Self::Stack];

    /// The name of its kernel.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OutOfRange => "out_of_range",
            Self::Trap => "trap",
            Self::Misaligned => "misaligned",
            Self::Stack => "stack",
        }
    }

    /// What the driver may call it, by NVIDIA's descriptions of its codes. A stack overflow has a code of its own, is an access out of
    /// range to devices that check the stack's addresses alone, and an exception without a name to others.
    fn codes(self) -> &'static [(i64, &'static str)] {
        const ADDRESS: (i64, &str) = (700, "CUDA_ERROR_ILLEGAL_ADDRESS");
        const LAUNCH_FAILED: (i64, &str) = (719, "CUDA_ERROR_LAUNCH_FAILED");
        match self {
            Self::OutOfRange => &[ADDRESS],
            Self::Trap => &[LAUNCH_FAILED],
            Self::Misaligned => &[(716, "CUDA_ERROR_MISALIGNED_ADDRESS")],
            Self::Stack => &[(714, "CUDA_ERROR_HARDWARE_STACK_ERROR"), ADDRESS, LAUNCH_FAILED],
        }
    }

    #[expect(unsafe_code, reason = "native code is vouched for")]
    pub(crate) fn source(self) -> KernelSource {
        let code = match self {
            Self::OutOfRange => OUT_OF_RANGE,
            Self::Trap => TRAP,
            Self::Misaligned => MISALIGNED,
            Self::Stack => STACK,
        };
        let kernel = NativeKernel::new(NativeLanguage::CudaCpp, code, self.name(), [64, 1, 1])
            .scalar(ARMED, ScalarType::U32)
            .buffer(NativeBuffer::array("out", Access::ReadWrite, 4));
        // SAFETY: the parameters are these. It breaks its word when it is armed, in a process whose device is not used after that.
        unsafe { kernel.vouch() }.unwrap()
    }

    /// What it leaves while it is not armed.
    pub(crate) fn written() -> Vec<u32> {
        (1..=WORDS).collect()
    }

    /// The loss that it comes to: typed, by the driver's code and text, and fatal to the context.
    #[track_caller]
    pub(crate) fn lost(self, error: &ServerError) {
        let text = error.to_string();
        assert!(error.is_device_lost(), "{self:?}: {error:?}");
        let named = |(code, name): &(i64, &str)| text.contains(&format!("failed with code {code} ({name})"));
        assert!(self.codes().iter().any(named), "{self:?}: one of {:?} is expected: {text}", self.codes());
        assert!(text.contains(&FaultClass::ContextFatal.to_string()), "{self:?}: the class: {text}");
        assert!(text.contains("open a new device"), "{self:?}: the remedy: {text}");
    }
}

/// NVRTC takes them as they are, which needs no device.
#[test]
fn the_kernels_compile() {
    let search = || Search::from_environment((13, 0));
    let found = Nvrtc::find(&search()).map_err(|absent| Absent { name: "nvrtc", why: absent.to_string() });
    if present("the_kernels_compile", found).is_none() {
        return;
    }
    let cache = Cache::open(&Settings { place: Place::Off, ..Settings::default() });
    let toolchain = Arc::new(Toolchain::new(search(), cache));
    let facts = DriverFacts {
        name: "a device".to_owned(),
        architecture: "sm_90".to_owned(),
        driver: "580.0, CUDA 13.0".to_owned(),
        pci: None,
        uuid: None,
        memory_bytes: 0,
        integrated: false,
    };
    let caps = DriverCaps {
        warp_width: 32,
        graph_upload: true,
        relaxed_capture: true,
        capture_tail: true,
        free_waits_for_device: true,
        unload_waits_for_device: true,
        updates_per_exec_max: None,
        branches_max: usize::MAX,
        launch_items_max: u64::MAX,
        groups_max: [65_535; 3],
        threads_max: [1024, 1024, 64],
        group_threads_max: 1024,
        shared_bytes_max: 48 << 10,
        event_resolution_ns: 500,
    };
    let translator = CudaTranslator::new(&facts, &caps, FloatMode::Strict, toolchain).unwrap();
    for fault in Fault::ALL {
        let made = translator.translate(&fault.source(), Variant::Direct).unwrap();
        assert!(made.image.starts_with(b"\x7fELF"), "{fault:?}");
    }
}
