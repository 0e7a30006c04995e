//! Operators and conversions: C++'s own signs where they mean what WGSL means, and functions of the prelude elsewhere.

use naga::{BinaryOperator, Bytes, Expression, Handle, Literal, ScalarKind, TypeInner, UnaryOperator};

use super::body::Body;
use crate::code::{Expr, TemplateArg, Type};
use crate::ir;
use crate::refusal::{At, Result};

/// Unsigned numbers that C++ does not promote, and whose arithmetic wraps.
const UNSIGNED: [&str; 2] = ["u32", "u64"];

/// Floats that C++ has operators for.
const FLOATS: [&str; 2] = ["f32", "f64"];

impl Body<'_> {
    pub(crate) fn unary(&self, op: UnaryOperator, expr: Handle<Expression>) -> Result<Expr> {
        let (sign, name) = ir::unary(op);
        let scalar = self.scalar_of(expr).at(self.span(expr))?;
        let plain = self.is_scalar(expr)
            && match op {
                UnaryOperator::Negate => FLOATS.contains(&scalar),
                UnaryOperator::LogicalNot => true,
                UnaryOperator::BitwiseNot => ["u32", "u64", "i32", "i64"].contains(&scalar),
            };
        let value = self.value(expr)?;
        Ok(if plain { Expr::Unary(sign, Box::new(value)) } else { Expr::helper(name, [value]) })
    }

    pub(crate) fn binary(
        &self,
        handle: Handle<Expression>,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<Expr> {
        let (sign, name) = ir::binary(op);
        let values = [self.value(left)?, self.value(right)?];
        let scalar = self.scalar_of(left).at(self.span(handle))?;
        let plain = self.is_scalar(left) && self.is_scalar(right) && self.is_plain(handle, op, scalar, right);
        Ok(if plain { Expr::Binary(sign, Box::new(values)) } else { Expr::helper(name, values) })
    }

    /// Whether C++'s operator on two scalars is WGSL's.
    fn is_plain(
        &self,
        handle: Handle<Expression>,
        op: BinaryOperator,
        scalar: &str,
        right: Handle<Expression>,
    ) -> bool {
        use BinaryOperator as Op;
        let integer = ["i32", "u32", "i64", "u64"].contains(&scalar);
        match op {
            Op::Add | Op::Subtract | Op::Multiply => UNSIGNED.contains(&scalar) || FLOATS.contains(&scalar),
            Op::Divide if FLOATS.contains(&scalar) => true,
            Op::Divide | Op::Modulo => integer && self.divides(handle, right),
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => scalar != "f16",
            Op::And | Op::ExclusiveOr | Op::InclusiveOr => integer,
            Op::LogicalAnd | Op::LogicalOr => true,
            // C++17 leaves the shift of a negative number to the left undefined.
            Op::ShiftLeft => UNSIGNED.contains(&scalar) && self.shifts(handle, scalar, right),
            Op::ShiftRight => integer && self.shifts(handle, scalar, right),
        }
    }

    /// Whether a divisor is never 0, nor -1.
    fn divides(&self, handle: Handle<Expression>, right: Handle<Expression>) -> bool {
        match self.literal_of(right) {
            Some(Literal::U32(value)) => value != 0,
            Some(Literal::I32(value)) => value != 0 && value != -1,
            Some(Literal::U64(value)) => value != 0,
            Some(Literal::I64(value)) => value != 0 && value != -1,
            _ => self.writer.proven.divides(self.handle, handle),
        }
    }

    /// Whether a shift is by less than the width.
    fn shifts(&self, handle: Handle<Expression>, scalar: &str, right: Handle<Expression>) -> bool {
        let width = if scalar.ends_with("64") { 64 } else { 32 };
        match self.literal_of(right) {
            Some(Literal::U32(value)) => value < width,
            _ => self.writer.proven.shifts(self.handle, handle),
        }
    }

    fn literal_of(&self, handle: Handle<Expression>) -> Option<Literal> {
        match self.function.expressions[handle] {
            Expression::Literal(literal) => Some(literal),
            Expression::Constant(constant) => {
                let module = self.writer.module;
                match module.global_expressions[module.constants[constant].init] {
                    Expression::Literal(literal) => Some(literal),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A conversion, or the same bits as another type.
    pub(crate) fn converted(
        &self,
        handle: Handle<Expression>,
        expr: Handle<Expression>,
        kind: ScalarKind,
        convert: Option<Bytes>,
    ) -> Result<Expr> {
        let span = self.span(handle);
        let value = self.value(expr)?;
        let from = self.scalar_of(expr).at(span)?;
        let width = convert.or_else(|| match self.inner(expr) {
            TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => Some(scalar.width),
            _ => None,
        });
        let width = width.ok_or("bitcasts of what has no components").at(span)?;
        let to = ir::scalar(naga::Scalar { kind, width }).at(span)?;
        if from == to {
            return Ok(value);
        }
        let name = if convert.is_some() { "convert" } else { "bitcast" };
        Ok(Expr::Helper(name, vec![TemplateArg::Type(Type::Scalar(to))], vec![value]))
    }
}
