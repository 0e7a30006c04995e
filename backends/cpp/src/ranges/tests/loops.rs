//! Loops: counters up and down, by steps and by halves, and what breaks the rule.

use super::{check, check_bounded};

#[test]
fn counters_with_constant_bounds() {
    check(
        "for (var k = 0u; k < 16u; k += 1u) { sixteen[k] = 1u; } // in
         for (var k = 0u; k <= 16u; k += 1u) { sixteen[k] = 1u; } // out
         for (var k = 0u; k <= 15u; k++) { sixteen[k] = 1u; } // in
         for (var k = 0u; k != 16u; k += 1u) { sixteen[k] = 1u; } // in
         for (var k = 0; k < 16; k++) { sixteen[k] = 1u; } // in
         for (var k = -1; k < 16; k++) { sixteen[k] = 1u; } // out
         for (var k = 1u; k < 16u; k += 1u) { sixteen[k - 1u] = 1u; } // in
         for (var k = 0u; k < 16u; k += 1u) { sixteen[k - 1u] = 1u; } // out
         for (var k = 0u; k < 16u; k += 1u) { sixteen[k + 1u] = 1u; } // out
         for (var k = lane; k < 64u; k += 64u) { lanes[k] = 1u; } // in
         for (var k = lane; k < 65u; k += 64u) { lanes[k] = 1u; } // out
         for (var k = 15; k >= 0; k--) { sixteen[k] = 1u; } // in
         for (var k = 16; k >= 0; k--) { sixteen[k] = 1u; } // out
         for (var k = 15; k >= -1; k--) { sixteen[k] = 1u; } // out
         for (var k = 16u; k > 0u; k -= 1u) { sixteen[k - 1u] = 1u; } // in
         for (var k = 16u; k > 0u; k -= 1u) { sixteen[k] = 1u; } // out
         for (var k = 128u; k > 0u; k >>= 1u) { lanes[k / 4u] = 1u; } // in
         for (var k = 1u; k < 16u; k <<= 1u) { sixteen[k] = 1u; } // in
         for (var k = 1u; k < 16u; k *= 2u) { lanes[k * 4u] = 1u; } // in
         for (var k = 0u; k < u; k += 1u) { sixteen[k] = 1u; } // out
         for (var k = 0u; k < min(u, 16u); k += 1u) { sixteen[k] = 1u; } // in",
    );
}

#[test]
fn wrapping_counters() {
    check(
        // From 0 it goes on to the greatest number, which is not below 0.
        "for (var k = 15u; k >= 0u; k -= 1u) { sixteen[k] = 1u; } // out
         for (var k = 15u; k < 16u; k -= 1u) { sixteen[k] = 1u; } // in
         var k = 0u;
         loop {
             if k == 4000000000u { break; }
             sixteen[k & 15u] = 1u; // in
             sixteen[k] = 1u; // out
             k += 3u;
         }
         for (var s = 2147483647; s > 0; s += 1) { sixteen[s & 15] = 1u; } // in
         for (var s = 0; s < 2147483647; s += 2) { sixteen[s / 134217728] = 1u; } // out
         for (var s = 0; s < 2147483646; s += 1) { sixteen[s / 134217728] = 1u; } // in",
    );
}

#[test]
fn other_forms() {
    check(
        "var k = 0u;
         while k < 16u {
             sixteen[k] = 1u; // in
             k += 1u;
         }
         sixteen[k] = 1u; // out
         lanes[k] = 1u; // in
         k = 0u;
         loop {
             if k >= 16u { break; }
             sixteen[k] = 1u; // in
             continuing { k += 1u; }
         }
         k = 0u;
         loop {
             sixteen[k] = 1u; // in
             continuing { k += 1u; break if k == 16u; }
         }
         k = 0u;
         loop {
             sixteen[k] = 1u; // out
             k += 1u;
             if k > 16u { break; }
         }
         k = 0u;
         loop {
             sixteen[k] = 1u; // in
             k += 1u;
             if k > 15u { break; }
         }
         k = u;
         loop {
             if k < 16u { break; }
             k /= 2u;
         }
         sixteen[k] = 1u; // in
         k = 0u;
         loop {
             sixteen[k] = 1u; // out
             k += 1u;
             if v == 3u { break; }
         }",
    );
}

