//! The operations of an instruction on scalars and vectors, one pair of functions for each operation and type.

#[macro_use]
mod each;

mod binary;
mod bits;
mod convert;
mod floats;
mod geometry;
mod number;
mod packing;
mod select;
mod unary;

pub(super) use binary::{Join, Two, atomic, binary, two};
pub(super) use bits::{bit_unary, extract, insert};
pub(super) use convert::convert;
pub(super) use each::Each;
pub(super) use floats::{float_binary, float_ternary, float_unary, frexp, ldexp, modf};
pub(super) use geometry::{TRANSPOSE, dot, geometry, matrix_product, square};
pub(super) use number::Number;
pub(super) use packing::{packed_dot, packing, unpacking};
pub(super) use select::{SELECT_WHOLE, relational, select_each};
pub(super) use unary::{clamp, plain_binary, plain_unary, unary};
