//! A set of a backend's devices, by their index in its table: a waiter carries one, and it is read at every decision.

use crate::lifecycle::config::BACKEND_METRIC_DEVICE_CAPACITY;

// Ordinals are below the capacity and differ, so every index has a bit.
const _: () = assert!(BACKEND_METRIC_DEVICE_CAPACITY <= u64::BITS as usize);

/// Indices of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceSet(u64);

impl DeviceSet {
    pub(crate) fn insert(&mut self, index: usize) {
        self.0 |= 1 << index;
    }

    pub(crate) fn remove(&mut self, index: usize) {
        self.0 &= !(1 << index);
    }

    pub(crate) fn contains(self, index: usize) -> bool {
        self.0 & (1 << index) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The indices, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let index = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(index)
        })
    }
}

impl FromIterator<usize> for DeviceSet {
    fn from_iter<I: IntoIterator<Item = usize>>(indices: I) -> Self {
        let mut set = Self::default();
        indices.into_iter().for_each(|index| set.insert(index));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: DeviceSet = [63, 0, 5].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5, 63]);
        assert!(set.contains(63) && !set.contains(1));
        let one: DeviceSet = [5].into_iter().collect();
        assert_eq!(set.without(one).iter().collect::<Vec<_>>(), [0, 63]);
        assert_eq!((set.intersection(one), set.union(one)), (one, set));
        assert!(one.without(set).is_empty());
        let mut rest = set;
        rest.remove(0);
        rest.remove(63);
        assert_eq!(rest, one);
    }
}
