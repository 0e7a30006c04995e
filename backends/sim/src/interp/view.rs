//! The bytes of a binding, as instructions read and write them.

use graphreel::sync::atomic::{AtomicU32, Ordering};

use super::ops::Two;
use crate::memory::Memory;

/// A bound range of a memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'a> {
    memory: &'a Memory,
    words: &'a [AtomicU32],
    /// The word of `memory` that is the first of `words`.
    first: usize,
    /// Elements of its runtime-sized array.
    pub(super) elements: u32,
}

impl<'a> Bound<'a> {
    /// Words `first` to `end` of a memory, which has them.
    pub(super) fn new(memory: &'a Memory, first: usize, end: usize, elements: u32) -> Option<Self> {
        Some(Self { memory, words: memory.words().get(first..end)?, first, elements })
    }

    /// The address in this process of the word that holds a byte: one for all bindings of one memory.
    pub(super) fn identity(&self, byte: u64) -> u64 {
        self.words.get((byte >> 2) as usize).map_or(0, |word| std::ptr::from_ref(word).addr() as u64)
    }

    /// The scalar of `width` bytes at an address. Indexes were brought into range, so that no address lies outside; one
    /// that did would read as zero.
    #[inline(always)]
    pub(super) fn load(&self, byte: u64, width: u32) -> u64 {
        match width {
            2 => u64::from(self.word(byte) >> ((byte & 2) * 8) & 0xffff),
            8 => u64::from(self.word(byte)) | u64::from(self.word(byte + 4)) << 32,
            _ => u64::from(self.word(byte)),
        }
    }

    #[inline(always)]
    pub(super) fn word(&self, byte: u64) -> u32 {
        self.words.get((byte >> 2) as usize).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub(super) fn set_word(&self, byte: u64, value: u32) {
        if let Some(word) = self.words.get((byte >> 2) as usize) {
            word.store(value, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(super) fn store(&self, byte: u64, width: u32, value: u64) {
        match width {
            2 => self.set_half(byte, value as u16),
            8 => {
                self.set_word(byte, value as u32);
                self.set_word(byte + 4, (value >> 32) as u32);
            }
            _ => self.set_word(byte, value as u32),
        }
    }

    /// Its neighbour in the word may be written at the same time, so both change at once or not at all.
    fn set_half(&self, byte: u64, value: u16) {
        let shift = (byte & 2) * 8;
        if let Some(word) = self.words.get((byte >> 2) as usize) {
            let changed = |old: u32| Some(old & !(0xffff << shift) | u32::from(value) << shift);
            // It always answers a value, so the update cannot be refused.
            let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
        }
    }

    /// Put `join(old, value)` and answer the old scalar, as one step.
    pub(super) fn update(&self, byte: u64, width: u32, join: impl Fn(u64) -> Option<u64>) -> u64 {
        let Some(word) = self.words.get((byte >> 2) as usize) else { return 0 };
        if width == 8 {
            let _held = self.memory.wide_lock(self.first as u64 * 4 + byte);
            let old = self.load(byte, 8);
            if let Some(new) = join(old) {
                self.store(byte, 8, new);
            }
            return old;
        }
        let joined = |old: u32| join(u64::from(old)).map(|new| new as u32);
        let old = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, joined);
        u64::from(old.unwrap_or_else(|kept| kept))
    }

    /// As [`Bound::update`], with a function of the old scalar and `value`.
    pub(super) fn join(&self, byte: u64, width: u32, join: Two, value: u64) -> u64 {
        self.update(byte, width, |old| Some(join(old, value)))
    }
}