#[test]
fn a_counter_changed_within() {
    check(
        "for (var k = 0u; k < 16u; k += 1u) {
             sixteen[k] = 1u; // in
             if u == k { k += 1u; }
             sixteen[k] = 1u; // out
         }
         for (var k = 0u; k < 16u; k += 1u) {
             let before = k;
             k = u;
             sixteen[before] = 1u; // in
             sixteen[k] = 1u; // out
         }
         for (var k = 0u; k < 16u; k += 1u) {
             if data[k] == 3u { continue; }
             sixteen[k] = 1u; // in
         }
         var j = 0u;
         var count = 0u;
         while j < 16u {
             if data[j] == 3u { count += 1u; if count > 5u { j = u; } continue; }
             sixteen[j] = 1u; // in
             j += 1u;
         }
         var limit = 16u;
         for (var k = 0u; k < limit; k += 1u) {
             sixteen[k] = 1u; // out
             if u == k { limit += 1u; }
         }
         var skipped = 0u;
         for (var k = 0u; k < 16u; k += 1u) {
             four[skipped] = 1u; // out
             skipped = 4u;
             if u == k { continue; }
             skipped = 1u;
         }
         var left = 1u;
         for (var k = 0u; k < 16u; k += 1u) {
             left = 4u;
             if u == k { break; }
             left = 1u;
         }
         four[left] = 1u; // out
         sixteen[left] = 1u; // in
         var last = 0u;
         for (var k = 0u; k < 32u; k += 1u) {
             if k < 16u { last = k; }
             sixteen[last] = 1u; // in
             sixteen[k] = 1u; // out
         }
         var previous = 15u;
         var greater = 16u;
         for (var k = 0u; k < 16u; k += 1u) {
             sixteen[previous] = 1u; // in
             previous = k;
             greater = k + 1u;
         }
         sixteen[previous] = 1u; // in
         sixteen[greater] = 1u; // out",
    );
}

#[test]
fn facts_of_an_earlier_round() {
    check(
        "var x = u;
         var small = false;
         for (var k = 0u; k < 4u; k += 1u) {
             if small { sixteen[x] = 1u; } // out
             small = x < 16u;
             if small { sixteen[x] = 1u; } // in
             x = data[k];
         }
         var y = u;
         var z = 0u;
         for (var k = 0u; k < 4u; k += 1u) {
             for (var j = 0u; j < 16u; j += 1u) {
                 if y == j { z = y; }
                 sixteen[z] = 1u; // in
                 y = data[j];
                 sixteen[y] = 1u; // out
             }
             if y < 16u { z = y; }
             sixteen[z] = 1u; // in
         }",
    );
}

#[test]
fn nests() {
    check(
        "for (var a = 0u; a < 4u; a += 1u) {
             for (var b = 0u; b < 4u; b += 1u) {
                 sixteen[a * 4u + b] = 1u; // in
                 sixteen[a * 4u + b + 1u] = 1u; // out
                 for (var c = a; c < 16u; c += 4u) { sixteen[c] = 1u; } // in
             }
             for (var b = 0u; b <= a; b += 1u) { four[b] = 1u; } // in
             for (var b = a + 1u; b < 4u; b += 1u) { four[b] = 1u; } // in
             for (var b = a; b < 5u; b += 1u) { four[b] = 1u; } // out
         }
         var x = 0u;
         for (var a = 0u; a < 4u; a += 1u) {
             four[x] = 1u; // out
             for (var b = 0u; b < 4u; b += 1u) { x += 1u; }
         }
         var sum = 0u;
         for (var a = 0u; a < 4u; a += 1u) { sum += 1u; }
         four[sum] = 1u; // out
         for (var first = 0u; first < params.n; first += 8u) {
             tile[local.y][local.x] = data[first];
             for (var k = 0u; k < 8u; k += 1u) {
                 sum += tile[local.y][k] * tile[k][local.x]; // in
             }
         }",
    );
}

const AFTER: &str = "var k = 0u;
while k < 16u {
    sixteen[k] = 1u; // in
    k += 1u;
}
sixteen[16u - k] = 1u; // ENDED
lanes[k] = 1u; // in
sixteen[k - 16u] = 1u; // ENDED
var j = u;
loop {
    if j < 16u { break; }
    j /= 2u;
}
sixteen[j] = 1u; // ENDED
loop {
    if v < 3u { continue; }
    lanes[u] = 1u; // out
}
four[u] = 1u; // AFTER";

#[test]
fn a_bounded_loop_is_left_at_any_round() {
    check(&AFTER.replace("ENDED", "in").replace("four[u] = 1u; // AFTER", "sixteen[0] = 1u;"));
    check_bounded(&AFTER.replace("ENDED", "out").replace("AFTER", "out"));
    check_bounded(
        "for (var k = 0u; k < 16u; k += 1u) { sixteen[k] = 1u; } // in
         var b = u;
         loop { b = 5u; continuing { break if true; } }
         sixteen[b] = 1u; // out
         var c = u;
         loop { for (var k = 0u; k < 3u; k++) { c = 5u; } if v > 3u { break; } }
         sixteen[c] = 1u; // out
         var d = 0u;
         loop { d = 5u; if v > 3u { break; } }
         sixteen[d] = 1u; // in
         four[d] = 1u; // out",
    );
}
