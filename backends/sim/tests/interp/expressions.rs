//! Operators, conversions and constructors: one line of WGSL each, computed when the kernel runs and not before.

use crate::rig::{Rig, evaluate};

const MIN: u32 = 0x8000_0000;

#[test]
fn integers_wrap_and_division_is_defined() {
    evaluate(&[
        ("v(-1) + v(1)", "i32", &[0]),
        ("v(-2147483648) - v(1)", "i32", &[0x7fff_ffff]),
        ("v(65536) * v(65537)", "i32", &[0x1_0000]),
        ("-v(-2147483648)", "i32", &[MIN]),
        ("abs(v(-2147483648))", "i32", &[MIN]),
        ("v(7) / v(0)", "i32", &[7]),
        ("v(-2147483648) / v(-1)", "i32", &[MIN]),
        ("v(-7) / v(2)", "i32", &[-3i32 as u32]),
        ("v(7) % v(0)", "i32", &[0]),
        ("v(-2147483648) % v(-1)", "i32", &[0]),
        ("v(-7) % v(2)", "i32", &[-1i32 as u32]),
        ("u(7) / u(0)", "u32", &[7]),
        ("u(7) % u(0)", "u32", &[0]),
        ("u(0) - u(1)", "u32", &[u32::MAX]),
        ("v(1) << u(33)", "i32", &[2]),
        ("v(-8) >> u(1)", "i32", &[-4i32 as u32]),
        ("u(0x80000000) >> u(63)", "u32", &[1]),
        ("v(6) & v(3)", "i32", &[2]),
        ("v(6) | v(3)", "i32", &[7]),
        ("v(6) ^ v(3)", "i32", &[5]),
        ("~v(0)", "i32", &[u32::MAX]),
    ]);
}

#[test]
fn long_and_short_integers_keep_their_width() {
    evaluate(&[
        ("i64(v(-1)) * i64(v(3))", "i64", &[-3i32 as u32, u32::MAX]),
        ("u64(u(0xffffffff)) + u64(u(1))", "u64", &[0, 1]),
        ("(i64(v(1)) << u(63)) / i64(v(-1))", "i64", &[0, MIN]),
        ("u64(v(-1))", "u64", &[u32::MAX, u32::MAX]),
        ("i32(i64(v(5)) - i64(v(9)))", "i32", &[-4i32 as u32]),
        ("u32(u16(u(65535)) + u16(u(2)))", "u32", &[1]),
        ("i32(i16(v(-32768)) - i16(v(1)))", "i32", &[32767]),
        ("i32(i16(v(40000)))", "i32", &[-25536i32 as u32]),
        ("bitcast<u64>(f64(f(1.0)))", "u64", &[0, 0x3ff0_0000]),
        ("f32(f64(f(0.1)) * f64(f(10.0)))", "f32", &[1f32.to_bits()]),
    ]);
}

#[test]
fn comparisons_and_logic() {
    let t = 1;
    evaluate(&[
        ("u32(v(-1) < v(1))", "u32", &[t]),
        ("u32(u(0xffffffff) < u(1))", "u32", &[0]),
        ("u32(f(1.5) >= f(1.5))", "u32", &[t]),
        ("u32(f(-0.0) == f(0.0))", "u32", &[t]),
        ("u32(b(true) != b(false))", "u32", &[t]),
        ("u32(b(true) & b(false))", "u32", &[0]),
        ("u32(!b(false) | b(false))", "u32", &[t]),
        ("u32(b(true) && b(true) || b(false))", "u32", &[t]),
        ("vec2<u32>(vec2(v(1), v(5)) > vec2(v(2), v(4)))", "vec2<u32>", &[0, t]),
        ("u32(all(vec3(v(1), v(2), v(3)) != vec3(v(0))))", "u32", &[t]),
        ("u32(any(vec3(v(1), v(2), v(3)) == vec3(v(0))))", "u32", &[0]),
        ("select(v(1), v(2), b(true))", "i32", &[2]),
        ("select(vec2(v(1), v(2)), vec2(v(3), v(4)), b(false))", "vec2<i32>", &[1, 2]),
        ("select(vec2(v(1), v(2)), vec2(v(3), v(4)), vec2(b(true), b(false)))", "vec2<i32>", &[3, 2]),
    ]);
}

#[test]
fn conversions_saturate_and_round_to_nearest() {
    evaluate(&[
        ("i32(f(3e9))", "i32", &[2_147_483_520]),
        ("i32(f(-3e9))", "i32", &[MIN]),
        ("i32(f(-1.9))", "i32", &[-1i32 as u32]),
        ("u32(f(-1.0))", "u32", &[0]),
        ("u32(f(5e9))", "u32", &[4_294_967_040]),
        ("i32(f(0.0) / f(0.0))", "i32", &[MIN]),
        ("f32(v(16777217))", "f32", &[16_777_216f32.to_bits()]),
        ("f32(u(0xffffffff))", "f32", &[4_294_967_296f32.to_bits()]),
        ("u32(bool(f(-0.0)))", "u32", &[0]),
        ("u32(bool(f(0.5)))", "u32", &[1]),
        ("f32(b(true))", "f32", &[1f32.to_bits()]),
        ("bitcast<u32>(f(1.0))", "u32", &[0x3f80_0000]),
        ("bitcast<f32>(v(-1))", "u32bits", &[u32::MAX]),
        ("f32(f16(f(0.1)))", "f32", &[0.099_975_586f32.to_bits()]),
        ("f32(f16(f(1.0)) / f16(f(3.0)))", "f32", &[0.333_251_95f32.to_bits()]),
        ("f32(f16(f(60000.0)) + f16(f(60000.0)))", "f32", &[f32::INFINITY.to_bits()]),
        ("vec2<i32>(vec2(f(1.7), f(-1.7)))", "vec2<i32>", &[1, -1i32 as u32]),
    ]);
}

