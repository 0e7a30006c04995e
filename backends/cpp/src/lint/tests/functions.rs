//! Functions: what they ask of their callers, and what their results depend on.

use super::{BARRIER, CLEAN, RETURN, SUBGROUP, kernel, lints, rules};

fn check(table: &[(&str, &str, &[&str])]) {
    for (functions, body, expected) in table {
        let text = kernel(functions, body);
        assert_eq!(rules(&text), *expected, "{functions}\n{body}\n{:#?}", lints(&text));
    }
}

#[test]
fn what_functions_ask_of_their_callers() {
    let barrier = "fn f() { workgroupBarrier(); }";
    let sum = "fn f(x: u32) -> u32 { return subgroupAdd(x); }";
    let guarded = "fn f(x: u32) { if x > 3u { workgroupBarrier(); } }";
    let behind = "fn f(p: ptr<function, u32>) { if *p > 3u { workgroupBarrier(); } }";
    let nested = "fn g() { workgroupBarrier(); } fn f(x: u32) { if x > 3u { g(); } }";
    let early = "fn f(x: u32) { if x > 3u { return; } workgroupBarrier(); }";
    check(&[
        (barrier, "f();", CLEAN),
        (barrier, "if lane > 3u { f(); }", BARRIER),
        (barrier, "if group.x > 3u { f(); }", CLEAN),
        (barrier, "if lane > 3u { return; } f();", RETURN),
        (barrier, "for (var i = 0u; i < lane; i++) { f(); }", BARRIER),
        (sum, "out[lane] = f(lane);", CLEAN),
        (sum, "if lane > 3u { out[lane] = f(1u); }", SUBGROUP),
        (sum, "if sub > 3u { out[lane] = f(1u); }", CLEAN),
        (sum, "if f(lane) > 3u { out[lane] = subgroupAdd(1u); }", CLEAN),
        (sum, "if f(lane) > 3u { workgroupBarrier(); }", BARRIER),
        (guarded, "f(group.x);", CLEAN),
        (guarded, "f(lane);", BARRIER),
        (guarded, "if lane > 3u { f(group.x); }", BARRIER),
        (behind, "var x = lane; f(&x);", BARRIER),
        (behind, "var x = group.x; f(&x);", CLEAN),
        (behind, "var a: array<u32, 4>; f(&a[lane % 4u]);", BARRIER),
        (nested, "f(lane);", BARRIER),
        (nested, "f(group.x);", CLEAN),
        (nested, "if lane > 3u { f(0u); }", BARRIER),
        (early, "f(lane);", RETURN),
        (early, "f(group.x);", CLEAN),
        (early, "if lane > 3u { f(group.x); }", BARRIER),
        // What is wrong in a function whoever calls it is told once.
        (
            "fn f() { if out[0] > 3u { workgroupBarrier(); } }",
            "f(); f(); if lane > 3u { f(); }",
            &["non-uniform-barrier"; 1],
        ),
        // A function that nobody calls is left alone.
        ("fn f() { if out[0] > 3u { workgroupBarrier(); } }", "", CLEAN),
    ]);
}

#[test]
fn what_results_depend_on() {
    let add = "fn f(a: u32, b: u32) -> u32 { return a + b; }";
    let first = "fn f(a: u32, b: u32) -> u32 { return a; }";
    let choose = "fn f(a: u32, b: u32) -> u32 { if a > 3u { return 1u; } return 2u; }";
    let reads = "fn f(a: u32, b: u32) -> u32 { return out[a]; }";
    let table = "fn f(a: u32, b: u32) -> u32 { return table[a]; }";
    check(&[
        (add, "if f(group.x, 3u) > 3u { workgroupBarrier(); }", CLEAN),
        (add, "if f(group.x, lane) > 3u { workgroupBarrier(); }", BARRIER),
        (first, "if f(group.x, lane) > 3u { workgroupBarrier(); }", CLEAN),
        (first, "if f(lane, group.x) > 3u { workgroupBarrier(); }", BARRIER),
        (choose, "if f(group.x, lane) > 1u { workgroupBarrier(); }", CLEAN),
        (choose, "if f(lane, group.x) > 1u { workgroupBarrier(); }", BARRIER),
        (choose, "out[0] = f(lane, 1u); workgroupBarrier();", CLEAN),
        (reads, "if f(0u, 0u) > 1u { workgroupBarrier(); }", BARRIER),
        (table, "if f(0u, 0u) > 1u { workgroupBarrier(); }", CLEAN),
        (table, "if f(lane, 0u) > 1u { workgroupBarrier(); }", BARRIER),
    ]);
}

