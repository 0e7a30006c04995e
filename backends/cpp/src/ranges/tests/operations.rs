//! Each operation: what it is known to give, and where that ends.

use super::{check, check_text};

#[test]
fn constants_and_literals() {
    check(
        "var z = 3u; four[z] = 1u; // in
         z = 4u;
         four[z] = 1u; // out
         var m = -1;
         four[m] = 1u; // out
         m = 3;
         four[m] = 1u; // in
         four[u] = 1u; // out
         four[i] = 1u; // out",
    );
}

#[test]
fn what_an_invocation_is_given() {
    check(
        "lanes[lane] = 1u; // in
         lanes[lane + 1u] = 1u; // out
         tile[local.y][local.x] = 1u; // in
         lanes[local.y * 8u + local.x] = 1u; // in
         lanes[local.y * 8u + local.x + 1u] = 1u; // out
         four[local.z] = 1u; // in
         four[local.z + 4u] = 1u; // out
         sixteen[group.x] = 1u; // out
         sixteen[group.x / 4096u] = 1u; // in
         sixteen[group.x / 4095u] = 1u; // out
         four[id.x / 131072u] = 1u; // in
         four[id.x / 131069u] = 1u; // out
         sixteen[groups.x >> 12u] = 1u; // in
         let q = u / groups.x; // in",
    );
}

const SUBGROUPS: &str =
    "var<workgroup> w: array<u32, 32>; var<workgroup> two: array<u32, 2>; var<workgroup> l: array<u32, 128>;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) id: u32,
    @builtin(subgroup_size) size: u32, @builtin(num_subgroups) count: u32) {
    data[0] = 1u;
";

#[test]
fn subgroups() {
    let known = "w[lane] = 1u; // in
        two[id] = 1u; // in
        two[count] = 1u; // out
        two[count - 1u] = 1u; // in
        l[size + 95u] = 1u; // in
        l[size + 96u] = 1u; // out
        }";
    check_text(&format!("{SUBGROUPS}{known}"), Some(32));
    let unknown = "w[lane] = 1u; // out
        l[lane] = 1u; // in
        two[id] = 1u; // out
        l[id] = 1u; // in
        l[size - 1u] = 1u; // in
        l[size] = 1u; // out
        let q = 5u / size; // in
        }";
    check_text(&format!("{SUBGROUPS}{unknown}"), None);
}

#[test]
fn masks_shifts_and_remainders() {
    check(
        "sixteen[u & 15u] = 1u; // in
         sixteen[u & 16u] = 1u; // out
         sixteen[i & 15] = 1u; // in
         sixteen[i & -15] = 1u; // out
         sixteen[u >> 28u] = 1u; // in
         sixteen[u >> 27u] = 1u; // out
         sixteen[i >> 28u] = 1u; // out
         sixteen[u % 16u] = 1u; // in
         sixteen[u % 17u] = 1u; // out
         sixteen[i % 16] = 1u; // out
         let p = abs(i % 16);
         sixteen[p] = 1u; // in
         sixteen[u / 268435456u] = 1u; // in
         sixteen[u / 268435455u] = 1u; // out
         sixteen[(u & 7u) | 8u] = 1u; // in
         sixteen[(u & 8u) | 16u] = 1u; // out
         sixteen[(u & 7u) ^ (v & 15u)] = 1u; // in
         sixteen[(min(u, 8u) | min(v, 8u)) + 1u] = 1u; // out
         sixteen[min(u, 8u) | min(v, 8u)] = 1u; // in
         sixteen[(min(u, 8u) ^ min(v, 8u)) + 1u] = 1u; // out
         sixteen[(u & 3u) << 2u] = 1u; // in
         sixteen[(u & 3u) << 3u] = 1u; // out
         sixteen[~u & 15u] = 1u; // in
         sixteen[~u] = 1u; // out",
    );
}

#[test]
fn divisors() {
    check(
        "var q = u / 3u; // in
         q = u / v; // out
         q = u / max(v, 1u); // in
         q = u / (v | 1u); // in
         q = u / (v + 1u); // out
         q = u % (v & 3u); // out
         q = u % ((v & 3u) + 1u); // in
         var p = i / 2; // in
         p = i / -1; // out
         p = (i & 255) / -1; // in
         p = i / -2; // in
         p = i % max(i, 1); // in
         p = i % max(i, -1); // out
         let w = vec2(u, v) / vec2(2u, 3u); // in
         let x = vec2(u, v) / vec2(2u, v); // out
         let y = vec2(u, v) % 4u; // in
         if v != 0u { q = u / v; } // in
         if i != 0 { p = 5 / i; } // in
         if i != 0 { p = i / i; } // out
         if v > 0u || u > 0u { q = u / v; } // out",
    );
}

#[test]
fn amounts_of_shifts() {
    check(
        "var q = u << (v & 31u); // in
         q = u << (v & 32u); // out
         q = u >> lane; // out
         q = u >> (lane / 2u); // in
         q = u << v; // out
         let w = vec2(u, v) << (vec2(u, v) % vec2(32u)); // in
         let r = vec2(u, v) % vec2(32u, 33u);
         let x = vec2(u, v) << r; // out
         if v < 32u { q = u << v; } // in
         if v <= 32u { q = u << v; } // out",
    );
}

