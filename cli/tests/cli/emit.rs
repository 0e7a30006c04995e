//! `graphreel check --emit`: the C++ and nothing else on standard output, or why there is none.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::program::{Run, graphreel, run};

const SCALE: &str = "\
override factor: f32;
@group(0) @binding(0) var<storage, read_write> values: array<f32>;
@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    values[id.x] = fma(values[id.x], factor, 1.0);
}
";

const TWO: &str = "\
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64) fn first() { values[0] = 1u; }
@compute @workgroup_size(64) fn second() { values[0] = 2u; }
";

fn file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("kernel.wgsl");
    fs::write(&path, text).expect("the folder is writable");
    (folder, path)
}

fn emit(text: &str, more: &[&str]) -> (Run, String, TempDir) {
    let (folder, path) = file(text);
    let path = path.to_str().expect("UTF-8").to_owned();
    let mut args = vec!["check", &path];
    args.extend_from_slice(more);
    (run(graphreel(&args)), path, folder)
}

/// What is printed, of a run that went well and had nothing to say.
fn printed(text: &str, more: &[&str]) -> String {
    let (Run { code, stdout, stderr }, _, _folder) = emit(text, more);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{more:?}");
    stdout
}

#[test]
fn the_source_is_all_that_is_printed() {
    for language in ["cuda", "hip", "host"] {
        let text = printed(SCALE, &["--emit", language, "--override", "factor=2.5"]);
        assert!(text.contains("wgk_scale") && text.contains("2.5"), "{text}");
        assert!(!text.contains("valid, 1 entry point"), "{text}");
        let marked = text.contains("__global__");
        assert_eq!(marked, language != "host", "{language}: {text}");
    }
}

#[test]
fn lines_are_those_of_the_file_as_it_was_given() {
    let with = ["--emit", "cuda", "--override", "factor=2"];
    let (Run { stdout, .. }, path, _folder) = emit(SCALE, &with);
    assert!(stdout.contains(&format!("#line 5 \"{path}\"")), "{stdout}");
    let without = printed(SCALE, &[&with[..], &["--no-lines"]].concat());
    assert!(!without.contains("#line"), "{without}");
}

#[test]
fn modes_change_the_code() {
    let with = ["--emit", "cuda", "--override", "factor=2", "--no-lines"];
    let plain = printed(SCALE, &with);
    let indirect = printed(SCALE, &[&with[..], &["--indirect"]].concat());
    assert_ne!(plain, indirect);
    printed(SCALE, &[&with[..], &["--fast-floats"]].concat());
}

#[test]
fn an_entry_point_is_named_where_there_are_several() {
    let (Run { code, stdout, stderr }, path, _folder) = emit(TWO, &["--emit", "hip"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    let expected = "it has several compute entry points, name one with --entry: first, second";
    assert_eq!(stderr, format!("error: {path}: {expected}\n"));
    let text = printed(TWO, &["--emit", "hip", "--entry", "second"]);
    assert!(text.contains("wgk_second") && !text.contains("wgk_first"), "{text}");
    let (Run { code, stderr, .. }, _, _folder) = emit(TWO, &["--emit", "hip", "--entry", "third"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("the source has: first, second"), "{stderr}");
}

#[test]
fn overrides_are_held_to_their_declarations() {
    let refused = |more: &[&str], expected: &str| {
        let (Run { code, stdout, stderr }, _, _folder) = emit(SCALE, &[&["--emit", "cuda"], more].concat());
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{more:?}");
        assert!(stderr.contains(expected), "`{expected}` in {stderr}");
    };
    refused(&[], "override `factor` has no default value; give it one with --override factor=VALUE");
    refused(&["--override", "factor=1", "--override", "other=1"], "there is no override `other`");
    refused(&["--override", "factor=1e300"], "kernel.wgsl:1:1: the value");
    let (twice, _, _folder) = emit(SCALE, &["--emit", "cuda", "--override", "factor=1", "--override", "factor=2"]);
    assert_eq!(twice.code, Some(2), "{}", twice.stderr);
}

#[test]
fn what_cannot_be_written_is_refused_at_its_place() {
    let texture = "@group(0) @binding(0) var image: texture_2d<f32>;\n@compute @workgroup_size(1)\nfn main() { \
                   let x = textureLoad(image, vec2<i32>(), 0); }\n";
    let (Run { code, stdout, stderr }, path, _folder) = emit(texture, &["--emit", "cuda"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with(&format!("error: {path}:1:23: variable `image` is a texture")), "{stderr}");
    let (Run { code, stdout, .. }, _, _folder) = emit("fn main(", &["--emit", "cuda"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
}

#[test]
fn lints_stay_out_of_the_source() {
    let linted = SCALE.replace("    values", "    if id.x > 3u { workgroupBarrier(); }\n    values");
    let with = ["--emit", "cuda", "--override", "factor=2"];
    let (Run { code, stdout, stderr }, path, _folder) = emit(&linted, &with);
    assert_eq!(code, Some(0));
    assert!(stderr.starts_with(&format!("{path}:5:20: warning[non-uniform-barrier]: ")), "{stderr}");
    assert!(stdout.contains("wgk_scale") && !stdout.contains("warning["), "{stdout}");
    let (denied, _, _folder) = emit(&linted, &[&with[..], &["--deny-lints"]].concat());
    assert_eq!((denied.code, denied.stdout.as_str()), (Some(1), ""));
}

#[test]
fn what_does_not_go_together_is_refused() {
    for wrong in [
        &["--emit", "cuda", "--sanitize"][..],
        &["--emit", "cuda", "--json"],
        &["--emit", "metal"],
        &["--entry", "scale"],
        &["--override", "factor=1"],
        &["--indirect"],
        &["--emit", "cuda", "--override", "factor"],
    ] {
        let (run, _, _folder) = emit(SCALE, wrong);
        assert_eq!(run.code, Some(2), "{wrong:?}: {}", run.stderr);
    }
}
