//! Walks the statements of a function with what is known at each: conditions narrow, ways join, and loops run until nothing new
//! is learnt.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Block, Expression, Handle, Module, Statement, SwitchCase, SwitchValue, TypeInner};

use super::interval::{Int, Interval};
use super::state::State;
use super::value::{Compared, Fact, Known, Naming, Order, Origin, Value};

/// Statements that are walked in all before loops are no longer run until nothing changes: nested loops run their inner ones
/// again and again. What they change is then unknown from the start, which is always right.
const STATEMENTS_MAX: u64 = 100_000;

/// Runs of a loop in which its variables grow step by step to the numbers that the function has; then they grow to the ends of
/// their types.
const RUNS_MAX: u32 = 6;

/// One function.
pub(super) struct Analysis<'a> {
    pub(super) module: &'a Module,
    pub(super) module_info: &'a ModuleInfo,
    pub(super) function: &'a naga::Function,
    pub(super) info: &'a FunctionInfo,
    pub(super) subgroup_size: Option<u32>,
    pub(super) naming: Naming,
    /// The arguments.
    pub(super) arguments: Vec<Value>,
    /// What is known of each expression by now.
    values: Vec<Option<Value>>,
    /// Numbers at which the growth of a variable may end: those of the function, and their neighbours.
    stops: Vec<i64>,
    frames: Vec<Frame>,
    statements: u64,
    /// What is proven in the last walk.
    pub(super) proven: Proofs,
    /// What each call was given: the function, and its arguments.
    pub(super) calls: Vec<(Handle<naga::Function>, Vec<Value>)>,
}

/// Where control leaves a loop or a switch for, and what is known there.
#[derive(Default)]
struct Frame {
    is_loop: bool,
    breaks: Option<State>,
    continues: Option<State>,
}

/// For each expression of a function, what is proven of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Proofs {
    pub(super) inside: Vec<bool>,
    pub(super) divides: Vec<bool>,
    pub(super) shifts: Vec<bool>,
}

impl<'a> Analysis<'a> {
    pub(super) fn new(
        module: &'a Module,
        module_info: &'a ModuleInfo,
        function: &'a naga::Function,
        info: &'a FunctionInfo,
        subgroup_size: Option<u32>,
    ) -> Self {
        let count = function.expressions.len();
        let none = vec![false; count];
        Self {
            module,
            module_info,
            function,
            info,
            subgroup_size,
            naming: Naming::default(),
            arguments: Vec::new(),
            values: vec![None; count],
            stops: stops(module, function),
            frames: Vec::new(),
            statements: 0,
            proven: Proofs { inside: none.clone(), divides: none.clone(), shifts: none },
            calls: Vec::new(),
        }
    }

    /// Walk the whole function.
    pub(super) fn run(&mut self) {
        let mut locals = Vec::new();
        for (_, local) in self.function.local_variables.iter() {
            locals.push(match local.init {
                Some(init) => self.value(init),
                // Variables are zero until they are written.
                None => self.zero(local.ty),
            });
        }
        self.block(State::new(locals), &self.function.body);
    }

    /// What is known of an expression that was emitted, or is there from the start.
    pub(super) fn value(&mut self, handle: Handle<Expression>) -> Value {
        if let Some(value) = &self.values[handle.index()] {
            return value.clone();
        }
        let value = self.given(handle);
        self.values[handle.index()] = Some(value.clone());
        value
    }

    fn set(&mut self, handle: Handle<Expression>, value: Value) {
        self.values[handle.index()] = Some(value);
    }

    fn reset(&mut self, handle: Handle<Expression>) {
        let value = self.unknown(handle);
        self.set(handle, value);
    }

    /// The state after a block; none where its end is never reached.
    fn block(&mut self, state: State, block: &Block) -> Option<State> {
        let mut state = Some(state);
        for statement in block.iter() {
            state = Some(self.statement(state?, statement)?);
        }
        state
    }

