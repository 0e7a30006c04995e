//! What is known of a value in a scope: its range where it is made, narrowed by what holds there.

use std::cell::Cell;

use super::arithmetic::{binary, converted, unary};
use super::builtins::math;
use super::graph::Graph;
use super::interval::{Interval, is_integer};
use super::scope::{Relation, ScopeId};
use super::term::{Op, Sym, Term};

use naga::BinaryOperator;

/// How far a value is taken apart again in a scope that knows more than where it was made.
const DEPTH: u32 = 3;

/// Steps of one question, so that no text makes it long.
const STEPS_MAX: u32 = 160;

/// What a function is given from outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<'a> {
    /// Each scalar of its arguments.
    pub(super) arguments: &'a [Interval],
    /// For each function each scalar of its result.
    pub(super) results: &'a [Vec<Interval>],
}

/// The ranges of a function's values.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    given: Given<'a>,
    /// Each value's, where it is made; of those that are not reached yet none.
    ranges: Vec<Interval>,
    steps: Cell<u32>,
}

impl<'a> View<'a> {
    pub(super) fn new(graph: &'a Graph, given: Given<'a>) -> Self {
        let ranges = vec![Interval::NONE; graph.terms.len()];
        Self { graph, given, ranges, steps: Cell::new(0) }
    }

    pub(super) fn range(&self, sym: Sym) -> Interval {
        self.ranges[sym.index()]
    }

    pub(super) fn set_range(&mut self, sym: Sym, range: Interval) {
        self.ranges[sym.index()] = range;
    }

    /// The range of a value in a scope.
    pub(super) fn at(&self, sym: Sym, scope: ScopeId) -> Interval {
        self.steps.set(STEPS_MAX);
        self.look(sym, scope, DEPTH)
    }

    /// The range of a value where it is made, from those that it is made of.
    pub(super) fn made(&self, term: &Term) -> Interval {
        self.steps.set(STEPS_MAX);
        self.compute(term, term.scope, DEPTH)
    }

    pub(super) fn step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }

    /// As [`View::at`], within a question that has begun.
    pub(super) fn look(&self, sym: Sym, scope: ScopeId, depth: u32) -> Interval {
        let term = self.graph.terms.get(sym);
        let mut range = self.range(sym);
        if range.single().is_some() || range.is_empty() || !self.step() {
            return range;
        }
        if depth > 0 && term.scope != scope {
            range = range.meet(self.compute(term, scope, depth - 1));
        }
        for (relation, other) in self.graph.facts.about(term.same, scope) {
            let bound = if depth > 0 { self.look(other, scope, depth - 1) } else { self.range(other) };
            range = narrowed(range, relation, bound);
        }
        range
    }

    fn compute(&self, term: &Term, scope: ScopeId, depth: u32) -> Interval {
        let operand = |at: usize| match term.operands[at].or(term.operands[0]) {
            Some(sym) => self.look(sym, scope, depth),
            None => Interval::of(term.scalar),
        };
        // The type of the operands, which for a comparison is not that of the result.
        let scalar = term.operands[0].map_or(term.scalar, |sym| self.graph.terms.get(sym).scalar);
        match term.op {
            Op::Within(range) => range,
            Op::Argument(number) => {
                self.given.arguments.get(number as usize).copied().unwrap_or(Interval::of(term.scalar))
            }
            Op::Outcome(function, number) => {
                let result = self.given.results.get(function.index()).and_then(|result| result.get(number as usize));
                result.copied().unwrap_or(Interval::of(term.scalar))
            }
            // A binding holds at least one element.
            Op::Length(_) => Interval::new(1, i128::from(u32::MAX)),
            Op::Immediate(..) => Interval::of(term.scalar),
            Op::Unary(op) => unary(op, scalar, operand(0)),
            // Comparing looks at values itself, and is not begun again from there.
            Op::Binary(BinaryOperator::Subtract) if depth > 0 => self.difference(term, scope, [operand(0), operand(1)]),
            Op::Binary(op) => binary(op, scalar, operand(0), operand(1)),
            Op::Math(fun) => {
                math(fun, scalar, [operand(0), operand(1), operand(2)]).unwrap_or(Interval::of(term.scalar))
            }
            Op::Convert => converted(term.scalar, operand(0)),
            // Ways are looked at where they end, by who joins them.
            Op::Join(_) | Op::Head(_) => Interval::of(term.scalar),
        }
    }

    /// `a - b`, which does not wrap where `b <= a` is known.
    fn difference(&self, term: &Term, scope: ScopeId, [a, b]: [Interval; 2]) -> Interval {
        let exact = Interval::new(a.low - b.high, a.high - b.low);
        let range = binary(BinaryOperator::Subtract, term.scalar, a, b);
        let [Some(left), Some(right), _] = term.operands else { return range };
        if range.is_empty() || exact.is_within(Interval::of(term.scalar)) || !is_integer(term.scalar) {
            return range;
        }
        if self.is_below(right, left, 0, scope) {
            let most = self.ahead(left, right, scope).map_or(exact.high, |most| most.min(exact.high));
            return Interval::new(exact.low.max(0), most.max(0)).wrapped(term.scalar);
        }
        range
    }

    /// By how much `a` exceeds `b` at most, where it is not below: `a < b + c` says so. Had the sum wrapped, it would be below `b`.
    fn ahead(&self, a: Sym, b: Sym, scope: ScopeId) -> Option<i128> {
        let terms = &self.graph.terms;
        let same = terms.get(b).same;
        let facts = self.graph.facts.about(terms.get(a).same, scope);
        let mosts = facts.filter_map(|(relation, bound)| {
            let less = match relation {
                Relation::Less => 1,
                Relation::LessEqual => 0,
                _ => return None,
            };
            let (Op::Binary(BinaryOperator::Add), [Some(x), Some(y), _]) =
                (terms.get(bound).op, terms.get(bound).operands)
            else {
                return None;
            };
            let more = if terms.get(x).same == same { y } else { x };
            let is_of_b = terms.get(x).same == same || terms.get(y).same == same;
            let more = self.look(more, scope, 1);
            (is_of_b && more.low >= 0 && !more.is_empty()).then_some(more.high - less)
        });
        mosts.min()
    }

    /// The range of a value joined of several, from where each way ends.
    pub(super) fn ways(&self, number: u32) -> Interval {
        let ways = self.graph.terms.ways(number).iter();
        ways.fold(Interval::NONE, |all, way| all.join(self.at(way.value, way.scope)))
    }
}

/// What a value can be that compares so with one of `bound`.
pub(super) fn narrowed(range: Interval, relation: Relation, bound: Interval) -> Interval {
    if range.is_empty() || bound.is_empty() {
        return Interval::NONE;
    }
    match relation {
        Relation::Less => range.meet(Interval::new(range.low, bound.high - 1)),
        Relation::LessEqual => range.meet(Interval::new(range.low, bound.high)),
        Relation::Equal => range.meet(bound),
        Relation::NotEqual => bound.single().map_or(range, |value| range.without(value)),
        Relation::GreaterEqual => range.meet(Interval::new(bound.low, range.high)),
        Relation::Greater => range.meet(Interval::new(bound.low + 1, range.high)),
    }
}
