//! Which work must come before which across streams, from the data alone: a buffer remembers its last writers and readers.
//!
//! Pure. A [`Point`] is "everything given to that lane up to its nth operation"; waiting for more of a lane than needed is
//! allowed, missing any is not.

use std::collections::HashMap;

use crate::memory::{Access, ManagedMemoryId};

/// A driver stream of the server, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LaneId(pub(super) usize);

/// A place in a lane: its first `count` operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) lane: LaneId,
    pub(super) count: u64,
}

/// The furthest point of each lane, in no order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Points(Vec<Point>);

/// Who used one buffer last.
#[derive(Debug, Default)]
struct Uses {
    /// One, but for memory that several lanes used under its former names.
    writers: Points,
    /// Since that write.
    readers: Points,
}

/// The last uses of every buffer of a device.
#[derive(Debug, Default)]
pub(super) struct Order(HashMap<ManagedMemoryId, Uses>);

impl Points {
    pub(super) fn add(&mut self, point: Point) {
        match self.0.iter_mut().find(|known| known.lane == point.lane) {
            Some(known) => known.count = known.count.max(point.count),
            None => self.0.push(point),
        }
    }

    pub(super) fn add_all(&mut self, points: &Self) {
        points.iter().for_each(|point| self.add(point));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Point> {
        self.0.iter().copied()
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Point) -> bool) {
        self.0.retain(keep);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn set(&mut self, point: Point) {
        self.0.clear();
        self.0.push(point);
    }
}

impl From<Point> for Points {
    fn from(point: Point) -> Self {
        Self(vec![point])
    }
}

impl Order {
    /// Add to `points` what an operation with this use must come after.
    pub(super) fn before(&self, id: ManagedMemoryId, access: Access, points: &mut Points) {
        let Some(uses) = self.0.get(&id) else { return };
        points.add_all(&uses.writers);
        if access.writes() {
            points.add_all(&uses.readers);
        }
    }

    /// An operation with this use was given to its lane, after all that [`Order::before`] named.
    pub(super) fn used(&mut self, id: ManagedMemoryId, access: Access, point: Point) {
        let uses = self.0.entry(id).or_default();
        if access.writes() {
            uses.writers.set(point);
            uses.readers.clear();
        } else {
            uses.readers.add(point);
        }
    }

    /// The memory of a new buffer was used under other names: its first use comes after those.
    pub(super) fn inherit(&mut self, id: ManagedMemoryId, points: &Points) {
        if !points.is_empty() {
            self.0.entry(id).or_default().writers.add_all(points);
        }
    }

    /// The points at which the buffer was last written.
    pub(super) fn writers(&self, id: ManagedMemoryId) -> impl Iterator<Item = Point> {
        self.0.get(&id).into_iter().flat_map(|uses| uses.writers.iter())
    }

    /// The buffer is gone; all its last uses.
    pub(super) fn forget(&mut self, id: ManagedMemoryId) -> Points {
        let Some(uses) = self.0.remove(&id) else { return Points::default() };
        let mut points = uses.writers;
        points.add_all(&uses.readers);
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ManagedMemoryId = ManagedMemoryId(u64::MAX);
    const B: ManagedMemoryId = ManagedMemoryId(u64::MAX - 1);

    fn at(lane: usize, count: u64) -> Point {
        Point { lane: LaneId(lane), count }
    }

    fn before(order: &Order, id: ManagedMemoryId, access: Access) -> Vec<Point> {
        let mut points = Points::default();
        order.before(id, access, &mut points);
        points.iter().collect()
    }

    #[test]
    fn readers_wait_for_the_writer_and_writers_for_both() {
        let mut order = Order::default();
        assert!(before(&order, A, Access::ReadWrite).is_empty());
        order.used(A, Access::Write, at(0, 1));
        order.used(A, Access::Read, at(1, 1));
        order.used(A, Access::Read, at(1, 4));
        order.used(A, Access::Read, at(2, 7));
        assert_eq!(before(&order, A, Access::Read), [at(0, 1)]);
        assert_eq!(before(&order, A, Access::Write), [at(0, 1), at(1, 4), at(2, 7)]);
        order.used(A, Access::WritePart, at(2, 8));
        assert_eq!(before(&order, A, Access::ReadWrite), [at(2, 8)], "what it came after is behind it");
        assert_eq!(order.writers(A).collect::<Vec<_>>(), [at(2, 8)]);
        assert!(before(&order, B, Access::Write).is_empty());
    }

    #[test]
    fn memory_under_a_new_name_comes_after_its_old_uses() {
        let mut order = Order::default();
        order.used(A, Access::Write, at(0, 3));
        order.used(A, Access::Read, at(1, 2));
        let last = order.forget(A);
        assert!(before(&order, A, Access::Write).is_empty());
        order.inherit(B, &last);
        assert_eq!(before(&order, B, Access::Read), [at(0, 3), at(1, 2)], "even a read: the bytes are still in use");
        order.used(B, Access::Write, at(1, 9));
        assert_eq!(before(&order, B, Access::Read), [at(1, 9)]);
        assert!(order.forget(ManagedMemoryId(1)).is_empty());
    }
}
