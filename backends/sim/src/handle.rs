//! What a caller holds: one type for each kind, each knowing its device.

use std::fmt;

use graphreel::sync::Arc;
use graphreel::sync::atomic::{AtomicU64, Ordering};

/// Counts handles that were dropped and not destroyed.
pub(crate) type Leaks = Arc<AtomicU64>;

/// The inside of a handle that is destroyed once. Dropping it leaks what it stands for, and is counted.
pub(crate) struct Owned {
    pub(crate) instance: u64,
    pub(crate) id: u64,
    leaks: Leaks,
    taken: bool,
}

impl Owned {
    pub(crate) fn new(instance: u64, id: u64, leaks: &Leaks) -> Self {
        Self { instance, id, leaks: Arc::clone(leaks), taken: false }
    }

    /// Give the handle back: dropping it is no leak any more.
    pub(crate) fn taken(mut self) -> Self {
        self.taken = true;
        self
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.taken {
            self.leaks.fetch_add(1, Ordering::Relaxed);
        }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident $letter:literal;)*) => {$(
        $(#[$doc])*
        #[must_use = "a handle that is dropped leaks what it stands for"]
        pub struct $name(pub(crate) Owned);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0.id)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self} of simulator {}", self.0.instance)
            }
        }
    )*};
}

handles! {
    /// A queue of work.
    SimStream "s";
    /// A point in a queue's work.
    SimEvent "e";
    /// A loaded kernel.
    SimModule "c";
    /// A graph.
    SimGraph "g";
    /// A graph made ready to launch.
    SimExec "x";
}

/// What a thread has bound: one simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimContext(pub(crate) u64);

/// A kernel of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimFunction {
    pub(crate) instance: u64,
    pub(crate) module: u64,
}

impl fmt::Display for SimFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.module)
    }
}

/// A node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimNode {
    pub(crate) instance: u64,
    pub(crate) graph: u64,
    pub(crate) index: u32,
}

impl fmt::Display for SimNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{}.{}", self.graph, self.index)
    }
}
