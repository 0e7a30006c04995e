//! Operations that exist for integers and floats alike: negation, `abs`, `sign`, `min`, `max`, `clamp`.

use naga::{MathFunction, UnaryOperator};

use super::{Each, Number};
use crate::interp::kind::Kind;

/// An operator on one operand.
pub(in crate::interp) fn unary(op: UnaryOperator, kind: Kind) -> Option<Each> {
    match op {
        UnaryOperator::Negate => numbers!(kind, T => each1!(|a: T| a.negative())),
        UnaryOperator::LogicalNot => Some(each1!(|a: bool| !a)),
        UnaryOperator::BitwiseNot => integers!(kind, T => each1!(|a: T| !a)),
    }
}

/// `abs` and `sign`.
pub(in crate::interp) fn plain_unary(fun: MathFunction, kind: Kind) -> Option<Each> {
    match fun {
        MathFunction::Abs => numbers!(kind, T => each1!(|a: T| a.magnitude())),
        MathFunction::Sign => numbers!(kind, T => each1!(|a: T| a.sign())),
        _ => None,
    }
}

/// `min` and `max`. Of a number and a NaN it is the number.
pub(in crate::interp) fn plain_binary(fun: MathFunction, kind: Kind) -> Option<Each> {
    match fun {
        MathFunction::Min => numbers!(kind, T => each2!(|a: T, b: T| a.least(b))),
        MathFunction::Max => numbers!(kind, T => each2!(|a: T, b: T| a.greatest(b))),
        _ => None,
    }
}

/// `clamp`: defined also where the bounds are the wrong way round.
pub(in crate::interp) fn clamp(kind: Kind) -> Option<Each> {
    numbers!(kind, T => each3!(|a: T, low: T, high: T| a.greatest(low).least(high)))
}
