//! Pinned memory that nothing uses and that cannot be given back yet: a driver may wait for the whole device over it, and hold up
//! every launch meanwhile. It serves the next requests instead, so a device that is never idle holds of each
//! size no more than it once used at a time.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::driver::PinnedMemory;

/// Sizes in one power of two. Sizes that differ by less than a quarter share memory, and at most a fifth of any is lost.
const STEPS: u64 = 4;

/// The size that is asked of the driver for a request: the next quarter of a power of two, so that sizes which differ a little
/// share memory.
pub(super) fn size_class(bytes: NonZeroU64) -> NonZeroU64 {
    let step = (1 << bytes.get().ilog2()) / STEPS;
    let rounded = if step == 0 { None } else { bytes.get().checked_next_multiple_of(step) };
    rounded.and_then(NonZeroU64::new).unwrap_or(bytes)
}

/// Spare memory by size.
#[derive(Debug, Default)]
pub(super) struct SparePinned {
    by_size: BTreeMap<u64, Vec<PinnedMemory>>,
}

impl SparePinned {
    /// Keep memory that nothing uses any more.
    pub(super) fn keep(&mut self, memory: PinnedMemory) {
        self.by_size.entry(memory.bytes.get()).or_default().push(memory);
    }

    /// The smallest that has room for `bytes`; of more than twice as many only where `any` does.
    pub(super) fn take(&mut self, bytes: NonZeroU64, any: bool) -> Option<PinnedMemory> {
        let (size, spare) = self.by_size.range_mut(bytes.get()..).next()?;
        if *size / 2 > bytes.get() && !any {
            return None;
        }
        let (size, memory) = (*size, spare.pop()?);
        if spare.is_empty() {
            self.by_size.remove(&size);
        }
        Some(memory)
    }

    /// All of it, to be given back.
    pub(super) fn drain(&mut self) -> Vec<PinnedMemory> {
        std::mem::take(&mut self.by_size).into_values().flatten().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_size.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use super::super::driver::HostPtr;
    use super::*;

    fn memory(bytes: u64) -> PinnedMemory {
        PinnedMemory { address: HostPtr(NonNull::dangling()), bytes: n(bytes) }
    }

    fn n(bytes: u64) -> NonZeroU64 {
        NonZeroU64::new(bytes).unwrap()
    }

    #[test]
    fn sizes_are_few_and_lose_little() {
        let classes: std::collections::HashSet<u64> = (1..=1 << 16).map(|bytes| size_class(n(bytes)).get()).collect();
        assert!(classes.len() <= 16 * STEPS as usize + 3, "{} sizes", classes.len());
        for bytes in (1..=1 << 16).chain([u64::MAX - 1, u64::MAX]) {
            let class = size_class(n(bytes)).get();
            assert!(class >= bytes && class - bytes <= class / 5 + 1, "{bytes} bytes become {class}");
            assert_eq!(size_class(n(class)).get(), class);
        }
    }

    #[test]
    fn the_smallest_that_fits_serves_and_a_much_larger_one_is_left() {
        let mut spare = SparePinned::default();
        [256, 512, 4096].into_iter().for_each(|bytes| spare.keep(memory(bytes)));
        assert_eq!(spare.take(n(300), false).map(|memory| memory.bytes.get()), Some(512));
        assert_eq!(spare.take(n(300), false), None, "4096 bytes wait for a larger request");
        assert_eq!(spare.take(n(2048), false).map(|memory| memory.bytes.get()), Some(4096));
        assert_eq!(spare.take(n(257), true), None);
        assert_eq!(spare.take(n(1), true), Some(memory(256)), "where any does");
        spare.keep(memory(256));
        assert_eq!(spare.drain(), [memory(256)]);
        assert!(spare.is_empty());
    }
}
