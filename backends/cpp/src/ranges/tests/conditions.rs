//! Branches: what a condition says of what follows it, and of nothing else.

use super::check;

#[test]
fn both_branches() {
    check(
        "if u < 16u {
             sixteen[u] = 1u; // in
         } else {
             sixteen[u] = 1u; // out
             sixteen[u - 16u] = 1u; // out
         }
         sixteen[u] = 1u; // out
         if u >= 16u { sixteen[u] = 1u; } // out
         else {
             sixteen[u] = 1u; // in
         }
         if u <= 16u { sixteen[u] = 1u; } // out
         if 16u > u { sixteen[u] = 1u; } // in
         if u == 15u { sixteen[u] = 1u; } // in
         if u == 16u { sixteen[u] = 1u; } // out
         if u != 5u { sixteen[u] = 1u; } // out
         if !(u >= 16u) { sixteen[u] = 1u; } // in
         if i < 16 { sixteen[i] = 1u; } // out
         if i > 0 { if i < 16 { sixteen[i] = 1u; } } // in
         if lane != 63u { lanes[lane + 1u] = 1u; } // in
         if lane != 62u { lanes[lane + 1u] = 1u; } // out
         if u32(i) < 16u { sixteen[i] = 1u; } // in
         if u32(i) < 17u { sixteen[i] = 1u; } // out
         let j = u32(i);
         if j < 16u { sixteen[i] = 1u; } // in",
    );
}

#[test]
fn and_and_or() {
    check(
        "if i >= 0 && i < 16 { sixteen[i] = 1u; } // in
         if i >= 0 || i < 16 { sixteen[i] = 1u; } // out
         if u < 16u && v < 4u {
             sixteen[u] = 1u; // in
             four[v] = 1u; // in
             four[u] = 1u; // out
         }
         if u < 16u && v < 4u && i == 3 { four[i] = 1u; } // in
         if u >= 16u || v >= 4u {
             sixteen[u] = 1u; // out
         } else {
             sixteen[u] = 1u; // in
             four[v] = 1u; // in
         }
         if !(u < 16u && v < 4u) { sixteen[u] = 1u; } // out
         if u < 16u && four[u & 3u] == sixteen[u] { data[0] = 1u; } // in
         if u < 16u || sixteen[u] == 0u { data[0] = 1u; } // out
         if u >= 16u || sixteen[u] == 0u { data[0] = 1u; } // in
         if (u < 16u) & (v < 4u) { four[v] = 1u; } // in
         if (u < 16u) | (v < 4u) { four[v] = 1u; } // out
         if !((u >= 16u) | (v >= 4u)) { four[v] = 1u; } // in
         if all(vec2(u, v) < vec2(16u, 4u)) { four[v] = 1u; } // in
         if any(vec2(u, v) < vec2(16u, 4u)) { four[v] = 1u; } // out
         if all(vec2(u, v) < vec2(4u)) { four[u] = 1u; } // in
         let small = u < 16u;
         if small { sixteen[u] = 1u; } // in
         if small == true { sixteen[u] = 1u; } // in
         if small != true { sixteen[u] = 1u; } // out
         var flag = false;
         if u < 16u { flag = true; }
         if flag { sixteen[u] = 1u; } // in
         var loose = false;
         if u < 16u { loose = true; }
         if v == 3u { loose = true; }
         if loose { sixteen[u] = 1u; } // out",
    );
}

#[test]
fn leaving_early() {
    check(
        "if v == 77u {
             if u >= 16u { return; }
             sixteen[u] = 1u; // in
         }
         sixteen[u] = 1u; // out
         if v == 78u {
             if u > 16u { return; }
             sixteen[u] = 1u; // out
         }
         if v == 79u {
             if u < 16u { data[1] = 1u; } else { return; }
             sixteen[u] = 1u; // in
         }
         if i < 0 || i > 15 { return; }
         sixteen[i] = 1u; // in
         four[i] = 1u; // out",
    );
}

#[test]
fn switches() {
    check(
        "switch u {
             case 3u: { four[u] = 1u; } // in
             case 4u: { four[u] = 1u; } // out
             case 0u, 2u: { four[u] = 1u; } // in
             case 1u, 5u: { four[u] = 1u; } // out
             default: { four[u] = 1u; } // out
         }
         var x = 0u;
         switch v {
             case 1u: { x = 3u; }
             case 2u: { if u == 0u { x = 1u; break; } x = 2u; }
             default: { }
         }
         four[x] = 1u; // in
         switch v {
             case 1u: { x = 3u; }
             case 2u: { if u == 0u { x = 4u; break; } x = 2u; }
             default: { }
         }
         four[x] = 1u; // out
         sixteen[x] = 1u; // in
         switch i {
             case -1: { four[i] = 1u; } // out
             case 2: { four[i] = 1u; return; } // in
             default: { if i > 3 || i < 0 { return; } }
         }
         four[u] = 1u; // out",
    );
}

#[test]
fn conditions_of_what_changed_since() {
    check(
        "var x = u;
         if x < 16u {
             x += 1u;
             sixteen[x] = 1u; // out
             sixteen[x - 1u] = 1u; // in
             x = 15u;
             sixteen[x] = 1u; // in
         }
         x = u;
         let small = x < 16u;
         x = v;
         if small {
             sixteen[x] = 1u; // out
             sixteen[u] = 1u; // in
         }
         x = u;
         if x > 15u { x = 15u; }
         sixteen[x] = 1u; // in
         x = u;
         if x > 16u { x = 15u; }
         sixteen[x] = 1u; // out
         // Each load of memory may see another value.
         if data[1] < 16u { sixteen[data[1]] = 1u; } // out",
    );
}
