//! Variables and pointers into them: what is read, what is written, and what is forgotten.

use naga::{AddressSpace, Expression, GlobalVariable, Handle, TypeInner};

use super::build::{Builder, Slots, Value};
use super::graph::{Question, Root, root};
use super::interval::Interval;
use super::scope::ScopeId;
use super::term::{Op, Sym, Way};

/// What a pointer points to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Scalars of local variables.
    Local(Slots),
    /// One of these scalars, it is not known which.
    OneOf(Slots),
    /// Scalars of the immediates, which never change.
    Immediate(Handle<GlobalVariable>, Slots),
    /// Something that is not followed, and that no scalar which is followed lies in.
    Elsewhere,
}

impl Builder<'_> {
    /// A pointer to a global variable. Of all memory, immediates alone are sure to have no other name under which they are written.
    pub(super) fn global(&self, variable: Handle<GlobalVariable>) -> Place {
        let declared = &self.source.module.global_variables[variable];
        let len = self.source.shapes.of(declared.ty).len();
        match declared.space {
            AddressSpace::Immediate if len > 0 => Place::Immediate(variable, Slots { first: 0, len }),
            _ => Place::Elsewhere,
        }
    }

    /// A part of what a pointer points to.
    pub(super) fn part_of(&self, place: Place, inner: &TypeInner, index: u32) -> Place {
        let (Place::Local(slots) | Place::Immediate(_, slots)) = place else { return Place::Elsewhere };
        let part = match self.source.shapes.part(self.source.pointed(inner), index) {
            Some((_, 0)) => return Place::Elsewhere,
            Some((before, len)) if before + len <= slots.len => Slots { first: slots.first + before, len },
            _ if matches!(place, Place::Local(_)) => return Place::OneOf(slots),
            _ => return Place::Elsewhere,
        };
        match place {
            Place::Immediate(variable, _) => Place::Immediate(variable, part),
            _ => Place::Local(part),
        }
    }

    /// A part of what a pointer points to, by an index that is not known.
    pub(super) fn some_part_of(&self, place: Place, inner: &TypeInner) -> Place {
        match (place, self.source.pointed(inner)) {
            (Place::Local(slots), TypeInner::Vector { .. }) => Place::OneOf(slots),
            _ => Place::Elsewhere,
        }
    }

    pub(super) fn load(&mut self, expression: Handle<Expression>, pointer: Handle<Expression>) {
        let len = self.scalars_in(expression).len();
        let place = match self.values[pointer.index()] {
            Value::Place(place) => place,
            _ => Place::Elsewhere,
        };
        match place {
            Place::Local(slots) if slots.len == len => {
                let scalars = (slots.first..slots.first + len).map(|slot| self.now(slot)).collect();
                self.set(expression, scalars);
            }
            Place::OneOf(slots) if len == 1 => {
                let ways = (slots.first..slots.first + slots.len).map(|slot| self.now(slot)).collect::<Vec<_>>();
                let one = self.one_of(&ways);
                self.set(expression, vec![one]);
            }
            Place::Immediate(variable, slots) if slots.len == len => {
                let mut scalars = Vec::new();
                for (at, scalar) in self.scalars_in(expression).into_iter().enumerate() {
                    let op = Op::Immediate(variable, (slots.first + at) as u32);
                    scalars.push(self.terms.make(op, &[], scalar, ScopeId::ROOT));
                }
                self.set(expression, scalars);
            }
            _ => self.forget(expression),
        }
    }

    pub(super) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) {
        match self.values[pointer.index()] {
            Value::Place(Place::Local(slots)) => match self.scalars_of(value, slots.len) {
                Some(scalars) => {
                    scalars.into_iter().enumerate().for_each(|(at, scalar)| self.assign(slots.first + at, scalar));
                }
                None => self.lose(slots),
            },
            Value::Place(Place::OneOf(slots)) => self.lose(slots),
            Value::Place(Place::Elsewhere | Place::Immediate(..)) => {}
            Value::Nothing | Value::Scalars(_) => {
                if let Root::Local(variable) = root(self.function, pointer) {
                    self.lose(self.slots(variable));
                }
            }
        }
    }

    /// Nothing is known any more of some scalars.
    pub(super) fn lose(&mut self, slots: Slots) {
        for slot in slots.first..slots.first + slots.len {
            let scalar = self.slot_scalar(slot);
            let unknown = self.terms.unknown(Interval::of(scalar), scalar, self.scope);
            self.assign(slot, unknown);
        }
    }

    /// One of some values, it is not known which.
    pub(super) fn one_of(&mut self, values: &[Sym]) -> Sym {
        let ways = values.iter().map(|value| Way { value: *value, scope: self.scope }).collect();
        self.joined(ways, self.scope)
    }

    /// Whether a value of this type is an array whose length only the binding says.
    pub(super) fn is_runtime(&self, base: Handle<Expression>) -> bool {
        let inner = self.info[base].ty.inner_with(&self.source.module.types);
        matches!(self.source.pointed(inner), TypeInner::Array { size: naga::ArraySize::Dynamic, .. })
    }

    /// Ask whether an index is in range.
    pub(super) fn ask_index(&mut self, expression: Handle<Expression>, base: Handle<Expression>, index: Sym) {
        let inner = self.info[base].ty.inner_with(&self.source.module.types);
        let length = match self.source.pointed(inner) {
            TypeInner::Array { size: naga::ArraySize::Constant(length), .. } => Some(length.get()),
            TypeInner::Vector { size, .. } | TypeInner::ValuePointer { size: Some(size), .. } => Some(*size as u32),
            TypeInner::Matrix { columns, .. } => Some(*columns as u32),
            TypeInner::Array { size: naga::ArraySize::Dynamic, .. } => None,
            _ => return,
        };
        match (length, root(self.function, base)) {
            (Some(length), _) => self.ask(expression, Question::Index { index, length }),
            (None, Root::Global(variable)) => {
                let length = self.length_of(variable);
                self.ask(expression, Question::Runtime { index, length });
            }
            _ => {}
        }
    }

    /// The length of the runtime-sized array in a binding.
    pub(super) fn length_of(&mut self, variable: Handle<GlobalVariable>) -> Sym {
        self.terms.make(Op::Length(variable), &[], naga::Scalar::U32, ScopeId::ROOT)
    }
}
