//! Expressions: the one place that names each of them.

use naga::{Expression, Handle, ScalarKind, SwizzleComponent, TypeInner, VectorSize};

use super::body::Body;
use super::place::{Place, Space};
use super::value::Value;
use crate::interp::access;
use crate::interp::inst::{Inst, Run};
use crate::interp::kind::Kind;
use crate::interp::layout::kind;
use crate::interp::ops;
use crate::interp::refusal::{Refusal, unsupported};

/// An expression of no kernel of buffers and scalars.
fn foreign(what: &str) -> Refusal {
    unsupported(format!("{what}, which a kernel of buffers and scalars has no use for"))
}

impl Body<'_, '_> {
    /// Evaluate an expression, where it is evaluated.
    pub(super) fn emit(&mut self, handle: Handle<Expression>) -> Result<(), Refusal> {
        if self.values[handle.index()] != Value::None {
            return Ok(());
        }
        let function = self.function;
        match &function.expressions[handle] {
            Expression::Literal(_) | Expression::Constant(_) | Expression::Override(_) | Expression::ZeroValue(_) => {
                Err(unsupported("a constant of a kind that the simulator does not know"))
            }
            Expression::Compose { components, .. } => self.compose(handle, components),
            Expression::Access { base, index } => self.access(handle, *base, *index),
            Expression::AccessIndex { base, index } => self.access_index(handle, *base, *index),
            Expression::Splat { size, value } => self.splat(handle, *size, *value),
            Expression::Swizzle { size, vector, pattern } => self.swizzle(handle, *vector, &pattern[..*size as usize]),
            Expression::FunctionArgument(index) => self.argument(handle, *index),
            Expression::GlobalVariable(global) => {
                self.values[handle.index()] = Value::Place(self.global(global.index())?);
                Ok(())
            }
            Expression::LocalVariable(local) => {
                let base = self.locals[local.index()];
                let name = self.t.name(function.local_variables[*local].name.as_deref());
                self.values[handle.index()] = Value::Place(Place { space: Space::Lane, base, dynamic: 0, name });
                Ok(())
            }
            Expression::Load { pointer } => self.load(handle, *pointer),
            Expression::Unary { op, expr } => {
                let each = ops::unary(*op, self.kind_of(*expr)?);
                self.each(handle, each, &[*expr])
            }
            Expression::Binary { op, left, right } => self.binary(handle, *op, *left, *right),
            Expression::Select { condition, accept, reject } => self.select(handle, *condition, *accept, *reject),
            Expression::Relational { fun, argument } => {
                let run = ops::relational(*fun, self.kind_of(*argument)?);
                let n = self.len(*argument)?;
                self.whole(handle, run, &[*argument], n)
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let arguments: Vec<_> = [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten().collect();
                self.math(handle, *fun, &arguments)
            }
            Expression::As { expr, kind, convert } => self.convert(handle, *expr, *kind, *convert),
            Expression::ArrayLength(pointer) => self.array_length(handle, *pointer),
            // Their statements set these before anything uses them.
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. } => Err(unsupported("a result before its statement")),
            Expression::ImageSample { .. } | Expression::ImageLoad { .. } | Expression::ImageQuery { .. } => {
                Err(foreign("a texture"))
            }
            Expression::Derivative { .. } => Err(foreign("a derivative")),
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. } => Err(foreign("a ray query")),
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                Err(foreign("a cooperative matrix"))
            }
        }
    }

    /// The kind of an expression's scalars.
    pub(super) fn kind_of(&self, expression: Handle<Expression>) -> Result<Kind, Refusal> {
        let scalar = self.inner(expression).scalar();
        kind(scalar.ok_or_else(|| unsupported("an operation on what has no scalar type"))?)
    }

    /// Slots for the result of an expression.
    fn result_of(&mut self, handle: Handle<Expression>) -> Result<(u32, u32), Refusal> {
        let len = self.len(handle)?;
        Ok((self.temp(len)?, len))
    }

    /// An operation component by component. Operands of one component are taken for every component of the others.
    pub(super) fn each(
        &mut self,
        handle: Handle<Expression>,
        each: Option<ops::Each>,
        operands: &[Handle<Expression>],
    ) -> Result<(), Refusal> {
        let each = each.ok_or_else(|| unsupported("an operation on a type that has none of its name"))?;
        let n = self.len(handle)?;
        let mut slots = [0; 3];
        for (slot, operand) in slots.iter_mut().zip(operands) {
            *slot = self.spread(*operand, n)?;
        }
        let dst = self.temp(n)?;
        let [a, b, c] = slots;
        self.value_inst(Inst { dst, a, b, c, n, m: 0, run: each.of(n) }, n);
        self.set(handle, dst, n);
        Ok(())
    }

    /// The slots of a value, repeated if it is one and `n` are needed.
    fn spread(&mut self, operand: Handle<Expression>, n: u32) -> Result<u32, Refusal> {
        let (len, slot) = (self.len(operand)?, self.slot(operand)?);
        if len == n {
            return Ok(slot);
        }
        let dst = self.temp(n)?;
        self.value_inst(Inst { dst, a: slot, b: 0, c: 0, n, m: 0, run: access::SPLAT }, n);
        Ok(dst)
    }

    /// An operation on whole values; `n` is the instruction's.
    pub(super) fn whole(
        &mut self,
        handle: Handle<Expression>,
        run: Option<Run>,
        operands: &[Handle<Expression>],
        n: u32,
    ) -> Result<(), Refusal> {
        let run = run.ok_or_else(|| unsupported("an operation on a type that has none of its name"))?;
        let mut slots = [0; 4];
        for (slot, operand) in slots.iter_mut().zip(operands) {
            *slot = self.slot(*operand)?;
        }
        let [a, b, c, m] = slots;
        self.whole_of(handle, Inst { dst: 0, a, b, c, n, m, run })
    }

    /// As [`Body::whole`], with the operands in place.
    pub(super) fn whole_of(&mut self, handle: Handle<Expression>, inst: Inst) -> Result<(), Refusal> {
        let (dst, len) = self.result_of(handle)?;
        self.value_inst(Inst { dst, ..inst }, len);
        self.set(handle, dst, len);
        Ok(())
    }

    fn compose(&mut self, handle: Handle<Expression>, components: &[Handle<Expression>]) -> Result<(), Refusal> {
        let (dst, _) = self.result_of(handle)?;
        let mut to = dst;
        for component in components {
            let len = self.len(*component)?;
            self.copy_to(*component, to, len)?;
            to += len;
        }
        let len = to - dst;
        self.set(handle, dst, len);
        Ok(())
    }

    fn splat(
        &mut self,
        handle: Handle<Expression>,
        size: VectorSize,
        value: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let n = size as u32;
        let dst = self.spread(value, n)?;
        self.set(handle, dst, n);
        Ok(())
    }

    fn swizzle(
        &mut self,
        handle: Handle<Expression>,
        vector: Handle<Expression>,
        pattern: &[SwizzleComponent],
    ) -> Result<(), Refusal> {
        let (from, n) = (self.slot(vector)?, self.len(handle)?);
        let in_order = pattern.windows(2).all(|pair| pair[1] as u32 == pair[0] as u32 + 1);
        if let (true, Some(first)) = (in_order, pattern.first()) {
            self.set(handle, from + *first as u32, n);
            return Ok(());
        }
        let dst = self.temp(n)?;
        for (component, to) in pattern.iter().zip(dst..) {
            self.copy(to, from + *component as u32, 1);
        }
        self.set(handle, dst, n);
        Ok(())
    }

    fn argument(&mut self, handle: Handle<Expression>, index: u32) -> Result<(), Refusal> {
        let slot = self.arguments[index as usize];
        self.values[handle.index()] = if self.pointee(handle).is_some() {
            let name = self.t.name(self.function.arguments[index as usize].name.as_deref());
            Value::Place(Place { space: Space::Lane, base: 0, dynamic: slot, name })
        } else {
            Value::Slots(slot)
        };
        Ok(())
    }

    fn access_index(
        &mut self,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        index: u32,
    ) -> Result<(), Refusal> {
        if self.pointee(base).is_some() {
            self.values[handle.index()] = self.part_of_value(base, index)?;
            return Ok(());
        }
        let part = self.t.layout.part(self.inner(base), index);
        let part = part.ok_or_else(|| unsupported("a part of a type without parts"))?;
        if let Value::Table(from) = self.values[base.index()] {
            self.values[handle.index()] = Value::Table(from + part.slots);
            return Ok(());
        }
        let slot = self.slot(base)?;
        self.set(handle, slot + part.slots, part.len);
        Ok(())
    }

    fn part_of_value(&mut self, base: Handle<Expression>, index: u32) -> Result<Value, Refusal> {
        self.ready(base)?;
        self.part_of(base, index)
    }

    /// Evaluate what is evaluated on entry: variables and arguments have no `Emit`.
    pub(super) fn ready(&mut self, handle: Handle<Expression>) -> Result<(), Refusal> {
        self.emit(handle)
    }

    fn access(
        &mut self,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<(), Refusal> {
        self.ready(base)?;
        if self.pointee(base).is_some() {
            self.values[handle.index()] = self.element_of(base, index)?;
            return Ok(());
        }
        let elements = self.t.layout.elements(self.inner(base));
        let elements = elements.ok_or_else(|| unsupported("an element of a type without any"))?;
        let count = elements.count.ok_or_else(|| unsupported("a runtime-sized array as a value"))?;
        let n = elements.slots;
        if let Value::Table(b) = self.values[base.index()] {
            let (a, c) = (self.slot(index)?, self.temp(1)?);
            self.index_inst(Inst { dst: c, a, b: count, c: 0, n, m: 0, run: access::INDEX }, false, 0);
            return self.whole_of(handle, Inst { dst: 0, a: 0, b, c, n, m: 0, run: access::TABLE });
        }
        let (from, a) = (self.slot(base)?, self.slot(index)?);
        if n == 1 {
            self.whole_of(handle, Inst { dst: 0, a, b: count, c: 0, n, m: from, run: access::LANE_LOAD_AT })?;
            self.name_index(0);
            return Ok(());
        }
        let c = self.temp(1)?;
        self.index_inst(Inst { dst: c, a, b: count, c: 0, n, m: 0, run: access::INDEX }, false, 0);
        self.whole_of(handle, Inst { dst: 0, a: 0, b: from, c, n, m: 0, run: access::LANE_LOAD })
    }

    fn select(
        &mut self,
        handle: Handle<Expression>,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let n = self.len(handle)?;
        if n == 1 || matches!(self.inner(condition), TypeInner::Vector { .. }) {
            return self.each(handle, Some(ops::select_each()), &[reject, accept, condition]);
        }
        self.whole(handle, Some(ops::SELECT_WHOLE), &[reject, accept, condition], n)
    }

    fn convert(
        &mut self,
        handle: Handle<Expression>,
        value: Handle<Expression>,
        to: ScalarKind,
        width: Option<u8>,
    ) -> Result<(), Refusal> {
        let from = self.kind_of(value)?;
        let n = self.len(value)?;
        let Some(width) = width else {
            // The bits stay, and those of a slot are the same for all types of a width.
            let slot = self.slot(value)?;
            self.set(handle, slot, n);
            return Ok(());
        };
        let to = kind(naga::Scalar { kind: to, width })?;
        if from == to {
            let slot = self.slot(value)?;
            self.set(handle, slot, n);
            return Ok(());
        }
        self.each(handle, ops::convert(from, to), &[value])
    }
}
