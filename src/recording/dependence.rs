//! True dependences between operations, found over byte ranges while they are recorded, and what follows from them.

use std::collections::{BTreeMap, HashMap};

use super::node::{Node, Place, Recording, Use};
use crate::memory::Access;
use crate::memory::ranges::RangeMap;

/// Edges followed per node when looking for a predecessor that another one implies. A bound, so that recording stays
/// linear: beyond it an edge that a longer path implies is kept, which costs time and no correctness.
const ANCESTOR_VISITS_MAX: usize = 256;

/// No reader.
const NONE: u32 = u32::MAX;

/// Who last touched a byte: its last writer, and a list of the nodes that read it since.
#[derive(Clone, Copy, Debug)]
struct Touch {
    writer: Option<u32>,
    /// Index in [`Dependences::readers`]; lists share tails, so that splitting a range copies none.
    readers: u32,
}

const UNTOUCHED: Touch = Touch { writer: None, readers: NONE };

/// Finds the predecessors of each node as it is appended.
///
/// A predecessor is a node with a use that shares a byte, where one of the two writes ([`Access::Write`] and
/// [`Access::WritePart`] count as writing the whole range). Only direct ones are kept: a writer is left out where
/// its readers already wait for it, and so is one that a short path implies.
#[derive(Debug, Default)]
pub(super) struct Dependences {
    buffers: HashMap<u32, RangeMap<Touch>>,
    /// Lists of readers: node and the next cell.
    readers: Vec<(u32, u32)>,
    /// `Node::after` of every node so far.
    after: Vec<Vec<u32>>,
    /// For every node so far, the latest one whose search met it.
    seen: Vec<u32>,
}

impl Dependences {
    /// Append the next node, which does `uses`; its direct predecessors, ascending.
    pub(super) fn push(&mut self, uses: &[Use]) -> Vec<u32> {
        let node = self.after.len() as u32;
        let mut found = Vec::new();
        // Reads first: a node sees the bytes from before its own writes.
        for used in uses.iter().filter(|used| !used.access.writes()) {
            self.read(node, used.place, &mut found);
        }
        for used in uses.iter().filter(|used| used.access.writes()) {
            self.write(node, used.place, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        self.drop_implied(node, &mut found);
        self.seen.push(node);
        self.after.push(found.clone());
        found
    }

    fn read(&mut self, node: u32, place: Place, found: &mut Vec<u32>) {
        let range = place.start..place.end();
        let touched = self.buffers.entry(place.buffer).or_default();
        touched.fill(range.clone(), &UNTOUCHED);
        for touch in touched.values_mut(range) {
            found.extend(touch.writer);
            self.readers.push((node, touch.readers));
            touch.readers = (self.readers.len() - 1) as u32;
        }
    }

    fn write(&mut self, node: u32, place: Place, found: &mut Vec<u32>) {
        let range = place.start..place.end();
        let touched = self.buffers.entry(place.buffer).or_default();
        for (_, _, touch) in touched.overlapping(range.clone()) {
            if touch.readers == NONE {
                found.extend(touch.writer.filter(|writer| *writer != node));
            }
            let mut cell = touch.readers;
            while cell != NONE {
                let (reader, next) = self.readers[cell as usize];
                if reader != node {
                    found.push(reader);
                }
                cell = next;
            }
        }
        touched.set(range, Touch { writer: Some(node), readers: NONE });
    }

    /// Leave out those that are an ancestor of another, as far as a bounded search sees.
    fn drop_implied(&mut self, node: u32, found: &mut Vec<u32>) {
        let Some(oldest) = found.first().copied().filter(|_| found.len() > 1) else { return };
        let mut implied = Vec::new();
        let mut stack: Vec<u32> = found.clone();
        let mut visits = 0;
        'search: while let Some(descendant) = stack.pop() {
            for ancestor in self.after[descendant as usize].iter().rev().copied().take_while(|node| *node >= oldest) {
                visits += 1;
                if visits > ANCESTOR_VISITS_MAX {
                    break 'search;
                }
                let seen = &mut self.seen[ancestor as usize];
                if std::mem::replace(seen, node) == node {
                    continue;
                }
                if found.binary_search(&ancestor).is_ok() {
                    implied.push(ancestor);
                } else {
                    stack.push(ancestor);
                }
            }
        }
        implied.sort_unstable();
        found.retain(|node| implied.binary_search(node).is_err());
    }
}

impl Recording {
    /// The byte ranges that some node reads and that no earlier node has wholly written: what a replay takes from before.
    /// Ordered by buffer and start; ranges that meet are one.
    pub fn exposed_reads(&self) -> Vec<Place> {
        // True where a byte was read before it was written. A byte is settled by the first node that touches it.
        let mut settled: BTreeMap<u32, RangeMap<bool>> = BTreeMap::new();
        let mut settle = |place: Place, exposed: bool| {
            settled.entry(place.buffer).or_default().fill(place.start..place.end(), &exposed);
        };
        for node in &self.nodes {
            node.uses.iter().filter(|used| used.access.reads()).for_each(|used| settle(used.place, true));
            node.uses.iter().filter(|used| used.access == Access::Write).for_each(|used| settle(used.place, false));
        }
        let mut places: Vec<Place> = Vec::new();
        for (buffer, map) in settled {
            for (start, end, _) in map.iter().filter(|(_, _, exposed)| **exposed) {
                match places.last_mut().filter(|last| last.buffer == buffer && last.end() == start) {
                    Some(last) => last.len = end - last.start,
                    None => places.push(Place { buffer, start, len: end - start }),
                }
            }
        }
        places
    }

