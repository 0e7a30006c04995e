//! How much of a device admission may grant: left to the build, or said outright. It is a policy, no cap of an allocator.

use std::fmt;

use crate::lifecycle::config::refusal;
use crate::lifecycle::error::QueryResult;

/// The admission limit of one device (B-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GpuDeviceMemoryLimit {
    /// Resolved at the build, once the device's size is known.
    Automatic {
        /// Bytes left to others.
        headroom_bytes: u64,
        /// The limit on a device that is no larger than the headroom.
        fallback_bytes: u64,
        /// An upper bound on the limit, as a part of what is owned.
        fraction: Option<GpuMemoryFraction>,
    },
    /// Used as it is, and refused where it exceeds what is owned (B-16).
    Explicit {
        /// The limit in bytes.
        limit_bytes: u64,
    },
}

impl GpuDeviceMemoryLimit {
    /// The headroom of the default, 500 MiB.
    pub const DEFAULT_HEADROOM_BYTES: u64 = 500 << 20;
    /// The fallback of the default, 256 MiB.
    pub const DEFAULT_FALLBACK_BYTES: u64 = 256 << 20;
}

impl Default for GpuDeviceMemoryLimit {
    fn default() -> Self {
        Self::Automatic {
            headroom_bytes: Self::DEFAULT_HEADROOM_BYTES,
            fallback_bytes: Self::DEFAULT_FALLBACK_BYTES,
            fraction: None,
        }
    }
}

/// A part of a whole: above 0, at most 1. It holds the number's bits, so that equal values are equal keys (B-17).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GpuMemoryFraction(u64);

impl GpuMemoryFraction {
    /// The fraction `value`.
    ///
    /// # Errors
    ///
    /// `invalid_fraction` outside (0, 1] and for what is no number.
    pub fn new(value: f64) -> QueryResult<Self> {
        // Written so that what is no number falls out of it.
        if value > 0.0 && value <= 1.0 {
            return Ok(Self(value.to_bits()));
        }
        let tail = format!("is {value}; give a number in the range (0, 1]");
        Err(refusal::backend("memory_limit.fraction", "invalid_fraction", &tail))
    }

    /// The number.
    pub const fn value(self) -> f64 {
        f64::from_bits(self.0)
    }

    /// That part of `owned_bytes`, cut to a whole byte. Never more than all of it, although a large count loses digits as
    /// a floating-point number (B-18).
    pub fn capacity_bytes(self, owned_bytes: u64) -> u64 {
        let part = (owned_bytes as f64 * self.value()).floor();
        // The conversion saturates.
        (part as u64).min(owned_bytes)
    }
}

impl fmt::Debug for GpuMemoryFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuMemoryFraction({:?})", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::error::QueryErrorCode;

    /// XB-3, B-17.
    #[test]
    fn a_fraction_is_above_zero_and_at_most_one() {
        let refused = [0.0, -0.0, -0.5, -f64::MIN_POSITIVE, 1.0 + f64::EPSILON, 2.0, f64::NAN, f64::INFINITY];
        for value in refused.into_iter().chain([f64::NEG_INFINITY, -f64::NAN]) {
            let error = GpuMemoryFraction::new(value).unwrap_err();
            assert_eq!(error.code(), QueryErrorCode::InvalidConfiguration, "{value}");
            assert_eq!(error.reason(), Some("invalid_fraction"), "{value}");
            assert_eq!(error.fact_value("field"), Some("memory_limit.fraction"), "{value}");
            assert!(error.message().contains("(0, 1]"), "{error}");
        }
        for value in [f64::from_bits(1), f64::MIN_POSITIVE, 0.5, 1.0 - f64::EPSILON, 1.0] {
            let fraction = GpuMemoryFraction::new(value).unwrap();
            assert_eq!(fraction.value().to_bits(), value.to_bits());
            assert_eq!(fraction, GpuMemoryFraction::new(value).unwrap());
        }
        assert_eq!(format!("{:?}", GpuMemoryFraction::new(0.25).unwrap()), "GpuMemoryFraction(0.25)");
    }

    /// XB-3, B-18.
    #[test]
    fn a_part_never_exceeds_the_whole() {
        let part = |value, owned| GpuMemoryFraction::new(value).unwrap().capacity_bytes(owned);
        assert_eq!(part(1.0, u64::MAX), u64::MAX);
        // As a floating-point number this count is one more than it is.
        assert_eq!(part(1.0, (1 << 53) + 3), (1 << 53) + 3);
        assert_eq!(part(0.5, 1001), 500);
        assert_eq!((part(f64::from_bits(1), u64::MAX), part(0.7, 0)), (0, 0));
        for owned in [1, 1000, (1 << 53) + 1, (1 << 60) + 7, u64::MAX - 1, u64::MAX] {
            assert!(part(1.0 - f64::EPSILON, owned) <= owned, "{owned}");
        }
    }

    /// B-15.
    #[test]
    fn the_default_leaves_500_mib_and_falls_back_to_256() {
        let automatic = GpuDeviceMemoryLimit::Automatic {
            headroom_bytes: 524_288_000,
            fallback_bytes: 268_435_456,
            fraction: None,
        };
        assert_eq!(GpuDeviceMemoryLimit::default(), automatic);
    }
}
