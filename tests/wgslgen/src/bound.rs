//! What keeps results the same everywhere: floats that every operation computes exactly, indices in range, and constants
//! that no compiler refuses.
//!
//! A float is an integer `n` times 2^-k. While `n` fits the mantissa no operation rounds, so that fused and separate
//! operations agree. Whatever is stored is within [`stored`], and so is whatever is read.

use crate::expr::{Expr, Kind, Number};
use crate::shape::{Scalar, Type};

/// The largest magnitude of a float expression: `n` times 2^-k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) n: u64,
    pub(crate) k: u32,
}

/// The most that any float expression may be. One bit of `f32` is left for sums inside builtins.
const fn most(scalar: Scalar) -> u64 {
    if matches!(scalar, Scalar::F16) { 1 << 11 } else { 1 << 23 }
}

/// What variables, arguments, members and buffers hold: quarters up to 256, and halves up to 16.
pub(crate) const fn stored(scalar: Scalar) -> Bound {
    if matches!(scalar, Scalar::F16) { Bound { n: 32, k: 1 } } else { Bound { n: 1024, k: 2 } }
}

impl Bound {
    fn at(self, k: u32) -> u64 {
        self.n.checked_shl(k - self.k).filter(|n| n >> (k - self.k) == self.n).unwrap_or(u64::MAX)
    }

    fn join(self, other: Self) -> Self {
        let k = self.k.max(other.k);
        Self { n: self.at(k).max(other.at(k)), k }
    }

    fn add(self, other: Self) -> Self {
        let k = self.k.max(other.k);
        Self { n: self.at(k).saturating_add(other.at(k)), k }
    }

    fn mul(self, other: Self) -> Self {
        Self { n: self.n.saturating_mul(other.n), k: self.k + other.k }
    }

    fn times(self, count: u32) -> Self {
        Self { n: self.n.saturating_mul(u64::from(count)), k: self.k }
    }

    fn whole(self) -> Self {
        Self { n: self.n.div_ceil(1 << self.k), k: 0 }
    }

    fn exact(self, scalar: Scalar) -> Option<Self> {
        (self.n <= most(scalar) && self.k <= 20).then_some(self)
    }

    pub(crate) fn within(self, other: Self) -> bool {
        self.k <= other.k && self.at(other.k) <= other.n
    }
}

/// The bound of a float; `None` where a step of it may round, or for what is no float.
pub(crate) fn float(expr: &Expr) -> Option<Bound> {
    let scalar = expr.ty.scalar().filter(|scalar| scalar.is_float())?;
    let arg = |k: usize| expr.args.get(k).and_then(float);
    let found = match &expr.kind {
        Kind::Literal(Number::Float(value)) => {
            let k = (0..20).find(|k| (value * f64::from(1u32 << k)).fract() == 0.0)?;
            Bound { n: (value.abs() * f64::from(1u32 << k)) as u64, k }
        }
        Kind::Member(part) => return modf(&expr.args[0], part).or(Some(stored(scalar))),
        // What is taken out of a computed vector or matrix is as large as that may be.
        Kind::Index | Kind::Swizzle(_) if expr.args[0].ty.scalar().is_some() => arg(0)?,
        Kind::Unary(_) => arg(0)?,
        Kind::Binary(op @ ("+" | "-")) if !op.is_empty() => arg(0)?.add(arg(1)?),
        Kind::Binary("*") => arg(0)?.mul(arg(1)?).times(terms(&expr.args[0].ty, &expr.args[1].ty)),
        Kind::Call(name) => call(name, expr, scalar)?,
        _ => stored(scalar),
    };
    found.exact(scalar)
}

/// Products that are summed for one component of `left * right`.
fn terms(left: &Type, right: &Type) -> u32 {
    match (left, right) {
        (Type::Matrix(columns, _), Type::Vector(..) | Type::Matrix(..)) => *columns,
        (Type::Vector(lanes, _), Type::Matrix(..)) => *lanes,
        _ => 1,
    }
}

fn modf(of: &Expr, part: &str) -> Option<Bound> {
    let Kind::Call(name) = &of.kind else { return None };
    let bound = of.args.first().and_then(float).filter(|_| name == "modf")?;
    Some(if part == "whole" { bound.whole() } else { Bound { n: 1 << bound.k, k: bound.k } })
}

