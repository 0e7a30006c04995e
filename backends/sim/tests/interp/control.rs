//! Control flow, functions, pointers, and when values are read.

use crate::rig::Rig;

/// Run a body with an `out` array of words; `n` is 5 and unknown to the compiler.
fn check(declarations: &str, body: &str, expected: &[u32]) {
    let rig = Rig::new(&*format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @group(0) @binding(1) var<storage, read> n: u32;
         {declarations}
         @compute @workgroup_size(1) fn main() {{ _ = n; {body} }}"
    ));
    let got = rig.buffer(&vec![77; expected.len()]).buffer(&[5]).run().words(0);
    assert_eq!(got, expected, "{body}");
}

#[test]
fn branches() {
    check("", "if n == 5u { out[0] = 1u; } else { out[0] = 2u; }", &[1]);
    check("", "if n > 5u { out[0] = 1u; } else if n > 4u { out[0] = 2u; } else { out[0] = 3u; }", &[2]);
    check("", "if n == 0u { out[0] = 1u; }", &[77]);
    check("", "var a = 1u; if n == 5u && a == 1u { a = 3u; } out[0] = a;", &[3]);
    // The right side of `||` is not evaluated: its side effect is not seen.
    check(
        "var<private> seen = 0u; fn touch() -> bool { seen += 1u; return true; }",
        "let a = n == 5u || touch(); let b = n == 5u && touch(); out[0] = seen; out[1] = u32(a) + u32(b);",
        &[1, 2],
    );
}

#[test]
fn loops() {
    check("", "var s = 0u; for (var i = 0u; i < n; i++) { s += i; } out[0] = s;", &[10]);
    check("", "var s = 0u; for (var i = 0u; i < n; i++) { if i == 2u { continue; } s += i; } out[0] = s;", &[8]);
    check("", "var s = 0u; for (var i = 0u; ; i++) { if i == n { break; } s += i; } out[0] = s;", &[10]);
    check("", "var i = 0u; while i * i < n { i++; } out[0] = i;", &[3]);
    check("", "var i = 0u; loop { i++; if i > n { break; } continuing { i++; } } out[0] = i;", &[7]);
    check("", "var i = 0u; loop { let j = i * 2u; i++; continuing { out[0] = j; break if i == n; } }", &[8]);
    check(
        "",
        "var s = 0u;
         for (var i = 0u; i < n; i++) { for (var j = 0u; j < n; j++) { if j > i { break; } if j == 1u { continue; } s += 1u; } }
         out[0] = s;",
        &[11],
    );
    // A variable declared in a loop begins anew each round.
    check("", "var s = 0u; for (var i = 0u; i < n; i++) { var x: u32; x += i; s += x; } out[0] = s;", &[10]);
}

#[test]
fn switches() {
    let body = "for (var i = 0u; i < 6u; i++) {
        switch i {
            case 0u, 1u: { out[i] = 10u; }
            case 2u: { if n == 5u { break; } out[i] = 20u; }
            case 3u: { out[i] = 30u; continue; }
            default: { out[i] = 40u; }
            case 5u: { out[i] = 50u; }
        }
        out[i] += 1u;
    }";
    check("", body, &[11, 11, 78, 30, 41, 51]);
    check("", "switch i32(n) - 6 { case -1: { out[0] = 1u; } default: { out[0] = 2u; } }", &[1]);
    check("", "switch n { default: { out[0] = 9u; } }", &[9]);
    check("", "loop { switch n { case 5u: { break; } default: { } } out[0] = 4u; break; }", &[4]);
}

#[test]
fn functions_and_pointers() {
    let fib = "fn two(a: u32, b: u32) -> vec2<u32> { return vec2(b, a + b); }
               fn fib(n: u32) -> u32 { var p = vec2(0u, 1u); for (var i = 0u; i < n; i++) { p = two(p.x, p.y); } return p.x; }";
    check(fib, "out[0] = fib(n) + fib(n + 5u) * 100u;", &[5505]);
    check(
        "fn add(p: ptr<function, u32>, x: u32) { *p += x; }",
        "var a = 1u; add(&a, n); add(&a, a); out[0] = a;",
        &[12],
    );
    check(
        "fn put(p: ptr<function, array<u32, 4>>, i: u32) { (*p)[i] = i * 10u; }",
        "var a: array<u32, 4>; for (var i = 0u; i < n; i++) { put(&a, i); } out[0] = a[3] + a[1];",
        &[50],
    );
    check(
        "var<private> g: array<vec2<u32>, 3>; fn put(p: ptr<private, vec2<u32>>) { (*p).y = 7u; g[1].x += 1u; }",
        "let before = g[1].x; put(&g[n - 4u]); out[0] = g[1].y * 100u + g[1].x * 10u + before;",
        &[710],
    );
    check(
        "fn early(x: u32) -> u32 { for (var i = 0u; i < 100u; i++) { if i * i >= x { return i; } } return 1000u; }",
        "out[0] = early(n); out[1] = early(20000u);",
        &[3, 1000],
    );
    check("fn f() -> u32 { return 3u; }", "out[0] = f(); return;", &[3]);
    check(
        "struct S { a: u32, b: vec2<u32> } fn f(s: S) -> S { return S(s.b.y, vec2(s.a, s.b.x)); }",
        "let s = f(f(S(n, vec2(6u, 7u)))); out[0] = s.a; out[1] = s.b.x; out[2] = s.b.y;",
        &[6, 7, 5],
    );
}

