//! The execution lanes of a device: one for each attempt that is active, lowest number first.

use crate::sync::{Arc, Mutex};

/// Lanes 0 to `count`, each leased to one attempt at a time.
#[derive(Clone, Debug)]
pub(crate) struct LaneSet(Arc<Mutex<Vec<bool>>>);

impl LaneSet {
    pub(crate) fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![false; count])))
    }

    /// The lowest free lane; `None` when all are taken, which admission does not let happen.
    pub(crate) fn lease(&self) -> Option<Lane> {
        let mut taken = self.0.lock();
        let index = taken.iter().position(|taken| !taken)?;
        taken[index] = true;
        Some(Lane { index, set: self.clone() })
    }

    /// Lanes that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.0.lock().iter().filter(|taken| **taken).count()
    }
}

/// A leased lane.
#[derive(Debug)]
pub(crate) struct Lane {
    index: usize,
    set: LaneSet,
}

impl Lane {
    pub(crate) fn index(&self) -> usize {
        self.index
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.set.0.lock()[self.index] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_leased_lowest_first_and_never_twice() {
        let lanes = LaneSet::new(2);
        let (first, second) = (lanes.lease().unwrap(), lanes.lease().unwrap());
        assert_eq!((first.index(), second.index(), lanes.taken()), (0, 1, 2));
        assert!(lanes.lease().is_none());
        drop(first);
        assert_eq!(lanes.lease().unwrap().index(), 0);
    }
}
