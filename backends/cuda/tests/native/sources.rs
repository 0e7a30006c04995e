//! The kernels, one for each language, and their declarations.

use graphreel::Access;
use graphreel::kernel::{KernelSource, NativeBuffer, NativeKernel, NativeLanguage, ScalarType};
use graphreel_cuda::nvrtc::{Nvrtc, Search, Source, Target};

use crate::rig::capability;

/// `y = y * scale + x + add`; the scalars are one structure.
pub(crate) const AFFINE: &str = r#"
struct Params { unsigned scale; unsigned add; };
extern "C" __global__ void affine(Params p, const unsigned* x, unsigned x_len, unsigned* y, unsigned y_len) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < x_len && i < y_len) { y[i] = y[i] * p.scale + x[i] + p.add; }
}"#;

/// `y = y ^ key[i % 4]`, with the key as an address alone.
pub(crate) const MIX: &str = r#"
extern "C" __global__ void mix(unsigned* y, unsigned y_len, const unsigned* key) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < y_len) { y[i] ^= key[i % 4u]; }
}"#;

/// `y = y + by`. The target and its line are put before it.
const SHIFT: &str = "
.address_size 64

.visible .entry shift(
    .param .u32 by,
    .param .u64 y,
    .param .u32 y_len
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;

    ld.param.u32 %r1, [by];
    ld.param.u64 %rd1, [y];
    ld.param.u32 %r2, [y_len];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r7, [%rd4];
    add.u32 %r7, %r7, %r1;
    st.global.u32 [%rd4], %r7;
DONE:
    ret;
}
";

/// `y = y * by`, with a variant that reads its counts on the device.
const TIMES: &str = r#"
static __device__ void one(unsigned by, unsigned* y, unsigned y_len) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < y_len) { y[i] *= by; }
}
extern "C" __global__ void times(unsigned by, unsigned* y, unsigned y_len) { one(by, y, y_len); }
extern "C" __global__ void times_indirect(unsigned by, unsigned* y, unsigned y_len, const unsigned* counts) {
    if (counts[0] > gridDim.x || counts[1] > gridDim.y || counts[2] > gridDim.z) { return; }
    if (blockIdx.x >= counts[0] || blockIdx.y >= counts[1] || blockIdx.z >= counts[2]) { return; }
    one(by, y, y_len);
}"#;

/// Turns a block of words around in dynamic workgroup memory, with as many words for each thread as fit.
const TURN: &str = r#"
extern "C" __global__ void turn(unsigned words, unsigned* y, unsigned y_len) {
    extern __shared__ unsigned tile[];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) { tile[i] = i < y_len ? y[i] : 0u; }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        if (i < y_len) { y[i] = tile[words - 1u - i]; }
    }
}"#;

fn words(name: &str, access: Access) -> NativeBuffer {
    NativeBuffer::array(name, access, 4)
}

/// A declaration without parameters.
pub(crate) fn declared(language: NativeLanguage, code: impl AsRef<[u8]>, entry: &str) -> NativeKernel {
    NativeKernel::new(language, code, entry, [64, 1, 1])
}

#[expect(unsafe_code, reason = "native code is vouched for")]
pub(crate) fn vouched(kernel: NativeKernel) -> KernelSource {
    // SAFETY: the kernels of this file take what is declared for them, stay below their lengths and end. Of other code that is
    // given to this nothing is launched: it is to be refused.
    unsafe { kernel.vouch() }.unwrap()
}

pub(crate) fn affine() -> KernelSource {
    vouched(
        declared(NativeLanguage::CudaCpp, AFFINE, "affine")
            .scalar("scale", ScalarType::U32)
            .scalar("add", ScalarType::U32)
            .buffer(words("x", Access::Read))
            .buffer(words("y", Access::ReadWrite)),
    )
}

/// PTX for the first device, or an older one that it takes the text of.
pub(crate) fn shift_text() -> String {
    format!(".version 7.0\n.target sm_{}\n{SHIFT}", capability().min(80))
}

pub(crate) fn shift(text: &str) -> KernelSource {
    let kernel = declared(NativeLanguage::Ptx, text, "shift");
    vouched(kernel.scalar("by", ScalarType::U32).buffer(words("y", Access::ReadWrite)))
}

/// A cubin of `MIX` for that architecture.
pub(crate) fn mix_cubin(capability: u32) -> Vec<u8> {
    let release = graphreel_cuda::driver(&graphreel_cuda::CudaOptions::default()).unwrap();
    let nvrtc = Nvrtc::find(&Search::from_environment(graphreel_cuda::CudaDriver::release(&release))).unwrap();
    graphreel::graph::Driver::close(release).unwrap();
    let source = Source { text: MIX, name: "mix.cu", options: &[] };
    nvrtc.compile(&source, Target::Cubin(capability)).unwrap()
}

pub(crate) fn mix(cubin: &[u8]) -> KernelSource {
    let kernel = declared(NativeLanguage::Cubin, cubin, "mix");
    let key = NativeBuffer::block("key", Access::Read, 16);
    vouched(kernel.buffer(words("y", Access::ReadWrite)).buffer(key))
}

/// With and without its indirect variant.
pub(crate) fn times() -> [KernelSource; 2] {
    let kernel = declared(NativeLanguage::CudaCpp, TIMES, "times")
        .scalar("by", ScalarType::U32)
        .buffer(words("y", Access::ReadWrite));
    [kernel.clone(), kernel.indirect("times_indirect")].map(vouched)
}

/// With that much dynamic workgroup memory.
pub(crate) fn turn(bytes: u32) -> KernelSource {
    let kernel = declared(NativeLanguage::CudaCpp, TURN, "turn").scalar("words", ScalarType::U32);
    vouched(kernel.buffer(words("y", Access::ReadWrite)).shared_bytes(bytes))
}
