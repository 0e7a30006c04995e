//! Branches, switches and loops: what each variable is, and what holds, on each way through them.

use naga::{Expression, Handle};

use super::build::{Builder, Value};
use super::flow::Step;
use super::interval::Interval;
use super::scope::{Fact, Relation, ScopeId};
use super::shape::BOOL;
use super::term::{Sym, Way};
use crate::Loops;

/// The most values of one meeting of ways, all variables together: beyond them nothing is known of the variables.
const WAYS_MAX: usize = 1 << 16;

/// A way out of a branch: what it changed, and where it ends.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Variables' scalars in order, each once.
    changes: Vec<(usize, Sym)>,
    scope: ScopeId,
}

/// A statement that is open.
#[derive(Debug)]
pub(super) struct Frame {
    kind: Kind,
    /// How many changes there were where it began.
    mark: usize,
    /// Where it began.
    scope: ScopeId,
    /// Whether a way leads to it.
    alive: bool,
    /// Ways to what follows it.
    exits: Vec<Edge>,
}

#[derive(Debug)]
enum Kind {
    If { condition: Option<Sym> },
    Switch { selector: Option<Sym>, falling: Option<Edge>, has_default: bool },
    Loop { heads: Vec<(usize, Sym)>, continues: Vec<Edge> },
}

