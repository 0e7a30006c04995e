//! Bytes of device memory, at any alignment, over its atomic words.

use graphreel::sync::atomic::{AtomicU32, Ordering};

use crate::memory::Memory;

/// The words of a range that the caller has checked, and the byte at which it starts in the first.
fn words(memory: &Memory, start: u64, bytes: usize) -> (&[AtomicU32], usize) {
    let start = usize::try_from(start).expect("a range inside an allocation");
    let end = (start + bytes).div_ceil(4);
    (&memory.words()[start / 4..end], start % 4)
}

/// Read `into.len()` bytes from byte `start` on.
pub(crate) fn read(memory: &Memory, start: u64, into: &mut [u8]) {
    let (words, mut skip) = words(memory, start, into.len());
    let mut rest = into;
    for word in words {
        let bytes = word.load(Ordering::Relaxed).to_le_bytes();
        let (now, later) = rest.split_at_mut(rest.len().min(4 - skip));
        now.copy_from_slice(&bytes[skip..skip + now.len()]);
        (rest, skip) = (later, 0);
    }
}

/// Write `from` from byte `start` on. A word that is written in part keeps its other bytes, whoever writes those.
pub(crate) fn write(memory: &Memory, start: u64, from: &[u8]) {
    let (words, mut skip) = words(memory, start, from.len());
    let mut rest = from;
    for word in words {
        let (now, later) = rest.split_at(rest.len().min(4 - skip));
        if let Ok(whole) = <[u8; 4]>::try_from(now) {
            word.store(u32::from_le_bytes(whole), Ordering::Relaxed);
        } else {
            let patch = |old: u32| {
                let mut bytes = old.to_le_bytes();
                bytes[skip..skip + now.len()].copy_from_slice(now);
                Some(u32::from_le_bytes(bytes))
            };
            word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, patch).expect("the patch always has a value");
        }
        (rest, skip) = (later, 0);
    }
}

/// Set `count` words from byte `start` on, a multiple of 4.
pub(crate) fn fill(memory: &Memory, start: u64, value: u32, count: usize) {
    for word in words(memory, start, count * 4).0 {
        word.store(value, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_reads_back_and_leaves_its_neighbours() {
        for start in 0..9u64 {
            for len in 0..12usize {
                let memory = Memory::new(24, 0xaaaa_aaaa);
                let sent: Vec<u8> = (1..=len as u8).collect();
                write(&memory, start, &sent);
                let mut all = [0; 24];
                read(&memory, 0, &mut all);
                let mut expected = [0xaa; 24];
                expected[start as usize..start as usize + len].copy_from_slice(&sent);
                assert_eq!(all, expected, "{len} bytes at {start}");
                let mut back = vec![0; len];
                read(&memory, start, &mut back);
                assert_eq!(back, sent);
            }
        }
    }

    #[test]
    fn a_fill_sets_whole_words() {
        let memory = Memory::new(16, 0);
        fill(&memory, 4, 0x0403_0201, 2);
        let mut all = [0; 16];
        read(&memory, 0, &mut all);
        assert_eq!(all, [0, 0, 0, 0, 1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 0, 0]);
    }
}
