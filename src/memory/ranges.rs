//! A map from byte ranges to values, by exact range: setting a part of a range splits it.
//!
//! Recordings keep the last writer of each byte in one, pools the last account that used it.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint non-empty ranges with a value each.
#[derive(Clone, Debug)]
pub(crate) struct RangeMap<V>(BTreeMap<u64, (u64, V)>);

impl<V> Default for RangeMap<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V: Clone> RangeMap<V> {
    /// Give the whole of `range` one value.
    pub(crate) fn set(&mut self, range: Range<u64>, value: V) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        let covered: Vec<u64> = self.0.range(range.clone()).map(|(start, _)| *start).collect();
        for start in covered {
            self.0.remove(&start);
        }
        self.0.insert(range.start, (range.end, value));
    }

    /// Give the parts of `range` that have no value this one.
    pub(crate) fn fill(&mut self, range: Range<u64>, value: &V) {
        for gap in self.gaps(range) {
            self.0.insert(gap.start, (gap.end, value.clone()));
        }
    }

    /// The parts of `range` that have no value, in order.
    pub(crate) fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut next = range.start;
        for (start, end, _) in self.overlapping(range.clone()) {
            if next < start {
                gaps.push(next..start);
            }
            next = end;
        }
        if next < range.end {
            gaps.push(next..range.end);
        }
        gaps
    }

    /// Every entry that shares a byte with `range`: start, end and value, in order. Entries may reach beyond it.
    pub(crate) fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (u64, u64, &V)> {
        let first = match self.0.range(..=range.start).next_back() {
            Some((start, (end, _))) if *end > range.start => *start,
            _ => range.start,
        };
        // An empty or inverted range overlaps nothing, and `BTreeMap::range` panics on an inverted one.
        let bounds = if range.is_empty() { first..first } else { first..range.end };
        self.0.range(bounds).map(|(start, (end, value))| (*start, *end, value))
    }

    /// The values of exactly `range`, entries split at its ends. Parts without a value are passed over.
    pub(crate) fn values_mut(&mut self, range: Range<u64>) -> impl Iterator<Item = &mut V> {
        self.split(range.start);
        self.split(range.end);
        let bounds = if range.is_empty() { range.start..range.start } else { range };
        self.0.range_mut(bounds).map(|(_, (_, value))| value)
    }

    /// Every entry: start, end and value, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64, &V)> {
        self.0.iter().map(|(start, (end, value))| (*start, *end, value))
    }

    fn split(&mut self, at: u64) {
        let Some((_, (end, value))) = self.0.range_mut(..at).next_back() else { return };
        if *end > at {
            let tail = (*end, value.clone());
            *end = at;
            self.0.insert(at, tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(map: &RangeMap<char>) -> Vec<(u64, u64, char)> {
        map.iter().map(|(start, end, value)| (start, end, *value)).collect()
    }

    #[test]
    fn setting_a_part_splits_and_leaves_the_rest() {
        let mut map = RangeMap::default();
        map.set(0..10, 'a');
        map.set(4..6, 'b');
        assert_eq!(entries(&map), [(0, 4, 'a'), (4, 6, 'b'), (6, 10, 'a')]);
        map.set(2..10, 'c');
        assert_eq!(entries(&map), [(0, 2, 'a'), (2, 10, 'c')]);
        map.set(5..5, 'd');
        assert_eq!(entries(&map), [(0, 2, 'a'), (2, 10, 'c')]);
    }

    #[test]
    fn gaps_and_overlaps_are_exact_at_the_ends() {
        let mut map = RangeMap::default();
        map.set(4..8, 'a');
        assert_eq!(map.gaps(0..10), [0..4, 8..10]);
        assert!(map.gaps(5..7).is_empty());
        assert_eq!(map.overlapping(8..9).count(), 0);
        assert_eq!(map.overlapping(7..8).count(), 1);
        assert_eq!(map.overlapping(5..5).count(), 0);
        map.fill(0..10, &'b');
        assert_eq!(entries(&map), [(0, 4, 'b'), (4, 8, 'a'), (8, 10, 'b')]);
        map.values_mut(6..9).for_each(|value| *value = 'c');
        assert_eq!(entries(&map), [(0, 4, 'b'), (4, 6, 'a'), (6, 8, 'c'), (8, 9, 'c'), (9, 10, 'b')]);
    }
}
