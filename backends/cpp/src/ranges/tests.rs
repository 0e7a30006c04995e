//! Which accesses are proven, each rule with the near miss that must not be.

use graphreel::kernel::{KernelSource, Lowering, Scalars, StorageAccessAs, lower};
use naga::{BinaryOperator, Expression};

use super::prove;

/// For each checked access, division or shift of the entry point, in the order of the text, whether it is proven.
fn proofs(before: &str, body: &str) -> String {
    let wgsl = format!(
        "{before}
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @group(0) @binding(1) var<storage, read> y: array<u32>;
        @group(0) @binding(2) var<uniform> n: u32;
        var<workgroup> t: array<u32, 64>;
        @compute @workgroup_size(64) fn main(
            @builtin(local_invocation_index) l: u32, @builtin(global_invocation_id) g: vec3<u32>,
            @builtin(workgroup_id) w: vec3<u32>, @builtin(subgroup_invocation_id) s: u32) {{
            {body}
        }}"
    );
    let lowering =
        Lowering { scalars: Scalars::Immediate, storage: StorageAccessAs::Declared, uniform_as_storage: false };
    let lowered = lower(&KernelSource::from(wgsl.as_str()), lowering).unwrap_or_else(|error| panic!("{error}"));
    let proven = prove(&lowered.module, &lowered.info, Some(32));
    let mut found = String::new();
    let mut judge = |handle, function: &naga::Function| {
        for (access, expression) in function.expressions.iter() {
            let yes = match expression {
                Expression::Access { .. } => proven.access(handle, access),
                Expression::Binary { op: BinaryOperator::Divide | BinaryOperator::Modulo, .. } => {
                    proven.divides(handle, access)
                }
                Expression::Binary { op: BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, .. } => {
                    proven.shifts(handle, access)
                }
                _ => continue,
            };
            found.push(if yes { '+' } else { '-' });
        }
    };
    judge(None, &lowered.module.entry_points[0].function);
    lowered.module.functions.iter().for_each(|(handle, function)| judge(Some(handle), function));
    found
}

/// Bodies, and what is proven in them in the order of their expressions.
fn check(cases: &[(&str, &str)]) {
    for (body, expected) in cases {
        assert_eq!(proofs("", body), *expected, "{body}");
    }
}

#[test]
fn what_an_invocation_is_told_has_a_range() {
    check(&[
        ("t[l] = 1u;", "+"),
        ("t[l + 1u] = 1u;", "-"),
        ("t[63u - l] = 1u;", "+"),
        ("t[62u - l] = 1u;", "-"),
        ("t[l - 1u] = 1u;", "-"),
        ("t[s * 2u + 1u] = 1u;", "+"),
        ("t[s * 2u + 2u] = 1u;", "-"),
        ("t[g.x] = 1u;", "-"),
        ("t[g.x - w.x * 64u] = 1u;", "-"),
        ("t[g.y] = 1u;", "-"),
        ("var v = vec4(0u); v[l / 16u] = 1u; x[0] = v.x;", "++"),
        ("var v = vec4(0u); v[l / 15u] = 1u; x[0] = v.x;", "+-"),
    ]);
}

#[test]
fn operators_give_ranges() {
    check(&[
        ("t[n % 64u] = 1u;", "++"),
        ("t[n % 65u] = 1u;", "+-"),
        ("t[n & 63u] = 1u;", "+"),
        ("t[n & 127u] = 1u;", "-"),
        ("t[min(n, 63u)] = 1u;", "+"),
        ("t[max(n, 63u)] = 1u;", "-"),
        ("t[clamp(n, 3u, 63u)] = 1u;", "+"),
        ("t[n >> 26u] = 1u;", "++"),
        ("t[n >> 25u] = 1u;", "+-"),
        ("t[(n & 7u) << 3u] = 1u;", "++"),
        ("t[(n & 15u) * 4u + 3u] = 1u;", "+"),
        ("t[(n & 15u) * 4u + 4u] = 1u;", "-"),
        ("t[select(5u, n, n < 64u)] = 1u;", "+"),
        ("t[select(5u, n, n < 65u)] = 1u;", "-"),
        ("t[extractBits(n, 7u, 6u)] = 1u;", "+"),
        ("t[extractBits(n, 7u, 7u)] = 1u;", "-"),
        ("t[countOneBits(n)] = 1u;", "+"),
        ("t[(l | 32u) ^ 1u] = 1u;", "+"),
        ("t[u32(n > 5u) + 62u] = 1u;", "+"),
        // Products and sums that could pass the end of the type may be anything.
        ("t[(n * 2u) / 4294967295u] = 1u;", "++"),
        ("t[(l + 4294967295u) % 4294967295u] = 1u;", "+-"),
        ("let i = i32(l) - 5; t[i] = 1u;", "-"),
        ("let i = i32(l) - 5; t[abs(i)] = 1u;", "+"),
        ("let i = max(i32(l) - 5, 0); t[i] = 1u;", "+"),
        ("let i = i32(n) % 64; t[i] = 1u;", "+-"),
        ("let v = vec2(l, n) & vec2(63u, 31u); t[v.x] = 1u; t[v.y] = 1u; t[v.yx.y] = 1u;", "+++"),
    ]);
}