fn call(name: &str, expr: &Expr, scalar: Scalar) -> Option<Bound> {
    let arg = |k: usize| expr.args.get(k).and_then(float);
    let one = Bound { n: 1, k: 0 };
    let small = |bound: Bound| bound.within(Bound { n: 1 << 11, k: 2 }).then_some(bound);
    Some(match name {
        "floor" | "ceil" | "trunc" | "round" => arg(0)?.whole(),
        "fract" => arg(0).map(|of| Bound { n: 1 << of.k, k: of.k })?,
        "saturate" => arg(0).map(|of| Bound { n: 1 << of.k, k: of.k })?,
        "sign" | "step" => one,
        "abs" | "transpose" | "modf" | "frexp" => arg(0)?,
        "quantizeToF16" => small(arg(0)?)?,
        "clamp" => {
            let (of, limit) = (arg(0)?, arg(1)?.join(arg(2)?));
            let k = of.k.max(limit.k);
            Bound { n: of.at(k).min(limit.at(k)), k }
        }
        "fma" => arg(0)?.mul(arg(1)?).exact(scalar)?.add(arg(2)?),
        "mix" => {
            let share = arg(2)?;
            arg(0)?.mul(one.add(share)).add(arg(1)?.mul(share))
        }
        "dot" => arg(0)?.mul(arg(1)?).times(expr.args[0].ty.lanes()),
        "cross" => arg(0)?.mul(arg(1)?).times(2),
        "determinant" => arg(0)?.mul(arg(0)?).times(2),
        "select" => arg(0)?.join(arg(1)?),
        "min" | "max" | "faceForward" => arg(0)?.join(arg(1)?),
        _ if name == expr.ty.text() => {
            let parts = expr.args.iter().map(|arg| float(arg).or_else(|| converted(arg)));
            return parts.into_iter().try_fold(Bound { n: 0, k: 0 }, |all, part| Some(all.join(part?)));
        }
        _ => return None,
    })
}

/// The bound of a float that is made from an integer or a bool.
fn converted(from: &Expr) -> Option<Bound> {
    if from.ty.scalar() == Some(Scalar::Bool) {
        return Some(Bound { n: 1, k: 0 });
    }
    let (low, high) = range(from)?;
    Some(Bound { n: u64::try_from(low.abs().max(high.abs())).ok()?, k: 0 })
}

/// The least and the most that an integer can be, where its form says so.
pub(crate) fn range(expr: &Expr) -> Option<(i128, i128)> {
    let signed = expr.ty.scalar().is_some_and(Scalar::is_signed);
    let literal = |k: usize| {
        let arg: &Expr = expr.args.get(k)?;
        arg.literal_int().or_else(|| if splat(arg) { arg.args[0].literal_int() } else { None })
    };
    match &expr.kind {
        Kind::Literal(Number::Int(value)) => Some((*value, *value)),
        Kind::Counter(_, below) => Some((0, i128::from(*below) - 1)),
        Kind::Binary("&") => literal(1).filter(|mask| *mask >= 0).map(|mask| (0, mask)),
        Kind::Binary("%") => {
            let most = literal(1).filter(|by| *by > 0)? - 1;
            Some((if signed { -most } else { 0 }, most))
        }
        Kind::Call(name) => match &**name {
            "min" if !signed => literal(1).map(|most| (0, most)),
            "clamp" => literal(1).zip(literal(2)),
            "abs" => range(&expr.args[0]).map(|(low, high)| (0, low.abs().max(high.abs()))),
            "select" => {
                let ((a, b), (c, d)) = (range(&expr.args[0])?, range(&expr.args[1])?);
                Some((a.min(c), b.max(d)))
            }
            "i32" | "u32" | "i64" | "u64" => match &expr.args[..] {
                [of] => range(of).filter(|(low, _)| *low >= 0),
                _ => Some((0, 0)),
            },
            _ => None,
        },
        _ => None,
    }
}

fn splat(expr: &Expr) -> bool {
    matches!(&expr.kind, Kind::Call(name) if *name == expr.ty.text()) && expr.args.len() == 1
}

