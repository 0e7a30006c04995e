//! Ranges of 32-bit integers, and what operators make of them. WGSL's integers wrap: where a result may pass the end of its type,
//! it may be anything.

use naga::{BinaryOperator, Scalar, ScalarKind};

/// All values from `lo` to `hi`, both included. An empty one has `lo > hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

/// The two types that are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Int {
    Signed,
    Unsigned,
}

impl Int {
    /// The type of a scalar, where it is one that is followed.
    pub(super) fn of(scalar: Scalar) -> Option<Self> {
        match (scalar.kind, scalar.width) {
            (ScalarKind::Sint, 4) => Some(Self::Signed),
            (ScalarKind::Uint, 4) => Some(Self::Unsigned),
            _ => None,
        }
    }

    /// All values of the type.
    pub(super) fn full(self) -> Interval {
        match self {
            Self::Signed => Interval { lo: i32::MIN.into(), hi: i32::MAX.into() },
            Self::Unsigned => Interval { lo: 0, hi: u32::MAX.into() },
        }
    }

    /// The interval, or all values where it goes beyond the type's.
    fn wrapped(self, lo: i64, hi: i64) -> Interval {
        let full = self.full();
        if lo >= full.lo && hi <= full.hi { Interval { lo, hi } } else { full }
    }
}

impl Interval {
    pub(super) fn exactly(value: i64) -> Self {
        Self { lo: value, hi: value }
    }

    pub(super) fn upto(hi: i64) -> Self {
        Self { lo: 0, hi }
    }

