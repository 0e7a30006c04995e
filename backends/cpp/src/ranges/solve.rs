//! The ranges of all values of a function: grown from nothing until no way adds to them, then narrowed again.
//!
//! Growing stops because a bound that keeps moving goes on to the constants of the function, and then to its type's. What
//! it stops at holds for every run; narrowing applies what holds once more, so that it may stop at any time.

use naga::Scalar;

use super::graph::{Check, Graph, Question};
use super::interval::{Interval, is_integer, is_tracked};
use super::scope::{Relation, ScopeId};
use super::term::{Op, Same, Sym};
use super::view::{Given, View, narrowed};

/// Times that a value at the head of a loop grows before it goes on to the constants.
const GROWN_MAX: u32 = 3;

/// Times that it goes on to a constant before it goes on to its type's bounds.
const WIDENED_MAX: u32 = 6;

/// Passes over the function after which every value at the head of a loop becomes everything.
const PASSES_MAX: u32 = 40;

/// Passes that narrow. The heads of nested loops need one after the other.
const NARROWING: u32 = 4;

/// The most constants that are kept as stops.
const STOPS_MAX: usize = 256;

/// Find the ranges of a function's values.
pub(super) fn solve<'a>(graph: &'a Graph, given: Given<'a>) -> View<'a> {
    let mut view = View::new(graph, given);
    let stops = stops(graph);
    let mut grown = vec![0; graph.terms.len()];
    let mut passes = 0;
    while pass(&mut view, |head, old, new| {
        if new.is_within(old) {
            return old;
        }
        let scalar = graph.terms.get(head).scalar;
        let times: &mut u32 = &mut grown[head.index()];
        *times += 1;
        match *times {
            _ if passes > PASSES_MAX => Interval::of(scalar),
            1..=GROWN_MAX => old.join(new),
            _ => old.widened(new, if *times > GROWN_MAX + WIDENED_MAX { &[] } else { &stops }, scalar),
        }
    }) {
        passes += 1;
        if passes == PASSES_MAX {
            let heads = graph.terms.iter().filter(|(_, term)| matches!(term.op, Op::Head(_)));
            heads.for_each(|(head, term)| view.set_range(head, Interval::of(term.scalar)));
        }
    }
    // Without a loop nothing has grown beyond what it is.
    for _ in 0..if passes > 0 { NARROWING } else { 0 } {
        if !pass(&mut view, |_, old, new| old.meet(new)) {
            break;
        }
    }
    view
}

/// Go over all values in order; `head` says what one at the head of a loop becomes, of what it was and what its ways give.
/// Whether any of those changed.
fn pass(view: &mut View<'_>, mut head: impl FnMut(Sym, Interval, Interval) -> Interval) -> bool {
    let graph = view.graph;
    let mut changed = false;
    for (sym, term) in graph.terms.iter() {
        let range = match term.op {
            Op::Within(range) => range,
            _ if !is_tracked(term.scalar) => Interval::of(term.scalar),
            Op::Join(number) => view.ways(number),
            Op::Head(number) => {
                let old = view.range(sym);
                let new = head(sym, old, view.ways(number));
                changed |= new != old;
                new
            }
            _ => view.made(term),
        };
        view.set_range(sym, range);
    }
    changed
}

/// Where bounds that move may stop: the constants of a function, and their neighbours, for `i < N` and `i <= N`.
fn stops(graph: &Graph) -> Vec<i128> {
    let mut stops = Vec::new();
    for (_, term) in graph.terms.iter() {
        if let (Op::Within(range), true) = (term.op, is_integer(term.scalar))
            && let Some(value) = range.single()
        {
            stops.extend([value - 1, value, value + 1]);
        }
        if stops.len() > STOPS_MAX * 16 {
            break;
        }
    }
    stops.sort_unstable();
    stops.dedup();
    let every = stops.len().div_ceil(STOPS_MAX).max(1);
    stops.into_iter().step_by(every).collect()
}

impl View<'_> {
    /// Whether what a check asks is always so.
    pub(super) fn holds(&self, check: &Check) -> bool {
        match check.question {
            Question::Index { index, length } => self.as_index(index, check).high < i128::from(length),
            Question::Runtime { index, length } => {
                let range = self.at(index, check.scope);
                // Below zero it is no index, whatever it is below.
                range.is_empty() || (range.low >= 0 && self.is_below(index, length, -1, check.scope))
            }
            Question::Divides { dividend, divisor } => {
                let range = self.at(divisor, check.scope);
                let scalar = self.graph.terms.get(divisor).scalar;
                let overflows = range.contains(-1) && self.at(dividend, check.scope).contains(Interval::of(scalar).low);
                let zero = range.contains(0) && !self.differs_from_zero(divisor, check);
                range.is_empty() || !(zero || (Interval::of(scalar).low < 0 && overflows))
            }
            Question::Shifts { amount, width } => {
                self.at(amount, check.scope).is_within(Interval::new(0, i128::from(width) - 1))
            }
        }
    }

    /// An index as it is used, which is without a sign.
    fn as_index(&self, index: Sym, check: &Check) -> Interval {
        let (range, term) = (self.at(index, check.scope), self.graph.terms.get(index));
        if range.is_empty() || range.low >= 0 {
            return range;
        }
        // What was compared may be `u32(i)`.
        let unsigned = self.graph.terms.same_as(Op::Convert, index, Scalar::U32).filter(|_| term.scalar == Scalar::I32);
        unsigned.map_or(Interval::of(Scalar::U64), |same| self.known_of(same, check.scope))
    }

    fn differs_from_zero(&self, divisor: Sym, check: &Check) -> bool {
        let same = self.graph.terms.get(divisor).same;
        self.graph
            .facts
            .about(same, check.scope)
            .any(|(relation, other)| relation == Relation::NotEqual && self.range(other).single() == Some(0))
    }

    /// What facts alone say of an unsigned value of 32 bits.
    fn known_of(&self, same: Same, scope: ScopeId) -> Interval {
        let all = Interval::of(Scalar::U32);
        self.graph
            .facts
            .about(same, scope)
            .fold(all, |range, (relation, other)| narrowed(range, relation, self.range(other)))
    }
}
