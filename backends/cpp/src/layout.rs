//! Types of a module in C++, with the layout that WGSL gives them.

use naga::proc::{Layouter, NameKey, TypeResolution};
use naga::{ArraySize, Handle, Module, Span, TypeInner};

use crate::code::{Field, Struct, Type};
use crate::ir;
use crate::names::Names;
use crate::refusal::{At, Refusal, Result};

/// Finds how types are written.
pub(crate) struct Layout<'a> {
    module: &'a Module,
    names: &'a Names,
    layouter: Layouter,
    /// For each type, whether some of its bytes are padding: stores must leave those alone.
    holes: Vec<bool>,
    /// For each type, whether it has atomics in it.
    atomics: Vec<bool>,
}

impl<'a> Layout<'a> {
    pub(crate) fn new(module: &'a Module, names: &'a Names) -> Result<Self> {
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).map_err(|error| Refusal { span: Span::default(), text: error.to_string() })?;
        let mut layout = Self { module, names, layouter, holes: Vec::new(), atomics: Vec::new() };
        // A type stands after those that it is made of.
        for (handle, ty) in module.types.iter() {
            ir::check_type(&ty.inner).at(module.types.get_span(handle))?;
            let holes = layout.find_holes(&ty.inner);
            layout.holes.push(holes);
            let atomic = match &ty.inner {
                TypeInner::Atomic(_) => true,
                TypeInner::Array { base, .. } => layout.has_atomics(*base),
                TypeInner::Struct { members, .. } => members.iter().any(|member| layout.has_atomics(member.ty)),
                _ => false,
            };
            layout.atomics.push(atomic);
        }
        Ok(layout)
    }

    fn find_holes(&self, ty: &TypeInner) -> bool {
        match ty {
            TypeInner::Matrix { rows, .. } => *rows == naga::VectorSize::Tri,
            TypeInner::Array { base, .. } => self.has_holes(*base) || self.handle_is_padded(*base),
            TypeInner::Struct { members, .. } => {
                let members_holes = members.iter().any(|member| self.has_holes(member.ty));
                let mut end = 0;
                let gaps = members.iter().any(|member| {
                    let gap = member.offset > end;
                    end = member.offset + self.size(member.ty);
                    gap
                });
                members_holes || gaps || self.size_of(ty) > end
            }
            _ => false,
        }
    }

    fn handle_is_padded(&self, handle: Handle<naga::Type>) -> bool {
        matches!(self.module.types[handle].inner, TypeInner::Vector { size: naga::VectorSize::Tri, .. })
    }

    /// Whether some bytes of a type are padding.
    pub(crate) fn has_holes(&self, handle: Handle<naga::Type>) -> bool {
        self.holes.get(handle.index()).copied().unwrap_or(false)
    }

    /// Whether a type has atomics in it.
    pub(crate) fn has_atomics(&self, handle: Handle<naga::Type>) -> bool {
        self.atomics.get(handle.index()).copied().unwrap_or(false)
    }

    fn size_of(&self, ty: &TypeInner) -> u32 {
        ty.size(self.module.to_ctx())
    }

    fn size(&self, handle: Handle<naga::Type>) -> u32 {
        self.size_of(&self.module.types[handle].inner)
    }

    /// The type of an expression.
    pub(crate) fn resolved(&self, ty: &TypeResolution) -> Result<Type> {
        match ty {
            TypeResolution::Handle(handle) => self.ty(*handle),
            TypeResolution::Value(inner) => self.inner(inner, Span::default()),
        }
    }

    /// A declared type.
    pub(crate) fn ty(&self, handle: Handle<naga::Type>) -> Result<Type> {
        match &self.module.types[handle].inner {
            TypeInner::Struct { .. } => Ok(Type::Named(self.names.of(NameKey::Type(handle)))),
            inner => self.inner(inner, self.module.types.get_span(handle)),
        }
    }

    fn inner(&self, inner: &TypeInner, span: Span) -> Result<Type> {
        ir::check_type(inner).at(span)?;
        Ok(match inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => Type::Scalar(ir::scalar(*scalar).at(span)?),
            TypeInner::Vector { size, scalar } => Type::Vector(ir::scalar(*scalar).at(span)?, u32::from(*size as u8)),
            TypeInner::Matrix { columns, rows, scalar } => {
                Type::Matrix(ir::scalar(*scalar).at(span)?, u32::from(*columns as u8), u32::from(*rows as u8))
            }
            TypeInner::Array { base, size: ArraySize::Constant(len), .. } => {
                Type::Array(Box::new(self.ty(*base)?), len.get())
            }
            TypeInner::Pointer { base, .. } => self.ty(*base)?,
            TypeInner::ValuePointer { size: None, scalar, .. } => Type::Scalar(ir::scalar(*scalar).at(span)?),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
                Type::Vector(ir::scalar(*scalar).at(span)?, u32::from(*size as u8))
            }
            // A struct has a name wherever it is met, and an array without a length is never a value.
            _ => return Err(Refusal { span, text: "a value of a type that has no size; index it".to_owned() }),
        })
    }

    /// The declaration of a struct, members at their offsets. A runtime-sized array at its end is left out: it is reached
    /// by its offset.
    pub(crate) fn structure(&self, handle: Handle<naga::Type>) -> Result<Option<Struct>> {
        let TypeInner::Struct { members, span } = &self.module.types[handle].inner else { return Ok(None) };
        let align = self.layouter[handle].alignment * 1u32;
        let name = self.names.of(NameKey::Type(handle));
        if !span.is_multiple_of(align) {
            return Ok(Some(Struct { name, align: 1, size: None, fields: self.result_fields(handle, members)? }));
        }
        let mut fields = Vec::new();
        let (mut end, mut paddings) = (0, 0);
        let mut pad = |fields: &mut Vec<Field>, bytes: u32| {
            if bytes > 0 {
                fields.push(Field::Padding { bytes, number: paddings });
                paddings += 1;
            }
        };
        let mut open = false;
        for (index, member) in (0..).zip(members) {
            pad(&mut fields, member.offset - end);
            if self.is_runtime_sized(member.ty) {
                open = true;
                break;
            }
            let name = self.names.of(NameKey::StructMember(handle, index));
            fields.push(Field::Member { ty: self.ty(member.ty)?, name, offset: Some(member.offset) });
            end = member.offset + self.size(member.ty);
        }
        if !open {
            pad(&mut fields, span.saturating_sub(end));
        }
        Ok(Some(Struct { name, align, size: (!open).then_some(*span), fields }))
    }

    /// The members of what a builtin gives back. It is never in memory that others see, and naga lays it out as it likes.
    fn result_fields(&self, handle: Handle<naga::Type>, members: &[naga::StructMember]) -> Result<Vec<Field>> {
        let member = |(index, member): (u32, &naga::StructMember)| {
            let name = self.names.of(NameKey::StructMember(handle, index));
            Ok(Field::Member { ty: self.ty(member.ty)?, name, offset: None })
        };
        (0..).zip(members).map(member).collect()
    }

    pub(crate) fn is_runtime_sized(&self, handle: Handle<naga::Type>) -> bool {
        matches!(self.module.types[handle].inner, TypeInner::Array { size: ArraySize::Dynamic, .. })
    }

    /// The bytes of a workgroup variable of this type, in a struct that aligns each to 16.
    pub(crate) fn shared_bytes(&self, handle: Handle<naga::Type>) -> u32 {
        self.size(handle).next_multiple_of(16)
    }
}
