//! One page: its free blocks, and which account used each byte last.

use std::collections::BTreeMap;

use crate::memory::ranges::RangeMap;

/// A piece of device memory taken from the driver as one.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) bytes: u64,
    /// Whether it serves one large request at a time.
    pub(super) exclusive: bool,
    /// First byte to length; neighbours are merged.
    free: BTreeMap<u64, u64>,
    /// Accounts by number.
    users: RangeMap<u64>,
}

/// A free block of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Page {
    pub(super) fn new(bytes: u64, exclusive: bool) -> Self {
        Self { bytes, exclusive, free: BTreeMap::from([(0, bytes)]), users: RangeMap::default() }
    }

    /// Whether no byte is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.free.get(&0) == Some(&self.bytes)
    }

    pub(super) fn free_bytes(&self) -> u64 {
        self.free.values().sum()
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.free.iter().map(|(offset, bytes)| Block { offset: *offset, bytes: *bytes })
    }

    /// Take `bytes` at the front of the free block at `offset`; what is left of the block.
    pub(super) fn take(&mut self, offset: u64, bytes: u64) -> Option<Block> {
        let block = self.free.remove(&offset).expect("the block was listed as free");
        assert!(bytes <= block, "a slice of {bytes} bytes was taken from a block of {block}");
        let rest = Block { offset: offset + bytes, bytes: block - bytes };
        if rest.bytes == 0 {
            return None;
        }
        self.free.insert(rest.offset, rest.bytes);
        Some(rest)
    }

    /// Give a block back; the blocks it was merged with, and the block that results.
    pub(super) fn give(&mut self, block: Block) -> (Vec<Block>, Block) {
        let (mut merged, mut whole) = (Vec::new(), block);
        if let Some((offset, bytes)) =
            self.free.range(..block.offset).next_back().map(|(offset, bytes)| (*offset, *bytes))
            && offset + bytes == block.offset
        {
            merged.push(Block { offset, bytes });
            whole = Block { offset, bytes: bytes + whole.bytes };
        }
        let end = block.offset + block.bytes;
        if let Some(bytes) = self.free.get(&end).copied() {
            merged.push(Block { offset: end, bytes });
            whole.bytes += bytes;
        }
        for part in &merged {
            self.free.remove(&part.offset);
        }
        self.free.insert(whole.offset, whole.bytes);
        (merged, whole)
    }

    /// Note that `account` uses a block from now on; whether another account used a byte of it before.
    pub(super) fn occupy(&mut self, block: Block, account: u64) -> bool {
        let range = block.offset..block.offset + block.bytes;
        let foreign = self.users.overlapping(range.clone()).any(|(_, _, user)| *user != account);
        self.users.set(range, account);
        foreign
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_merge_with_both_neighbours() {
        let mut page = Page::new(100, false);
        for offset in [0, 20, 40] {
            page.take(offset, 20);
        }
        assert_eq!(page.free_bytes(), 40);
        page.give(Block { offset: 0, bytes: 20 });
        let (merged, whole) = page.give(Block { offset: 20, bytes: 20 });
        assert_eq!((merged.len(), whole), (1, Block { offset: 0, bytes: 40 }));
        let (merged, whole) = page.give(Block { offset: 40, bytes: 20 });
        assert_eq!((merged.len(), whole), (2, Block { offset: 0, bytes: 100 }));
        assert!(page.is_empty());
    }

    #[test]
    fn only_another_accounts_bytes_need_zeros() {
        let mut page = Page::new(64, false);
        let block = |offset, bytes| Block { offset, bytes };
        assert!(!page.occupy(block(0, 32), 1));
        assert!(!page.occupy(block(16, 16), 1));
        assert!(page.occupy(block(16, 32), 2));
        assert!(!page.occupy(block(16, 32), 2));
        assert!(page.occupy(block(0, 17), 1));
    }
}
