//! Packing of small numbers into a `u32`, and back; products of packed bytes.

use half::f16;
use naga::MathFunction;

use crate::interp::inst::Run;

/// Join `N` fields, the first lowest.
macro_rules! pack {
    ($n:literal x $width:literal, |$a:ident: $ty:ty| $value:expr) => {
        |lane, inst, pc| {
            let mut word = 0u32;
            for k in 0..$n {
                let $a: $ty = lane.get(inst.a + k);
                let field: u32 = $value;
                word |= (field & (u32::MAX >> (32 - $width))) << (k * $width);
            }
            lane.set(inst.dst, word);
            pc + 1
        }
    };
}

/// Take `N` fields apart. A field comes sign-extended as `i32`, for the unsigned ones mask it.
macro_rules! unpack {
    ($n:literal x $width:literal, |$field:ident| $value:expr) => {
        |lane, inst, pc| {
            let word: u32 = lane.get(inst.a);
            for k in 0..$n {
                let $field: u32 = word >> (k * $width) & (u32::MAX >> (32 - $width));
                lane.set(inst.dst + k, $value);
            }
            pc + 1
        }
    };
}

/// A normalised number as a whole one of a field.
fn whole(value: f32, low: f64, scale: f64) -> u32 {
    (0.5 + scale * f64::from(value).max(low).min(1.0)).floor() as i32 as u32
}

/// Functions from four or two components to a `u32`.
pub(in crate::interp) fn packing(fun: MathFunction) -> Option<Run> {
    use MathFunction as M;
    Some(match fun {
        M::Pack4x8snorm => pack!(4 x 8, |a: f32| whole(a, -1.0, 127.0)),
        M::Pack4x8unorm => pack!(4 x 8, |a: f32| whole(a, 0.0, 255.0)),
        M::Pack2x16snorm => pack!(2 x 16, |a: f32| whole(a, -1.0, 32767.0)),
        M::Pack2x16unorm => pack!(2 x 16, |a: f32| whole(a, 0.0, 65535.0)),
        M::Pack2x16float => pack!(2 x 16, |a: f32| u32::from(f16::from_f32(a).to_bits())),
        M::Pack4xI8 => pack!(4 x 8, |a: i32| a as u32),
        M::Pack4xU8 => pack!(4 x 8, |a: u32| a),
        M::Pack4xI8Clamp => pack!(4 x 8, |a: i32| a.clamp(-128, 127) as u32),
        M::Pack4xU8Clamp => pack!(4 x 8, |a: u32| a.min(255)),
        _ => return None,
    })
}

fn signed8(field: u32) -> i32 {
    i32::from(field as u8 as i8)
}

fn signed16(field: u32) -> i32 {
    i32::from(field as u16 as i16)
}

/// Functions from a `u32` to four or two components.
pub(in crate::interp) fn unpacking(fun: MathFunction) -> Option<Run> {
    use MathFunction as M;
    let four: Run = match fun {
        M::Unpack4x8snorm => unpack!(4 x 8, |field| ((f64::from(signed8(field)) / 127.0).max(-1.0)) as f32),
        M::Unpack4x8unorm => unpack!(4 x 8, |field| (f64::from(field) / 255.0) as f32),
        M::Unpack4xI8 => unpack!(4 x 8, |field| signed8(field)),
        M::Unpack4xU8 => unpack!(4 x 8, |field| field),
        _ => {
            let two: Run = match fun {
                M::Unpack2x16snorm => {
                    unpack!(2 x 16, |field| ((f64::from(signed16(field)) / 32767.0).max(-1.0)) as f32)
                }
                M::Unpack2x16unorm => unpack!(2 x 16, |field| (f64::from(field) / 65535.0) as f32),
                M::Unpack2x16float => unpack!(2 x 16, |field| f16::from_bits(field as u16).to_f32()),
                _ => return None,
            };
            return Some(two);
        }
    };
    Some(four)
}

/// `dot4I8Packed` and `dot4U8Packed`.
pub(in crate::interp) fn packed_dot(fun: MathFunction) -> Option<Run> {
    match fun {
        MathFunction::Dot4I8Packed => Some(|lane, inst, pc| {
            let (a, b): (u32, u32) = (lane.get(inst.a), lane.get(inst.b));
            let sum: i32 = (0..4).map(|k| signed8(a >> (8 * k)) * signed8(b >> (8 * k))).sum();
            lane.set(inst.dst, sum);
            pc + 1
        }),
        MathFunction::Dot4U8Packed => Some(|lane, inst, pc| {
            let (a, b): (u32, u32) = (lane.get(inst.a), lane.get(inst.b));
            let sum: u32 = (0..4).map(|k| (a >> (8 * k) & 255) * (b >> (8 * k) & 255)).sum();
            lane.set(inst.dst, sum);
            pc + 1
        }),
        _ => None,
    }
}
