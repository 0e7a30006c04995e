//! Reads a function: gives each value its number, each branch its scope, and each variable the value that it has at a place.
//!
//! Statements are read once, in their order. Of a branch only the variables that it changes are kept; where branches meet, a
//! variable that differs gets a joined value.

use std::collections::HashMap;

use naga::valid::FunctionInfo;
use naga::{Expression, Function, Handle, LocalVariable, Scalar, Statement};

use super::control::Frame;
use super::flow::{Step, steps};
use super::graph::{Call, Check, Root, Source, root};
use super::interval::Interval;
use super::place::Place;
use super::scope::{ScopeId, Scopes};
use super::term::{Op, Sym, Terms};

/// What an expression is.
#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    /// Something that is not followed.
    #[default]
    Nothing,
    /// Its scalars.
    Scalars(Vec<Sym>),
    /// A pointer.
    Place(Place),
}

/// What was found besides the values.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) checks: Vec<Check>,
    pub(super) calls: Vec<Call>,
    pub(super) returns: Vec<(Vec<Sym>, ScopeId)>,
}

/// The scalars of a local variable among all variables'.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    pub(super) first: usize,
    pub(super) len: usize,
}

pub(super) struct Builder<'m> {
    pub(super) source: &'m Source<'m>,
    pub(super) function: &'m Function,
    pub(super) info: &'m FunctionInfo,
    pub(super) terms: Terms,
    pub(super) scopes: Scopes,
    pub(super) found: Found,
    pub(super) scope: ScopeId,
    /// Whether a way leads here.
    pub(super) alive: bool,
    pub(super) values: Vec<Value>,
    slots: Vec<Slots>,
    slot_scalars: Vec<Scalar>,
    /// What each scalar of the variables is now.
    now: Vec<Sym>,
    /// Which were changed, and what they were before.
    pub(super) changed: Vec<(usize, Sym)>,
    pub(super) frames: Vec<Frame>,
}

impl<'m> Builder<'m> {
    pub(super) fn new(source: &'m Source<'m>, function: &'m Function, info: &'m FunctionInfo) -> Self {
        Self {
            source,
            function,
            info,
            terms: Terms::default(),
            scopes: Scopes::new(),
            found: Found::default(),
            scope: ScopeId::ROOT,
            alive: true,
            values: vec![Value::Nothing; function.expressions.len()],
            slots: Vec::new(),
            slot_scalars: Vec::new(),
            now: Vec::new(),
            changed: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Read all of it.
    pub(super) fn run(mut self) -> (Terms, Scopes, Found) {
        self.begin();
        let steps = steps(self.function);
        let loops = self.changed_in_loops(&steps);
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Do(statement) if self.alive => self.statement(statement),
                Step::Do(_) => {}
                Step::Return(value) => self.give(*value),
                Step::Loop => self.open_loop(loops.get(&at).map_or(&[], Vec::as_slice)),
                step => self.control(step),
            }
        }
        (self.terms, self.scopes, self.found)
    }

    /// What needs no statement to be there: constants, arguments, pointers to variables, and the variables' first values.
    fn begin(&mut self) {
        self.place_arguments();
        for (_, variable) in self.function.local_variables.iter() {
            let scalars = self.source.shapes.of(variable.ty);
            self.slots.push(Slots { first: self.slot_scalars.len(), len: scalars.len() });
            self.slot_scalars.extend(scalars);
        }
        for (handle, expression) in self.function.expressions.iter() {
            if expression.needs_pre_emit()
                || matches!(expression, Expression::Compose { .. } | Expression::Splat { .. })
            {
                self.evaluate(handle);
            }
        }
        for (_, variable) in self.function.local_variables.iter() {
            let scalars = self.source.shapes.of(variable.ty);
            let given = variable.init.map(|init| self.scalars_of(init, scalars.len()));
            for (at, scalar) in scalars.iter().enumerate() {
                let first = match &given {
                    None => self.terms.known(0, *scalar, ScopeId::ROOT),
                    Some(Some(given)) => given[at],
                    Some(None) => self.terms.unknown(Interval::of(*scalar), *scalar, ScopeId::ROOT),
                };
                self.now.push(first);
            }
        }
    }

    fn place_arguments(&mut self) {
        let mut number = 0;
        let mut all = Vec::new();
        for argument in &self.function.arguments {
            let mut scalars = Vec::new();
            for scalar in self.source.shapes.of(argument.ty) {
                scalars.push(self.terms.make(Op::Argument(number), &[], *scalar, ScopeId::ROOT));
                number += 1;
            }
            all.push(scalars);
        }
        for (handle, expression) in self.function.expressions.iter() {
            if let Expression::FunctionArgument(at) = expression {
                let scalars = all.get(*at as usize).filter(|scalars| !scalars.is_empty());
                self.values[handle.index()] = scalars.map_or(Value::Nothing, |scalars| Value::Scalars(scalars.clone()));
            }
        }
    }

