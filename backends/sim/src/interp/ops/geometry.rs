//! Functions over whole vectors and matrices: products, lengths, reflections, determinants. Those of floats sum in `f64` and
//! round once; those of integers wrap.

use naga::MathFunction;

use super::Number;
use crate::interp::inst::{Inst, Lane, Run};
use crate::interp::kind::Kind;
use crate::interp::ops::floats::Real;

/// The components of a vector of floats, zero beyond `n`.
fn vector<T: Real>(lane: &Lane<'_>, from: u32, n: u32) -> [f64; 4] {
    let mut found = [0.0; 4];
    for (k, value) in (0..n.min(4)).zip(&mut found) {
        *value = lane.get::<T>(from + k).wide();
    }
    found
}

fn product(a: [f64; 4], b: [f64; 4]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn put<T: Real>(lane: &mut Lane<'_>, inst: &Inst, values: [f64; 4]) {
    for (k, value) in (0..inst.n.min(4)).zip(values) {
        lane.set(inst.dst + k, T::near(value));
    }
}

/// `dot`, of integers too.
pub(in crate::interp) fn dot(kind: Kind) -> Option<Run> {
    integers!(kind, T => {
        let run: Run = |lane, inst, pc| {
            let sum = (0..inst.n).fold(0, |sum: T, k| {
                sum.plus(lane.get::<T>(inst.a + k).times(lane.get::<T>(inst.b + k)))
            });
            lane.set(inst.dst, sum);
            pc + 1
        };
        run
    })
    .or_else(|| {
        floats!(kind, T => |lane, inst, pc| {
            let sum = product(vector::<T>(lane, inst.a, inst.n), vector::<T>(lane, inst.b, inst.n));
            lane.set(inst.dst, T::near(sum));
            pc + 1
        })
    })
}

/// A function of float vectors with `n` components (`distance` and `length` of scalars too).
pub(in crate::interp) fn geometry(fun: MathFunction, kind: Kind) -> Option<Run> {
    use MathFunction as M;
    match fun {
        M::Length => floats!(kind, T => |lane, inst, pc| {
            let a = vector::<T>(lane, inst.a, inst.n);
            lane.set(inst.dst, T::near(product(a, a).sqrt()));
            pc + 1
        }),
        M::Distance => floats!(kind, T => |lane, inst, pc| {
            let (a, b) = (vector::<T>(lane, inst.a, inst.n), vector::<T>(lane, inst.b, inst.n));
            let apart = std::array::from_fn(|k| a[k] - b[k]);
            lane.set(inst.dst, T::near(product(apart, apart).sqrt()));
            pc + 1
        }),
        M::Normalize => floats!(kind, T => |lane, inst, pc| {
            let a = vector::<T>(lane, inst.a, inst.n);
            let length = product(a, a).sqrt();
            put::<T>(lane, inst, a.map(|value| value / length));
            pc + 1
        }),
        M::Cross => floats!(kind, T => |lane, inst, pc| {
            let (a, b) = (vector::<T>(lane, inst.a, 3), vector::<T>(lane, inst.b, 3));
            let minor = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
            put::<T>(lane, inst, [minor(1, 2), minor(2, 0), minor(0, 1), 0.0]);
            pc + 1
        }),
        M::FaceForward => floats!(kind, T => |lane, inst, pc| {
            let normal = vector::<T>(lane, inst.a, inst.n);
            let facing = product(vector::<T>(lane, inst.b, inst.n), vector::<T>(lane, inst.c, inst.n)) < 0.0;
            put::<T>(lane, inst, if facing { normal } else { normal.map(|value| -value) });
            pc + 1
        }),
        M::Reflect => floats!(kind, T => |lane, inst, pc| {
            let (a, normal) = (vector::<T>(lane, inst.a, inst.n), vector::<T>(lane, inst.b, inst.n));
            let twice = 2.0 * product(normal, a);
            put::<T>(lane, inst, std::array::from_fn(|k| a[k] - twice * normal[k]));
            pc + 1
        }),
        M::Refract => floats!(kind, T => |lane, inst, pc| {
            let (a, normal) = (vector::<T>(lane, inst.a, inst.n), vector::<T>(lane, inst.b, inst.n));
            let ratio = lane.get::<T>(inst.c).wide();
            put::<T>(lane, inst, refracted(a, normal, ratio));
            pc + 1
        }),
        _ => None,
    }
}

fn refracted(a: [f64; 4], normal: [f64; 4], ratio: f64) -> [f64; 4] {
    let along = product(normal, a);
    let k = 1.0 - ratio * ratio * (1.0 - along * along);
    if k < 0.0 {
        return [0.0; 4];
    }
    std::array::from_fn(|i| ratio * a[i] - (ratio * along + k.sqrt()) * normal[i])
}

/// A matrix of floats, by columns; zero beyond its size.
fn matrix<T: Real>(lane: &Lane<'_>, from: u32, columns: u32, rows: u32) -> [[f64; 4]; 4] {
    let mut found = [[0.0; 4]; 4];
    for (column, values) in (0..columns.min(4)).zip(&mut found) {
        *values = vector::<T>(lane, from + column * rows, rows);
    }
    found
}

/// Matrix times matrix: `a` has `m` columns of `n` rows, `b` has `c` columns of `m` rows. A vector is a matrix of one column on the right, of one row on the left.
/// The operand slots are `a` and `b`.
pub(in crate::interp) fn matrix_product(kind: Kind) -> Option<Run> {
    floats!(kind, T => |lane, inst, pc| {
        let (rows, inner, columns) = (inst.n, inst.m, inst.c);
        let a = matrix::<T>(lane, inst.a, inner, rows);
        let b = matrix::<T>(lane, inst.b, columns, inner);
        for column in 0..columns {
            for row in 0..rows {
                let terms = (0..inner).map(|k| a[k as usize][row as usize] * b[column as usize][k as usize]);
                let sum: f64 = terms.sum();
                lane.set(inst.dst + column * rows + row, T::near(sum));
            }
        }
        pc + 1
    })
}

/// The transpose of a matrix of `n` columns and `m` rows.
pub(in crate::interp) const TRANSPOSE: Run = |lane, inst, pc| {
    let (columns, rows) = (inst.n, inst.m);
    for column in 0..columns {
        for row in 0..rows {
            let value: u64 = lane.get(inst.a + column * rows + row);
            lane.set(inst.dst + row * columns + column, value);
        }
    }
    pc + 1
};

/// The determinant of the square that is left without a row and a column, times the sign of the place.
fn cofactor(a: &[[f64; 4]; 4], n: usize, column: usize, row: usize) -> f64 {
    let mut rest = [[0.0; 4]; 4];
    for (to, from) in (0..n).filter(|k| *k != column).enumerate() {
        for (below, value) in (0..n).filter(|k| *k != row).map(|k| a[from][k]).enumerate() {
            rest[to][below] = value;
        }
    }
    let sign = if (column + row).is_multiple_of(2) { 1.0 } else { -1.0 };
    sign * determinant(&rest, n - 1)
}

fn determinant(a: &[[f64; 4]; 4], n: usize) -> f64 {
    match n {
        0 => 1.0,
        1 => a[0][0],
        _ => (0..n).map(|column| a[column][0] * cofactor(a, n, column, 0)).sum(),
    }
}

/// Functions of a square matrix of `n` columns, and the outer product.
pub(in crate::interp) fn square(fun: MathFunction, kind: Kind) -> Option<Run> {
    match fun {
        MathFunction::Determinant => floats!(kind, T => |lane, inst, pc| {
            let a = matrix::<T>(lane, inst.a, inst.n, inst.n);
            lane.set(inst.dst, T::near(determinant(&a, inst.n as usize)));
            pc + 1
        }),
        MathFunction::Inverse => floats!(kind, T => |lane, inst, pc| {
            let n = inst.n as usize;
            let a = matrix::<T>(lane, inst.a, inst.n, inst.n);
            let whole = determinant(&a, n);
            for (place, slot) in (0..n * n).zip(inst.dst..) {
                lane.set(slot, T::near(cofactor(&a, n, place % n, place / n) / whole));
            }
            pc + 1
        }),
        // `a` has `n` components, `b` has `m`: the result has `m` columns of `n` rows.
        MathFunction::Outer => floats!(kind, T => |lane, inst, pc| {
            for (column, row) in (0..inst.m).flat_map(|column| (0..inst.n).map(move |row| (column, row))) {
                let value = lane.get::<T>(inst.a + row).times(lane.get::<T>(inst.b + column));
                lane.set(inst.dst + column * inst.n + row, value);
            }
            pc + 1
        }),
        _ => None,
    }
}
