//! Macros that make the functions of an operation from one Rust expression, for scalars and for vectors.

use crate::interp::inst::Run;

/// An operation on each component: `one` for scalars, `many` for as many components as the instruction's `n` says.
#[derive(Clone, Copy)]
pub(in crate::interp) struct Each {
    pub(in crate::interp) one: Run,
    pub(in crate::interp) many: Run,
}

impl Each {
    /// The function for `n` components.
    pub(in crate::interp) fn of(self, n: u32) -> Run {
        if n == 1 { self.one } else { self.many }
    }
}

/// `dst = f(a)`, component by component.
macro_rules! each1 {
    (|$a:ident: $ta:ty| $value:expr) => {
        $crate::interp::ops::Each {
            one: |lane, inst, pc| {
                let $a: $ta = lane.get(inst.a);
                lane.set(inst.dst, $value);
                pc + 1
            },
            many: |lane, inst, pc| {
                for k in 0..inst.n {
                    let $a: $ta = lane.get(inst.a + k);
                    lane.set(inst.dst + k, $value);
                }
                pc + 1
            },
        }
    };
}

/// `dst = f(a, b)`, component by component.
macro_rules! each2 {
    (|$a:ident: $ta:ty, $b:ident: $tb:ty| $value:expr) => {
        $crate::interp::ops::Each {
            one: |lane, inst, pc| {
                let ($a, $b): ($ta, $tb) = (lane.get(inst.a), lane.get(inst.b));
                lane.set(inst.dst, $value);
                pc + 1
            },
            many: |lane, inst, pc| {
                for k in 0..inst.n {
                    let ($a, $b): ($ta, $tb) = (lane.get(inst.a + k), lane.get(inst.b + k));
                    lane.set(inst.dst + k, $value);
                }
                pc + 1
            },
        }
    };
}

/// `dst = f(a, b, c)`, component by component.
macro_rules! each3 {
    (|$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty| $value:expr) => {
        $crate::interp::ops::Each {
            one: |lane, inst, pc| {
                let ($a, $b, $c): ($ta, $tb, $tc) = (lane.get(inst.a), lane.get(inst.b), lane.get(inst.c));
                lane.set(inst.dst, $value);
                pc + 1
            },
            many: |lane, inst, pc| {
                for k in 0..inst.n {
                    let ($a, $b, $c): ($ta, $tb, $tc) =
                        (lane.get(inst.a + k), lane.get(inst.b + k), lane.get(inst.c + k));
                    lane.set(inst.dst + k, $value);
                }
                pc + 1
            },
        }
    };
}

/// Match a kind: `$make!` with the Rust type of each kind in the list, or nothing for the others.
macro_rules! by_kind {
    ($kind:expr, [$($variant:ident = $ty:ty),+], $t:ident => $value:expr) => {
        match $kind {
            $($crate::interp::kind::Kind::$variant => {
                type $t = $ty;
                Some($value)
            })+
            _ => None,
        }
    };
}

/// As [`by_kind`], over the integers.
macro_rules! integers {
    ($kind:expr, $t:ident => $value:expr) => {
        by_kind!($kind, [I16 = i16, U16 = u16, I32 = i32, U32 = u32, I64 = i64, U64 = u64], $t => $value)
    };
}

/// As [`by_kind`], over the floats.
macro_rules! floats {
    ($kind:expr, $t:ident => $value:expr) => {
        by_kind!($kind, [F16 = half::f16, F32 = f32, F64 = f64], $t => $value)
    };
}

/// As [`by_kind`], over all but `bool`.
macro_rules! numbers {
    ($kind:expr, $t:ident => $value:expr) => {
        by_kind!($kind, [I16 = i16, U16 = u16, F16 = half::f16, I32 = i32, U32 = u32, F32 = f32, I64 = i64, U64 = u64, F64 = f64], $t => $value)
    };
}