    /// The scalars of an expression, where it has so many.
    pub(super) fn scalars_of(&self, expression: Handle<Expression>, len: usize) -> Option<Vec<Sym>> {
        match &self.values[expression.index()] {
            Value::Scalars(scalars) if scalars.len() == len => Some(scalars.clone()),
            _ => None,
        }
    }

    pub(super) fn slots(&self, variable: Handle<LocalVariable>) -> Slots {
        self.slots[variable.index()]
    }

    pub(super) fn slot_scalar(&self, slot: usize) -> Scalar {
        self.slot_scalars[slot]
    }

    pub(super) fn now(&self, slot: usize) -> Sym {
        self.now[slot]
    }

    pub(super) fn assign(&mut self, slot: usize, value: Sym) {
        if self.now[slot] != value {
            self.changed.push((slot, self.now[slot]));
            self.now[slot] = value;
        }
    }

    /// Undo what was assigned since there were `mark` changes.
    pub(super) fn roll_back(&mut self, mark: usize) {
        for (slot, before) in self.changed.drain(mark..).rev() {
            self.now[slot] = before;
        }
    }

    /// For each loop, by its step, the scalars of variables that are stored to within.
    fn changed_in_loops(&self, steps: &[Step<'_>]) -> HashMap<usize, Vec<usize>> {
        let (mut found, mut open) = (HashMap::new(), Vec::new());
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Loop => open.push((at, Vec::new())),
                Step::EndLoop(_) => {
                    let Some((start, mut slots)): Option<(usize, Vec<usize>)> = open.pop() else { continue };
                    slots.sort_unstable();
                    slots.dedup();
                    if let Some((_, around)) = open.last_mut() {
                        around.extend(&slots);
                    }
                    found.insert(start, slots);
                }
                Step::Do(statement) => {
                    if let Some((_, slots)) = open.last_mut() {
                        self.stored_by(statement, slots);
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn stored_by(&self, statement: &Statement, slots: &mut Vec<usize>) {
        let mut store = |pointer| {
            if let Root::Local(variable) = root(self.function, pointer) {
                let Slots { first, len } = self.slots(variable);
                slots.extend(first..first + len);
            }
        };
        match statement {
            Statement::Store { pointer, .. } => store(*pointer),
            Statement::Call { arguments, .. } => arguments.iter().for_each(|argument| store(*argument)),
            _ => {}
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Emit(range) => range.clone().for_each(|expression| self.evaluate(expression)),
            Statement::Store { pointer, value } => self.store(*pointer, *value),
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result),
            Statement::Atomic { result, .. } => result.iter().for_each(|result| self.forget(*result)),
            Statement::WorkGroupUniformLoad { result, .. }
            | Statement::SubgroupBallot { result, .. }
            | Statement::SubgroupGather { result, .. }
            | Statement::SubgroupCollectiveOperation { result, .. } => self.forget(*result),
            Statement::Kill => self.alive = false,
            _ => {}
        }
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) {
        let declared = &self.source.module.functions[function].arguments;
        let mut given = Vec::new();
        for (argument, declared) in arguments.iter().zip(declared) {
            let scalars = self.source.shapes.of(declared.ty);
            let known = self.scalars_of(*argument, scalars.len());
            given.extend(known.unwrap_or_else(|| self.unknowns(scalars)));
        }
        self.found.calls.push(Call { function, arguments: given, scope: self.scope });
        // Whatever is pointed to may be changed by it; no pointer outlives the call.
        for argument in arguments {
            if let Root::Local(variable) = root(self.function, *argument) {
                self.lose(self.slots(variable));
            }
        }
        if let Some(result) = result {
            let mut outcome = Vec::new();
            for (at, scalar) in self.scalars_in(result).into_iter().enumerate() {
                outcome.push(self.terms.distinct(Op::Outcome(function, at as u32), scalar, self.scope));
            }
            self.set(result, outcome);
        }
    }

    /// A function ends here.
    fn give(&mut self, value: Option<Handle<Expression>>) {
        if !self.alive {
            return;
        }
        let scalars = value.map(|value| match &self.values[value.index()] {
            Value::Scalars(scalars) => scalars.clone(),
            _ => Vec::new(),
        });
        self.found.returns.push((scalars.unwrap_or_default(), self.scope));
        self.alive = false;
    }
}