#[test]
fn conditions_narrow() {
    check(&[
        ("if n < 64u { t[n] = 1u; }", "+"),
        ("if n <= 64u { t[n] = 1u; }", "-"),
        ("if n >= 64u { return; } t[n] = 1u;", "+"),
        ("if n > 64u { return; } t[n] = 1u;", "-"),
        ("if 63u >= n { t[n] = 1u; } t[n] = 2u;", "+-"),
        ("if n < 64u || l == 5u { t[n] = 1u; }", "-"),
        ("if n < 64u && l == 5u { t[n] = 1u; }", "+"),
        ("if n >= 64u || l == 5u { return; } t[n] = 1u;", "+"),
        ("if !(n >= 64u) { t[n] = 1u; }", "+"),
        ("if n == 5u { t[n] = 1u; } else { t[n] = 2u; }", "+-"),
        ("if n != 5u { t[n] = 1u; } else { t[n] = 2u; }", "-+"),
        ("switch n { case 5u: { t[n] = 1u; } case 6u, 99u: { t[n] = 2u; } default: { t[n] = 3u; } }", "+--"),
        ("var i = n; if i > 63u { i = 63u; } t[i] = 1u;", "+"),
        ("var i = n; if i > 64u { i = 63u; } t[i] = 1u;", "-"),
        ("var i = n; if i < 64u { i += 1u; t[i] = 1u; }", "-"),
        ("var i = i32(n); if i < 64 { t[i] = 1u; } if i >= 0 && i < 64 { t[i] = 2u; }", "-+"),
        ("let a = n < 64u; if a { t[n] = 1u; }", "+"),
        ("if l < n { t[l] = n - l; x[0] = t[n - l]; }", "+-"),
        // What is compared has to be what is used.
        ("if y[l] < 64u { t[y[l]] = 1u; }", "--+"),
        ("if x[0] < 64u { t[x[0]] = 1u; }", "-"),
        ("let i = x[0]; if i < 64u { t[i] = 1u; }", "+"),
    ]);
}

#[test]
fn a_difference_is_in_range_where_its_order_is_known() {
    check(&[
        ("if l >= n { t[l - n] = 1u; }", "+"),
        ("if l + 1u >= n { t[l - n] = 1u; }", "-"),
        ("for (var b = 1u; b < 64u; b *= 2u) { if l >= b { t[l - b] = 1u; } }", "+"),
        ("for (var b = 1u; b < 64u; b *= 2u) { if l > b { t[l - b - 1u] = 1u; } }", "-"),
    ]);
}

#[test]
fn loops_with_bounds_give_ranges() {
    check(&[
        ("for (var i = 0u; i < 64u; i++) { t[i] = 1u; }", "+"),
        ("for (var i = 0u; i <= 64u; i++) { t[i] = 1u; }", "-"),
        ("for (var i = l; i < 64u; i += 32u) { t[i] = 1u; }", "+"),
        ("for (var i = 63u; i > 0u; i--) { t[i] = 1u; }", "+"),
        ("for (var i = 63u; i >= 0u; i--) { t[i] = 1u; }", "-"),
        ("for (var i = 0; i < 64; i++) { t[i] = 1u; }", "+"),
        ("for (var i = -1; i < 64; i++) { t[i] = 1u; }", "-"),
        ("for (var i = 63; i >= 0; i--) { t[i] = 1u; }", "+"),
        ("var i = 0u; while i < 64u { i++; t[i] = 1u; }", "-"),
        ("var i = 0u; while i < 63u { i++; t[i] = 1u; }", "+"),
        ("var i = 0u; loop { if i == 64u { break; } t[i] = 1u; i++; }", "-"),
        ("for (var h = 32u; h > 0u; h /= 2u) { if l < h { t[l] += t[l + h]; } }", "+++"),
        ("for (var h = 33u; h > 0u; h /= 2u) { if l < h { t[l] += t[l + h]; } }", "+-+"),
        ("for (var h = 32u; h > 0u; h >>= 1u) { workgroupBarrier(); if l < h { t[l] = t[l + h]; } }", "+++"),
        ("for (var i = 0u; i < 8u; i++) { for (var k = 0u; k < 8u; k++) { t[i * 8u + k] = 1u; } }", "+"),
        ("for (var i = 0u; i < 8u; i++) { for (var k = 0u; k <= i; k++) { t[i * 8u + k] = 1u; } }", "+"),
        ("for (var i = 0u; i < 8u; i++) { for (var k = 0u; k < 9u; k++) { t[i * 8u + k] = 1u; } }", "-"),
        // One that `continue` keeps, and one that the body moves.
        ("var i = 0u; loop { if i >= 64u { break; } t[i] = 1u; if l == 3u { continue; } i++; }", "+"),
        ("for (var i = 0u; i < 64u; i++) { i += l; t[i] = 1u; }", "-"),
        ("var i = 0u; loop { t[i] = 1u; continuing { i++; break if i >= 64u; } }", "+"),
        ("var i = 0u; loop { t[i] = 1u; continuing { i++; break if i > 64u; } }", "-"),
        ("var i = 0u; loop { t[i & 63u] = 1u; i += 1u; if x[0] == i { break; } } t[i] = 2u;", "+-"),
        ("var i = 5u; for (var k = 0u; k < n; k++) { t[i] = 1u; i = (i * 3u) % 64u; } t[i] = 2u;", "+++"),
    ]);
}

