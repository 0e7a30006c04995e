//! Variables: what is stored in them, by whatever way, and what is forgotten.

use super::{check, check_with};

#[test]
fn branches_meet() {
    check(
        "var x = 0u;
         if u > v { x = 3u; } else { x = 1u; }
         four[x] = 1u; // in
         if u > v { x = 4u; }
         four[x] = 1u; // out
         sixteen[x] = 1u; // in
         var y: u32;
         four[y] = 1u; // in
         if u > v { y = x + 11u; }
         sixteen[y] = 1u; // in
         if u > v { y = x + 12u; }
         sixteen[y] = 1u; // out",
    );
}

#[test]
fn parts_of_variables() {
    check_with(
        "struct Pair { low: u32, both: vec2<u32>, rest: array<u32, 3> }",
        "var p = vec3(1u, 2u, 3u);
         four[p.z] = 1u; // in
         p.y = u;
         four[p.x] = 1u; // in
         four[p.y] = 1u; // out
         p.y = 3u;
         four[p.y] = 1u; // in
         p[u & 1u] = 4u; // in
         sixteen[p.x] = 1u; // out
         sixteen[p[v]] = 1u; // out
         var pair: Pair;
         four[pair.low] = 1u; // in
         pair.both.y = 5u;
         four[pair.both.y] = 1u; // out
         four[pair.both.x] = 1u; // in
         pair.low = 3u;
         pair.rest[u % 3u] = 1000u; // in
         four[pair.low] = 1u; // in
         four[pair.rest[0]] = 1u; // out
         let copy = pair;
         pair.low = 9u;
         four[copy.low] = 1u; // in
         four[pair.low] = 1u; // out
         pair = Pair(2u, vec2(u, 1u), array(1u, 2u, 3u));
         four[pair.low] = 1u; // in
         four[pair.both.x] = 1u; // out
         four[pair.both.y] = 1u; // in
         let p_low = &pair.low;
         *p_low = 4u;
         four[pair.low] = 1u; // out",
    );
}

#[test]
fn pointers_to_functions() {
    check_with(
        "fn grow(p: ptr<function, u32>) { *p = *p + 4u; }
         fn look(p: ptr<function, u32>) -> u32 { return *p; }
         fn grow_pair(p: ptr<function, vec2<u32>>) { (*p).x = 7u; }",
        "var x = 3u;
         four[x] = 1u; // in
         grow(&x);
         four[x] = 1u; // out
         x = 2u;
         var y = 1u;
         grow(&y);
         four[x] = 1u; // in
         var p = vec2(1u, 1u);
         grow_pair(&p);
         four[p.x] = 1u; // out
         four[look(&x)] = 1u; // out
         x = 1u;
         for (var k = 0u; k < 3u; k += 1u) {
             four[x] = 1u; // out
             grow(&x);
         }
         if u == 0u { grow(&x); }
         four[x] = 1u; // out",
    );
}

#[test]
fn what_others_may_write_is_anything() {
    check_with(
        "var<private> own: u32 = 1u;
         fn change() { own = 100u; }",
        "own = 1u;
         four[own] = 1u; // out
         change();
         four[own] = 1u; // out
         four[0] = 1u;
         sixteen[four[0]] = 1u; // out
         data[0] = 1u;
         sixteen[data[0]] = 1u; // out
         sixteen[atomicAdd(&count, 0u)] = 1u; // out
         let together = workgroupUniformLoad(&shared_);
         sixteen[together] = 1u; // out
         sixteen[subgroupAdd(0u)] = 1u; // out
         }
         var<workgroup> count: atomic<u32>;
         var<workgroup> shared_: u32;
         fn unused(u: u32, v: u32, i: i32) {",
    );
}
