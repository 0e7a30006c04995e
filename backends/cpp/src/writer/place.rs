//! Places in memory, and parts of values, which C++ writes alike.

use naga::proc::NameKey;
use naga::proc::index::{GuardedIndex, IndexableLength, access_needs_check};
use naga::{Expression, Handle, TypeInner};

use super::body::Body;
use crate::code::{Expr, TemplateArg};
use crate::ir::Space;
use crate::options::{Bounds, Removed};
use crate::refusal::{At, Refusal, Result};

/// What an expression names.
pub(crate) enum Place {
    /// A variable, a value, or a part of one.
    Whole(Expr),
    /// A runtime-sized array: a pointer to its first element, and whether elements are in slots.
    Open { first: Expr, padded: bool },
}

const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

impl Body<'_> {
    /// The place or value that an expression names.
    pub(crate) fn place(&self, handle: Handle<Expression>) -> Result<Place> {
        match &self.named[handle.index()] {
            Some(name) => Ok(Place::Whole(Expr::name(name.clone()))),
            None => self.unnamed_place(handle),
        }
    }

    /// The place or value that an expression names, from its operands: its own variable may be declared and hold nothing yet.
    fn unnamed_place(&self, handle: Handle<Expression>) -> Result<Place> {
        match self.function.expressions[handle] {
            Expression::Access { base, index } => self.element(handle, base, index),
            Expression::AccessIndex { base, index } => self.part(handle, base, index),
            Expression::GlobalVariable(global) => {
                let value = self.globals[global.index()].clone();
                let is_array = self.writer.globals[global.index()].is_array;
                let padded = matches!(self.writer.globals[global.index()].ty, crate::code::Type::Slot(_));
                Ok(if is_array { Place::Open { first: value, padded } } else { Place::Whole(value) })
            }
            Expression::LocalVariable(local) => Ok(Place::Whole(Expr::name(self.local(local)))),
            Expression::FunctionArgument(index) => Ok(Place::Whole(self.arguments[index as usize].clone())),
            _ => self.compute(handle).map(Place::Whole),
        }
    }

    /// A place that is no runtime-sized array.
    pub(crate) fn whole(&self, handle: Handle<Expression>) -> Result<Expr> {
        self.only_whole(handle, self.place(handle)?)
    }

    /// As [`Body::whole`], from the operands.
    pub(crate) fn unnamed_whole(&self, handle: Handle<Expression>) -> Result<Expr> {
        self.only_whole(handle, self.unnamed_place(handle)?)
    }

    fn only_whole(&self, handle: Handle<Expression>, place: Place) -> Result<Expr> {
        match place {
            Place::Whole(expr) => Ok(expr),
            Place::Open { .. } => {
                Err(Refusal { span: self.span(handle), text: "a runtime-sized array is no value; index it".to_owned() })
            }
        }
    }

    fn element(
        &self,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<Place> {
        let place = self.place(base)?;
        let value = self.value(index)?;
        let index = match self.inner(base) {
            // A component is chosen by comparison, and every number but those of the others means the last.
            TypeInner::Vector { .. } | TypeInner::ValuePointer { size: Some(_), .. } => value,
            _ => self.checked(handle, base, GuardedIndex::Expression(index), value)?,
        };
        Ok(Place::Whole(indexed(place, index)))
    }

    fn part(&self, handle: Handle<Expression>, base: Handle<Expression>, index: u32) -> Result<Place> {
        match self.inner(base) {
            TypeInner::Vector { .. } | TypeInner::ValuePointer { .. } => {
                let component = COMPONENTS.get(index as usize).copied().unwrap_or("x");
                Ok(Place::Whole(self.whole(base)?.member(component)))
            }
            TypeInner::Struct { members, .. } => self.member(base, members, index),
            TypeInner::Array { size: naga::ArraySize::Dynamic, .. } => {
                let place = self.place(base)?;
                let value = Expr::Literal(format!("{index}u"));
                let index = self.checked(handle, base, GuardedIndex::Known(index), value)?;
                Ok(Place::Whole(indexed(place, index)))
            }
            _ => Ok(Place::Whole(self.whole(base)?.index(Expr::Literal(format!("{index}u"))))),
        }
    }

    fn member(&self, base: Handle<Expression>, members: &[naga::StructMember], index: u32) -> Result<Place> {
        let types = &self.writer.module.types;
        let value = self.whole(base)?;
        let member = members.get(index as usize);
        if let Some(open) = member.filter(|member| self.writer.layout.is_runtime_sized(member.ty)) {
            let TypeInner::Array { base: element, .. } = types[open.ty].inner else { return Ok(Place::Whole(value)) };
            let of = vec![TemplateArg::Type(self.writer.layout.ty(element)?)];
            // `*pointer` is the struct; its array lies so many bytes after the pointer.
            let pointer = match value {
                Expr::Unary("*", pointer) => *pointer,
                other => Expr::Unary("&", Box::new(other)),
            };
            let first = Expr::Helper("tail", of, vec![pointer, Expr::Literal(format!("{}u", open.offset))]);
            return Ok(Place::Open { first, padded: true });
        }
        let handle = self.declared_type(base).ok_or("a struct without a name").at(self.span(base))?;
        Ok(Place::Whole(value.member(self.writer.names.of(NameKey::StructMember(handle, index)))))
    }

    /// An index that is in range: as it is where that is known, else brought to the last element.
    fn checked(
        &self,
        access: Handle<Expression>,
        base: Handle<Expression>,
        index: GuardedIndex,
        value: Expr,
    ) -> Result<Expr> {
        let needed = access_needs_check(base, index, self.writer.module, &self.function.expressions, self.info);
        let Some(length) = needed else { return Ok(value) };
        if matches!(self.writer.options.bounds, Bounds::Unchecked(_)) {
            return Ok(value);
        }
        let length = match length {
            IndexableLength::Known(length) => Expr::Literal(format!("{length}u")),
            IndexableLength::Dynamic => self.length_of(base)?,
        };
        if self.writer.proven.access(self.handle, access) {
            match self.writer.options.removed {
                Removed::Kept => {}
                Removed::Dropped => return Ok(value),
                Removed::Asserted => return Ok(Expr::helper("proven", [value, length])),
            }
        }
        Ok(Expr::helper("index", [value, length]))
    }

    /// The number of elements of the runtime-sized array that a pointer leads to.
    pub(crate) fn length_of(&self, pointer: Handle<Expression>) -> Result<Expr> {
        let global = self.function.originating_global(pointer);
        let length = global.and_then(|global| self.writer.globals[global.index()].length.clone());
        length.map(Expr::name).ok_or("the length of what is no buffer").at(self.span(pointer))
    }

    /// What a pointer leads to and where: its space, and whether others see each access as it is made.
    pub(crate) fn space_of(&self, pointer: Handle<Expression>) -> (Space, bool) {
        match self.function.originating_global(pointer) {
            Some(global) => {
                let global = &self.writer.globals[global.index()];
                (global.space, global.is_volatile)
            }
            None => (Space::Function, false),
        }
    }
}

fn indexed(place: Place, index: Expr) -> Expr {
    match place {
        Place::Whole(base) => base.index(index),
        Place::Open { first, padded: false } => first.index(index),
        Place::Open { first, padded: true } => first.index(index).member("v"),
    }
}
