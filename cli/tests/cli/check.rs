//! `graphreel check` on good and on bad files.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::program::{Run, graphreel, run};

const GOOD: &str = "\
struct Params { scale: f32, count: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
@compute @workgroup_size(64, 2)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.count { sums[id.x] += params.scale * source[id.x]; }
}
";
const DOES_NOT_PARSE: &str = "@compute @workgroup_size(1)\nfn main() {\n    let x = 1u + ;\n}\n";
const IS_NOT_VALID: &str = "\
@group(0) @binding(0) var<storage, read> a: array<u32>;
@compute @workgroup_size(1)
fn main() {
    a[0] = 1u;
}
";

fn file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("kernel.wgsl");
    fs::write(&path, text).expect("the folder is writable");
    (folder, path)
}

fn check(text: &str, json: bool) -> (Run, PathBuf, TempDir) {
    let (folder, path) = file(text);
    let mut args = vec!["check", path.to_str().expect("UTF-8")];
    args.extend(json.then_some("--json"));
    (run(graphreel(&args)), path.clone(), folder)
}

#[test]
fn a_good_file_is_described() {
    let (Run { code, stdout, stderr }, _, _folder) = check(GOOD, false);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for part in ["1 entry point", "@compute scale", "64 x 2 x 1", "source", "read-write", "scalar scale: f32 at byte 0"]
    {
        assert!(stdout.contains(part), "`{part}` in {stdout}");
    }
}

#[test]
fn a_good_file_as_json() {
    let (run, _, _folder) = check(GOOD, true);
    let report = run.json();
    assert_eq!((&report["schema"], &report["valid"]), (&json!("graphreel.check/1"), &json!(true)));
    let kernel = &report["entries"][0]["reflection"];
    assert_eq!(kernel["workgroup_size"], json!([64, 2, 1]));
    let access: Vec<_> = (0..2).map(|index| kernel["bindings"][index]["access"].clone()).collect();
    assert_eq!(access, [json!("read"), json!("read-write")]);
}

#[test]
fn a_syntax_error_has_its_line_and_column() {
    let (Run { code, stdout, stderr }, path, _folder) = check(DOES_NOT_PARSE, false);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    let place = format!("error: {}:3:18: expected expression", path.display());
    assert!(stderr.starts_with(&place), "{stderr}");
    // As naga renders it, with the source line.
    assert!(stderr.contains("let x = 1u + ;") && stderr.contains('^'), "{stderr}");
}

#[test]
fn a_kernel_that_is_not_valid_has_its_place_too() {
    let (Run { code, stderr, .. }, path, _folder) = check(IS_NOT_VALID, false);
    assert_eq!(code, Some(1));
    let place = format!("error: {}:4:5: ", path.display());
    assert!(stderr.starts_with(&place), "{stderr}");
    assert!(stderr.contains("a[0] = 1u;"), "{stderr}");
}

#[test]
fn a_bad_file_as_json_is_one_object_and_code_1() {
    let (run, _, _folder) = check(DOES_NOT_PARSE, true);
    assert_eq!(run.code, Some(1));
    let report = run.json();
    assert_eq!(report["valid"], json!(false));
    assert_eq!((&report["error"]["line"], &report["error"]["column"]), (&json!(3), &json!(18)));
}

#[test]
fn a_file_that_is_absent_or_no_text_is_named() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("kernel.wgsl");
    let name = path.to_str().expect("UTF-8");
    let absent = run(graphreel(&["check", name]));
    assert_eq!(absent.code, Some(1));
    assert!(absent.stderr.contains(name), "{}", absent.stderr);
    fs::write(&path, [0xff, 0xfe, 0x00]).expect("the folder is writable");
    let binary = run(graphreel(&["check", name]));
    assert_eq!(binary.code, Some(1));
    assert!(binary.stderr.contains(name), "{}", binary.stderr);
}

