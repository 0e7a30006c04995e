//! Whether a kernel is well defined: names in scope with their types, every node sound, floats within what is stored, and
//! nothing that leaves what it is not in. Shrinking offers only what passes.

use crate::bound::{sound, storable};
use crate::expr::{Expr, Kind};
use crate::module::{Module, Param, Role};
use crate::shape::{Scalar, Type, U32};
use crate::stmt::{Block, Loop, Phase, Stmt, Style};

/// What is named where a statement stands.
struct Scope<'a> {
    module: &'a Module,
    /// Functions that may be called.
    functions: usize,
    /// Names with their types, and whether they may be written.
    names: Vec<(String, Type, bool)>,
    result: Option<Type>,
    is_entry: bool,
}

/// What surrounds a block.
#[derive(Clone, Copy, Default)]
struct Place {
    can_break: bool,
    can_continue: bool,
    /// Whether every invocation of the workgroup is there.
    is_divergent: bool,
}

type Checked = Result<(), String>;

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

/// Check a module.
pub(crate) fn check(module: &Module) -> Checked {
    let privates = module.privates.iter().map(|of| (of.name.clone(), of.ty.clone(), true));
    let constants = module.constants.iter().chain(module.overrides.iter().map(|(of, _)| of));
    let mut globals: Vec<_> = privates.chain(constants.map(|of| (of.name.clone(), of.ty.clone(), false))).collect();
    let uniforms = module.buffers.iter().filter(|of| of.role == Role::Uniform);
    globals.extend(uniforms.map(|of| (of.name.clone(), of.ty.clone(), false)));
    for (number, function) in module.functions.iter().enumerate() {
        let mut names = globals.clone();
        names.extend(function.params.iter().map(|param| match param {
            Param::Value(name, ty) => (name.clone(), ty.clone(), false),
            Param::Function(name, ty) | Param::Private(name, ty) => (name.clone(), ty.clone(), true),
        }));
        let result = function.result.clone();
        ensure(result.is_none() || matches!(function.body.last(), Some(Stmt::Return(Some(_)))), || {
            format!("`{}` may end without a result", function.name)
        })?;
        let mut scope = Scope { module, functions: number, names, result, is_entry: false };
        scope.block(&function.body, Place { is_divergent: true, ..Place::default() })?;
    }
    let mut names = globals;
    names.extend(module.params.iter().map(|(name, ty)| (format!("params.{name}"), ty.clone(), false)));
    names.extend(entry_names(module));
    let functions = module.functions.len();
    let mut scope = Scope { module, functions, names, result: None, is_entry: true };
    scope.block(&module.body, Place { is_divergent: module.idle > 0, ..Place::default() })
}

/// Whether what a `let` holds is computed ahead of time: naga does so where a module has overrides, and then refuses divisions
/// by zero through names, and some composites outright.
pub(crate) fn knows_lets(module: &Module) -> bool {
    !module.overrides.is_empty()
}

/// Names that only the entry point has.
pub(crate) fn entry_names(module: &Module) -> Vec<(String, Type, bool)> {
    let vec3 = Type::Vector(3, Scalar::U32);
    let mut names: Vec<_> = ["id", "local", "wid", "nwg"].map(|name| (name.to_owned(), vec3.clone(), false)).into();
    names.extend(["lid", "slot"].map(|name| (name.to_owned(), U32, false)));
    for buffer in &module.buffers {
        match buffer.role {
            Role::Output => names.push((format!("{}[slot]", buffer.name), buffer.ty.clone(), true)),
            Role::Tail => names.push((format!("{}.items[slot]", buffer.name), buffer.ty.clone(), true)),
            _ => {}
        }
    }
    names
}

