//! Device memory of the simulator: bytes that many workgroups may touch at once.

use graphreel::sync::atomic::AtomicU32;

/// One allocation. Words are atomic, so that kernels which race, as some do on purpose, race in a defined way.
#[derive(Debug)]
pub struct Memory {
    words: Box<[AtomicU32]>,
}

impl Memory {
    /// `bytes` bytes, each holding a pattern of `fill` (whatever memory held before).
    pub fn new(bytes: u64, fill: u32) -> Self {
        let words = usize::try_from(bytes.div_ceil(4)).expect("a size that the caller bounded");
        Self { words: (0..words).map(|_| AtomicU32::new(fill)).collect() }
    }

    /// The words, little-endian, in order of address.
    pub fn words(&self) -> &[AtomicU32] {
        &self.words
    }
}
