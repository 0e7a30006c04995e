//! What a machine with no HIP runtime, a broken one, an old one or one without devices is told: each case in a child of its own,
//! whose loader finds a library that was made for it, or AMD's own.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use graphreel_compilers::hip::{Suite, Tree};
use graphreel_compilers::present;
use graphreel_hip_sys::{Calls, LIBRARY_VARIABLE};

/// Set in the children; in those with a device that cannot be asked, to its index.
const CASE: &str = "GRAPHREEL_HIP_ABSENCE";

/// Before what a child was told.
const TOLD: &str = "told: ";

/// In the place of the end of a line, which no text may have.
const NEXT_LINE: &str = "<next line>";

/// Variables that hide devices.
const HIDING: [&str; 4] = ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];

/// The entry of a child, and nothing in any other run.
#[test]
fn child_entry() {
    if std::env::var_os(CASE).is_some() {
        let told = graphreel_hip::absence();
        assert_eq!(graphreel_hip::devices().err().unwrap_or_default(), told, "it is the same each time");
        let refused = graphreel_hip::open(&graphreel_hip::HipOptions::default(), graphreel::Config::default());
        assert_eq!(refused.is_err(), !told.is_empty(), "and opening says so");
        println!("\n{TOLD}{}", told.replace('\n', NEXT_LINE));
    }
}

/// The entry of a child whose runtime has two devices, of which one cannot be asked; nothing in any other run.
#[test]
fn child_of_one_that_cannot_be_asked() {
    use graphreel::lifecycle::GpuInventory as _;
    let Some(bad) = std::env::var(CASE).ok().and_then(|bad| bad.parse::<usize>().ok()) else { return };
    let (good, line) = (1 - bad, format!("device {bad} cannot be asked: "));
    let devices = graphreel_hip::devices().expect("the other is there");
    assert_eq!(devices.iter().map(|device| device.index).collect::<Vec<_>>(), [good]);
    let problems = graphreel_hip::problems();
    assert!(matches!(&problems[..], [one] if one.starts_with(&line) && !one.contains('\n')), "{problems:?}");
    assert_eq!(graphreel_hip::absence(), "");
    let options =
        |index| graphreel_hip::HipOptions { select: graphreel_hip::Select::Index(index), ..Default::default() };
    let refused = graphreel_hip::open(&options(bad), graphreel::Config::default()).expect_err("it is refused");
    let text = refused.to_string();
    assert!(text.contains(&format!("the devices are: {good} card")) && text.contains(&line), "{text}");
    let facts = graphreel_hip::HipFactory::default();
    assert_eq!(facts.facts(good).expect("it is listed").device, good);
    let text = facts.facts(bad).expect_err("it cannot be asked").to_string();
    assert!(text.contains(&format!("the largest ordinal is {good}")) && text.contains(&line), "{text}");
    println!("\n{TOLD}all");
}

/// What the child is told that `command` starts, with these variables.
fn said(command: Command, variables: &[(&str, &str)]) -> String {
    said_by("child_entry", command, variables)
}

fn said_by(child: &str, mut command: Command, variables: &[(&str, &str)]) -> String {
    command.args(["--exact", child, "--nocapture", "--test-threads=1"]).env(CASE, "1");
    HIDING.iter().chain([&LIBRARY_VARIABLE]).for_each(|name| {
        command.env_remove(name);
    });
    command.envs(variables.iter().copied());
    let output = command.output().expect("a test starts again");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "no runtime makes a program fail: {said}{errors}");
    let line = said.lines().find_map(|line| line.strip_prefix(TOLD));
    line.unwrap_or_else(|| panic!("{said}{errors}")).to_owned()
}

/// What a process is told that finds `folder` before any other.
fn told(folder: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().expect("a test has a file"));
    command.env("LD_LIBRARY_PATH", folder);
    said(command, variables)
}

/// A runtime as far as it is asked: a version, its calls but for `lacking`, the answers of two and a number of devices.
#[derive(Clone, Copy)]
struct Fake {
    version: i32,
    init: i32,
    counted: i32,
    devices: i32,
    /// The device that does not tell what it is, where the others do; else none does.
    bad: Option<i32>,
    lacking: &'static str,
}