    /// The ranges that nodes write with how they do, equal ranges merged; ordered by buffer, start and length.
    pub fn written(&self) -> Vec<Use> {
        let mut merged: BTreeMap<(u32, u64, u64), Access> = BTreeMap::new();
        for used in self.nodes.iter().flat_map(|node| &node.uses).filter(|used| used.access.writes()) {
            merged
                .entry((used.place.buffer, used.place.start, used.place.len))
                .and_modify(|access| *access = access.union(used.access))
                .or_insert(used.access);
        }
        let place = |(buffer, start, len)| Place { buffer, start, len };
        merged.into_iter().map(|(key, access)| Use { place: place(key), access }).collect()
    }

    /// Direct dependences, all nodes together.
    pub fn edges(&self) -> usize {
        self.nodes.iter().map(|node| node.after.len()).sum()
    }

    /// Nodes on the longest chain of dependences; 0 for an empty recording.
    pub fn critical_path(&self) -> usize {
        depths(&self.nodes).into_iter().max().unwrap_or(0)
    }

    /// The most nodes that have the same distance from the start, which is how many could run side by side at once.
    pub fn width(&self) -> usize {
        let depths = depths(&self.nodes);
        let mut counts = vec![0; depths.len() + 1];
        for depth in depths {
            counts[depth] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }
}

/// For each node, how many nodes the longest chain that ends in it has.
fn depths(nodes: &[Node]) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let before = node.after.iter().filter_map(|index| depths.get(*index as usize)).max();
        depths.push(before.copied().unwrap_or(0) + 1);
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::NodeOp;

    fn used(buffer: u32, start: u64, len: u64, access: Access) -> Use {
        Use { place: Place { buffer, start, len }, access }
    }

    fn recording(nodes: &[&[Use]]) -> Recording {
        let mut dependences = Dependences::default();
        let op = NodeOp::Fill { dst: Place { buffer: 0, start: 0, len: 4 }, word: 0 };
        let node =
            |uses: &&[Use]| Node { label: None, op: op.clone(), uses: uses.to_vec(), after: dependences.push(uses) };
        Recording { nodes: nodes.iter().map(node).collect(), ..Recording::default() }
    }

    fn after(recording: &Recording) -> Vec<Vec<u32>> {
        recording.nodes.iter().map(|node| node.after.clone()).collect()
    }

    #[test]
    fn reads_wait_for_writers_and_writers_for_readers() {
        let (write, read) = (used(0, 0, 8, Access::Write), used(0, 0, 8, Access::Read));
        let recording = recording(&[&[write], &[read], &[read], &[write]]);
        // The last writer's edge to the first one is implied by the readers between them.
        assert_eq!(after(&recording), [vec![], vec![0], vec![0], vec![1, 2]]);
        assert_eq!((recording.edges(), recording.critical_path(), recording.width()), (4, 3, 2));
    }

    #[test]
    fn disjoint_ranges_are_independent_and_overlaps_are_found_by_the_byte() {
        let recording = recording(&[
            &[used(0, 0, 4, Access::Write)],
            &[used(0, 4, 4, Access::WritePart)],
            &[used(0, 3, 1, Access::Read)],
            &[used(0, 3, 2, Access::ReadWrite)],
            &[used(1, 0, 8, Access::Write)],
        ]);
        assert_eq!(after(&recording), [vec![], vec![], vec![0], vec![1, 2], vec![]]);
    }

    #[test]
    fn an_edge_that_another_predecessor_implies_is_left_out() {
        let recording = recording(&[
            &[used(0, 0, 4, Access::Write)],
            &[used(0, 0, 4, Access::Read), used(1, 0, 4, Access::Write)],
            &[used(1, 0, 4, Access::Read), used(2, 0, 4, Access::Write)],
            &[used(0, 0, 4, Access::Read), used(2, 0, 4, Access::Read)],
        ]);
        assert_eq!(after(&recording), [vec![], vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn only_bytes_read_before_they_are_wholly_written_are_exposed() {
        let recording = recording(&[
            &[used(0, 0, 8, Access::Write)],
            &[used(0, 4, 8, Access::Read)],
            &[used(0, 12, 4, Access::WritePart)],
            &[used(1, 0, 4, Access::ReadWrite)],
            &[used(1, 0, 8, Access::Write), used(1, 8, 4, Access::Read)],
            &[used(1, 0, 12, Access::Read)],
        ]);
        let place = |buffer, start, len| Place { buffer, start, len };
        assert_eq!(recording.exposed_reads(), [place(0, 8, 8), place(1, 0, 4), place(1, 8, 4)]);
    }

    #[test]
    fn written_merges_equal_ranges_only() {
        let recording = recording(&[
            &[used(0, 4, 4, Access::Write)],
            &[used(0, 4, 4, Access::ReadWrite)],
            &[used(0, 0, 8, Access::Write)],
            &[used(0, 0, 4, Access::Read)],
        ]);
        assert_eq!(recording.written(), [used(0, 0, 8, Access::Write), used(0, 4, 4, Access::ReadWrite)]);
    }

    #[test]
    fn long_chains_and_wide_fans_stay_linear() {
        let mut dependences = Dependences::default();
        for _ in 0..10_000 {
            dependences.push(&[used(0, 0, 1 << 20, Access::ReadWrite)]);
        }
        for part in 0..10_000 {
            dependences.push(&[used(0, part * 64, 64, Access::Read), used(1, part * 64, 64, Access::Write)]);
        }
        let join = dependences.push(&[used(1, 0, 640_000, Access::Read), used(2, 0, 4, Access::Write)]);
        assert_eq!(join.len(), 10_000);
        // Splits share their lists of readers, and one edge for each node is all there is.
        assert_eq!(dependences.readers.len(), 20_000);
        assert_eq!(dependences.after.iter().map(Vec::len).sum::<usize>(), 9_999 + 10_000 + 10_000);
    }
}
