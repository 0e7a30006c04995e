//! Loads, stores, atomic operations and lengths of arrays.

use naga::{AtomicFunction, Expression, Handle, TypeInner};

use super::body::Body;
use super::place::{Place, Space};
use super::value::Value;
use crate::interp::access;
use crate::interp::inst::{Inst, Run};
use crate::interp::layout::{Shape, kind};
use crate::interp::ops;
use crate::interp::program::Wait;
use crate::interp::refusal::{Refusal, unsupported};

/// The same access to each memory.
struct ByWidth {
    word: Run,
    run: Run,
    shape: Run,
}

const LOADS: ByWidth = ByWidth { word: access::WORD_LOAD, run: access::RUN_LOAD, shape: access::SHAPE_LOAD };
const STORES: ByWidth = ByWidth { word: access::WORD_STORE, run: access::RUN_STORE, shape: access::SHAPE_STORE };

impl Body<'_, '_> {
    /// A pointer and what it points to.
    fn target(&mut self, pointer: Handle<Expression>) -> Result<(Place, TypeInner), Refusal> {
        self.ready(pointer)?;
        let place = self.place(pointer)?;
        let pointee = self.pointee(pointer).ok_or_else(|| unsupported("an access through what is no pointer"))?;
        Ok((place, pointee))
    }

    pub(super) fn load(&mut self, handle: Handle<Expression>, pointer: Handle<Expression>) -> Result<(), Refusal> {
        let (place, pointee) = self.target(pointer)?;
        let n = self.len(handle)?;
        if let Some(slot) = place.fixed() {
            self.set(handle, slot, n);
            return Ok(());
        }
        let once = self.is_used_once(pointer);
        let dst = self.temp(n)?;
        match self.indexed_load(dst, place, &pointee).filter(|_| once) {
            Some(inst) => self.replace_last_value(inst),
            None => self.load_to(dst, n, place, &pointee)?,
        }
        self.set(handle, dst, n);
        Ok(())
    }

    /// The index just made and a load of one scalar as one instruction.
    fn indexed_load(&self, dst: u32, place: Place, pointee: &TypeInner) -> Option<Inst> {
        let (index, runtime) = self.last_index(place.dynamic)?;
        let TypeInner::Scalar(scalar) = pointee else { return None };
        let run = match place.space {
            Space::Lane => access::LANE_LOAD_AT,
            Space::Group => access::GROUP_LOAD_AT,
            Space::Buffer(_) if runtime && scalar.width == 4 => access::WORD_LOAD_AT,
            Space::Buffer(_) => return None,
        };
        Some(Inst { dst, m: place.base, run, ..index })
    }

    fn load_to(&mut self, dst: u32, n: u32, place: Place, pointee: &TypeInner) -> Result<(), Refusal> {
        if let TypeInner::Atomic(scalar) = pointee {
            let inst = self.atomic_inst(place, dst, access::ATOMIC_LOAD, access::GROUP_ATOMIC_LOAD)?;
            self.inst(Inst { m: kind(*scalar)?.width(), ..inst });
            return Ok(());
        }
        let (b, c) = (place.base, place.dynamic);
        let inst = match place.space {
            Space::Lane if n == 1 => Inst { dst, a: 0, b, c, n, m: 0, run: access::LANE_LOAD_ONE },
            Space::Lane => Inst { dst, a: 0, b, c, n, m: 0, run: access::LANE_LOAD },
            Space::Group if n == 1 => Inst { dst, a: 0, b, c, n, m: 0, run: access::GROUP_LOAD_ONE },
            Space::Group => Inst { dst, a: 0, b, c, n, m: 0, run: access::GROUP_LOAD },
            Space::Buffer(binding) => self.buffer_inst((dst, binding, place), pointee, &LOADS)?,
        };
        self.value_inst(inst, n);
        Ok(())
    }

    /// An access to a binding in as few steps as its type allows.
    fn buffer_inst(
        &mut self,
        (dst, binding, place): (u32, u32, Place),
        pointee: &TypeInner,
        by_width: &ByWidth,
    ) -> Result<Inst, Refusal> {
        let inst = Inst { dst, a: binding, b: place.base, c: place.dynamic, n: 1, m: 0, run: by_width.word };
        Ok(match self.t.layout.shape(pointee)? {
            Shape::Run { width: 4, count: 1 } => inst,
            Shape::Run { width, count } => Inst { n: count, m: width, run: by_width.run, ..inst },
            shape => {
                let shapes = &mut self.t.tables.shapes;
                let known = shapes.iter().position(|known| *known == shape).unwrap_or_else(|| {
                    shapes.push(shape);
                    shapes.len() - 1
                });
                Inst { m: u32::try_from(known).expect("a text has fewer types"), run: by_width.shape, ..inst }
            }
        })
    }

