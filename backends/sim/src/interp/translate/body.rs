//! A function under translation: its slots, the values known so far, and the instructions as they are appended.
//!
//! A value's slots are free again at the end of the block that made it, since naga lets it be used in no other. A load of a
//! variable of the invocation itself makes no instruction: its value is the variable's slots, until just before something may
//! change them while the value is still to be used.

use naga::valid::FunctionInfo;
use naga::{BinaryOperator, Expression, Function, Handle, TypeInner};

use super::value::Value;
use super::{FunctionPlace, Translator};
use crate::interp::access;
use crate::interp::constant::Kept;
use crate::interp::inst::{Inst, Run};
use crate::interp::kind::Kind;
use crate::interp::refusal::{Refusal, unsupported};

/// A value that lies in the slots of a variable.
#[derive(Clone, Copy, Debug)]
struct Borrowed {
    value: Handle<Expression>,
    slot: u32,
    len: u32,
}

/// The last instruction, where it may be changed to put its result elsewhere.
#[derive(Clone, Copy, Debug)]
struct LastValue {
    pc: usize,
    dst: u32,
    len: u32,
    made: Made,
}

/// What an instruction made, where a later one can do both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Any,
    /// A place in as many elements as the program says, or as the binding has.
    Index {
        runtime: bool,
    },
    /// The outcome of a comparison.
    Test(BinaryOperator, Kind),
}

/// Jumps whose targets are not known yet, of the loops and switches around a statement.
#[derive(Debug, Default)]
pub(super) struct Exits {
    pub(super) breaks: Vec<usize>,
    pub(super) continues: Vec<usize>,
    pub(super) is_loop: bool,
}

/// A function under translation.
pub(super) struct Body<'t, 'm> {
    pub(super) t: &'t mut Translator<'m>,
    pub(super) function: &'m Function,
    pub(super) info: &'m FunctionInfo,
    pub(super) values: Vec<Value>,
    /// How often each expression is still to be used.
    uses: Vec<usize>,
    /// Slots of the function's variables.
    pub(super) locals: Vec<u32>,
    variables: (u32, u32),
    /// The next free slot, and the highest that ever was.
    top: u32,
    highest: u32,
    borrowed: Vec<Borrowed>,
    last: Option<LastValue>,
    pub(super) exits: Vec<Exits>,
    pub(super) line: u32,
    pub(super) arguments: Vec<u32>,
    pub(super) back: Option<u32>,
    pub(super) result: u32,
}

impl<'t, 'm> Body<'t, 'm> {
    pub(super) fn new(
        t: &'t mut Translator<'m>,
        function: &'m Function,
        info: &'m FunctionInfo,
        known: Vec<Option<Kept>>,
    ) -> Result<Self, Refusal> {
        let first = t.first_free(function);
        let values = known.into_iter().map(|kept| match kept {
            None => Value::None,
            Some(Kept::Pool(slot)) => Value::Slots(slot),
            Some(Kept::Table(from)) => Value::Table(from),
            Some(Kept::Zero) => Value::Zero,
        });
        let values: Vec<Value> = values.collect();
        let uses = function.expressions.iter().map(|(handle, _)| info[handle].ref_count).collect();
        let mut body = Self {
            t,
            function,
            info,
            values,
            uses,
            locals: Vec::new(),
            variables: (0, 0),
            top: first,
            highest: first,
            borrowed: Vec::new(),
            last: None,
            exits: Vec::new(),
            line: 0,
            arguments: Vec::new(),
            back: None,
            result: 0,
        };
        body.declare()?;
        Ok(body)
    }

    /// Give arguments, the result and variables their slots.
    fn declare(&mut self) -> Result<(), Refusal> {
        let function = self.function;
        for argument in &function.arguments {
            let slots = self.t.layout.slots(argument.ty);
            let slot = self.temp(slots)?;
            self.arguments.push(slot);
        }
        if let Some(result) = &function.result {
            self.result = self.temp(self.t.layout.slots(result.ty))?;
        }
        self.variables.0 = self.top;
        for (_, variable) in function.local_variables.iter() {
            let slot = self.temp(self.t.layout.slots(variable.ty))?;
            self.locals.push(slot);
        }
        self.variables.1 = self.top;
        Ok(())
    }

    /// Translate a function that others call.
    pub(super) fn function(mut self) -> Result<FunctionPlace, Refusal> {
        let start = self.t.code.len();
        let back = self.temp(1)?;
        self.back = Some(back);
        self.begin()?;
        let length = self.t.code.len() - start;
        let [start, cost] = [start, length].map(|at| u32::try_from(at).expect("a text has fewer instructions"));
        let arguments = std::mem::take(&mut self.arguments);
        Ok(FunctionPlace { start, back, arguments, result: self.result, top: self.highest, cost })
    }

