//! Kernels in HIP C++, code objects and bundles of them, beside kernels in WGSL in one graph: AMD's runtime loads what hipRTC made of them, and the same
//! text, compiled by g++, runs on the device. One that nobody registered ends loudly.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::os::unix::process::ExitStatusExt as _;

use graphreel::kernel::{KernelSource, NativeBuffer, NativeKernel, NativeLanguage, ScalarType};
use graphreel::recording::Tier;
use graphreel::{Access, Buffer, Capture, Device, Grid, Kernel, Result};
use graphreel_hip::devices;
use graphreel_hip::hiprtc::{Hiprtc, Source};
use graphreel_hip_sys::library;
use graphreel_swhsa_rig::{Twin, again, bundle};
use graphreel_testkit::kernels;
use graphreel_testkit::watched::Live;

use super::ground::{self, TIERS, settled};

/// Set in the children of a test.
const CHILD: &str = "GRAPHREEL_SWHSA_CHILD";

/// `y = y * scale + x + add`; the scalars are one structure.
const AFFINE: Twin = Twin {
    symbol: "affine",
    text: r#"
struct Params { unsigned scale; unsigned add; };
extern "C" __global__ void affine(Params p, const unsigned* x, unsigned x_len, unsigned* y, unsigned y_len) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < x_len && i < y_len) { y[i] = y[i] * p.scale + x[i] + p.add; }
}"#,
};

/// Turns each block around in its own memory, and adds the lanes of a wave.
const TURN: Twin = Twin {
    symbol: "turn",
    text: r#"
extern "C" __global__ void turn(unsigned* y, unsigned y_len) {
    __shared__ unsigned tile[64];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < y_len ? y[i] : 0u;
    __syncthreads();
    if (i < y_len) { y[i] = tile[blockDim.x - 1u - threadIdx.x] + WG_SUBGROUP_SIZE; }
}"#,
};

/// `y = y ^ key[i % 4]`, with the key as an address alone.
const MIX: Twin = Twin {
    symbol: "mix",
    text: r#"
extern "C" __global__ void mix(unsigned* y, unsigned y_len, const unsigned* key) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < y_len) { y[i] ^= key[i % 4u]; }
}"#,
};

/// `y = y * by`, and its variant that reads its counts on the device, each a kernel of one text.
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

/// Invocations of a workgroup of each of them.
const THREADS: u32 = 64;

/// Whole workgroups, since what one turns around is a whole one.
const WORDS: u32 = 15 * THREADS;

/// Keys by which the key buffers mix: two that a replay chooses from, and one that stays.
const KEYS: [[u32; 4]; 3] =
    [[0x0102_0304, 0xffff_0000, 7, 0], [0xdead_beef, 1, 0x8000_0000, 0x5555_5555], [9, 0x0ff0_0ff0, 0, 0x8765_4321]];

fn declared(language: NativeLanguage, code: impl AsRef<[u8]>, entry: &str) -> NativeKernel {
    NativeKernel::new(language, code, entry, [THREADS, 1, 1])
}

fn words(name: &str, access: Access) -> NativeBuffer {
    NativeBuffer::array(name, access, 4)
}

#[expect(unsafe_code, reason = "native code is vouched for")]
fn vouched(kernel: NativeKernel) -> KernelSource {
    // SAFETY: the kernels of this file take what is declared for them, stay below their lengths and end.
    unsafe { kernel.vouch() }.unwrap()
}

/// A kernel in HIP C++ with a buffer `y`, after the scalars and the buffer `x` that it may have.
fn hip_cpp(twin: Twin, scalars: &[&str], x: bool) -> KernelSource {
    let kernel = declared(NativeLanguage::HipCpp, twin.text, twin.symbol);
    let kernel = scalars.iter().fold(kernel, |kernel, name| kernel.scalar(*name, ScalarType::U32));
    let kernel = if x { kernel.buffer(words("x", Access::Read)) } else { kernel };
    vouched(kernel.buffer(words("y", Access::ReadWrite)))
}

/// [`MIX`] as code for the device, and in a bundle beside code for another one.
fn mix() -> [KernelSource; 2] {
    let hiprtc = Hiprtc::of(library().unwrap()).unwrap();
    let source = Source { text: MIX.text, name: "mix.hip", options: &[] };
    let ours = &devices().unwrap()[0].architecture;
    let code = hiprtc.compile(&source, ours).unwrap();
    let bundled = bundle(&[("gfx942", &hiprtc.compile(&source, "gfx942").unwrap()), (ours, &code)]);
    [code, bundled].map(|code| {
        let kernel = declared(NativeLanguage::HipCodeObject, &code, MIX.symbol);
        let key = NativeBuffer::block("key", Access::Read, 16);
        vouched(kernel.buffer(words("y", Access::ReadWrite)).buffer(key))
    })
}

