//! The library as the backend finds it, without a GPU: it has every function, says that there is no device, and compiles what the
//! backend would give AMD's compiler.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut};

use graphreel::kernel::{KernelSource, Variant, Wgsl, inspect};
use graphreel::shaders;
use graphreel_compilers::nvrtc::Nvrtc;
use graphreel_compilers::{announce, present};
use graphreel_cpp::{Dialect, FloatMode, Options, translate};
use graphreel_hip::hiprtc::{Hiprtc, Source};
use graphreel_hip_on_cuda::{ARCHITECTURE, CAPABILITY_VARIABLE, VERSION};
use graphreel_hip_sys::comgr::Comgr;
use graphreel_hip_sys::{Calls, LIBRARY_VARIABLE, Library, RtcCalls, RtcLibrary};

/// What the compute capability of the devices is that kernels are compiled for here.
const CAPABILITY: &str = "90";

/// The library: the one that the backend is told to use, else that which lies beside the tests.
fn library() -> PathBuf {
    let named = std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from);
    if let Some(named) = named.filter(|named| named.to_string_lossy().contains("hip_on_cuda")) {
        return named;
    }
    let program = std::env::current_exe().expect("a test knows its own program");
    let mut beside = program.ancestors().skip(1).take(2).map(|folder| folder.join("libgraphreel_hip_on_cuda.so"));
    beside.find(|file| file.is_file()).expect("the library lies beside this program")
}

/// The library as hipRTC, with itself beside it as AMD's compiler library.
fn hiprtc() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hip-on-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["libamd_comgr.so.3", "libhiprtc.so.7"] {
        std::fs::copy(library(), folder.join(name)).expect("a copy");
    }
    folder.join("libhiprtc.so.7")
}

/// Whether this process has NVRTC and a compute capability to compile for. One that has not runs the test again in a process that
/// has, where there is NVRTC.
fn again(test: &str) -> bool {
    if std::env::var_os(CAPABILITY_VARIABLE).is_some() {
        return true;
    }
    let Some(nvrtc) = present(test, Nvrtc::find()) else { return false };
    let mut command = Command::new(std::env::current_exe().expect("a test knows its own program"));
    command.args(["--exact", test, "--nocapture"]).env(CAPABILITY_VARIABLE, CAPABILITY);
    let output = command.env("GRAPHREEL_NVRTC", nvrtc.path()).output().expect("a child starts");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{test}: {}\n{text}", output.status);
    announce(&format!("{test}: passed with {}", nvrtc.path().display()));
    false
}

#[test]
fn it_has_every_function_of_the_runtime_and_of_hiprtc() {
    let file = library();
    let runtime = Library::open(&file).expect("it is a HIP runtime");
    assert_eq!(runtime.version.0, VERSION);
    let rtc = RtcLibrary::open(&file).expect("it is hipRTC, too");
    assert_eq!(rtc.version, (7, 2));
    announce(&format!("{} and {} functions", Calls::REQUIRED.len() + Calls::OPTIONAL.len(), RtcCalls::REQUIRED.len()));
}

