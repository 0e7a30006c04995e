//! How values lie in buffers: offsets, strides, padding that stays, lengths, bounds.

use crate::rig::Rig;

const FREE: u32 = 0xabab_abab;

/// Run `body` over a buffer `x` of a type, full of one pattern, and compare its words.
fn check(declarations: &str, ty: &str, body: &str, words: usize, expected: &[(usize, u32)]) {
    let rig = Rig::new(&*format!(
        "enable f16; enable wgpu_int16;
         {declarations}
         @group(0) @binding(0) var<storage, read_write> x: {ty};
         @group(0) @binding(1) var<storage, read> n: u32;
         @compute @workgroup_size(1) fn main() {{ _ = n; {body} }}"
    ));
    let got = rig.buffer(&vec![FREE; words]).buffer(&[1]).run().words(0);
    let mut wanted = vec![FREE; words];
    expected.iter().for_each(|(index, word)| wanted[*index] = *word);
    assert_eq!(got, wanted, "{ty}: {body}");
}

#[test]
fn padding_stays_as_it_was() {
    let one = 1f32.to_bits();
    check("", "array<vec3<f32>, 2>", "x[n] = vec3(1.0);", 8, &[(4, one), (5, one), (6, one)]);
    check(
        "",
        "array<vec3<u32>, 2>",
        "x = array(vec3(1u), vec3(2u));",
        8,
        &[(0, 1), (1, 1), (2, 1), (4, 2), (5, 2), (6, 2)],
    );
    check(
        "struct S { a: vec3<u32>, b: u32 }",
        "S",
        "x = S(vec3(1u, 2u, 3u), 4u);",
        4,
        &[(0, 1), (1, 2), (2, 3), (3, 4)],
    );
    check(
        "struct S { a: u32, b: vec2<u32>, c: u32 }",
        "array<S, 2>",
        "x[1] = S(1u, vec2(2u, 3u), 4u);",
        12,
        &[(6, 1), (8, 2), (9, 3), (10, 4)],
    );
    let columns: Vec<(usize, u32)> = [0, 1, 2, 4, 5, 6].into_iter().map(|index| (index, one)).collect();
    check("", "mat2x3<f32>", "x = mat2x3(1, 1, 1, 1, 1, 1);", 8, &columns);
    check("", "mat2x3<f32>", "x[n] = vec3(1.0);", 8, &columns[3..]);
    check("", "mat2x3<f32>", "x[n][n + 1u] = 1.0;", 8, &[(6, one)]);
    check("", "vec4<u32>", "x[n + 1u] = 5u; x.w = x.z;", 4, &[(2, 5), (3, 5)]);
    check("struct S { @size(16) a: u32, @align(32) b: u32 }", "S", "x = S(1u, 2u);", 16, &[(0, 1), (8, 2)]);
}

#[test]
fn small_and_large_scalars() {
    check("", "array<f16, 4>", "x[n] = 1h; x[2] = 2h;", 2, &[(0, 0x3c00_abab), (1, 0xabab_4000)]);
    check("", "array<vec3<f16>, 2>", "x[1] = vec3(1h, 2h, 3h);", 4, &[(2, 0x4000_3c00), (3, 0xabab_4200)]);
    check("", "mat3x3<f16>", "x[2] = vec3(1h, 2h, 3h);", 6, &[(4, 0x4000_3c00), (5, 0xabab_4200)]);
    check("", "array<i16, 2>", "x[n] = i16(-i32(n));", 1, &[(0, 0xffff_abab)]);
    check("", "array<u64, 2>", "x[n] = 0x100000002lu;", 4, &[(2, 2), (3, 1)]);
    check("", "vec3<f64>", "x.y = f64(n);", 8, &[(2, 0), (3, 0x3ff0_0000)]);
    check(
        "struct S { a: f16, b: u32, c: vec2<f16>, d: i64 }",
        "S",
        "x = S(1h, 7u, vec2(2h, 3h), -1li);",
        6,
        &[(0, 0xabab_3c00), (1, 7), (2, 0x4200_4000), (4, u32::MAX), (5, u32::MAX)],
    );
}

#[test]
fn values_come_back_as_they_were_stored() {
    let rig = Rig::new(
        "struct In { a: u32, v: vec3<f32>, m: mat3x2<f32>, list: array<vec3<f32>, 2> }
         @group(0) @binding(0) var<storage, read> from_: array<In>;
         @group(0) @binding(1) var<storage, read_write> to: array<In>;
         @group(0) @binding(2) var<uniform> u: In;
         @compute @workgroup_size(1) fn main() {
             let whole = from_[1];
             to[0] = whole;
             var copy = u;
             copy.list[1] = whole.list[0];
             to[1] = copy;
         }",
    );
    // a at 0, v at 16, m at 32 (stride 8), list at 64: 96 bytes.
    let words: Vec<u32> = (0..48).collect();
    let rig = rig.buffer(&words).buffer(&[FREE; 48]).buffer(&(100..124).collect::<Vec<_>>());
    let padding = [1, 2, 3, 7, 14, 15, 19, 23];
    let mut expected: Vec<u32> = (24..48).chain(100..124).collect();
    expected[44..47].copy_from_slice(&[40, 41, 42]);
    for index in padding {
        expected[index] = FREE;
        expected[index + 24] = FREE;
    }
    assert_eq!(rig.run().words(1), expected);
}

#[test]
fn lengths_are_those_of_what_is_bound() {
    let source = "struct S { head: vec4<u32>, rest: array<vec2<u32>> }
        @group(0) @binding(0) var<storage, read_write> s: S;
        @group(0) @binding(1) var<storage, read> list: array<vec3<u32>>;
        @group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main() {
            out[0] = arrayLength(&s.rest);
            out[1] = arrayLength(&list);
            let p = &s.rest;
            out[2] = arrayLength(p) + arrayLength(&out);
            s.rest[1000].x = 9u;
            s.rest[5].y = 8u;
        }";
    let mut rig = Rig::new(source).buffer(&[0; 12]).buffer(&[0; 15]).buffer(&[0; 4]);
    // Half an element is none.
    rig.bytes[0] = Some(16 + 8 + 8 + 4);
    assert_eq!(rig.run().words(2)[..3], [2, 3, 6]);
    assert_eq!(rig.words(0), [0, 0, 0, 0, 0, 0, 9, 8, 0, 0, 0, 0]);
}

#[test]
fn indexes_are_brought_into_range() {
    let rig = Rig::new(
        "@group(0) @binding(0) var<storage, read_write> x: array<array<u32, 3>>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         var<workgroup> w: array<u32, 4>;
         var<private> p: array<u32, 4>;
         @compute @workgroup_size(1) fn main() {
             let far = out[0];
             let back = i32(out[1]);
             x[far][far] = 1u;
             x[back][0] += 2u;
             w[far] = 3u;
             p[back] = 4u;
             var f: array<u32, 4>;
             f[far + 7u] = 5u;
             let v = vec4(1u, 2u, 3u, 4u);
             out[0] = w[3] + p[3] * 10u + f[3] * 100u + v[far] * 1000u;
         }",
    );
    let rig = rig.buffer(&[0; 6]).buffer(&[1 << 30, u32::MAX]);
    assert_eq!(rig.run().words(1)[0], 4543);
    assert_eq!(rig.words(0), [0, 0, 0, 2, 0, 1]);
}