#[test]
fn what_wraps_is_anything() {
    check(
        "let a = u & 15u;
         sixteen[a - 1u] = 1u; // out
         sixteen[(a + 16u) - 16u] = 1u; // in
         sixteen[(u + 1u) & 15u] = 1u; // in
         sixteen[(u / 2u) * 2u / 268435456u] = 1u; // in
         sixteen[u * 2u / 536870912u] = 1u; // in
         sixteen[(u & 3u) * (v & 5u)] = 1u; // in
         sixteen[(u & 3u) * (v & 6u)] = 1u; // out
         sixteen[(u | 2147483648u) + 2147483648u] = 1u; // out
         sixteen[15u - a] = 1u; // in
         sixteen[14u - a] = 1u; // out
         let b = i & 15;
         sixteen[-b] = 1u; // out
         sixteen[-(-b)] = 1u; // in
         sixteen[2147483647 + b] = 1u; // out
         sixteen[b - 1] = 1u; // out
         sixteen[abs(b - 15)] = 1u; // in
         sixteen[abs(i)] = 1u; // out",
    );
}

#[test]
fn builtin_functions() {
    check(
        "sixteen[min(u, 15u)] = 1u; // in
         sixteen[min(u, 16u)] = 1u; // out
         sixteen[clamp(u, 3u, 15u)] = 1u; // in
         sixteen[clamp(u, 3u, 16u)] = 1u; // out
         sixteen[clamp(i, 0, 15)] = 1u; // in
         sixteen[clamp(i, -1, 15)] = 1u; // out
         sixteen[max(min(i, 15), 0)] = 1u; // in
         sixteen[min(i, 15)] = 1u; // out
         lanes[countOneBits(u)] = 1u; // in
         sixteen[countOneBits(u & 32767u)] = 1u; // in
         sixteen[countOneBits(u & 65535u)] = 1u; // out
         lanes[countLeadingZeros(u)] = 1u; // in
         sixteen[countLeadingZeros(u | 131072u)] = 1u; // in
         sixteen[countLeadingZeros(u)] = 1u; // out
         lanes[countTrailingZeros(u)] = 1u; // in
         lanes[firstLeadingBit(u)] = 1u; // out
         lanes[firstLeadingBit(u | 1u)] = 1u; // in
         lanes[firstTrailingBit(u | 1u)] = 1u; // in
         lanes[firstTrailingBit(i)] = 1u; // out
         lanes[firstLeadingBit(i) + 1] = 1u; // in
         sixteen[extractBits(u, v, 4u)] = 1u; // in
         sixteen[extractBits(u, 4u, v)] = 1u; // out
         sixteen[extractBits(i, 4u, 4u)] = 1u; // out
         sixteen[extractBits(i, 4u, 4u) + 8] = 1u; // in
         sixteen[unpack4xU8(u).y / 16u] = 1u; // in
         sixteen[sign(i) + 1] = 1u; // in
         sixteen[sign(i)] = 1u; // out
         sixteen[insertBits(u, 1u, 2u, 3u)] = 1u; // out
         sixteen[reverseBits(u & 1u)] = 1u; // out
         sixteen[dot(vec2(u, 1u), vec2(1u, 2u))] = 1u; // out",
    );
}

#[test]
fn conversions() {
    check(
        "sixteen[u32(i & 15)] = 1u; // in
         sixteen[u32(i)] = 1u; // out
         sixteen[i32(u & 15u)] = 1u; // in
         sixteen[i32(u >> 1u) >> 27u] = 1u; // in
         sixteen[i32(u) >> 27u] = 1u; // out
         sixteen[bitcast<u32>(i & 15)] = 1u; // in
         sixteen[bitcast<i32>(u)] = 1u; // out
         sixteen[u32(u > 3u) + 14u] = 1u; // in
         sixteen[u32(f32(u & 1u))] = 1u; // out
         sixteen[select(15u, 3u, u > v)] = 1u; // in
         sixteen[select(16u, 3u, u > v)] = 1u; // out
         sixteen[select(0u, u, u < 16u)] = 1u; // in
         sixteen[select(0u, u, u <= 16u)] = 1u; // out
         sixteen[select(u, 0u, u >= 16u)] = 1u; // in
         lanes[select(lane - 1u, 0u, lane == 0u)] = 1u; // in
         lanes[select(lane - 1u, 0u, lane == 1u)] = 1u; // out",
    );
}

#[test]
fn vectors_component_by_component() {
    check(
        "let p = vec3(u & 7u, lane, u);
         lanes[p.x] = 1u; // in
         lanes[p.y] = 1u; // in
         lanes[p.z] = 1u; // out
         let q = p.zyx;
         lanes[q.x] = 1u; // out
         lanes[q.z] = 1u; // in
         let r = p.xy + vec2(1u, 0u);
         lanes[r.y] = 1u; // in
         lanes[(r * 8u).x] = 1u; // out
         lanes[(p.xy * vec2(7u, 1u)).x] = 1u; // in
         let s = vec2(5u);
         four[s.x] = 1u; // out
         sixteen[s.y] = 1u; // in
         let d = vec4(1u, 2u, 3u, lane / 32u);
         let c = d[u]; // out
         let e = d[u & 3u]; // in
         four[e] = 1u; // in
         let m = min(vec2(u, v), vec2(3u, 4u));
         four[m.x] = 1u; // in
         four[m.y] = 1u; // out
         let big = vec2(u, v) & vec2(3u, 15u);
         four[big.x] = 1u; // in
         four[big.y] = 1u; // out",
    );
}
