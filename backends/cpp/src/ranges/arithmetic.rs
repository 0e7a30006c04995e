//! What is known of the result of an operation, given what is known of its operands. Where anything may wrap, the result is
//! every value of its type; a divisor of 0 and a shift by too much give what WGSL says.

use naga::{BinaryOperator, Scalar, ScalarKind, UnaryOperator};

use super::interval::{Interval, width};

/// The result of a binary operation on operands of a type; for shifts that of the left one.
pub(super) fn binary(op: BinaryOperator, scalar: Scalar, a: Interval, b: Interval) -> Interval {
    if a.is_empty() || b.is_empty() {
        return Interval::NONE;
    }
    match op {
        BinaryOperator::Add => Interval::new(a.low + b.low, a.high + b.high).wrapped(scalar),
        BinaryOperator::Subtract => Interval::new(a.low - b.high, a.high - b.low).wrapped(scalar),
        BinaryOperator::Multiply => product(a, b).map_or(Interval::of(scalar), |exact| exact.wrapped(scalar)),
        BinaryOperator::Divide => quotient(a, b).wrapped(scalar),
        BinaryOperator::Modulo => remainder(a, b),
        BinaryOperator::And | BinaryOperator::InclusiveOr | BinaryOperator::ExclusiveOr => bitwise(op, scalar, a, b),
        BinaryOperator::LogicalAnd => Interval::new(a.low.min(b.low), a.high.min(b.high)),
        BinaryOperator::LogicalOr => Interval::new(a.low.max(b.low), a.high.max(b.high)),
        BinaryOperator::ShiftLeft => shifted_left(scalar, a, b),
        BinaryOperator::ShiftRight => shifted_right(scalar, a, b),
        BinaryOperator::Equal => truth(a.single().is_some() && a == b, a.meet(b).is_empty()),
        BinaryOperator::NotEqual => truth(a.meet(b).is_empty(), a.single().is_some() && a == b),
        BinaryOperator::Less => truth(a.high < b.low, a.low >= b.high),
        BinaryOperator::LessEqual => truth(a.high <= b.low, a.low > b.high),
        BinaryOperator::Greater => truth(a.low > b.high, a.high <= b.low),
        BinaryOperator::GreaterEqual => truth(a.low >= b.high, a.high < b.low),
    }
}

/// The result of a unary operation.
pub(super) fn unary(op: UnaryOperator, scalar: Scalar, a: Interval) -> Interval {
    if a.is_empty() {
        return Interval::NONE;
    }
    match (op, scalar.kind) {
        (UnaryOperator::Negate, _) => Interval::new(-a.high, -a.low).wrapped(scalar),
        (UnaryOperator::LogicalNot, _) => Interval::new(1 - a.high, 1 - a.low),
        (UnaryOperator::BitwiseNot, ScalarKind::Sint) => Interval::new(-1 - a.high, -1 - a.low),
        (UnaryOperator::BitwiseNot, _) => {
            let all = Interval::of(scalar).high;
            Interval::new(all - a.high, all - a.low)
        }
    }
}

/// An integer or bool as another integer type: the same number where that type has it.
pub(super) fn converted(scalar: Scalar, a: Interval) -> Interval {
    a.wrapped(scalar)
}

fn truth(always: bool, never: bool) -> Interval {
    match (always, never) {
        (true, _) => Interval::one(1),
        (_, true) => Interval::one(0),
        _ => Interval::new(0, 1),
    }
}

fn hull(values: [i128; 4]) -> Interval {
    values.into_iter().fold(Interval::NONE, |all, value| all.join(Interval::one(value)))
}

fn product(a: Interval, b: Interval) -> Option<Interval> {
    let times = |x: i128, y: i128| x.checked_mul(y);
    Some(hull([times(a.low, b.low)?, times(a.low, b.high)?, times(a.high, b.low)?, times(a.high, b.high)?]))
}

fn quotient(a: Interval, b: Interval) -> Interval {
    if a.low >= 0 && b.high > 0 && b.low >= 0 {
        return Interval::new(a.low / b.high, a.high / b.low.max(1));
    }
    // No quotient is further from 0 than the dividend, and x / 0 is x.
    let most = a.magnitude();
    Interval::new(-most, most)
}

fn remainder(a: Interval, b: Interval) -> Interval {
    if a.low >= 0 && b.low > a.high {
        return a;
    }
    // It is nearer to 0 than the divisor, no further than the dividend, and has the dividend's sign; x % 0 is 0.
    let most = a.magnitude().min((b.magnitude() - 1).max(0));
    Interval::new(if a.low < 0 { -most } else { 0 }, if a.high > 0 { most } else { 0 })
}

/// The least number of the form 2^n - 1 that is not below a number, which is not negative.
fn mask_over(value: i128) -> i128 {
    let bits = 128 - value.leading_zeros();
    if bits >= 127 { i128::MAX } else { (1 << bits) - 1 }
}

fn bitwise(op: BinaryOperator, scalar: Scalar, a: Interval, b: Interval) -> Interval {
    let all = Interval::of(scalar);
    let (Some(x), Some(y)) = (a.single(), b.single()) else {
        return match (op, a.low >= 0, b.low >= 0) {
            (BinaryOperator::And, true, true) => Interval::new(0, a.high.min(b.high)),
            (BinaryOperator::And, true, false) => Interval::new(0, a.high),
            (BinaryOperator::And, false, true) => Interval::new(0, b.high),
            (BinaryOperator::InclusiveOr, true, true) => Interval::new(a.low.max(b.low), mask_over(a.high | b.high)),
            (BinaryOperator::ExclusiveOr, true, true) => Interval::new(0, mask_over(a.high | b.high)),
            _ => all,
        };
    };
    Interval::one(match op {
        BinaryOperator::And => x & y,
        BinaryOperator::InclusiveOr => x | y,
        _ => x ^ y,
    })
}

fn is_amount(scalar: Scalar, amount: Interval) -> bool {
    amount.is_within(Interval::new(0, i128::from(width(scalar)) - 1))
}

fn shifted_left(scalar: Scalar, a: Interval, amount: Interval) -> Interval {
    if !is_amount(scalar, amount) {
        return Interval::of(scalar);
    }
    product(a, Interval::new(1 << amount.low, 1 << amount.high)).map_or(Interval::of(scalar), |it| it.wrapped(scalar))
}

fn shifted_right(scalar: Scalar, a: Interval, amount: Interval) -> Interval {
    if !is_amount(scalar, amount) {
        // Some amount is used, and none moves a number away from 0 or over it.
        return Interval::new(a.low.min(0), if a.high < 0 { -1 } else { a.high });
    }
    let (less, more) = (amount.low, amount.high);
    hull([a.low >> less, a.low >> more, a.high >> less, a.high >> more])
}