#[test]
fn what_others_may_change_is_not_known() {
    let bump = "fn bump(p: ptr<function, u32>) { *p += 100u; } var<private> q: u32;
        fn touch() { q += 100u; } fn at(i: u32) -> u32 { return i + 1u; }";
    for (body, expected) in [
        ("var i = l; bump(&i); t[i] = 1u;", "-"),
        ("var i = l; let p = &i; *p = 100u; t[i] = 1u;", "-"),
        ("var i = l; let p = &i; t[*p] = 1u;", "+"),
        ("q = 5u; t[q] = 1u;", "-"),
        ("t[at(l)] = 1u;", "-"),
        ("var v = vec2(l, l); v.x = 100u; t[v.x] = 1u; t[v.y] = 2u;", "-+"),
        ("var v = vec2(l, l); v[n] = 100u; t[v.x] = 1u; t[v.y] = 2u;", "---"),
        ("var i = l; for (var k = 0u; k < 3u; k++) { bump(&i); } t[i] = 1u;", "-"),
        ("t[5] = l; workgroupBarrier(); t[t[5]] = 1u;", "-"),
    ] {
        assert_eq!(proofs(bump, body), expected, "{body}");
    }
}

#[test]
fn lengths_of_buffers_are_compared_by_name() {
    check(&[
        ("if g.x < arrayLength(&x) { x[g.x] = 1u; }", "+"),
        ("if g.x <= arrayLength(&x) { x[g.x] = 1u; }", "-"),
        ("if g.x < arrayLength(&y) { x[g.x] = 1u; }", "-"),
        ("let m = min(arrayLength(&x), arrayLength(&y)); if g.x < m { x[g.x] = y[g.x]; }", "++"),
        ("let m = max(arrayLength(&x), arrayLength(&y)); if g.x < m { x[g.x] = y[g.x]; }", "--"),
        ("if g.x >= arrayLength(&x) { return; } x[g.x] = 1u; x[g.x + 1u] = 1u;", "+-"),
        ("if g.x + 1u < arrayLength(&x) { x[g.x + 1u] = 1u; }", "+"),
        ("if g.x + 1u < arrayLength(&x) { x[g.x] = 1u; }", "-"),
        ("for (var i = g.x; i < arrayLength(&x); i += 64u) { x[i] = 1u; }", "+"),
        ("for (var i = g.x; i < arrayLength(&x); i += 64u) { x[i] = 1u; i += 1u; x[i] = 1u; }", "+-"),
        ("let i = i32(g.x); if i < i32(arrayLength(&x)) { x[i] = 1u; }", "-"),
        ("x[l - l] = 1u; x[min(l, 0u)] = 1u;", "-+"),
    ]);
}

#[test]
fn functions_know_what_they_are_given() {
    let at = "fn at(i: u32, v: vec2<u32>) -> u32 { return t[i] + t[v.y]; }";
    assert_eq!(proofs(at, "x[0] = at(l, vec2(n, 5u));"), "++");
    assert_eq!(proofs(at, "x[0] = at(l, vec2(n, 5u)) + at(l + 1u, vec2(n, 6u));"), "-+");
    assert_eq!(proofs(at, "if n < 64u { x[0] = at(n, vec2(n, n)); }"), "++");
    assert_eq!(proofs(at, "for (var i = 0u; i < 64u; i++) { x[0] += at(i, vec2(n, i)); }"), "++");
    assert_eq!(proofs(at, "for (var i = 0u; i < 65u; i++) { x[0] += at(i, vec2(n, i)); }"), "--");
    let deep =
        "fn inner(i: u32) -> u32 { return t[i]; } fn outer(i: u32) -> u32 { return inner(i % 64u) + inner(i & 7u); }";
    assert_eq!(proofs(deep, "x[0] = outer(n);"), "++");
}

#[test]
fn divisors_and_shifts() {
    check(&[
        ("x[0] = n / (l + 1u);", "+"),
        ("x[0] = n / l;", "-"),
        ("if n > 0u { x[0] = l % n; }", "+"),
        ("x[0] = u32(i32(n) / (i32(l) + 1));", "+"),
        ("x[0] = u32(i32(n) / (i32(l) - 1));", "-"),
        ("x[0] = u32(i32(n) / (-1 - i32(l)));", "-"),
        ("x[0] = u32(i32(l) / (-1 - i32(l)));", "+"),
        ("x[0] = u32(i32(n) / (-2 - i32(l)));", "+"),
        ("x[0] = n << (l / 2u);", "++"),
        ("x[0] = n << l;", "-"),
        ("x[0] = n >> (n & 31u);", "+"),
    ]);
}
