//! What is said where the library is absent, is none, is broken or too old: one line each, with the remedy.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{Candidates, Version};
use crate::{Calls, Library, LoadError, RtcCalls, RtcLibrary};

/// A library of that text, in a folder of its own; `None` on a machine without a C compiler.
fn build(text: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (source, library) = (folder.path().join("made.c"), folder.path().join("libamdhip64.so.7"));
    std::fs::write(&source, text).expect("a file in it");
    match Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&source).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some((folder, library))
        }
        Err(error) => {
            graphreel_testkit::announce(&format!("no C compiler, so this test did not run: {error}"));
            None
        }
    }
}

/// A runtime of that version with every function but one.
fn runtime(version: i32, lacking: &str) -> String {
    let mut text = format!("unsigned hipRuntimeGetVersion(int *v) {{ *v = {version}; return 0; }}\n");
    for name in Calls::REQUIRED.iter().filter(|name| **name != lacking && **name != "hipRuntimeGetVersion") {
        writeln!(text, "unsigned {name}(void) {{ return 999; }}").expect("a string takes text");
    }
    text
}

/// A hipRTC with every function but one.
fn compiler(lacking: &str) -> String {
    let mut text = "unsigned hiprtcVersion(int *a, int *b) { *a = 6; *b = 4; return 0; }\n".to_owned();
    for name in RtcCalls::REQUIRED.iter().filter(|name| **name != lacking && **name != "hiprtcVersion") {
        writeln!(text, "unsigned {name}(void) {{ return 0; }}").expect("a string takes text");
    }
    text
}

/// The text of an error, which is one line and has these parts.
#[track_caller]
fn says<T>(result: Result<T, LoadError>, parts: &[&str]) {
    let Err(error) = result else { panic!("it has no {parts:?}") };
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)) && !text.contains('\n'), "{parts:?} in: {text}");
}

#[test]
fn nothing_installed_lists_everything_that_was_tried() {
    let mut candidates = Candidates::runtime(None);
    assert_eq!(candidates.files.len(), 8, "{candidates:?}");
    for (file, name) in candidates.files.iter().zip(["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"]) {
        assert_eq!(file, Path::new(name));
    }
    assert!(candidates.files.contains(&PathBuf::from("/opt/rocm/lib/libamdhip64.so.7")), "{candidates:?}");
    // What is too old by its name comes after every place of what is not.
    let (last, old) = ("/opt/rocm/lib/libamdhip64.so", "libamdhip64.so.5");
    assert_eq!(candidates.files[5..7], [PathBuf::from(last), PathBuf::from(old)], "{candidates:?}");
    candidates.files = vec!["libgraphreel-has-none.so.7".into(), "/nowhere/libgraphreel-has-none.so".into()];
    let parts = ["no HIP runtime", "install ROCm", "GRAPHREEL_HIP_LIBRARY", "libgraphreel-has-none.so.7, /nowhere/lib"];
    says(Library::find(&candidates), &parts);
    says(RtcLibrary::open("libgraphreel-has-none.so"), &["no hipRTC", "GRAPHREEL_HIPRTC_LIBRARY"]);
}

#[test]
fn a_named_file_is_the_only_candidate() {
    let named = |text: &str| Candidates::runtime(Some(OsString::from(text))).files;
    assert_eq!(named("/a/libamdhip64.so.7"), [PathBuf::from("/a/libamdhip64.so.7")]);
    assert!(named("").len() > 1, "an empty variable names nothing");
}