#[test]
fn floats_are_computed_as_written() {
    // Contracted to one rounding, the first would not be zero.
    let product = 1.000_000_1f32;
    let square = product * product;
    evaluate(&[
        (&format!("f({product}) * f({product}) - f({square})"), "f32", &[0]),
        ("f(1.0) / f(3.0)", "f32", &[(1f32 / 3.0).to_bits()]),
        ("f(5.5) % f(-2.0)", "f32", &[1.5f32.to_bits()]),
        ("f(-5.5) % f(2.0)", "f32", &[(-1.5f32).to_bits()]),
        ("f(1e30) * f(1e30)", "f32", &[f32::INFINITY.to_bits()]),
        ("f(1e-30) * f(1e-10)", "f32", &[(1e-30f32 * 1e-10).to_bits()]),
        ("-f(0.0)", "f32", &[MIN]),
    ]);
}

#[test]
fn vectors_and_matrices() {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    evaluate(&[
        ("vec3(v(1), v(2), v(3)).zxy", "vec3<i32>", &[3, 1, 2]),
        ("vec4(v(1), v(2), v(3), v(4)).yz", "vec2<i32>", &[2, 3]),
        ("vec2(v(1), v(2)) * v(10)", "vec2<i32>", &[10, 20]),
        ("v(10) - vec2(v(1), v(2))", "vec2<i32>", &[9, 8]),
        ("vec3(v(1), v(2), v(3))[u(1)]", "i32", &[2]),
        ("vec3(v(1), v(2), v(3))[u(9)]", "i32", &[3]),
        ("vec2(v(7))", "vec2<i32>", &[7, 7]),
        ("array(v(4), v(5), v(6))[u(2)]", "i32", &[6]),
        ("array(4, 5, 6)[v(-1)]", "i32", &[6]),
        ("mat2x2(f(1.0), f(2.0), f(3.0), f(4.0))[1]", "vec2<f32>", &bits(&[3.0, 4.0])),
        ("mat2x2(f(1.0), f(2.0), f(3.0), f(4.0)) * vec2(f(5.0), f(6.0))", "vec2<f32>", &bits(&[23.0, 34.0])),
        ("vec2(f(5.0), f(6.0)) * mat2x2(f(1.0), f(2.0), f(3.0), f(4.0))", "vec2<f32>", &bits(&[17.0, 39.0])),
        ("(mat2x3(1, 2, 3, 4, 5, 6) * f(2.0))[1]", "vec3<f32>", &bits(&[8.0, 10.0, 12.0])),
        ("(mat2x2(1, 2, 3, 4) - mat2x2(f(1.0), 1, 1, 1))[1]", "vec2<f32>", &bits(&[2.0, 3.0])),
        ("(mat2x3(f(1.0), 2, 3, 4, 5, 6) * mat3x2(f(1.0), 0, 0, 1, 1, 1))[2]", "vec3<f32>", &bits(&[5.0, 7.0, 9.0])),
        ("transpose(mat2x3(f(1.0), 2, 3, 4, 5, 6))[2]", "vec2<f32>", &bits(&[3.0, 6.0])),
    ]);
}

#[test]
fn constants_large_and_small() {
    let table = (0..100).map(|index| format!("{}u", index * index)).collect::<Vec<_>>().join(", ");
    let rig = Rig::new(&*format!(
        "struct S {{ a: vec3<f32>, b: array<u32, 2> }}
         const TABLE = array<u32, 100>({table});
         const S0 = S(vec3(1.0, 2.0, 3.0), array(4u, 5u));
         const NONE = array<u32, 5000>();
         @group(0) @binding(0) var<storage, read_write> out: array<u32>;
         var<private> p: array<u32, 100> = TABLE;
         @compute @workgroup_size(1) fn main() {{
             var i = 9u;
             out[0] = TABLE[i];
             var copy = TABLE;
             copy[i] += 1u;
             out[1] = copy[9] + copy[99];
             out[2] = u32(S0.a.y) + S0.b[i & 1u];
             var zeros = NONE;
             zeros[i] = 3u;
             out[3] = zeros[i] + NONE[i];
             out[4] = p[i * 2u] + TABLE[1000u * i];
         }}"
    ));
    assert_eq!(rig.buffer(&[9; 5]).run().words(0), [81, 82 + 9801, 7, 3, 324 + 9801]);
}
