//! What a machine with no driver, a broken one, an old one or one without devices is told: each case in a child of its own, whose
//! loader finds a library that was made for it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::calls;

/// Set in the children; in those with a device that cannot be asked, to its index.
const CASE: &str = "GRAPHREEL_CUDA_ABSENCE";

/// Before what a child was told.
const TOLD: &str = "told: ";

/// The entry of a child, and nothing in any other run.
#[test]
fn child_entry() {
    if std::env::var_os(CASE).is_some() {
        let again = crate::devices().err();
        let told = crate::absence();
        assert_eq!(again.unwrap_or_default(), told, "it is the same each time");
        println!("\n{TOLD}{}", told.replace('\n', "\\n"));
    }
}

/// The entry of a child whose driver has two devices, of which one cannot be asked; nothing in any other run.
#[test]
fn child_of_one_that_cannot_be_asked() {
    use graphreel::lifecycle::GpuInventory as _;
    let Some(bad) = std::env::var(CASE).ok().and_then(|bad| bad.parse::<usize>().ok()) else { return };
    let (good, line) = (1 - bad, format!("device {bad} cannot be asked: "));
    let devices = crate::devices().expect("the other is there");
    assert_eq!(devices.iter().map(|device| device.index).collect::<Vec<_>>(), [good]);
    let problems = crate::problems();
    assert!(matches!(&problems[..], [one] if one.starts_with(&line) && !one.contains('\n')), "{problems:?}");
    assert_eq!(crate::absence(), "");
    let options = |index| crate::CudaOptions { select: crate::Select::Index(index), ..Default::default() };
    let refused = crate::open(&options(bad), graphreel::Config::default()).expect_err("it is refused");
    let text = refused.to_string();
    assert!(text.contains(&format!("the devices are: {good} card")) && text.contains(&line), "{text}");
    let facts = crate::CudaFactory::default();
    assert_eq!(facts.facts(good).expect("it is listed").device, good);
    let text = facts.facts(bad).expect_err("it cannot be asked").to_string();
    assert!(text.contains(&format!("the largest ordinal is {good}")) && text.contains(&line), "{text}");
    println!("\n{TOLD}all");
}

/// What a process is told that finds `folder` before any other.
fn told(folder: &Path, visible: Option<&str>) -> String {
    let visible: Vec<(&str, &str)> = visible.map(|visible| ("CUDA_VISIBLE_DEVICES", visible)).into_iter().collect();
    told_by("child_entry", folder, &visible)
}

fn told_by(entry: &str, folder: &Path, variables: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().expect("a test has a file"));
    child.args(["--exact", &format!("library::tests::{entry}"), "--nocapture", "--test-threads=1"]);
    child.env(CASE, "1").env("LD_LIBRARY_PATH", folder).env_remove("CUDA_VISIBLE_DEVICES");
    child.envs(variables.iter().copied());
    let output = child.output().expect("a test starts again");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "no driver makes a program fail: {said}{errors}");
    let line = said.lines().find_map(|line| line.strip_prefix(TOLD));
    line.unwrap_or_else(|| panic!("{said}{errors}")).to_owned()
}

/// A driver as far as it is asked: a version, its calls but for `lacking`, an answer of `cuInit` and a number of devices.
#[derive(Clone, Copy)]
struct Fake {
    version: i32,
    init: i32,
    devices: i32,
    /// The device that does not tell what it is, where the others do; else none does.
    bad: Option<i32>,
    lacking: &'static str,
}

const WHOLE: Fake = Fake { version: 12_000, init: 0, devices: 0, bad: None, lacking: "" };

impl Fake {
    fn text(self) -> String {
        let Self { version, init, devices, bad, lacking } = self;
        let mut text = format!("unsigned cuDriverGetVersion(int *v) {{ *v = {version}; return 0; }}\n");
        for name in calls::NAMES.iter().filter(|name| **name != lacking) {
            let body = match *name {
                "cuInit" => format!("(unsigned f) {{ return {init}; }}"),
                "cuDeviceGetCount" => format!("(int *n) {{ *n = {devices}; return 0; }}"),
                _ => bad.and_then(|bad| Self::asked(name, bad)).unwrap_or("(void) { return 999; }".to_owned()),
            };
            writeln!(text, "unsigned {name}{body}").expect("a string takes text");
        }
        text
    }

    /// A call that is asked of a device, which each but one answers.
    fn asked(name: &str, bad: i32) -> Option<String> {
        Some(match name {
            "cuDeviceGet" => "(int *d, int i) { *d = i; return 0; }".to_owned(),
            "cuDeviceGetName" => {
                format!("(char *n, int l, int d) {{ __builtin_strcpy(n, \"card\"); return d == {bad} ? 999 : 0; }}")
            }
            "cuDeviceGetAttribute" => "(int *v, int a, int d) { *v = 9; return 0; }".to_owned(),
            "cuDeviceTotalMem_v2" => "(unsigned long *v, int d) { *v = 1 << 30; return 0; }".to_owned(),
            _ => return None,
        })
    }

