//! P10: the device's memory, as its driver counts it, over many replays and updates.

use super::raw::Said;
use super::{Sides, Volume};
use crate::{Finding, growth};

/// Bytes in use by the server's books and by the driver's, after a warm-up and at the end.
///
/// # Errors
///
/// What a call that had to work answered, or a wrong result.
pub fn bytes(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let mut looks = Vec::new();
    let books = growth::bytes_over_replays_with(&sides.device, volume.replays, volume.updates, || {
        looks.push(sides.raw.used_bytes()?);
        Ok(())
    })?;
    let [before, after] = looks[..] else {
        return Err(format!("memory was looked at {} times, not twice", looks.len()));
    };
    let figure = after as f64 - before as f64;
    let driver = Finding {
        what: format!("{}: by the driver", books.what),
        sides: format!("{after} / {before} bytes"),
        figure,
        kept: figure == 0.0,
        ..books.clone()
    };
    Ok(vec![books, driver])
}
