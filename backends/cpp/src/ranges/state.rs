//! What is known at a point of a function: of its variables, and of values that conditions on the way compared.

use std::collections::HashMap;

use naga::MathFunction;

use super::interval::{Int, Interval};
use super::value::{Compared, Condition, Fact, Known, Name, Naming, Order, Origin, Value};

/// Comparisons that are remembered; the oldest leave first. A kernel with more on one path has few that still matter.
const FACTS_MAX: usize = 64;

/// Values whose range a condition narrowed; as with comparisons.
const NARROWED_MAX: usize = 128;

/// Steps from a value to others by what is known of their order.
const STEPS_MAX: usize = 200;

/// What is known at a point that can be reached.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    /// The local variables, in order.
    pub(super) locals: Vec<Value>,
    narrowed: HashMap<Name, Interval>,
    facts: Vec<Fact>,
}

impl State {
    pub(super) fn new(locals: Vec<Value>) -> Self {
        Self { locals, narrowed: HashMap::new(), facts: Vec::new() }
    }

    /// The range of a number here.
    pub(super) fn interval(&self, value: &Value) -> Option<(Int, Interval)> {
        let (ty, interval) = value.interval()?;
        let narrowed = self.narrowed.get(&value.name).copied();
        Some((ty, narrowed.map_or(interval, |narrowed| interval.meet(narrowed))))
    }

    /// Take comparisons for true. Answers whether that can be.
    pub(super) fn assume(&mut self, comparisons: &[Compared]) -> bool {
        for Compared { fact, less, more } in comparisons {
            let gap = i64::from(fact.order == Order::Below);
            let here =
                |name: Name, known: Interval| self.narrowed.get(&name).map_or(known, |narrowed| known.meet(*narrowed));
            let (less, more) = (here(fact.less, *less), here(fact.more, *more));
            let less = Interval { hi: less.hi.min(more.hi - gap), ..less };
            let more = Interval { lo: more.lo.max(less.lo + gap), ..more };
            if less.is_empty() || more.is_empty() {
                return false;
            }
            self.narrow(fact.less, less);
            self.narrow(fact.more, more);
            if !self.facts.contains(fact) {
                if self.facts.len() >= FACTS_MAX {
                    self.facts.remove(0);
                }
                self.facts.push(*fact);
            }
        }
        true
    }

    fn narrow(&mut self, name: Name, interval: Interval) {
        if self.narrowed.len() < NARROWED_MAX || self.narrowed.contains_key(&name) {
            self.narrowed.insert(name, interval);
        }
    }

    /// Whether a value is known to be below another, or at most another, by one comparison or a chain of them.
    pub(super) fn is_ordered(&self, naming: &Naming, less: Name, order: Order, more: Name) -> bool {
        // Each place of a chain, and whether a step below is still wanted there.
        let mut seen = vec![(less, order == Order::Below)];
        let mut at = 0;
        while let Some(&(from, strictly)) = seen.get(at) {
            at += 1;
            if from == more && !strictly {
                return true;
            }
            let mut go = |to: Name, strictly: bool| {
                if !seen.contains(&(to, strictly)) && seen.len() < STEPS_MAX {
                    seen.push((to, strictly));
                }
            };
            for fact in self.facts.iter().filter(|fact| fact.less == from) {
                go(fact.more, strictly && fact.order != Order::Below);
            }
            // The least of several values is at most each of them.
            if let Some(Origin::Math(MathFunction::Min, parts)) = naming.origin(from) {
                parts.iter().flatten().for_each(|part| go(*part, strictly));
            }
        }
        false
    }

    /// What is known where two ways meet.
    pub(super) fn join(mut self, other: &Self, naming: &mut Naming) -> Self {
        let pairs = self.locals.iter().zip(&other.locals);
        let locals = pairs.map(|(ours, theirs)| self.joined(ours, other, theirs, naming)).collect();
        self.locals = locals;
        self.narrowed = self
            .narrowed
            .iter()
            .filter_map(|(name, interval)| Some((*name, interval.join(*other.narrowed.get(name)?))))
            .collect();
        self.facts.retain(|fact| other.facts.contains(fact));
        self
    }

    /// What is known where an `if` ends: as where two ways meet, and flags that the branches set tell which was taken.
    pub(super) fn join_branches(self, other: &Self, condition: &Condition, naming: &mut Naming) -> Self {
        let flags: Vec<Option<Condition>> =
            self.locals.iter().zip(&other.locals).map(|(taken, not)| flag(taken, not, condition)).collect();
        let mut state = self.join(other, naming);
        for (local, flag) in state.locals.iter_mut().zip(flags) {
            if let (Some(flag), Known::Bool(known)) = (flag, &mut local.known) {
                *known = flag;
            }
        }
        state
    }

    /// A value that is one of two, each as its way knows it.
    fn joined(&self, ours: &Value, other: &Self, theirs: &Value, naming: &mut Naming) -> Value {
        if ours == theirs {
            return ours.clone();
        }
        let known = match (&ours.known, &theirs.known) {
            (Known::Int(ty, a), Known::Int(_, b)) if ours.name == theirs.name => Known::Int(*ty, a.join(*b)),
            (Known::Int(ty, a), Known::Int(_, b)) => {
                let a = self.interval(ours).map_or(*a, |(_, interval)| interval);
                let b = other.interval(theirs).map_or(*b, |(_, interval)| interval);
                Known::Int(*ty, a.join(b))
            }
            (Known::Bool(a), Known::Bool(b)) => Known::Bool(Condition {
                when_true: a.when_true.iter().filter(|fact| b.when_true.contains(fact)).copied().collect(),
                when_false: a.when_false.iter().filter(|fact| b.when_false.contains(fact)).copied().collect(),
                always: a.always.filter(|_| a.always == b.always),
            }),
            (Known::Parts(a), Known::Parts(b)) => {
                Known::Parts(a.iter().zip(b).map(|(a, b)| self.joined(a, other, b, naming)).collect())
            }
            _ => Known::Other,
        };
        let name = if ours.name == theirs.name { ours.name } else { naming.fresh() };
        Value { known, name }
    }
}

/// A flag that one branch sets to a constant and the other to a condition: what `&&` and `||` come to.
fn flag(taken: &Value, not: &Value, condition: &Condition) -> Option<Condition> {
    if taken == not {
        return None;
    }
    let (Known::Bool(taken), Known::Bool(not)) = (&taken.known, &not.known) else { return None };
    let both = |a: &[Compared], b: &[Compared]| a.iter().chain(b).copied().collect::<Vec<_>>();
    let mut flag = Condition::default();
    if not.always == Some(false) {
        flag.when_true = both(&condition.when_true, &taken.when_true);
    }
    if taken.always == Some(false) {
        flag.when_true = both(&condition.when_false, &not.when_true);
    }
    if taken.always == Some(true) {
        flag.when_false = both(&condition.when_false, &not.when_false);
    }
    if not.always == Some(true) {
        flag.when_false = both(&condition.when_true, &taken.when_false);
    }
    Some(flag)
}
