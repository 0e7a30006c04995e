//! Names in scope, and places and values that are reached from them.

use super::Generator;
use crate::expr::{Expr, Kind};
use crate::shape::{Scalar, Type, U32};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// A constant or an override.
    Constant,
    /// A value that stays: a `let`, a parameter, a builtin.
    Fixed,
    /// A variable of the function, or an element of the invocation's own.
    Variable,
    /// A variable of the module.
    Private,
    /// A loop's counter, always below this.
    Counter(u32),
    /// A pointer to what may be written.
    Pointer,
}

/// A name in scope.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) known: Known,
}

impl Var {
    fn expr(&self) -> Expr {
        let kind = match self.known {
            Known::Constant => Kind::Constant(self.name.clone()),
            Known::Counter(below) => Kind::Counter(self.name.clone(), below),
            Known::Pointer => {
                let pointer = Expr::name(&self.name, self.ty.clone());
                return Expr::new(Kind::Deref, self.ty.clone(), vec![pointer]);
            }
            _ => Kind::Name(self.name.clone()),
        };
        Expr::new(kind, self.ty.clone(), Vec::new())
    }
}

impl Generator {
    pub(super) fn know(&mut self, name: impl Into<String>, ty: Type, known: Known) {
        self.scope.push(Var { name: name.into(), ty, known });
    }

    /// The name of something new in this block: at times one that is known outside of it.
    pub(super) fn named(&mut self, prefix: &str, may_hide: bool) -> String {
        let outer =
            |var: &&Var| matches!(var.known, Known::Fixed | Known::Variable) && var.name.starts_with(['a', 'v']);
        let inside = &self.scope[self.block..];
        let free = |var: &&Var| inside.iter().all(|other| other.name != var.name);
        let names: Vec<String> =
            self.scope[..self.block].iter().filter(outer).filter(free).map(|var| var.name.clone()).collect();
        if may_hide && !names.is_empty() && self.chance(12) { self.pick(&names) } else { self.fresh(prefix) }
    }

    /// Names that are in scope and satisfy `wanted`, none that another hides.
    pub(super) fn visible(&self, wanted: impl Fn(&Var) -> bool) -> Vec<Var> {
        let shown = |k: usize| self.scope[k + 1..].iter().all(|later| later.name != self.scope[k].name);
        let private = |var: &Var| var.known != Known::Private || self.may_touch_privates;
        let all = self.scope.iter().enumerate().filter(|(k, var)| private(var) && wanted(var) && shown(*k));
        all.map(|(_, var)| var.clone()).collect()
    }

    fn touch(&mut self, var: &Var) {
        self.touches_privates |= var.known == Known::Private;
    }

    /// Something of this type that is in scope.
    pub(super) fn read(&mut self, ty: &Type, depth: u32) -> Option<Expr> {
        let found = self.visible(|var| self.module.structs.contains(&var.ty, ty));
        if found.is_empty() {
            return None;
        }
        // What is declared late is what the statements before were about.
        let late = self.random.usize(..found.len()).max(self.random.usize(..found.len()));
        let var = &found[late];
        self.touch(var);
        Some(self.descend(var.expr(), ty, depth))
    }

    /// This variable, or a part of it that has the type.
    pub(super) fn part_of(&mut self, var: &Var, ty: &Type) -> Expr {
        self.touch(var);
        self.descend(var.expr(), ty, 1)
    }

    /// A place of this type that may be written.
    pub(super) fn place(&mut self, ty: &Type) -> Option<Expr> {
        let writable = |known| matches!(known, Known::Variable | Known::Private | Known::Pointer);
        let found = self.visible(|var| writable(var.known) && self.module.structs.contains(&var.ty, ty));
        if found.is_empty() {
            return None;
        }
        let var = self.pick(&found);
        self.touch(&var);
        Some(self.descend(var.expr(), ty, 1))
    }

    /// A part of `from` that has the type.
    fn descend(&mut self, from: Expr, ty: &Type, depth: u32) -> Expr {
        if from.ty == *ty {
            return from;
        }
        match from.ty.clone() {
            Type::Vector(lanes, scalar) => {
                let fixed = self.chance(60);
                if fixed {
                    let lane = self.random.usize(..lanes as usize);
                    return Expr::new(Kind::Swizzle("xyzw"[lane..=lane].to_owned()), Type::Scalar(scalar), vec![from]);
                }
                let index = self.index(lanes, depth);
                from.index(index, Type::Scalar(scalar))
            }
            Type::Matrix(columns, rows) => {
                let index = self.index(columns, depth);
                let column = from.index(index, Type::Vector(rows, Scalar::F32));
                self.descend(column, ty, depth)
            }
            Type::Array(element, len) => {
                let index = self.index(len, depth);
                let element = from.index(index, *element);
                self.descend(element, ty, depth)
            }
            Type::Struct(number) => {
                let structs = &self.module.structs;
                let members: Vec<_> =
                    structs.0[number].iter().filter(|member| structs.contains(&member.ty, ty)).cloned().collect();
                let member = self.pick(&members);
                self.descend(from.member(member.name, member.ty), ty, depth)
            }
            Type::Scalar(_) => unreachable!("a scalar has no parts, and contained the type"),
        }
    }

    /// An index below `len`.
    pub(super) fn index(&mut self, len: u32, depth: u32) -> Expr {
        let counters = self.visible(|var| matches!(var.known, Known::Counter(below) if below <= len));
        let by = |scalar| Expr::int(len.into(), scalar);
        if !counters.is_empty() && self.chance(50) {
            return self.pick(&counters).expr();
        }
        let literal = Expr::int(self.random.u32(..len).into(), Scalar::U32);
        if depth == 0 || self.chance(25) {
            return literal;
        }
        let runtime = |this: &mut Self, ty: &Type| this.expr(ty, depth - 1);
        let index = match self.random.u32(0..6) {
            0 => Expr::call("min", U32, vec![runtime(self, &U32), Expr::int(i128::from(len) - 1, Scalar::U32)]),
            1 if len.is_power_of_two() => {
                Expr::binary("&", U32, runtime(self, &U32), Expr::int(i128::from(len) - 1, Scalar::U32))
            }
            2 => {
                let signed = Type::Scalar(Scalar::I32);
                let value = Expr::binary("%", signed.clone(), runtime(self, &signed), by(Scalar::I32));
                Expr::call("abs", signed, vec![value])
            }
            3 => {
                let value = Expr::binary("%", U32, runtime(self, &U32), by(Scalar::U32));
                Expr::make(Type::Scalar(Scalar::I32), vec![value])
            }
            _ => Expr::binary("%", U32, runtime(self, &U32), by(Scalar::U32)),
        };
        if whole(&index) { index } else { literal }
    }
}

/// Whether a node and its operands are sound.
pub(super) fn whole(expr: &Expr) -> bool {
    crate::bound::sound(expr) && expr.args.iter().all(whole)
}
