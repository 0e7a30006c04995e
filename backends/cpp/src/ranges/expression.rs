//! What is known of an expression from what is known of its operands.

use naga::{
    AddressSpace, BinaryOperator, Binding, BuiltIn, Expression, Handle, Literal, MathFunction, StorageAccess,
    TypeInner, UnaryOperator,
};

use super::flow::Analysis;
use super::interval::{Int, Interval};
use super::state::State;
use super::value::{Compared, Condition, Fact, Known, Order, Origin, Value};

/// Workgroups in each dimension: every launcher refuses more.
const GROUPS_MAX: i64 = 65_535;

/// Lanes of the largest subgroup that WGSL has.
const SUBGROUP_MAX: i64 = 128;

impl Analysis<'_> {
    /// What is known of an expression that is there before any statement.
    pub(super) fn given(&mut self, handle: Handle<Expression>) -> Value {
        match self.function.expressions[handle] {
            Expression::Literal(literal) => self.literal(literal),
            Expression::Constant(constant) => {
                let init = self.module.constants[constant].init;
                self.constant(init)
            }
            Expression::ZeroValue(ty) => self.zero(ty),
            Expression::FunctionArgument(index) => {
                self.arguments.get(index as usize).cloned().unwrap_or_else(|| self.unknown(handle))
            }
            Expression::GlobalVariable(global) if self.is_constant(global) => {
                Value { known: Known::Other, name: self.naming.of(Origin::Place(global)) }
            }
            _ => self.unknown(handle),
        }
    }

    /// A value of an expression's type, of which nothing else is known.
    pub(super) fn unknown(&mut self, handle: Handle<Expression>) -> Value {
        let inner = self.info[handle].ty.inner_with(&self.module.types);
        self.unknown_of(inner)
    }

    pub(super) fn unknown_of(&mut self, inner: &TypeInner) -> Value {
        match inner {
            TypeInner::Scalar(scalar) if scalar.kind == naga::ScalarKind::Bool => {
                Value { known: Known::Bool(Condition::default()), name: self.naming.fresh() }
            }
            TypeInner::Scalar(scalar) => Value::any(&mut self.naming, Int::of(*scalar)),
            TypeInner::Vector { size, scalar } => {
                let parts = (0..*size as u32).map(|_| Value::any(&mut self.naming, Int::of(*scalar))).collect();
                Value { known: Known::Parts(parts), name: self.naming.fresh() }
            }
            _ => Value::any(&mut self.naming, None),
        }
    }

    fn number(&mut self, ty: Int, value: i64) -> Value {
        Value { known: Known::Int(ty, Interval::exactly(value)), name: self.naming.of(Origin::Number(ty, value)) }
    }

    fn literal(&mut self, literal: Literal) -> Value {
        match literal {
            Literal::U32(value) => self.number(Int::Unsigned, value.into()),
            Literal::I32(value) => self.number(Int::Signed, value.into()),
            Literal::Bool(value) => {
                let known = Known::Bool(Condition { always: Some(value), ..Condition::default() });
                Value { known, name: self.naming.fresh() }
            }
            _ => Value::any(&mut self.naming, None),
        }
    }

    pub(super) fn zero(&mut self, ty: Handle<naga::Type>) -> Value {
        match self.module.types[ty].inner {
            TypeInner::Scalar(scalar) => match Int::of(scalar) {
                Some(ty) => self.number(ty, 0),
                None if scalar.kind == naga::ScalarKind::Bool => self.literal(Literal::Bool(false)),
                None => Value::any(&mut self.naming, None),
            },
            TypeInner::Vector { size, scalar } => match Int::of(scalar) {
                Some(ty) => {
                    let parts = (0..size as u32).map(|_| self.number(ty, 0)).collect();
                    Value { known: Known::Parts(parts), name: self.naming.fresh() }
                }
                None => self.unknown_of(&self.module.types[ty].inner),
            },
            _ => Value::any(&mut self.naming, None),
        }
    }

    /// A constant of the module: a scalar, or a vector of them.
    fn constant(&mut self, handle: Handle<Expression>) -> Value {
        match &self.module.global_expressions[handle] {
            Expression::Literal(literal) => self.literal(*literal),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Compose { ty, components } if self.is_vector(*ty, components.len()) => {
                let parts = components.iter().map(|part| self.constant(*part)).collect();
                Value { known: Known::Parts(parts), name: self.naming.fresh() }
            }
            _ => self.unknown_of(self.module_info[handle].inner_with(&self.module.types)),
        }
    }

    /// Whether a type is a vector that so many scalars make.
    fn is_vector(&self, ty: Handle<naga::Type>, parts: usize) -> bool {
        matches!(self.module.types[ty].inner, TypeInner::Vector { size, .. } if size as usize == parts)
    }

    /// Whether a variable keeps its bytes while a kernel runs.
    fn is_constant(&self, global: Handle<naga::GlobalVariable>) -> bool {
        match self.module.global_variables[global].space {
            AddressSpace::Uniform | AddressSpace::Immediate => true,
            AddressSpace::Storage { access } => !access.contains(StorageAccess::STORE),
            _ => false,
        }
    }

    /// What an entry point is told.
    pub(super) fn told(&mut self, binding: Option<&Binding>, ty: Handle<naga::Type>) -> Value {
        let inner = &self.module.types[ty].inner;
        match (binding, inner) {
            (Some(Binding::BuiltIn(builtin)), _) => self.builtin(*builtin, inner),
            (None, TypeInner::Struct { members, .. }) => {
                let parts = members.iter().map(|member| self.told(member.binding.as_ref(), member.ty)).collect();
                Value { known: Known::Parts(parts), name: self.naming.fresh() }
            }
            _ => self.unknown_of(inner),
        }
    }

    fn builtin(&mut self, builtin: BuiltIn, inner: &TypeInner) -> Value {
        let size = self.module.entry_points[0].workgroup_size.map(i64::from);
        let invocations: i64 = size.iter().product();
        let lanes = self.subgroup_size.map_or(SUBGROUP_MAX, i64::from);
        let subgroups = |lanes: i64| (invocations + lanes - 1) / lanes;
        let subgroups_max = self.subgroup_size.map_or(invocations, |lanes| subgroups(lanes.into()));
        let three = |of: fn(i64) -> Interval| size.map(of).to_vec();
        let ranges = match builtin {
            BuiltIn::LocalInvocationId => three(|side| Interval::upto(side - 1)),
            BuiltIn::WorkGroupSize => three(Interval::exactly),
            BuiltIn::GlobalInvocationId => three(|side| Interval::upto(GROUPS_MAX * side - 1)),
            BuiltIn::WorkGroupId => three(|_| Interval::upto(GROUPS_MAX - 1)),
            BuiltIn::NumWorkGroups => three(|_| Interval { lo: 1, hi: GROUPS_MAX }),
            BuiltIn::LocalInvocationIndex => vec![Interval::upto(invocations - 1)],
            BuiltIn::SubgroupSize => vec![Interval { lo: self.subgroup_size.map_or(1, i64::from), hi: lanes }],
            BuiltIn::SubgroupInvocationId => vec![Interval::upto(lanes.min(invocations) - 1)],
            BuiltIn::SubgroupId => vec![Interval::upto(subgroups_max - 1)],
            BuiltIn::NumSubgroups => vec![Interval { lo: 1, hi: subgroups_max }],
            _ => return self.unknown_of(inner),
        };
        let naming = &mut self.naming;
        let mut part = |range: Interval| Value {
            known: Known::Int(Int::Unsigned, range.meet(Int::Unsigned.full())),
            name: naming.fresh(),
        };
        let mut parts: Vec<Value> = ranges.into_iter().map(&mut part).collect();
        match (parts.pop(), parts.is_empty()) {
            (Some(only), true) => only,
            (last, _) => {
                parts.extend(last);
                Value { known: Known::Parts(parts), name: self.naming.fresh() }
            }
        }
    }

    /// What is known of an expression when it is emitted.
    pub(super) fn evaluated(&mut self, state: &State, handle: Handle<Expression>) -> Value {
        let function = self.function;
        match &function.expressions[handle] {
            Expression::AccessIndex { base, index } => self.part(handle, *base, *index),
            Expression::Access { base, index } => self.element(handle, *base, *index),
            Expression::Compose { ty, components } if self.is_vector(*ty, components.len()) => {
                let parts = components.iter().map(|part| self.value(*part)).collect();
                Value { known: Known::Parts(parts), name: self.naming.fresh() }
            }
            Expression::Splat { size, value } => {
                let parts = vec![self.value(*value); *size as usize];
                Value { known: Known::Parts(parts), name: self.naming.fresh() }
            }
            Expression::Swizzle { size, vector, pattern } => match self.value(*vector).known {
                Known::Parts(parts) => {
                    let chosen = pattern.iter().take(*size as usize);
                    let parts = chosen.filter_map(|part| parts.get(part.index() as usize).cloned()).collect();
                    Value { known: Known::Parts(parts), name: self.naming.fresh() }
                }
                _ => self.unknown(handle),
            },
            Expression::Load { pointer } => self.loaded(state, handle, *pointer),
            Expression::Unary { op, expr } => self.unary(state, handle, *op, *expr),
            Expression::Binary { op, left, right } => {
                let (left, right) = (self.value(*left), self.value(*right));
                self.lifted(state, *op, &left, &right).unwrap_or_else(|| self.unknown(handle))
            }
            Expression::Select { condition, accept, reject } => {
                self.select(state, handle, [*condition, *accept, *reject])
            }
            Expression::Math { fun, arg, arg1, arg2, .. } => self.math(state, handle, *fun, [Some(*arg), *arg1, *arg2]),
            Expression::As { expr, kind, convert } => {
                let width = convert.unwrap_or(4);
                let to = Int::of(naga::Scalar { kind: *kind, width });
                let from = self.value(*expr);
                to.and_then(|to| self.converted(state, &from, to)).unwrap_or_else(|| self.unknown(handle))
            }
            Expression::ArrayLength(pointer) => match function.originating_global(*pointer) {
                Some(global) => Value {
                    // Every launcher binds one element at least.
                    known: Known::Int(Int::Unsigned, Interval { lo: 1, hi: u32::MAX.into() }),
                    name: self.naming.of(Origin::Length(global)),
                },
                None => self.unknown(handle),
            },
            _ => self.given(handle),
        }
    }

    fn part(&mut self, handle: Handle<Expression>, base: Handle<Expression>, index: u32) -> Value {
        let base = self.value(base);
        if let Known::Parts(parts) = &base.known {
            return parts.get(index as usize).cloned().unwrap_or_else(|| self.unknown(handle));
        }
        let mut value = self.unknown(handle);
        if self.naming.origin(base.name).is_some() {
            value.name = self.naming.of(Origin::Part(base.name, index));
        }
        value
    }

    fn element(&mut self, handle: Handle<Expression>, base: Handle<Expression>, index: Handle<Expression>) -> Value {
        let (base, index) = (self.value(base), self.value(index));
        let mut value = self.unknown(handle);
        if let Known::Parts(parts) = &base.known {
            let ranges: Option<Vec<_>> = parts.iter().map(Value::interval).collect();
            if let (Some(ranges), Known::Int(ty, interval)) = (ranges, &mut value.known) {
                let joined = ranges.iter().map(|(_, range)| *range).reduce(Interval::join);
                *interval = joined.unwrap_or_else(|| ty.full());
            }
        } else if self.naming.origin(base.name).is_some() {
            value.name = self.naming.of(Origin::Element(base.name, index.name));
        }
        value
    }

    /// What is read: of a local variable, what it holds; of what nobody writes, the same as ever.
    fn loaded(&mut self, state: &State, handle: Handle<Expression>, pointer: Handle<Expression>) -> Value {
        match self.function.expressions[pointer] {
            Expression::LocalVariable(local) => return state.locals[local.index()].clone(),
            Expression::AccessIndex { base, index } => {
                if let Expression::LocalVariable(local) = self.function.expressions[base] {
                    if let Known::Parts(parts) = &state.locals[local.index()].known {
                        return parts.get(index as usize).cloned().unwrap_or_else(|| self.unknown(handle));
                    }
                    return self.unknown(handle);
                }
            }
            _ => {}
        }
        let mut value = self.unknown(handle);
        let constant = self.function.originating_global(pointer).is_some_and(|global| self.is_constant(global));
        let place = self.value(pointer).name;
        if constant && self.naming.origin(place).is_some() {
            value.name = self.naming.of(Origin::Read(place));
        }
        value
    }

    fn unary(
        &mut self,
        state: &State,
        handle: Handle<Expression>,
        op: UnaryOperator,
        expr: Handle<Expression>,
    ) -> Value {
        let value = self.value(expr);
        let known = match (op, &value.known) {
            (UnaryOperator::LogicalNot, Known::Bool(condition)) => Known::Bool(Condition {
                when_true: condition.when_false.clone(),
                when_false: condition.when_true.clone(),
                always: condition.always.map(|always| !always),
            }),
            (UnaryOperator::Negate, Known::Int(..)) => match state.interval(&value) {
                Some((ty, interval)) => Known::Int(ty, interval.negated(ty)),
                None => return self.unknown(handle),
            },
            (UnaryOperator::BitwiseNot, Known::Int(..)) => match state.interval(&value) {
                Some((ty, interval)) => Known::Int(ty, interval.inverted(ty)),
                None => return self.unknown(handle),
            },
            _ => return self.unknown(handle),
        };
        Value { known, name: self.naming.fresh() }
    }

    /// An operator on scalars, or on each component.
    fn lifted(&mut self, state: &State, op: BinaryOperator, left: &Value, right: &Value) -> Option<Value> {
        let parts = match (&left.known, &right.known) {
            (Known::Parts(a), Known::Parts(b)) => a.iter().zip(b).map(|(a, b)| self.scalars(state, op, a, b)).collect(),
            (Known::Parts(a), _) => a.iter().map(|a| self.scalars(state, op, a, right)).collect(),
            (_, Known::Parts(b)) => b.iter().map(|b| self.scalars(state, op, left, b)).collect(),
            _ => return self.scalars(state, op, left, right),
        };
        let parts: Option<Vec<Value>> = parts;
        Some(Value { known: Known::Parts(parts?), name: self.naming.fresh() })
    }

    fn scalars(&mut self, state: &State, op: BinaryOperator, left: &Value, right: &Value) -> Option<Value> {
        use BinaryOperator as Op;
        if let (Known::Bool(a), Known::Bool(b)) = (&left.known, &right.known) {
            let condition = joined_conditions(op, a, b)?;
            return Some(Value { known: Known::Bool(condition), name: self.naming.fresh() });
        }
        let ((ty, a), (_, b)) = (state.interval(left)?, state.interval(right)?);
        let interval = match op {
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
                let condition = compared(op, (left, a), (right, b));
                return Some(Value { known: Known::Bool(condition), name: self.naming.fresh() });
            }
            Op::ShiftLeft | Op::ShiftRight => Interval::shifted(op, ty, a, b),
            _ => {
                let ordered = ty == Int::Unsigned
                    && op == Op::Subtract
                    && state.is_ordered(&self.naming, right.name, Order::AtMost, left.name);
                Interval::binary(op, ty, a, b, ordered)
            }
        };
        let name = self.naming.of(Origin::Binary(op, left.name, right.name));
        Some(Value { known: Known::Int(ty, interval), name })
    }

    fn select(&mut self, state: &State, handle: Handle<Expression>, parts: [Handle<Expression>; 3]) -> Value {
        let [condition, accept, reject] = parts.map(|part| self.value(part));
        let either = |condition: &Value, accept: &Value, reject: &Value| {
            let mut ways = [(true, accept), (false, reject)].map(|(outcome, value)| {
                let mut state = state.clone();
                let Known::Bool(known) = &condition.known else { return state.interval(value) };
                let facts = if outcome { &known.when_true } else { &known.when_false };
                if state.assume(facts) { state.interval(value) } else { None }
            });
            ways.sort_by_key(Option::is_none);
            match ways {
                [Some((ty, a)), Some((_, b))] => Some((ty, a.join(b))),
                _ => None,
            }
        };
        let mut value = self.unknown(handle);
        match (&mut value.known, &condition.known) {
            (Known::Int(_, interval), _) => {
                if let Some((_, joined)) = either(&condition, &accept, &reject) {
                    *interval = joined;
                }
            }
            (Known::Parts(parts), _) => {
                let (Known::Parts(accept), Known::Parts(reject)) = (&accept.known, &reject.known) else { return value };
                for (part, (accept, reject)) in parts.iter_mut().zip(accept.iter().zip(reject)) {
                    let ways = (state.interval(accept), state.interval(reject));
                    if let (Known::Int(_, interval), (Some((_, a)), Some((_, b)))) = (&mut part.known, ways) {
                        *interval = a.join(b);
                    }
                }
            }
            _ => {}
        }
        value
    }

    fn math(
        &mut self,
        state: &State,
        handle: Handle<Expression>,
        fun: MathFunction,
        args: [Option<Handle<Expression>>; 3],
    ) -> Value {
        let args = args.map(|arg| arg.map(|arg| self.value(arg)));
        let [Some(first), second, third] = &args else { return self.unknown(handle) };
        if let Known::Parts(firsts) = &first.known {
            let count = firsts.len();
            let part = |value: &Option<Value>, index: usize| match value.as_ref().map(|value| &value.known) {
                Some(Known::Parts(parts)) => parts.get(index).cloned(),
                _ => value.clone(),
            };
            let mut whole = self.unknown(handle);
            if let Known::Parts(parts) = &mut whole.known {
                for (index, result) in parts.iter_mut().enumerate().take(count) {
                    let args = [Some(firsts[index].clone()), part(second, index), part(third, index)];
                    if let Some(value) = self.function_of(state, fun, &args) {
                        *result = value;
                    }
                }
            }
            return whole;
        }
        match self.function_of(state, fun, &args) {
            Some(value) if matches!(self.unknown(handle).known, Known::Int(..)) => value,
            _ => self.unknown(handle),
        }
    }

    fn function_of(&mut self, state: &State, fun: MathFunction, args: &[Option<Value>; 3]) -> Option<Value> {
        use MathFunction as F;
        let (ty, a) = state.interval(args[0].as_ref()?)?;
        let at =
            |index: usize| args[index].as_ref().and_then(|value| state.interval(value)).map(|(_, interval)| interval);
        let interval = match fun {
            F::Min => at(1).map(|b| Interval { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) })?,
            F::Max => at(1).map(|b| Interval { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) })?,
            F::Clamp => {
                let (low, high) = (at(1)?, at(2)?);
                let raised = Interval { lo: a.lo.max(low.lo), hi: a.hi.max(low.hi) };
                Interval { lo: raised.lo.min(high.lo), hi: raised.hi.min(high.hi) }
            }
            // The lowest number is its own absolute value.
            F::Abs if a.lo > i64::from(i32::MIN) => {
                let ends = [a.lo.abs(), a.hi.abs()];
                let least = if a.lo <= 0 && a.hi >= 0 { 0 } else { ends[0].min(ends[1]) };
                Interval { lo: least, hi: ends[0].max(ends[1]) }
            }
            F::Sign => Interval { lo: -1, hi: 1 },
            F::CountOneBits | F::CountLeadingZeros | F::CountTrailingZeros => Interval::upto(32),
            F::ExtractBits if ty == Int::Unsigned => {
                let count = at(2)?;
                if count.hi >= 32 { ty.full() } else { Interval::upto((1 << count.hi.max(0)) - 1) }
            }
            _ => return None,
        };
        let names = args.each_ref().map(|arg| arg.as_ref().map(|value| value.name));
        Some(Value { known: Known::Int(ty, interval), name: self.naming.of(Origin::Math(fun, names)) })
    }

    fn converted(&mut self, state: &State, from: &Value, to: Int) -> Option<Value> {
        match &from.known {
            Known::Int(ty, _) => {
                let (_, interval) = state.interval(from)?;
                let name = if *ty == to { from.name } else { self.naming.of(Origin::As(to, from.name)) };
                Some(Value { known: Known::Int(to, interval.reread(to)), name })
            }
            Known::Bool(_) => Some(Value { known: Known::Int(to, Interval::upto(1)), name: self.naming.fresh() }),
            Known::Parts(parts) => {
                let parts: Option<Vec<Value>> = parts.iter().map(|part| self.converted(state, part, to)).collect();
                Some(Value { known: Known::Parts(parts?), name: self.naming.fresh() })
            }
            Known::Other => None,
        }
    }
}

