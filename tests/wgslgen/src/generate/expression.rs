//! Expressions of any type, and calls.

use super::Generator;
use super::scope::Known;
use crate::bound::{float, sound, storable, stored};
use crate::expr::{Expr, Kind};
use crate::module::{Param, Role};
use crate::shape::{Scalar, Type, U32};

impl Generator {
    /// A value of the type, sound and of bounded depth.
    pub(super) fn expr(&mut self, ty: &Type, depth: u32) -> Expr {
        if depth > 0 && self.chance(80) {
            for _ in 0..3 {
                if let Some(made) = self.operation(ty, depth - 1).filter(sound) {
                    return made;
                }
            }
        }
        self.leaf(ty, depth)
    }

    /// A value that a variable may hold.
    pub(super) fn kept(&mut self, ty: &Type, depth: u32) -> Expr {
        let made = self.expr(ty, depth);
        self.fit(made)
    }

    /// A value that the compiler does not know.
    pub(super) fn runtime(&mut self, ty: &Type, depth: u32) -> Expr {
        for _ in 0..3 {
            let made = self.expr(ty, depth);
            if !made.is_const() {
                return made;
            }
        }
        self.loaded(ty)
    }

    fn leaf(&mut self, ty: &Type, depth: u32) -> Expr {
        match self.random.u32(0..10) {
            0 if ty.scalar().is_some() => self.constant(ty),
            1 => self.loaded(ty),
            _ => match self.read(ty, depth.min(1)) {
                Some(found) => found,
                None if ty.scalar().is_some() && self.chance(50) => self.loaded(ty),
                None => self.built(ty, depth.saturating_sub(1)),
            },
        }
    }

    /// Something from a buffer, which no compiler knows.
    fn loaded(&mut self, ty: &Type) -> Expr {
        let word = Expr::form(format!("in0[{}]", self.random.u32(0..24)), U32, Vec::new());
        let inputs: Vec<_> =
            self.module.buffers.iter().filter(|of| matches!(of.role, Role::Input(_))).cloned().collect();
        let fitting: Vec<_> = inputs.into_iter().filter(|of| of.ty == *ty).collect();
        if !fitting.is_empty() && self.chance(60) {
            let from = self.pick(&fitting);
            let by = if self.chance(50) { self.read(&U32, 0).unwrap_or(word) } else { word };
            return Expr::form(format!("{0}[{{}} % arrayLength(&{0})]", from.name), ty.clone(), vec![by]);
        }
        let small = |word: Expr| Expr::binary("&", U32, word, Expr::int(15, Scalar::U32));
        match ty {
            Type::Scalar(Scalar::U32) => word,
            Type::Scalar(Scalar::Bool) => Expr::binary("!=", ty.clone(), small(word), Expr::int(3, Scalar::U32)),
            Type::Scalar(scalar) if scalar.is_float() => Expr::make(ty.clone(), vec![small(word)]),
            Type::Scalar(Scalar::I32) if self.random.bool() => Expr::call("bitcast<i32>", ty.clone(), vec![word]),
            Type::Scalar(_) => Expr::make(ty.clone(), vec![word]),
            Type::Vector(_, scalar) => Expr::make(ty.clone(), vec![self.loaded(&Type::Scalar(*scalar))]),
            other => self.built(&other.clone(), 0),
        }
    }

    /// A constructor of the type.
    fn built(&mut self, ty: &Type, depth: u32) -> Expr {
        match ty {
            Type::Scalar(_) => self.constant(ty),
            Type::Vector(lanes, scalar) => self.vector(*lanes, *scalar, depth),
            Type::Matrix(columns, rows) => {
                let column = Type::Vector(*rows, Scalar::F32);
                let whole = self.chance(70);
                let part = if whole { column } else { Type::Scalar(Scalar::F32) };
                let count = if whole { *columns } else { columns * rows };
                Expr::make(ty.clone(), (0..count).map(|_| self.kept(&part, depth.min(1))).collect())
            }
            Type::Array(element, len) => {
                Expr::make(ty.clone(), (0..*len).map(|_| self.kept(element, depth.min(1))).collect())
            }
            Type::Struct(number) => {
                let members = self.module.structs.0[*number].clone();
                Expr::make(ty.clone(), members.iter().map(|member| self.kept(&member.ty, depth.min(1))).collect())
            }
        }
    }