/// Under AMD's name of its compiler's library it is asked what it knows.
#[test]
fn it_knows_its_own_architecture() {
    let folder = std::env::temp_dir().join(format!("graphreel-hip-on-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(library(), folder.join("libamd_comgr.so.3")).expect("a copy");
    let known = Comgr::of(&folder.join("libamdhip64.so")).architectures;
    std::fs::remove_dir_all(&folder).expect("it is removed");
    assert_eq!(known, Ok(vec![ARCHITECTURE.to_owned()]));
}

/// What is optional in HIP is here, too.
#[test]
fn it_has_what_not_every_hip_has() {
    let bytes = std::fs::read(library()).expect("the library is readable");
    for name in Calls::OPTIONAL {
        let name = [name.as_bytes(), b"\0"].concat();
        assert!(bytes.windows(name.len()).any(|part| part == name), "{}", String::from_utf8_lossy(&name));
    }
}

#[test]
#[expect(unsafe_code, reason = "the library's functions are called")]
fn without_a_device_each_call_says_so() {
    let runtime = Library::open(library()).expect("it is a HIP runtime");
    let calls = &runtime.calls;
    let mut count = 7;
    // SAFETY: the call writes one number.
    let answer = unsafe { calls.hipGetDeviceCount(&raw mut count) };
    let Err(failure) = answer else {
        announce("without_a_device_each_call_says_so: SKIPPED, there is a device");
        return;
    };
    assert_eq!((failure.code, count), (100, 0));
    let (mut address, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the call takes no pointer.
    let init = unsafe { calls.hipInit(0) };
    // SAFETY: the call writes one address.
    let memory = unsafe { calls.hipMalloc(&raw mut address, 64) };
    // SAFETY: the call writes one handle.
    let made = unsafe { calls.hipStreamCreateWithFlags(&raw mut stream, 1) };
    // SAFETY: the call takes a number.
    let bound = unsafe { calls.hipSetDevice(0) };
    for (what, answer) in [("init", init), ("memory", memory), ("stream", made), ("device", bound)] {
        assert_eq!(answer.expect_err("there is no device").code, 100, "{what}");
    }
    // SAFETY: the call takes nothing.
    let last = unsafe { calls.hipGetLastError() };
    assert_eq!(last.expect_err("the last error is kept").code, 100);
    // SAFETY: as above.
    unsafe { calls.hipGetLastError() }.expect("it is told once");
}

/// A caller that gives no place for an answer is told so.
#[test]
#[expect(unsafe_code, reason = "the library's functions are called")]
fn null_is_an_invalid_value() {
    let runtime = Library::open(library()).expect("it is a HIP runtime");
    // SAFETY: the call writes nothing to null.
    let count = unsafe { runtime.calls.hipGetDeviceCount(null_mut()) };
    // SAFETY: as above.
    let version = unsafe { runtime.calls.hipRuntimeGetVersion(null_mut()) };
    for answer in [count, version] {
        assert_eq!(answer.expect_err("there is no place").code, 1);
    }
    let rtc = RtcLibrary::open(library()).expect("it is hipRTC, too");
    // SAFETY: as above.
    let version = unsafe { rtc.calls.hiprtcVersion(null_mut(), null_mut()) };
    // SAFETY: as above.
    let made = unsafe { rtc.calls.hiprtcCreateProgram(null_mut(), c"".as_ptr(), null(), 0, null(), null()) };
    let mut program = null_mut();
    // SAFETY: there is no header in an array that is null.
    let headers = unsafe { rtc.calls.hiprtcCreateProgram(&raw mut program, c"".as_ptr(), null(), 1, null(), null()) };
    // SAFETY: no program is destroyed.
    let destroyed = unsafe { rtc.calls.hiprtcDestroyProgram(null_mut()) };
    for answer in [version, made, headers, destroyed] {
        assert_eq!(answer.expect_err("null is no input").code, 3);
    }
}

/// Every entry point of `shaders/`, and of a kernel for each construct of WGSL.
fn kernels() -> Vec<(String, KernelSource)> {
    let entries = shaders::ALL.iter().flat_map(|shader| shader.entries.iter().map(move |entry| (shader, *entry)));
    let mut all: Vec<(String, KernelSource)> =
        entries.map(|(shader, entry)| (shader.name.to_owned(), shader.entry(entry).into())).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../backends/cpp/tests/constructs");
    let Ok(files) = std::fs::read_dir(folder) else {
        announce("constructs: skipped, the program does not run where it was built");
        return all;
    };
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        let entries = inspect(&text).expect("it is WGSL");
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        all.extend(
            entries.iter().map(|entry| (name.clone(), Wgsl::new(text.as_str()).entry(entry.name.as_str()).into())),
        );
    }
    all
}

/// As the backend translates and compiles them for a device of this library's.
#[test]
fn each_kernel_of_the_backend_compiles() {
    if !again("each_kernel_of_the_backend_compiles") {
        return;
    }
    let hiprtc = Hiprtc::open(hiprtc()).expect("it is hipRTC");
    hiprtc.check(ARCHITECTURE).expect("its architecture is one that it may be asked for");
    let all = kernels();
    assert!(all.len() > 10, "only {} kernels", all.len());
    let mut refused = Vec::new();
    for (index, (name, source)) in all.iter().enumerate() {
        // In both modes of floats, and by turns for either way to launch.
        let variants = [Variant::Direct, Variant::Indirect];
        for (turn, floats) in [FloatMode::Strict, FloatMode::Fast].into_iter().enumerate() {
            let options = Options { floats, variant: variants[(index + turn) % 2], ..Options::new(Dialect::Hip) };
            let translation = translate(source, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut options: Vec<&str> = translation.compiler_options.clone();
            options.push("-DWG_SUBGROUP_SIZE=32u");
            let text = translation.source();
            match hiprtc.compile(&Source { text: &text, name, options: &options }, ARCHITECTURE) {
                Ok(code) => assert!(code.len() > 64, "{name}: there is code"),
                Err(why) => refused.push(why.to_string()),
            }
        }
    }
    announce(&format!("{} entry points in each mode", all.len()));
    assert!(refused.is_empty(), "{} of {} are refused:\n{}", refused.len(), 2 * all.len(), refused.join("\n"));
}

#[test]
fn a_mistake_is_told_by_its_line() {
    if !again("a_mistake_is_told_by_its_line") {
        return;
    }
    let hiprtc = Hiprtc::open(hiprtc()).expect("it is hipRTC");
    let text = "// A comment.\nextern \"C\" __global__ void k(int* x) { x[0] = missing; }\n";
    let source = Source { text, name: "user.hip", options: &[] };
    let refused = hiprtc.compile(&source, ARCHITECTURE).expect_err("it is wrong").to_string();
    assert!(refused.contains("user.hip(2)") && refused.contains("missing"), "{refused}");
}

/// A name cannot end the line that gives it.
#[test]
fn a_name_may_have_any_letters() {
    if !again("a_name_may_have_any_letters") {
        return;
    }
    let hiprtc = Hiprtc::open(hiprtc()).expect("it is hipRTC");
    let text = "extern \"C\" __global__ void k(int* x) { x[0] = 1; }\n";
    for name in [r#"a"b.hip"#, r"a\b.hip", r"a\", "a\nb.hip"] {
        let source = Source { text, name, options: &[] };
        hiprtc.compile(&source, ARCHITECTURE).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// What this library would make weaker than it is written.
#[test]
fn what_it_cannot_keep_is_refused() {
    if !again("what_it_cannot_keep_is_refused") {
        return;
    }
    let hiprtc = Hiprtc::open(hiprtc()).expect("it is hipRTC");
    let refusals = [
        ("__hip_atomic_load(x, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)", "relaxed atomics alone"),
        ("__hip_atomic_fetch_add(x, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)", "for the whole system"),
        ("__hip_atomic_fetch_max(y, 1.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", "whole numbers alone"),
    ];
    for (call, why) in refusals {
        let text = format!("extern \"C\" __global__ void k(unsigned* x, float* y) {{ {call}; }}\n");
        let source = Source { text: &text, name: "user.hip", options: &[] };
        let refused = hiprtc.compile(&source, ARCHITECTURE).expect_err(call).to_string();
        assert!(refused.contains(why), "{call}: {refused}");
    }
}

/// Functions that HIP's compiler has of itself, which native kernels use.
#[test]
fn what_hips_compiler_has_of_itself_is_there() {
    if !again("what_hips_compiler_has_of_itself_is_there") {
        return;
    }
    let hiprtc = Hiprtc::open(hiprtc()).expect("it is hipRTC");
    let text = r#"
extern "C" __global__ __launch_bounds__(64) void k(unsigned* x, float* y, long long* z) {
    const int lane = threadIdx.x % 32;
    x[lane] = __shfl_xor(x[lane], 1) + __shfl_up(x[lane], 1u) + __shfl_down(x[lane], 1u) + __popcll(__ballot(lane & 1));
    y[lane] = float(_Float16(y[lane])) + __shfl(y[lane], 0);
    __hip_atomic_fetch_add(y, 1.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_max(z, (long long)lane, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    long long wanted = 3;
    if (__hip_atomic_compare_exchange_strong(z, &wanted, 4ll, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
        x[0] = __all(1) + __any(0) + __builtin_popcount(x[1]);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
}
"#;
    hiprtc.compile(&Source { text, name: "user.hip", options: &["-O3"] }, ARCHITECTURE).expect("it compiles");
}
