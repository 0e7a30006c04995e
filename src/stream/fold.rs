//! Folding: which pooled stream a logical one uses, and the exclusive slots on which nothing folds ("Streams" in
//! docs/ARCHITECTURE.md).

use super::StreamId;

/// The most shared slots: far above what any device runs at once, far below what would cost memory.
const SHARED_MAX: usize = 1 << 16;

/// The index of a slot in its table: shared slots first, exclusive ones after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotIndex(pub usize);

/// The slots of one device. `max_shared` exist from the start; up to `max_exclusive` more are made on demand and pooled.
#[derive(Debug)]
pub struct SlotTable<S> {
    slots: Vec<S>,
    max_shared: usize,
    max_exclusive: usize,
    free_exclusive: Vec<usize>,
}

impl<S> SlotTable<S> {
    /// A table with `max_shared` (at least one, at most 65,536) slots made by `make`.
    pub fn new(max_shared: usize, max_exclusive: usize, mut make: impl FnMut(SlotIndex) -> S) -> Self {
        let max_shared = max_shared.clamp(1, SHARED_MAX);
        Self {
            slots: (0..max_shared).map(|index| make(SlotIndex(index))).collect(),
            max_shared,
            max_exclusive,
            free_exclusive: Vec::new(),
        }
    }

    /// The slot that `stream` uses: `id % max_streams`, or its own when it is exclusive. An exclusive stream that is
    /// not leased folds like any other: whoever made up or kept its number leaves nothing on a slot that waits for a lease.
    pub fn index_of(&self, stream: StreamId) -> SlotIndex {
        match stream.exclusive_index() {
            Some(index) if self.is_leased(index) => SlotIndex(self.max_shared + index),
            Some(index) => SlotIndex(index % self.max_shared),
            None => SlotIndex((stream.value % self.max_shared as u64) as usize),
        }
    }

    /// The slot that `stream` uses.
    pub fn of(&self, stream: StreamId) -> &S {
        &self.slots[self.index_of(stream).0]
    }

    /// The slot that `stream` uses.
    pub fn of_mut(&mut self, stream: StreamId) -> &mut S {
        let index = self.index_of(stream);
        &mut self.slots[index.0]
    }

    /// The slot at `index`, which came from this table.
    pub fn get(&self, index: SlotIndex) -> &S {
        &self.slots[index.0]
    }

    /// The slot at `index`, which came from this table.
    pub fn get_mut(&mut self, index: SlotIndex) -> &mut S {
        &mut self.slots[index.0]
    }

    /// Every slot with its index.
    pub fn iter(&self) -> impl Iterator<Item = (SlotIndex, &S)> {
        self.slots.iter().enumerate().map(|(index, slot)| (SlotIndex(index), slot))
    }

    /// Every slot with its index.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SlotIndex, &mut S)> {
        self.slots.iter_mut().enumerate().map(|(index, slot)| (SlotIndex(index), slot))
    }

    /// Lease an exclusive slot, making one if none is free and the bound allows it. `None` when all are leased.
    pub fn lease_exclusive(&mut self, make: impl FnOnce(SlotIndex) -> S) -> Option<StreamId> {
        if let Some(index) = self.free_exclusive.pop() {
            return Some(StreamId::exclusive(index));
        }
        let index = self.slots.len() - self.max_shared;
        if index >= self.max_exclusive {
            return None;
        }
        self.slots.push(make(SlotIndex(self.max_shared + index)));
        Some(StreamId::exclusive(index))
    }

    /// Give a leased exclusive stream back. Anything else is ignored.
    pub fn return_exclusive(&mut self, stream: StreamId) {
        if let Some(index) = stream.exclusive_index()
            && self.is_leased(index)
        {
            self.free_exclusive.push(index);
        }
    }

    fn is_leased(&self, index: usize) -> bool {
        index < self.slots.len() - self.max_shared && !self.free_exclusive.contains(&index)
    }

    /// Exclusive slots leased now.
    pub fn leased_exclusive(&self) -> usize {
        self.slots.len() - self.max_shared - self.free_exclusive.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_fold_by_remainder_and_exclusive_ones_do_not() {
        let mut table = SlotTable::new(4, 2, |index| index.0);
        assert_eq!(table.index_of(StreamId { value: 7 }), table.index_of(StreamId { value: 3 }));
        let first = table.lease_exclusive(|index| index.0).expect("the first of two");
        let second = table.lease_exclusive(|index| index.0).expect("the second of two");
        assert_eq!(table.lease_exclusive(|index| index.0), None);
        assert_eq!((table.index_of(first), table.index_of(second)), (SlotIndex(4), SlotIndex(5)));
        table.return_exclusive(first);
        table.return_exclusive(first);
        assert_eq!(table.leased_exclusive(), 1);
        assert_eq!(table.index_of(first), SlotIndex(0), "a stream that was returned folds, beside the pooled slot");
        assert_eq!(table.index_of(StreamId::exclusive(usize::MAX >> 1)), SlotIndex(3));
        assert_eq!(table.lease_exclusive(|_| unreachable!("pooled")), Some(first));
        assert_eq!(table.lease_exclusive(|index| index.0), None);
    }

    #[test]
    fn a_number_of_slots_out_of_bounds_is_brought_within() {
        assert_eq!(SlotTable::new(0, 0, |index| index.0).index_of(StreamId { value: 9 }), SlotIndex(0));
        let vast = SlotTable::new(usize::MAX, usize::MAX, |index| index.0);
        assert!(vast.index_of(StreamId { value: u64::MAX >> 1 }).0 < SHARED_MAX);
    }
}
