//! The name of a logical stream: one for each thread by default, pinned on request.

use std::cell::Cell;
use std::fmt;

use crate::sync::atomic::{AtomicU64, Ordering};

/// A caller-visible ordered queue. Work on one stream runs in the order of the calls.
///
/// Two calls from one thread use the same stream unless one of them pins another. A capture must be one logical stream
/// from prepare to end (C-19), so code that may move between threads pins its stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The stream's number. The slot is `value % max_streams`, unless the stream is exclusive.
    pub value: u64,
}

/// Exclusive streams have this bit, so that no folding rule can reach them.
const EXCLUSIVE_BIT: u64 = 1 << 63;

/// The lower half of an exclusive stream's number is its slot; the upper half, but for the marking bit, its turn.
const TURN_SHIFT: u32 = 32;
const INDEX_MASK: u64 = (1 << TURN_SHIFT) - 1;
const TURN_MAX: u32 = (1 << 31) - 1;

static NEXT_THREAD: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static CURRENT: Cell<Option<StreamId>> = const { Cell::new(None) };
}

impl StreamId {
    /// The stream of the calling thread: the pinned one, else one made for this thread.
    pub fn current() -> Self {
        CURRENT.with(|current| {
            current.get().unwrap_or_else(|| {
                let id = Self::fresh();
                current.set(Some(id));
                id
            })
        })
    }

    /// A stream that no thread has yet.
    pub fn fresh() -> Self {
        Self { value: NEXT_THREAD.fetch_add(1, Ordering::Relaxed) }
    }

    /// Make `self` the calling thread's stream until the guard is dropped.
    #[must_use = "the stream is pinned only while the guard lives"]
    pub fn pin(self) -> PinnedStream {
        PinnedStream {
            previous: CURRENT.with(|current| current.replace(Some(self))),
            _thread: std::marker::PhantomData,
        }
    }

    /// The stream of exclusive slot `index`.
    pub const fn exclusive(index: usize) -> Self {
        Self { value: EXCLUSIVE_BIT | (index as u64 & INDEX_MASK) }
    }

    /// The exclusive slot this stream names, if it is an exclusive one.
    pub const fn exclusive_index(self) -> Option<usize> {
        if self.value & EXCLUSIVE_BIT == 0 { None } else { Some((self.value & INDEX_MASK) as usize) }
    }

    /// The same exclusive slot in its `turn`th use: handles of an earlier turn are told from those of this one. Turn 0 is
    /// that of a slot whose users are not told apart.
    pub(crate) const fn in_turn(self, turn: u32) -> Self {
        Self { value: self.value & (EXCLUSIVE_BIT | INDEX_MASK) | ((turn & TURN_MAX) as u64) << TURN_SHIFT }
    }

    /// The turn of an exclusive stream; 0 for any other.
    pub(crate) const fn turn(self) -> u32 {
        if self.value & EXCLUSIVE_BIT == 0 { 0 } else { ((self.value & !EXCLUSIVE_BIT) >> TURN_SHIFT) as u32 }
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exclusive_index() {
            Some(index) => write!(f, "StreamId(exclusive {index})"),
            None => write!(f, "StreamId({})", self.value),
        }
    }
}

/// Puts the thread's previous stream back when dropped.
#[derive(Debug)]
pub struct PinnedStream {
    previous: Option<StreamId>,
    // The guard restores a thread-local: it must be dropped on the thread that made it.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Drop for PinnedStream {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.previous));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_stream_and_threads_differ() {
        let here = StreamId::current();
        assert_eq!(here, StreamId::current());
        let there = std::thread::spawn(StreamId::current).join().expect("no panic");
        assert_ne!(here, there);
    }

    #[test]
    fn a_pin_lasts_as_long_as_its_guard() {
        let before = StreamId::current();
        let pinned = StreamId { value: 77 };
        {
            let _pin = pinned.pin();
            assert_eq!(StreamId::current(), pinned);
        }
        assert_eq!(StreamId::current(), before);
    }

    #[test]
    fn exclusive_streams_are_told_apart() {
        assert_eq!(StreamId::exclusive(3).exclusive_index(), Some(3));
        assert_eq!(StreamId { value: 3 }.exclusive_index(), None);
    }
}
