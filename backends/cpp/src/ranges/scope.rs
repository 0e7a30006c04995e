//! Where in a function what holds: a branch, and all that is reached only through it.
//!
//! A fact of a scope holds wherever the scope encloses: every way there leads through its branch, and none of the values that
//! it is about can have been made anew since.

use super::term::{Same, Sym, Terms};

/// A scope, by its number in [`Scopes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ScopeId(u32);

impl ScopeId {
    /// The whole function.
    pub(super) const ROOT: Self = Self(0);

    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    GreaterEqual,
    Greater,
}

impl Relation {
    /// What holds where this one does not.
    pub(super) const fn inverse(self) -> Self {
        match self {
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::GreaterEqual => Self::Less,
            Self::Greater => Self::LessEqual,
        }
    }

    /// The same, seen from the other value.
    const fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::GreaterEqual => Self::LessEqual,
            Self::Greater => Self::Less,
        }
    }
}

/// What is known in a scope: one value compared with another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    pub(super) left: Sym,
    pub(super) relation: Relation,
    pub(super) right: Sym,
}

#[derive(Debug)]
struct Scope {
    parent: ScopeId,
    depth: u32,
    facts: Vec<Fact>,
}

/// The scopes of a function, as a tree.
#[derive(Debug)]
pub(super) struct Scopes {
    scopes: Vec<Scope>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self { scopes: vec![Scope { parent: ScopeId::ROOT, depth: 0, facts: Vec::new() }] }
    }

    /// A scope within another.
    pub(super) fn open(&mut self, parent: ScopeId) -> ScopeId {
        let depth = self.scopes[parent.index()].depth + 1;
        self.scopes.push(Scope { parent, depth, facts: Vec::new() });
        ScopeId(self.scopes.len() as u32 - 1)
    }

    pub(super) fn add(&mut self, scope: ScopeId, fact: Fact) {
        self.scopes[scope.index()].facts.push(fact);
    }

    pub(super) fn facts(&self, scope: ScopeId) -> &[Fact] {
        &self.scopes[scope.index()].facts
    }

    /// The scope around it; none around the whole function.
    pub(super) fn parent(&self, scope: ScopeId) -> Option<ScopeId> {
        (scope != ScopeId::ROOT).then(|| self.scopes[scope.index()].parent)
    }

    /// The innermost scope that encloses both.
    pub(super) fn common(&self, mut a: ScopeId, mut b: ScopeId) -> ScopeId {
        while a != b {
            let (deep_a, deep_b) = (self.scopes[a.index()].depth, self.scopes[b.index()].depth);
            if deep_a >= deep_b {
                a = self.scopes[a.index()].parent;
            }
            if deep_b >= deep_a {
                b = self.scopes[b.index()].parent;
            }
        }
        a
    }

    /// Make it ready to be asked.
    pub(super) fn index(&self, terms: &Terms) -> Facts {
        let (first, last) = self.numbers();
        let mut of = vec![Vec::new(); terms.same_count()];
        for (at, scope) in self.scopes.iter().enumerate() {
            for fact in &scope.facts {
                let about = |value: Sym, relation, other| (terms.get(value).same, Seen { scope: at, relation, other });
                let sides = [
                    about(fact.left, fact.relation, fact.right),
                    about(fact.right, fact.relation.mirrored(), fact.left),
                ];
                for (same, seen) in sides {
                    of[same.index()].push(seen);
                }
            }
        }
        Facts { first, last, of }
    }

    /// For each scope its number in the order of the tree, and the greatest number within it.
    fn numbers(&self) -> (Vec<u32>, Vec<u32>) {
        let mut children = vec![Vec::new(); self.scopes.len()];
        for (at, scope) in self.scopes.iter().enumerate().skip(1) {
            children[scope.parent.index()].push(at);
        }
        let (mut first, mut last) = (vec![0; self.scopes.len()], vec![0; self.scopes.len()]);
        let (mut next, mut open) = (0, vec![(0, false)]);
        while let Some((at, done)) = open.pop() {
            if done {
                last[at] = next - 1;
                continue;
            }
            first[at] = next;
            next += 1;
            open.push((at, true));
            open.extend(children[at].iter().map(|child| (*child, false)));
        }
        (first, last)
    }
}

/// A fact, seen from one of its values.
#[derive(Clone, Copy, Debug)]
struct Seen {
    scope: usize,
    relation: Relation,
    other: Sym,
}

/// What is known of each value, and where.
#[derive(Debug)]
pub(super) struct Facts {
    first: Vec<u32>,
    last: Vec<u32>,
    of: Vec<Vec<Seen>>,
}

/// The most facts of one value that are looked at, the latest first: one compared ten thousand times stays cheap.
const SEEN_MAX: usize = 64;

impl Facts {
    /// How a value compares with others in a scope.
    pub(super) fn about(&self, same: Same, scope: ScopeId) -> impl Iterator<Item = (Relation, Sym)> {
        let at = self.first[scope.index()];
        let seen = self.of[same.index()].iter().rev().take(SEEN_MAX);
        let holds = move |seen: &&Seen| self.first[seen.scope] <= at && at <= self.last[seen.scope];
        seen.filter(holds).map(|seen| (seen.relation, seen.other))
    }
}
