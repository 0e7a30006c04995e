//! Memory: what copies and fills move, and what allocating and freeing promise.

use graphreel::error::{DriverErrorKind, FaultClass};
use graphreel::graph::{Driver, DriverResult};

use super::Rig;
use super::rig::{at, bytes, host_at};

/// Both: copies take any byte length and offset, in every direction, and touch nothing beside it.
#[expect(unsafe_code, reason = "copies at odd offsets are not among the rig's calls")]
pub fn copies_of_every_direction_keep_every_byte<D: Driver>(rig: &Rig<D>) -> DriverResult {
    const SIZE: usize = 2048;
    let pattern: Vec<u8> = (0..SIZE).map(|index| (index * 7 + index / 256) as u8).collect();
    let source = rig.pinned(bytemuck::cast_slice::<u8, u32>(&aligned(&pattern)))?;
    let back = rig.pinned(&[0; SIZE / 4])?;
    let (one, two) = (rig.words(&[0; SIZE / 4])?, rig.words(&[0; SIZE / 4])?);
    for (from, to, len) in [(0, 0, 1), (1, 3, 2), (3, 1, 3), (4, 8, 5), (7, 2, 64), (5, 11, 1021), (0, 0, 2048)] {
        rig.fill(&one, 0xAAAA_AAAA, &rig.a)?;
        rig.fill(&two, 0xBBBB_BBBB, &rig.a)?;
        // SAFETY: both ranges lie within their allocations, which outlive the copy.
        unsafe { rig.driver().copy_to_device(at(&one, to), host_at(&source, from), bytes(len), &rig.a) }?;
        // SAFETY: as above; the allocations are two.
        unsafe { rig.driver().copy_on_device(at(&two, from), at(&one, to), bytes(len), &rig.a) }?;
        // SAFETY: as above; the host range is read only once the stream is drained.
        unsafe { rig.driver().copy_to_host(host_at(&back, to), at(&two, from), bytes(len), &rig.a) }?;
        let (one, two) = (rig.read(&one)?, rig.read(&two)?);
        let (from, to, len) = (from as usize, to as usize, len as usize);
        let around = |byte: u8, place: usize| {
            let mut all = vec![byte; SIZE];
            all[place..place + len].copy_from_slice(&pattern[from..from + len]);
            all
        };
        assert_eq!(bytemuck::cast_slice::<u32, u8>(&one), around(0xAA, to), "{len} bytes from {from} to {to}");
        assert_eq!(bytemuck::cast_slice::<u32, u8>(&two), around(0xBB, from), "{len} bytes from {to} to {from}");
        let host = rig.host(&back);
        let host = &bytemuck::cast_slice::<u32, u8>(&host)[to..to + len];
        assert_eq!(host, &pattern[from..from + len], "{len} bytes to the host");
    }
    Ok(())
}

/// The same bytes where words may be read from them.
fn aligned(data: &[u8]) -> Vec<u8> {
    let words: Vec<u32> = data.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
    bytemuck::cast_slice(&words).to_vec()
}

/// Both: a fill sets as many 4-byte words as it says, from the address that it is given.
#[expect(unsafe_code, reason = "a fill of a part is not among the rig's calls")]
pub fn a_fill_sets_its_words_only<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let memory = rig.words(&[1; 300])?;
    for (start, words) in [(0, 1), (3, 5), (101, 150), (299, 1)] {
        rig.fill(&memory, 1, &rig.a)?;
        // SAFETY: the range lies within the allocation, which outlives the fill.
        unsafe { rig.driver().fill(at(&memory, start * 4), 0xDEAD_BEEF, bytes(words), &rig.a) }?;
        let inside = |index: u64| (start..start + words).contains(&index);
        let expected: Vec<u32> = (0..300).map(|index| if inside(index) { 0xDEAD_BEEF } else { 1 }).collect();
        assert_eq!(rig.read(&memory)?, expected, "{words} words from {start}");
    }
    Ok(())
}

/// Both: an allocation is aligned to 256 bytes at least, and none shares a byte with another.
pub fn allocations_are_aligned_and_apart<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let sizes = [1, 4, 255, 256, 257, 4096, 70_000, 1 << 20];
    let held = sizes.iter().map(|size| rig.memory(*size)).collect::<DriverResult<Vec<_>>>()?;
    let mut ranges: Vec<(u64, u64)> = held.iter().map(|memory| (memory.address.0.get(), memory.bytes.get())).collect();
    assert!(ranges.iter().all(|(start, _)| start % 256 == 0), "{ranges:?}");
    assert!(held.iter().zip(sizes).all(|(memory, size)| memory.bytes.get() == size), "{ranges:?}");
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{ranges:?}");
    let pinned = rig.pinned(&[7; 1025])?;
    assert_eq!(pinned.address.0.as_ptr() as usize % 4096, 0, "page-locked memory begins a page");
    assert_eq!(rig.host(&pinned), [7; 1025]);
    Ok(())
}

/// Both: freed memory is there for the next allocation, which may begin with any bytes.
pub fn freed_memory_can_be_had_again<D: Driver>(rig: &Rig<D>) -> DriverResult {
    const BYTES: u64 = 4 << 20;
    let before = rig.driver().mem_info()?;
    // All together they are more than was free; one at a time they fit.
    let turns = (before.free / BYTES + 2).min(300);
    for turn in 0..turns {
        let memory = rig.memory(BYTES)?;
        let word = turn as u32;
        rig.fill(&memory, word, &rig.a)?;
        if turn % 100 == 0 {
            assert!(rig.read(&memory)?.iter().all(|found| *found == word), "turn {turn}");
        }
    }
    Ok(())
}

/// Both: memory that is held counts as used, and the total stays.
pub fn what_is_held_is_counted_as_used<D: Driver>(rig: &Rig<D>) -> DriverResult {
    const BYTES: u64 = 8 << 20;
    let before = rig.driver().mem_info()?;
    assert!(before.total > 0 && before.free <= before.total, "{before:?}");
    let held = [rig.memory(BYTES)?, rig.memory(BYTES)?];
    let with = rig.driver().mem_info()?;
    let bytes: u64 = held.iter().map(|memory| memory.bytes.get()).sum();
    // Other processes may use the device too, so used bytes have a lower bound only.
    assert_eq!(with.total, before.total);
    assert!(with.total - with.free >= bytes, "{with:?} with {bytes} bytes held");
    Ok(())
}

/// Both: running out of memory is its own kind, and neither the context nor what is held suffers.
pub fn running_out_of_memory_is_its_own_kind_and_hurts_nothing<D: Driver>(rig: &Rig<D>) -> DriverResult {
    let held = rig.words(&[3, 4])?;
    let total = rig.driver().mem_info()?.total;
    for _ in 0..3 {
        let Err(error) = rig.driver().mem_alloc(bytes(total + (64 << 20))) else {
            panic!("more memory than there is was given");
        };
        assert_eq!((error.kind, error.class), (DriverErrorKind::OutOfMemory, FaultClass::CallLocal), "{error}");
        assert!(!error.call.is_empty() && error.code != 0 && !error.name.is_empty(), "{error:?}");
    }
    assert_eq!(rig.read(&held)?, [3, 4]);
    rig.assert_usable(&rig.a)
}
