//! What is known of a value: which numbers it can be, and under which name other facts speak of it.

use std::collections::HashMap;

use naga::{BinaryOperator, GlobalVariable, Handle, MathFunction};

use super::interval::{Int, Interval};

/// The name of a value that never changes: two expressions with one name are equal wherever both are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name(u32);

/// How a value comes about: the same way gives the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    Number(Int, i64),
    Part(Name, u32),
    Binary(BinaryOperator, Name, Name),
    Math(MathFunction, [Option<Name>; 3]),
    /// The same bits, or the same number, as another type.
    As(Int, Name),
    /// The number of elements of a buffer's runtime-sized array.
    Length(Handle<GlobalVariable>),
    /// A variable that nobody writes.
    Place(Handle<GlobalVariable>),
    /// An element of one.
    Element(Name, Name),
    /// What is read from there.
    Read(Name),
}

/// How one value compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Below,
    AtMost,
}

/// That one value is below another, or at most the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) less: Name,
    pub(super) order: Order,
    pub(super) more: Name,
}

/// A comparison, with what was known of both values where it was made: that stays true wherever its outcome is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) fact: Fact,
    pub(super) less: Interval,
    pub(super) more: Interval,
}

/// What follows from a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) when_true: Vec<Compared>,
    pub(super) when_false: Vec<Compared>,
    /// The value itself, where it has only one.
    pub(super) always: Option<bool>,
}

/// What is known of a value without its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// A number, of a type that is followed.
    Int(Int, Interval),
    Bool(Condition),
    /// The components of a vector, or the members of what an entry point is told.
    Parts(Vec<Value>),
    /// Nothing.
    Other,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) known: Known,
    pub(super) name: Name,
}

/// Gives names, and remembers how the named came about.
#[derive(Debug, Default)]
pub(super) struct Naming {
    names: HashMap<Origin, Name>,
    origins: Vec<Option<Origin>>,
}

impl Naming {
    /// The name of what comes about so.
    pub(super) fn of(&mut self, origin: Origin) -> Name {
        if let Some(name) = self.names.get(&origin) {
            return *name;
        }
        let name = self.push(Some(origin.clone()));
        self.names.insert(origin, name);
        name
    }

    /// A name that nothing else has.
    pub(super) fn fresh(&mut self) -> Name {
        self.push(None)
    }

    fn push(&mut self, origin: Option<Origin>) -> Name {
        let name = Name(u32::try_from(self.origins.len()).unwrap_or(u32::MAX));
        self.origins.push(origin);
        name
    }

    pub(super) fn origin(&self, name: Name) -> Option<&Origin> {
        self.origins.get(name.0 as usize)?.as_ref()
    }
}

impl Value {
    /// A value of which its type alone is known.
    pub(super) fn any(naming: &mut Naming, ty: Option<Int>) -> Self {
        let known = ty.map_or(Known::Other, |ty| Known::Int(ty, ty.full()));
        Self { known, name: naming.fresh() }
    }

    pub(super) fn interval(&self) -> Option<(Int, Interval)> {
        match self.known {
            Known::Int(ty, interval) => Some((ty, interval)),
            _ => None,
        }
    }
}
