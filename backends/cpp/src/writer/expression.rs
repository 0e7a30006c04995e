//! Expressions of a function.

use naga::{Expression, Handle, SwizzleComponent, TypeInner};

use super::body::Body;
use super::literal::{literal, zero};
use crate::code::{Expr, TemplateArg, Type};
use crate::ir;
use crate::refusal::{At, Result};

impl Body<'_> {
    /// An expression where it is used: its variable, if it has one.
    pub(crate) fn value(&self, handle: Handle<Expression>) -> Result<Expr> {
        match &self.named[handle.index()] {
            Some(name) => Ok(Expr::name(name.clone())),
            None => self.compute(handle),
        }
    }

    /// An expression from its operands.
    pub(crate) fn compute(&self, handle: Handle<Expression>) -> Result<Expr> {
        let span = self.span(handle);
        Ok(match &self.function.expressions[handle] {
            Expression::Literal(value) => {
                literal(*value).map_err(|refused| crate::refusal::Refusal { span, ..refused })?
            }
            Expression::Constant(constant) => self.writer.constant(*constant)?,
            Expression::ZeroValue(ty) => zero(&self.writer.layout.ty(*ty)?),
            Expression::Compose { ty, components } => self.composed(handle, *ty, components)?,
            Expression::Access { .. }
            | Expression::AccessIndex { .. }
            | Expression::GlobalVariable(_)
            | Expression::LocalVariable(_)
            | Expression::FunctionArgument(_) => self.unnamed_whole(handle)?,
            Expression::Splat { size, value } => {
                let scalar = self.scalar_of(*value).at(span)?;
                let of = vec![TemplateArg::Type(Type::Scalar(scalar)), TemplateArg::Number(*size as u32)];
                Expr::Helper("splat", of, vec![self.value(*value)?])
            }
            Expression::Swizzle { size, vector, pattern } => {
                let lane = |component: &SwizzleComponent| TemplateArg::Number(component.index());
                let of = pattern.iter().take(*size as usize).map(lane).collect();
                Expr::Helper("swizzle", of, vec![self.value(*vector)?])
            }
            Expression::Load { pointer } => self.load(*pointer)?,
            Expression::Unary { op, expr } => self.unary(*op, *expr)?,
            Expression::Binary { op, left, right } => self.binary(handle, *op, *left, *right)?,
            Expression::Select { condition, accept, reject } => self.select(*condition, *accept, *reject)?,
            Expression::Relational { fun, argument } => {
                Expr::helper(ir::relational(*fun).at(span)?, [self.value(*argument)?])
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let (name, is_struct) = ir::math(*fun).at(span)?;
                let args = [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten();
                let args = args.map(|arg| self.value(arg)).collect::<Result<Vec<_>>>()?;
                let of = if is_struct { vec![TemplateArg::Type(self.ty(handle)?)] } else { Vec::new() };
                Expr::Helper(name, of, args)
            }
            Expression::As { expr, kind, convert } => self.converted(handle, *expr, *kind, *convert)?,
            Expression::ArrayLength(pointer) => self.length_of(*pointer)?,
            other => {
                ir::operands(other).at(span)?;
                return Err("a result before the operation that gives it").at(span);
            }
        })
    }

    /// The prelude's name of the scalar that a value is made of.
    pub(crate) fn scalar_of(&self, handle: Handle<Expression>) -> std::result::Result<&'static str, ir::Refused> {
        match self.inner(handle) {
            TypeInner::Scalar(scalar)
            | TypeInner::Vector { scalar, .. }
            | TypeInner::Matrix { scalar, .. }
            | TypeInner::Atomic(scalar)
            | TypeInner::ValuePointer { scalar, .. } => ir::scalar(*scalar),
            _ => Err("arithmetic on what has no components"),
        }
    }

    pub(crate) fn is_scalar(&self, handle: Handle<Expression>) -> bool {
        matches!(self.inner(handle), TypeInner::Scalar(_))
    }

    fn load(&self, pointer: Handle<Expression>) -> Result<Expr> {
        let place = self.whole(pointer)?;
        let volatile = self.space_of(pointer).1;
        Ok(match self.inner(pointer) {
            TypeInner::Atomic(_) => Expr::helper("atomic_load", [place]),
            TypeInner::Scalar(_) | TypeInner::Vector { .. } | TypeInner::ValuePointer { .. } if volatile => {
                Expr::helper("volatile_load", [place])
            }
            _ => place,
        })
    }

    fn select(
        &self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<Expr> {
        let values = [self.value(condition)?, self.value(accept)?, self.value(reject)?];
        if self.is_scalar(condition) {
            return Ok(Expr::Conditional(Box::new(values)));
        }
        let [condition, accept, reject] = values;
        Ok(Expr::helper("select", [reject, accept, condition]))
    }
}
