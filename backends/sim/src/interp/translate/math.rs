//! Operators and built-in functions on numbers: which instruction does each for which types.

use naga::{BinaryOperator, Expression, Handle, MathFunction, TypeInner};

use super::body::Body;
use crate::interp::inst::Inst;
use crate::interp::ops::{self, TRANSPOSE};
use crate::interp::refusal::{Refusal, unsupported};

/// Columns and rows that a value has in a product.
fn sides(inner: &TypeInner, on_the_left: bool) -> Option<(u32, u32)> {
    match *inner {
        TypeInner::Matrix { columns, rows, .. } => Some((columns as u32, rows as u32)),
        // A row on the left, a column on the right.
        TypeInner::Vector { size, .. } if on_the_left => Some((size as u32, 1)),
        TypeInner::Vector { size, .. } => Some((1, size as u32)),
        _ => None,
    }
}

fn is_test(op: BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual)
}

impl Body<'_, '_> {
    pub(super) fn binary(
        &mut self,
        handle: Handle<Expression>,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let kind = self.kind_of(left)?;
        let is_matrix = |inner: &TypeInner| matches!(inner, TypeInner::Matrix { .. });
        if op == BinaryOperator::Multiply && (is_matrix(self.inner(left)) || is_matrix(self.inner(right))) {
            let (a, b) = (sides(self.inner(left), true), sides(self.inner(right), false));
            if let (Some((inner, rows)), Some((columns, _))) = (a, b) {
                let run = ops::matrix_product(kind);
                let run = run.ok_or_else(|| unsupported("a product of matrices that are not of floats"))?;
                let (a, b) = (self.slot(left)?, self.slot(right)?);
                return self.whole_of(handle, Inst { dst: 0, a, b, c: columns, n: rows, m: inner, run });
            }
        }
        self.each(handle, ops::binary(op, kind), &[left, right])?;
        if is_test(op) {
            self.remember_test(op, kind);
        }
        Ok(())
    }

    pub(super) fn math(
        &mut self,
        handle: Handle<Expression>,
        fun: MathFunction,
        arguments: &[Handle<Expression>],
    ) -> Result<(), Refusal> {
        use MathFunction as M;
        let first = arguments[0];
        let kind = self.kind_of(first)?;
        let n = self.len(first)?;
        match fun {
            M::Abs | M::Sign => self.each(handle, ops::plain_unary(fun, kind), arguments),
            M::Min | M::Max => self.each(handle, ops::plain_binary(fun, kind), arguments),
            M::Clamp => self.each(handle, ops::clamp(kind), arguments),
            M::Saturate
            | M::Radians
            | M::Degrees
            | M::Ceil
            | M::Floor
            | M::Round
            | M::Trunc
            | M::Fract
            | M::Exp
            | M::Exp2
            | M::Log
            | M::Log2
            | M::Sqrt
            | M::InverseSqrt
            | M::QuantizeToF16
            | M::Cos
            | M::Cosh
            | M::Sin
            | M::Sinh
            | M::Tan
            | M::Tanh
            | M::Acos
            | M::Asin
            | M::Atan
            | M::Asinh
            | M::Acosh
            | M::Atanh => self.each(handle, ops::float_unary(fun, kind), arguments),
            M::Atan2 | M::Pow | M::Step => self.each(handle, ops::float_binary(fun, kind), arguments),
            M::Fma | M::Mix | M::SmoothStep => self.each(handle, ops::float_ternary(fun, kind), arguments),
            M::Ldexp => self.each(handle, ops::ldexp(kind), arguments),
            M::Modf => self.whole(handle, ops::modf(kind), arguments, n),
            M::Frexp => self.whole(handle, ops::frexp(kind), arguments, n),
            M::Dot => self.whole(handle, ops::dot(kind), arguments, n),
            M::Dot4I8Packed | M::Dot4U8Packed => self.whole(handle, ops::packed_dot(fun), arguments, n),
            M::Cross | M::Distance | M::Length | M::Normalize | M::FaceForward | M::Reflect | M::Refract => {
                self.whole(handle, ops::geometry(fun, kind), arguments, n)
            }
            M::Outer | M::Inverse | M::Transpose | M::Determinant => self.matrix(handle, fun, arguments),
            M::CountTrailingZeros
            | M::CountLeadingZeros
            | M::CountOneBits
            | M::ReverseBits
            | M::FirstTrailingBit
            | M::FirstLeadingBit => self.each(handle, ops::bit_unary(fun, kind), arguments),
            M::ExtractBits => self.whole(handle, ops::extract(kind), arguments, n),
            M::InsertBits => self.whole(handle, ops::insert(kind), arguments, n),
            M::Pack4x8snorm | M::Pack4x8unorm | M::Pack4xI8 | M::Pack4xU8 | M::Pack4xI8Clamp | M::Pack4xU8Clamp => {
                self.whole(handle, ops::packing(fun), arguments, n)
            }
            M::Pack2x16snorm | M::Pack2x16unorm | M::Pack2x16float => {
                self.whole(handle, ops::packing(fun), arguments, n)
            }
            M::Unpack4x8snorm | M::Unpack4x8unorm | M::Unpack4xI8 | M::Unpack4xU8 => {
                self.whole(handle, ops::unpacking(fun), arguments, n)
            }
            M::Unpack2x16snorm | M::Unpack2x16unorm | M::Unpack2x16float => {
                self.whole(handle, ops::unpacking(fun), arguments, n)
            }
        }
    }

    fn matrix(
        &mut self,
        handle: Handle<Expression>,
        fun: MathFunction,
        arguments: &[Handle<Expression>],
    ) -> Result<(), Refusal> {
        let first = arguments[0];
        if fun == MathFunction::Outer {
            let (n, m) = (self.len(first)?, self.len(arguments[1])?);
            let run = ops::square(fun, self.kind_of(first)?).ok_or_else(|| unsupported("an outer product"))?;
            let (a, b) = (self.slot(first)?, self.slot(arguments[1])?);
            return self.whole_of(handle, Inst { dst: 0, a, b, c: 0, n, m, run });
        }
        let (n, m) = sides(self.inner(first), true).ok_or_else(|| unsupported("a matrix function of no matrix"))?;
        let run = match fun {
            MathFunction::Transpose => Some(TRANSPOSE),
            _ => ops::square(fun, self.kind_of(first)?),
        };
        let run = run.ok_or_else(|| unsupported("a matrix function on a type that has none of its name"))?;
        let a = self.slot(first)?;
        self.whole_of(handle, Inst { dst: 0, a, b: 0, c: 0, n, m, run })
    }
}
