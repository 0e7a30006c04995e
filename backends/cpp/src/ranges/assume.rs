//! What follows from a condition: comparisons of values, those of which it is made included.

use naga::{BinaryOperator, Scalar, UnaryOperator};

use super::build::Builder;
use super::interval::is_integer;
use super::scope::{Fact, Relation, ScopeId};

use super::term::{Op, Sym, Way};

/// The most facts that one condition gives, and the most conditions that are taken apart for it.
const FACTS_MAX: usize = 64;

impl Builder<'_> {
    /// A scope within `scope` in which a condition is known.
    pub(super) fn assume(&mut self, scope: ScopeId, condition: Option<Sym>, truth: bool) -> ScopeId {
        let Some(condition) = condition else { return scope };
        let inner = self.scopes.open(scope);
        let (mut facts, mut open, mut steps) = (Vec::new(), vec![(condition, truth)], 0);
        while let Some((condition, truth)) = open.pop() {
            steps += 1;
            if steps > FACTS_MAX || facts.len() > FACTS_MAX {
                break;
            }
            let right = self.terms.known(i128::from(truth), Scalar::BOOL, ScopeId::ROOT);
            facts.push(Fact { left: condition, relation: Relation::Equal, right });
            self.take_apart(condition, truth, &mut open, &mut facts);
        }
        facts.into_iter().for_each(|fact| self.scopes.add(inner, fact));
        inner
    }

    fn take_apart(&self, condition: Sym, truth: bool, open: &mut Vec<(Sym, bool)>, facts: &mut Vec<Fact>) {
        let term = self.terms.get(condition);
        match (term.op, term.operands) {
            (Op::Unary(UnaryOperator::LogicalNot), [Some(inner), ..]) => open.push((inner, !truth)),
            (Op::Binary(op), [Some(left), Some(right), _]) => match (op, relation(op)) {
                (BinaryOperator::And | BinaryOperator::LogicalAnd, _) if truth => {
                    open.extend([(left, true), (right, true)]);
                }
                (BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr, _) if !truth => {
                    open.extend([(left, false), (right, false)]);
                }
                (_, Some(relation)) if is_integer(self.terms.get(left).scalar) => {
                    let relation = if truth { relation } else { relation.inverse() };
                    facts.push(Fact { left, relation, right });
                }
                (_, Some(relation)) => {
                    for (side, other) in [(left, right), (right, left)] {
                        if let Some(value) = self.terms.constant(other) {
                            open.push((side, ((relation == Relation::Equal) == truth) == (value == 1)));
                        }
                    }
                }
                _ => {}
            },
            (Op::Join(number), _) => {
                let differs = |way: &&Way| self.terms.constant(way.value) != Some(i128::from(!truth));
                let mut ways = self.terms.ways(number).iter().filter(differs);
                if let (Some(way), None) = (ways.next(), ways.next()) {
                    open.push((way.value, truth));
                    self.on_the_way(way.scope, term.scope, facts);
                }
            }
            _ => {}
        }
    }

    /// What held on the only way by which a value can have come: `a && b` is made so.
    fn on_the_way(&self, mut scope: ScopeId, end: ScopeId, facts: &mut Vec<Fact>) {
        while scope != end && facts.len() <= FACTS_MAX {
            facts.extend_from_slice(self.scopes.facts(scope));
            let Some(parent) = self.scopes.parent(scope) else { break };
            scope = parent;
        }
    }
}

/// The comparison that an operator is.
fn relation(op: BinaryOperator) -> Option<Relation> {
    Some(match op {
        BinaryOperator::Less => Relation::Less,
        BinaryOperator::LessEqual => Relation::LessEqual,
        BinaryOperator::Equal => Relation::Equal,
        BinaryOperator::NotEqual => Relation::NotEqual,
        BinaryOperator::GreaterEqual => Relation::GreaterEqual,
        BinaryOperator::Greater => Relation::Greater,
        _ => return None,
    })
}
