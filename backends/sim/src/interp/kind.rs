//! The scalar types that a kernel computes with, and how each lies in a 64-bit slot: its bits, zero-extended.

use half::f16;
use naga::{Scalar, ScalarKind};

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bool,
    I16,
    U16,
    F16,
    I32,
    U32,
    F32,
    I64,
    U64,
    F64,
}

impl Kind {
    /// naga's scalar; none for the abstract types, which no valid function holds, and for widths that WGSL does not have.
    pub(super) fn of(scalar: Scalar) -> Option<Self> {
        Some(match (scalar.kind, scalar.width) {
            (ScalarKind::Bool, _) => Self::Bool,
            (ScalarKind::Sint, 2) => Self::I16,
            (ScalarKind::Uint, 2) => Self::U16,
            (ScalarKind::Float, 2) => Self::F16,
            (ScalarKind::Sint, 4) => Self::I32,
            (ScalarKind::Uint, 4) => Self::U32,
            (ScalarKind::Float, 4) => Self::F32,
            (ScalarKind::Sint, 8) => Self::I64,
            (ScalarKind::Uint, 8) => Self::U64,
            (ScalarKind::Float, 8) => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of it in a buffer.
    pub(super) const fn width(self) -> u32 {
        match self {
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::Bool | Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The slot of one.
    pub(super) fn one(self) -> u64 {
        match self {
            Self::F16 => f16::ONE.bits(),
            Self::F32 => 1f32.bits(),
            Self::F64 => 1f64.bits(),
            _ => 1,
        }
    }
}

/// A scalar as the bits of a slot.
pub(super) trait Bits: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integer_bits {
    ($($ty:ty as $unsigned:ty),*) => {$(
        impl Bits for $ty {
            #[inline(always)]
            fn of(bits: u64) -> Self {
                bits as $ty
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }
        }
    )*};
}

integer_bits!(i16 as u16, u16 as u16, i32 as u32, u32 as u32, i64 as u64, u64 as u64);

impl Bits for bool {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        bits != 0
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Bits for f16 {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        Self::from_bits(bits as u16)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Bits for f32 {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Bits for f64 {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
}
