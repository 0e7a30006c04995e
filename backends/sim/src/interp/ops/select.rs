//! `select`, `all`, `any`.

use naga::RelationalFunction;

use super::Each;
use crate::interp::inst::Run;
use crate::interp::kind::Kind;

/// A condition for each component: `dst = if c { b } else { a }`.
pub(in crate::interp) fn select_each() -> Each {
    each3!(|reject: u64, accept: u64, condition: bool| if condition { accept } else { reject })
}

/// One condition for all components.
pub(in crate::interp) const SELECT_WHOLE: Run = |lane, inst, pc| {
    let from = if lane.get::<bool>(inst.c) { inst.b } else { inst.a };
    for k in 0..inst.n {
        let value: u64 = lane.get(from + k);
        lane.set(inst.dst + k, value);
    }
    pc + 1
};

/// A test of a vector, or of a float's class.
pub(in crate::interp) fn relational(fun: RelationalFunction, kind: Kind) -> Option<Run> {
    match fun {
        RelationalFunction::All => Some(|lane, inst, pc| {
            let all = (0..inst.n).all(|k| lane.get::<bool>(inst.a + k));
            lane.set(inst.dst, all);
            pc + 1
        }),
        RelationalFunction::Any => Some(|lane, inst, pc| {
            let any = (0..inst.n).any(|k| lane.get::<bool>(inst.a + k));
            lane.set(inst.dst, any);
            pc + 1
        }),
        RelationalFunction::IsNan => floats!(kind, T => each1!(|a: T| a.is_nan())).map(|each: Each| each.many),
        RelationalFunction::IsInf => floats!(kind, T => each1!(|a: T| a.is_infinite())).map(|each: Each| each.many),
    }
}