#[test]
fn overrides_are_named_with_what_they_need() {
    let text = "override tile: u32;\n@id(7) override scale: f32 = 2.0;\n@compute @workgroup_size(tile) fn main() {}\n";
    let (Run { code, stdout, .. }, _, _folder) = check(text, false);
    assert_eq!(code, Some(0));
    for part in ["override tile: u32, needs a value", "override @id(7) scale: f32, has a default", "@compute main: "] {
        assert!(stdout.contains(part), "`{part}` in {stdout}");
    }
    let (run, _, _folder) = check(text, true);
    assert_eq!(run.json()["overrides"][0]["required"], json!(true));
}

#[test]
fn a_file_that_goes_too_deep_or_on_for_ever_is_refused() {
    let deep = format!("@compute @workgroup_size(1) fn main() {{ let x = {}1; }}", "1 + ".repeat(100_000));
    let (Run { code, stderr, .. }, path, _folder) = check(&deep, false);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.starts_with(&format!("error: {}:1:", path.display())), "{stderr}");
    let (Run { code, stderr, .. }, _, _folder) = check(&" ".repeat((16 << 20) + 1), false);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("longer than 16 MiB"), "{stderr}");
}

#[test]
fn every_shipped_kernel_is_valid() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let shaders = fs::read_dir(root.join("../shaders")).expect("the folder is in the repository");
    let mut paths: Vec<PathBuf> = shaders.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "wgsl"));
    assert!(!paths.is_empty());
    paths.push(root.join("src/bench/kernels.wgsl"));
    for path in paths {
        let Run { code, stderr, .. } = run(graphreel(&["check", path.to_str().expect("UTF-8")]));
        assert_eq!(code, Some(0), "{stderr}");
    }
}

const LINTED: &str = "\
var<workgroup> sum: u32;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
    if lane > 3u {
        return;
    }
    workgroupBarrier();
    out[lane] = sum;
}
";

#[test]
fn lints_are_warnings_unless_they_are_denied() {
    let (Run { code, stdout, stderr }, path, _folder) = check(LINTED, false);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let lint = format!("{}:6:9: warning[early-return]: this `return`", path.display());
    assert!(stdout.lines().any(|line| line.starts_with(&lint)), "{stdout}");
    let denied = run(graphreel(&["check", path.to_str().expect("UTF-8"), "--deny-lints"]));
    assert_eq!(denied.code, Some(1));
    assert!(denied.stdout.contains(&lint));
    assert_eq!(denied.stderr, format!("error: {}: 1 lint, and --deny-lints allows none\n", path.display()));
    let (run_clean, path, _folder) = check(GOOD, false);
    assert!(!run_clean.stdout.contains("warning"), "{}", run_clean.stdout);
    assert_eq!(run(graphreel(&["check", path.to_str().expect("UTF-8"), "--deny-lints"])).code, Some(0));
}

#[test]
fn lints_as_json() {
    let (run_linted, path, _folder) = check(LINTED, true);
    assert_eq!(run_linted.code, Some(0));
    let report = run_linted.json();
    let lint = &report["lints"][0];
    assert_eq!((&lint["rule"], &lint["entry"]), (&json!("early-return"), &json!("main")));
    assert_eq!((&lint["line"], &lint["column"]), (&json!(6), &json!(9)));
    assert!(lint["message"].as_str().is_some_and(|text| text.contains("`workgroupBarrier` (line 8)")), "{report}");
    assert_eq!(report["lints"].as_array().map(Vec::len), Some(1));
    let denied = run(graphreel(&["check", path.to_str().expect("UTF-8"), "--deny-lints", "--json"]));
    assert_eq!((denied.code, &denied.json()["lints"]), (Some(1), &report["lints"]));
    let (good, _, _folder) = check(GOOD, true);
    assert_eq!(good.json()["lints"], json!([]));
}

#[test]
fn what_a_kernel_cannot_take_has_its_place() {
    let texture = "@group(0) @binding(0) var image: texture_2d<f32>;\n@compute @workgroup_size(1)\nfn main() { \
                   let x = textureLoad(image, vec2<i32>(), 0); }\n";
    let (Run { code, stderr, .. }, path, _folder) = check(texture, false);
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with(&format!("error: {}:1:23: variable `image` is a texture", path.display())), "{stderr}");
}
