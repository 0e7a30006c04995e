//! WGSL to code for a device through hipRTC and the code cache, without a GPU: nothing here runs what is compiled. AMD's
//! libraries are newer than most systems', so each test that loads them runs again in a child, under the loader beside them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graphreel::ServerError;
use graphreel::error::KernelProblem;
use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::graph::{Translated, Translator};
use graphreel::kernel::{KernelSource, NativeBuffer, NativeKernel, NativeLanguage, Variant};
use graphreel::memory::Access;
use graphreel::shaders::{ALL, Shader};
use graphreel_compilers::hip::{Suite, Tree};
use graphreel_compilers::{code_object, present};
use graphreel_cpp::FloatMode;
use graphreel_cpp::cache::{Cache, Place, Settings};
use graphreel_hip::hiprtc::{Hiprtc, Source};
use graphreel_hip::{HipTranslator, Toolchain};

/// In a child that AMD's loader starts: the file of hipRTC.
const FILE: &str = "GRAPHREEL_HIP_COMPILE";

/// Doubles what it is given.
const DOUBLE: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
}";

/// What is known of a device.
fn facts(arch: &str) -> DriverFacts {
    DriverFacts {
        name: "a device".to_owned(),
        architecture: arch.to_owned(),
        driver: format!("HIP 6.4.0, {arch}"),
        pci: None,
        uuid: None,
        memory_bytes: 0,
        integrated: false,
    }
}

fn caps(warp_width: u32) -> DriverCaps {
    DriverCaps {
        warp_width,
        graph_upload: true,
        relaxed_capture: true,
        capture_tail: true,
        free_waits_for_device: true,
        unload_waits_for_device: true,
        updates_per_exec_max: Some(256),
        branches_max: 1,
        launch_items_max: u64::from(u32::MAX),
        groups_max: [65_535; 3],
        threads_max: [1024; 3],
        group_threads_max: 1024,
        shared_bytes_max: 64 << 10,
        event_resolution_ns: 1_000,
    }
}

/// The file of hipRTC, in a child. Elsewhere the test of that name runs in one for each hipRTC that is there.
fn inside(test: &str) -> Option<PathBuf> {
    if let Some(file) = std::env::var_os(FILE) {
        return Some(file.into());
    }
    for suite in Suite::ALL {
        let Some(tree) = present(test, Tree::find(suite)) else { continue };
        let mut child = tree.command(&std::env::current_exe().unwrap(), &[]);
        child.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        child.env(FILE, tree.library("libhiprtc").unwrap()).env("AMD_COMGR_CACHE", "0");
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "hipRTC {}: {said}", tree.version());
    }
    None
}

fn cache(place: Place) -> Cache {
    Cache::open(&Settings { place, ..Settings::default() })
}

fn toolchain(file: &Path, folder: &Path) -> Arc<Toolchain> {
    Arc::new(Toolchain::file(file, cache(Place::Folder(folder.to_owned()))))
}

fn translator(arch: &str, wave: u32, toolchain: &Arc<Toolchain>) -> HipTranslator {
    HipTranslator::new(arch, &facts(arch), &caps(wave), FloatMode::Strict, Arc::clone(toolchain)).unwrap()
}

fn compiles(toolchain: &Toolchain) -> u64 {
    toolchain.hiprtc().unwrap().compiles()
}

/// Some entry points of the shipped shaders: each takes seconds, and the writer's tests compile all.
fn shaders() -> Vec<KernelSource> {
    let entries = |shader: &'static Shader| shader.entries.iter().map(|entry| shader.entry(entry).into());
    ALL.iter().flat_map(entries).take(3).collect()
}

fn refusal(result: graphreel::Result<Translated>) -> (Option<String>, KernelProblem) {
    match result.unwrap_err() {
        ServerError::InvalidKernel(error) => (error.kernel.clone(), error.problem.clone()),
        error => panic!("{error}"),
    }
}

