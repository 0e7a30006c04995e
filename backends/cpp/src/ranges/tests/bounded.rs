//! Long and deep texts: an answer in bounded time, on a thread's default stack.

use std::time::{Duration, Instant};

use super::{ENTRY, HEAD};
use crate::Loops;
use crate::ranges::prove;

/// Stack of a thread of the standard library, unless it is told otherwise.
const STACK: usize = 2 << 20;

/// Prove what can be proven of a body, on a thread of its own; how long it took.
fn took(body: &str) -> Duration {
    let text = format!("{HEAD}{ENTRY}var u = data[0]; var v = other[0];\n{body}\ndata[0] = u + v + params.n;\n}}");
    let work = move || {
        let (module, info) = graphreel::kernel::parse(&text).unwrap();
        let began = Instant::now();
        let proven = prove(&module, &info, None, Loops::Trusted);
        let took = began.elapsed();
        assert!(proven.answers(None).is_some_and(|answers| !answers.access.is_empty()), "something is asked");
        took
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

/// Far more than any of them needs where nothing is optimised and others run, and far less than what is not linear would.
fn check(body: &str) {
    let took = took(body);
    assert!(took < Duration::from_secs(20), "{took:?} for `{}..`", &body[..60]);
}

#[test]
fn deep_texts() {
    let nested = |open: &dyn Fn(usize) -> String, close: &str, count: usize| {
        let opened: String = (0..count).map(open).collect();
        format!("{opened}lanes[u] = 1u;{}", close.repeat(count))
    };
    check(&nested(&|at| format!("if u > {at}u {{ u += 1u;\n"), "}", 120));
    check(&nested(&|at| format!("for (var k{at} = 0u; k{at} < 9u; k{at}++) {{ u += k{at};\n"), "}", 60));
    check(&nested(&|at| format!("for (var k{at} = u; k{at} > v; k{at} /= 3u) {{ v += k{at};\n"), "}", 60));
    check(&nested(&|at| format!("loop {{ if u == {at}u {{ break; }} if v == {at}u {{ continue; }}\n"), "}", 60));
    check(&nested(&|at| format!("switch u {{ case {at}u: {{ v += 1u; }} default: {{\n"), "}}", 60));
    check(&format!("{} {{ lanes[u] = 1u; }}", "if u == v { u += 1u; } else ".repeat(490)));
    check(&format!("if {} {{ lanes[u] = 1u; }}", ["u < v"; 300].join(" && ")));
    check(&format!("if {} {{ lanes[u] = 1u; }}", ["u < v"; 300].join(" || ")));
    check(&format!("lanes[{}] = 1u;", ["u"; 900].join(" + ")));
    check(&format!("lanes[{}] = 1u;", ["(u - v)"; 250].join(" - ")));
    check(&format!("lanes[{}u{}] = 1u;", "min(".repeat(100), ", v)".repeat(100)));
}

#[test]
fn long_texts() {
    let line = |count: usize, text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<String>();
    check(&line(10_000, &|at| format!("u = u * {}u + data[u % {}u];\n", at + 3, at % 50 + 1)));
    check(&line(10_000, &|at| format!("u = u * (v + {at}u) - lanes[u & 63u];\n")));
    check(&line(3_000, &|at| format!("if u > {at}u {{ lanes[u] = v; u += 1u; }} else {{ v -= u; }}\n")));
    check(&line(3_000, &|at| format!("if u == {at}u && v < {at}u {{ return; }}\nlanes[u] = v;\n")));
    check(&line(2_000, &|at| format!("for (var k = 0u; k < {at}u; k++) {{ lanes[k] = u; u += k; }}\n")));
    check(&line(2_000, &|at| format!("var x{at} = u; if v > {at}u {{ x{at} = v; }} lanes[x{at} & 63u] = x{at};\n")));
    let many = line(1_500, &|at| format!("if u == {at}u {{ v = {at}u; u += 1u; continue; }} if u == v {{ break; }}\n"));
    check(&format!("loop {{\n{many}\nlanes[u] = v;\n}}"));
    let cases = line(3_000, &|at| format!("case {at}u: {{ v = {at}u; lanes[u] = v; }}\n"));
    check(&format!("switch u {{\n{cases}\ndefault: {{ }}\n}}"));
}

#[test]
fn a_kernel_of_ordinary_size_takes_no_time() {
    let body: String = (0..40)
        .map(|at| {
            format!(
                "for (var k{at} = lane; k{at} < 64u; k{at} += 8u) {{\n\
                 let row = k{at} / 8u;\nlet column = k{at} % 8u;\n\
                 tile[row][column] = data[u];\n\
                 if k{at} < params.n && u < v {{\nu += tile[column][row];\n}} else {{\nv = max(v, 1u);\n}}\n\
                 u = u / v + {at}u;\n}}\n"
            )
        })
        .collect();
    let text = format!("{HEAD}{ENTRY}var u = data[0]; var v = other[0];\n{body}\ndata[0] = u + v;\n}}");
    let (module, info) = graphreel::kernel::parse(&text).unwrap();
    let best = (0..5).map(|_| {
        let began = Instant::now();
        let proven = prove(&module, &info, None, Loops::Trusted);
        let took = began.elapsed();
        assert!(proven.answers(None).is_some());
        took
    });
    let best = best.min().unwrap();
    // Without optimisation, on a busy machine; optimised it is a twentieth of it.
    assert!(best < Duration::from_millis(500), "{best:?} for {} lines", text.lines().count());
}