#[test]
fn a_compiler_is_no_newer_than_its_runtime_and_beside_it_first() {
    let names = |version| {
        let files = Candidates::rtc(None, Version(version), Path::new("/rocm/lib/libamdhip64.so")).files;
        files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>()
    };
    let (new, old) = (names(70_253_211), names(60_443_484));
    assert_eq!(new[..2], ["/rocm/lib/libhiprtc.so.7", "/rocm/lib/libhiprtc.so.6"], "{new:?}");
    assert_eq!(old[..2], ["/rocm/lib/libhiprtc.so.6", "libhiprtc.so.6"], "{old:?}");
    assert!(old.iter().all(|name| !name.contains(".so.7")), "{old:?}");
    assert_eq!(new.last().map(String::as_str), Some("/rocm/lib/libamdhip64.so"), "the runtime may have it");
}

#[test]
fn what_is_no_library_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (text, inside) = (folder.path().join("libtext.so"), folder.path().join("libfolder.so"));
    std::fs::write(&text, "not a library").expect("a file in it");
    std::fs::create_dir(&inside).expect("a folder in it");
    says(Library::open(&text), &["libtext.so", "cannot be used", "install ROCm anew"]);
    says(Library::open(&inside), &["libfolder.so", "cannot be used", "irectory"]);
    says(RtcLibrary::open(&text), &["libtext.so", "cannot be used"]);
}

/// Without a look at the file, one that is cut short ends the process in the loader, and a pipe keeps it waiting.
#[test]
fn what_would_end_the_process_is_told_of() {
    let Some((folder, library)) = build(&runtime(60_443_484, "")) else { return };
    let (whole, cut) = (std::fs::read(&library).expect("it was made"), folder.path().join("libcut.so"));
    for part in [2, 3, 10] {
        let bytes = whole.len() - whole.len() / part;
        std::fs::write(&cut, &whole[..bytes]).expect("a file in it");
        let short = format!("libcut.so cannot be used, install ROCm anew: it is cut short: {bytes} of {}", whole.len());
        says(Library::open(&cut), &[&short]);
        says(RtcLibrary::open(&cut), &[&short]);
    }
    let pipe = folder.path().join("libpipe.so");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("it is part of every system");
    assert!(made.success());
    says(Library::open(&pipe), &["libpipe.so", "it is a pipe, not a file"]);
    says(RtcLibrary::open(&pipe), &["libpipe.so", "it is a pipe, not a file"]);
    std::fs::write(&cut, "").expect("a file in it");
    says(Library::open(&cut), &["libcut.so", "it is an empty file"]);
    Library::open(&library).expect("the whole one serves");
}

/// A library that is there and does not serve is passed over.
#[test]
fn the_first_library_that_serves_is_used() {
    let (Some((_a, old)), Some((_b, lacking)), Some((_c, good))) = (
        build(&runtime(50_731_921, "")),
        build(&runtime(70_253_211, "hipGraphUpload")),
        build(&runtime(60_443_484, "")),
    ) else {
        return;
    };
    let text = old.with_file_name("libtext.so");
    std::fs::write(&text, "not a library").expect("a file in it");
    let nowhere = PathBuf::from("/nowhere/libamdhip64.so.7");
    let of = |files: &[&PathBuf]| {
        let mut candidates = Candidates::runtime(None);
        candidates.files = files.iter().map(|file| (*file).clone()).collect();
        Library::find(&candidates)
    };
    let found = of(&[&nowhere, &old, &text, &lacking, &good]).expect("the last one serves");
    assert_eq!((found.version.release(), found.file), ((6, 4), good.canonicalize().expect("it was made")));
    // Where none does, the first that is there says why.
    says(of(&[&nowhere, &old, &text]), &["HIP 5.7.31921", "update ROCm"]);
    says(of(&[&nowhere, &text, &old, &lacking]), &["libtext.so", "cannot be used"]);
    says(of(&[&lacking, &nowhere]), &["HIP 7.2.53211", "lacks hipGraphUpload"]);
    says(of(&[&nowhere]), &["no HIP runtime", "tried /nowhere/libamdhip64.so.7"]);
}

