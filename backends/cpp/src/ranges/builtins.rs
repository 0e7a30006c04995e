//! What is known of the integer builtin functions' results, and of the numbers that an invocation is given.

use graphreel::op::MAX_GROUPS;
use naga::{BuiltIn, MathFunction, Scalar, ScalarKind};

use super::interval::{Interval, width};
use crate::Loops;

/// Workgroups of a grid in each dimension: more are refused before a launch, and where counts in memory say so nothing runs.
const GROUPS_MAX: i128 = MAX_GROUPS as i128;

/// Invocations of a subgroup at most, where nothing is known of the device.
const SUBGROUP_MAX: i128 = 128;

/// How an entry point is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    /// Invocations of a workgroup in each dimension.
    pub(super) workgroup: [u32; 3],
    /// Invocations of a subgroup, where it is known.
    pub(super) subgroup: Option<u32>,
    /// Whether a loop may be left at any round.
    pub(super) loops: Loops,
}

impl Launch {
    /// What a component of a builtin can be; none for builtins that compute has not.
    pub(super) fn builtin(&self, builtin: BuiltIn, component: usize) -> Option<Interval> {
        let side = i128::from(*self.workgroup.get(component)?);
        let lanes: i128 = self.workgroup.iter().map(|side| i128::from(*side)).product();
        let (least, most) = self.subgroup.map_or((1, SUBGROUP_MAX), |size| (i128::from(size), i128::from(size)));
        // A subgroup may have fewer invocations than its size only where the workgroup ends.
        let subgroups = if self.subgroup.is_some() { (lanes + least - 1) / least.max(1) } else { lanes };
        Some(match builtin {
            BuiltIn::LocalInvocationId => Interval::new(0, side - 1),
            BuiltIn::LocalInvocationIndex => Interval::new(0, lanes - 1),
            BuiltIn::WorkGroupId => Interval::new(0, GROUPS_MAX - 1),
            BuiltIn::GlobalInvocationId => Interval::new(0, GROUPS_MAX * side - 1),
            BuiltIn::WorkGroupSize => Interval::one(side),
            BuiltIn::NumWorkGroups => Interval::new(1, GROUPS_MAX),
            BuiltIn::SubgroupSize => Interval::new(least, most),
            BuiltIn::SubgroupInvocationId => Interval::new(0, most.min(lanes) - 1),
            BuiltIn::SubgroupId => Interval::new(0, subgroups - 1),
            BuiltIn::NumSubgroups => Interval::new(1, subgroups),
            _ => return None,
        })
    }
}

/// The result of a function of integers that goes component by component, for operands of a type; none where nothing is known.
pub(super) fn math(fun: MathFunction, scalar: Scalar, [a, b, c]: [Interval; 3]) -> Option<Interval> {
    if a.is_empty() || b.is_empty() || c.is_empty() {
        return Some(Interval::NONE);
    }
    let least = |a: Interval, b: Interval| Interval::new(a.low.min(b.low), a.high.min(b.high));
    let greatest = |a: Interval, b: Interval| Interval::new(a.low.max(b.low), a.high.max(b.high));
    Some(match fun {
        MathFunction::Min => least(a, b),
        MathFunction::Max => greatest(a, b),
        MathFunction::Clamp => least(greatest(a, b), c),
        MathFunction::Abs => absolute(scalar, a),
        MathFunction::Sign => Interval::new(a.low.signum(), a.high.signum()),
        MathFunction::CountOneBits => count_ones(scalar, a),
        MathFunction::CountLeadingZeros => leading_zeros(scalar, a),
        MathFunction::CountTrailingZeros => trailing_zeros(scalar, a),
        MathFunction::FirstLeadingBit => first_leading(scalar, a),
        MathFunction::FirstTrailingBit => first_trailing(scalar, a),
        MathFunction::ExtractBits => extracted(scalar, a, c),
        _ => return None,
    })
}

/// Components of an unpacked vector, and the like: what is known from the function alone.
pub(super) fn fixed(fun: MathFunction) -> Option<Interval> {
    Some(match fun {
        MathFunction::Unpack4xU8 => Interval::new(0, 255),
        MathFunction::Unpack4xI8 => Interval::new(-128, 127),
        MathFunction::Dot4U8Packed => Interval::new(0, 4 * 255 * 255),
        MathFunction::Dot4I8Packed => Interval::new(-4 * 128 * 127, 4 * 128 * 128),
        _ => return None,
    })
}

/// The number of the highest bit of a number above 0.
fn highest(value: i128) -> i128 {
    i128::from(127 - value.leading_zeros())
}

fn bits(scalar: Scalar) -> i128 {
    i128::from(width(scalar))
}

fn absolute(scalar: Scalar, a: Interval) -> Interval {
    if a.low >= 0 {
        return a;
    }
    // The least number of a signed type has no opposite, and stays what it is.
    Interval::new(if a.high < 0 { -a.high } else { 0 }, a.magnitude()).wrapped(scalar)
}

fn count_ones(scalar: Scalar, a: Interval) -> Interval {
    match (a.low, a.high) {
        (0.., 1..) => Interval::new(i128::from(a.low > 0), highest(a.high) + 1),
        (0.., _) => Interval::one(0),
        _ => Interval::new(0, bits(scalar)),
    }
}

fn leading_zeros(scalar: Scalar, a: Interval) -> Interval {
    let zeros = |value: i128| if value > 0 { bits(scalar) - 1 - highest(value) } else { bits(scalar) };
    if a.low < 0 { Interval::new(0, bits(scalar)) } else { Interval::new(zeros(a.high), zeros(a.low)) }
}

fn trailing_zeros(scalar: Scalar, a: Interval) -> Interval {
    if a.low > 0 { Interval::new(0, highest(a.high)) } else { Interval::new(0, bits(scalar)) }
}

fn first_leading(scalar: Scalar, a: Interval) -> Interval {
    match (a.low > 0, scalar.kind) {
        (true, _) => Interval::new(highest(a.low), highest(a.high)),
        (false, ScalarKind::Sint) => Interval::new(-1, bits(scalar) - 2),
        (false, _) => Interval::of(scalar),
    }
}

fn first_trailing(scalar: Scalar, a: Interval) -> Interval {
    match (a.low > 0, scalar.kind) {
        (true, _) => Interval::new(0, highest(a.high)),
        (false, ScalarKind::Sint) => Interval::new(-1, bits(scalar) - 1),
        (false, _) => Interval::of(scalar),
    }
}

fn extracted(scalar: Scalar, a: Interval, count: Interval) -> Interval {
    let most = count.high.clamp(0, bits(scalar));
    match scalar.kind {
        ScalarKind::Sint if most == 0 => Interval::one(0),
        // The bit on the left of those taken is the sign.
        ScalarKind::Sint => Interval::new(-(1 << (most - 1)), (1 << (most - 1)) - 1),
        _ => Interval::new(0, ((1 << most) - 1).min(a.high)),
    }
}