#[test]
fn shaders_become_code_objects_and_come_from_the_cache_the_second_time() {
    let Some(file) = inside("shaders_become_code_objects_and_come_from_the_cache_the_second_time") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (first, sources) = (toolchain(&file, folder.path()), shaders());
    let all = |translator: &HipTranslator| -> Vec<Translated> {
        sources.iter().map(|source| translator.translate(source, Variant::Direct).unwrap()).collect()
    };
    let compiled = all(&translator("gfx1100", 32, &first));
    assert_eq!(compiles(&first), sources.len() as u64);
    for one in &compiled {
        let kernels = code_object::kernels(&one.image).unwrap();
        assert_eq!((kernels.len(), kernels[0].name.as_str()), (1, one.symbol.to_str().unwrap()));
        assert_eq!(kernels[0].wave, 32);
    }
    // As another process would: nothing but the folder is shared.
    let second = toolchain(&file, folder.path());
    assert_eq!(all(&translator("gfx1100", 32, &second)), compiled);
    assert_eq!((compiles(&second), second.cache().stats().unwrap().hits), (0, sources.len() as u64));

    // Another architecture, its features, a variant or a driver is another code.
    let other = toolchain(&file, folder.path());
    let source = &sources[0];
    for (arch, variant) in
        [("gfx90a", Variant::Direct), ("gfx90a:sramecc+:xnack-", Variant::Direct), ("gfx90a", Variant::Indirect)]
    {
        let code = translator(arch, 64, &other).translate(source, variant).unwrap();
        assert_eq!(code_object::kernels(&code.image).unwrap()[0].wave, 64, "{arch}");
    }
    assert_eq!(compiles(&other), 3);
}

