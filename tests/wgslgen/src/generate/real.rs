//! Floats, by operations that are exact over what variables hold.

use super::Generator;
use crate::bound::float;
use crate::expr::{Expr, Kind};
use crate::shape::{F32, Scalar, Type, U32};

impl Generator {
    pub(super) fn real(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Option<Expr> {
        let is_scalar = matches!(ty, Type::Scalar(_));
        Some(match self.random.u32(0..19) {
            0..=3 => {
                let op = self.pick(&["+", "-"]);
                let (left, right) = (self.runtime(ty, depth), self.expr(ty, depth));
                let (left, right) = (self.tame(left), self.tame(right));
                Expr::binary(op, ty.clone(), left, right)
            }
            4 | 5 => self.product(ty, scalar, depth),
            6 => Expr::new(Kind::Unary("-"), ty.clone(), vec![self.runtime(ty, depth)]),
            7 => {
                let name = self.pick(&["min", "max"]);
                Expr::call(name, ty.clone(), vec![self.runtime(ty, depth), self.expr(ty, depth)])
            }
            8 | 9 => {
                let name = self.pick(&["abs", "floor", "ceil", "trunc", "round", "fract", "sign", "saturate"]);
                Expr::call(name, ty.clone(), vec![self.runtime(ty, depth)])
            }
            10 => {
                let parts = [self.runtime(ty, depth), self.expr(ty, depth), self.expr(ty, depth)];
                let parts = parts.map(|part| self.fit(part));
                let name = if scalar == Scalar::F32 { self.pick(&["fma", "mix"]) } else { "fma" };
                Expr::call(name, ty.clone(), parts.into())
            }
            11 => Expr::call("step", ty.clone(), vec![self.runtime(ty, depth), self.expr(ty, depth)]),
            12 => {
                let of = self.runtime(ty, depth);
                let part = self.pick(&["fract", "whole"]);
                Expr::call("modf", ty.clone(), vec![of]).member(part, ty.clone())
            }
            13 if is_scalar && scalar == Scalar::F32 => self.reduced(depth),
            14 if *ty == Type::Vector(3, Scalar::F32) => {
                let (left, right) = (self.runtime(ty, depth), self.expr(ty, depth));
                let args = vec![self.fit(left), self.fit(right)];
                Expr::call("cross", ty.clone(), args)
            }
            15 | 16 => self.converted_real(ty, scalar, depth)?,
            17 if scalar == Scalar::F32 => {
                let of = self.runtime(ty, depth);
                Expr::call("quantizeToF16", ty.clone(), vec![self.fit(of)])
            }
            18 if scalar == Scalar::F32 && !is_scalar => self.transformed(ty, depth),
            _ => self.product(ty, scalar, depth),
        })
    }

    /// Small enough that a few more sums stay exact.
    fn tame(&mut self, value: Expr) -> Expr {
        let roomy = float(&value).is_some_and(|bound| bound.n < 1 << 18 && bound.k <= 6);
        let is_half = value.ty.scalar() == Some(Scalar::F16);
        if roomy && !is_half { value } else { self.fit(value) }
    }

    fn product(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Expr {
        let left = self.runtime(ty, depth);
        let left = self.fit(left);
        let single = Type::Scalar(scalar);
        let other = if self.chance(30) { &single } else { ty };
        let right = self.expr(other, depth);
        let right = self.fit(right);
        if right.ty == single && self.random.bool() {
            return Expr::binary("*", ty.clone(), right, left);
        }
        Expr::binary("*", ty.clone(), left, right)
    }

    /// A scalar from vectors or a matrix.
    fn reduced(&mut self, depth: u32) -> Expr {
        if self.chance(30) {
            let of = self.expr(&Type::Matrix(2, 2), depth);
            let of = self.fit(of);
            return Expr::call("determinant", F32, vec![of]);
        }
        let vector = Type::Vector(self.random.u32(2..5), Scalar::F32);
        let (left, right) = (self.runtime(&vector, depth), self.expr(&vector, depth));
        let args = vec![self.fit(left), self.fit(right)];
        Expr::call("dot", F32, args)
    }

    fn converted_real(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Option<Expr> {
        let from = match self.random.u32(0..4) {
            0 => Scalar::Bool,
            1 if scalar == Scalar::F32 && self.options.f16 => Scalar::F16,
            1 if scalar == Scalar::F16 => Scalar::F32,
            _ => self.scalar(),
        };
        let of = self.runtime(&ty.of(from), depth);
        if !from.is_int() {
            let of = self.fit(of);
            return (from != scalar).then(|| Expr::make(ty.clone(), vec![of]));
        }
        // Few enough bits that every value has its float.
        let mask = Expr::int(if scalar == Scalar::F16 { 15 } else { 127 }, from);
        let mask = if matches!(ty, Type::Vector(..)) { Expr::make(ty.of(from), vec![mask]) } else { mask };
        Some(Expr::make(ty.clone(), vec![Expr::binary("&", ty.of(from), of, mask)]))
    }

    /// A vector by a matrix.
    fn transformed(&mut self, ty: &Type, depth: u32) -> Expr {
        let (lanes, other) = (ty.lanes(), self.random.u32(2..5));
        let is_left = self.random.bool();
        let matrix = if is_left { Type::Matrix(other, lanes) } else { Type::Matrix(lanes, other) };
        let matrix = self.expr(&matrix, depth);
        let vector = self.runtime(&Type::Vector(other, Scalar::F32), depth);
        let (matrix, vector) = (self.fit(matrix), self.fit(vector));
        let (left, right) = if is_left { (matrix, vector) } else { (vector, matrix) };
        Expr::binary("*", ty.clone(), left, right)
    }

    pub(super) fn matrix(&mut self, columns: u32, rows: u32, depth: u32) -> Option<Expr> {
        let ty = Type::Matrix(columns, rows);
        let parts = |this: &mut Self, left: Type, right: Type| {
            let (left, right) = (this.expr(&left, depth), this.expr(&right, depth));
            (this.fit(left), this.fit(right))
        };
        let made = match self.random.u32(0..5) {
            0 => {
                let op = self.pick(&["+", "-"]);
                let (left, right) = parts(self, ty.clone(), ty.clone());
                Expr::binary(op, ty, left, right)
            }
            1 => {
                let (left, right) = parts(self, ty.clone(), F32);
                let (left, right) = if self.random.bool() { (left, right) } else { (right, left) };
                Expr::binary("*", ty, left, right)
            }
            2 => {
                let inner = self.random.u32(2..5);
                let (left, right) = parts(self, Type::Matrix(inner, rows), Type::Matrix(columns, inner));
                Expr::binary("*", ty, left, right)
            }
            3 => {
                let of = self.expr(&Type::Matrix(rows, columns), depth);
                Expr::call("transpose", ty, vec![of])
            }
            _ => {
                let column = Type::Vector(rows, Scalar::F32);
                Expr::make(ty, (0..columns).map(|_| self.kept(&column, depth.min(1))).collect())
            }
        };
        Some(made)
    }

    /// A word that holds two small halves of a float, without their signs: that of a zero is not said.
    pub(super) fn halves(&mut self, depth: u32) -> Expr {
        let of = self.runtime(&Type::Vector(2, Scalar::F32), depth);
        let fitted = self.fit(of);
        Expr::form("(pack2x16float({}) & 0x7fff7fffu)", U32, vec![fitted])
    }
}
