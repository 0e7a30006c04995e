//! Integers: every operator and builtin, with wrap-around, divisions by zero and wide shifts as they come.

use super::Generator;
use crate::expr::{Expr, Kind};
use crate::shape::{F32, I32, Scalar, Type, U32};

/// Builtins of one operand for 32 bits.
const BITS: [&str; 6] =
    ["countOneBits", "countLeadingZeros", "countTrailingZeros", "reverseBits", "firstLeadingBit", "firstTrailingBit"];

impl Generator {
    pub(super) fn integer(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Option<Expr> {
        let is_word = scalar.bits() == 32;
        Some(match self.random.u32(0..20) {
            0..=5 => self.arithmetic(ty, depth),
            6 | 7 => self.shift(ty, scalar, depth),
            8 => {
                let op = if scalar.is_signed() && self.random.bool() { "-" } else { "~" };
                Expr::new(Kind::Unary(op), ty.clone(), vec![self.runtime(ty, depth)])
            }
            9 => {
                let name = self.pick(&["min", "max"]);
                Expr::call(name, ty.clone(), vec![self.runtime(ty, depth), self.expr(ty, depth)])
            }
            10 => {
                let (low, high) = (self.random.u32(0..50), self.random.u32(50..1000));
                let end = |value: u32| match ty {
                    Type::Vector(..) => Expr::make(ty.clone(), vec![Expr::int(value.into(), scalar)]),
                    _ => Expr::int(value.into(), scalar),
                };
                let value = self.runtime(ty, depth);
                Expr::call("clamp", ty.clone(), vec![value, end(low), end(high)])
            }
            11 => {
                let name = if scalar.is_signed() && is_word { self.pick(&["abs", "sign"]) } else { "abs" };
                Expr::call(name, ty.clone(), vec![self.runtime(ty, depth)])
            }
            12 | 13 if is_word => {
                let name = self.pick(&BITS);
                Expr::call(name, ty.clone(), vec![self.runtime(ty, depth)])
            }
            14 if is_word => self.bit_field(ty, depth),
            15 if is_word => self.packed(ty, scalar, depth)?,
            16 | 17 => self.converted(ty, scalar, depth)?,
            18 if is_word && matches!(ty, Type::Scalar(_)) => {
                let vector = Type::Vector(self.random.u32(2..5), scalar);
                Expr::call("dot", ty.clone(), vec![self.runtime(&vector, depth), self.expr(&vector, depth)])
            }
            _ => self.arithmetic(ty, depth),
        })
    }

    fn arithmetic(&mut self, ty: &Type, depth: u32) -> Expr {
        let op = self.pick(&["+", "-", "*", "+", "-", "*", "/", "%", "&", "|", "^"]);
        let left = self.runtime(ty, depth);
        let mixes = matches!(ty, Type::Vector(..)) && matches!(op, "+" | "-" | "*" | "/" | "%");
        if let (true, Some(scalar)) = (mixes && self.chance(35), ty.scalar()) {
            let single = self.expr(&Type::Scalar(scalar), depth);
            return match op {
                "+" | "*" if self.random.bool() => Expr::binary(op, ty.clone(), single, left),
                _ => Expr::binary(op, ty.clone(), left, single),
            };
        }
        let right = self.expr(ty, depth);
        Expr::binary(op, ty.clone(), left, right)
    }

    fn shift(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Expr {
        let op = self.pick(&["<<", ">>"]);
        let amount = ty.of(Scalar::U32);
        let left = self.runtime(ty, depth);
        let right = match ty {
            Type::Scalar(_) if self.random.bool() => Expr::int(self.random.u32(..scalar.bits()).into(), Scalar::U32),
            _ => self.runtime(&amount, depth),
        };
        // naga looks through a `let` at the components that a vector was made from, and refuses wide ones; not through an operator.
        let right = match (&right.ty, &right.kind) {
            (Type::Vector(..), Kind::Name(_)) => Expr::binary("|", amount, right.clone(), right),
            _ => right,
        };
        Expr::binary(op, ty.clone(), left, right)
    }

    fn bit_field(&mut self, ty: &Type, depth: u32) -> Expr {
        let (offset, count) = match self.random.u32(0..3) {
            0 => {
                let offset = self.random.u32(0..33);
                (Expr::int(offset.into(), Scalar::U32), Expr::int(self.random.u32(0..=32 - offset).into(), Scalar::U32))
            }
            _ => (self.runtime(&U32, depth), self.runtime(&U32, depth)),
        };
        let value = self.runtime(ty, depth);
        if self.random.bool() {
            return Expr::call("extractBits", ty.clone(), vec![value, offset, count]);
        }
        let new = self.expr(ty, depth);
        Expr::call("insertBits", ty.clone(), vec![value, new, offset, count])
    }

    /// Bytes and halves in a word.
    fn packed(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Option<Expr> {
        let (signed, unsigned) = (Type::Vector(4, Scalar::I32), Type::Vector(4, Scalar::U32));
        Some(match (ty, scalar) {
            (Type::Scalar(_), Scalar::U32) => match self.random.u32(0..7) {
                6 => self.halves(depth),
                0 => {
                    let name = self.pick(&["pack4xI8", "pack4xI8Clamp"]);
                    Expr::call(name, U32, vec![self.runtime(&signed, depth)])
                }
                1 => {
                    let name = self.pick(&["pack4xU8", "pack4xU8Clamp"]);
                    Expr::call(name, U32, vec![self.runtime(&unsigned, depth)])
                }
                2 => Expr::call("dot4U8Packed", U32, vec![self.runtime(&U32, depth), self.expr(&U32, depth)]),
                3 => {
                    let of = self.runtime(&Type::Vector(4, Scalar::F32), depth);
                    let sign = Expr::call("sign", of.ty.clone(), vec![of]);
                    let name = self.pick(&["pack4x8snorm", "pack4x8unorm"]);
                    Expr::call(name, U32, vec![sign])
                }
                _ => {
                    let of = self.runtime(&F32, depth);
                    // The sign of a zero is not said, and Mesa's software driver keeps it even through `abs`.
                    let of = self.fit(of);
                    Expr::form("(bitcast<u32>({}) & 0x7fffffffu)", U32, vec![of])
                }
            },
            (Type::Scalar(_), Scalar::I32) => {
                Expr::call("dot4I8Packed", I32, vec![self.runtime(&U32, depth), self.expr(&U32, depth)])
            }
            (Type::Vector(4, _), Scalar::I32) => Expr::call("unpack4xI8", signed, vec![self.runtime(&U32, depth)]),
            (Type::Vector(4, _), Scalar::U32) => Expr::call("unpack4xU8", unsigned, vec![self.runtime(&U32, depth)]),
            _ => return None,
        })
    }

    fn converted(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Option<Expr> {
        let from = match self.random.u32(0..6) {
            0 => Scalar::Bool,
            1 | 2 => Scalar::F32,
            _ => self.scalar(),
        };
        if from == scalar {
            return None;
        }
        let value = self.runtime(&ty.of(from), depth);
        let value = self.fit(value);
        if from.is_int() && from.bits() == scalar.bits() && self.random.bool() {
            return Some(Expr::call(format!("bitcast<{}>", ty.text()), ty.clone(), vec![value]));
        }
        if from == Scalar::F32 && scalar == Scalar::I32 && self.chance(20) {
            return Some(Expr::call("frexp", ty.clone(), vec![value]).member("exp", ty.clone()));
        }
        Some(Expr::make(ty.clone(), vec![value]))
    }
}
