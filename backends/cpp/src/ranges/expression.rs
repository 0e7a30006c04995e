//! Expressions: the value of each, and what has to be asked about it. One whose meaning is not followed has any value of its type.

use naga::{BinaryOperator, Expression, Handle, Literal, MathFunction, RelationalFunction, Scalar, ScalarKind};

use super::build::{Builder, Value};
use super::builtins::fixed;
use super::graph::{Check, Question, Root, root};
use super::interval::{Interval, is_integer, is_tracked, width};
use super::place::Place;
use super::scope::ScopeId;

use super::term::{Op, Sym, Way};

impl Builder<'_> {
    /// Give an expression its value, here.
    pub(super) fn evaluate(&mut self, handle: Handle<Expression>) {
        let function = self.function;
        match function.expressions[handle] {
            Expression::FunctionArgument(_) => {}
            Expression::GlobalVariable(variable) => {
                self.values[handle.index()] = Value::Place(self.global(variable));
            }
            Expression::LocalVariable(variable) => {
                let slots = self.slots(variable);
                let place = if slots.len > 0 { Place::Local(slots) } else { Place::Elsewhere };
                self.values[handle.index()] = Value::Place(place);
            }
            Expression::Literal(literal) => self.constants(handle, &[integer(literal)]),
            Expression::Constant(constant) => {
                let init = self.source.module.constants[constant].init;
                let source = self.source;
                self.constants(handle, source.constants.of(init));
            }
            Expression::ZeroValue(_) => {
                let zeros = vec![Some(0); self.scalars_in(handle).len()];
                self.constants(handle, &zeros);
            }
            Expression::Compose { ref components, .. } => self.compose(handle, components),
            Expression::Splat { value, .. } => {
                let len = self.scalars_in(handle).len();
                self.set_or_forget(handle, self.scalars_of(value, 1).map(|one| vec![one[0]; len]));
            }
            Expression::Swizzle { size, vector, pattern } => {
                let value = match &self.values[vector.index()] {
                    Value::Scalars(from) => {
                        pattern[..size as usize].iter().map(|at| from.get(*at as usize).copied()).collect()
                    }
                    _ => None,
                };
                self.set_or_forget(handle, value);
            }
            Expression::Access { base, index } => self.access(handle, base, index),
            Expression::AccessIndex { base, index } => self.access_constant(handle, base, index),
            Expression::Load { pointer } => self.load(handle, pointer),
            Expression::Unary { op, expr } => self.each(handle, Op::Unary(op), &[expr]),
            Expression::Binary { op, left, right } => self.binary(handle, op, left, right),
            Expression::Select { condition, accept, reject } => self.select(handle, condition, accept, reject),
            Expression::Relational { fun, argument } => self.relational(handle, fun, argument),
            Expression::Math { fun, arg, arg1, arg2, .. } => self.math(handle, fun, [Some(arg), arg1, arg2]),
            Expression::As { expr, kind, .. } => self.convert(handle, expr, kind),
            Expression::ArrayLength(array) => {
                let length = match root(function, array) {
                    Root::Global(variable) => Some(vec![self.length_of(variable)]),
                    _ => None,
                };
                self.set_or_forget(handle, length);
            }
            _ => self.forget(handle),
        }
    }

    /// The types of the scalars of an expression.
    pub(super) fn scalars_in(&self, expression: Handle<Expression>) -> Vec<Scalar> {
        match &self.info[expression].ty {
            naga::proc::TypeResolution::Handle(ty) => self.source.shapes.of(*ty).to_vec(),
            naga::proc::TypeResolution::Value(inner) => self.source.shapes.inner(inner),
        }
    }

    pub(super) fn set(&mut self, expression: Handle<Expression>, scalars: Vec<Sym>) {
        self.values[expression.index()] = if scalars.is_empty() { Value::Nothing } else { Value::Scalars(scalars) };
    }

    /// Any value of its type.
    pub(super) fn forget(&mut self, expression: Handle<Expression>) {
        let unknowns = self.unknowns(&self.scalars_in(expression));
        self.set(expression, unknowns);
    }

    pub(super) fn unknowns(&mut self, scalars: &[Scalar]) -> Vec<Sym> {
        scalars.iter().map(|scalar| self.terms.unknown(Interval::of(*scalar), *scalar, self.scope)).collect()
    }

    pub(super) fn ask(&mut self, expression: Handle<Expression>, question: Question) {
        self.found.checks.push(Check { expression, scope: self.scope, question });
    }

    fn set_or_forget(&mut self, expression: Handle<Expression>, scalars: Option<Vec<Sym>>) {
        match scalars {
            Some(scalars) if scalars.len() == self.scalars_in(expression).len() => self.set(expression, scalars),
            _ => self.forget(expression),
        }
    }

    fn constants(&mut self, handle: Handle<Expression>, values: &[Option<i128>]) {
        let scalars = self.scalars_in(handle);
        if scalars.len() != values.len() {
            return self.forget(handle);
        }
        let mut made = Vec::new();
        for (scalar, value) in scalars.into_iter().zip(values) {
            made.push(match value {
                Some(value) if is_tracked(scalar) => self.terms.known(*value, scalar, ScopeId::ROOT),
                _ => self.terms.unknown(Interval::of(scalar), scalar, ScopeId::ROOT),
            });
        }
        self.set(handle, made);
    }

    fn compose(&mut self, handle: Handle<Expression>, components: &[Handle<Expression>]) {
        if self.scalars_in(handle).is_empty() {
            return self.forget(handle);
        }
        let mut all = Vec::new();
        for component in components {
            let scalars = self.scalars_in(*component);
            let given = self.scalars_of(*component, scalars.len());
            all.extend(given.unwrap_or_else(|| self.unknowns(&scalars)));
        }
        self.set_or_forget(handle, Some(all));
    }

    fn access(&mut self, handle: Handle<Expression>, base: Handle<Expression>, index: Handle<Expression>) {
        let index = self.scalars_of(index, 1).map(|index| index[0]);
        if let Some(index) = index {
            self.ask_index(handle, base, index);
        }
        match &self.values[base.index()] {
            Value::Place(place) => {
                let inner = self.info[base].ty.inner_with(&self.source.module.types);
                self.values[handle.index()] = Value::Place(self.some_part_of(*place, inner));
            }
            Value::Scalars(parts) if self.scalars_in(handle).len() == 1 => {
                let parts = parts.clone();
                let one = self.one_of(&parts);
                self.set(handle, vec![one]);
            }
            _ => self.forget(handle),
        }
    }

    fn access_constant(&mut self, handle: Handle<Expression>, base: Handle<Expression>, index: u32) {
        if self.is_runtime(base) {
            let index = self.terms.known(i128::from(index), Scalar::U32, ScopeId::ROOT);
            self.ask_index(handle, base, index);
        }
        let inner = self.info[base].ty.inner_with(&self.source.module.types);
        match &self.values[base.index()] {
            Value::Place(place) => self.values[handle.index()] = Value::Place(self.part_of(*place, inner, index)),
            Value::Scalars(scalars) => {
                let part = self.source.shapes.part(inner, index);
                let part = part.and_then(|(first, len)| scalars.get(first..first + len)).map(<[Sym]>::to_vec);
                self.set_or_forget(handle, part);
            }
            Value::Nothing => self.forget(handle),
        }
    }

    /// Operands component by component, a scalar standing for as many as there are; none where one of them is not followed.
    fn operands(&self, len: usize, operands: &[Handle<Expression>]) -> Option<Vec<Vec<Sym>>> {
        let mut all = vec![Vec::new(); len];
        for operand in operands {
            let Value::Scalars(scalars) = &self.values[operand.index()] else { return None };
            if scalars.iter().any(|scalar| !is_tracked(self.terms.get(*scalar).scalar)) {
                return None;
            }
            for (at, component) in all.iter_mut().enumerate() {
                component.push(*scalars.get(if scalars.len() == 1 { 0 } else { at })?);
            }
        }
        Some(all)
    }

    /// An operation on each component.
    fn each(&mut self, handle: Handle<Expression>, op: Op, operands: &[Handle<Expression>]) {
        let scalars = self.scalars_in(handle);
        let Some(components) = self.operands(scalars.len(), operands) else { return self.forget(handle) };
        let mut made = Vec::new();
        for (scalar, component) in scalars.into_iter().zip(components) {
            made.push(self.terms.make(op, &component, scalar, self.scope));
        }
        self.set(handle, made);
    }

    fn binary(
        &mut self,
        handle: Handle<Expression>,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) {
        let components = self.operands(self.scalars_in(handle).len(), &[left, right]);
        for operands in components.iter().flatten() {
            let (a, b) = (operands[0], operands[1]);
            let scalar = self.terms.get(a).scalar;
            match op {
                _ if !is_integer(scalar) => {}
                BinaryOperator::Divide | BinaryOperator::Modulo => {
                    self.ask(handle, Question::Divides { dividend: a, divisor: b });
                }
                BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                    self.ask(handle, Question::Shifts { amount: b, width: width(scalar) });
                }
                _ => {}
            }
        }
        self.each(handle, Op::Binary(op), &[left, right]);
    }

    /// Each value is used only where the condition says so.
    fn select(
        &mut self,
        handle: Handle<Expression>,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) {
        let scalars = self.scalars_in(handle);
        let Some(components) = self.operands(scalars.len(), &[condition, accept, reject]) else {
            return self.forget(handle);
        };
        let mut made = Vec::new();
        for operands in components {
            let accepted = self.assume(self.scope, Some(operands[0]), true);
            let rejected = self.assume(self.scope, Some(operands[0]), false);
            let ways = vec![Way { value: operands[1], scope: accepted }, Way { value: operands[2], scope: rejected }];
            made.push(self.joined(ways, self.scope));
        }
        self.set(handle, made);
    }

    fn relational(&mut self, handle: Handle<Expression>, fun: RelationalFunction, argument: Handle<Expression>) {
        let op = match fun {
            RelationalFunction::All => BinaryOperator::LogicalAnd,
            RelationalFunction::Any => BinaryOperator::LogicalOr,
            RelationalFunction::IsNan | RelationalFunction::IsInf => return self.forget(handle),
        };
        let value = match &self.values[argument.index()] {
            Value::Scalars(parts) => parts.clone(),
            _ => return self.forget(handle),
        };
        let (terms, scope) = (&mut self.terms, self.scope);
        let all = value.into_iter().reduce(|a, b| terms.make(Op::Binary(op), &[a, b], Scalar::BOOL, scope));
        self.set_or_forget(handle, all.map(|all| vec![all]));
    }

    fn math(&mut self, handle: Handle<Expression>, fun: MathFunction, arguments: [Option<Handle<Expression>>; 3]) {
        let scalars = self.scalars_in(handle);
        if let Some(interval) = fixed(fun) {
            let made = scalars.iter().map(|scalar| self.terms.unknown(interval, *scalar, self.scope)).collect();
            return self.set(handle, made);
        }
        let each = matches!(
            fun,
            MathFunction::Min
                | MathFunction::Max
                | MathFunction::Clamp
                | MathFunction::Abs
                | MathFunction::Sign
                | MathFunction::CountOneBits
                | MathFunction::CountLeadingZeros
                | MathFunction::CountTrailingZeros
                | MathFunction::FirstLeadingBit
                | MathFunction::FirstTrailingBit
                | MathFunction::ExtractBits
        );
        if !each || scalars.iter().any(|scalar| !is_integer(*scalar)) {
            return self.forget(handle);
        }
        let arguments: Vec<_> = arguments.into_iter().flatten().collect();
        self.each(handle, Op::Math(fun), &arguments);
    }

    fn convert(&mut self, handle: Handle<Expression>, from: Handle<Expression>, kind: ScalarKind) {
        let same_kind = match &self.values[from.index()] {
            Value::Scalars(from) => from.iter().all(|from| self.terms.get(*from).scalar.kind == kind),
            _ => false,
        };
        match kind {
            ScalarKind::Sint | ScalarKind::Uint => self.each(handle, Op::Convert, &[from]),
            ScalarKind::Bool if same_kind => {
                let len = self.scalars_in(handle).len();
                self.set_or_forget(handle, self.scalars_of(from, len));
            }
            _ => self.forget(handle),
        }
    }
}

/// The number that a literal of an integer or a bool is.
pub(super) fn integer(literal: Literal) -> Option<i128> {
    Some(match literal {
        Literal::U16(value) => i128::from(value),
        Literal::I16(value) => i128::from(value),
        Literal::U32(value) => i128::from(value),
        Literal::I32(value) => i128::from(value),
        Literal::U64(value) => i128::from(value),
        Literal::I64(value) => i128::from(value),
        Literal::Bool(value) => i128::from(value),
        Literal::F64(_) | Literal::F32(_) | Literal::F16(_) | Literal::AbstractInt(_) | Literal::AbstractFloat(_) => {
            return None;
        }
    })
}
