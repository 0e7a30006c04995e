//! Every number, layout and signature of this crate, held against AMD's headers by a C compiler: the program that it makes of them
//! prints what C has, and this crate's own tables say what to ask for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use graphreel_compilers::hip::Tree;

use super::{lacking, trees};
use crate::structure::{LAYOUTS, Layout, PROPERTIES};
use crate::{calls, constant, rtc};

/// A type of C for one of Rust, but for constness: releases differ in it, and no machine code knows it.
fn c_type(rust: &str) -> String {
    let rust = rust.trim();
    if let Some(of) = rust.strip_prefix('*') {
        let of = of.trim_start();
        let of = of.strip_prefix("mut ").or_else(|| of.strip_prefix("const "));
        return format!("{} *", c_type(of.expect("a pointer is one or the other")));
    }
    match rust {
        "c_int" => "int",
        "c_uint" => "unsigned int",
        "c_char" => "char",
        "c_uchar" => "unsigned char",
        "c_ulonglong" => "unsigned long long",
        "c_void" => "void",
        "usize" => "size_t",
        "f32" => "float",
        // Handles, numbers with a name and structures are called what C calls them.
        named => named,
    }
    .to_owned()
}

/// A field of C for one of Rust: some names are words of Rust.
fn c_field(rust: &str) -> &str {
    rust.trim_end_matches('_')
}

/// A program that prints what the headers have.
fn program(tree: &Tree) -> String {
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#define const\n\
         #define __HIP_PLATFORM_AMD__ 1\n#include <hip/hip_runtime_api.h>\n#include <hip/hiprtc.h>\nint main(void) {\n",
    );
    for (name, _) in constant::CONSTANTS {
        writeln!(text, "printf(\"{name} %llu\\n\", (unsigned long long)({name}));").expect("a string takes text");
    }
    for layout in layouts() {
        let name = layout.name;
        writeln!(text, "printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));").expect("as above");
        for (field, ..) in layout.fields {
            let c = c_field(field);
            let line = format!("offsetof({name}, {c}), sizeof((({name} *)0)->{c})");
            writeln!(text, "printf(\"{name}.{field} %zu %zu\\n\", {line});").expect("as above");
        }
    }
    for (signatures, result) in [(calls::SIGNATURES, "hipError_t"), (rtc::SIGNATURES, "hiprtcResult")] {
        for (name, types) in signatures.iter().filter(|(name, _)| !lacking(tree).contains(name)) {
            let all = if types.is_empty() {
                "void".to_owned()
            } else {
                types.iter().map(|one| c_type(one)).collect::<Vec<_>>().join(", ")
            };
            let same = format!("__builtin_types_compatible_p(__typeof__({name}), {result}({all}))");
            writeln!(text, "printf(\"{name}() %d\\n\", {same});").expect("as above");
        }
    }
    text + "return 0;\n}\n"
}

fn layouts() -> impl Iterator<Item = &'static Layout> {
    LAYOUTS.iter().chain([&PROPERTIES])
}

/// What this crate has, in the lines of the program.
fn expected(tree: &Tree) -> BTreeMap<String, String> {
    let mut lines = BTreeMap::new();
    let mut put =
        |name: String, value: String| assert!(lines.insert(name.clone(), value).is_none(), "{name} is there twice");
    for (name, value) in constant::CONSTANTS {
        put((*name).to_owned(), value.to_string());
    }
    for layout in layouts() {
        put(layout.name.to_owned(), format!("{} {}", layout.size, layout.align));
        for (field, offset, size) in layout.fields {
            put(format!("{}.{field}", layout.name), format!("{offset} {size}"));
        }
    }
    let signatures = calls::SIGNATURES.iter().chain(rtc::SIGNATURES);
    for (name, _) in signatures.filter(|(name, _)| !lacking(tree).contains(name)) {
        put(format!("{name}()"), "1".to_owned());
    }
    lines
}

/// What the headers have; `None` on a machine without a C compiler.
fn told(tree: &Tree) -> Option<BTreeMap<String, String>> {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (source, program_file) = (folder.path().join("abi.c"), folder.path().join("abi"));
    std::fs::write(&source, program(tree)).expect("a file in it");
    let mut compile = Command::new("gcc");
    compile.args(["-std=gnu11", "-w", "-isystem"]).arg(tree.headers()).arg(&source).arg("-o").arg(&program_file);
    let output = match compile.output() {
        Ok(output) => output,
        Err(error) => {
            graphreel_testkit::announce(&format!("no gcc, so the headers were not read: {error}"));
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program_file).output().expect("it was made");
    let text = String::from_utf8(output.stdout).expect("it prints names and numbers");
    Some(
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    )
}

#[test]
fn everything_is_as_amds_headers_have_it() {
    for tree in trees("everything_is_as_amds_headers_have_it") {
        let Some(told) = told(&tree) else { return };
        let expected = expected(&tree);
        assert!(expected.len() > 200, "the tables are whole: {}", expected.len());
        let wrong: Vec<String> = expected
            .iter()
            .filter(|(name, value)| told.get(*name) != Some(*value))
            .map(|(name, value)| format!("{name}: {value} here, {:?} in C", told.get(name)))
            .collect();
        assert!(wrong.is_empty(), "HIP {}:\n{}", tree.version(), wrong.join("\n"));
        assert_eq!(told.len(), expected.len());
    }
}

#[test]
fn types_of_c_are_made_of_types_of_rust() {
    assert_eq!(c_type("*const * mut c_void"), "void * *");
    assert_eq!(c_type("*mut *const hipGraphNode_t"), "hipGraphNode_t * *");
    assert_eq!([c_type("usize"), c_type("c_ulonglong")], ["size_t", "unsigned long long"]);
    assert_eq!([c_field("fn_"), c_field("width")], ["fn", "width"]);
}