#[test]
fn the_first_compiler_that_serves_is_used() {
    let (Some((_a, good)), Some((_b, lacking))) = (build(&compiler("")), build(&compiler("hiprtcGetCode"))) else {
        return;
    };
    let text = good.with_file_name("libtext.so");
    std::fs::write(&text, "not a library").expect("a file in it");
    let of = |files: &[&PathBuf]| {
        let mut candidates = Candidates::rtc(None, Version(60_443_484), Path::new("/nowhere/libamdhip64.so.6"));
        candidates.files = files.iter().map(|file| (*file).clone()).collect();
        RtcLibrary::find(&candidates)
    };
    let found = of(&[&text, &lacking, &good]).expect("the last one serves");
    assert_eq!(found.file, good.canonicalize().expect("it was made"));
    says(of(&[&text, &lacking]), &["libtext.so", "cannot be used"]);
    says(of(&[&lacking, &text]), &["lacks hiprtcGetCode"]);
}

#[test]
fn a_library_of_something_else_is_told_of() {
    let Some((_folder, library)) = build("int other(void) { return 0; }") else { return };
    says(Library::open(&library), &["libamdhip64.so.7", "lacks hipRuntimeGetVersion", "install ROCm anew"]);
    says(RtcLibrary::open(&library), &["libamdhip64.so.7", "lacks hiprtcVersion"]);
}

#[test]
fn an_old_runtime_is_told_its_version() {
    let Some((_folder, library)) = build(&runtime(50_731_921, "hipGetDevicePropertiesR0600")) else { return };
    says(Library::open(&library), &["HIP 5.7.31921", "6.0 is the oldest", "update ROCm"]);
}

#[test]
fn a_function_that_is_missing_is_named() {
    for lacking in ["hipInit", "hipGraphExecDestroy", "hipGetDevicePropertiesR0600"] {
        let Some((_folder, library)) = build(&runtime(60_443_484, lacking)) else { return };
        says(Library::open(&library), &["HIP 6.4.43484", &format!("lacks {lacking}:")]);
    }
}

#[test]
fn a_runtime_that_does_not_tell_its_version_is_broken() {
    let Some((_folder, library)) = build("unsigned hipRuntimeGetVersion(int *v) { return 3; }") else { return };
    says(Library::open(&library), &["cannot be used", "hipRuntimeGetVersion answered 3"]);
}

#[test]
#[expect(unsafe_code, reason = "functions of a library are called")]
fn a_whole_runtime_serves_and_what_it_may_lack_is_none() {
    let Some((_folder, library)) = build(&runtime(60_000_000, "")) else { return };
    let library = Library::open(&library).expect("it has all");
    assert_eq!((library.version.release(), library.version.to_string()), ((6, 0), "6.0.0".to_owned()));
    assert!(library.file.ends_with("libamdhip64.so.7"), "{}", library.file.display());
    // SAFETY: the functions do nothing.
    let optional = unsafe { library.calls.hipExtGetLastError() };
    assert_eq!(optional, None);
    // SAFETY: as above.
    let failure = unsafe { library.calls.hipInit(0) }.expect_err("it answers so");
    assert_eq!((failure.call, failure.code, failure.to_string().as_str()), ("hipInit", 999, "hipInit answered 999"));
}

#[test]
fn a_compiler_is_found_in_the_runtime_where_there_is_no_other() {
    let (Some((_one, with)), Some((_two, without))) = (build(&compiler("")), build("int other(void) { return 0; }"))
    else {
        return;
    };
    let of = |runtime: &Path| {
        let mut candidates = Candidates::rtc(None, Version(60_443_484), runtime);
        candidates.files.drain(..candidates.files.len() - 1);
        RtcLibrary::find(&candidates)
    };
    let found = of(&with).expect("the runtime has it");
    assert_eq!((found.version, found.file.file_name()), ((6, 4), Some("libamdhip64.so.7".as_ref())));
    says(of(&without), &["no hipRTC", "libamdhip64.so.7 (it has no hiprtcVersion)"]);
}