impl Scope<'_> {
    fn block(&mut self, block: &Block, place: Place) -> Checked {
        let depth = self.names.len();
        self.open(block, place)?;
        self.names.truncate(depth);
        Ok(())
    }

    /// A block whose names stay, for what follows in it.
    fn open(&mut self, block: &Block, place: Place) -> Checked {
        for (k, stmt) in block.iter().enumerate() {
            ensure(!stmt.leaves() || k + 1 == block.len(), || "something follows where it is not reached".to_owned())?;
            self.stmt(stmt, place)?;
        }
        Ok(())
    }

    fn declare(&mut self, name: &str, ty: &Type, writable: bool) {
        self.names.push((name.to_owned(), ty.clone(), writable));
    }

    fn stmt(&mut self, stmt: &Stmt, place: Place) -> Checked {
        match stmt {
            Stmt::Let(name, value) => {
                self.stored(value)?;
                ensure(!value.is_const() || !knows_lets(self.module), || format!("a compiler knows `{name}`"))?;
                self.declare(name, &value.ty, false);
            }
            Stmt::Point(name, of) => {
                self.place(of)?;
                self.declare(name, &of.ty, true);
            }
            Stmt::Var(name, ty, value) => {
                value.iter().try_for_each(|value| self.stored(value))?;
                self.declare(name, ty, true);
            }
            Stmt::Assign(to, op, value) => self.assign(to, op, value)?,
            Stmt::Step(to, _) => self.place(to)?,
            Stmt::Do(call) => {
                ensure(matches!(call.kind, Kind::User(_)), || "a statement that only computes".to_owned())?;
                self.expr(call)?;
            }
            Stmt::Discard(value) => self.expr(value)?,
            Stmt::Form(_, args) => args.iter().try_for_each(|arg| self.stored(arg))?,
            Stmt::If(condition, yes, no) => {
                self.expr(condition)?;
                let inner = Place { is_divergent: place.is_divergent || !self.uniform(condition), ..place };
                self.block(yes, inner)?;
                self.block(no, inner)?;
            }
            Stmt::Switch(value, cases) => {
                self.expr(value)?;
                let defaults = cases.iter().filter(|case| case.is_default).count();
                ensure(defaults == 1, || "a switch has one default".to_owned())?;
                let inner = Place { can_break: true, is_divergent: true, ..place };
                cases.iter().try_for_each(|case| self.block(&case.body, inner))?;
            }
            Stmt::Loop(inner) => self.looped(inner, place)?,
            Stmt::Block(body) => self.block(body, place)?,
            Stmt::Break => ensure(place.can_break, || "a break outside".to_owned())?,
            Stmt::Continue => ensure(place.can_continue, || "a continue outside".to_owned())?,
            Stmt::Return(value) => {
                ensure(value.as_ref().map(|value| &value.ty) == self.result.as_ref(), || "another result".to_owned())?;
                value.iter().try_for_each(|value| self.stored(value))?;
            }
            Stmt::Phase(phase) => self.phase(phase, place)?,
        }
        Ok(())
    }

    fn assign(&mut self, to: &Expr, op: &str, value: &Expr) -> Checked {
        ensure(!(value.calls() && moves(to)), || "an index beside a call".to_owned())?;
        self.place(to)?;
        if op == "=" {
            return self.stored(value);
        }
        self.expr(value)?;
        // The sum has to be as well defined as if it were written out.
        let op =
            ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"].into_iter().find(|plain| op == format!("{plain}="));
        let whole = Expr::binary(op.unwrap_or("+"), to.ty.clone(), to.clone(), value.clone());
        ensure(sound(&whole) && storable(&whole), || format!("`{}` may round or be refused", whole.text()))
    }

    fn looped(&mut self, inner: &Loop, place: Place) -> Checked {
        self.expr(&inner.rounds)?;
        let most = crate::bound::range(&inner.rounds).map_or(u32::MAX.into(), |(_, high)| high);
        ensure(most <= inner.below.into(), || {
            format!("{} may be more rounds than {}", inner.rounds.text(), inner.below)
        })?;
        let depth = self.names.len();
        self.declare(&inner.counter, &U32, false);
        let is_divergent = place.is_divergent || !self.uniform(&inner.rounds) || inner.break_if.is_some();
        let is_divergent = is_divergent || leaves_round(&inner.body);
        let round = Place { can_break: true, can_continue: true, is_divergent };
        let outside = self.names.len();
        self.open(&inner.body, round)?;
        if leaves_round(&inner.body) {
            // What a `continue` may jump over is not there for the continuing block.
            self.names.truncate(outside);
        }
        ensure(inner.style == Style::Loop || (inner.continuing.is_empty() && inner.break_if.is_none()), || {
            "a continuing block of another loop".to_owned()
        })?;
        let after = Place { is_divergent: true, ..Place::default() };
        self.open(&inner.continuing, after)?;
        // By then it has moved on, and may be at its limit.
        self.names[depth].0.clear();
        inner.break_if.iter().try_for_each(|condition| self.expr(condition))?;
        self.names.truncate(depth);
        Ok(())
    }

    fn phase(&mut self, phase: &Phase, place: Place) -> Checked {
        ensure(self.is_entry && !place.is_divergent, || "a barrier that not all reach".to_owned())?;
        phase.args.iter().try_for_each(|arg| self.stored(arg))?;
        self.block(&phase.body, Place { is_divergent: true, ..Place::default() })?;
        phase.names.iter().for_each(|(name, ty)| self.declare(name, ty, false));
        Ok(())
    }

    /// Whether all invocations of a workgroup agree on a value.
    fn uniform(&self, expr: &Expr) -> bool {
        let here = match &expr.kind {
            Kind::Name(name) => name.starts_with("params.") || name == "wid" || name == "nwg",
            Kind::Counter(..) | Kind::User(_) | Kind::Form(_) | Kind::Deref | Kind::Pointer => false,
            _ => true,
        };
        here && expr.args.iter().all(|arg| self.uniform(arg))
    }

    fn stored(&self, value: &Expr) -> Checked {
        self.expr(value)?;
        ensure(storable(value), || format!("`{}` may be more than a variable holds", value.text()))
    }

    /// A place that may be written.
    fn place(&self, place: &Expr) -> Checked {
        self.expr(place)?;
        let mut root = place;
        while matches!(root.kind, Kind::Index | Kind::Member(_) | Kind::Swizzle(_) | Kind::Deref) {
            root = &root.args[0];
        }
        let found = self.names.iter().rev().find(|(name, ..)| matches!(&root.kind, Kind::Name(own) if own == name));
        ensure(found.is_some_and(|(.., writable)| *writable), || format!("`{}` is not written", place.text()))
    }

    fn expr(&self, expr: &Expr) -> Checked {
        if let Kind::Name(name) | Kind::Constant(name) | Kind::Counter(name, _) = &expr.kind {
            let found = self.names.iter().rev().find(|(known, ..)| known == name);
            ensure(found.is_some_and(|(_, ty, _)| *ty == expr.ty), || format!("`{name}` is not in scope"))?;
        }
        if let Kind::User(name) = &expr.kind {
            let function = self.module.functions[..self.functions].iter().find(|function| function.name == *name);
            let fits = function.is_some_and(|of| of.params.len() == expr.args.len());
            ensure(fits, || format!("`{name}` is no function"))?;
        }
        if let (Kind::Pointer, [of]) = (&expr.kind, &expr.args[..]) {
            self.place(of)?;
        }
        ensure(sound(expr), || format!("`{}` is not well defined", expr.text()))?;
        expr.args.iter().try_for_each(|arg| self.expr(arg))
    }
}

/// Whether where a place is depends on what runs.
fn moves(place: &Expr) -> bool {
    (place.kind == Kind::Index && !place.args[1].is_const()) || place.args.first().is_some_and(moves)
}

/// Whether a statement of this loop's own body leaves a round early.
pub(crate) fn leaves_round(block: &Block) -> bool {
    leaves(block, true, true)
}

/// Whether a block leaves what is around it: by a `break` or a `continue`, where those are its own, or by a `return`.
fn leaves(block: &Block, by_break: bool, by_continue: bool) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::Break => by_break,
        Stmt::Continue => by_continue,
        Stmt::Return(_) => true,
        Stmt::If(_, yes, no) => leaves(yes, by_break, by_continue) || leaves(no, by_break, by_continue),
        Stmt::Switch(_, cases) => cases.iter().any(|case| leaves(&case.body, false, by_continue)),
        Stmt::Block(body) => leaves(body, by_break, by_continue),
        Stmt::Loop(inner) => leaves(&inner.body, false, false),
        _ => false,
    })
}
