//! WGSL's arithmetic on each numeric type: integers wrap, division is defined for every operand, floats are rounded once.

use half::f16;

/// What every numeric type can do.
pub(in crate::interp) trait Number: Copy + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn rest(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
    fn negative(self) -> Self;
    fn magnitude(self) -> Self;
    /// -1, 0 or 1.
    fn sign(self) -> Self;
}

macro_rules! integers {
    ($($ty:ty: $magnitude:expr, $sign:expr;)*) => {$(
        impl Number for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn over(self, other: Self) -> Self {
                if other == 0 { self } else { self.wrapping_div(other) }
            }

            #[inline(always)]
            fn rest(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }

            #[inline(always)]
            fn least(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn greatest(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                $magnitude(self)
            }

            #[inline(always)]
            fn sign(self) -> Self {
                $sign(self)
            }
        }
    )*};
}

integers! {
    i16: i16::wrapping_abs, i16::signum;
    i32: i32::wrapping_abs, i32::signum;
    i64: i64::wrapping_abs, i64::signum;
    u16: std::convert::identity, |value: u16| value.min(1);
    u32: std::convert::identity, |value: u32| value.min(1);
    u64: std::convert::identity, |value: u64| value.min(1);
}

macro_rules! floats {
    ($($ty:ty: $zero:expr, $one:expr, $magnitude:expr;)*) => {$(
        impl Number for $ty {
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self / other
            }

            #[inline(always)]
            fn rest(self, other: Self) -> Self {
                self % other
            }

            #[inline(always)]
            fn least(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn greatest(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn negative(self) -> Self {
                -self
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                $magnitude(self)
            }

            #[inline(always)]
            fn sign(self) -> Self {
                if self > $zero {
                    $one
                } else if self < $zero {
                    -$one
                } else {
                    $zero
                }
            }
        }
    )*};
}

floats! {
    f16: f16::ZERO, f16::ONE, |value: f16| f16::from_bits(value.to_bits() & 0x7fff);
    f32: 0.0, 1.0, f32::abs;
    f64: 0.0, 1.0, f64::abs;
}