    /// Compiled, in a folder of its own; `None` on a machine without a C compiler.
    fn build(self) -> Option<tempfile::TempDir> {
        build(&self.text())
    }
}

fn build(text: &str) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let source = folder.path().join("fake.c");
    std::fs::write(&source, text).expect("a file in it");
    let library = folder.path().join("libcuda.so.1");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&source).output();
    match built {
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

/// Whether a line has all of `parts`, and is one.
#[track_caller]
fn says(told: &str, parts: &[&str]) {
    for part in parts {
        assert!(told.contains(part), "`{part}` is not in: {told}");
    }
    assert!(!told.contains("\\n"), "one line: {told}");
}

#[test]
fn every_call_is_named_once() {
    let mut names = calls::NAMES.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), calls::NAMES.len());
    assert!(names.len() > 45 && names.iter().all(|name| name.starts_with("cu")), "{names:?}");
}

#[test]
fn a_machine_without_a_driver_is_told_so() {
    let error = load(&["libgraphreel-has-no-such-driver.so.1", "libneither.so"]).expect_err("there is none");
    says(&error, &["no NVIDIA driver", "libgraphreel-has-no-such-driver.so.1", "install it"]);
}

#[test]
fn a_file_that_is_no_library_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    std::fs::write(folder.path().join("libcuda.so.1"), "not a library").expect("a file in it");
    says(&told(folder.path(), None), &["libcuda.so.1", "cannot be loaded", "install NVIDIA's driver anew"]);
}

#[test]
fn a_library_that_is_no_driver_is_told_of() {
    let Some(folder) = build("int other(void) { return 0; }") else { return };
    says(&told(folder.path(), None), &["libcuda.so.1", "no NVIDIA driver", "cuDriverGetVersion"]);
}

#[test]
fn a_driver_that_needs_what_is_not_there_is_broken_and_not_absent() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (other, source) = (folder.path().join("libneeded.so"), folder.path().join("empty.c"));
    std::fs::write(&source, "int needed(void) { return 0; }").expect("a file in it");
    let compile = |args: &[&str]| Command::new("cc").current_dir(folder.path()).args(args).output();
    if compile(&["-shared", "-fPIC", "-o", "libneeded.so", "empty.c"]).is_err() {
        return graphreel_testkit::announce("no C compiler, so this test did not run");
    }
    let args = ["-shared", "-fPIC", "-o", "libcuda.so.1", "empty.c", "-Wl,--no-as-needed", "./libneeded.so"];
    assert!(compile(&args).expect("as above").status.success());
    std::fs::remove_file(other).expect("it was made");
    says(&told(folder.path(), None), &["cannot be loaded", "libneeded.so"]);
}

#[test]
fn an_old_driver_is_told_its_version_and_what_is_needed() {
    let Some(folder) = (Fake { version: 11_080, lacking: "cuGraphAddKernelNode_v2", ..WHOLE }).build() else { return };
    says(&told(folder.path(), None), &["CUDA 11.8", "12.0 is the oldest", "update it"]);
}

#[test]
fn a_call_that_a_driver_lacks_is_named() {
    for lacking in ["cuGraphUpload", "cuInit"] {
        let Some(folder) = (Fake { lacking, version: 13_000, ..WHOLE }).build() else { return };
        says(&told(folder.path(), None), &["CUDA 13.0", &format!("lacks {lacking}:")]);
    }
}

#[test]
fn a_driver_without_devices_says_why() {
    for (fake, visible, parts) in [
        (WHOLE, None, ["shows no device", "this machine has none"]),
        (Fake { init: 100, ..WHOLE }, None, ["shows no device", "this machine has none"]),
        (Fake { init: 100, ..WHOLE }, Some(""), ["CUDA_VISIBLE_DEVICES is ``", "nvidia-smi -L"]),
        (Fake { init: 100, ..WHOLE }, Some("GPU-wrong"), ["CUDA_VISIBLE_DEVICES is `GPU-wrong`", "unset it"]),
        (Fake { init: 34, ..WHOLE }, None, ["stub", "library path"]),
        (Fake { init: 803, ..WHOLE }, None, ["different versions", "restart"]),
        (Fake { init: 999, ..WHOLE }, None, ["does not start", "cuInit"]),
        (Fake { devices: 1, ..WHOLE }, None, ["device 0 cannot be asked", "cuDeviceGet"]),
    ] {
        let Some(folder) = fake.build() else { return };
        says(&told(folder.path(), visible), &parts);
    }
}

#[test]
fn a_device_that_cannot_be_asked_hides_no_other() {
    for bad in [0, 1] {
        let Some(folder) = (Fake { devices: 2, bad: Some(bad), ..WHOLE }).build() else { return };
        let variable = bad.to_string();
        assert_eq!(told_by("child_of_one_that_cannot_be_asked", folder.path(), &[(CASE, &variable)]), "all");
    }
}
