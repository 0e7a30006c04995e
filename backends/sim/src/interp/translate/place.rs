//! Pointers: known here but for what dynamic indexes add to them.

use naga::{Expression, Handle, TypeInner};

use super::GlobalPlace;
use super::body::Body;
use super::value::Value;
use crate::interp::access;
use crate::interp::inst::Inst;
use crate::interp::layout::Elements;
use crate::interp::refusal::{Refusal, unsupported};

/// Which memory a pointer is into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// The slots of the invocation.
    Lane,
    /// The slots of the workgroup.
    Group,
    /// The bytes of a binding.
    Buffer(u32),
}

/// Where a pointer points: `base`, plus what the slot `dynamic` holds (slot 0 holds zero).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) space: Space,
    pub(super) base: u32,
    pub(super) dynamic: u32,
    /// The number of the variable's name.
    pub(super) name: u32,
}

impl Place {
    /// Slots of the invocation that are known here.
    pub(super) fn fixed(&self) -> Option<u32> {
        (self.space == Space::Lane && self.dynamic == 0).then_some(self.base)
    }
}

impl Body<'_, '_> {
    pub(super) fn place(&self, pointer: Handle<Expression>) -> Result<Place, Refusal> {
        match self.values[pointer.index()] {
            Value::Place(place) => Ok(place),
            _ => Err(unsupported("a pointer of a kind that the simulator does not know")),
        }
    }

    pub(super) fn global(&self, index: usize) -> Result<Place, Refusal> {
        let name = self.t.global_names[index];
        let (space, base) = match self.t.globals[index] {
            GlobalPlace::Lane(slot) => (Space::Lane, slot),
            GlobalPlace::Group(slot) => (Space::Group, slot),
            GlobalPlace::Buffer(binding) => (Space::Buffer(binding), 0),
            GlobalPlace::Unused => return Err(unsupported("a variable that is no buffer")),
        };
        Ok(Place { space, base, dynamic: 0, name })
    }

    /// Whether a type is a pointer's, and what it points to.
    pub(super) fn pointee(&self, pointer: Handle<Expression>) -> Option<TypeInner> {
        match *self.inner(pointer) {
            TypeInner::Pointer { base, .. } => Some(self.t.module.types[base].inner.clone()),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => Some(TypeInner::Vector { size, scalar }),
            TypeInner::ValuePointer { size: None, scalar, .. } => Some(TypeInner::Scalar(scalar)),
            _ => None,
        }
    }

    /// A pointer to a part that is known here.
    pub(super) fn part_of(&mut self, base: Handle<Expression>, index: u32) -> Result<Value, Refusal> {
        let place = self.place(base)?;
        let pointee = self.pointee(base).ok_or_else(|| unsupported("a part of what is no pointer"))?;
        let elements = self.t.layout.elements(&pointee);
        if let Some(elements @ Elements { count: None, .. }) = elements
            && index > 0
        {
            // The bound buffer says whether there is such an element.
            let number = self.number(u64::from(index));
            return self.runtime_element(place, elements, number);
        }
        let part = self.t.layout.part(&pointee, index).ok_or_else(|| unsupported("a part of a type without parts"))?;
        let offset = if matches!(place.space, Space::Buffer(_)) { part.bytes } else { part.slots };
        Ok(Value::Place(Place { base: place.base + offset, ..place }))
    }

    /// A pointer to the element at an index that is known only when the kernel runs.
    pub(super) fn element_of(&mut self, base: Handle<Expression>, index: Handle<Expression>) -> Result<Value, Refusal> {
        let place = self.place(base)?;
        let pointee = self.pointee(base).ok_or_else(|| unsupported("an element of what is no pointer"))?;
        let elements =
            self.t.layout.elements(&pointee).ok_or_else(|| unsupported("an element of a type without any"))?;
        let index = self.slot(index)?;
        let Some(count) = elements.count else { return self.runtime_element(place, elements, index) };
        let stride = if matches!(place.space, Space::Buffer(_)) { elements.bytes } else { elements.slots };
        let dst = self.temp(1)?;
        let inst = Inst { dst, a: index, b: count, c: place.dynamic, n: stride, m: 0, run: access::INDEX };
        self.index_inst(inst, false, place.name);
        Ok(Value::Place(Place { dynamic: dst, ..place }))
    }

    fn runtime_element(&mut self, place: Place, elements: Elements, index: u32) -> Result<Value, Refusal> {
        let Space::Buffer(binding) = place.space else {
            return Err(unsupported("a runtime-sized array outside of a buffer"));
        };
        let dst = self.temp(1)?;
        let run = access::INDEX_RUNTIME;
        self.index_inst(Inst { dst, a: index, b: binding, c: 0, n: elements.bytes, m: 0, run }, true, place.name);
        Ok(Value::Place(Place { dynamic: dst, ..place }))
    }
}
