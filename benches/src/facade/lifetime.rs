//! Building a backend, and closing one that nothing runs on: threads started and joined, streams and contexts of devices that
//! do nothing.

use std::time::Instant;

use super::devices::build;
use super::{close, finding, micros};
use crate::Finding;

/// Devices of the small and of the large backend.
const DEVICES: [(usize, &str, &str); 2] = [
    (1, "build, 1 device for 2 attempts", "close when idle, the same"),
    (8, "build, 8 devices for 2 attempts each", "close when idle, the same"),
];

/// Times of so many lives of each backend.
///
/// # Errors
///
/// What a call that had to work answered.
pub fn findings(lifetimes: u32) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    for (devices, built, closed) in DEVICES {
        let (mut builds, mut closes) = (Vec::new(), Vec::new());
        for _ in 0..lifetimes {
            let start = Instant::now();
            let core = build(devices, 2)?;
            builds.push(micros(start.elapsed()));
            let start = Instant::now();
            close(&core, 0)?;
            closes.push(micros(start.elapsed()));
        }
        found.push(finding("lifetime", built, builds, None));
        found.push(finding("lifetime", closed, closes, None));
    }
    Ok(found)
}
