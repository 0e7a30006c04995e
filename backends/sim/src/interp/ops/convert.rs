//! Conversions of value between scalar types. Floats become integers by truncation, brought into the values that both types
//! have; a NaN becomes the least. Bit casts need no instruction: the bits in a slot are the same.

use half::f16;

use super::Each;
use super::floats::half_of;
use crate::interp::kind::{Bits, Kind};

/// A number of one type made from one of another.
trait From2<T> {
    fn from2(value: T) -> Self;
}

macro_rules! from_integers {
    ($($from:ty),*) => {$(
        from_integers!(@ $from; i16, u16, i32, u32, i64, u64, f32, f64);

        impl From2<$from> for f16 {
            #[inline(always)]
            fn from2(value: $from) -> Self {
                // What f64 cannot hold is far above f16's range.
                half_of(value as f64)
            }
        }

        impl From2<$from> for bool {
            #[inline(always)]
            fn from2(value: $from) -> Self {
                value != 0
            }
        }

        impl From2<bool> for $from {
            #[inline(always)]
            fn from2(value: bool) -> Self {
                <$from>::from(value)
            }
        }
    )*};
    (@ $from:ty; $($to:ty),*) => {$(
        impl From2<$from> for $to {
            #[inline(always)]
            fn from2(value: $from) -> Self {
                value as $to
            }
        }
    )*};
}

from_integers!(i16, u16, i32, u32, i64, u64);

/// A conversion of value; none where the types are the same or the pair does not exist.
pub(in crate::interp) fn convert(from: Kind, to: Kind) -> Option<Each> {
    match from {
        Kind::Bool => from_bool(to),
        Kind::F16 => from_float::<HalfFloat>(to),
        Kind::F32 => from_float::<SingleFloat>(to),
        Kind::F64 => from_float::<DoubleFloat>(to),
        _ => integers!(from, S => from_integer::<S>(to)).flatten(),
    }
}

fn from_bool(to: Kind) -> Option<Each> {
    match to {
        Kind::F16 => Some(each1!(|a: bool| if a { f16::ONE } else { f16::ZERO })),
        Kind::F32 => Some(each1!(|a: bool| f32::from(u8::from(a)))),
        Kind::F64 => Some(each1!(|a: bool| f64::from(u8::from(a)))),
        _ => integers!(to, T => each1!(|a: bool| T::from2(a))),
    }
}

fn from_integer<S: Bits>(to: Kind) -> Option<Each>
where
    bool: From2<S>,
    i16: From2<S>,
    u16: From2<S>,
    i32: From2<S>,
    u32: From2<S>,
    i64: From2<S>,
    u64: From2<S>,
    f16: From2<S>,
    f32: From2<S>,
    f64: From2<S>,
{
    match to {
        Kind::Bool => Some(each1!(|a: S| bool::from2(a))),
        _ => numbers!(to, T => each1!(|a: S| T::from2(a))),
    }
}

/// A float type, with the ranges of integers that it can hold.
trait Float {
    type Of: Bits + Into<f64>;
    const LIMITS: [[f64; 2]; 6];
}

struct HalfFloat;
struct SingleFloat;
struct DoubleFloat;

/// The least and the greatest whole number that both types have, for i16, u16, i32, u32, i64, u64.
impl Float for HalfFloat {
    type Of = f16;
    const LIMITS: [[f64; 2]; 6] =
        [[-32768.0, 32752.0], [0.0, 65504.0], [-65504.0, 65504.0], [0.0, 65504.0], [-65504.0, 65504.0], [0.0, 65504.0]];
}

impl Float for SingleFloat {
    type Of = f32;
    const LIMITS: [[f64; 2]; 6] = [
        [-32768.0, 32767.0],
        [0.0, 65535.0],
        [-2147483648.0, 2147483520.0],
        [0.0, 4294967040.0],
        [-9223372036854775808.0, 9223371487098961920.0],
        [0.0, 18446742974197923840.0],
    ];
}

impl Float for DoubleFloat {
    type Of = f64;
    const LIMITS: [[f64; 2]; 6] = [
        [-32768.0, 32767.0],
        [0.0, 65535.0],
        [-2147483648.0, 2147483647.0],
        [0.0, 4294967295.0],
        [-9223372036854775808.0, 9223372036854774784.0],
        [0.0, 18446744073709549568.0],
    ];
}

/// `value` within limits. `max` takes the other of a number and a NaN.
#[inline(always)]
fn within(value: f64, limits: [f64; 2]) -> f64 {
    value.max(limits[0]).min(limits[1])
}

fn from_float<F: Float>(to: Kind) -> Option<Each> {
    Some(match to {
        // A NaN is not zero.
        Kind::Bool => each1!(|a: F::Of| a.into() != 0.0),
        Kind::I16 => each1!(|a: F::Of| within(a.into(), F::LIMITS[0]) as i16),
        Kind::U16 => each1!(|a: F::Of| within(a.into(), F::LIMITS[1]) as u16),
        Kind::I32 => each1!(|a: F::Of| within(a.into(), F::LIMITS[2]) as i32),
        Kind::U32 => each1!(|a: F::Of| within(a.into(), F::LIMITS[3]) as u32),
        Kind::I64 => each1!(|a: F::Of| within(a.into(), F::LIMITS[4]) as i64),
        Kind::U64 => each1!(|a: F::Of| within(a.into(), F::LIMITS[5]) as u64),
        Kind::F16 => each1!(|a: F::Of| half_of(a.into())),
        Kind::F32 => each1!(|a: F::Of| Into::<f64>::into(a) as f32),
        Kind::F64 => each1!(|a: F::Of| Into::<f64>::into(a)),
    })
}

#[cfg(test)]
mod tests {
    use naga::proc::min_max_float_representable_by;
    use naga::{Literal, Scalar};

    use super::*;

    #[test]
    fn the_limits_are_what_naga_gives_other_backends() {
        let integers = [Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64];
        let number = |literal| match literal {
            Literal::F16(value) => value.to_f64(),
            Literal::F32(value) => f64::from(value),
            Literal::F64(value) => value,
            other => panic!("{other:?} is no float"),
        };
        for (k, integer) in integers.into_iter().enumerate() {
            let of = |float| {
                let (low, high) = min_max_float_representable_by(float, integer);
                [number(low), number(high)]
            };
            // naga 30 gives i16 the limits of f16 itself, which i16 does not reach.
            if integer != Scalar::I16 {
                assert_eq!(of(Scalar::F16), HalfFloat::LIMITS[k], "{integer:?}");
            }
            assert_eq!(of(Scalar::F32), SingleFloat::LIMITS[k], "{integer:?}");
            assert_eq!(of(Scalar::F64), DoubleFloat::LIMITS[k], "{integer:?}");
        }
    }
}
