//! A C++ program over the prelude: compiled by g++ with every sanitizer that it has for undefined behaviour, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::prelude::{NAMES, text};
use crate::{Dialect, FloatMode, HOST_RUNTIME};

/// How it is compiled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Optimise {
    No,
    Yes,
}

pub(super) const BOTH: [Optimise; 2] = [Optimise::No, Optimise::Yes];

/// A program that was compiled.
pub(super) struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    /// Compile `main` below all of the host's prelude. None where g++ is absent and not required.
    pub(super) fn new(main: &str, optimise: Optimise) -> Option<Self> {
        Self::with(&format!("{}{main}", text(Dialect::Host, FloatMode::Strict, &NAMES)), optimise, &[])
    }

    /// Compile a whole text, beside the runtime.
    pub(super) fn with(source: &str, optimise: Optimise, flags: &[&str]) -> Option<Self> {
        if !has_compiler() {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder for the program");
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file that is written");
        write("program.cpp", source);
        write("runtime.cpp", HOST_RUNTIME);
        let level = match optimise {
            Optimise::No => "-O0",
            Optimise::Yes => "-O2",
        };
        let mut compiler = Command::new("g++");
        compiler.current_dir(folder.path()).args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            level,
            "-ffp-contract=off",
        ]);
        // It says that vectors of four 64-bit numbers are passed as they are since GCC 4.6.
        compiler.arg("-Wno-psabi");
        compiler.args(["-fsanitize=undefined,float-cast-overflow,address", "-fno-sanitize-recover=all"]);
        let done = compiler.args(flags).args(["program.cpp", "runtime.cpp", "-o", "program"]).output();
        let done = done.expect("g++ starts");
        assert!(done.status.success(), "g++ {level}:\n{}", String::from_utf8_lossy(&done.stderr));
        Some(Self { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// Run it, with what it may read; what it writes.
    pub(super) fn output(&self, input: &[u8], args: &[&str]) -> Output {
        let file = self.folder.path().join("input");
        std::fs::write(&file, input).expect("a file that is written");
        run(&self.path(), &file, args)
    }

    /// The words that it writes when all is well.
    pub(super) fn words(&self, input: &[u64]) -> Vec<u64> {
        let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        let output = self.output(&bytes, &[]);
        assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        let words =
            output.stdout.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
        words.collect()
    }
}

/// Have g++ read texts, each by itself; several at a time, since most of a compiler's time is its start.
pub(super) fn check_syntax(texts: &[String]) {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for the texts");
    let mut distinct: Vec<&String> = texts.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    for (index, text) in distinct.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{index}.cpp")), text).expect("a file that is written");
    }
    let files = (0..distinct.len()).map(|index| format!("{index}.cpp"));
    let flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-fsyntax-only"];
    let done = Command::new("g++").current_dir(folder.path()).args(flags).args(files).output().expect("g++ starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn run(program: &Path, input: &Path, args: &[&str]) -> Output {
    let input = std::fs::File::open(input).expect("a file that was written");
    // A wait that never ends would hang the test: the limit ends it with a signal.
    let mut limited = Command::new("timeout");
    limited.arg("60").arg(program).args(args).stdin(Stdio::from(input)).output().expect("a program that was compiled")
}

fn has_compiler() -> bool {
    let found = Command::new("g++").arg("--version").output().is_ok_and(|output| output.status.success());
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    let required = required.split(',').any(|name| name.trim() == "host");
    assert!(found || !required, "GRAPHREEL_REQUIRE names host, and there is no g++");
    if !found {
        eprintln!("SKIPPED: there is no g++ to compile host C++ with");
    }
    found
}

/// Input and output of the programs: words of 64 bits.
pub(super) const WORDS: &str = include_str!("words.h");

/// Fail with the first difference, told by what the words are of.
pub(super) fn compare(found: &[u64], expected: &[(String, u64)]) {
    for (found, (what, expected)) in found.iter().zip(expected) {
        assert!(found == expected, "{what}: {found:#x} instead of {expected:#x}");
    }
    assert_eq!(found.len(), expected.len(), "words");
}
