//! What the oracle knows of half a buffer, whose words are all equal.

/// A graph, by its number in the program.
pub(crate) type GraphNumber = usize;

/// What half a buffer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Never written: a read says so, a kernel sees anything.
    Unwritten,
    /// Every word is this.
    Good(u32),
    /// Written by work that read what was never written.
    Junk,
    /// The last work on it failed.
    Failed {
        /// What it held before.
        old: Box<State>,
        /// The graph whose refused replays are all that failed: it may try again.
        by: Option<GraphNumber>,
        /// Whether a read has to fail. Else the call failed before anything happened, or after: the caller was told.
        sure: bool,
    },
}

/// What a reader of a state meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It reads this.
    Value(State),
    /// It is refused.
    Refused,
    /// Either.
    Either(State),
}

impl State {
    /// What work reads here; `graph` names the graph whose replay it is.
    pub(crate) fn seen(&self, graph: Option<GraphNumber>) -> Seen {
        match self {
            Self::Failed { old, by, sure } => {
                let old = old.held();
                // What only this graph's refused replays have touched, it may read: if those told the truth, it is as it was.
                if by.is_some() && *by == graph {
                    return Seen::Either(old);
                }
                if *sure { Seen::Refused } else { Seen::Either(old) }
            }
            state => Seen::Value(state.clone()),
        }
    }

    /// What the bytes are if nothing that failed has touched them.
    fn held(&self) -> Self {
        match self {
            Self::Failed { old, .. } => old.held(),
            state => state.clone(),
        }
    }

    /// The state after work that should have written it failed.
    #[must_use]
    pub(crate) fn failed(&self, by: Option<GraphNumber>, sure: bool) -> Self {
        match self {
            // Two failures over the same bytes: the leave is gone unless both are the graph's. One that is not sure may not
            // have been.
            Self::Failed { old, by: before, sure: sure_before } => {
                let by = match (sure_before, sure) {
                    _ if *before == by => by,
                    (false, false) => by.or(*before),
                    (false, true) => by,
                    (true, false) => *before,
                    (true, true) => None,
                };
                Self::Failed { old: old.clone(), by, sure: *sure_before || sure }
            }
            state => Self::Failed { old: Box::new(state.clone()), by, sure },
        }
    }

    /// A read has shown that something failed here.
    #[must_use]
    pub(crate) fn surely_failed(&self) -> Self {
        match self {
            Self::Failed { old, by, .. } => Self::Failed { old: old.clone(), by: *by, sure: true },
            state => state.failed(None, true),
        }
    }

    /// A call has shown that nothing failed here after all.
    #[must_use]
    pub(crate) fn confirmed(&self) -> Self {
        self.held()
    }
}

/// An operation on halves, by buffer number and half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Set every word.
    Fill(Half, u32),
    /// Write every word from the host.
    Write(Half, u32),
    /// Copy.
    Copy(Half, Half),
    /// Add a number to every word; as a parameter of a graph where it is named.
    Bump(Half, Step),
    /// `to = a + b`.
    Add(Half, Half, Half),
}

/// What a bump adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Always this.
    Fixed(u32),
    /// The graph's parameter, this much at first.
    Param(u32),
}

/// Half a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Half {
    /// The buffer's number.
    pub(crate) buffer: usize,
    /// 0 or 1.
    pub(crate) half: usize,
}

impl Op {
    /// What it reads.
    pub(crate) fn inputs(&self) -> Vec<Half> {
        match self {
            Self::Fill(..) | Self::Write(..) => Vec::new(),
            Self::Copy(from, _) => vec![*from],
            Self::Bump(at, _) => vec![*at],
            Self::Add(a, b, _) => vec![*a, *b],
        }
    }

    /// What it writes.
    pub(crate) fn output(&self) -> Half {
        match self {
            Self::Fill(to, _) | Self::Write(to, _) | Self::Copy(_, to) | Self::Bump(to, _) | Self::Add(_, _, to) => *to,
        }
    }

    /// What its output holds after it, from what its inputs hold.
    pub(crate) fn value(&self, param: u32, input: impl Fn(Half) -> State) -> State {
        let word = |half: Half| match input(half) {
            State::Good(word) => Some(word),
            _ => None,
        };
        let value = match self {
            Self::Fill(_, word) | Self::Write(_, word) => Some(*word),
            Self::Copy(from, _) => {
                // A copy of bytes that nobody wrote is junk too.
                word(*from)
            }
            Self::Bump(at, Step::Fixed(by)) => word(*at).map(|word| word.wrapping_add(*by)),
            Self::Bump(at, Step::Param(_)) => word(*at).map(|word| word.wrapping_add(param)),
            Self::Add(a, b, _) => word(*a).zip(word(*b)).map(|(a, b)| a.wrapping_add(b)),
        };
        value.map_or(State::Junk, State::Good)
    }
}
