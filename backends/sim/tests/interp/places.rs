//! Values written over what they were made from, pointers into places within places, and a workgroup that sorts: shapes of
//! code in which an instruction could read what it has just written.

use crate::rig::Rig;

/// What `out` holds after `body`, in which `six` is 6 and `two` is 2, neither known to the compiler.
fn out(declarations: &str, body: &str, words: usize) -> Vec<u32> {
    let rig = Rig::new(&*format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @group(0) @binding(1) var<storage, read> given: array<u32, 2>;
         {declarations}
         @compute @workgroup_size(1) fn main() {{ let six = given[0]; let two = given[1]; {body} }}"
    ));
    rig.buffer(&vec![77; words]).buffer(&[6, 2]).run().words(0)
}

#[test]
fn a_part_is_made_of_the_whole_that_it_is_in() {
    let body = "var m = mat2x2(f32(six), 2.0, 3.0, 4.0); m[1] = m * vec2(f32(six), 1.0);
        for (var k = 0u; k < 4u; k++) { out[k] = u32(m[k / 2u][k % 2u]); }";
    assert_eq!(out("", body, 4), [6, 2, 39, 16]);
    let body = "var m = mat2x2(f32(six), 2.0, 3.0, 4.0); m[0] = vec2(1.0, f32(two)) * m; m = m * m;
        for (var k = 0u; k < 4u; k++) { out[k] = u32(m[k / 2u][k % 2u]); }";
    // The first column becomes (10, 11), then the square.
    assert_eq!(out("", body, 4), [133, 154, 42, 49]);
    let body = "var a: array<vec4<u32>, 4>;
        for (var i = 0u; i < 4u; i++) { a[i] = vec4(i, i + 1u, i + 2u, i + 3u) * six; }
        a[1] = select(a[1], a[2], six > 1u);
        a[2] = select(a[1].wzyx, a[2].yxwz, vec4(true, six > 9u, six < 9u, false));
        a[3] = vec4(a[3].yz, a[3].xw); a[0] = vec4(a[0].w, a[1].xyz);
        for (var i = 0u; i < 16u; i++) { out[i] = a[i / 4u][i % 4u]; }";
    assert_eq!(out("", body, 16), [18, 12, 18, 24, 12, 18, 24, 30, 18, 24, 30, 12, 24, 30, 18, 36]);
    let body = "var t = transpose(mat2x3(f32(six), 1.0, 2.0, 3.0, 4.0, 5.0)); t[1] = t[2]; t[0] = t[1].yx;
        for (var i = 0u; i < 6u; i++) { out[i] = u32(t[i / 2u][i % 2u]); }";
    assert_eq!(out("", body, 6), [5, 2, 2, 5, 2, 5]);
    let body = "var r = frexp(vec2(f32(six), 0.125)); r = frexp(r.fract * 8.0);
        out[0] = u32(r.fract.x * 100.0); out[1] = u32(r.exp.y);";
    assert_eq!(out("", body, 2), [75, 3]);
}

#[test]
fn pointers_into_places_within_places() {
    let declarations = "
        struct In { a: vec3<f32>, b: u32, m: mat2x3<f32>, c: array<vec3<u32>, 3> }
        struct S { x: u32, in: array<In, 2>, y: vec2<i32> }
        var<private> ps: S;
        fn bump(p: ptr<function, u32>) -> u32 { *p += 3u; return *p; }
        fn both(p: ptr<function, vec3<u32>>, k: u32) { (*p)[k] = k + 100u; let q = p; (*q).y += 1u; }
        fn inner(p: ptr<private, In>, k: u32) {
            (*p).m[k][k + 1u] = f32(k) + 0.5; (*p).c[k].z = k;
            let r = &(*p).c[k + 1u]; *r = (*r).zxy + k + 1u;
        }
        fn deep(p: ptr<function, S>, i: u32, j: u32) -> u32 {
            let e = &(*p).in[i]; (*e).c[j] = vec3(i, j, 7u); return (*e).c[j].z + (*p).in[1u - i].b;
        }";
    let body = "
        var a = array(1u, 2u, 3u, 4u); out[0] = bump(&a[two]); out[1] = bump(&a[two]) + bump(&a[two - 1u]) + a[2];
        var v: array<vec3<u32>, 3>; both(&v[two], two - 1u); out[2] = v[2].y;
        inner(&ps.in[two - 1u], two - 2u); inner(&ps.in[0], 1u);
        out[3] = u32(ps.in[1].m[0][1] * 10.0); out[4] = ps.in[0].c[1].z; out[5] = ps.in[0].c[2].y; out[6] = ps.in[1].c[1].x;
        var s = ps; s.in[0].b = 40u; s.in[1].b = 50u;
        out[7] = deep(&s, two - 1u, two); out[8] = deep(&s, 0u, two - 1u); out[9] = s.in[1].c[2].y;
        let copy = s; s.in[0] = s.in[1]; s.in[1] = copy.in[0]; out[10] = s.in[0].b * 100u + s.in[1].b; out[11] = copy.in[1].b;
        let p = &s.in[two - 1u].c; let q = &(*p)[two]; (*q).y = 77u; out[12] = (*p)[two + 9u].y; out[13] = (*q)[two];
        var at = 0u; let kept = &a[at]; at = 3u; *kept = 99u; out[14] = a[0]; out[15] = a[3];
        let old = a; a[two] = 1000u; out[16] = old[two]; out[17] = old[two + 7u];";
    let expected = [6, 23, 102, 5, 1, 2, 1, 47, 57, 2, 5040, 50, 77, 2, 99, 4, 9, 4];
    assert_eq!(out(declarations, body, 18), expected);
}

#[test]
fn a_full_workgroup_sorts() {
    let rig = Rig::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         override ROWS: u32 = 4u;
         var<workgroup> a: array<array<u32, 256>, ROWS>;
         @compute @workgroup_size(256, ROWS) fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
             a[i / 256u][i % 256u] = (i * 7919u) % 1024u ^ g.x;
             workgroupBarrier();
             for (var k = 2u; k <= 1024u; k *= 2u) {
                 for (var j = k / 2u; j > 0u; j /= 2u) {
                     let p = i ^ j; let x = a[i / 256u][i % 256u]; let y = a[p / 256u][p % 256u];
                     workgroupBarrier();
                     a[i / 256u][i % 256u] = select(max(x, y), min(x, y), (p > i) == ((i & k) == 0u));
                     workgroupBarrier();
                 }
             }
             out[g.x * 1024u + i] = a[i / 256u][i % 256u];
         }",
    );
    let sorted: Vec<u32> = (0..1024).chain(0..1024).collect();
    assert_eq!(rig.buffer(&vec![0; 2048]).groups(2, 1, 1).threads(2).sanitized().clean().words(0), sorted);
}
