//! Built-in functions. Those of floats are held to the conformance suite's intervals elsewhere; here are the exact ones, and that
//! each of the others is the function of its name.

use crate::rig::{Rig, evaluate};

#[test]
fn integers() {
    let ones = u32::MAX;
    evaluate(&[
        ("abs(v(-3))", "i32", &[3]),
        ("sign(v(-3))", "i32", &[ones]),
        ("min(v(-3), v(2))", "i32", &[-3i32 as u32]),
        ("max(u(3), u(2))", "u32", &[3]),
        ("clamp(v(9), v(1), v(4))", "i32", &[4]),
        ("countOneBits(u(0xf0f0))", "u32", &[8]),
        ("countLeadingZeros(u(1))", "u32", &[31]),
        ("countTrailingZeros(v(0))", "i32", &[32]),
        ("reverseBits(u(1))", "u32", &[0x8000_0000]),
        ("firstTrailingBit(u(40))", "u32", &[3]),
        ("firstTrailingBit(u(0))", "u32", &[ones]),
        ("firstLeadingBit(u(40))", "u32", &[5]),
        ("firstLeadingBit(v(-1))", "i32", &[ones]),
        ("firstLeadingBit(v(-5))", "i32", &[2]),
        ("extractBits(v(0xf0), u(4), u(4))", "i32", &[ones]),
        ("extractBits(u(0xf0), u(4), u(4))", "u32", &[15]),
        ("extractBits(u(0xf0), u(40), u(4))", "u32", &[0]),
        ("extractBits(v(-7), u(0), u(32))", "i32", &[-7i32 as u32]),
        ("insertBits(u(0xffff), u(0), u(4), u(8))", "u32", &[0xf00f]),
        ("insertBits(u(7), u(1), u(31), u(9))", "u32", &[0x8000_0007]),
        ("insertBits(u(7), u(1), u(3), u(0))", "u32", &[7]),
        ("countOneBits(vec2(u(3), u(7)))", "vec2<u32>", &[2, 3]),
        ("dot(vec3(v(1), v(2), v(3)), vec3(v(4), v(5), v(6)))", "i32", &[32]),
        ("dot4U8Packed(u(0x01020304), u(0x04030201))", "u32", &[20]),
        ("dot4I8Packed(u(0xff000000), u(0x02000000))", "i32", &[-2i32 as u32]),
        ("u32(countOneBits(u64(u(0xff)) << u(40)))", "u32", &[8]),
        ("i32(firstLeadingBit(i64(v(-1))))", "i32", &[ones]),
        ("u32(reverseBits(u64(u(1))) >> u(63))", "u32", &[1]),
    ]);
}

#[test]
fn packing() {
    evaluate(&[
        ("pack4x8snorm(vec4(f(1.0), f(-1.0), f(0.0), f(-2.0)))", "u32", &[0x8100_817f]),
        ("pack4x8unorm(vec4(f(1.0), f(0.5), f(0.0), f(2.0)))", "u32", &[0xff00_80ff]),
        ("pack2x16snorm(vec2(f(1.0), f(-1.0)))", "u32", &[0x8001_7fff]),
        ("pack2x16unorm(vec2(f(1.0), f(0.0)))", "u32", &[0xffff]),
        ("pack2x16float(vec2(f(1.0), f(-2.0)))", "u32", &[0xc000_3c00]),
        ("pack4xI8(vec4(v(-1), v(2), v(300), v(4)))", "u32", &[0x042c_02ff]),
        ("pack4xU8(vec4(u(255), u(2), u(300), u(4)))", "u32", &[0x042c_02ff]),
        ("pack4xI8Clamp(vec4(v(-1), v(2), v(300), v(-300)))", "u32", &[0x807f_02ff]),
        ("pack4xU8Clamp(vec4(u(255), u(2), u(300), u(4)))", "u32", &[0x04ff_02ff]),
        ("unpack4xI8(u(0x80ff017f))", "vec4<i32>", &[127, 1, u32::MAX, -128i32 as u32]),
        ("unpack4xU8(u(0x80ff017f))", "vec4<u32>", &[127, 1, 255, 128]),
        ("vec2<i32>(unpack2x16float(u(0xc0003c00)))", "vec2<i32>", &[1, -2i32 as u32]),
        ("vec2<i32>(unpack2x16snorm(u(0x80007fff)))", "vec2<i32>", &[1, u32::MAX]),
        ("vec2<i32>(unpack2x16unorm(u(0x0000ffff)))", "vec2<i32>", &[1, 0]),
        ("vec4<i32>(unpack4x8snorm(u(0x8000007f)))", "vec4<i32>", &[1, 0, 0, u32::MAX]),
        ("vec4<i32>(unpack4x8unorm(u(0x000000ff)))", "vec4<i32>", &[1, 0, 0, 0]),
    ]);
}

