//! Instructions that choose which comes next.

use naga::BinaryOperator;

use super::inst::{Run, STOP, Stop};
use super::kind::Kind;

/// Go on at `b`.
pub(super) const JUMP: Run = |_, inst, _| inst.b as usize;

/// Go on at `b` if the slot `a` is false.
pub(super) const JUMP_FALSE: Run = |lane, inst, pc| if lane.get::<bool>(inst.a) { pc + 1 } else { inst.b as usize };

/// Go on at `b` if the slot `a` is true.
pub(super) const JUMP_TRUE: Run = |lane, inst, pc| if lane.get::<bool>(inst.a) { inst.b as usize } else { pc + 1 };

/// Go on at `b` if the slot `a` is the number `c`.
pub(super) const JUMP_EQUAL: Run =
    |lane, inst, pc| if lane.get::<u32>(inst.a) == inst.c { inst.b as usize } else { pc + 1 };

/// Go back to `b`, for `n` steps.
pub(super) const BACK: Run = |lane, inst, pc| lane.pay(inst.n, pc, inst.b as usize);

/// Go back to `b`, for `n` steps, if the slot `a` is false.
pub(super) const BACK_FALSE: Run =
    |lane, inst, pc| if lane.get::<bool>(inst.a) { pc + 1 } else { lane.pay(inst.n, pc, inst.b as usize) };

/// Call the function at `b`, for `n` steps; where to go on is kept in slot `a`.
pub(super) const CALL: Run = |lane, inst, pc| {
    lane.set(inst.a, pc as u64 + 1);
    lane.pay(inst.n, pc, inst.b as usize)
};

/// Go on where the caller said in slot `a`.
pub(super) const RETURN: Run = |lane, inst, _| lane.get::<u64>(inst.a) as usize;

/// The invocation ends.
pub(super) const END: Run = |lane, _, _| {
    lane.stop = Stop::Ended;
    STOP
};

/// Wait for other invocations: `a` is what for.
pub(super) const WAIT: Run = |lane, _, pc| {
    lane.stop = Stop::Waits(pc);
    STOP
};

/// Jumps to `b` when slots `a` and `c` compare so, and unless they do. A NaN compares with nothing, so one is not the other's
/// opposite comparison.
pub(super) fn tests(op: BinaryOperator, kind: Kind) -> Option<(Run, Run)> {
    macro_rules! jumps {
        ($ty:ty, $op:tt) => {
            (
                |lane, inst, pc| {
                    if lane.get::<$ty>(inst.a) $op lane.get::<$ty>(inst.c) { inst.b as usize } else { pc + 1 }
                },
                |lane, inst, pc| {
                    if lane.get::<$ty>(inst.a) $op lane.get::<$ty>(inst.c) { pc + 1 } else { inst.b as usize }
                },
            )
        };
    }
    macro_rules! of {
        ($ty:ty) => {
            match op {
                BinaryOperator::Equal => jumps!($ty, ==),
                BinaryOperator::NotEqual => jumps!($ty, !=),
                BinaryOperator::Less => jumps!($ty, <),
                BinaryOperator::LessEqual => jumps!($ty, <=),
                BinaryOperator::Greater => jumps!($ty, >),
                BinaryOperator::GreaterEqual => jumps!($ty, >=),
                _ => return None,
            }
        };
    }
    // The types that loops count and compare with; others take two instructions.
    Some(match kind {
        Kind::I32 => of!(i32),
        Kind::U32 => of!(u32),
        Kind::F32 => of!(f32),
        _ => return None,
    })
}
