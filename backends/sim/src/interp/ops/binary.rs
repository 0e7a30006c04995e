//! Binary operators, as instructions and as plain functions for atomics and subgroup operations.

use naga::{AtomicFunction, BinaryOperator};

use super::{Each, Number};
use crate::interp::kind::{Bits, Kind};

/// An operator on two operands of one type; the right one of a shift is a `u32`.
pub(in crate::interp) fn binary(op: BinaryOperator, kind: Kind) -> Option<Each> {
    use BinaryOperator as B;
    match op {
        B::Add => numbers!(kind, T => each2!(|a: T, b: T| a.plus(b))),
        B::Subtract => numbers!(kind, T => each2!(|a: T, b: T| a.minus(b))),
        B::Multiply => numbers!(kind, T => each2!(|a: T, b: T| a.times(b))),
        B::Divide => numbers!(kind, T => each2!(|a: T, b: T| a.over(b))),
        B::Modulo => numbers!(kind, T => each2!(|a: T, b: T| a.rest(b))),
        B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual => comparison(op, kind),
        // A bool is 0 or 1, so the bits of all types are joined alike.
        B::And | B::LogicalAnd => Some(each2!(|a: u64, b: u64| a & b)),
        B::InclusiveOr | B::LogicalOr => Some(each2!(|a: u64, b: u64| a | b)),
        B::ExclusiveOr => Some(each2!(|a: u64, b: u64| a ^ b)),
        B::ShiftLeft => integers!(kind, T => each2!(|a: T, b: u32| a.wrapping_shl(b))),
        B::ShiftRight => integers!(kind, T => each2!(|a: T, b: u32| a.wrapping_shr(b))),
    }
}

fn comparison(op: BinaryOperator, kind: Kind) -> Option<Each> {
    use BinaryOperator as B;
    if kind == Kind::Bool {
        return match op {
            B::Equal => Some(each2!(|a: bool, b: bool| a == b)),
            B::NotEqual => Some(each2!(|a: bool, b: bool| a != b)),
            _ => None,
        };
    }
    match op {
        B::Equal => numbers!(kind, T => each2!(|a: T, b: T| a == b)),
        B::NotEqual => numbers!(kind, T => each2!(|a: T, b: T| a != b)),
        B::Less => numbers!(kind, T => each2!(|a: T, b: T| a < b)),
        B::LessEqual => numbers!(kind, T => each2!(|a: T, b: T| a <= b)),
        B::Greater => numbers!(kind, T => each2!(|a: T, b: T| a > b)),
        B::GreaterEqual => numbers!(kind, T => each2!(|a: T, b: T| a >= b)),
        _ => None,
    }
}

/// A function of two slots.
pub(in crate::interp) type Two = fn(u64, u64) -> u64;

/// What atomics and subgroup operations do with two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::interp) enum Join {
    Add,
    Subtract,
    Multiply,
    Min,
    Max,
    And,
    Or,
    Xor,
    Take,
}

/// The function of a join.
pub(in crate::interp) fn two(join: Join, kind: Kind) -> Option<Two> {
    match join {
        Join::Add => numbers!(kind, T => |a, b| T::of(a).plus(T::of(b)).bits()),
        Join::Subtract => numbers!(kind, T => |a, b| T::of(a).minus(T::of(b)).bits()),
        Join::Multiply => numbers!(kind, T => |a, b| T::of(a).times(T::of(b)).bits()),
        Join::Min => numbers!(kind, T => |a, b| T::of(a).least(T::of(b)).bits()),
        Join::Max => numbers!(kind, T => |a, b| T::of(a).greatest(T::of(b)).bits()),
        Join::And => Some(|a, b| a & b),
        Join::Or => Some(|a, b| a | b),
        Join::Xor => Some(|a, b| a ^ b),
        Join::Take => Some(|_, b| b),
    }
}

/// The join of an atomic function. An exchange that compares first is not one.
pub(in crate::interp) fn atomic(fun: AtomicFunction) -> Join {
    match fun {
        AtomicFunction::Add => Join::Add,
        AtomicFunction::Subtract => Join::Subtract,
        AtomicFunction::And => Join::And,
        AtomicFunction::ExclusiveOr => Join::Xor,
        AtomicFunction::InclusiveOr => Join::Or,
        AtomicFunction::Min => Join::Min,
        AtomicFunction::Max => Join::Max,
        AtomicFunction::Exchange { .. } => Join::Take,
    }
}
