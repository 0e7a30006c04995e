//! What a cache did and has.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Content;

/// What is in the cache, and what this process did with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Entries in the folder, of all processes.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The most bytes that they may have.
    pub bytes_max: u64,
    /// Times that this process was given code.
    pub hits: u64,
    /// Times that it was given none.
    pub misses: u64,
    /// Entries that it wrote.
    pub stored: u64,
    /// Entries that left when it wrote one.
    pub evicted: u64,
    /// Entries that it found damaged, and dropped.
    pub dropped: u64,
    /// Calls that failed, the dropped entries among them.
    pub failures: u64,
}

/// The part of [`Stats`] that is counted.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) stored: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) failures: AtomicU64,
}

impl Counters {
    pub(super) fn stats(&self, content: Content, bytes_max: u64) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            entries: content.entries,
            bytes: content.bytes,
            bytes_max,
            hits: read(&self.hits),
            misses: read(&self.misses),
            stored: read(&self.stored),
            evicted: read(&self.evicted),
            dropped: read(&self.dropped),
            failures: read(&self.failures),
        }
    }
}
