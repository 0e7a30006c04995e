//! Our own kernels break no lint: those of `shaders/` and of the program, and every one that is written in the code of the
//! kit, the examples and the benchmarks.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use graphreel::kernel::parse;
use graphreel_cpp::lint;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files under a folder whose names end so.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|of| of == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The texts between quotation marks of Rust code that have a compute entry point. Marks within comments make a few more of what
/// is not a text; those do not parse.
fn kernels(code: &str) -> Vec<String> {
    let texts = code.split('"').filter(|text| text.contains("@compute"));
    texts.map(|text| text.replace("\\n", "\n").replace("\\\n", "\n")).filter(|text| parse(text).is_ok()).collect()
}

/// Each complaint about a text, with where it came from.
fn complaints(path: &Path, text: &str) -> Vec<String> {
    let lints = lint(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let told = lints.iter().map(|lint| {
        format!("{}:{}:{}: {}: {}", path.display(), lint.line, lint.column, lint.rule.name(), lint.message)
    });
    told.collect()
}

#[test]
fn every_shader_is_clean() {
    let mut paths = files("shaders", "wgsl");
    assert!(paths.len() >= 16, "{paths:?}");
    paths.extend(files("cli/src", "wgsl"));
    let found: Vec<String> =
        paths.iter().flat_map(|path| complaints(path, &fs::read_to_string(path).unwrap())).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_kernel_in_the_code_is_clean() {
    let folders = ["tests/kit", "examples", "benches/src", "cli/src"];
    let mut count = 0;
    let mut found = Vec::new();
    for path in folders.iter().flat_map(|folder| files(folder, "rs")) {
        for text in kernels(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            found.extend(complaints(&path, &text));
        }
    }
    assert!(count >= 30, "only {count} kernels were found");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_shader_that_is_made_wrong_is_not() {
    let path = root().join("shaders/reduce_sum.wgsl");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("workgroupBarrier();"));
    let wrong = text.replace("workgroupBarrier();", "if atomicLoad(&made_wrong) == 0u { workgroupBarrier(); }");
    let wrong = format!("{wrong}\nvar<workgroup> made_wrong: atomic<u32>;\n");
    assert!(!complaints(&path, &wrong).is_empty());
}
