//! Statements of a function.

use naga::{Barrier, Block, Expression, Handle, Range, Span, Statement, SwitchCase, SwitchValue, TypeInner};

use super::body::{Body, Frame};
use super::bypass;
use super::hoist::hoisted;
use super::literal::literal;
use crate::code::{Case, Expr, Stmt, TemplateArg, Type};
use crate::ir::{self, Space};
use crate::options::Loops;
use crate::refusal::{At, Result};

/// `else if`s that are written into one another, each a block deeper. Longer chains leave by a jump instead.
const CHAIN_MAX: usize = 16;

/// One `if` of a chain: what is computed before it, its condition, and its block.
struct Link<'b> {
    before: Vec<Stmt>,
    condition: Expr,
    accept: &'b Block,
}

impl Body<'_> {
    /// The statements of a block.
    pub(crate) fn block(&mut self, block: &Block) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        for (statement, span) in block.span_iter() {
            self.statement(statement, *span, &mut out)?;
        }
        Ok(out)
    }

    fn mark(&self, span: Span, out: &mut Vec<Stmt>) {
        if self.writer.options.file.is_some() {
            out.extend(self.writer.lines.line(span).map(Stmt::Line));
        }
    }

    fn statement(&mut self, statement: &Statement, span: Span, out: &mut Vec<Stmt>) -> Result<()> {
        ir::flow(statement).at(span)?;
        if !matches!(statement, Statement::Emit(_) | Statement::Block(_)) {
            self.mark(span, out);
        }
        match statement {
            Statement::Emit(range) => self.emit(range, out)?,
            Statement::Block(block) => {
                let inner = self.block(block)?;
                out.extend(inner);
            }
            Statement::If { condition, accept, reject } => self.branch(*condition, accept, reject, out)?,
            Statement::Switch { selector, cases } => self.switch(*selector, cases, out)?,
            Statement::Loop { body, continuing, break_if } => self.repeat(body, continuing, *break_if, out)?,
            Statement::Break => out.push(Stmt::Break),
            Statement::Continue => out.push(self.go_on()),
            Statement::Return { value } => {
                let value = value.map(|value| self.value(value)).transpose()?;
                out.push(Stmt::Return(value));
            }
            Statement::ControlBarrier(barrier) => out.push(Stmt::Do(meet(*barrier))),
            Statement::Store { pointer, value } => {
                let store = self.store(*pointer, *value)?;
                out.push(store);
            }
            Statement::Atomic { pointer, fun, value, result } => self.atomic(*pointer, *fun, *value, *result, out)?,
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let value = match self.inner(*pointer) {
                    TypeInner::Atomic(_) => Expr::helper("atomic_load", [self.whole(*pointer)?]),
                    _ => self.whole(*pointer)?,
                };
                out.push(Stmt::Do(Expr::helper("barrier", [])));
                // A load that nothing reads would be a statement without effect.
                if self.info[*result].ref_count > 0 {
                    self.define(*result, value, out)?;
                }
                out.push(Stmt::Do(Expr::helper("barrier", [])));
            }
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result, out)?,
            Statement::SubgroupBallot { result, predicate } => {
                let predicate = match predicate {
                    Some(predicate) => self.value(*predicate)?,
                    None => Expr::Literal("true".to_owned()),
                };
                let value = self.in_subgroup("subgroup_ballot", vec![predicate]);
                self.define(*result, value, out)?;
            }
            Statement::SubgroupGather { mode, argument, result } => {
                let (name, with) = ir::gather(*mode);
                let mut args = vec![self.value(*argument)?];
                args.extend(with.map(|with| self.value(with)).transpose()?);
                let value = self.in_subgroup(name, args);
                self.define(*result, value, out)?;
            }
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                let name = ir::collective(*op, *collective_op).at(span)?;
                let value = self.in_subgroup(name, vec![self.value(*argument)?]);
                self.define(*result, value, out)?;
            }
            // Everything else was refused above.
            _ => {}
        }
        Ok(())
    }

    fn emit(&mut self, range: &Range<Expression>, out: &mut Vec<Stmt>) -> Result<()> {
        for handle in range.clone() {
            if self.planned[handle.index()] {
                self.mark(self.span(handle), out);
                let value = self.compute(handle)?;
                self.define(handle, value, out)?;
            }
        }
        Ok(())
    }

    /// The next round of the innermost loop.
    fn go_on(&mut self) -> Stmt {
        match self.frames.last_mut() {
            Some(Frame { label: Some(label), continued }) => {
                *continued = true;
                Stmt::Goto(label.clone())
            }
            _ => Stmt::Continue,
        }
    }

    fn branch(
        &mut self,
        condition: Handle<Expression>,
        accept: &Block,
        reject: &Block,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut links = vec![Link { before: Vec::new(), condition: self.value(condition)?, accept }];
        let mut rest = reject;
        // An `else` of expressions and one `if` is an `else if`.
        while let Some((Statement::If { condition, accept, reject }, before)) = rest.split_last() {
            if !before.iter().all(|statement| matches!(statement, Statement::Emit(_))) {
                break;
            }
            let mut computed = Vec::new();
            for statement in before {
                if let Statement::Emit(range) = statement {
                    self.emit(range, &mut computed)?;
                }
            }
            links.push(Link { before: computed, condition: self.value(*condition)?, accept });
            rest = reject;
        }
        if links.len() > CHAIN_MAX { self.long_chain(links, rest, out) } else { self.chain(links, rest, out) }
    }

    fn chain(&mut self, links: Vec<Link<'_>>, rest: &Block, out: &mut Vec<Stmt>) -> Result<()> {
        let accepts = links.iter().map(|link| self.block(link.accept)).collect::<Result<Vec<_>>>()?;
        let mut reject = self.block(rest)?;
        for (link, accept) in links.into_iter().zip(accepts).rev() {
            let mut stmts = link.before;
            stmts.push(if accept.is_empty() && !reject.is_empty() {
                Stmt::If(negated(link.condition), std::mem::take(&mut reject), Vec::new())
            } else {
                Stmt::If(link.condition, accept, std::mem::take(&mut reject))
            });
            reject = stmts;
        }
        out.append(&mut reject);
        Ok(())
    }

    /// A chain as `if`s in a row, each of which leaves the block.
    fn long_chain(&mut self, links: Vec<Link<'_>>, rest: &Block, out: &mut Vec<Stmt>) -> Result<()> {
        let end = self.writer.names.fresh("done");
        let mut stmts = Vec::new();
        for link in links {
            stmts.extend(link.before);
            let mut accept = self.block(link.accept)?;
            accept.push(Stmt::Goto(end.clone()));
            stmts.push(Stmt::If(link.condition, accept, Vec::new()));
        }
        stmts.extend(self.block(rest)?);
        out.extend([Stmt::Block(stmts), Stmt::Label(end)]);
        Ok(())
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &[SwitchCase], out: &mut Vec<Stmt>) -> Result<()> {
        let selector_value = self.value(selector)?;
        let mut values = Vec::new();
        let mut written = Vec::new();
        for case in cases {
            values.push(match case.value {
                SwitchValue::I32(value) => Some(literal(naga::Literal::I32(value))?),
                SwitchValue::U32(value) => Some(literal(naga::Literal::U32(value))?),
                SwitchValue::Default => None,
            });
            if case.fall_through && case.body.is_empty() {
                continue;
            }
            let body = self.block(&case.body)?;
            let leaves = matches!(body.last(), Some(Stmt::Break | Stmt::Continue | Stmt::Return(_) | Stmt::Goto(_)));
            let falls = case.fall_through || leaves;
            written.push(Case { values: std::mem::take(&mut values), body, falls });
        }
        out.push(Stmt::Switch(selector_value, written));
        Ok(())
    }

    fn repeat(
        &mut self,
        body: &Block,
        continuing: &Block,
        break_if: Option<Handle<Expression>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        bypass::check(self.function, body, continuing, break_if)?;
        for handle in hoisted(self.function, &self.planned, body, continuing, break_if) {
            self.declare(handle, out)?;
        }
        let mut rounds = self.bound(out)?;
        let goes_on = !continuing.is_empty() || break_if.is_some();
        let label = goes_on.then(|| self.writer.names.fresh("next"));
        self.frames.push(Frame { label: label.clone(), continued: false });
        let mut inner = self.block(body)?;
        let continued = self.frames.pop().is_some_and(|frame| frame.continued);
        // `break if` and `continuing` have no `continue` of their own; a loop within them has its own frame.
        let mut after = self.block(continuing)?;
        if let Some(condition) = break_if {
            after.push(Stmt::If(self.value(condition)?, vec![Stmt::Break], Vec::new()));
        }
        match label.filter(|_| continued) {
            // A jump may leave a scope, and may not enter the life of a variable: hence a block around the body.
            Some(label) => rounds.extend([Stmt::Block(inner), Stmt::Label(label)]),
            None => rounds.append(&mut inner),
        }
        rounds.append(&mut after);
        out.push(Stmt::Loop(rounds));
        Ok(())
    }

    /// What bounds the rounds of a loop that nothing is known of: compilers take loops that do nothing for loops that end, and
    /// would drop the checks that follow.
    fn bound(&mut self, out: &mut Vec<Stmt>) -> Result<Vec<Stmt>> {
        let Loops::Bounded { rounds } = self.writer.options.loops else { return Ok(Vec::new()) };
        let left = self.writer.names.fresh("rounds_left");
        let number = |value: u64| literal(naga::Literal::U64(value));
        out.push(Stmt::Var(Type::Scalar("u64"), left.clone(), number(rounds)?));
        let left = Expr::name(left);
        Ok(vec![
            Stmt::If(Expr::binary("==", left.clone(), number(0)?), vec![Stmt::Break], Vec::new()),
            Stmt::Assign(left.clone(), Expr::binary("-", left, number(1)?)),
        ])
    }

    fn store(&self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<Stmt> {
        let (place, value) = (self.whole(pointer)?, self.value(value)?);
        let (space, volatile) = self.space_of(pointer);
        let shared = matches!(space, Space::Storage | Space::Workgroup);
        let padded = self.declared_type(pointer).filter(|ty| self.writer.layout.has_holes(*ty));
        Ok(match self.inner(pointer) {
            TypeInner::Atomic(_) => Stmt::Do(Expr::helper("atomic_store", [place, value])),
            TypeInner::Scalar(_) | TypeInner::Vector { .. } | TypeInner::ValuePointer { .. } if volatile => {
                Stmt::Do(Expr::helper("volatile_store", [place, value]))
            }
            _ => match padded.filter(|_| shared) {
                Some(ty) => self.writer.put(ty, place, value),
                None => Stmt::Assign(place, value),
            },
        })
    }

    fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: naga::AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (name, compare) = ir::atomic(fun);
        let mut args = vec![self.whole(pointer)?];
        args.extend(compare.map(|compare| self.value(compare)).transpose()?);
        args.push(self.value(value)?);
        let of = match (compare, result) {
            (Some(_), Some(result)) => vec![TemplateArg::Type(self.ty(result)?)],
            _ => Vec::new(),
        };
        let call = Expr::Helper(name, of, args);
        match result {
            Some(result) => self.define(result, call, out)?,
            None => out.push(Stmt::Do(call)),
        }
        Ok(())
    }

    fn call(
        &mut self,
        function: Handle<naga::Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let writer = self.writer;
        let mut args = arguments.iter().map(|argument| self.whole(*argument)).collect::<Result<Vec<_>>>()?;
        let uses = &writer.info[function];
        for (handle, _) in writer.module.global_variables.iter() {
            if uses[handle].is_empty() {
                continue;
            }
            let global = &writer.globals[handle.index()];
            args.push(match &self.globals[handle.index()] {
                // What is taken by its address is passed on by it.
                Expr::Unary("*", pointer) => (**pointer).clone(),
                value => value.clone(),
            });
            args.extend(global.length.clone().map(Expr::name));
        }
        let call = Expr::Call(writer.names.of(naga::proc::NameKey::Function(function)), args);
        match result {
            Some(result) => self.define(result, call, out)?,
            None => out.push(Stmt::Do(call)),
        }
        Ok(())
    }

    /// A function of the prelude that has to know which invocations of a subgroup there are.
    fn in_subgroup(&self, name: &'static str, args: Vec<Expr>) -> Expr {
        Expr::Helper(name, self.writer.size_args(), args)
    }
}

fn meet(barrier: Barrier) -> Expr {
    // A barrier of the workgroup orders what one of the subgroup does, and more.
    let name = if barrier == Barrier::SUB_GROUP { "subgroup_barrier" } else { "barrier" };
    Expr::helper(name, [])
}

/// The opposite of a condition: comparisons of integers turn around, which floats do not where one is NaN.
fn negated(condition: Expr) -> Expr {
    match condition {
        Expr::Unary("!", inner) => *inner,
        other => other.not(),
    }
}
