//! Values made from parts, and constant ones, which stand in tables where they are large.

use naga::valid::FunctionInfo;
use naga::{Arena, Expression, Handle, TypeInner};

use super::Writer;
use super::body::Body;
use super::literal::{literal, zero};
use crate::code::{Expr, Field, Item, TemplateArg, Type};
use crate::refusal::{At, Result};

/// Elements from which a constant array within a function becomes a table: shorter ones live in registers.
const TABLE_MIN: usize = 5;

impl Body<'_> {
    /// A value of a type from its parts.
    pub(crate) fn composed(
        &self,
        handle: Handle<Expression>,
        ty: Handle<naga::Type>,
        components: &[Handle<Expression>],
    ) -> Result<Expr> {
        let writer = self.writer;
        match (&writer.module.types[ty].inner, writer.layout.ty(ty)?) {
            (TypeInner::Array { .. }, made) if components.len() >= TABLE_MIN && self.is_constant(handle) => {
                self.table(handle, made)
            }
            (_, Type::Vector(scalar, size)) if components.len() < size as usize => {
                let of = vec![TemplateArg::Type(Type::Scalar(scalar)), TemplateArg::Number(size)];
                Ok(Expr::Helper("vec_of", of, self.values(components)?))
            }
            _ => writer.make(ty, self.values(components)?),
        }
    }

    fn values(&self, handles: &[Handle<Expression>]) -> Result<Vec<Expr>> {
        handles.iter().map(|handle| self.value(*handle)).collect()
    }

    /// Whether an expression has one value, which is known.
    fn is_constant(&self, handle: Handle<Expression>) -> bool {
        let mut open = vec![handle];
        while let Some(handle) = open.pop() {
            match &self.function.expressions[handle] {
                Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => {}
                Expression::Compose { components, .. } => open.extend(components),
                Expression::Splat { value, .. } => open.push(*value),
                _ => return false,
            }
        }
        true
    }

    /// The table of a constant array.
    fn table(&self, handle: Handle<Expression>, ty: Type) -> Result<Expr> {
        let writer = self.writer;
        let key = (self.handle, handle);
        if let Some(name) = writer.promoted.borrow().get(&key) {
            return Ok(Expr::name(name.clone()));
        }
        let source = Source { arena: &self.function.expressions, info: Some(self.info) };
        let value = writer.constant_of(&source, handle)?;
        let name = writer.names.fresh("table");
        writer.tables.borrow_mut().push(Item::Table(ty, name.clone(), value));
        writer.promoted.borrow_mut().insert(key, name.clone());
        Ok(Expr::name(name))
    }
}

/// Where constant expressions stand: in the module, or in a function.
struct Source<'s> {
    arena: &'s Arena<Expression>,
    info: Option<&'s FunctionInfo>,
}

impl Writer<'_> {
    /// A value of a type from all its components, elements, columns or members.
    pub(crate) fn make(&self, ty: Handle<naga::Type>, parts: Vec<Expr>) -> Result<Expr> {
        let made = self.layout.ty(ty)?;
        Ok(match made {
            Type::Array(..) | Type::Matrix(..) => {
                let parts = parts.into_iter().map(|part| Expr::Braces(vec![part])).collect();
                Expr::Make(made, vec![Expr::Braces(parts)])
            }
            Type::Named(_) => {
                let mut parts = parts.into_iter();
                let fields = self.layout.structure(ty)?.map(|structure| structure.fields).unwrap_or_default();
                let field = |field: &Field| match field {
                    Field::Member { .. } => parts.next(),
                    Field::Padding { .. } => Some(Expr::Braces(Vec::new())),
                };
                Expr::Make(made, fields.iter().filter_map(field).collect())
            }
            _ => Expr::Make(made, parts),
        })
    }

    /// A constant expression of the module.
    pub(crate) fn constant_expression(&self, handle: Handle<Expression>) -> Result<Expr> {
        self.constant_of(&self.module_source(), handle)
    }

    fn module_source(&self) -> Source<'_> {
        Source { arena: &self.module.global_expressions, info: None }
    }

    fn constant_type(&self, source: &Source<'_>, handle: Handle<Expression>) -> Result<Type> {
        self.layout.resolved(source.info.map_or_else(|| &self.info[handle], |info| &info[handle].ty))
    }

    /// A constant expression: what C++ initialises before any kernel runs.
    fn constant_of(&self, source: &Source<'_>, handle: Handle<Expression>) -> Result<Expr> {
        let span = source.arena.get_span(handle);
        match &source.arena[handle] {
            Expression::Literal(value) => literal(*value),
            Expression::Constant(constant) => self.constant_expression(self.module.constants[*constant].init),
            Expression::ZeroValue(ty) => Ok(zero(&self.layout.ty(*ty)?)),
            Expression::Compose { ty, components } => {
                let parts = match self.module.types[*ty].inner {
                    TypeInner::Vector { .. } => self.constant_scalars(source, components)?,
                    _ => components.iter().map(|part| self.constant_of(source, *part)).collect::<Result<_>>()?,
                };
                self.make(*ty, parts)
            }
            Expression::Splat { .. } => {
                let parts = self.constant_scalars(source, &[handle])?;
                Ok(Expr::Make(self.constant_type(source, handle)?, parts))
            }
            _ => Err("constants that no literal can say").at(span),
        }
    }

    /// The scalars of constant scalars and vectors, in order.
    fn constant_scalars(&self, source: &Source<'_>, handles: &[Handle<Expression>]) -> Result<Vec<Expr>> {
        let mut scalars = Vec::new();
        for handle in handles {
            match &source.arena[*handle] {
                Expression::Compose { components, .. } => scalars.extend(self.constant_scalars(source, components)?),
                Expression::Splat { size, value } => {
                    let value = self.constant_of(source, *value)?;
                    scalars.extend(std::iter::repeat_n(value, *size as usize));
                }
                Expression::ZeroValue(ty) => match self.layout.ty(*ty)? {
                    Type::Vector(scalar, size) => {
                        scalars.extend(std::iter::repeat_n(zero(&Type::Scalar(scalar)), size as usize));
                    }
                    other => scalars.push(zero(&other)),
                },
                Expression::Constant(constant) => {
                    let init = self.module.constants[*constant].init;
                    scalars.extend(self.constant_scalars(&self.module_source(), &[init])?);
                }
                _ => scalars.push(self.constant_of(source, *handle)?),
            }
        }
        Ok(scalars)
    }
}
