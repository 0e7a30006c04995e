//! One atomic word that threads can sleep on: reading it never blocks, and a change wakes those who wait for it.
//!
//! The lock guards no value. It is taken between a change and its notice, so that a thread which found the word unchanged
//! is asleep before the notice comes: a wake-up is never lost.

use std::time::Instant;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex};

#[derive(Debug)]
pub(crate) struct WatchedWord {
    word: AtomicU64,
    asleep: Mutex<()>,
    changed: Condvar,
}

impl WatchedWord {
    pub(crate) fn new(word: u64) -> Self {
        Self { word: AtomicU64::new(word), asleep: Mutex::new(()), changed: Condvar::new() }
    }

    pub(crate) fn get(&self) -> u64 {
        self.word.load(Ordering::Acquire)
    }

    /// Change the word, or leave it where `change` says nothing. The word before, as `Ok` where it changed. Wakes nobody.
    pub(crate) fn update(&self, change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, change)
    }

    /// Set `bits`; the word before. Wakes nobody, as the next two.
    pub(crate) fn set(&self, bits: u64) -> u64 {
        self.word.fetch_or(bits, Ordering::AcqRel)
    }

    pub(crate) fn clear(&self, bits: u64) -> u64 {
        self.word.fetch_and(!bits, Ordering::AcqRel)
    }

    pub(crate) fn subtract(&self, count: u64) -> u64 {
        self.word.fetch_sub(count, Ordering::AcqRel)
    }

    /// Wake all who wait, to look at the word again.
    pub(crate) fn notify(&self) {
        drop(self.asleep.lock());
        self.changed.notify_all();
    }

    /// Wait until the word satisfies `settled`, or `deadline` comes; the word then, as `Ok` where it satisfies it. The word
    /// is looked at before the time, so what is settled is told also when it is late.
    pub(crate) fn wait(&self, deadline: Option<Instant>, settled: impl Fn(u64) -> bool) -> Result<u64, u64> {
        let mut guard = self.asleep.lock();
        loop {
            let word = self.get();
            if settled(word) {
                return Ok(word);
            }
            guard = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(guard),
                Some(left) if left.is_zero() => return Err(word),
                Some(left) => self.changed.wait_timeout(guard, left),
            };
        }
    }
}