    fn statement(&mut self, mut state: State, statement: &Statement) -> Option<State> {
        self.statements += 1;
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    let value = self.evaluated(&state, handle);
                    self.set(handle, value);
                    self.prove(&state, handle);
                }
            }
            Statement::Block(block) => return self.block(state, block),
            Statement::If { condition, accept, reject } => return self.branch(state, *condition, accept, reject),
            Statement::Switch { selector, cases } => return self.switch(&state, *selector, cases),
            Statement::Loop { body, continuing, break_if } => return self.repeat(state, body, continuing, *break_if),
            Statement::Break => {
                let frame = self.frames.last_mut()?;
                frame.breaks = Some(met(frame.breaks.take(), state, &mut self.naming));
                return None;
            }
            Statement::Continue => {
                let frame = self.frames.iter_mut().rev().find(|frame| frame.is_loop)?;
                frame.continues = Some(met(frame.continues.take(), state, &mut self.naming));
                return None;
            }
            Statement::Return { .. } | Statement::Kill => return None,
            Statement::Store { pointer, value } => self.store(&mut state, *pointer, *value),
            Statement::Call { function, arguments, result } => {
                let values = arguments.iter().map(|argument| self.argument(&state, *argument)).collect();
                self.calls.push((*function, values));
                arguments.iter().for_each(|argument| self.forget(&mut state, *argument));
                result.iter().for_each(|result| self.reset(*result));
            }
            other => super::results(other).for_each(|result| self.reset(result)),
        }
        Some(state)
    }

    /// An argument as a callee may count on it: its ranges, without names, which mean nothing there.
    fn argument(&mut self, state: &State, handle: Handle<Expression>) -> Value {
        let value = self.value(handle);
        self.plain(state, &value)
    }

    fn plain(&mut self, state: &State, value: &Value) -> Value {
        let known = match &value.known {
            Known::Int(ty, interval) => {
                Known::Int(*ty, state.interval(value).map_or(*interval, |(_, interval)| interval))
            }
            Known::Parts(parts) => Known::Parts(parts.iter().map(|part| self.plain(state, part)).collect()),
            Known::Bool(_) | Known::Other => Known::Other,
        };
        Value { known, name: value.name }
    }

    /// The local variable that a pointer leads into.
    fn local_of(&self, mut pointer: Handle<Expression>) -> Option<Handle<naga::LocalVariable>> {
        loop {
            pointer = match self.function.expressions[pointer] {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => base,
                Expression::LocalVariable(local) => return Some(local),
                _ => return None,
            }
        }
    }

    fn forget(&mut self, state: &mut State, pointer: Handle<Expression>) {
        let is_pointer = self.info[pointer].ty.inner_with(&self.module.types).pointer_space().is_some();
        if let (true, Some(local)) = (is_pointer, self.local_of(pointer)) {
            let ty = self.function.local_variables[local].ty;
            state.locals[local.index()] = self.unknown_of(&self.module.types[ty].inner);
        }
    }

    fn store(&mut self, state: &mut State, pointer: Handle<Expression>, value: Handle<Expression>) {
        let value = self.value(value);
        match self.function.expressions[pointer] {
            Expression::LocalVariable(local) => state.locals[local.index()] = value,
            Expression::AccessIndex { base, index } => {
                if let Expression::LocalVariable(local) = self.function.expressions[base] {
                    let name = self.naming.fresh();
                    let variable = &mut state.locals[local.index()];
                    if let Known::Parts(parts) = &mut variable.known {
                        if let Some(part) = parts.get_mut(index as usize) {
                            *part = value;
                        }
                        variable.name = name;
                        return;
                    }
                }
                self.forget(state, pointer);
            }
            _ => self.forget(state, pointer),
        }
    }

    /// What a condition is, as comparisons that follow from either outcome.
    fn outcome(&mut self, condition: Handle<Expression>, truth: bool) -> (Vec<Compared>, bool) {
        match self.value(condition).known {
            Known::Bool(known) => {
                let possible = known.always.is_none_or(|always| always == truth);
                (if truth { known.when_true } else { known.when_false }, possible)
            }
            _ => (Vec::new(), true),
        }
    }

    /// The state where a condition has an outcome.
    fn assumed(&mut self, state: &State, condition: Handle<Expression>, truth: bool) -> Option<State> {
        let (facts, possible) = self.outcome(condition, truth);
        let mut state = state.clone();
        (possible && state.assume(&facts)).then_some(state)
    }

    /// An `if`, and the chain of `else if`s that it begins, which is walked and not recursed into.
    fn branch(&mut self, state: State, condition: Handle<Expression>, accept: &Block, reject: &Block) -> Option<State> {
        let mut ends = Vec::new();
        let (mut state, mut condition, mut accept, mut reject) = (state, condition, accept, reject);
        let mut last = loop {
            let taken = self.assumed(&state, condition, true);
            let not = self.assumed(&state, condition, false);
            let known = match self.value(condition).known {
                Known::Bool(known) => known,
                _ => super::value::Condition::default(),
            };
            let end = taken.and_then(|taken| self.block(taken, accept));
            let Some(not) = not else { break end };
            match reject.split_last() {
                Some((Statement::If { condition: next, accept: then, reject: otherwise }, before))
                    if before.iter().all(|statement| matches!(statement, Statement::Emit(_))) =>
                {
                    ends.push((end, known));
                    let mut walked = not;
                    for statement in before {
                        walked = self.statement(walked, statement)?;
                    }
                    (state, condition, accept, reject) = (walked, *next, then, otherwise);
                }
                _ => {
                    let other = self.block(not, reject);
                    break ended(end, other, &known, &mut self.naming);
                }
            }
        };
        for (end, known) in ends.into_iter().rev() {
            last = ended(end, last, &known, &mut self.naming);
        }
        last
    }

    fn switch(&mut self, state: &State, selector: Handle<Expression>, cases: &[SwitchCase]) -> Option<State> {
        self.frames.push(Frame::default());
        let selected = self.value(selector);
        // What the values of a run of cases that share a body have in common is not followed: only a body of one case is
        // narrowed.
        let mut through: Option<State> = None;
        let mut shared = false;
        for case in cases {
            let alone = !shared && !case.fall_through;
            let entry = match case.value {
                SwitchValue::I32(value) if alone => self.equal(state, &selected, Int::Signed, value.into()),
                SwitchValue::U32(value) if alone => self.equal(state, &selected, Int::Unsigned, value.into()),
                _ => Some(state.clone()),
            };
            let entry = match (through.take(), entry) {
                (Some(through), Some(entry)) => Some(through.join(&entry, &mut self.naming)),
                (through, entry) => through.or(entry),
            };
            let end = entry.and_then(|entry| self.block(entry, &case.body));
            shared = case.fall_through;
            if case.fall_through {
                through = end;
            } else if let (Some(end), Some(frame)) = (end, self.frames.last_mut()) {
                frame.breaks = Some(met(frame.breaks.take(), end, &mut self.naming));
            }
        }
        self.frames.pop()?.breaks
    }

    /// The state where a number is a certain one.
    fn equal(&mut self, state: &State, value: &Value, ty: Int, number: i64) -> Option<State> {
        let Some((_, interval)) = state.interval(value) else { return Some(state.clone()) };
        let other = (self.naming.of(Origin::Number(ty, number)), Interval::exactly(number));
        let this = (value.name, interval);
        let at_most = |less: (super::value::Name, Interval), more: (super::value::Name, Interval)| Compared {
            fact: Fact { less: less.0, order: Order::AtMost, more: more.0 },
            less: less.1,
            more: more.1,
        };
        let mut state = state.clone();
        state.assume(&[at_most(this, other), at_most(other, this)]).then_some(state)
    }

    fn repeat(
        &mut self,
        entry: State,
        body: &Block,
        continuing: &Block,
        break_if: Option<Handle<Expression>>,
    ) -> Option<State> {
        let changed = self.changed(body, continuing);
        let mut head = entry.clone();
        self.rename(&mut head, &changed);
        let mut run = 0;
        loop {
            if self.statements > STATEMENTS_MAX || run > RUNS_MAX + 2 {
                for local in &changed {
                    let ty = self.function.local_variables[*local].ty;
                    head.locals[local.index()] = self.unknown_of(&self.module.types[ty].inner);
                }
                return self.round(head, body, continuing, break_if).0;
            }
            let (exit, back) = self.round(head.clone(), body, continuing, break_if);
            let Some(back) = back else { return exit };
            let mut grown = head.clone();
            let mut grew = false;
            for local in &changed {
                let new = back.locals[local.index()].clone();
                let old = &mut grown.locals[local.index()];
                grew |= self.grow(old, &back, &new, run >= RUNS_MAX);
            }
            // What conditions before the loop said of what it changes was said of other names, and stays true of them.
            if !grew {
                return exit;
            }
            head = grown;
            self.rename(&mut head, &changed);
            run += 1;
        }
    }

    /// One round: the state after the loop, and the one at the start of the next round.
    fn round(
        &mut self,
        head: State,
        body: &Block,
        continuing: &Block,
        break_if: Option<Handle<Expression>>,
    ) -> (Option<State>, Option<State>) {
        self.frames.push(Frame { is_loop: true, ..Frame::default() });
        let end = self.block(head, body);
        let continues = self.frames.last_mut().and_then(|frame| frame.continues.take());
        let next = match (end, continues) {
            (Some(end), Some(continues)) => Some(end.join(&continues, &mut self.naming)),
            (end, continues) => end.or(continues),
        };
        let mut back = next.and_then(|next| self.block(next, continuing));
        let mut exit = self.frames.pop().and_then(|frame| frame.breaks);
        if let Some(condition) = break_if {
            let left = back.as_ref().and_then(|state| self.assumed(state, condition, true));
            if let Some(left) = left {
                exit = Some(met(exit, left, &mut self.naming));
            }
            back = back.and_then(|state| self.assumed(&state, condition, false));
        }
        (exit, back)
    }

    /// The local variables that a loop may change, each once.
    fn changed(&self, body: &Block, continuing: &Block) -> Vec<Handle<naga::LocalVariable>> {
        let mut changed = Vec::new();
        let mut see = |statement: &Statement| match statement {
            Statement::Store { pointer, .. } => changed.extend(self.local_of(*pointer)),
            Statement::Call { arguments, .. } => {
                changed.extend(arguments.iter().filter_map(|argument| self.local_of(*argument)));
            }
            _ => {}
        };
        crate::writer::visit(body, &mut see);
        crate::writer::visit(continuing, &mut see);
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Give new names to what a loop changes: each round has its own values.
    fn rename(&mut self, state: &mut State, changed: &[Handle<naga::LocalVariable>]) {
        for local in changed {
            let value = &state.locals[local.index()];
            let renamed = self.renamed(state, &value.clone());
            state.locals[local.index()] = renamed;
        }
    }

    fn renamed(&mut self, state: &State, value: &Value) -> Value {
        let known = match &value.known {
            Known::Int(ty, interval) => {
                Known::Int(*ty, state.interval(value).map_or(*interval, |(_, interval)| interval))
            }
            Known::Parts(parts) => Known::Parts(parts.iter().map(|part| self.renamed(state, part)).collect()),
            // What a flag said of a round is not said of the next.
            Known::Bool(_) => Known::Bool(super::value::Condition::default()),
            Known::Other => Known::Other,
        };
        Value { known, name: self.naming.fresh() }
    }

    /// Let a variable hold what a round left in it as well. Answers whether it did not yet.
    fn grow(&mut self, old: &mut Value, back: &State, new: &Value, at_once: bool) -> bool {
        match (&mut old.known, &new.known) {
            (Known::Int(ty, interval), Known::Int(..)) => {
                let (_, new) = back.interval(new).unwrap_or((*ty, ty.full()));
                let joined = interval.join(new);
                if joined == *interval {
                    return false;
                }
                let full = ty.full();
                let stops = if at_once { &[] } else { self.stops.as_slice() };
                let hi = stops.iter().copied().find(|stop| *stop >= joined.hi).unwrap_or(full.hi);
                let lo = stops.iter().rev().copied().find(|stop| *stop <= joined.lo).unwrap_or(full.lo);
                let lo = if joined.lo < interval.lo { lo.max(full.lo) } else { interval.lo };
                let hi = if joined.hi > interval.hi { hi.min(full.hi) } else { interval.hi };
                *interval = Interval { lo, hi };
                true
            }
            (Known::Parts(olds), Known::Parts(news)) => {
                let mut grew = false;
                for (old, new) in olds.iter_mut().zip(news) {
                    grew |= self.grow(old, back, new, at_once);
                }
                grew
            }
            (Known::Bool(_) | Known::Other, _) => false,
            (known, _) => {
                *known = Known::Other;
                true
            }
        }
    }

    /// Judge what an expression asks for at the point where it is emitted.
    fn prove(&mut self, state: &State, handle: Handle<Expression>) {
        use naga::BinaryOperator as Op;
        match self.function.expressions[handle] {
            Expression::Access { base, index } => {
                let index = self.value(index);
                self.proven.inside[handle.index()] = self.is_inside(state, base, &index);
            }
            Expression::Binary { op: Op::Divide | Op::Modulo, left, right } => {
                let (left, right) = (self.value(left), self.value(right));
                self.proven.divides[handle.index()] = match (state.interval(&left), state.interval(&right)) {
                    (Some((_, a)), Some((_, b))) => {
                        b.lo >= 1 || (b.hi <= -1 && (b.hi < -1 || a.lo > i64::from(i32::MIN)))
                    }
                    _ => false,
                };
            }
            Expression::Binary { op: Op::ShiftLeft | Op::ShiftRight, left, right } => {
                let width = match self.info[left].ty.inner_with(&self.module.types) {
                    TypeInner::Scalar(scalar) => i64::from(scalar.width) * 8,
                    _ => 0,
                };
                let amount = self.value(right);
                self.proven.shifts[handle.index()] =
                    state.interval(&amount).is_some_and(|(_, amount)| amount.lo >= 0 && amount.hi < width);
            }
            _ => {}
        }
    }

    fn is_inside(&mut self, state: &State, base: Handle<Expression>, index: &Value) -> bool {
        let inner = match self.info[base].ty.inner_with(&self.module.types) {
            TypeInner::Pointer { base, .. } => &self.module.types[*base].inner,
            inner => inner,
        };
        let Some((ty, interval)) = state.interval(index) else { return false };
        let length = match inner {
            TypeInner::Array { size: naga::ArraySize::Constant(length), .. } => i64::from(length.get()),
            TypeInner::Vector { size, .. } | TypeInner::Matrix { columns: size, .. } => i64::from(*size as u8),
            // One element is always bound.
            TypeInner::Array { .. } if interval == Interval::exactly(0) => return true,
            TypeInner::Array { .. } if ty == Int::Unsigned => {
                let Some(global) = self.function.originating_global(base) else { return false };
                let length = self.naming.of(Origin::Length(global));
                return state.is_ordered(&self.naming, index.name, Order::Below, length);
            }
            _ => return false,
        };
        interval.lo >= 0 && interval.hi < length
    }
}

/// What is known where a way joins others.
fn met(others: Option<State>, state: State, naming: &mut Naming) -> State {
    match others {
        Some(others) => others.join(&state, naming),
        None => state,
    }
}

/// What is known after an `if`.
fn ended(
    taken: Option<State>,
    not: Option<State>,
    condition: &super::value::Condition,
    naming: &mut Naming,
) -> Option<State> {
    match (taken, not) {
        (Some(taken), Some(not)) => Some(taken.join_branches(&not, condition, naming)),
        (taken, not) => taken.or(not),
    }
}

/// The numbers that a function has, and those beside them, in order.
fn stops(module: &Module, function: &naga::Function) -> Vec<i64> {
    let mut stops = Vec::new();
    let both = function.expressions.iter().chain(module.global_expressions.iter());
    for (_, expression) in both {
        let value = match expression {
            Expression::Literal(naga::Literal::U32(value)) => i64::from(*value),
            Expression::Literal(naga::Literal::I32(value)) => i64::from(*value),
            _ => continue,
        };
        stops.extend([value - 1, value, value + 1]);
    }
    stops.sort_unstable();
    stops.dedup();
    stops
}