const WHOLE: Fake = Fake { version: 60_000_000, init: 0, counted: 0, devices: 0, bad: None, lacking: "" };

impl Fake {
    fn text(self) -> String {
        let Self { version, init, counted, devices, bad, lacking } = self;
        let mut text = String::new();
        for name in Calls::REQUIRED.iter().filter(|name| **name != lacking) {
            let body = match *name {
                "hipRuntimeGetVersion" => format!("(int *v) {{ *v = {version}; return 0; }}"),
                "hipInit" => format!("(unsigned f) {{ return {init}; }}"),
                "hipGetDeviceCount" => format!("(int *n) {{ *n = {devices}; return {counted}; }}"),
                _ => bad.and_then(|bad| Self::asked(name, bad)).unwrap_or("(void) { return 999; }".to_owned()),
            };
            writeln!(text, "unsigned {name}{body}").expect("a string takes text");
        }
        text
    }

    /// A call that is asked of a device, which each but one answers.
    fn asked(name: &str, bad: i32) -> Option<String> {
        Some(match name {
            "hipDeviceGet" => "(int *d, int i) { *d = i; return 0; }".to_owned(),
            // Where AMD's header has the architecture's name.
            "hipGetDevicePropertiesR0600" => {
                format!("(char *p, int d) {{ __builtin_strcpy(p + 1160, \"gfx90a\"); return d == {bad} ? 719 : 0; }}")
            }
            "hipDeviceGetName" => "(char *n, int l, int d) { __builtin_strcpy(n, \"card\"); return 0; }".to_owned(),
            "hipDeviceGetAttribute" => "(int *v, int a, int d) { *v = 64; return 0; }".to_owned(),
            "hipDeviceTotalMem" => "(unsigned long *v, int d) { *v = 1 << 30; return 0; }".to_owned(),
            _ => return None,
        })
    }

    /// Compiled, in a folder of its own; `None` on a machine without a C compiler.
    fn build(self) -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let (source, library) = (folder.path().join("fake.c"), folder.path().join("libamdhip64.so.7"));
        std::fs::write(&source, self.text()).expect("a file in it");
        match Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&source).output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                Some(folder)
            }
            Err(error) => {
                graphreel_testkit::announce(&format!("no C compiler, so this test did not run: {error}"));
                None
            }
        }
    }
}

/// Whether a line has all of `parts`, and is one.
#[track_caller]
fn says(told: &str, parts: &[&str]) {
    for part in parts {
        assert!(told.contains(part), "`{part}` is not in: {told}");
    }
    assert!(!told.contains(NEXT_LINE), "one line: {told}");
}

#[test]
fn a_machine_without_a_runtime_is_told_everything_that_was_tried() {
    // What a named file lacks is told of it alone.
    let named = told(Path::new("/nonexistent"), &[(LIBRARY_VARIABLE, "/nonexistent/libamdhip64.so")]);
    says(&named, &["no HIP runtime", "tried /nonexistent/libamdhip64.so", "GRAPHREEL_HIP_LIBRARY"]);
    let all = told(Path::new("/nonexistent"), &[]);
    if all.starts_with("no HIP runtime") {
        says(&all, &["install ROCm", "libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so"]);
    }
}

#[test]
fn what_is_no_library_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let library = folder.path().join("libamdhip64.so.7");
    std::fs::write(&library, "not a library").expect("a file in it");
    says(&told(folder.path(), &[]), &["libamdhip64.so.7", "cannot be used", "install ROCm anew"]);
    std::fs::remove_file(&library).expect("it was made");
    std::fs::create_dir(&library).expect("a folder in its place");
    says(&told(folder.path(), &[]), &["libamdhip64.so.7", "cannot be used"]);
}

#[test]
fn an_old_runtime_is_told_its_version_and_what_is_needed() {
    let Some(folder) = (Fake { version: 50_731_921, lacking: "hipGraphUpload", ..WHOLE }).build() else { return };
    says(&told(folder.path(), &[]), &["HIP 5.7.31921", "6.0 is the oldest", "update ROCm"]);
}