    /// Initialise the variables, then do what the function does.
    pub(super) fn begin(&mut self) -> Result<u32, Refusal> {
        let function = self.function;
        for (handle, variable) in function.local_variables.iter() {
            let (slot, slots) = (self.locals[handle.index()], self.t.layout.slots(variable.ty));
            self.at(function.local_variables.get_span(handle));
            match variable.init {
                None => self.zero(slot, slots),
                Some(init) => self.copy_to(init, slot, slots)?,
            }
        }
        self.block(&function.body)?;
        self.leave(None)?;
        Ok(self.highest)
    }

    /// Free slots for `n` scalars, until the end of the block.
    pub(super) fn temp(&mut self, n: u32) -> Result<u32, Refusal> {
        let slot = self.top;
        self.top = slot.checked_add(n).ok_or_else(|| unsupported("so many values"))?;
        self.highest = self.highest.max(self.top);
        if self.highest > super::SLOTS_MAX {
            return Err(unsupported(format!("more than {} scalars of variables and values at once", super::SLOTS_MAX)));
        }
        Ok(slot)
    }

    pub(super) fn top(&self) -> u32 {
        self.top
    }

    /// The values of a block are over.
    pub(super) fn release_to(&mut self, top: u32) {
        self.top = top;
        self.borrowed.clear();
        self.last = None;
    }

    /// Say where the next instructions come from.
    pub(super) fn at(&mut self, span: naga::Span) {
        if let Some(line) = self.t.lines.line(span) {
            self.line = line;
        }
    }

    /// Append an instruction.
    pub(super) fn inst(&mut self, inst: Inst) -> usize {
        self.t.code.push(inst);
        self.t.tables.lines.push(self.line);
        self.last = None;
        self.t.code.len() - 1
    }

    /// Append an instruction whose only effect is on its `len` slots from `dst`.
    pub(super) fn value_inst(&mut self, inst: Inst, len: u32) {
        let pc = self.inst(inst);
        self.last = Some(LastValue { pc, dst: inst.dst, len, made: Made::Any });
    }

    /// Append an instruction that brings an index into range.
    pub(super) fn index_inst(&mut self, inst: Inst, runtime: bool, name: u32) {
        self.value_inst(inst, 1);
        self.name_index(name);
        if let Some(last) = &mut self.last {
            last.made = Made::Index { runtime };
        }
    }

    /// Say what the last instruction indexes.
    pub(super) fn name_index(&mut self, name: u32) {
        let pc = u32::try_from(self.t.code.len() - 1).expect("a text has fewer instructions");
        self.t.tables.indexed.push((pc, name));
    }

    /// The last instruction, if it made the index in a slot, and whether into a runtime-sized array.
    pub(super) fn last_index(&self, slot: u32) -> Option<(Inst, bool)> {
        let last = self.last.filter(|last| last.dst == slot)?;
        let Made::Index { runtime } = last.made else { return None };
        Some((self.t.code[last.pc], runtime))
    }

    /// Say that the last instruction compared two scalars.
    pub(super) fn remember_test(&mut self, op: BinaryOperator, kind: Kind) {
        if let Some(last) = self.last.as_mut().filter(|last| last.len == 1) {
            last.made = Made::Test(op, kind);
        }
    }

    /// The last instruction, if it made a condition that nothing else uses.
    pub(super) fn last_test(&self, condition: Handle<Expression>, slot: u32) -> Option<(Inst, BinaryOperator, Kind)> {
        let last = self.last.filter(|last| last.dst == slot && self.uses[condition.index()] == 0)?;
        let Made::Test(op, kind) = last.made else { return None };
        Some((self.t.code[last.pc], op, kind))
    }

    /// Let an instruction do the work of the last one too.
    pub(super) fn replace_last(&mut self, inst: Inst) -> usize {
        self.drop_last();
        self.inst(inst)
    }

    /// Take the last instruction back.
    pub(super) fn drop_last(&mut self) {
        self.t.code.pop();
        self.t.tables.lines.pop();
        self.last = None;
    }

    /// As [`Body::replace_last`], for an instruction that makes one scalar.
    pub(super) fn replace_last_value(&mut self, inst: Inst) {
        let pc = self.replace_last(inst);
        self.last = Some(LastValue { pc, dst: inst.dst, len: 1, made: Made::Any });
    }

    /// Whether a pointer is for one access alone.
    pub(super) fn is_used_once(&self, pointer: Handle<Expression>) -> bool {
        self.info[pointer].ref_count == 1
    }

    /// Where the next instruction will be: somewhere else leads there too.
    pub(super) fn label(&mut self) -> u32 {
        self.last = None;
        u32::try_from(self.t.code.len()).expect("a text has fewer instructions")
    }

    /// Let jumps lead to the next instruction.
    pub(super) fn land(&mut self, jumps: Vec<usize>) {
        let here = self.label();
        for pc in jumps {
            self.t.code[pc].b = here;
        }
    }

    pub(super) fn inner(&self, expression: Handle<Expression>) -> &TypeInner {
        self.info[expression].ty.inner_with(&self.t.module.types)
    }

    /// Slots of an expression's type.
    pub(super) fn len(&self, expression: Handle<Expression>) -> Result<u32, Refusal> {
        self.t.layout.slots_of(self.inner(expression))
    }