#[test]
fn what_is_left_behind_pointers() {
    let set = "fn f(p: ptr<function, u32>, x: u32) { *p = x; }";
    let add = "fn f(p: ptr<function, u32>, x: u32) { *p += x; }";
    let read = "fn f(p: ptr<function, u32>, x: u32) { out[0] = *p + x; }";
    let sometimes = "fn f(p: ptr<function, u32>, x: u32) { if x > 3u { *p = 1u; } }";
    let inner = "fn g(p: ptr<function, u32>, x: u32) { *p = x; } fn f(p: ptr<function, u32>, x: u32) { g(p, x); }";
    let private_ = "fn f(p: ptr<private, u32>) { if *p > 3u { workgroupBarrier(); } }";
    check(&[
        (set, "var y = lane; f(&y, 1u); if y > 3u { workgroupBarrier(); }", CLEAN),
        (set, "var y = 0u; f(&y, lane); if y > 3u { workgroupBarrier(); }", BARRIER),
        (set, "var y = 0u; if lane > 3u { f(&y, 1u); } if y > 3u { workgroupBarrier(); }", BARRIER),
        (set, "var y = 0u; for (var i = 0u; i < 4u; i++) { if y > 3u { workgroupBarrier(); } f(&y, lane); }", BARRIER),
        (set, "var a: array<u32, 4>; f(&a[1], lane); if a[0] > 3u { workgroupBarrier(); }", BARRIER),
        (set, "var a: array<u32, 4>; a[1] = lane; f(&a[1], 0u); if a[0] > 3u { workgroupBarrier(); }", BARRIER),
        (add, "var y = lane; f(&y, 1u); if y > 3u { workgroupBarrier(); }", BARRIER),
        (add, "var y = group.x; f(&y, 1u); if y > 3u { workgroupBarrier(); }", CLEAN),
        (read, "var y = group.x; f(&y, lane); if y > 3u { workgroupBarrier(); }", CLEAN),
        (sometimes, "var y = 0u; f(&y, group.x); if y > 3u { workgroupBarrier(); }", CLEAN),
        (sometimes, "var y = 0u; f(&y, lane); if y > 3u { workgroupBarrier(); }", BARRIER),
        (inner, "var y = lane; f(&y, 1u); if y > 3u { workgroupBarrier(); }", CLEAN),
        (inner, "var y = 0u; f(&y, lane); if y > 3u { workgroupBarrier(); }", BARRIER),
        (private_, "f(&own);", BARRIER),
    ]);
}

#[test]
fn a_call_is_blamed_where_the_caller_differs() {
    let text = kernel(
        "fn reduce(x: u32) -> u32 {\n  return subgroupAdd(x);\n}",
        "if lane > 3u {\n    out[0] = reduce(lane);\n}",
    );
    let [lint] = &lints(&text)[..] else { panic!("{:?}", lints(&text)) };
    let line = text.lines().position(|line| line.contains("= reduce")).expect("it is there") + 1;
    assert_eq!(lint.line as usize, line);
    assert!(lint.message.contains("`subgroupAdd` (line 14, reached by this call of `reduce`)"), "{}", lint.message);
}

#[test]
fn entry_points_are_looked_at_one_by_one() {
    let text = "var<workgroup> flag: u32;
        fn f() { if flag > 3u { workgroupBarrier(); } }
        @compute @workgroup_size(1) fn first() { f(); }
        @compute @workgroup_size(1) fn second(@builtin(local_invocation_index) lane: u32) {
            f(); if lane > 3u { workgroupBarrier(); } }
        @fragment fn shade() {}";
    let found: Vec<_> = lints(text).iter().map(|lint| (lint.entry.clone(), lint.line)).collect();
    assert_eq!(found, [("first".to_owned(), 2), ("second".to_owned(), 5)]);
}