    pub(super) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<(), Refusal> {
        let (place, pointee) = self.target(pointer)?;
        let n = self.t.layout.slots_of(&pointee)?;
        if let TypeInner::Atomic(_) = pointee {
            return self.atomic(pointer, AtomicFunction::Exchange { compare: None }, value, None);
        }
        if let Some(slot) = place.fixed() {
            self.unborrow(slot, n)?;
            return self.copy_to(value, slot, n);
        }
        if place.space == Space::Lane {
            self.unborrow_all()?;
        }
        let (dst, b, c) = (self.slot(value)?, place.base, place.dynamic);
        let inst = match place.space {
            Space::Lane if n == 1 => Inst { dst, a: 0, b, c, n, m: 0, run: access::LANE_STORE_ONE },
            Space::Lane => Inst { dst, a: 0, b, c, n, m: 0, run: access::LANE_STORE },
            Space::Group if n == 1 => Inst { dst, a: 0, b, c, n, m: 0, run: access::GROUP_STORE_ONE },
            Space::Group => Inst { dst, a: 0, b, c, n, m: 0, run: access::GROUP_STORE },
            Space::Buffer(binding) => self.buffer_inst((dst, binding, place), &pointee, &STORES)?,
        };
        self.inst(inst);
        Ok(())
    }

    fn atomic_inst(&self, place: Place, dst: u32, buffer: Run, group: Run) -> Result<Inst, Refusal> {
        let (b, c) = (place.base, place.dynamic);
        match place.space {
            Space::Buffer(a) => Ok(Inst { dst, a, b, c, n: 0, m: 0, run: buffer }),
            Space::Group => Ok(Inst { dst, a: 0, b, c, n: 0, m: 0, run: group }),
            Space::Lane => Err(unsupported("an atomic variable that no other invocation sees")),
        }
    }

    pub(super) fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<(), Refusal> {
        let (place, pointee) = self.target(pointer)?;
        let TypeInner::Atomic(scalar) = pointee else {
            return Err(unsupported("an atomic operation on a plain variable"));
        };
        let kind = kind(scalar)?;
        let value = self.slot(value)?;
        let compare = match fun {
            AtomicFunction::Exchange { compare: Some(compare) } => Some(self.slot(compare)?),
            _ => None,
        };
        // Old value and, after a comparison, whether it was exchanged; before, they are operands.
        let dst = self.temp(3)?;
        self.copy(dst + 1, value, 1);
        let inst = match compare {
            Some(comparand) => {
                self.copy(dst + 2, comparand, 1);
                self.atomic_inst(place, dst, access::ATOMIC_COMPARE, access::GROUP_ATOMIC_COMPARE)?
            }
            None => {
                let join = ops::two(ops::atomic(fun), kind);
                let join = join.ok_or_else(|| unsupported("an atomic operation that its type does not have"))?;
                self.t.tables.joins.push(join);
                let m = u32::try_from(self.t.tables.joins.len() - 1).expect("a text has fewer operations");
                Inst { m, ..self.atomic_inst(place, dst, access::ATOMIC_JOIN, access::GROUP_ATOMIC_JOIN)? }
            }
        };
        self.inst(Inst { n: kind.width(), ..inst });
        if let Some(result) = result {
            let len = self.len(result)?;
            self.set(result, dst, len);
        }
        Ok(())
    }

    pub(super) fn array_length(
        &mut self,
        handle: Handle<Expression>,
        array: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let (place, _) = self.target(array)?;
        let Space::Buffer(b) = place.space else {
            return Err(unsupported("the length of an array outside of a buffer"));
        };
        self.whole_of(handle, Inst { dst: 0, a: 0, b, c: 0, n: 1, m: 0, run: access::LENGTH })
    }

    /// Everyone arrives, loads, and leaves only when all have.
    pub(super) fn uniform_load(
        &mut self,
        pointer: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let (place, pointee) = self.target(pointer)?;
        let n = self.len(result)?;
        let dst = self.temp(n)?;
        self.wait(Wait::Barrier { storage: false, workgroup: true });
        self.load_to(dst, n, place, &pointee)?;
        self.wait(Wait::Barrier { storage: false, workgroup: true });
        self.set(result, dst, n);
        Ok(())
    }

    /// A pointer as a value, for a function that takes one.
    pub(super) fn address(&mut self, pointer: Handle<Expression>) -> Result<u32, Refusal> {
        let (place, _) = self.target(pointer)?;
        if place.space != Space::Lane {
            return Err(unsupported("a pointer argument into memory that others see"));
        }
        let dst = self.temp(1)?;
        self.value_inst(Inst { dst, a: 0, b: place.base, c: place.dynamic, n: 1, m: 0, run: access::ADDRESS }, 1);
        Ok(dst)
    }

    /// Whether an expression is a pointer.
    pub(super) fn is_pointer(&mut self, handle: Handle<Expression>) -> Result<bool, Refusal> {
        self.ready(handle)?;
        Ok(matches!(self.values[handle.index()], Value::Place(_)))
    }
}
