//! Built-in functions of floats, component by component. They are computed in `f64` and rounded once, which for the smaller
//! types is within what WGSL accepts of every one of them, and is the nearest value for nearly all operands.

use half::f16;
use naga::MathFunction;

use super::{Each, Number};
use crate::interp::inst::Run;
use crate::interp::kind::{Bits, Kind};

/// A float type: every value is a value of `f64`.
pub(in crate::interp) trait Real: Bits + Number {
    fn wide(self) -> f64;
    /// The nearest value.
    fn near(value: f64) -> Self;
    fn fused(self, factor: Self, term: Self) -> Self;
}

/// The nearest half. The crate's conversion rounds twice, through `f32` where the processor has an instruction for that, and looks
/// at half of the digits where it has not. What is cut off is therefore told by the last digit that both look at.
#[inline]
pub(in crate::interp) fn half_of(value: f64) -> f16 {
    const LOW: u64 = 0xffff_ffff;
    let bits = value.to_bits();
    let cut = u64::from(bits & LOW != 0) << 32;
    f16::from_f64(f64::from_bits(bits & !LOW | cut))
}

impl Real for f16 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self.to_f64()
    }

    #[inline(always)]
    fn near(value: f64) -> Self {
        half_of(value)
    }

    #[inline(always)]
    fn fused(self, factor: Self, term: Self) -> Self {
        // The product of two f16 is exact in f64.
        Self::near(self.wide() * factor.wide() + term.wide())
    }
}

impl Real for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn near(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn fused(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn near(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn fused(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }
}

macro_rules! of1 {
    ($kind:expr, |$x:ident| $value:expr) => {
        floats!($kind, T => each1!(|a: T| {
            let $x = a.wide();
            T::near($value)
        }))
    };
}

/// Functions of one float.
pub(in crate::interp) fn float_unary(fun: MathFunction, kind: Kind) -> Option<Each> {
    use MathFunction as M;
    match fun {
        M::Saturate => floats!(kind, T => each1!(|a: T| a.greatest(T::ZERO).least(T::ONE))),
        M::Radians => of1!(kind, |x| x.to_radians()),
        M::Degrees => of1!(kind, |x| x.to_degrees()),
        M::Ceil => of1!(kind, |x| x.ceil()),
        M::Floor => of1!(kind, |x| x.floor()),
        M::Round => of1!(kind, |x| x.round_ties_even()),
        M::Trunc => of1!(kind, |x| x.trunc()),
        M::Fract => of1!(kind, |x| x - x.floor()),
        M::Exp => of1!(kind, |x| x.exp()),
        M::Exp2 => of1!(kind, |x| x.exp2()),
        M::Log => of1!(kind, |x| x.ln()),
        M::Log2 => of1!(kind, |x| x.log2()),
        M::Sqrt => of1!(kind, |x| x.sqrt()),
        M::InverseSqrt => of1!(kind, |x| 1.0 / x.sqrt()),
        M::QuantizeToF16 => of1!(kind, |x| half_of(x).to_f64()),
        _ => trigonometry(fun, kind),
    }
}

fn trigonometry(fun: MathFunction, kind: Kind) -> Option<Each> {
    use MathFunction as M;
    match fun {
        M::Cos => of1!(kind, |x| x.cos()),
        M::Cosh => of1!(kind, |x| x.cosh()),
        M::Sin => of1!(kind, |x| x.sin()),
        M::Sinh => of1!(kind, |x| x.sinh()),
        M::Tan => of1!(kind, |x| x.tan()),
        M::Tanh => of1!(kind, |x| x.tanh()),
        M::Acos => of1!(kind, |x| x.acos()),
        M::Asin => of1!(kind, |x| x.asin()),
        M::Atan => of1!(kind, |x| x.atan()),
        M::Asinh => of1!(kind, |x| x.asinh()),
        M::Acosh => of1!(kind, |x| x.acosh()),
        M::Atanh => of1!(kind, |x| x.atanh()),
        _ => None,
    }
}

/// Functions of two floats.
pub(in crate::interp) fn float_binary(fun: MathFunction, kind: Kind) -> Option<Each> {
    match fun {
        MathFunction::Atan2 => floats!(kind, T => each2!(|y: T, x: T| T::near(y.wide().atan2(x.wide())))),
        MathFunction::Pow => floats!(kind, T => each2!(|x: T, y: T| T::near(x.wide().powf(y.wide())))),
        MathFunction::Step => floats!(kind, T => each2!(|edge: T, x: T| if edge <= x { T::ONE } else { T::ZERO })),
        _ => None,
    }
}

fn smooth(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Functions of three floats.
pub(in crate::interp) fn float_ternary(fun: MathFunction, kind: Kind) -> Option<Each> {
    match fun {
        MathFunction::Fma => floats!(kind, T => each3!(|a: T, b: T, c: T| a.fused(b, c))),
        MathFunction::Mix => floats!(kind, T => each3!(|x: T, y: T, a: T| {
            T::near(x.wide() * (1.0 - a.wide()) + y.wide() * a.wide())
        })),
        MathFunction::SmoothStep => {
            floats!(kind, T => each3!(|low: T, high: T, x: T| T::near(smooth(low.wide(), high.wide(), x.wide()))))
        }
        _ => None,
    }
}

/// `value * 2^power`, rounded once.
fn scaled<T: Real>(value: T, power: i32) -> T {
    // Three steps of at most 2^1000 each reach every result, and all but the last are exact or far out of the range.
    let mut wide = value.wide();
    let mut left = power.clamp(-3000, 3000);
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        // A subnormal on the way would be rounded twice: the small steps come while the value is large.
        wide *= 2f64.powi(step);
        left -= step;
    }
    T::near(wide)
}

/// `ldexp`: the power is an `i32`.
pub(in crate::interp) fn ldexp(kind: Kind) -> Option<Each> {
    floats!(kind, T => each2!(|a: T, b: i32| scaled::<T>(a, b)))
}

/// `modf`: the fractions, then the whole parts.
pub(in crate::interp) fn modf(kind: Kind) -> Option<Run> {
    floats!(kind, T => |lane, inst, pc| {
        for k in 0..inst.n {
            let value = lane.get::<T>(inst.a + k).wide();
            lane.set(inst.dst + k, T::near(value - value.trunc()));
            lane.set(inst.dst + inst.n + k, T::near(value.trunc()));
        }
        pc + 1
    })
}

/// The fraction in 0.5 to 1 and the power of two. Of zero, infinity and NaN it is the value and 0.
fn split(value: f64) -> (f64, i32) {
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    // A subnormal is made normal first.
    let (value, shift) = if value.is_subnormal() { (value * 2f64.powi(64), -64) } else { (value, 0) };
    let bits = value.to_bits();
    let power = i32::try_from(bits >> 52 & 0x7ff).expect("eleven bits") - 1022;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), power + shift)
}

