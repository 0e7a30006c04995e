//! Makes a kernel that fails small: less of everything for as long as it still fails.

use crate::Kernel;
use crate::expr::{Expr, Kind, Number};
use crate::module::Role;
use crate::shape::{Scalar, Type};
use crate::stmt::{Block, Stmt};

/// How many smaller kernels are tried at most.
const TRIES: usize = 600;

struct Search<F> {
    best: Kernel,
    still_fails: F,
    tries: usize,
}

/// The smallest kernel found for which `still_fails` holds, asked at most 600 times. Every kernel that it is asked for passes
/// [`Kernel::check`].
pub fn shrink(kernel: Kernel, still_fails: impl FnMut(&Kernel) -> bool) -> Kernel {
    let mut search = Search { best: kernel, still_fails, tries: 0 };
    loop {
        let before = search.best.clone();
        search.sizes();
        search.statements();
        search.expressions();
        if search.best == before || search.tries >= TRIES {
            return search.best;
        }
    }
}

impl<F: FnMut(&Kernel) -> bool> Search<F> {
    /// Keep the change if the kernel stays well defined and still fails. False where `change` had nothing to do, too.
    fn attempt(&mut self, change: impl FnOnce(&mut Kernel) -> bool) -> bool {
        if self.tries >= TRIES {
            return false;
        }
        let mut smaller = self.best.clone();
        if !change(&mut smaller) || smaller == self.best || smaller.check().is_err() {
            return false;
        }
        self.tries += 1;
        let fails = (self.still_fails)(&smaller);
        if fails {
            self.best = smaller;
        }
        fails
    }

    /// Fewer workgroups and invocations, shorter inputs.
    fn sizes(&mut self) {
        for axis in 0..3 {
            self.attempt(|kernel| {
                kernel.module.groups[axis] = 1;
                true
            });
            while self.attempt(|kernel| {
                let side = &mut kernel.module.workgroup[axis];
                *side = (*side / 2).max(1);
                true
            }) {}
        }
        self.attempt(|kernel| {
            kernel.module.idle = 0;
            true
        });
        for number in 0..self.best.module.buffers.len() {
            while self.attempt(|kernel| {
                // The first input is read at fixed places too, so that it keeps its length.
                let buffer = &mut kernel.module.buffers[number];
                match &mut buffer.role {
                    Role::Input(len) if buffer.name != "in0" => *len = (*len / 2).max(1),
                    _ => return false,
                }
                true
            }) {}
        }
    }

    /// Drop statements, large parts first, and put the inside of a block in its place.
    fn statements(&mut self) {
        for function in 0..=self.best.module.functions.len() {
            let mut size = count(body(&mut self.best.clone(), function));
            while size > 0 {
                let mut at = 0;
                while at < count(body(&mut self.best.clone(), function)) {
                    let dropped = self.attempt(|kernel| drop_at(body(kernel, function), &mut at.clone(), size));
                    if !dropped
                        && size == 1
                        && !self.attempt(|kernel| unwrap_at(body(kernel, function), &mut at.clone()))
                    {
                        at += 1;
                    } else if !dropped && size > 1 {
                        at += size;
                    }
                    if self.tries >= TRIES {
                        return;
                    }
                }
                size /= 2;
            }
        }
    }

    /// Put operands or plain values in the place of expressions.
    fn expressions(&mut self) {
        for function in 0..=self.best.module.functions.len() {
            let mut at = 0;
            loop {
                let mut probe = self.best.clone();
                let mut left = at;
                let Some(found) = nth(body(&mut probe, function), &mut left).cloned() else { break };
                let replaced = smaller(&found).into_iter().any(|new| {
                    self.attempt(|kernel| {
                        let mut left = at;
                        nth(body(kernel, function), &mut left).is_some_and(|place| {
                            *place = new;
                            true
                        })
                    })
                });
                if !replaced {
                    at += 1;
                }
                if self.tries >= TRIES {
                    return;
                }
            }
        }
    }
}

