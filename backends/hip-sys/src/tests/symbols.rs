//! Every function of this crate, looked up in AMD's libraries; and those libraries loaded and asked on a machine without a device.

use std::collections::BTreeSet;
use std::path::Path;

use graphreel_compilers::hip::Tree;
use object::{Object as _, ObjectSymbol as _};

use super::{lacking, trees};
use crate::comgr::Comgr;
use crate::{Calls, Library, RtcCalls, RtcLibrary};

/// In the child that AMD's loader starts: the files of the runtime and of hipRTC.
const FILES: &str = "GRAPHREEL_HIP_SYS_FILES";

/// Before what the child says.
const TOLD: &str = "told: ";

/// The functions that a library gives to others.
fn exported(file: &Path) -> BTreeSet<String> {
    let bytes = std::fs::read(file).expect("the library is there");
    let parsed = object::File::parse(&*bytes).expect("it is an ELF file");
    let symbols = parsed.dynamic_symbols().filter(|symbol| symbol.is_definition());
    symbols.filter_map(|symbol| symbol.name().ok()).map(str::to_owned).collect()
}

fn file(tree: &Tree, name: &str) -> std::path::PathBuf {
    tree.library(name).unwrap_or_else(|| panic!("HIP {} has no {name}", tree.version()))
}

#[test]
fn amds_libraries_have_every_function() {
    for tree in trees("amds_libraries_have_every_function") {
        let runtime = exported(&file(&tree, "libamdhip64"));
        let missing = |names: &'static [&str], from: &BTreeSet<String>| -> Vec<&str> {
            names.iter().copied().filter(|name| !from.contains(*name)).collect()
        };
        assert_eq!(missing(Calls::REQUIRED, &runtime), Vec::<&str>::new(), "HIP {}", tree.version());
        assert_eq!(missing(Calls::OPTIONAL, &runtime), lacking(&tree), "HIP {}", tree.version());
        let rtc = exported(&file(&tree, "libhiprtc"));
        assert_eq!(missing(RtcCalls::REQUIRED, &rtc), Vec::<&str>::new(), "hipRTC {}", tree.version());
    }
}

#[test]
fn names_are_there_once() {
    let all = [Calls::REQUIRED, Calls::OPTIONAL, RtcCalls::REQUIRED].concat();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    assert!(all.len() > 80 && all.iter().all(|name| name.starts_with("hip")), "{all:?}");
}

/// The entry of the child, and nothing in any other run.
#[test]
#[expect(unsafe_code, reason = "the runtime is called")]
fn child_entry() {
    let Some(files) = std::env::var_os(FILES) else { return };
    let mut files = std::env::split_paths(&files);
    let runtime = Library::open(files.next().expect("the runtime")).expect("it serves");
    let mut count = -1;
    // SAFETY: neither call needs anything, and the second writes one number.
    let init = unsafe { runtime.calls.hipInit(0) };
    // SAFETY: as above.
    let counted = unsafe { runtime.calls.hipGetDeviceCount(&raw mut count) };
    let rtc = RtcLibrary::open(files.next().expect("hipRTC")).expect("it serves");
    let compiler: Vec<String> = Comgr::of(&rtc.file).files.iter().map(|file| file.display().to_string()).collect();
    let code = |answer: crate::Answer| answer.map_or_else(|failure| failure.code, |()| 0);
    let (init, counted) = (code(init), code(counted));
    println!(
        "\n{TOLD}{} {init} {counted} {count} {}.{} {} {}",
        runtime.version,
        rtc.version.0,
        rtc.version.1,
        rtc.calls.error_text(6),
        compiler.join(" ")
    );
}

#[test]
fn the_real_runtime_tells_its_version_and_that_there_is_no_device() {
    for tree in trees("the_real_runtime_tells_its_version_and_that_there_is_no_device") {
        let mut child = tree.command(&std::env::current_exe().expect("a test has a file"), &[]);
        child.args(["--exact", "tests::symbols::child_entry", "--nocapture", "--test-threads=1"]);
        let files = std::env::join_paths([file(&tree, "libamdhip64"), file(&tree, "libhiprtc")]).expect("no colons");
        // Only its own devices count, of which a machine with some shows none.
        child.env(FILES, files).env("HIP_VISIBLE_DEVICES", "-1").env("ROCR_VISIBLE_DEVICES", "-1");
        let output = child.output().expect("its loader starts");
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let told = said.lines().find_map(|line| line.strip_prefix(TOLD)).unwrap_or_else(|| panic!("{said}{errors}"));
        let words: Vec<&str> = told.split(' ').collect();
        let [version, init, counted, count, rtc, text, comgr, llvm] = words[..] else { panic!("{told}") };
        let short = |text: &str| text.split('.').take(2).map(str::to_owned).collect::<Vec<_>>().join(".");
        assert_eq!(short(version), short(tree.version()), "{told}");
        assert!([init, counted].iter().all(|code| ["100", "101"].contains(code)), "no device: {told}");
        assert_eq!(count, "0", "{told}");
        // 6.4's hipRTC still tells 9.0, as it has since before it was a library of its own.
        assert!(rtc == short(version) || rtc == "9.0", "{told}");
        assert_eq!(text, "HIPRTC_ERROR_COMPILATION", "{told}");
        // Debian's has LLVM in a library of its own.
        assert!(comgr.contains("/libamd_comgr.so.") && llvm.contains("/libLLVM.so."), "{told}");
    }
}