/// `frexp`: the fractions, then the powers as `i32`.
pub(in crate::interp) fn frexp(kind: Kind) -> Option<Run> {
    floats!(kind, T => |lane, inst, pc| {
        for k in 0..inst.n {
            let (fraction, power) = split(lane.get::<T>(inst.a + k).wide());
            lane.set(inst.dst + k, T::near(fraction));
            lane.set(inst.dst + inst.n + k, power);
        }
        pc + 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_is_rounded_once() {
        let ulp = 2f64.powi(-10);
        let tie = 1.0 + ulp / 2.0;
        // Just above a tie, by less than `f32` can tell, and by less than the upper half of the digits can.
        for above in [2f64.powi(-30), 2f64.powi(-52)] {
            assert_eq!(half_of(tie + above).to_f64(), 1.0 + ulp);
            assert_eq!(half_of(-tie - above).to_f64(), -1.0 - ulp);
        }
        assert_eq!(half_of(tie).to_f64(), 1.0);
        assert_eq!(half_of(tie + ulp).to_f64(), 1.0 + 2.0 * ulp);
        // The same among subnormals, which are 2^-24 apart.
        let tie = 2.5 * 2f64.powi(-24);
        assert_eq!(half_of(tie).to_f64(), 2.0 * 2f64.powi(-24));
        assert_eq!(half_of(tie + 2f64.powi(-70)).to_f64(), 3.0 * 2f64.powi(-24));
        assert!(half_of(f64::from_bits(0x7ff0_0000_0000_0001)).is_nan());
        assert_eq!(half_of(f64::INFINITY), f16::INFINITY);
        assert_eq!([half_of(65519.99), half_of(65520.0)], [f16::MAX, f16::INFINITY]);
        assert_eq!(half_of(-0.0).to_bits(), 0x8000);
        assert_eq!(half_of(1e-310).to_bits(), 0);
    }

    #[test]
    fn every_half_is_itself() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            assert!(half_of(half.to_f64()) == half || half.is_nan());
        }
    }
}
