//! What the bytes of each buffer have to be: every word of a buffer is the same, and each step that writes writes another
//! number, so that a read tells which step it shows.

/// A buffer, by its number in the script.
pub(crate) type Number = usize;

/// What a buffer's words are, if nothing failed over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// Never written.
    Unwritten,
    /// Written by work that read what was never written.
    Junk,
    /// All of them this.
    Is(u32),
}

/// Whether the last step that should have written a buffer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It did.
    No,
    /// Its call failed, which leaves the bytes as they were, or unreadable.
    Maybe,
    /// The bytes are no result: every read fails.
    Surely,
}

/// A buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) word: Word,
    pub(crate) doubt: Doubt,
}

/// A number that a graph may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Fixed(u32),
    /// The parameter, with its first value.
    Param(u32),
}

/// What takes a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Of(Number),
    /// A graph's slot, with the buffer that it has at first.
    Slot(Number),
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Fill(At, u32),
    Write(Number, u32),
    Copy(Number, At),
    /// Add to every word.
    Bump(Number, Amount),
    /// The same by an indirect launch of as many workgroups as the second buffer says: as many times as that is one.
    BumpCounted(Number, Number, u32),
    /// `c = a + b`.
    Add(Number, Number, Number),
    /// Every word becomes the number of workgroups.
    Groups(Number, Amount),
}

/// What a graph's parameters are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Params {
    pub(crate) by: u32,
    pub(crate) groups: u32,
    pub(crate) slot: Number,
}

impl At {
    /// The buffer that it means.
    pub(crate) fn number(self, params: &Params) -> Number {
        match self {
            Self::Of(number) => number,
            Self::Slot(_) => params.slot,
        }
    }
}

impl Op {
    /// What it reads.
    pub(crate) fn inputs(&self) -> Vec<Number> {
        match *self {
            Self::Fill(..) | Self::Write(..) | Self::Groups(..) => Vec::new(),
            Self::Copy(from, _) => vec![from],
            Self::Bump(at, _) => vec![at],
            Self::BumpCounted(at, counts, _) => vec![at, counts],
            Self::Add(a, b, _) => vec![a, b],
        }
    }

    /// What it writes.
    pub(crate) fn output(&self, params: &Params) -> Number {
        match *self {
            Self::Fill(to, _) | Self::Copy(_, to) => to.number(params),
            Self::Write(to, _)
            | Self::Bump(to, _)
            | Self::BumpCounted(to, ..)
            | Self::Add(_, _, to)
            | Self::Groups(to, _) => to,
        }
    }

    /// What its output is after it.
    pub(crate) fn value(&self, params: &Params, input: impl Fn(Number) -> Word) -> Word {
        let plus = |word: Word, by: Word| match (word, by) {
            (Word::Is(word), Word::Is(by)) => Word::Is(word.wrapping_add(by)),
            _ => Word::Junk,
        };
        match *self {
            Self::Fill(_, word) | Self::Write(_, word) => Word::Is(word),
            Self::Copy(from, _) => match input(from) {
                Word::Is(word) => Word::Is(word),
                _ => Word::Junk,
            },
            Self::Bump(at, Amount::Fixed(by)) => plus(input(at), Word::Is(by)),
            Self::Bump(at, Amount::Param(_)) => plus(input(at), Word::Is(params.by)),
            Self::BumpCounted(at, counts, by) => match input(counts) {
                Word::Is(1) => plus(input(at), Word::Is(by)),
                _ => Word::Junk,
            },
            Self::Add(a, b, _) => plus(input(a), input(b)),
            Self::Groups(_, Amount::Fixed(groups)) => Word::Is(groups),
            Self::Groups(_, Amount::Param(_)) => Word::Is(params.groups),
        }
    }
}