    /// The first slot of a value, for one use of it.
    pub(super) fn slot(&mut self, expression: Handle<Expression>) -> Result<u32, Refusal> {
        if self.values[expression.index()] == Value::None {
            // Nothing emits what is constant but not known, such as the start value of a variable.
            self.emit(expression)?;
        }
        let uses = &mut self.uses[expression.index()];
        *uses = uses.saturating_sub(1);
        match self.values[expression.index()] {
            Value::Slots(slot) => Ok(slot),
            Value::Table(from) => {
                let len = self.len(expression)?;
                let dst = self.temp(len)?;
                self.value_inst(Inst { dst, a: 0, b: from, c: 0, n: len, m: 0, run: access::TABLE }, len);
                Ok(dst)
            }
            Value::Zero => {
                let len = self.len(expression)?;
                let dst = self.temp(len)?;
                self.zero(dst, len);
                Ok(dst)
            }
            Value::Place(_) | Value::None => Err(unsupported("a pointer as a value")),
        }
    }

    /// A number as a value.
    pub(super) fn number(&mut self, value: u64) -> u32 {
        let kept = self.top;
        self.top += 1;
        self.highest = self.highest.max(self.top);
        let (a, b) = (value as u32, (value >> 32) as u32);
        self.value_inst(Inst { dst: kept, a, b, c: 0, n: 1, m: 0, run: access::NUMBER }, 1);
        kept
    }

    pub(super) fn zero(&mut self, dst: u32, n: u32) {
        let run: Run = if n == 1 { access::MOVE } else { access::SPLAT };
        self.inst(Inst { dst, a: 0, b: 0, c: 0, n, m: 0, run });
    }

    pub(super) fn copy(&mut self, dst: u32, from: u32, n: u32) {
        if dst != from && n > 0 {
            let run: Run = if n == 1 { access::MOVE } else { access::MOVE_MANY };
            self.value_inst(Inst { dst, a: from, b: 0, c: 0, n, m: 0, run }, n);
        }
    }

    /// Put a value into slots of a variable, an argument or a result.
    pub(super) fn copy_to(&mut self, value: Handle<Expression>, dst: u32, n: u32) -> Result<(), Refusal> {
        match self.values[value.index()] {
            Value::Table(from) => {
                self.inst(Inst { dst, a: 0, b: from, c: 0, n, m: 0, run: access::TABLE });
            }
            Value::Zero => self.zero(dst, n),
            _ => {
                let from = self.slot(value)?;
                if !self.redirect(value, from, dst, n) {
                    self.copy(dst, from, n);
                    self.last = None;
                }
            }
        }
        Ok(())
    }

    /// Let the instruction that just made a value put it where it goes, if nothing else uses the value.
    fn redirect(&mut self, value: Handle<Expression>, from: u32, dst: u32, n: u32) -> bool {
        let Some(last) = self.last else { return false };
        let made_here = last.pc + 1 == self.t.code.len() && last.dst == from && last.len == n;
        if !made_here || self.uses[value.index()] > 0 || from < self.variables.1 {
            return false;
        }
        let inst = &mut self.t.code[last.pc];
        // With more than one component, an operand must not be overwritten before it is read.
        let apart = |slot: u32| slot + n <= dst || dst + n <= slot;
        if n > 1 && ![inst.a, inst.b, inst.c, inst.m].into_iter().all(apart) {
            return false;
        }
        inst.dst = dst;
        self.last = None;
        true
    }

    /// Whether slots are those of a variable, which may change.
    fn is_variable(&self, slot: u32) -> bool {
        let within = |range: (u32, u32)| (range.0..range.1).contains(&slot);
        within(self.variables) || within(self.t.private)
    }

    /// Say where an expression's value is.
    pub(super) fn set(&mut self, expression: Handle<Expression>, slot: u32, len: u32) {
        self.values[expression.index()] = Value::Slots(slot);
        if self.is_variable(slot) {
            self.borrowed.push(Borrowed { value: expression, slot, len });
        }
    }

    /// Take copies of values that lie in slots of variables among `n` from `slot`, before those change.
    pub(super) fn unborrow(&mut self, slot: u32, n: u32) -> Result<(), Refusal> {
        let meets = |found: &Borrowed| found.slot < slot.saturating_add(n) && slot < found.slot + found.len;
        let all = std::mem::take(&mut self.borrowed);
        for found in all {
            if !meets(&found) {
                self.borrowed.push(found);
            } else if self.uses[found.value.index()] > 0 {
                let dst = self.temp(found.len)?;
                self.copy(dst, found.slot, found.len);
                self.last = None;
                self.values[found.value.index()] = Value::Slots(dst);
            }
        }
        Ok(())
    }

    /// As [`Body::unborrow`], for every variable: what comes next may change any, or be left out.
    pub(super) fn unborrow_all(&mut self) -> Result<(), Refusal> {
        self.unborrow(0, u32::MAX)
    }
}
