//! WGSL to code for a device through NVRTC and the code cache, without a GPU: nothing here runs what is compiled.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;

use graphreel::ServerError;
use graphreel::error::KernelProblem;
use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::graph::{Translated, Translator};
use graphreel::kernel::{KernelSource, Variant};
use graphreel::shaders::{ALL, Shader};
use graphreel_compilers::{Absent, present};
use graphreel_cpp::FloatMode;
use graphreel_cpp::cache::{Cache, Place, Settings};
use graphreel_cuda::nvrtc::{Nvrtc, Search, Source, Target, VARIABLE};
use graphreel_cuda::{CudaTranslator, Toolchain};

/// Doubles what it is given.
const DOUBLE: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
}";

/// What is known of an H200.
fn facts(architecture: &str) -> DriverFacts {
    DriverFacts {
        name: "a device".to_owned(),
        architecture: architecture.to_owned(),
        driver: "580.0, CUDA 13.0".to_owned(),
        pci: None,
        uuid: None,
        memory_bytes: 0,
        integrated: false,
    }
}

fn caps() -> DriverCaps {
    DriverCaps {
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
        shared_bytes_max: 227 << 10,
        event_resolution_ns: 500,
    }
}

fn search() -> Search {
    Search::from_environment((13, 0))
}

/// Whether NVRTC is there; it is loaded again by what is tested.
fn has_nvrtc(test: &str) -> bool {
    let found = Nvrtc::find(&search()).map_err(|absent| Absent { name: "nvrtc", why: absent.to_string() });
    present(test, found).is_some()
}

fn cache(place: Place) -> Cache {
    Cache::open(&Settings { place, ..Settings::default() })
}

fn toolchain(folder: &Path) -> Arc<Toolchain> {
    Arc::new(Toolchain::new(search(), cache(Place::Folder(folder.to_owned()))))
}

fn translator(architecture: &str, toolchain: &Arc<Toolchain>) -> CudaTranslator {
    CudaTranslator::new(&facts(architecture), &caps(), FloatMode::Strict, Arc::clone(toolchain)).unwrap()
}

fn compiles(toolchain: &Toolchain) -> u64 {
    toolchain.nvrtc().unwrap().compiles()
}

