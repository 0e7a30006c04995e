//! The values of a function, each once: what it is made of, and which values are known to be the same.
//!
//! A value belongs to the place that makes it. It changes only when that place is run again, and then none of its old readers
//! is left: variables that a loop changes get values of their own at its head.

use std::collections::HashMap;

use naga::{BinaryOperator, Function, GlobalVariable, Handle, MathFunction, Scalar, UnaryOperator};

use super::interval::Interval;
use super::scope::ScopeId;

/// A scalar value, by its number in [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Sym(u32);

impl Sym {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Values of one number are equal wherever both are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Same(u32);

impl Same {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a value is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// Something of a range, of which no more is known; a constant where the range is one value.
    Within(Interval),
    /// A scalar of the function's arguments.
    Argument(u32),
    /// A scalar of what a call gave.
    Outcome(Handle<Function>, u32),
    /// The length of the runtime-sized array in a binding.
    Length(Handle<GlobalVariable>),
    /// A scalar of the immediates, by its place among them: they never change.
    Immediate(Handle<GlobalVariable>, u32),
    Unary(UnaryOperator),
    Binary(BinaryOperator),
    Math(MathFunction),
    /// The same number, where the type has it.
    Convert,
    /// One of several values, by the way that led here.
    Join(u32),
    /// As [`Op::Join`], at the head of a loop: a way comes from further down.
    Head(u32),
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) op: Op,
    /// As many as the operation has; the first stands for those that are missing.
    pub(super) operands: [Option<Sym>; 3],
    pub(super) scalar: Scalar,
    /// Where it is made.
    pub(super) scope: ScopeId,
    pub(super) same: Same,
}

/// One of the ways into a join: the value, and where the way begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) value: Sym,
    pub(super) scope: ScopeId,
}

/// All values of a function, each after those that it is made of, but for ways into the head of a loop.
#[derive(Debug, Default)]
pub(super) struct Terms {
    terms: Vec<Term>,
    ways: Vec<Vec<Way>>,
    numbers: HashMap<(Op, [Option<Same>; 3], Scalar), Same>,
    same_count: u32,
}

impl Terms {
    pub(super) fn get(&self, sym: Sym) -> &Term {
        &self.terms[sym.index()]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Sym, &Term)> {
        self.terms.iter().enumerate().map(|(at, term)| (Sym(at as u32), term))
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    pub(super) fn same_count(&self) -> usize {
        self.same_count as usize
    }

    pub(super) fn ways(&self, number: u32) -> &[Way] {
        &self.ways[number as usize]
    }

    /// The constant that a value is, by how it is made.
    pub(super) fn constant(&self, sym: Sym) -> Option<i128> {
        match self.get(sym).op {
            Op::Within(interval) => interval.single(),
            _ => None,
        }
    }

    /// A value whose operation tells what it is: made again of the same values it is the same.
    pub(super) fn make(&mut self, op: Op, operands: &[Sym], scalar: Scalar, scope: ScopeId) -> Sym {
        let mut given = [None; 3];
        given.iter_mut().zip(operands).for_each(|(to, from)| *to = Some(*from));
        let mut key = given.map(|operand: Option<Sym>| operand.map(|sym| self.get(sym).same));
        if commutes(op) && key[0].map(Same::index) > key[1].map(Same::index) {
            key.swap(0, 1);
        }
        let next = Same(self.same_count);
        let same = *self.numbers.entry((op, key, scalar)).or_insert(next);
        if same == next {
            self.same_count += 1;
        }
        self.push(Term { op, operands: given, scalar, scope, same })
    }

    /// A value like no other, even if it is made in the same way.
    pub(super) fn distinct(&mut self, op: Op, scalar: Scalar, scope: ScopeId) -> Sym {
        let same = self.next_same();
        self.push(Term { op, operands: [None; 3], scalar, scope, same })
    }

    /// A value like no other, within a range.
    pub(super) fn unknown(&mut self, interval: Interval, scalar: Scalar, scope: ScopeId) -> Sym {
        self.distinct(Op::Within(interval), scalar, scope)
    }

    /// A constant.
    pub(super) fn known(&mut self, value: i128, scalar: Scalar, scope: ScopeId) -> Sym {
        self.make(Op::Within(Interval::one(value)), &[], scalar, scope)
    }

    /// One of several values.
    pub(super) fn join(&mut self, ways: Vec<Way>, scalar: Scalar, scope: ScopeId) -> Sym {
        self.ways.push(ways);
        self.distinct(Op::Join(self.ways.len() as u32 - 1), scalar, scope)
    }

    /// The value of a variable at the head of a loop, given how it is entered.
    pub(super) fn head(&mut self, entry: Way, scalar: Scalar, scope: ScopeId) -> Sym {
        self.ways.push(vec![entry]);
        self.distinct(Op::Head(self.ways.len() as u32 - 1), scalar, scope)
    }

    /// The way back to the head of a loop.
    pub(super) fn close(&mut self, head: Sym, back: Way) {
        if let Op::Head(number) = self.get(head).op {
            self.ways[number as usize].push(back);
        }
    }

    /// What a value would be called if it were made; none where it never was.
    pub(super) fn same_as(&self, op: Op, operand: Sym, scalar: Scalar) -> Option<Same> {
        self.numbers.get(&(op, [Some(self.get(operand).same), None, None], scalar)).copied()
    }

    fn next_same(&mut self) -> Same {
        self.same_count += 1;
        Same(self.same_count - 1)
    }

    fn push(&mut self, term: Term) -> Sym {
        self.terms.push(term);
        Sym(self.terms.len() as u32 - 1)
    }
}

fn commutes(op: Op) -> bool {
    match op {
        Op::Binary(op) => matches!(
            op,
            BinaryOperator::Add
                | BinaryOperator::Multiply
                | BinaryOperator::And
                | BinaryOperator::InclusiveOr
                | BinaryOperator::ExclusiveOr
                | BinaryOperator::Equal
                | BinaryOperator::NotEqual
        ),
        Op::Math(fun) => matches!(fun, MathFunction::Min | MathFunction::Max),
        _ => false,
    }
}
