//! Bools and vectors of them.

use super::Generator;
use crate::expr::{Expr, Kind};
use crate::shape::{BOOL, Scalar, Type};

impl Generator {
    pub(super) fn truth(&mut self, ty: &Type, depth: u32) -> Option<Expr> {
        let is_scalar = matches!(ty, Type::Scalar(_));
        Some(match self.random.u32(0..12) {
            0..=5 => {
                let scalar = self.scalar();
                let of = ty.of(scalar);
                let op = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
                Expr::binary(op, ty.clone(), self.runtime(&of, depth), self.expr(&of, depth))
            }
            6 | 7 if is_scalar => {
                let op = self.pick(&["&&", "||"]);
                Expr::binary(op, BOOL, self.runtime(ty, depth), self.runtime(ty, depth))
            }
            8 if is_scalar => {
                let name = self.pick(&["all", "any"]);
                let of = Type::Vector(self.random.u32(2..5), Scalar::Bool);
                Expr::call(name, BOOL, vec![self.runtime(&of, depth)])
            }
            9 => Expr::new(Kind::Unary("!"), ty.clone(), vec![self.runtime(ty, depth)]),
            10 => {
                let scalar = self.scalar();
                let value = self.runtime(&ty.of(scalar), depth);
                Expr::make(ty.clone(), vec![value])
            }
            _ => {
                let op = self.pick(&["&", "|", "==", "!="]);
                Expr::binary(op, ty.clone(), self.runtime(ty, depth), self.expr(ty, depth))
            }
        })
    }
}
