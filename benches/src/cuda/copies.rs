//! File to device memory: the process-wide pool against two pinned buffers by hand that take turns. The file is in the system's
//! cache.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use super::raw::{Event, Memory, Pinned, Said};
use super::{Sides, Volume, text};
use crate::files::{check, file, pooled, rate};
use crate::{Finding, median};

/// Bytes of each pinned buffer: the pool's pieces have as many.
const PINNED_BYTES: usize = 4 << 20;

/// The copy by hand.
struct ByHand<'a> {
    sides: &'a Sides,
    /// Each with the end of the copy that reads it.
    staged: [(Pinned, Event); 2],
    dst: Memory,
    bytes: usize,
}

impl ByHand<'_> {
    /// Seconds until the device has the bytes.
    fn run(&mut self, path: &Path) -> Said<f64> {
        let start = Instant::now();
        let mut file = File::open(path).map_err(text)?;
        for (turn, at) in (0..self.bytes).step_by(PINNED_BYTES).enumerate() {
            let (pinned, copied) = &mut self.staged[turn % 2];
            copied.wait()?;
            let len = PINNED_BYTES.min(self.bytes - at);
            file.read_exact(&mut pinned.bytes_mut()[..len]).map_err(text)?;
            self.dst.copy_from(at, pinned, len, &self.sides.stream)?;
            copied.record(&self.sides.stream)?;
        }
        self.sides.stream.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// How fast the pool is, by hand being 1.
///
/// # Errors
///
/// What a call that had to work answered, or wrong bytes.
pub fn to_device(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let bytes = u64::from(volume.elements) * 4;
    let (file, contents) = file(bytes).map_err(text)?;
    let ours = sides.device.alloc(bytes).map_err(text)?;
    let staged = || Said::Ok((sides.raw.pinned(PINNED_BYTES)?, Event::new()?));
    let dst = sides.raw.memory(bytes as usize)?;
    let mut by_hand = ByHand { sides, staged: [staged()?, staged()?], dst, bytes: bytes as usize };
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=volume.rounds.div_ceil(3) {
        for turn in [round % 2, (round + 1) % 2] {
            let taken = if turn == 0 { pooled(&ours, file.path())? } else { by_hand.run(file.path())? };
            // The first round warms everything up.
            if round > 0 {
                times[turn as usize].push(taken);
            }
        }
    }
    check(&ours, &contents)?;
    if by_hand.dst.read_bytes()? != contents {
        return Err("the bytes that were copied by hand are not the file's".to_owned());
    }
    let [pool, hand] = times.map(median);
    let figure = hand / pool;
    Ok(vec![Finding {
        target: "file to device",
        what: format!("{} MiB, against two pinned buffers by hand", bytes >> 20),
        sides: format!("{:.2} / {:.2} GB/s", rate(bytes, pool), rate(bytes, hand)),
        figure,
        bound: ">= 0.9",
        kept: figure >= 0.9,
    }])
}