    /// A vector from scalars and smaller vectors.
    fn vector(&mut self, lanes: u32, scalar: Scalar, depth: u32) -> Expr {
        let (ty, part) = (Type::Vector(lanes, scalar), Type::Scalar(scalar));
        if self.chance(20) {
            return Expr::make(ty, vec![self.expr(&part, depth)]);
        }
        let mut parts = Vec::new();
        let mut left = lanes;
        while left > 0 {
            let width = if left >= 2 && left < lanes.max(3) && self.chance(35) { 2 } else { 1 };
            let part = if width == 2 { Type::Vector(2, scalar) } else { part.clone() };
            parts.push(self.expr(&part, depth));
            left -= width;
        }
        let made = Expr::make(ty.clone(), parts);
        if sound(&made) { made } else { self.constant(&ty) }
    }

    fn operation(&mut self, ty: &Type, depth: u32) -> Option<Expr> {
        if self.chance(10)
            && let Some(call) = self.user(ty, depth)
        {
            return Some(call);
        }
        match ty {
            Type::Array(..) | Type::Struct(_) => Some(self.built(ty, depth)),
            Type::Matrix(columns, rows) => self.matrix(*columns, *rows, depth),
            Type::Scalar(scalar) | Type::Vector(_, scalar) => {
                if matches!(ty, Type::Vector(..)) && self.chance(25) {
                    return Some(self.rearranged(ty, *scalar, depth));
                }
                if matches!(ty, Type::Scalar(_)) && self.chance(8) {
                    return self.component(*scalar, depth);
                }
                if self.chance(8) {
                    let condition = self.condition(ty, depth);
                    let (no, yes) = (self.expr(ty, depth), self.expr(ty, depth));
                    return Some(Expr::call("select", ty.clone(), vec![no, yes, condition]));
                }
                match scalar {
                    Scalar::Bool => self.truth(ty, depth),
                    scalar if scalar.is_float() => self.real(ty, *scalar, depth),
                    scalar => self.integer(ty, *scalar, depth),
                }
            }
        }
    }

    /// What `select` takes: a bool, or one for each component.
    fn condition(&mut self, ty: &Type, depth: u32) -> Expr {
        let lanes = if self.random.bool() { ty.of(Scalar::Bool) } else { Type::Scalar(Scalar::Bool) };
        self.expr(&lanes, depth)
    }

    /// A vector from another one: swizzled, or built.
    fn rearranged(&mut self, ty: &Type, scalar: Scalar, depth: u32) -> Expr {
        if self.random.bool() {
            return self.vector(ty.lanes(), scalar, depth);
        }
        let from = Type::Vector(self.random.u32(2..5), scalar);
        let letters = if self.random.bool() { "xyzw" } else { "rgba" };
        let lanes = from.lanes() as usize;
        let picked = (0..ty.lanes()).map(|_| self.random.usize(..lanes)).collect::<Vec<_>>();
        let swizzle = picked.into_iter().map(|lane| &letters[lane..=lane]).collect();
        let of = self.expr(&from, depth);
        Expr::new(Kind::Swizzle(swizzle), ty.clone(), vec![of])
    }

    /// One component of a vector that is computed.
    fn component(&mut self, scalar: Scalar, depth: u32) -> Option<Expr> {
        let lanes = self.random.u32(2..5);
        let of = self.runtime(&Type::Vector(lanes, scalar), depth);
        let index = self.index(lanes, depth);
        Some(of.index(index, Type::Scalar(scalar)))
    }

