//! A map from disjoint byte ranges to values. Every call costs the ranges it touches, not the ranges there are.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint, non-empty byte ranges in order, each with a value.
#[derive(Clone, Debug)]
pub(crate) struct Intervals<V> {
    /// First byte to (one past the last byte, value).
    parts: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for Intervals<V> {
    fn default() -> Self {
        Self { parts: BTreeMap::new() }
    }
}

impl<V: Clone> Intervals<V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The first part that shares a byte with `range`, cut to it.
    pub(crate) fn first_in(&self, range: &Range<u64>) -> Option<(Range<u64>, &V)> {
        self.parts_in(range).next()
    }

    /// Every part that shares a byte with `range`, cut to it, in order.
    pub(crate) fn parts_in<'a>(&'a self, range: &Range<u64>) -> impl Iterator<Item = (Range<u64>, &'a V)> + use<'a, V> {
        let (start, end) = (range.start, range.end.max(range.start));
        // A part that begins before the range may reach into it; all others that matter begin inside.
        let before =
            self.parts.range(..start).next_back().filter(|(_, (part_end, _))| *part_end > start && end > start);
        before
            .into_iter()
            .chain(self.parts.range(start..end))
            .map(move |(first, (last, value))| (start.max(*first)..end.min(*last), value))
    }

    /// The parts of `range` that have no value, in order.
    pub(crate) fn gaps_in(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut next = range.start;
        for (part, _) in self.parts_in(range) {
            if next < part.start {
                gaps.push(next..part.start);
            }
            next = part.end;
        }
        if next < range.end {
            gaps.push(next..range.end);
        }
        gaps
    }

    /// Take the values of exactly the bytes of `range` away.
    pub(crate) fn clear(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        self.split_at(range.start);
        self.split_at(range.end);
        while let Some((&start, _)) = self.parts.range(range.clone()).next() {
            self.parts.remove(&start);
        }
    }

    /// Give exactly the bytes of `range` that `value`.
    pub(crate) fn set(&mut self, range: &Range<u64>, value: V) {
        if !range.is_empty() {
            self.clear(range);
            self.parts.insert(range.start, (range.end, value));
        }
    }

    /// Give the bytes of `range` that have no value this one, and let `change` see the values of the others.
    pub(crate) fn fill(&mut self, range: &Range<u64>, value: &V, mut change: impl FnMut(&mut V)) {
        if range.is_empty() {
            return;
        }
        let gaps = self.gaps_in(range);
        self.split_at(range.start);
        self.split_at(range.end);
        for (_, (_, known)) in self.parts.range_mut(range.clone()) {
            change(known);
        }
        self.parts.extend(gaps.into_iter().map(|gap| (gap.start, (gap.end, value.clone()))));
    }

    /// Make `at` a boundary: a part around it becomes two.
    fn split_at(&mut self, at: u64) {
        let Some((_, (end, value))) = self.parts.range_mut(..at).next_back() else { return };
        if *end > at {
            let rest = (std::mem::replace(end, at), value.clone());
            self.parts.insert(at, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(intervals: &Intervals<char>) -> Vec<(Range<u64>, char)> {
        intervals.parts_in(&(0..u64::MAX)).map(|(range, value)| (range, *value)).collect()
    }

    #[test]
    fn set_and_clear_are_exact_to_the_byte() {
        let mut intervals = Intervals::default();
        intervals.set(&(0..10), 'a');
        intervals.set(&(4..6), 'b');
        assert_eq!(listed(&intervals), [(0..4, 'a'), (4..6, 'b'), (6..10, 'a')]);
        intervals.clear(&(3..7));
        assert_eq!(listed(&intervals), [(0..3, 'a'), (7..10, 'a')]);
        intervals.clear(&(5..5));
        intervals.set(&(5..5), 'c');
        assert_eq!(listed(&intervals), [(0..3, 'a'), (7..10, 'a')]);
        assert_eq!(intervals.gaps_in(&(1..12)), [3..7, 10..12]);
    }

    #[test]
    fn fill_keeps_what_is_there() {
        let mut intervals = Intervals::default();
        intervals.set(&(2..4), 'a');
        intervals.set(&(6..8), 'b');
        intervals.fill(&(3..9), &'c', |value| value.make_ascii_uppercase());
        assert_eq!(listed(&intervals), [(2..3, 'a'), (3..4, 'A'), (4..6, 'c'), (6..8, 'B'), (8..9, 'c')]);
    }

    #[test]
    fn a_part_that_only_touches_a_range_is_not_in_it() {
        let mut intervals = Intervals::default();
        intervals.set(&(0..4), 'a');
        assert!(intervals.first_in(&(4..8)).is_none());
        assert!(intervals.first_in(&(2..2)).is_none());
        assert_eq!(intervals.first_in(&(3..8)), Some((3..4, &'a')));
    }
}