/// One kernel of each kind, and what they work on.
struct Scene {
    affine: Kernel,
    turn: Kernel,
    mix: [Kernel; 2],
    increment: Kernel,
    x: Buffer,
    y: Buffer,
    keys: [Buffer; 3],
    lanes: u32,
}

/// What is changed between replays.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    scale: u32,
    key: usize,
}

impl Scene {
    fn new(device: &Device) -> Self {
        Self {
            affine: device.kernel(hip_cpp(AFFINE, &["scale", "add"], true)).unwrap(),
            turn: device.kernel(hip_cpp(TURN, &[], false)).unwrap(),
            mix: mix().map(|source| device.kernel(source).unwrap()),
            increment: device.kernel(kernels::INC).unwrap(),
            x: device.upload(&(0..WORDS).map(|i| i.wrapping_mul(3)).collect::<Vec<_>>()).unwrap(),
            y: device.upload(&[0u32; WORDS as usize]).unwrap(),
            keys: KEYS.map(|key| device.upload(&key).unwrap()),
            lanes: devices().unwrap()[0].wave_size,
        }
    }

    /// The kernels on the processor.
    fn after(&self, with: Parameters, words: &mut [u32]) {
        for (i, y) in (0u32..).zip(&mut *words) {
            *y = y.wrapping_mul(with.scale).wrapping_add(i.wrapping_mul(3)).wrapping_add(11);
        }
        words.chunks_mut(THREADS as usize).for_each(<[u32]>::reverse);
        for (i, y) in words.iter_mut().enumerate() {
            *y = (y.wrapping_add(self.lanes) ^ KEYS[with.key][i % 4] ^ KEYS[2][i % 4]).wrapping_add(1);
        }
    }

    fn record(&self, c: &mut Capture, first: Parameters) -> Result<()> {
        let (scale, key) = (c.param("scale", first.scale), c.slot("key", &self.keys[first.key])?);
        let strided = c.grid_param("strided", Grid::groups(3), Grid::groups(16));
        let whole = Grid::cover(WORDS.into());
        c.launch(&self.affine, whole, (&scale, 11u32, &self.x, &self.y))?;
        c.launch(&self.turn, whole, (&self.y,))?;
        c.launch(&self.mix[0], whole, (&self.y, &key))?;
        c.launch(&self.mix[1], whole, (&self.y, &self.keys[2]))?;
        c.launch(&self.increment, &strided, (&self.y,))
    }

    fn launch(&self, device: &Device, with: Parameters) -> Result<()> {
        let whole = Grid::cover(WORDS.into());
        device.launch(&self.affine, whole, (with.scale, 11u32, &self.x, &self.y))?;
        device.launch(&self.turn, whole, (&self.y,))?;
        device.launch(&self.mix[0], whole, (&self.y, &self.keys[with.key]))?;
        device.launch(&self.mix[1], whole, (&self.y, &self.keys[2]))?;
        device.launch(&self.increment, Grid::groups(5), (&self.y,))
    }
}

fn share_a_graph(device: &Device, tier: Tier) {
    let scene = Scene::new(device);
    let first = Parameters { scale: 3, key: 0 };
    let (graph, ()) = device.capture(|c| scene.record(c, first)).unwrap();
    assert_eq!((graph.report().tier, graph.report().nodes), (tier, 5));
    let mut expected: Vec<u32> = (0..WORDS).map(|i| i ^ 0x00ff_00ff).collect();
    scene.y.write(&expected).unwrap();
    let mut check = |with: Parameters, what: &str| {
        scene.after(with, &mut expected);
        let found = scene.y.read::<u32>().unwrap();
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "{tier:?}, {what}, {with:?}: the first wrong word");
    };
    for round in 0..2 {
        graph.replay().unwrap().wait().unwrap();
        check(first, &format!("replay {round}"));
    }
    scene.launch(device, first).unwrap();
    check(first, "eagerly");
    let second = Parameters { scale: 0x0001_0001, key: 1 };
    graph.update(|u| u.set("scale", second.scale).bind("key", &scene.keys[1]).grid("strided", [16, 1, 1])).unwrap();
    graph.replay().unwrap().wait().unwrap();
    check(second, "updated");
    let timed = graph.replay_timed().unwrap().wait().unwrap();
    assert_eq!(timed.nodes.len(), 5, "each kernel is timed: {timed:?}");
    check(second, "timed");
    let dot = graph.recording().to_dot();
    for kernel in ["affine (HIP C++)", "turn (HIP C++)", "mix (compiled code of HIP)"] {
        assert!(dot.contains(kernel), "{kernel} in {dot}");
    }
}