impl Builder<'_> {
    /// A step that says where to go on.
    pub(super) fn control(&mut self, step: &Step<'_>) {
        match step {
            Step::If(condition) => self.open_if(*condition),
            Step::Else => self.turn(),
            Step::EndIf | Step::EndSwitch => self.close(),
            Step::Switch(selector) => self.open_switch(*selector),
            Step::Case(values) => self.open_case(*values),
            Step::EndCase { falls } => self.close_case(*falls),
            Step::Continuing => self.go_on(),
            Step::EndLoop(break_if) => self.close_loop(*break_if),
            Step::Break => self.leave(),
            Step::Continue => self.skip(),
            Step::Do(_) | Step::Return(_) | Step::Loop => {}
        }
    }

    fn open(&mut self, kind: Kind) {
        let frame = Frame { kind, mark: self.changed.len(), scope: self.scope, alive: self.alive, exits: Vec::new() };
        self.frames.push(frame);
    }

    fn scalar_of(&self, expression: Handle<Expression>) -> Option<Sym> {
        match &self.values[expression.index()] {
            Value::Scalars(scalars) if self.alive => scalars.first().copied(),
            _ => None,
        }
    }

    fn open_if(&mut self, condition: Handle<Expression>) {
        let condition = self.scalar_of(condition);
        self.open(Kind::If { condition });
        if self.alive {
            self.scope = self.assume(self.scope, condition, true);
        }
    }

    /// From the branch that is taken to the one that is not.
    fn turn(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        let Kind::If { condition } = frame.kind else { return self.frames.push(frame) };
        frame.exits.extend(self.edge(frame.mark));
        self.restore(&frame);
        if self.alive {
            self.scope = self.assume(self.scope, condition, false);
        }
        self.frames.push(frame);
    }

    fn close(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        match &frame.kind {
            Kind::Switch { has_default: false, .. } if frame.alive => {
                frame.exits.push(Edge { changes: Vec::new(), scope: frame.scope });
            }
            Kind::Switch { .. } => {}
            _ => frame.exits.extend(self.edge(frame.mark)),
        }
        self.restore(&frame);
        self.meet(frame.exits);
    }

    fn open_switch(&mut self, selector: Handle<Expression>) {
        let selector = self.scalar_of(selector);
        self.open(Kind::Switch { selector, falling: None, has_default: false });
    }

    fn open_case(&mut self, values: Option<(i128, i128)>) {
        let Some(mut frame) = self.frames.pop() else { return };
        self.restore(&frame);
        if let Kind::Switch { selector, falling, has_default } = &mut frame.kind {
            *has_default |= values.is_none();
            let mut ways: Vec<Edge> = falling.take().into_iter().collect();
            if self.alive {
                let scope = self.chosen(*selector, values);
                ways.push(Edge { changes: Vec::new(), scope });
            }
            self.meet(ways);
        }
        self.frames.push(frame);
    }

    /// The scope of a case: its selector lies between its values.
    fn chosen(&mut self, selector: Option<Sym>, values: Option<(i128, i128)>) -> ScopeId {
        let scope = self.scopes.open(self.scope);
        if let (Some(selector), Some((low, high))) = (selector, values) {
            let scalar = self.terms.get(selector).scalar;
            for (relation, bound) in [(Relation::GreaterEqual, low), (Relation::LessEqual, high)] {
                let right = self.terms.known(bound, scalar, scope);
                self.scopes.add(scope, Fact { left: selector, relation, right });
            }
        }
        scope
    }

    fn close_case(&mut self, falls: bool) {
        let Some(mut frame) = self.frames.pop() else { return };
        let edge = self.edge(frame.mark);
        match &mut frame.kind {
            Kind::Switch { falling, .. } if falls => *falling = edge,
            _ => frame.exits.extend(edge),
        }
        self.alive = false;
        self.frames.push(frame);
    }

    /// A loop begins, which stores to `slots`.
    pub(super) fn open_loop(&mut self, slots: &[usize]) {
        let mut heads = Vec::new();
        if self.alive {
            for slot in slots {
                let entry = Way { value: self.now(*slot), scope: self.scope };
                let head = self.terms.head(entry, self.slot_scalar(*slot), self.scope);
                heads.push((*slot, head));
            }
        }
        heads.iter().for_each(|(slot, head)| self.assign(*slot, *head));
        self.open(Kind::Loop { heads, continues: Vec::new() });
        // One whose rounds are bounded can be left at its head, with what its variables are there.
        let is_left = self.alive && self.source.launch.loops != Loops::Trusted;
        if let Some(frame) = self.frames.last_mut().filter(|_| is_left) {
            frame.exits.push(Edge { changes: Vec::new(), scope: self.scope });
        }
    }

    /// From the body of a loop to what is done before each next round.
    fn go_on(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        let edge = self.edge(frame.mark);
        self.restore(&frame);
        if let Kind::Loop { continues, .. } = &mut frame.kind {
            let ways = std::mem::take(continues).into_iter().chain(edge).collect();
            self.meet(ways);
        }
        self.frames.push(frame);
    }

    fn close_loop(&mut self, break_if: Option<Handle<Expression>>) {
        let Some(mut frame) = self.frames.pop() else { return };
        if self.alive {
            let mut back = self.scope;
            if let Some(condition) = break_if {
                let condition = self.scalar_of(condition);
                back = self.assume(self.scope, condition, false);
                self.scope = self.assume(self.scope, condition, true);
                frame.exits.extend(self.edge(frame.mark));
            }
            if let Kind::Loop { heads, .. } = &frame.kind {
                for (slot, head) in heads {
                    let way = Way { value: self.now(*slot), scope: back };
                    self.terms.close(*head, way);
                }
            }
        }
        self.restore(&frame);
        self.meet(frame.exits);
    }

    /// Out of the innermost loop or switch.
    fn leave(&mut self) {
        let Some(at) = self.frames.iter().rposition(|frame| !matches!(frame.kind, Kind::If { .. })) else { return };
        let edge = self.edge(self.frames[at].mark);
        self.frames[at].exits.extend(edge);
        self.alive = false;
    }

    /// To the next round of the innermost loop.
    fn skip(&mut self) {
        let Some(at) = self.frames.iter().rposition(|frame| matches!(frame.kind, Kind::Loop { .. })) else { return };
        let edge = self.edge(self.frames[at].mark);
        if let Kind::Loop { continues, .. } = &mut self.frames[at].kind {
            continues.extend(edge);
        }
        self.alive = false;
    }

    /// The way on from here; none where no way leads here.
    fn edge(&self, mark: usize) -> Option<Edge> {
        if !self.alive {
            return None;
        }
        let mut slots: Vec<usize> = self.changed[mark..].iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        Some(Edge { changes: slots.into_iter().map(|slot| (slot, self.now(slot))).collect(), scope: self.scope })
    }

    /// Back to where a statement began.
    fn restore(&mut self, frame: &Frame) {
        self.roll_back(frame.mark);
        (self.scope, self.alive) = (frame.scope, frame.alive);
    }

    /// Go on where ways meet that all began here.
    fn meet(&mut self, ways: Vec<Edge>) {
        let Some(scope) = ways.iter().map(|way| way.scope).reduce(|a, b| self.scopes.common(a, b)) else {
            self.alive = false;
            return;
        };
        self.alive = true;
        self.scope = scope;
        let mut slots: Vec<usize> = ways.iter().flat_map(|way| &way.changes).map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let many = slots.len().saturating_mul(ways.len()) > WAYS_MAX;
        for slot in slots {
            let before = self.now(slot);
            let value_of = |way: &Edge| {
                let found = way.changes.binary_search_by_key(&slot, |(slot, _)| *slot);
                Way { value: found.map_or(before, |at| way.changes[at].1), scope: way.scope }
            };
            let scalar = self.slot_scalar(slot);
            let value = if many {
                self.terms.unknown(Interval::of(scalar), scalar, scope)
            } else {
                self.joined(ways.iter().map(value_of).collect(), scope)
            };
            self.assign(slot, value);
        }
    }

    /// One value of the ways that meet in a scope.
    pub(super) fn joined(&mut self, ways: Vec<Way>, scope: ScopeId) -> Sym {
        let first = ways[0].value;
        if ways.iter().all(|way| way.value == first) {
            return first;
        }
        let scalar = self.terms.get(first).scalar;
        debug_assert!(scalar == BOOL || scalar == self.terms.get(ways[1].value).scalar, "ways of one variable");
        self.terms.join(ways, scalar, scope)
    }
}
