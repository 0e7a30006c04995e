//! What a kernel may ask of the device: workgroup memory beyond what any kernel has, PTX that does not assemble, and what is
//! refused before the driver sees it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;

use graphreel::error::KernelProblem;
use graphreel::graph::{Driver as _, HardwareServer};
use graphreel::kernel::{KernelSource, NativeBuffer, NativeKernel, NativeLanguage};
use graphreel::memory::Access;
use graphreel::recording::{CapturePolicy, Tier};
use graphreel::{Config, Device, Grid, Kernel, ServerError};
use graphreel_cpp::cache::{Cache, Place, Settings};
use graphreel_cuda::nvrtc::Search;
use graphreel_cuda::{BACKEND, CudaOptions, CudaTranslator, Toolchain, absence, devices, driver, open};
use graphreel_testkit::announce;

/// 100 KiB, which is beyond the 48 KiB that any kernel has.
const WORDS: usize = 25_600;

/// Whether there is a device; where not it is said, and fails where one is required.
fn present(test: &str) -> bool {
    if devices().is_ok() {
        return true;
    }
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == "cuda"), "GRAPHREEL_REQUIRE names cuda: {}", absence());
    announce(&format!("{test}: skipped, {}", absence()));
    false
}

fn device(tiers: &[Tier]) -> Device {
    let config = Config { tiers: tiers.to_vec(), ..Config::default() };
    let server = open(&CudaOptions::default(), config.clone()).unwrap();
    Device::new(Box::new(server), config)
}

/// Reverses as many words through workgroup memory.
fn reverse(words: usize) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
        var<workgroup> all: array<u32, {words}>;
        @compute @workgroup_size(256) fn reverse(@builtin(local_invocation_index) lane: u32) {{
            for (var i = lane; i < {words}u; i += 256u) {{ all[i] = data[i]; }}
            workgroupBarrier();
            for (var i = lane; i < {words}u; i += 256u) {{ data[i] = all[{words}u - 1u - i]; }}
        }}"
    )
}

/// A native kernel over one buffer.
#[expect(unsafe_code, reason = "the code keeps to its declaration")]
fn native(language: NativeLanguage, code: &str, threads: u32, shared_bytes: u32) -> KernelSource {
    let kernel = NativeKernel::new(language, code, "user", [threads, 1, 1])
        .buffer(NativeBuffer::array("data", Access::ReadWrite, 4))
        .shared_bytes(shared_bytes);
    // SAFETY: the kernels of this file touch one word of a buffer that has one, and end.
    unsafe { kernel.vouch() }.unwrap()
}