#[test]
fn a_value_is_what_it_was_when_it_was_read() {
    check("", "var a = n; let old = a; a = 9u; out[0] = old; out[1] = a;", &[5, 9]);
    check("", "var a = 1u; var b = 2u; let t = a; a = b; b = t; out[0] = a * 10u + b;", &[21]);
    check("", "var v = vec3(1u, 2u, n); v = v.zxy; out[0] = v.x * 100u + v.y * 10u + v.z;", &[512]);
    check("", "var v = vec2(1u, n); v = vec2(v.y, v.x); out[0] = v.x * 10u + v.y;", &[51]);
    check("", "var v = vec3(1u, 2u, n); v = v + v.yzx; out[0] = v.x * 100u + v.y * 10u + v.z;", &[376]);
    check(
        "",
        "var v = vec3(0.0, 1.0, f32(n)); let w = vec3(1.0, 0.0, 0.0); v = cross(v, w); out[0] = u32(v.y * 10.0 - v.z);",
        &[51],
    );
    check("", "var a = 1u; let old = a; if n == 5u { a = 2u; } out[0] = old * 10u + a;", &[12]);
    check("", "var a = 1u; let old = a; for (var i = 0u; i < n; i++) { a += old; } out[0] = old * 10u + a;", &[16]);
    check("", "var a: array<u32, 2>; let old = a[0]; a[n - 5u] = 3u; out[0] = old * 10u + a[0];", &[3]);
    check(
        "",
        "var a: array<u32, 2>; let p = &a[n - 5u]; let old = *p; a = array(4u, 5u); out[0] = old * 10u + *p;",
        &[4],
    );
    check(
        "var<private> g = 1u; fn bump() -> u32 { g += 1u; return g; }",
        "let before = g; let sum = g + bump(); out[0] = before; out[1] = sum; out[2] = g;",
        &[1, 3, 2],
    );
    check(
        "struct S { a: u32, b: u32 }",
        "var s = S(1u, n); s = S(s.b, s.a); let t = s; s.a = 0u; out[0] = t.a * 10u + t.b;",
        &[51],
    );
    check("", "var m = mat2x2(1.0, 2.0, 3.0, f32(n)); m = m * m; out[0] = u32(m[0][1] + m[1][1]);", &[43]);
    check("", "var x = n; x = x * x + x; x = u32(-(-i32(x))); out[0] = x;", &[30]);
}

#[test]
fn every_builtin_value() {
    let rig = Rig::with_subgroups(
        "struct In { @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32 }
         @group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(2, 3, 2) fn main(
             in: In,
             @builtin(global_invocation_id) id: vec3<u32>,
             @builtin(local_invocation_id) local: vec3<u32>,
             @builtin(num_workgroups) groups: vec3<u32>,
             @builtin(subgroup_size) size: u32,
             @builtin(num_subgroups) subgroups: u32,
         ) {
             if all(in.group == vec3(2u, 1u, 0u)) && in.index == 9u {
                 out[0] = id.x; out[1] = id.y; out[2] = id.z;
                 out[3] = local.x; out[4] = local.y; out[5] = local.z;
                 out[6] = groups.x; out[7] = groups.y; out[8] = groups.z;
                 out[9] = size; out[10] = subgroups;
             }
         }",
        8,
    );
    let got = rig.buffer(&[0; 11]).groups(4, 2, 1).run().words(0);
    assert_eq!(got, [5, 4, 1, 1, 1, 1, 4, 2, 1, 8, 2]);
    let rig = Rig::with_subgroups(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(12) fn main(
             @builtin(local_invocation_index) i: u32,
             @builtin(subgroup_invocation_id) lane: u32,
             @builtin(subgroup_id) subgroup: u32,
         ) { out[i] = subgroup * 10u + lane; }",
        8,
    );
    assert_eq!(rig.buffer(&[0; 12]).run().words(0), [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13]);
}

#[test]
fn deep_expressions_and_long_chains() {
    let sum = format!("out[0] = n{};", " + n".repeat(900));
    check("", &sum, &[5 * 901]);
    let chain: String = (0..450).map(|k| format!("if n == {}u {{ out[0] = {k}u; }} else ", k + 100)).collect();
    check("", &format!("{chain} {{ out[0] = 1u; }}"), &[1]);
    let calls: String =
        (1..300).map(|k| format!("fn f{k}(x: u32) -> u32 {{ return f{}(x + 1u); }}\n", k - 1)).collect();
    check(&format!("fn f0(x: u32) -> u32 {{ return x; }} {calls}"), "out[0] = f299(n);", &[304]);
}
