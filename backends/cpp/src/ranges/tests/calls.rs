//! Functions: what all callers give, and what is given back.

use super::{check_text, check_with};

#[test]
fn arguments_and_results() {
    check_with(
        "fn fill(at: u32, times: u32) {
             sixteen[at] = 1u; // in
             four[at] = 1u; // out
             let q = 100u / times; // in
             inner(at + 1u);
         }
         fn inner(at: u32) {
             sixteen[at] = 1u; // out
             lanes[at] = 1u; // in
         }
         fn low(x: u32) -> u32 { if x > 3u { return 0u; } return x; }
         fn same(x: u32) -> u32 { return x; }
         fn pair(x: u32) -> vec2<u32> { return vec2(x & 3u, x); }
         fn many(x: u32) -> u32 {
             var k = 0u;
             loop { if k == 3u { return k; } k += 1u; if x == k { return 2u; } }
             return 9u;
         }",
        "fill(3u, 1u);
         fill(lane / 4u, lane + 1u);
         four[low(u)] = 1u; // in
         four[same(2u)] = 1u; // in
         four[pair(u).x] = 1u; // in
         four[pair(u).y] = 1u; // out
         four[many(u)] = 1u; // in",
    );
}

#[test]
fn one_call_is_enough_to_spoil_it() {
    check_with(
        "fn fill(at: u32) {
             sixteen[at] = 1u; // out
         }
         fn twice(x: u32) -> u32 { return x * 2u; }",
        "fill(3u);
         fill(15u);
         if u == 9u { fill(u + 7u); }
         sixteen[twice(lane / 8u)] = 1u; // in
         sixteen[twice(lane / 8u) + 1u] = 1u; // in
         sixteen[twice(lane / 8u) + 2u] = 1u; // out",
    );
}

#[test]
fn two_calls_give_two_results() {
    check_with(
        "fn next() -> u32 { data[1] += 1u; return data[1]; }",
        "let a = next();
         let b = next();
         if a < 16u {
             sixteen[a] = 1u; // in
             sixteen[b] = 1u; // out
         }
         if next() < 16u { sixteen[next()] = 1u; } // out",
    );
}

#[test]
fn builtins_in_a_struct_and_constants() {
    check_text(
        "struct Given { @builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32> }
         const TABLE = vec4(1u, 2u, 3u, 16u);
         const N: u32 = 16u;
         override SIZE: u32 = 32u;
         var<workgroup> lanes: array<u32, SIZE>;
         var<workgroup> sixteen: array<u32, N>;
         @compute @workgroup_size(SIZE) fn main(given: Given) {
             lanes[given.lane] = 1u; // in
             lanes[given.lane + 1u] = 1u; // out
             lanes[given.group.x] = 1u; // out
             var at = TABLE.z;
             sixteen[at] = 1u; // in
             at = TABLE.w;
             sixteen[at] = 1u; // out
             at = N - 1u;
             sixteen[at] = 1u; // in
             let entry = TABLE[given.lane & 3u]; // in
             lanes[entry] = 1u; // in
             sixteen[entry] = 1u; // out
         }",
        None,
    );
}
