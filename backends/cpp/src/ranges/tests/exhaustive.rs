//! Operations on intervals against operations on every number in them, for integers of 8 bits: small enough to try all.

use naga::{BinaryOperator, MathFunction, Scalar, ScalarKind, UnaryOperator};

use crate::ranges::arithmetic::{binary, converted, unary};
use crate::ranges::builtins::math;
use crate::ranges::interval::Interval;

const UNSIGNED: Scalar = Scalar { kind: ScalarKind::Uint, width: 1 };
const SIGNED: Scalar = Scalar { kind: ScalarKind::Sint, width: 1 };

/// The number that a type has in the place of one that it may lack.
fn wrap(value: i128, scalar: Scalar) -> i128 {
    let low = value.rem_euclid(256);
    if scalar == SIGNED && low > 127 { low - 256 } else { low }
}

/// An interval, often at the ends of the type.
fn interval(rng: &mut fastrand::Rng, scalar: Scalar) -> Interval {
    let all = Interval::of(scalar);
    let (all_low, all_high) = (all.low as i32, all.high as i32);
    let low = match rng.u8(..6) {
        0 => all_low,
        1 => 0,
        2 => rng.i32(all_low.max(-4)..8),
        _ => rng.i32(all_low..=all_high),
    };
    let high = match rng.u8(..6) {
        0 => all_high,
        1 => low,
        2 => rng.i32(low..=all_high),
        _ => (low + rng.i32(0..12)).min(all_high),
    };
    Interval::new(low.into(), high.into())
}

fn numbers(interval: Interval) -> std::ops::RangeInclusive<i128> {
    interval.low..=interval.high
}

fn exact(op: BinaryOperator, scalar: Scalar, x: i128, y: i128) -> i128 {
    let amount = y & 7;
    wrap(
        match op {
            BinaryOperator::Add => x + y,
            BinaryOperator::Subtract => x - y,
            BinaryOperator::Multiply => x * y,
            BinaryOperator::Divide => x.checked_div(y).unwrap_or(x),
            BinaryOperator::Modulo => x.checked_rem(y).unwrap_or(0),
            BinaryOperator::Equal => i128::from(x == y),
            BinaryOperator::NotEqual => i128::from(x != y),
            BinaryOperator::Less => i128::from(x < y),
            BinaryOperator::LessEqual => i128::from(x <= y),
            BinaryOperator::Greater => i128::from(x > y),
            BinaryOperator::GreaterEqual => i128::from(x >= y),
            BinaryOperator::And => x & y,
            BinaryOperator::ExclusiveOr => x ^ y,
            BinaryOperator::InclusiveOr => x | y,
            BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr => unreachable!("of bools"),
            BinaryOperator::ShiftLeft => x << amount,
            BinaryOperator::ShiftRight => x >> amount,
        },
        scalar,
    )
}

#[test]
fn binary_operators() {
    const OPERATORS: [BinaryOperator; 16] = [
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Modulo,
        BinaryOperator::Equal,
        BinaryOperator::NotEqual,
        BinaryOperator::Less,
        BinaryOperator::LessEqual,
        BinaryOperator::Greater,
        BinaryOperator::GreaterEqual,
        BinaryOperator::And,
        BinaryOperator::ExclusiveOr,
        BinaryOperator::InclusiveOr,
        BinaryOperator::ShiftLeft,
        BinaryOperator::ShiftRight,
    ];
    let mut rng = fastrand::Rng::with_seed(1);
    for op in OPERATORS {
        let shifts = matches!(op, BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight);
        for scalar in [UNSIGNED, SIGNED].repeat(100) {
            let a = interval(&mut rng, scalar);
            let b = interval(&mut rng, if shifts { UNSIGNED } else { scalar });
            let found = binary(op, scalar, a, b);
            for (x, y) in numbers(a).flat_map(|x| numbers(b).map(move |y| (x, y))) {
                let value = exact(op, scalar, x, y);
                assert!(found.contains(value), "{op:?} {x} {y} is {value}: {a:?} {b:?} give {found:?}");
            }
        }
    }
}

fn bits(value: i128) -> u8 {
    wrap(value, UNSIGNED) as u8
}