    pub(super) fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    pub(super) fn join(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    pub(super) fn meet(self, other: Self) -> Self {
        Self { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The values as another type's: the bits stay.
    pub(super) fn reread(self, to: Int) -> Self {
        to.wrapped(self.lo, self.hi)
    }

    /// The least interval that holds all bits that could be set, for numbers that are not negative.
    fn bits(self) -> i64 {
        let top = u64::try_from(self.hi.max(0)).unwrap_or(0) + 1;
        i64::try_from(top.next_power_of_two()).map_or(i64::MAX, |power| power - 1)
    }

    pub(super) fn negated(self, ty: Int) -> Self {
        ty.wrapped(-self.hi, -self.lo)
    }

    /// All bits turned.
    pub(super) fn inverted(self, ty: Int) -> Self {
        let ends = ty.full().lo + ty.full().hi;
        Self { lo: ends - self.hi, hi: ends - self.lo }
    }

    /// What an operator makes of two intervals of one type. `ordered` says that the right value is at most the left one.
    pub(super) fn binary(op: BinaryOperator, ty: Int, a: Self, b: Self, ordered: bool) -> Self {
        use BinaryOperator as Op;
        match op {
            Op::Add => ty.wrapped(a.lo + b.lo, a.hi + b.hi),
            Op::Subtract if ordered => Self { lo: (a.lo - b.hi).max(0), hi: (a.hi - b.lo).max(0) },
            Op::Subtract => ty.wrapped(a.lo - b.hi, a.hi - b.lo),
            Op::Multiply => {
                let ends = [a.lo, a.hi].map(|x| [b.lo, b.hi].map(|y| i128::from(x) * i128::from(y)));
                let ends = ends.as_flattened();
                let clamped = |end: i128| i64::try_from(end).unwrap_or(if end < 0 { i64::MIN } else { i64::MAX });
                let lo = ends.iter().copied().min().map_or(i64::MIN, clamped);
                let hi = ends.iter().copied().max().map_or(i64::MAX, clamped);
                ty.wrapped(lo, hi)
            }
            Op::Divide => Self::divided(ty, a, b),
            Op::Modulo => Self::remainder(ty, a, b),
            Op::And => match (a.lo >= 0, b.lo >= 0) {
                (true, true) => Self::upto(a.hi.min(b.hi)),
                (true, false) => Self::upto(a.hi),
                (false, true) => Self::upto(b.hi),
                (false, false) => ty.full(),
            },
            Op::InclusiveOr | Op::ExclusiveOr if a.lo >= 0 && b.lo >= 0 => {
                let least = if op == Op::InclusiveOr { a.lo.max(b.lo) } else { 0 };
                Self { lo: least, hi: a.bits() | b.bits() }
            }
            _ => ty.full(),
        }
    }

    fn divided(ty: Int, a: Self, b: Self) -> Self {
        if b.lo >= 1 {
            let ends = [a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi];
            let (lo, hi) = ends.iter().fold((ends[0], ends[0]), |(lo, hi), end| (lo.min(*end), hi.max(*end)));
            return Self { lo, hi };
        }
        // Division by zero gives the dividend back.
        if ty == Int::Unsigned { Self::upto(a.hi) } else { ty.full() }
    }

    /// The remainder has the dividend's sign, and that by zero is zero.
    fn remainder(ty: Int, a: Self, b: Self) -> Self {
        if b.lo < 0 {
            return ty.full();
        }
        if a.lo >= 0 && a.hi < b.lo {
            return a;
        }
        let most = (b.hi - 1).max(0);
        let hi = if a.hi > 0 { a.hi.min(most) } else { 0 };
        let lo = if a.lo < 0 { a.lo.max(-most) } else { 0 };
        Self { lo, hi }
    }

    /// A shift, whose amount is taken modulo 32.
    pub(super) fn shifted(op: BinaryOperator, ty: Int, a: Self, amount: Self) -> Self {
        let amount = if amount.lo >= 0 && amount.hi < 32 { amount } else { Self::upto(31) };
        if a.lo < 0 {
            let toward_zero = Self { lo: a.lo, hi: a.hi.max(-1) };
            return if op == BinaryOperator::ShiftRight { toward_zero } else { ty.full() };
        }
        if op == BinaryOperator::ShiftRight {
            return Self { lo: a.lo >> amount.hi, hi: a.hi >> amount.lo };
        }
        ty.wrapped(a.lo << amount.lo, a.hi << amount.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operator on small intervals contains every result on their members, for numbers at the ends of both types.
    #[test]
    fn results_hold_every_result_of_members() {
        use BinaryOperator as Op;
        const OPS: [Op; 10] = [
            Op::Add,
            Op::Subtract,
            Op::Multiply,
            Op::Divide,
            Op::Modulo,
            Op::And,
            Op::InclusiveOr,
            Op::ExclusiveOr,
            Op::ShiftLeft,
            Op::ShiftRight,
        ];
        let mut random = fastrand::Rng::with_seed(5);
        let places = [0i64, 3, 31, 64, 255, 1 << 16, (1 << 31) - 3, -2, -70, -(1 << 31)];
        for _ in 0..60_000 {
            let ty = if random.bool() { Int::Signed } else { Int::Unsigned };
            let mut interval = || {
                let base = places[random.usize(..places.len())];
                let lo = if ty == Int::Unsigned { i64::from(base as u32) } else { base };
                Interval { lo, hi: (lo + random.i64(0..4)).min(ty.full().hi) }
            };
            let (a, b) = (interval(), interval());
            let op = OPS[random.usize(..OPS.len())];
            let (x, y) = (random.i64(a.lo..=a.hi), random.i64(b.lo..=b.hi));
            let result = if matches!(op, Op::ShiftLeft | Op::ShiftRight) {
                Interval::shifted(op, ty, a, b)
            } else {
                Interval::binary(op, ty, a, b, false)
            };
            let value = evaluated(op, ty, x, y);
            assert!(result.lo <= value && value <= result.hi, "{x} {op:?} {y} is {value}: {a:?} {b:?} give {result:?}");
        }
    }

    fn evaluated(op: BinaryOperator, ty: Int, x: i64, y: i64) -> i64 {
        use BinaryOperator as Op;
        let amount = (y as u32) % 32;
        match ty {
            Int::Unsigned => {
                let (x, y) = (x as u32, y as u32);
                i64::from(match op {
                    Op::Add => x.wrapping_add(y),
                    Op::Subtract => x.wrapping_sub(y),
                    Op::Multiply => x.wrapping_mul(y),
                    Op::Divide => x.checked_div(y).unwrap_or(x),
                    Op::Modulo => x.checked_rem(y).unwrap_or(0),
                    Op::And => x & y,
                    Op::InclusiveOr => x | y,
                    Op::ExclusiveOr => x ^ y,
                    Op::ShiftLeft => x << amount,
                    _ => x >> amount,
                })
            }
            Int::Signed => {
                let (x, y) = (x as i32, y as i32);
                i64::from(match op {
                    Op::Add => x.wrapping_add(y),
                    Op::Subtract => x.wrapping_sub(y),
                    Op::Multiply => x.wrapping_mul(y),
                    Op::Divide => x.checked_div(y).unwrap_or(x),
                    Op::Modulo => x.checked_rem(y).unwrap_or(0),
                    Op::And => x & y,
                    Op::InclusiveOr => x | y,
                    Op::ExclusiveOr => x ^ y,
                    Op::ShiftLeft => x << amount,
                    _ => x >> amount,
                })
            }
        }
    }
}
