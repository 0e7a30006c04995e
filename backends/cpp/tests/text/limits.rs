//! Texts at the ends of what is allowed: long, deep, wide. Each is written on a small stack and in bounded time, or refused.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use crate::rig::{DIALECTS, kernel, translated};

/// The stack of a thread by default.
const STACK_BYTES: usize = 2 << 20;

/// A text is written within this, in a debug build beside other work.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Write a text in every dialect on a stack of the default size. Answers whether it was written.
fn survives(what: &str, text: String) -> bool {
    let started = Instant::now();
    let work = move || DIALECTS.map(|dialect| translated(&text, dialect).map(|written| written.source().len()));
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(work).expect("a thread starts");
    let written = thread.join().unwrap_or_else(|_| panic!("{what}: it panicked"));
    assert!(started.elapsed() < TIME_MAX, "{what}: {:?}", started.elapsed());
    let count = written.iter().filter(|written| written.is_ok()).count();
    assert!(count == 0 || count == DIALECTS.len(), "{what}: one dialect refuses what another takes: {written:?}");
    if let Err(error) = &written[0] {
        assert!(!error.to_string().is_empty());
    }
    count > 0
}

fn nested(count: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(count), close.repeat(count))
}

#[test]
fn ten_thousand_lines_are_written() {
    let mut body = String::from("var x = id.x;\n");
    for line in 0..10_000 {
        let _ = writeln!(body, "x = x * {}u + out[x % {}u];", line + 3, line % 50 + 1);
    }
    body.push_str("out[id.x] = x;");
    assert!(survives("10,000 lines", kernel("", &body)));
}

#[test]
fn deep_expressions_are_written() {
    let sum = format!("let a = id.x; out[0] = {}a;", "a + ".repeat(900));
    assert!(survives("a long sum", kernel("", &sum)));
    let nested_calls = format!("out[0] = {};", nested(100, "min(id.x, ", "id.y", ")"));
    assert!(survives("calls in calls", kernel("", &nested_calls)));
    let indices = format!("out[0] = {};", nested(60, "out[", "id.x", "]"));
    assert!(survives("indices of indices", kernel("", &indices)));
    let negations = format!("out[0] = {}id.x;", "~".repeat(400));
    assert!(survives("signs before signs", kernel("", &negations)));
    let minus = format!("var a = f32(id.x); a = {}a; out[0] = u32(a);", " -".repeat(200));
    assert!(survives("minus of minus", kernel("", &minus)));
}

#[test]
fn deep_statements_are_written_or_refused() {
    for depth in [20, 60, 120, 250, 2_000] {
        let blocks = nested(depth, "{ ", "out[0] = id.x;", "} ");
        let ifs = nested(depth, "if id.x > 1u { ", "out[0] = id.x;", "} ");
        let loops = nested(depth, "loop { ", "out[0] = id.x;", " break; } ");
        let switches = nested(depth, "switch id.x { case 1u: { ", "out[0] = id.x;", "} default: {} } ");
        let elses = nested(depth, "if id.x == 1u { out[1] = 2u; } else { out[2] = 1u; ", "out[0] = id.x;", "} ");
        for (what, body) in
            [("blocks", blocks), ("ifs", ifs), ("loops", loops), ("switches", switches), ("elses", elses)]
        {
            let written = survives(&format!("{depth} {what}"), kernel("", &body));
            assert!(written || depth > 60, "{depth} {what} are not deep");
        }
    }
}

#[test]
fn long_chains_of_else_are_written() {
    for count in [10, 16, 17, 18, 400] {
        let mut body = String::new();
        for link in 0..count {
            let _ = write!(body, "if id.x * {}u == 9u {{ out[0] = {link}u; }} else ", link + 1);
        }
        body.push_str("{ out[1] = 1u; }");
        assert!(survives(&format!("{count} links"), kernel("", &body)));
    }
}

#[test]
fn deep_types_are_written_or_refused() {
    for depth in [10, 50, 120, 1_000] {
        let ty = nested(depth, "array<", "u32", ", 1>");
        let text = kernel(&format!("var<private> deep: {ty};"), &format!("out[0] = deep{};", "[0]".repeat(depth)));
        let written = survives(&format!("{depth} arrays of arrays"), text);
        assert!(written || depth > 50);
    }
    let mut structs = String::from("struct S0 { a: vec3<f32> }\n");
    for level in 1..200 {
        let _ = writeln!(structs, "struct S{level} {{ a: u32, b: S{} }}", level - 1);
    }
    let text = kernel(
        &format!("{structs}\n@group(0) @binding(1) var<storage, read_write> deep: S199;"),
        "let x = deep; deep = x; out[0] = x.a;",
    );
    survives("structs of structs", text);
}

#[test]
fn chains_of_functions_do_not_double() {
    let mut functions = String::from("fn f0(x: u32) -> u32 { return x + 1u; }\n");
    for level in 1..200 {
        let _ = writeln!(functions, "fn f{level}(x: u32) -> u32 {{ return f{0}(x) ^ f{0}(x + {level}u); }}", level - 1);
    }
    assert!(survives("200 doublings", kernel(&functions, "out[0] = f199(id.x);")));
    let mut long = String::from("fn f0(x: u32) -> u32 { return x + 1u; }\n");
    for level in 1..1_900 {
        let _ = writeln!(long, "fn f{level}(x: u32) -> u32 {{ return f{}(x) + 1u; }}", level - 1);
    }
    assert!(survives("1,900 calls", kernel(&long, "out[0] = f1899(id.x);")));
}

#[test]
fn chains_of_constants_are_written() {
    let mut constants = String::from("const c0 = array<u32, 3>(1u, 2u, 3u);\n");
    for link in 1..1_900 {
        let _ = writeln!(constants, "const c{link} = c{};", link - 1);
    }
    assert!(survives("1,900 constants", kernel(&constants, "out[0] = c1899[id.x % 3u];")));
}

#[test]
fn wide_switches_and_large_tables_are_written() {
    let mut body = String::from("switch id.x {\n");
    for case in 0..5_000 {
        let _ = writeln!(body, "case {case}u: {{ out[0] = {case}u; }}");
    }
    body.push_str("default: {} }");
    assert!(survives("5,000 cases", kernel("", &body)));
    let table = (0..20_000).map(|value| format!("{value}u")).collect::<Vec<_>>().join(", ");
    assert!(survives(
        "20,000 elements",
        kernel(&format!("const TABLE = array<u32, 20000>({table});"), "out[0] = TABLE[id.x];")
    ));
}

/// A kernel of 500 lines is written in 20 ms. Debug builds are about ten times slower, and tests run beside others: the bound
/// here is generous, and tells only of what grows out of hand.
#[test]
fn five_hundred_lines_are_quick() {
    let mut body = String::from("var sum = 0.0; var v = vec3<f32>(f32(id.x), 1.0, 2.0);\n");
    for line in 0..500 {
        let _ = writeln!(
            body,
            "for (var i = 0u; i < {}u; i++) {{ v = v.yzx * f32(i) + vec3(sum); sum += dot(v, v); }}",
            line % 7 + 2
        );
    }
    body.push_str("out[id.x] = u32(sum);");
    let text = kernel("", &body);
    translated(&text, DIALECTS[0]).expect("it is valid");
    let started = Instant::now();
    translated(&text, DIALECTS[0]).expect("it is valid");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}
