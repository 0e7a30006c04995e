//! Two values compared with each other: sums of lanes, differences, and the lengths of runtime-sized arrays.

use super::check;

#[test]
fn reductions_and_scans() {
    check(
        "for (var s = 32u; s > 0u; s >>= 1u) {
             if lane < s {
                 lanes[lane] += lanes[lane + s]; // in
                 lanes[lane + s + 1u] = 1u; // out
             }
             lanes[lane + s] = 1u; // out
         }
         for (var s = 33u; s > 0u; s >>= 1u) {
             if lane <= s { lanes[lane + s] += 1u; } // out
         }
         for (var back = 1u; back < 64u; back *= 2u) {
             if lane >= back { lanes[lane - back] = 1u; } // in
             if lane + 1u >= back { lanes[lane - back] = 1u; } // out
             lanes[lane - back] = 1u; // out
         }
         if u <= lane { lanes[lane - u] = 1u; } // in
         if u > lane { lanes[lane - u] = 1u; } // out
         if u > lane { lanes[u - lane] = 1u; } // out
         if lane > 0u { lanes[lane - 1u] = 1u; } // in",
    );
}

#[test]
fn chains() {
    check(
        "if u < v { if v < 16u { sixteen[u] = 1u; } } // in
         if v < 16u { if u < v { sixteen[u] = 1u; } } // in
         if u < v { if v <= 16u { sixteen[u] = 1u; } } // in
         if u <= v { if v <= 16u { sixteen[u] = 1u; } } // out
         if u == v { if v < 16u { sixteen[u] = 1u; } } // in
         if u < params.n && params.n <= 16u { sixteen[u] = 1u; } // in
         if u < params.n && params.m <= 16u { sixteen[u] = 1u; } // out
         let w = u + 1u;
         if u < 15u { sixteen[w] = 1u; } // in
         if u < 16u { sixteen[w] = 1u; } // out",
    );
}

#[test]
fn lengths() {
    check(
        "let n = arrayLength(&data);
         if u < n { data[u] = 1u; } // in
         if u <= n { data[u] = 1u; } // out
         if u < n { other[u] = 1u; } // out
         if u < arrayLength(&other) { other[u] = 1u; } // in
         if u < min(n, arrayLength(&other)) {
             other[u] = 1u; // in
             data[u] = 1u; // in
         }
         if u < max(n, arrayLength(&other)) { data[u] = 1u; } // out
         if u + v < n {
             data[u + v] = 1u; // in
             data[v + u] = 1u; // in
             // The sum may have wrapped.
             data[u] = 1u; // out
         }
         data[u % n] = 1u; // in
         data[u % (n + 1u)] = 1u; // out
         data[min(u, n - 1u)] = 1u; // in
         data[min(u, n)] = 1u; // out
         data[clamp(u, 0u, n - 1u)] = 1u; // in
         data[n - 1u] = 1u; // in
         data[n] = 1u; // out
         data[n - 2u] = 1u; // out
         if i < i32(n) { data[i] = 1u; } // out
         if i >= 0 && u32(i) < n { data[u32(i)] = 1u; } // in
         data[select(0u, u, u < n)] = 1u; // in
         data[select(1u, u, u < n)] = 1u; // out
         for (var k = id.x; k < n; k += 64u) {
             data[k] = 1u; // in
             other[k] = 1u; // out
             data[k + 1u] = 1u; // out
         }
         for (var k = id.x; k < n; k += 64u) {
             let before = k;
             k += 1u;
             data[k] = 1u; // out
             data[before] = 1u; // in
         }
         let count = min(params.n, n);
         for (var k = 0u; k < count; k += 1u) { data[k] = 1u; } // in
         if params.n <= n { for (var k = 0u; k < params.n; k += 1u) { data[k] = 1u; } } // in
         for (var k = 0u; k < params.n; k += 1u) { data[k] = 1u; } // out
         if u >= n { return; }
         data[u] = 1u; // in
         data[u / 2u] = 1u; // in
         data[u >> 1u] = 1u; // in
         data[u & 12u] = 1u; // in
         data[u | 1u] = 1u; // out
         if u > 0u { data[u - 1u] = 1u; } // in
         data[u - 1u] = 1u; // out",
    );
}

#[test]
fn lengths_of_members() {
    super::check_text(
        "struct All { count: u32, items: array<vec2<u32>> }
         @group(0) @binding(0) var<storage, read_write> all: All;
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
             if id.x < arrayLength(&all.items) {
                 all.items[id.x] = vec2(1u); // in
                 all.items[id.x].y = 1u; // in
             }
             if id.x < all.count { all.items[id.x] = vec2(1u); } // out
             let items = &all.items;
             if id.x >= arrayLength(items) { return; }
             (*items)[id.x].x = 3u; // in
         }",
        None,
    );
}

#[test]
fn rows_of_a_matrix() {
    check(
        "let n = arrayLength(&data);
         let columns = max(params.n, 1u);
         let rows = n / columns;
         for (var row = group.x; row < rows; row += groups.x) {
             let start = row * columns;
             for (var k = lane; k < columns; k += 64u) {
                 data[start + k] = 1u; // in
                 data[k + columns * row] = 1u; // in
                 data[start + k + 1u] = 1u; // out
                 other[start + k] = 1u; // out
             }
             for (var k = lane; k <= columns; k += 64u) { data[start + k] = 1u; } // out
             for (var k = lane; k < params.m; k += 64u) { data[start + k] = 1u; } // out
         }
         for (var row = group.x; row <= rows; row += groups.x) {
             for (var k = lane; k < columns; k += 64u) { data[row * columns + k] = 1u; } // out
         }
         let fewer = min(rows, arrayLength(&other));
         if u < fewer && v < columns { data[u * columns + v] = 1u; } // in
         if u < fewer && v < columns { data[v * columns + u] = 1u; } // out
         if u < n / params.m && v < columns { data[u * columns + v] = 1u; } // out
         if n < 1000u {
             let beyond = (n + 1u) / columns;
             if u < beyond && v < columns { data[u * columns + v] = 1u; } // out
         }
         let lines = n / params.m;
         if u < lines && v < params.m { data[u * params.m + v] = 1u; } // in",
    );
}

#[test]
fn a_window() {
    check(
        "if u >= v && u < v + 16u {
             sixteen[u - v] = 1u; // in
             four[u - v] = 1u; // out
         }
         if u >= v && u < v + 17u { sixteen[u - v] = 1u; } // out
         if u >= v && u <= v + 15u { sixteen[u - v] = 1u; } // in
         if u >= v && u <= v + 16u { sixteen[u - v] = 1u; } // out
         if u < v + 16u { sixteen[u - v] = 1u; } // out
         let j = bitcast<i32>(v);
         if i >= j && i < j + 16 { sixteen[i - j] = 1u; } // in
         if i > j && i < j + 17 { sixteen[i - j - 1] = 1u; } // out
         if i >= j && i < j + (i & -16) { sixteen[i - j] = 1u; } // out",
    );
}
