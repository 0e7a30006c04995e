//! Host bytes that a graph's copies read at every replay: pinned once, with the graph's lifetime (C-49, C-50).

use std::num::NonZeroU64;

use super::driver::{Driver, HostPtr, PinnedMemory};
use super::reclaim::Doomed;
use super::shared::Shared;
use crate::error::Result;

/// What pinned memory is made of at least: drivers pin whole pages of the system.
const BLOCK_BYTES_MIN: u64 = 4 << 10;

/// A block for more bytes than its first copy is at most so large.
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// Where copies begin in a block.
const ALIGNMENT: u64 = 64;

/// Pinned copies of host bytes, in order. They share blocks: pinning is slow, and many copies are small.
#[derive(Debug, Default)]
pub(super) struct PinnedBytes {
    blocks: Vec<PinnedMemory>,
    /// Bytes of the last block that have a copy.
    filled: u64,
    copies: Vec<HostPtr>,
}

impl PinnedBytes {
    /// Pin a copy of `bytes`, of which there is at least one.
    ///
    /// # Errors
    ///
    /// What the driver answers where it has no more.
    #[expect(unsafe_code, reason = "fills memory that the driver just gave")]
    pub(super) fn push<D: Driver>(&mut self, shared: &Shared<D>, bytes: &[u8]) -> Result<HostPtr> {
        let len = bytes.len() as u64;
        let room = |block: &PinnedMemory| block.bytes.get().checked_sub(self.filled).is_some_and(|left| left >= len);
        if !self.blocks.last().is_some_and(room) {
            // Each is as large as all before it together, so there are few, and at most half of them is empty.
            let so_far = self.blocks.iter().map(|block| block.bytes.get()).sum::<u64>();
            let wanted = len.max(so_far.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX));
            self.blocks.push(shared.pin(NonZeroU64::new(wanted).unwrap_or(NonZeroU64::MIN))?);
            self.filled = 0;
        }
        let block = self.blocks.last().expect("one was just put there");
        // SAFETY: the block has room for the copy from here on, which no other copy has.
        let address = unsafe { block.address.0.add(self.filled as usize) };
        // SAFETY: as above, and nobody else knows the place yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address.as_ptr(), bytes.len()) };
        self.filled = (self.filled + len).next_multiple_of(ALIGNMENT);
        self.copies.push(HostPtr(address));
        Ok(HostPtr(address))
    }

    /// The bytes pinned as number `index`.
    pub(super) fn get(&self, index: usize) -> Option<HostPtr> {
        self.copies.get(index).copied()
    }

    /// How many were pinned.
    pub(super) const fn len(&self) -> usize {
        self.copies.len()
    }

    /// For destruction, after the graph that reads them.
    pub(super) fn into_doomed<D: Driver>(self) -> impl Iterator<Item = Doomed<D>> {
        self.blocks.into_iter().map(Doomed::Pinned)
    }
}