/// The body of a function; the entry point is the last.
fn body(kernel: &mut Kernel, function: usize) -> &mut Block {
    let module = &mut kernel.module;
    match module.functions.get_mut(function) {
        Some(function) => &mut function.body,
        None => &mut module.body,
    }
}

fn count(block: &mut Block) -> usize {
    block.iter_mut().map(|stmt| 1 + stmt.blocks_mut().into_iter().map(count).sum::<usize>()).sum()
}

/// Drop up to `size` statements of one block from the statement that is `at` in order. Whether there was one.
fn drop_at(block: &mut Block, at: &mut usize, size: usize) -> bool {
    for k in 0..block.len() {
        if *at == 0 {
            block.drain(k..(k + size).min(block.len()));
            return true;
        }
        *at -= 1;
        if block[k].blocks_mut().into_iter().any(|inner| drop_at(inner, at, size)) {
            return true;
        }
    }
    false
}

/// Put the blocks inside a statement in its place.
fn unwrap_at(block: &mut Block, at: &mut usize) -> bool {
    for k in 0..block.len() {
        if *at == 0 {
            let inner: Vec<Stmt> = block[k].blocks_mut().into_iter().flat_map(std::mem::take).collect();
            let some = !inner.is_empty();
            block.splice(k..=k, inner);
            return some;
        }
        *at -= 1;
        if block[k].blocks_mut().into_iter().any(|inner| unwrap_at(inner, at)) {
            return true;
        }
    }
    false
}

/// The expression that is `left` in order, outer ones first.
fn nth<'a>(block: &'a mut Block, left: &mut usize) -> Option<&'a mut Expr> {
    for stmt in block {
        // Two passes, since one borrow of the statement ends with the other's beginning.
        let own: usize = stmt.exprs_mut().into_iter().map(|expr| nodes(expr)).sum();
        if *left < own {
            for expr in stmt.exprs_mut() {
                let size = nodes(expr);
                if *left < size {
                    return node(expr, left);
                }
                *left -= size;
            }
            return None;
        }
        *left -= own;
        for inner in stmt.blocks_mut() {
            if let Some(found) = nth(inner, left) {
                return Some(found);
            }
        }
    }
    None
}

fn nodes(expr: &Expr) -> usize {
    1 + expr.args.iter().map(nodes).sum::<usize>()
}

fn node<'a>(expr: &'a mut Expr, left: &mut usize) -> Option<&'a mut Expr> {
    if *left == 0 {
        return Some(expr);
    }
    *left -= 1;
    for arg in &mut expr.args {
        let size = nodes(arg);
        if *left < size {
            return node(arg, left);
        }
        *left -= size;
    }
    None
}

/// What may stand for an expression and is smaller: a literal, or a part that has its type.
fn smaller(expr: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    if expr.kind == Kind::Pointer {
        return found;
    }
    let is_plain =
        matches!(expr.kind, Kind::Literal(_)) || (expr.args.is_empty() && matches!(expr.kind, Kind::Call(_)));
    if !is_plain {
        found.push(match &expr.ty {
            Type::Scalar(scalar) => {
                let number = match scalar {
                    Scalar::Bool => Number::Bool(false),
                    scalar if scalar.is_float() => Number::Float(1.0),
                    _ => Number::Int(1),
                };
                Expr::new(Kind::Literal(number), expr.ty.clone(), Vec::new())
            }
            ty => Expr::zero(ty.clone()),
        });
    }
    parts(expr, &expr.ty, &mut found);
    found
}

/// Operands, at any depth, of a type; the nearest first.
fn parts(expr: &Expr, ty: &Type, to: &mut Vec<Expr>) {
    if expr.kind == Kind::Deref {
        // What is inside is a pointer, though it is written down with the type that it points to.
        return;
    }
    for arg in expr.args.iter().filter(|arg| arg.ty == *ty && !matches!(arg.kind, Kind::Pointer)) {
        to.push(arg.clone());
    }
    if to.len() < 6 {
        expr.args.iter().for_each(|arg| parts(arg, ty, to));
    }
}