fn holds(code: &[u8], text: &str) -> bool {
    code.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Every entry point of the shipped shaders.
fn shaders() -> Vec<KernelSource> {
    let entries = |shader: &'static Shader| shader.entries.iter().map(|entry| shader.entry(entry).into());
    ALL.iter().flat_map(entries).collect()
}

fn refusal(result: graphreel::Result<Translated>) -> (Option<String>, KernelProblem) {
    match result.unwrap_err() {
        ServerError::InvalidKernel(error) => (error.kernel.clone(), error.problem.clone()),
        error => panic!("{error}"),
    }
}

#[test]
fn shaders_become_cubins_and_come_from_the_cache_the_second_time() {
    if !has_nvrtc("shaders_become_cubins_and_come_from_the_cache_the_second_time") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (first, sources) = (toolchain(folder.path()), shaders());
    assert!(sources.len() >= 16, "{}", sources.len());
    let translator_of = translator("sm_90", &first);
    let all = |translator: &CudaTranslator| -> Vec<Translated> {
        sources.iter().map(|source| translator.translate(source, Variant::Direct).unwrap()).collect()
    };
    let compiled = all(&translator_of);
    assert_eq!(compiles(&first), sources.len() as u64);
    for one in &compiled {
        assert!(one.image.starts_with(b"\x7fELF") && holds(&one.image, one.symbol.to_str().unwrap()));
    }
    // As another process would: nothing but the folder is shared.
    let second = toolchain(folder.path());
    assert_eq!(all(&translator("sm_90", &second)), compiled);
    assert_eq!((compiles(&second), second.cache().stats().unwrap().hits), (0, sources.len() as u64));

    // Another architecture, float mode, variant or driver is another code; a damaged entry is compiled again.
    let other = toolchain(folder.path());
    let source = &sources[0];
    translator("sm_80", &other).translate(source, Variant::Direct).unwrap();
    let fast = CudaTranslator::new(&facts("sm_90"), &caps(), FloatMode::Fast, Arc::clone(&other)).unwrap();
    fast.translate(source, Variant::Direct).unwrap();
    translator("sm_90", &other).translate(source, Variant::Indirect).unwrap();
    let newer = DriverFacts { driver: "590.0".to_owned(), ..facts("sm_90") };
    let newer = CudaTranslator::new(&newer, &caps(), FloatMode::Strict, Arc::clone(&other)).unwrap();
    newer.translate(source, Variant::Direct).unwrap();
    assert_eq!(compiles(&other), 4);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(translator("sm_90", &other).translate(source, Variant::Direct).unwrap(), compiled[0]);
    assert_eq!((compiles(&other), other.cache().stats().unwrap().dropped), (5, 1));
}

#[test]
fn threads_compile_at_once() {
    if !has_nvrtc("threads_compile_at_once") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let toolchain = toolchain(folder.path());
    let translator = translator("sm_90", &toolchain);
    let source = |thread: u32| -> KernelSource { DOUBLE.replace("2.0", &format!("{thread}.5")).as_str().into() };
    let work = |thread: u32| {
        // One of its own, and one that all have.
        let own = translator.translate(&source(thread), Variant::Direct).unwrap();
        (own, translator.translate(&source(9), Variant::Direct).unwrap())
    };
    let results: Vec<(Translated, Translated)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (index, (own, shared)) in results.iter().enumerate() {
        assert_eq!(shared, &results[0].1);
        assert!(results[..index].iter().all(|(other, _)| other != own), "thread {index}");
    }
    assert_eq!(toolchain.cache().stats().unwrap().entries, 9);
}

#[test]
fn without_a_cache_everything_is_compiled() {
    if !has_nvrtc("without_a_cache_everything_is_compiled") {
        return;
    }
    let toolchain = Arc::new(Toolchain::new(search(), cache(Place::Off)));
    let translator = translator("sm_90", &toolchain);
    let first = translator.translate(&DOUBLE.into(), Variant::Direct).unwrap();
    assert_eq!(translator.translate(&DOUBLE.into(), Variant::Direct).unwrap(), first);
    assert_eq!(compiles(&toolchain), 2);
    assert!(holds(&first.image, "wgk_double") && first.shared_bytes == 0);

    // Above 48 KiB the launch has to ask for workgroup memory.
    let large = "
        var<workgroup> tile: array<u32, 16384>;
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(64) fn large(@builtin(local_invocation_index) i: u32) {
            tile[i * 256u] = x[i];
            workgroupBarrier();
            x[i] = tile[(63u - i) * 256u];
        }";
    assert_eq!(translator.translate(&large.into(), Variant::Direct).unwrap().shared_bytes, 65_536);
}

#[test]
fn a_device_that_nvrtc_does_not_know_gets_ptx() {
    if !has_nvrtc("a_device_that_nvrtc_does_not_know_gets_ptx") {
        return;
    }
    let toolchain = Arc::new(Toolchain::new(search(), cache(Place::Off)));
    let newer = translator("sm_999", &toolchain).translate(&DOUBLE.into(), Variant::Direct).unwrap();
    let text = String::from_utf8(newer.image).unwrap();
    assert!(text.contains(".entry wgk_double") && text.ends_with('\0'), "{text}");
    let older = translator("sm_30", &toolchain).translate(&DOUBLE.into(), Variant::Direct);
    let (_, problem) = refusal(older);
    assert!(matches!(&problem, KernelProblem::Unsupported(text) if text.contains("capability 3.0")), "{problem:?}");
    assert!(CudaTranslator::new(&facts("gfx90a"), &caps(), FloatMode::Strict, toolchain).is_err_and(|error| {
        let text = error.to_string();
        text.contains("gfx90a") && text.contains("sm_90")
    }));
}

#[test]
fn a_compile_error_has_the_compilers_words() {
    if !has_nvrtc("a_compile_error_has_the_compilers_words") {
        return;
    }
    let nvrtc = Nvrtc::find(&search()).unwrap();
    let compile = |text, options: &[&str], target| nvrtc.compile(&Source { text, name: "bad", options }, target);
    let bad = "#line 12 \"saxpy.wgsl\"\nextern \"C\" __global__ void bad() { unknown_name = 1; }";
    let error = compile(bad, &["--std=c++17"], Target::Cubin(90)).unwrap_err();
    assert!(error.log.contains("saxpy.wgsl(12)") && error.log.contains("unknown_name"), "{error}");
    assert!(
        error.to_string().contains("for sm_90") && error.to_string().contains("NVRTC_ERROR_COMPILATION"),
        "{error}"
    );
    let good = "extern \"C\" __global__ void good() {}";
    for (text, options, target) in [
        (good, ["--no-such-option"], Target::Cubin(90)),
        (good, ["--std=c++17"], Target::Cubin(1)),
        ("a\0b", ["--std=c++17"], Target::Cubin(90)),
        (good, ["--std=c\0"], Target::Ptx(90)),
    ] {
        assert!(compile(text, &options, target).is_err(), "{options:?} {target}");
    }
    assert!(compile(good, &[], Target::Cubin(90)).is_ok(), "and it goes on");
}

#[test]
fn without_nvrtc_each_kernel_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let no_library = folder.path().join("libnvrtc.so.13");
    std::fs::write(&no_library, "not a library").unwrap();
    let program = std::env::current_exe().unwrap();
    // The loader itself would end the process over this one.
    let cut = folder.path().join("libcut.so");
    let whole = std::fs::read(&program).unwrap();
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    for (file, why) in [
        (folder.path().join("absent.so"), "absent.so: it is not there"),
        (no_library, "libnvrtc.so.13"),
        (cut, if cfg!(target_os = "linux") { "libcut.so: it is cut short" } else { "libcut.so" }),
        (folder.path().to_owned(), "it is a directory, not a file"),
        // Of the right kind, and with none of the functions.
        (Path::new("libm.so.6").to_owned(), "nvrtcVersion"),
        (program, ""),
    ] {
        let toolchain = Arc::new(Toolchain::new(Search::file(file), cache(Place::Off)));
        let translator = translator("sm_90", &toolchain);
        let (kernel, problem) = refusal(translator.translate(&DOUBLE.into(), Variant::Direct));
        let KernelProblem::Unsupported(text) = problem else { panic!("{problem:?}") };
        assert_eq!(kernel.as_deref(), Some("double"));
        for part in ["NVRTC is not there", "CUDA C++", "PTX and cubins do without", "nvidia-cuda-nvrtc", VARIABLE, why]
        {
            assert!(text.contains(part), "`{part}` in {text}");
        }
        let again = refusal(translator.translate(&DOUBLE.into(), Variant::Direct));
        assert_eq!(again.1, KernelProblem::Unsupported(text));
        // What is wrong with a kernel is told all the same.
        assert!(matches!(refusal(translator.translate(&"fn".into(), Variant::Direct)).1, KernelProblem::Parse { .. }));
    }
}

#[test]
fn what_the_device_cannot_run_is_refused_before_any_compiler() {
    let toolchain = Arc::new(Toolchain::new(Search::file("absent.so"), cache(Place::Off)));
    let translator = translator("sm_90", &toolchain);
    assert_eq!(translator.features().len(), 9);
    for (wgsl, why) in [
        ("@compute @workgroup_size(1, 1, 65) fn f() {}", "workgroup size"),
        ("@compute @workgroup_size(64, 32) fn f() {}", "2048 invocations"),
        (
            "var<workgroup> w: array<u32, 60000>; @compute @workgroup_size(1) fn f() { w[0] = 1u; }",
            "bytes of workgroup memory",
        ),
    ] {
        let problem = match translator.reflect(&wgsl.into()).unwrap_err() {
            ServerError::InvalidKernel(error) => error.problem.clone(),
            error => panic!("{error}"),
        };
        assert!(matches!(&problem, KernelProblem::Unsupported(text) if text.contains(why)), "{why}: {problem:?}");
    }
    assert_eq!(&*translator.reflect(&DOUBLE.into()).unwrap().entry, "double");
}
