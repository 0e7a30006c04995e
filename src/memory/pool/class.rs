//! Size classes: requests are rounded so that freed slices fit later ones.

/// Bytes that a slice for `bytes` takes: the next of `1, 1.25, 1.5, 1.75` times a power of two, then the next multiple of
/// `alignment` (at least 1). At most a quarter, and one alignment, more than asked for. `None` where it does not fit.
pub(super) fn slice_class(bytes: u64, alignment: u64) -> Option<u64> {
    let bytes = bytes.max(1);
    let step = (1u64 << bytes.ilog2()) / 4;
    aligned(bytes.checked_next_multiple_of(step.max(1))?, alignment)
}

/// `bytes` up to the next multiple of `alignment`.
pub(super) fn aligned(bytes: u64, alignment: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(alignment)
}

/// Whether a free page of `page` bytes may serve a request of `bytes`: an eighth of it may be wasted.
pub(super) fn serves(page: u64, bytes: u64) -> bool {
    page >= bytes && page - bytes <= page / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_quarter_steps_and_aligned() {
        let classes: Vec<_> = [1, 255, 256, 257, 1024, 1025, 1281, 4097].map(|bytes| slice_class(bytes, 256)).into();
        assert_eq!(classes, [256, 256, 256, 512, 1024, 1280, 1536, 5120].map(Some));
        assert_eq!((slice_class(5, 1), slice_class(9, 1), slice_class(0, 1)), (Some(5), Some(10), Some(1)));
    }

    #[test]
    fn waste_is_bounded_and_a_class_is_its_own_class() {
        for bytes in (1..70_000).step_by(7) {
            let class = slice_class(bytes, 64).unwrap();
            assert!(class >= bytes && class - bytes <= bytes / 4 + 64, "{bytes} became {class}");
            assert_eq!(slice_class(class, 64), Some(class));
        }
    }

    #[test]
    fn sizes_near_the_end_of_the_range_do_not_overflow() {
        assert_eq!(slice_class(u64::MAX, 256), None);
        assert_eq!(aligned(u64::MAX, 256), None);
        assert!(!serves(8, u64::MAX));
    }
}