fn exact_math(fun: MathFunction, scalar: Scalar, x: i128, y: i128, z: i128) -> i128 {
    // `firstLeadingBit` of a negative number looks for a bit that differs from its sign.
    let first = |bits: u8| if bits == 0 { -1 } else { i128::from(7 - bits.leading_zeros()) };
    let value = match fun {
        MathFunction::Min => x.min(y),
        MathFunction::Max => x.max(y),
        MathFunction::Clamp => x.max(y).min(z),
        MathFunction::Abs => x.abs(),
        MathFunction::Sign => x.signum(),
        MathFunction::CountOneBits => bits(x).count_ones().into(),
        MathFunction::CountLeadingZeros => bits(x).leading_zeros().into(),
        MathFunction::CountTrailingZeros => bits(x).trailing_zeros().into(),
        MathFunction::FirstLeadingBit => first(if x < 0 { !bits(x) } else { bits(x) }),
        MathFunction::FirstTrailingBit if x == 0 => -1,
        MathFunction::FirstTrailingBit => bits(x).trailing_zeros().into(),
        _ => {
            let offset = y.clamp(0, 8);
            let count = z.clamp(0, 8 - offset);
            let field = (i128::from(bits(x)) >> offset) & ((1 << count) - 1);
            let negative = scalar == SIGNED && count > 0 && field >> (count - 1) == 1;
            if negative { field - (1 << count) } else { field }
        }
    };
    wrap(value, scalar)
}

#[test]
fn builtin_functions() {
    const FUNCTIONS: [MathFunction; 11] = [
        MathFunction::Min,
        MathFunction::Max,
        MathFunction::Clamp,
        MathFunction::Abs,
        MathFunction::Sign,
        MathFunction::CountOneBits,
        MathFunction::CountLeadingZeros,
        MathFunction::CountTrailingZeros,
        MathFunction::FirstLeadingBit,
        MathFunction::FirstTrailingBit,
        MathFunction::ExtractBits,
    ];
    let mut rng = fastrand::Rng::with_seed(2);
    for fun in FUNCTIONS {
        for scalar in [UNSIGNED, SIGNED].repeat(60) {
            let rest = if fun == MathFunction::ExtractBits { UNSIGNED } else { scalar };
            let [a, b, c] = [scalar, rest, rest].map(|scalar| interval(&mut rng, scalar));
            let found = math(fun, scalar, [a, b, c]).unwrap();
            let some = |rng: &mut fastrand::Rng, all: Interval| rng.i32(all.low as i32..=all.high as i32).into();
            for x in numbers(a) {
                for _ in 0..40 {
                    let (y, z) = (some(&mut rng, b), some(&mut rng, c));
                    let value = exact_math(fun, scalar, x, y, z);
                    assert!(found.contains(value), "{fun:?} {x} {y} {z} is {value}: {a:?} {b:?} {c:?} give {found:?}");
                }
            }
        }
    }
}

#[test]
fn unary_operators_and_conversions() {
    let mut rng = fastrand::Rng::with_seed(3);
    for scalar in [UNSIGNED, SIGNED].repeat(300) {
        let a = interval(&mut rng, scalar);
        for x in numbers(a) {
            for to in [UNSIGNED, SIGNED] {
                assert!(converted(to, a).contains(wrap(x, to)), "{x} of {a:?}");
            }
            assert!(unary(UnaryOperator::BitwiseNot, scalar, a).contains(wrap(!x, scalar)), "not {x} of {a:?}");
            assert!(unary(UnaryOperator::Negate, scalar, a).contains(wrap(-x, scalar)), "minus {x} of {a:?}");
        }
    }
}

#[test]
fn bools() {
    for (low, high) in [(0, 0), (0, 1), (1, 1)] {
        let a = Interval::new(low, high);
        assert_eq!(unary(UnaryOperator::LogicalNot, Scalar::BOOL, a), Interval::new(1 - high, 1 - low));
        for (x, b) in numbers(a).flat_map(|x| [0, 1].map(|y| (x, y))) {
            let one = Interval::one(b);
            assert!(binary(BinaryOperator::LogicalAnd, Scalar::BOOL, a, one).contains(x & b));
            assert!(binary(BinaryOperator::LogicalOr, Scalar::BOOL, a, one).contains(x | b));
            assert!(binary(BinaryOperator::And, Scalar::BOOL, a, one).contains(x & b));
            assert!(binary(BinaryOperator::ExclusiveOr, Scalar::BOOL, a, one).contains(x ^ b));
        }
    }
}

#[test]
fn sets() {
    let (a, b) = (Interval::new(2, 5), Interval::new(4, 9));
    assert_eq!((a.join(b), a.meet(b)), (Interval::new(2, 9), Interval::new(4, 5)));
    assert_eq!((a.join(Interval::NONE), a.meet(Interval::new(6, 9))), (a, Interval::NONE));
    assert_eq!((a.without(2), a.without(3), a.without(5)), (Interval::new(3, 5), a, Interval::new(2, 4)));
    assert_eq!(Interval::one(3).without(3), Interval::NONE);
    assert_eq!(Interval::new(0, 256).wrapped(UNSIGNED), Interval::new(0, 255));
    let steps = [0, 10, 100];
    assert_eq!(a.widened(Interval::new(2, 7), &steps, UNSIGNED), Interval::new(2, 10));
    assert_eq!(a.widened(Interval::new(1, 11), &steps, UNSIGNED), Interval::new(0, 100));
    assert_eq!(a.widened(Interval::new(-1, 101), &steps, SIGNED), Interval::new(-128, 127));
}