/// A comparison of two numbers.
fn compared(op: BinaryOperator, left: (&Value, Interval), right: (&Value, Interval)) -> Condition {
    use BinaryOperator as Op;
    let fact = |less: (&Value, Interval), order: Order, more: (&Value, Interval)| Compared {
        fact: Fact { less: less.0.name, order, more: more.0.name },
        less: less.1,
        more: more.1,
    };
    let below = fact(left, Order::Below, right);
    let above = fact(right, Order::Below, left);
    let at_most = fact(left, Order::AtMost, right);
    let at_least = fact(right, Order::AtMost, left);
    let (when_true, when_false) = match op {
        Op::Less => (vec![below], vec![at_least]),
        Op::LessEqual => (vec![at_most], vec![above]),
        Op::Greater => (vec![above], vec![at_most]),
        Op::GreaterEqual => (vec![at_least], vec![below]),
        Op::Equal => (vec![at_most, at_least], Vec::new()),
        Op::NotEqual => (Vec::new(), vec![at_most, at_least]),
        _ => (Vec::new(), Vec::new()),
    };
    Condition { when_true, when_false, always: None }
}

/// Two conditions as one.
fn joined_conditions(op: BinaryOperator, a: &Condition, b: &Condition) -> Option<Condition> {
    use BinaryOperator as Op;
    let both = |a: &[Compared], b: &[Compared]| a.iter().chain(b).copied().collect::<Vec<_>>();
    match op {
        Op::And | Op::LogicalAnd => {
            Some(Condition { when_true: both(&a.when_true, &b.when_true), ..Condition::default() })
        }
        Op::InclusiveOr | Op::LogicalOr => {
            Some(Condition { when_false: both(&a.when_false, &b.when_false), ..Condition::default() })
        }
        _ => None,
    }
}
