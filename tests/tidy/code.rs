//! Rules on source files.

use super::tree::{File, files, report};

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 800;

/// Functions above the limit, with their length: an entry may shrink or go, never grow or come.
const LONG_FUNCTIONS: [(&str, &str, usize); 0] = [];

#[test]
fn every_source_file_says_what_it_is() {
    let wrong = files().into_iter().filter(File::is_rust).filter(|file| !file.text.starts_with("//! "));
    let findings: Vec<String> = wrong.map(|file| file.path).collect();
    report("a source file begins with `//! ` and what it is and why", &findings);
}

#[test]
fn file_names_are_nouns_that_say_something() {
    let empty = ["base", "common", "utils", "util", "helpers", "misc", "types"];
    let wrong = files().into_iter().filter(File::is_rust).filter(|file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        empty.contains(&name.trim_end_matches(".rs"))
    });
    let findings: Vec<String> = wrong.map(|file| file.path).collect();
    report("a file is named by the noun it holds", &findings);
}

#[test]
fn files_stay_readable() {
    let findings: Vec<String> = files()
        .iter()
        .filter(|file| file.is_rust() && file.text.lines().count() > FILE_LINES_MAX)
        .map(|file| format!("{}: {} lines", file.path, file.text.lines().count()))
        .collect();
    report("a source file has at most 800 lines; split it by noun", &findings);
}

/// Each function of rustfmt's output: its name, first line and length. It ends at the brace of its own indentation.
fn functions(text: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let Some(at) = code.find("fn ") else { continue };
        let words = ["pub", "const", "unsafe", "async", "extern", "\"C\"", "default"];
        let plain = code[..at].split_whitespace().all(|word| words.contains(&word) || word.starts_with("pub("));
        if !plain || code.ends_with('}') || code.ends_with(';') {
            continue;
        }
        let close = format!("{indent}}}");
        let mut open = false;
        for (length, line) in lines[start..].iter().enumerate() {
            open |= line.ends_with('{');
            if !open && line.ends_with(';') {
                break;
            }
            if *line == close {
                let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                found.push((name, start + 1, length + 1));
                break;
            }
        }
    }
    found
}

#[test]
fn the_measure_of_a_function_is_right() {
    let text = "trait A {\n    fn zero(\n        a: u8,\n    ) -> u8\n    where\n        Self: Sized;\n    fn one() {}\n    pub(crate) fn two(\n        a: u8,\n    ) -> u8 {\n        if a > 1 {\n        }\n        a\n    }\n}\n";
    assert_eq!(functions(text), [("two".to_owned(), 8, 7)]);
}

#[test]
fn functions_stay_short() {
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        for (name, line, length) in functions(&file.text) {
            if length <= FUNCTION_LINES_MAX {
                continue;
            }
            let known = LONG_FUNCTIONS.iter().find(|(path, known, _)| *path == file.path && *known == name);
            match known {
                Some((.., allowed)) if length == *allowed => seen.push((file.path.clone(), name)),
                Some((.., allowed)) if length < *allowed => {
                    findings.push(format!("{}:{line}: `{name}` shrank to {length} lines: lower its entry", file.path));
                    seen.push((file.path.clone(), name));
                }
                _ => findings.push(format!("{}:{line}: `{name}` has {length} lines", file.path)),
            }
        }
    }
    for (path, name, _) in &LONG_FUNCTIONS {
        if !seen.iter().any(|(seen_path, seen)| seen_path == path && seen == name) {
            findings.push(format!("{path}: `{name}` is short now, or gone: remove its entry"));
        }
    }
    report("a function has at most 70 lines; move the leaves out", &findings);
}

/// Findings of `wrong` over the lines that are compiled into the crates.
fn production(wrong: impl Fn(&File, &str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        for (number, line) in file.production_lines() {
            let code = line.trim_start();
            if code.starts_with("//") {
                continue;
            }
            if let Some(what) = wrong(file, code) {
                findings.push(format!("{}:{number}: {what}", file.path));
            }
        }
    }
    findings
}

#[test]
fn nothing_unfinished_is_left() {
    let banned = ["todo!(", "dbg!(", "unimplemented!(", "FIXME", "XXX"];
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.is_rust() || file.path.ends_with(".wgsl")) {
        for (index, line) in file.text.lines().enumerate() {
            for word in banned.iter().filter(|word| line.contains(**word)) {
                findings.push(format!("{}:{}: {word}", file.path, index + 1));
            }
        }
    }
    report("finish it, or leave it out and say so in the docs", &findings);
}

#[test]
fn libraries_do_not_print() {
    let is_library = |path: &str| path.starts_with("src/") || path.starts_with("backends/");
    let findings = production(|file, code| {
        let prints = ["println!(", "eprintln!(", "print!(", "eprint!("].iter().find(|word| code.contains(**word))?;
        is_library(&file.path).then(|| (*prints).to_owned())
    });
    report("a library logs through tracing", &findings);
}

#[test]
fn one_file_is_the_door_to_threads_and_locks() {
    let findings = production(|file, code| {
        let core = file.path.starts_with("src/") && file.path != "src/sync.rs";
        let named = code.contains("std::sync") || code.contains("std::thread");
        (core && named).then(|| code.to_owned())
    });
    report("the core takes locks, atomics and threads from `crate::sync`", &findings);
}

#[test]
fn one_file_is_the_door_to_shaders() {
    let findings = production(|file, code| {
        let elsewhere =
            (file.path.starts_with("src/") && file.path != "src/shaders.rs") || file.path.starts_with("backends/");
        (elsewhere && code.contains("include_str!") && code.contains(".wgsl")).then(|| code.to_owned())
    });
    report("shaders are included in `src/shaders.rs`", &findings);
}

#[test]
fn exports_are_named() {
    let findings = production(|_, code| {
        let glob = code.starts_with("pub use ") && code.trim_end().ends_with("::*;");
        glob.then(|| code.to_owned())
    });
    report("a glob re-export makes an interface of whatever is there", &findings);
}

#[test]
fn the_core_names_no_backend_crate() {
    let findings = production(|file, code| {
        let names = ["graphreel_wgpu", "graphreel_cuda", "graphreel_hip", "graphreel_sim", "wgpu::"];
        let named = names.iter().find(|name| code.contains(**name))?;
        file.path.starts_with("src/").then(|| (*named).to_owned())
    });
    report("the core knows no backend", &findings);
}

#[test]
fn no_machine_is_named() {
    let folders = ["/tmp/", "/home/", "/root/", "/Users/"];
    let mut findings = Vec::new();
    for file in &files() {
        for (index, line) in file.text.lines().enumerate() {
            for folder in folders.iter().filter(|folder| line.contains(**folder)) {
                findings.push(format!("{}:{}: {folder}", file.path, index + 1));
            }
        }
    }
    report("paths of one machine have no place in the repository", &findings);
}
