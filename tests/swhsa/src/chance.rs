//! Seeded delays and orders, so that what is not ordered by an event or a barrier shows.

use std::time::Duration;

use crate::settings;

/// A stream of random numbers; without a seed, a device that is prompt and in order.
pub(crate) struct Chance {
    state: Option<u64>,
}

impl Chance {
    /// One for the `index`-th worker of the device.
    pub(crate) fn new(index: u64) -> Self {
        Self { state: settings::get().seed.map(|seed| seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)) }
    }

    /// SplitMix64, which is published for any use.
    fn next(&mut self) -> Option<u64> {
        let state = self.state.as_mut()?;
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = *state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Some(word ^ (word >> 31))
    }

    /// Wait before an operation: seldom, and then for any time up to the longest.
    pub(crate) fn delay(&mut self) {
        let Some(word) = self.next() else { return };
        if word.is_multiple_of(3) {
            let max = u64::try_from(settings::get().delay_max.as_nanos()).unwrap_or(u64::MAX);
            std::thread::sleep(Duration::from_nanos((word >> 8) % max.max(1)));
        }
    }

    /// The order in which `count` operations run that nothing orders.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            let Some(word) = self.next() else { break };
            let other = usize::try_from(word % (at as u64 + 1)).unwrap_or(0);
            order.swap(at, other);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_once_and_follows_from_the_seed() {
        let order = |seed| Chance { state: Some(seed) }.order(8);
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
        assert_eq!(order(1), order(1));
        assert!((2..20).any(|seed| order(seed) != order(1)));
        assert_eq!(Chance { state: None }.order(4), [0, 1, 2, 3]);
    }
}