/// Whether a node, its operands taken for sound, is the same everywhere and compiles.
pub(crate) fn sound(expr: &Expr) -> bool {
    let scalar = expr.ty.scalar();
    if scalar.is_some_and(Scalar::is_float) && float(expr).is_none() {
        return false;
    }
    match &expr.kind {
        Kind::Index => {
            let len = match &expr.args[0].ty {
                Type::Array(_, len) | Type::Vector(len, _) | Type::Matrix(len, _) => i128::from(*len),
                _ => return false,
            };
            range(&expr.args[1]).is_some_and(|(low, high)| low >= 0 && high < len)
        }
        Kind::Unary(_) => !expr.args[0].is_const(),
        Kind::Binary(op) => !expr.is_const() && operator(op, &expr.args[1], scalar),
        Kind::Call(name) if *name == expr.ty.text() => conversion(expr),
        Kind::Call(name) => !expr.is_const() && builtin(name, &expr.args),
        Kind::User(_) | Kind::Form(_) => expr.args.iter().all(storable),
        _ => true,
    }
}

/// Whether the right operand is one that no compiler refuses.
fn operator(op: &str, right: &Expr, scalar: Option<Scalar>) -> bool {
    if !matches!(op, "/" | "%" | "<<" | ">>") {
        return true;
    }
    let width = i128::from(scalar.map_or(32, Scalar::bits));
    // naga looks through a `let` at the components that a vector was made from.
    if op.len() == 2 && matches!((&right.ty, &right.kind), (Type::Vector(..), Kind::Name(_))) {
        return false;
    }
    known(right, &|value| if op.len() == 2 { (0..width).contains(&value) } else { value > 0 })
}

/// Whether every component that a compiler may know is written down and fits.
fn known(part: &Expr, fits: &dyn Fn(i128) -> bool) -> bool {
    if let Some(value) = part.literal_int() {
        return fits(value);
    }
    let made = matches!(&part.kind, Kind::Call(name) if *name == part.ty.text());
    if made && matches!(part.ty, Type::Vector(..)) {
        return !part.args.is_empty() && part.args.iter().all(|arg| known(arg, fits));
    }
    !part.is_const()
}

/// Whether a constructor or conversion is exact.
fn conversion(expr: &Expr) -> bool {
    let to = expr.ty.scalar();
    // A struct or an array keeps what it is made from.
    if to.is_none() {
        return expr.args.iter().all(storable);
    }
    let odd = |arg: &Expr| arg.is_const() && arg.ty.scalar() != to;
    // naga leaves a constant vector inside a larger vector as it is: it miscounts components then, and writes SPIR-V that is
    // not valid.
    let nested = |arg: &Expr| arg.is_const() && matches!((&arg.ty, &expr.ty), (Type::Vector(..), Type::Vector(..)));
    !expr.args.iter().any(|arg| odd(arg) || nested(arg))
}

fn builtin(name: &str, args: &[Expr]) -> bool {
    let literals = |from: usize| args.iter().skip(from).map(Expr::literal_int).collect::<Option<Vec<_>>>();
    match name {
        // A constant offset and count have to fit together, and one alone by itself.
        "extractBits" | "insertBits" => {
            let tail = &args[args.len() - 2..];
            let parts: Vec<_> = tail.iter().filter(|arg| arg.is_const()).map(Expr::literal_int).collect();
            parts.iter().all(Option::is_some) && parts.into_iter().flatten().sum::<i128>() <= 32
        }
        // Where the low end is above the high one, drivers differ.
        "clamp" if args[0].ty.scalar().is_some_and(Scalar::is_int) => {
            let ends = |k: usize| args[k].literal_int().or_else(|| args[k].args.first().and_then(Expr::literal_int));
            ends(1).zip(ends(2)).is_some_and(|(low, high)| low <= high)
        }
        "dot4U8Packed" | "dot4I8Packed" => literals(0).is_none(),
        _ => true,
    }
}

/// Whether a value may be kept in a variable: all its floats are within [`stored`].
pub(crate) fn storable(expr: &Expr) -> bool {
    match expr.ty.scalar() {
        Some(scalar) if scalar.is_float() => float(expr).is_some_and(|bound| bound.within(stored(scalar))),
        _ => true,
    }
}
