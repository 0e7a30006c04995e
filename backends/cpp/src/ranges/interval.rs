//! A set of integers given by its least and greatest: what is known of a value. Bounds are wider than any integer of WGSL,
//! so that sums and most products of them are exact; who computes with them decides what wraps.

use naga::{Scalar, ScalarKind};

/// All integers from `low` to `high`; none where `low` is above `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Interval {
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Interval {
    /// No value: the place is never reached.
    pub(super) const NONE: Self = Self { low: 1, high: 0 };
    /// What is known of a float, which is nothing.
    const ANY: Self = Self { low: i128::MIN, high: i128::MAX };

    pub(super) const fn new(low: i128, high: i128) -> Self {
        Self { low, high }
    }

    pub(super) const fn one(value: i128) -> Self {
        Self { low: value, high: value }
    }

    /// All values of a type.
    pub(super) fn of(scalar: Scalar) -> Self {
        let bits = width(scalar);
        match scalar.kind {
            ScalarKind::Bool => Self::new(0, 1),
            ScalarKind::Uint => Self::new(0, (1 << bits) - 1),
            ScalarKind::Sint => Self::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            ScalarKind::Float | ScalarKind::AbstractInt | ScalarKind::AbstractFloat => Self::ANY,
        }
    }

    pub(super) const fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// The only value that it has.
    pub(super) fn single(self) -> Option<i128> {
        (self.low == self.high).then_some(self.low)
    }

    pub(super) const fn contains(self, value: i128) -> bool {
        self.low <= value && value <= self.high
    }

    pub(super) const fn is_within(self, other: Self) -> bool {
        self.is_empty() || (other.low <= self.low && self.high <= other.high)
    }

    /// What is in either, and what lies between.
    pub(super) fn join(self, other: Self) -> Self {
        if self.is_empty() {
            other
        } else if other.is_empty() {
            self
        } else {
            Self::new(self.low.min(other.low), self.high.max(other.high))
        }
    }

    /// What is in both.
    pub(super) fn meet(self, other: Self) -> Self {
        let met = Self::new(self.low.max(other.low), self.high.min(other.high));
        if met.is_empty() { Self::NONE } else { met }
    }

    /// Itself without `value`, which can be told only at its ends.
    pub(super) fn without(self, value: i128) -> Self {
        match value {
            value if self.single() == Some(value) => Self::NONE,
            value if value == self.low => Self::new(self.low + 1, self.high),
            value if value == self.high => Self::new(self.low, self.high - 1),
            _ => self,
        }
    }

    /// A result of exact arithmetic as the type has it: everything, where some of it wraps.
    pub(super) fn wrapped(self, scalar: Scalar) -> Self {
        let all = Self::of(scalar);
        if self.is_within(all) { self } else { all }
    }

    /// The greatest distance of a value from 0.
    pub(super) fn magnitude(self) -> i128 {
        self.low.saturating_abs().max(self.high.saturating_abs())
    }

    /// `self` grown to hold `more`, each bound that moves going on to the next of `steps`, which are sorted, or to the type's.
    pub(super) fn widened(self, more: Self, steps: &[i128], scalar: Scalar) -> Self {
        let (all, grown) = (Self::of(scalar), self.join(more));
        let (mut low, mut high) = (grown.low, grown.high);
        if grown.low < self.low {
            let below = steps.partition_point(|step| *step <= grown.low);
            low = below.checked_sub(1).and_then(|at| steps.get(at)).map_or(all.low, |step| (*step).max(all.low));
        }
        if grown.high > self.high {
            let above = steps.partition_point(|step| *step < grown.high);
            high = steps.get(above).map_or(all.high, |step| (*step).min(all.high));
        }
        Self::new(low, high)
    }
}

/// Bits of a scalar.
pub(super) fn width(scalar: Scalar) -> u32 {
    u32::from(scalar.width) * 8
}

/// Whether intervals say anything of it.
pub(super) fn is_tracked(scalar: Scalar) -> bool {
    matches!(scalar.kind, ScalarKind::Bool | ScalarKind::Uint | ScalarKind::Sint)
}

/// Whether it is an integer.
pub(super) fn is_integer(scalar: Scalar) -> bool {
    matches!(scalar.kind, ScalarKind::Uint | ScalarKind::Sint)
}