fn refusal(result: graphreel::Result<Kernel>) -> (KernelProblem, String) {
    match result {
        Err(ServerError::InvalidKernel(error)) => (error.problem.clone(), error.to_string()),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn a_kernel_may_use_more_workgroup_memory_than_any_has() {
    if !present("a_kernel_may_use_more_workgroup_memory_than_any_has") {
        return;
    }
    let forward: Vec<u32> = (0..WORDS as u32).collect();
    let backward: Vec<u32> = forward.iter().rev().copied().collect();
    for tiers in [&[Tier::Captured][..], &[Tier::Built], &[Tier::Eager]] {
        let device = device(tiers);
        if (device.caps().workgroup_bytes_max as usize) < 4 * WORDS {
            announce("a_kernel_may_use_more_workgroup_memory_than_any_has: skipped, the device has less");
            return;
        }
        let kernel = device.kernel(&*reverse(WORDS)).unwrap();
        let data = device.upload(&forward).unwrap();
        device.launch(&kernel, Grid::groups(1), (&data,)).unwrap();
        assert_eq!(data.read::<u32>().unwrap(), backward, "{tiers:?}");
        let recorded = device.capture_as(CapturePolicy::AllowEager, |c| c.launch(&kernel, Grid::groups(1), (&data,)));
        let (graph, ()) = recorded.unwrap();
        assert_eq!(graph.report().tier, tiers[0]);
        graph.replay().unwrap();
        assert_eq!(data.read::<u32>().unwrap(), forward, "{tiers:?}");
    }
}

#[test]
fn workgroup_memory_beyond_the_devices_is_refused_with_its_limit() {
    if !present("workgroup_memory_beyond_the_devices_is_refused_with_its_limit") {
        return;
    }
    let device = device(&Tier::ALL);
    let most = device.caps().workgroup_bytes_max;
    let limit = format!("this device has {most}; use less");
    let (_, text) = refusal(device.kernel(&*reverse(most as usize / 4 + 1)));
    assert!(text.contains("`reverse`") && text.contains(&limit), "{text}");
    // Each fits alone: 4 KiB of the code's own, and all of the device's beside it.
    let code = "extern \"C\" __global__ void user(unsigned* data, unsigned long long) {
        __shared__ volatile unsigned own[1024];
        own[threadIdx.x] = 1;
        data[0] = own[threadIdx.x];
    }";
    let (_, text) = refusal(device.kernel(native(NativeLanguage::CudaCpp, code, 1, most)));
    assert!(text.contains("`user`") && text.contains("4096 bytes") && text.contains(&limit), "{text}");
    assert_eq!(device.upload(&[1u32]).unwrap().read::<u32>().unwrap(), [1], "the device goes on");
}

/// Registers bound the threads of a workgroup below what the device allows, which only the compiled code tells.
#[test]
fn a_workgroup_beyond_what_the_code_can_run_is_refused() {
    if !present("a_workgroup_beyond_what_the_code_can_run_is_refused") {
        return;
    }
    let device = device(&Tier::ALL);
    let code =
        "extern \"C\" __global__ void __launch_bounds__(64) user(unsigned* data, unsigned long long) { data[0] = 1; }";
    let (_, text) = refusal(device.kernel(native(NativeLanguage::CudaCpp, code, 128, 0)));
    assert!(text.contains("`user`") && text.contains("128 invocations") && text.contains("can run 64"), "{text}");
}

/// A machine with a driver and no compiler runs PTX; CUDA C++ is refused there with the remedy.
#[test]
fn ptx_runs_without_nvrtc() {
    if !present("ptx_runs_without_nvrtc") {
        return;
    }
    let driver = driver(&CudaOptions::default()).unwrap();
    let settings = Settings { place: Place::Off, ..Settings::from_environment() };
    let toolchain = Arc::new(Toolchain::new(Search::file("absent.so"), Cache::open(&settings)));
    let floats = CudaOptions::default().floats;
    let translator = CudaTranslator::new(driver.facts(), driver.caps(), floats, toolchain).unwrap();
    let server = HardwareServer::open(driver, &BACKEND, Arc::new(translator), Config::default()).unwrap();
    let device = Device::new(Box::new(server), Config::default());
    let code = "extern \"C\" __global__ void user(unsigned* data, unsigned long long) { data[0] = 7; }";
    let (problem, text) = refusal(device.kernel(native(NativeLanguage::CudaCpp, code, 1, 0)));
    assert!(matches!(problem, KernelProblem::Unsupported(_)) && text.contains("CUDA C++"), "{text}");
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry user(.param .u64 data, .param .u64 elements)\n{\n    .reg .b64 %a;\n    .reg .b32 %v;\n    \
        ld.param.u64 %a, [data];\n    mov.u32 %v, 7;\n    st.global.u32 [%a], %v;\n    ret;\n}\n";
    let kernel = device.kernel(native(NativeLanguage::Ptx, ptx, 1, 0)).unwrap();
    let data = device.upload(&[1u32]).unwrap();
    device.launch(&kernel, Grid::groups(1), (&data,)).unwrap();
    assert_eq!(data.read::<u32>().unwrap(), [7]);
}

#[test]
fn ptx_that_does_not_assemble_is_told_with_its_line() {
    if !present("ptx_that_does_not_assemble_is_told_with_its_line") {
        return;
    }
    let device = device(&Tier::ALL);
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry user(.param .u64 data, .param .u64 elements)\n{\n    frobnicate.u32 %r1, 7;\n    ret;\n}\n";
    let (problem, text) = refusal(device.kernel(native(NativeLanguage::Ptx, ptx, 1, 0)));
    assert!(matches!(problem, KernelProblem::Backend(_)), "{problem:?}");
    assert!(text.contains("line 6") && text.contains("INVALID_PTX"), "{text}");
    assert!(device.lost().is_none(), "it is the kernel's fault: {:?}", device.lost());
    assert_eq!(device.upload(&[1u32]).unwrap().read::<u32>().unwrap(), [1], "the device goes on");
}
