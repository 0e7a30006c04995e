//! Built-in functions on the bits of integers, at every width.

use naga::MathFunction;

use super::Each;
use crate::interp::kind::{Bits, Kind};

/// The bits of an integer without their sign, and back.
trait Word: Bits {
    const WIDTH: u32;
    /// All of its bits, zero-extended.
    fn raw(self) -> u64 {
        self.bits()
    }
    /// The bits with, for a signed type, the sign in all those above `count`.
    fn extended(bits: u64, count: u32) -> Self;
    /// The bits whose first one is the first that differs from the sign.
    fn unsigned(self) -> u64;
}

macro_rules! words {
    ($($ty:ty: $signed:expr;)*) => {$(
        impl Word for $ty {
            const WIDTH: u32 = <$ty>::BITS;

            #[inline(always)]
            fn extended(bits: u64, count: u32) -> Self {
                let above = 64 - count;
                if $signed { ((bits << above) as i64 >> above) as $ty } else { (bits << above >> above) as $ty }
            }

            #[inline(always)]
            fn unsigned(self) -> u64 {
                if $signed && (self.raw() >> (Self::WIDTH - 1)) == 1 { (!self).raw() } else { self.raw() }
            }
        }
    )*};
}

words! { i16: true; u16: false; i32: true; u32: false; i64: true; u64: false; }

fn leading_zeros<T: Word>(value: T) -> T {
    T::of(u64::from(value.raw().leading_zeros() - (64 - T::WIDTH)))
}

fn trailing_zeros<T: Word>(value: T) -> T {
    T::of(u64::from(value.raw().trailing_zeros().min(T::WIDTH)))
}

fn reversed<T: Word>(value: T) -> T {
    T::of(value.raw().reverse_bits() >> (64 - T::WIDTH))
}

/// The place of the lowest one, or all ones.
fn first_trailing<T: Word>(value: T) -> T {
    T::of(if value.raw() == 0 { u64::MAX } else { u64::from(value.raw().trailing_zeros()) })
}

/// The place of the highest bit that differs from the sign, or all ones.
fn first_leading<T: Word>(value: T) -> T {
    let bits = value.unsigned();
    T::of(if bits == 0 { u64::MAX } else { u64::from(63 - bits.leading_zeros()) })
}

/// Functions of one integer.
pub(in crate::interp) fn bit_unary(fun: MathFunction, kind: Kind) -> Option<Each> {
    match fun {
        MathFunction::CountOneBits => integers!(kind, T => each1!(|a: T| T::of(u64::from(a.raw().count_ones())))),
        MathFunction::CountLeadingZeros => integers!(kind, T => each1!(|a: T| leading_zeros(a))),
        MathFunction::CountTrailingZeros => integers!(kind, T => each1!(|a: T| trailing_zeros(a))),
        MathFunction::ReverseBits => integers!(kind, T => each1!(|a: T| reversed(a))),
        MathFunction::FirstTrailingBit => integers!(kind, T => each1!(|a: T| first_trailing(a))),
        MathFunction::FirstLeadingBit => integers!(kind, T => each1!(|a: T| first_leading(a))),
        _ => None,
    }
}

/// A place and a count of bits, brought within the width.
fn field<T: Word>(offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(T::WIDTH);
    (offset, count.min(T::WIDTH - offset))
}

fn extracted<T: Word>(value: T, offset: u32, count: u32) -> T {
    let (offset, count) = field::<T>(offset, count);
    if count == 0 { T::of(0) } else { T::extended(value.raw() >> offset, count) }
}

fn inserted<T: Word>(value: T, new: T, offset: u32, count: u32) -> T {
    let (offset, count) = field::<T>(offset, count);
    if count == 0 {
        return value;
    }
    let mask = (u64::MAX >> (64 - count)) << offset;
    T::of(value.raw() & !mask | (new.raw() << offset) & mask)
}

/// `extractBits`: offset and count are one for all components.
pub(in crate::interp) fn extract(kind: Kind) -> Option<crate::interp::inst::Run> {
    integers!(kind, T => |lane, inst, pc| {
        let (offset, count) = (lane.get::<u32>(inst.b), lane.get::<u32>(inst.c));
        for k in 0..inst.n {
            let value = extracted(lane.get::<T>(inst.a + k), offset, count);
            lane.set(inst.dst + k, value);
        }
        pc + 1
    })
}

/// `insertBits`: offset and count are one for all components.
pub(in crate::interp) fn insert(kind: Kind) -> Option<crate::interp::inst::Run> {
    integers!(kind, T => |lane, inst, pc| {
        let (offset, count) = (lane.get::<u32>(inst.c), lane.get::<u32>(inst.m));
        for k in 0..inst.n {
            let value = inserted(lane.get::<T>(inst.a + k), lane.get::<T>(inst.b + k), offset, count);
            lane.set(inst.dst + k, value);
        }
        pc + 1
    })
}