#[test]
fn a_call_that_a_runtime_lacks_is_named() {
    for lacking in ["hipGraphUpload", "hipInit"] {
        let Some(folder) = (Fake { lacking, version: 70_253_211, ..WHOLE }).build() else { return };
        says(&told(folder.path(), &[]), &["HIP 7.2.53211", &format!("lacks {lacking}:")]);
    }
}

#[test]
fn a_runtime_without_devices_says_why() {
    let none = ["shows no device", "/dev/kfd"];
    for (fake, variables, parts) in [
        (WHOLE, &[][..], &none[..]),
        (Fake { counted: 100, ..WHOLE }, &[], &none),
        (Fake { counted: 101, ..WHOLE }, &[], &none),
        (Fake { init: 100, ..WHOLE }, &[], &none),
        (Fake { init: 101, ..WHOLE }, &[], &none),
        (Fake { init: 100, ..WHOLE }, &[("HIP_VISIBLE_DEVICES", "")], &["HIP_VISIBLE_DEVICES is ``", "rocminfo"]),
        (
            Fake { init: 100, ..WHOLE },
            &[("CUDA_VISIBLE_DEVICES", "0"), ("HIP_VISIBLE_DEVICES", "7")],
            &["HIP_VISIBLE_DEVICES is `7` and CUDA_VISIBLE_DEVICES is `0`", "no AMD GPU"],
        ),
        (
            Fake { init: 100, ..WHOLE },
            &[("HIP_VISIBLE_DEVICES", "7\nx")],
            &["HIP_VISIBLE_DEVICES is `7\\nx`", "which may hide", "no AMD GPU"],
        ),
        (Fake { init: 100, ..WHOLE }, &[("ROCR_VISIBLE_DEVICES", "GPU-x")], &["ROCR_VISIBLE_DEVICES is `GPU-x`"]),
        (
            Fake { init: 999, ..WHOLE },
            &[("HIP_VISIBLE_DEVICES", "")],
            &["does not start", "hipInit", "hipErrorUnknown"],
        ),
        (Fake { devices: 1, ..WHOLE }, &[], &["device 0 cannot be asked", "hipDeviceGet"]),
    ] {
        let Some(folder) = fake.build() else { return };
        says(&told(folder.path(), variables), parts);
    }
}

#[test]
fn a_device_that_cannot_be_asked_hides_no_other() {
    for bad in [0, 1] {
        let Some(folder) = (Fake { devices: 2, bad: Some(bad), ..WHOLE }).build() else { return };
        let mut command = Command::new(std::env::current_exe().expect("a test has a file"));
        command.env("LD_LIBRARY_PATH", folder.path());
        assert_eq!(said_by("child_of_one_that_cannot_be_asked", command, &[(CASE, &bad.to_string())]), "all");
    }
}

#[test]
fn amds_own_runtime_tells_that_there_is_no_device() {
    for suite in Suite::ALL {
        let Some(tree) = present("amds_own_runtime_tells_that_there_is_no_device", Tree::find(suite)) else { continue };
        let runtime = tree.library("libamdhip64").expect("it is in the folder");
        let command = || tree.command(&std::env::current_exe().expect("a test has a file"), &[]);
        let file = runtime.to_str().expect("UTF-8");
        let told = said(command(), &[(LIBRARY_VARIABLE, file), ("HIP_VISIBLE_DEVICES", "-1")]);
        let version = tree.version().split(['-', '~']).next().expect("some text");
        let release: Vec<&str> = version.split('.').take(2).collect();
        says(
            &told,
            &[&format!("the HIP runtime {}.", release.join(".")), "shows no device", "HIP_VISIBLE_DEVICES is `-1`"],
        );
        // Without a name it is found by the loader.
        let found = said(command(), &[("HIP_VISIBLE_DEVICES", "")]);
        says(&found, &["shows no device", "HIP_VISIBLE_DEVICES is ``"]);
    }
}