/// Expressions of floats and what they are to within a few units in the last place.
fn near(cases: &[(&str, f64)]) {
    for (expression, expected) in cases {
        for (ty, tolerance) in [("f32", 1e-6), ("f16", 2e-3), ("f64", 1e-7)] {
            let rig = Rig::new(&*format!(
                "enable f16;
                 @group(0) @binding(0) var<storage, read_write> out: f32;
                 var<private> hidden: {ty};
                 fn f(x: f32) -> {ty} {{ return hidden + {ty}(x); }}
                 @compute @workgroup_size(1) fn main() {{ out = f32({expression}); }}"
            ));
            let got = f64::from(rig.floats(&[7.0]).run().read_floats(0)[0]);
            let off = (got - expected).abs();
            assert!(off <= tolerance * expected.abs().max(1.0), "{expression} in {ty}: {got} instead of {expected}");
        }
    }
}

#[test]
fn floats_one_by_one() {
    near(&[
        ("abs(f(-1.5))", 1.5),
        ("sign(f(-1.5))", -1.0),
        ("min(f(1.0), f(2.0))", 1.0),
        ("max(f(1.0), f(2.0))", 2.0),
        ("clamp(f(3.0), f(0.0), f(2.0))", 2.0),
        ("saturate(f(-3.0))", 0.0),
        ("cos(f(1.0))", 1f64.cos()),
        ("cosh(f(1.0))", 1f64.cosh()),
        ("sin(f(1.0))", 1f64.sin()),
        ("sinh(f(1.0))", 1f64.sinh()),
        ("tan(f(1.0))", 1f64.tan()),
        ("tanh(f(1.0))", 1f64.tanh()),
        ("acos(f(0.5))", 0.5f64.acos()),
        ("asin(f(0.5))", 0.5f64.asin()),
        ("atan(f(0.5))", 0.5f64.atan()),
        ("atan2(f(1.0), f(-1.0))", 1f64.atan2(-1.0)),
        ("asinh(f(0.5))", 0.5f64.asinh()),
        ("acosh(f(1.5))", 1.5f64.acosh()),
        ("atanh(f(0.5))", 0.5f64.atanh()),
        ("radians(f(90.0))", std::f64::consts::FRAC_PI_2),
        ("degrees(f(1.0))", 180.0 / std::f64::consts::PI),
        ("ceil(f(1.2))", 2.0),
        ("floor(f(-1.2))", -2.0),
        ("round(f(2.5))", 2.0),
        ("trunc(f(-1.7))", -1.0),
        ("fract(f(-1.25))", 0.75),
        ("exp(f(1.0))", 1f64.exp()),
        ("exp2(f(1.5))", 1.5f64.exp2()),
        ("log(f(3.0))", 3f64.ln()),
        ("log2(f(3.0))", 3f64.log2()),
        ("pow(f(2.0), f(0.5))", 2f64.sqrt()),
        ("sqrt(f(2.0))", 2f64.sqrt()),
        ("inverseSqrt(f(4.0))", 0.5),
        ("fma(f(2.0), f(3.0), f(4.0))", 10.0),
        ("mix(f(1.0), f(3.0), f(0.25))", 1.5),
        ("step(f(1.0), f(1.0))", 1.0),
        ("smoothstep(f(0.0), f(2.0), f(0.5))", 0.15625),
        ("ldexp(f(1.5), 3)", 12.0),
        ("modf(f(-1.25)).fract", -0.25),
        ("modf(f(-1.25)).whole", -1.0),
        ("frexp(f(6.0)).fract", 0.75),
        ("frexp(f(6.0)).exp", 3.0),
    ]);
}

#[test]
fn floats_together() {
    let pair = "vec2(f(3.0), f(4.0))";
    near(&[
        (&format!("dot({pair}, {pair})"), 25.0),
        (&format!("length({pair})"), 5.0),
        ("length(f(-3.0))", 3.0),
        (&format!("distance({pair}, vec2(f(0.0)))"), 5.0),
        (&format!("normalize({pair}).x"), 0.6),
        ("cross(vec3(f(1.0), f(0.0), f(0.0)), vec3(f(0.0), f(1.0), f(0.0))).z", 1.0),
        ("faceForward(vec2(f(1.0)), vec2(f(1.0)), vec2(f(1.0))).x", -1.0),
        ("reflect(vec2(f(1.0), f(-1.0)), vec2(f(0.0), f(1.0))).y", 1.0),
        ("refract(vec2(f(0.0), f(-1.0)), vec2(f(0.0), f(1.0)), f(0.5)).y", -1.0),
        (&format!("mix({pair}, {pair} * f(2.0), f(0.5)).y"), 6.0),
        ("determinant(mat2x2(f(1.0), f(2.0), f(3.0), f(4.0)))", -2.0),
        ("determinant(mat3x3(f(2.0), f(0.0), f(1.0), f(1.0), f(3.0), f(2.0), f(1.0), f(1.0), f(4.0)))", 18.0),
        (&format!("sqrt({pair} * {pair}).y"), 4.0),
        (&format!("modf({pair} * f(0.5)).fract.x"), 0.5),
        (&format!("f(1.0) * (frexp({pair}).fract.x)"), 0.75),
    ]);
    evaluate(&[
        ("quantizeToF16(f(0.1))", "f32", &[0.099_975_586f32.to_bits()]),
        ("frexp(vec2(f(6.0), f(0.25))).exp", "vec2<i32>", &[3, u32::MAX]),
    ]);
}
