//! Whether one value is always below another by so much: what no range of one value alone can tell.

use naga::{BinaryOperator, MathFunction};

use super::interval::Interval;
use super::scope::{Relation, ScopeId};
use super::term::{Op, Sym, Term};
use super::view::View;

/// How many comparisons are put one after another.
const DEPTH: u32 = 4;

/// How far operands are taken apart on the way.
const LOOK: u32 = 1;

impl View<'_> {
    /// Whether `a <= b + gap` always holds in a scope, as numbers that do not wrap.
    pub(super) fn is_below(&self, a: Sym, b: Sym, gap: i128, scope: ScopeId) -> bool {
        self.below(a, b, gap, scope, DEPTH)
    }

    fn below(&self, a: Sym, b: Sym, gap: i128, scope: ScopeId, depth: u32) -> bool {
        let (left, right) = (self.graph.terms.get(a), self.graph.terms.get(b));
        if left.same == right.same && gap >= 0 {
            return true;
        }
        if !self.step() {
            return false;
        }
        let (range, bound) = (self.look(a, scope, LOOK), self.look(b, scope, LOOK));
        if range.is_empty() || bound.is_empty() || range.high <= bound.low + gap {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let by_fact = self.graph.facts.about(left.same, scope).any(|(relation, other)| {
            let slack = match relation {
                Relation::Less => -1,
                Relation::LessEqual | Relation::Equal => 0,
                Relation::NotEqual | Relation::GreaterEqual | Relation::Greater => return false,
            };
            self.below(other, b, gap - slack, scope, depth - 1)
        });
        by_fact || self.by_left(left, b, gap, scope, depth) || self.by_right(a, right, gap, scope, depth)
    }

    /// By what the lower value is made of.
    fn by_left(&self, left: &Term, b: Sym, gap: i128, scope: ScopeId, depth: u32) -> bool {
        let below = |x: Option<Sym>, slack: i128| x.is_some_and(|x| self.below(x, b, gap - slack, scope, depth - 1));
        let [x, y, z] = left.operands;
        let (in_x, in_y) = (self.operand(x, scope), self.operand(y, scope));
        match left.op {
            Op::Math(MathFunction::Min) => below(x, 0) || below(y, 0),
            Op::Math(MathFunction::Max) => below(x, 0) && below(y, 0),
            Op::Math(MathFunction::Clamp) => below(z, 0) || (below(x, 0) && below(y, 0)),
            Op::Convert if in_x.is_within(Interval::of(left.scalar)) => below(x, 0),
            Op::Binary(BinaryOperator::Add) => {
                let exact = self.is_exact(left, scope) && (below(x, in_y.high) || below(y, in_x.high));
                exact || self.in_row([x, y], b, gap, scope, depth) || self.in_row([y, x], b, gap, scope, depth)
            }
            Op::Binary(BinaryOperator::Subtract) if self.is_exact(left, scope) => below(x, -in_y.low),
            Op::Binary(BinaryOperator::Modulo) if in_x.low >= 0 => below(x, 0) || (in_y.low >= 1 && below(y, -1)),
            Op::Binary(BinaryOperator::Divide) if in_x.low >= 0 && in_y.low >= 0 => below(x, 0),
            Op::Binary(BinaryOperator::ShiftRight) if in_x.low >= 0 => below(x, 0),
            Op::Binary(BinaryOperator::And) if in_x.low >= 0 && in_y.low >= 0 => below(x, 0) || below(y, 0),
            // Each way is as it was where it ended: only what never changes can be compared with there.
            Op::Join(number) if self.is_fixed(b) => {
                let mut ways = self.graph.terms.ways(number).iter();
                ways.all(|way| self.below(way.value, b, gap, way.scope, depth - 1))
            }
            _ => false,
        }
    }

    /// `row * width + column` is below `m` where `column < width` and `row < m / width`; nothing wraps then.
    fn in_row(&self, [start, column]: [Option<Sym>; 2], b: Sym, gap: i128, scope: ScopeId, depth: u32) -> bool {
        let (Some(start), Some(column)) = (start, column) else { return false };
        let term = self.graph.terms.get(start);
        let (Op::Binary(BinaryOperator::Multiply), [Some(x), Some(y), _]) = (term.op, term.operands) else {
            return false;
        };
        [(x, y), (y, x)].into_iter().any(|(row, width)| {
            if self.look(row, scope, LOOK).low < 0 || !self.below(column, width, -1, scope, depth - 1) {
                return false;
            }
            let Some(whole) = self.divided(row, width, scope) else { return false };
            self.look(whole, scope, LOOK).low >= 0 && self.below(whole, b, gap + 1, scope, depth - 1)
        })
    }

    /// What a number is below when divided by `width`: `m` of `row < min(m / width, ..)`.
    fn divided(&self, row: Sym, width: Sym, scope: ScopeId) -> Option<Sym> {
        let (terms, width) = (&self.graph.terms, self.graph.terms.get(width).same);
        let facts = self.graph.facts.about(terms.get(row).same, scope);
        let mut open: Vec<Sym> = facts.filter(|(relation, _)| *relation == Relation::Less).map(|fact| fact.1).collect();
        while let Some(bound) = open.pop().filter(|_| self.step()) {
            let term = terms.get(bound);
            match (term.op, term.operands) {
                (Op::Binary(BinaryOperator::Divide), [Some(m), Some(by), _]) if terms.get(by).same == width => {
                    return Some(m);
                }
                (Op::Math(MathFunction::Min), [Some(a), Some(b), _]) => open.extend([a, b]),
                _ => {}
            }
        }
        None
    }

    /// By what the higher value is made of.
    fn by_right(&self, a: Sym, right: &Term, gap: i128, scope: ScopeId, depth: u32) -> bool {
        let below = |x: Option<Sym>, slack: i128| x.is_some_and(|x| self.below(a, x, gap + slack, scope, depth - 1));
        let [x, y, _] = right.operands;
        match right.op {
            Op::Math(MathFunction::Max) => below(x, 0) || below(y, 0),
            Op::Math(MathFunction::Min) => below(x, 0) && below(y, 0),
            Op::Binary(BinaryOperator::Add) if self.is_exact(right, scope) => {
                below(x, self.operand(y, scope).low) || below(y, self.operand(x, scope).low)
            }
            Op::Binary(BinaryOperator::Subtract) if self.is_exact(right, scope) => {
                below(x, -self.operand(y, scope).high)
            }
            Op::Convert if self.operand(x, scope).is_within(Interval::of(right.scalar)) => below(x, 0),
            _ => false,
        }
    }

    fn operand(&self, operand: Option<Sym>, scope: ScopeId) -> Interval {
        operand.map_or(Interval::NONE, |sym| self.look(sym, scope, LOOK))
    }

    /// Whether a sum or a difference is that of the numbers, with nothing wrapped.
    fn is_exact(&self, term: &Term, scope: ScopeId) -> bool {
        let [x, y, _] = term.operands.map(|operand| self.operand(operand, scope));
        let exact = match term.op {
            Op::Binary(BinaryOperator::Subtract) => Interval::new(x.low - y.high, x.high - y.low),
            _ => Interval::new(x.low + y.low, x.high + y.high),
        };
        !x.is_empty() && !y.is_empty() && exact.is_within(Interval::of(term.scalar))
    }

    /// Whether it is one value in the whole function.
    fn is_fixed(&self, sym: Sym) -> bool {
        matches!(self.graph.terms.get(sym).op, Op::Length(_) | Op::Argument(_) | Op::Immediate(..))
    }
}