#[test]
fn threads_compile_at_once() {
    let Some(file) = inside("threads_compile_at_once") else { return };
    let toolchain = Arc::new(Toolchain::file(file, cache(Place::Off)));
    let translator = translator("gfx1100", 32, &toolchain);
    let source = |thread: u32| -> KernelSource { DOUBLE.replace("2.0", &format!("{thread}.5")).as_str().into() };
    let results: Vec<Translated> = std::thread::scope(|scope| {
        let work = |thread: u32| translator.translate(&source(thread), Variant::Direct).unwrap();
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (index, one) in results.iter().enumerate() {
        assert!(results[..index].iter().all(|other| other.image != one.image), "thread {index}");
    }
    assert_eq!(compiles(&toolchain), 4);
}

#[test]
fn what_would_end_the_process_is_refused_and_a_compile_error_has_the_compilers_words() {
    let test = "what_would_end_the_process_is_refused_and_a_compile_error_has_the_compilers_words";
    let Some(file) = inside(test) else { return };
    let hiprtc = Hiprtc::open(file).unwrap();
    let compile = |text, options: &[&str], arch| hiprtc.compile(&Source { text, name: "bad", options }, arch);
    let good = "extern \"C\" __global__ void good() {}";
    for arch in ["gfx9999", "gfx1", "gfx", "banana"] {
        let text = compile(good, &[], arch).unwrap_err().to_string();
        assert!(text.contains(arch) && text.contains("does not know it") && !text.contains('\n'), "{text}");
    }
    let two = compile(good, &["--offload-arch=gfx942"], "gfx90a").unwrap_err();
    assert!(two.to_string().contains("names another one"), "{two}");
    let bad = "#line 12 \"saxpy.wgsl\"\nextern \"C\" __global__ void bad() { unknown_name = 1; }";
    let error = compile(bad, &["-std=c++17"], "gfx90a").unwrap_err();
    assert!(error.log.contains("saxpy.wgsl:12") && error.log.contains("unknown_name"), "{error}");
    assert!(
        error.to_string().contains("for gfx90a") && error.to_string().contains("HIPRTC_ERROR_COMPILATION"),
        "{error}"
    );
    for (text, options) in [(good, "--no-such-option"), ("a\0b", "-std=c++17"), (good, "-std=c\0")] {
        let error = compile(text, &[options], "gfx90a").unwrap_err();
        assert!(error.to_string().len() > 40, "a refusal says something: {error}");
    }
    assert!(compile(good, &[], "gfx90a").is_ok(), "and it goes on");
}

#[test]
fn native_kernels_are_compiled_or_taken_as_they_are() {
    let Some(file) = inside("native_kernels_are_compiled_or_taken_as_they_are") else { return };
    let toolchain = Arc::new(Toolchain::file(file, cache(Place::Off)));
    let translator = translator("gfx90a", 64, &toolchain);
    let text = "static_assert(WG_SUBGROUP_SIZE == 64 && N == 3, \"\"); extern \"C\" __global__ void triple(float* x) { x[threadIdx.x] *= N; }";
    let native = |language, code: &[u8]| NativeKernel::new(language, code, "triple", [64, 1, 1]);
    let vouched = |kernel: NativeKernel| -> KernelSource {
        #[expect(unsafe_code, reason = "the kernel is only compiled")]
        // SAFETY: nothing launches it.
        unsafe { kernel.vouch() }.unwrap()
    };
    let buffer = || NativeBuffer::block("x", Access::ReadWrite, 256);
    let source = vouched(native(NativeLanguage::HipCpp, text.as_bytes()).buffer(buffer()).option("-DN=3"));
    let compiled = translator.translate(&source, Variant::Direct).unwrap();
    let kernels = code_object::kernels(&compiled.image).unwrap();
    assert_eq!((kernels[0].name.as_str(), kernels[0].wave), ("triple", 64));
    // The code object itself needs no compiler.
    let image = compiled.image.clone();
    let source = vouched(native(NativeLanguage::HipCodeObject, &image).buffer(buffer()));
    assert_eq!(translator.translate(&source, Variant::Direct).unwrap().image, image);
    assert_eq!(compiles(&toolchain), 1);
    // Another vendor's is refused by name.
    let source = vouched(native(NativeLanguage::CudaCpp, text.as_bytes()).buffer(buffer()));
    let (_, problem) = refusal(translator.translate(&source, Variant::Direct));
    assert!(matches!(&problem, KernelProblem::Unsupported(text) if text.contains("CUDA C++")), "{problem:?}");
}

#[test]
fn without_hiprtc_each_kernel_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let no_library = folder.path().join("libhiprtc.so.7");
    std::fs::write(&no_library, "not a library").unwrap();
    for (file, why) in [
        (folder.path().join("absent.so"), "absent.so"),
        (no_library, "libhiprtc.so.7"),
        // Of the right kind, and with none of the functions.
        (Path::new("libm.so.6").to_owned(), "hiprtcVersion"),
    ] {
        let toolchain = Arc::new(Toolchain::file(file, cache(Place::Off)));
        let translator = translator("gfx90a", 64, &toolchain);
        let (kernel, problem) = refusal(translator.translate(&DOUBLE.into(), Variant::Direct));
        let KernelProblem::Unsupported(text) = problem else { panic!("{problem:?}") };
        assert_eq!(kernel.as_deref(), Some("double"));
        for part in ["hipRTC is not there", "install ROCm", why] {
            assert!(text.contains(part), "`{part}` in {text}");
        }
        // What is wrong with a kernel is told all the same.
        assert!(matches!(refusal(translator.translate(&"fn".into(), Variant::Direct)).1, KernelProblem::Parse { .. }));
    }
}

#[test]
fn what_the_device_cannot_run_is_refused_before_any_compiler() {
    let toolchain = Arc::new(Toolchain::file("absent.so", cache(Place::Off)));
    let translator = translator("gfx90a", 64, &toolchain);
    assert_eq!(translator.features().len(), 9);
    let wide = "@compute @workgroup_size(64, 32) fn f() {}";
    let error = translator.reflect(&wide.into()).unwrap_err();
    assert!(error.to_string().contains("2048 invocations"), "{error}");
    for (arch, wave, why) in [("sm_90", 32, "gfx90a"), ("gfx90a -O0", 64, "gfx90a"), ("gfx90a", 16, "waves of 32")] {
        let made = HipTranslator::new(arch, &facts(arch), &caps(wave), FloatMode::Strict, Arc::clone(&toolchain));
        let text = made.unwrap_err().to_string();
        assert!(text.contains(why) && !text.contains('\n'), "{text}");
    }
}
