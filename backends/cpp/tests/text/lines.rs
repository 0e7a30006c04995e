//! `#line`: a compiler's message points at the WGSL.

use graphreel_cpp::{Dialect, Options};

use crate::rig::own;

const WGSL: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = out[0];

    if id.x > first {
        out[1] = 5u;
    }
    var sum = 0u;
    for (var i = 0u; i < 9u; i++) {
        sum += out[i];
    }
    out[2] = sum;
}
";

/// The line that a compiler gives to the first line of text with `what` in it.
fn line_of(source: &str, what: &str) -> u32 {
    let mut line = 0;
    for text in source.lines() {
        if let Some(directive) = text.strip_prefix("#line ") {
            line = directive.split(' ').next().expect("a number").parse::<u32>().expect("a number") - 1;
            continue;
        }
        line += 1;
        if text.contains(what) {
            return line;
        }
    }
    panic!("no line has `{what}`:\n{source}");
}

#[test]
fn each_statement_has_the_line_of_its_source() {
    let options = Options { file: Some("a\\b \"c\".wgsl".to_owned()), ..Options::new(Dialect::Cuda) };
    let source = own(WGSL, &options);
    assert!(source.contains(r#"#line 4 "a\\b \"c\".wgsl""#), "{source}");
    for (what, line) in
        [("first =", 4), ("if (id.x > first)", 6), ("= 5u", 7), ("sum = sum +", 11), ("[wg::index(2u", 13)]
    {
        assert_eq!(line_of(&source, what), line, "{what}:\n{source}");
    }
}

#[test]
fn without_a_file_there_are_none() {
    assert!(!own(WGSL, &Options::new(Dialect::Cuda)).contains("#line"));
}

#[test]
fn lines_that_follow_one_another_need_one_directive() {
    let body: String = (0..20).map(|k| format!("    out[{k}] = {k}u;\n")).collect();
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n@compute @workgroup_size(1)\nfn main() {{\n{body}}}\n"
    );
    let options = Options { file: Some("k".to_owned()), ..Options::new(Dialect::Cuda) };
    let source = own(&wgsl, &options);
    assert_eq!(source.matches("#line").count(), 1, "{source}");
}