/// Run on a device of each tier, and see that nothing is left of it.
fn on_each_tier(test: &str, twins: &[Twin], body: impl Fn(&Device, Tier)) {
    if !ground::there(test) {
        return;
    }
    for tier in TIERS {
        let (device, watch) = ground::device(&[tier], twins.to_vec()).unwrap();
        body(&device, tier);
        assert!(device.lost().is_none(), "{tier:?}: {:?}", device.lost());
        drop(device);
        assert_eq!(settled(&watch), Live::default(), "{tier:?}");
    }
}

/// C-84: what a vendor's compiler made is replayed like the rest.
#[test]
fn all_languages_share_a_graph() {
    on_each_tier("native::all_languages_share_a_graph", &[AFFINE, TURN, MIX], share_a_graph);
}

/// An indirect launch runs the declared variant over as many workgroups as the counts say at each replay.
#[test]
fn an_indirect_variant_reads_its_counts_on_the_device() {
    let twins = ["times", "times_indirect"].map(|symbol| Twin { symbol, text: TIMES });
    on_each_tier("native::an_indirect_variant_reads_its_counts_on_the_device", &twins, |device, tier| {
        let kernel = declared(NativeLanguage::HipCpp, TIMES, "times").scalar("by", ScalarType::U32);
        let kernel = kernel.buffer(words("y", Access::ReadWrite)).indirect("times_indirect");
        let times = device.kernel(vouched(kernel)).unwrap();
        let (y, counts) = (device.upload(&[1u32; 256]).unwrap(), device.upload(&[0u32; 3]).unwrap());
        let (graph, ()) = device
            .capture(|c| {
                let by = c.param("by", 2u32);
                c.launch_indirect(&times, &counts, Grid::groups(3), (&by, &y))
            })
            .unwrap();
        let mut expected = vec![1u32; 256];
        // The last is above the largest grid, so that nothing runs.
        for (by, groups, runs) in [(2, 1, 64), (2, 0, 0), (3, 3, 192), (5, 2, 128), (5, 4, 0)] {
            graph.update(|update| update.set("by", by)).unwrap();
            counts.write(&[groups, 1u32, 1]).unwrap();
            graph.replay().unwrap().wait().unwrap();
            expected.iter_mut().take(runs).for_each(|word| *word *= by);
            assert_eq!(y.read::<u32>().unwrap(), expected, "{tier:?}: {groups} workgroups by {by}");
        }
        device.launch(&times, Grid::groups(4), (7u32, &y)).unwrap();
        expected.iter_mut().for_each(|word| *word *= 7);
        assert_eq!(y.read::<u32>().unwrap(), expected, "{tier:?}: eagerly, the direct variant");
    });
}

/// Newer releases answer an error, at whichever call comes after it; older ones end the process. Nobody takes it for a result.
#[test]
fn a_kernel_without_a_twin_is_never_silent() {
    const TEST: &str = "native::a_kernel_without_a_twin_is_never_silent";
    if !ground::there(TEST) {
        return;
    }
    if std::env::var_os(CHILD).is_some() {
        let (device, _watch) = ground::device(&TIERS, vec![AFFINE]).unwrap();
        let turn = device.kernel(hip_cpp(TURN, &[], false)).unwrap();
        let y = device.upload(&[0u32; WORDS as usize]).unwrap();
        let (graph, ()) = device.capture(|c| c.launch(&turn, Grid::cover(WORDS.into()), (&y,))).unwrap();
        let ended = graph.replay().and_then(|done| done.wait()).map(|_| ());
        panic!("the replay answered {ended:?}, the device {:?}", device.lost().is_some());
    }
    let output = again(TEST).unwrap().env(CHILD, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("kernel `turn` of code object") && text.contains("is unknown"), "{text}");
    let answered = text.contains("the replay answered Err(DeviceLost") && text.contains("the device true");
    assert!(answered || output.status.signal() == Some(6), "{}: {text}", output.status);
}