    /// A call of a function of the module.
    pub(super) fn user(&mut self, ty: &Type, depth: u32) -> Option<Expr> {
        let fits = |k: &usize| self.functions[*k].result.as_ref() == Some(ty);
        let found: Vec<usize> = (0..self.functions.len()).filter(fits).collect();
        if found.is_empty() {
            return None;
        }
        let number = self.pick(&found);
        self.call(number, depth)
    }

    /// A call of one function; `None` where it would cost too much, or there is nothing to point at.
    pub(super) fn call(&mut self, number: usize, depth: u32) -> Option<Expr> {
        let of = &self.functions[number];
        let (name, params, result) = (of.name.clone(), of.params.clone(), of.result.clone());
        let cost = of.cost.saturating_mul(self.weight);
        let touches = of.touches_privates || params.iter().any(|param| matches!(param, Param::Private(..)));
        if cost > 600 || self.cost + cost > self.cost_max || (touches && !self.may_touch_privates) {
            return None;
        }
        let mut args = Vec::new();
        for param in params {
            args.push(match param {
                Param::Value(_, ty) => self.kept(&ty, depth.min(2)),
                Param::Function(_, ty) => self.pointer(&ty, Known::Variable)?,
                Param::Private(_, ty) => self.pointer(&ty, Known::Private)?,
            });
        }
        self.cost += cost;
        self.touches_privates |= touches;
        Some(Expr::new(Kind::User(name), result.unwrap_or(U32), args))
    }

    /// A pointer to a variable of the type, or to a part of one where that may be passed.
    fn pointer(&mut self, ty: &Type, known: Known) -> Option<Expr> {
        let plain = |name: &str| !name.contains('[') && !name.contains('.');
        let found = self.visible(|var| var.known == known && plain(&var.name) && var.ty == *ty);
        let place = if found.is_empty() || (self.options.part_pointers && self.chance(40)) {
            let all = self.visible(|var| {
                var.known == known && plain(&var.name) && !matches!(var.ty, Type::Vector(..) | Type::Matrix(..))
            });
            let all: Vec<_> = all
                .into_iter()
                .filter(|var| self.options.part_pointers && self.module.structs.contains(&var.ty, ty))
                .collect();
            let var = if all.is_empty() { self.pick(&[found.first()?.clone()]) } else { self.pick(&all) };
            let place = self.part_of(&var, ty);
            // A component of a vector cannot be pointed at.
            let inside = place.args.first().is_some_and(|of| matches!(of.ty, Type::Vector(..)));
            if inside { return None } else { place }
        } else {
            let var = self.pick(&found);
            self.part_of(&var, ty)
        };
        Some(Expr::new(Kind::Pointer, ty.clone(), vec![place]))
    }

    /// The value made small and coarse enough to be kept.
    pub(super) fn fit(&mut self, value: Expr) -> Expr {
        let Some(scalar) = value.ty.scalar().filter(|scalar| scalar.is_float()) else { return value };
        if storable(&value) {
            return value;
        }
        let ty = value.ty.clone();
        if matches!(ty, Type::Matrix(..)) {
            return self.read(&ty, 0).unwrap_or_else(|| self.constant(&ty));
        }
        let limit = stored(scalar);
        let mut fitted = value;
        if float(&fitted).is_some_and(|bound| bound.k > limit.k) {
            let round = self.pick(&["trunc", "floor", "round", "ceil"]);
            fitted = Expr::call(round, ty.clone(), vec![fitted]);
        }
        if !storable(&fitted) {
            let most = (limit.n >> limit.k) as f64;
            let end = |value: f64| match ty {
                Type::Vector(..) => Expr::make(ty.clone(), vec![Expr::float(value, scalar)]),
                _ => Expr::float(value, scalar),
            };
            fitted = Expr::call("clamp", ty.clone(), vec![fitted, end(-most), end(most)]);
        }
        fitted
    }
}
