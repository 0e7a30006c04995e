//! Statements: the one place that names each of them, and control flow as jumps.

use naga::{Barrier, Block, Expression, Handle, Statement, SwitchCase, SwitchValue};

use super::body::{Body, Exits};
use crate::interp::control;
use crate::interp::inst::{Inst, Run};
use crate::interp::program::Wait;
use crate::interp::refusal::{Refusal, unsupported};
use crate::interp::subgroup::{Exchange, Meeting};

/// A statement of no kernel of buffers and scalars.
fn foreign(what: &str) -> Refusal {
    unsupported(format!("{what}, which a kernel of buffers and scalars has no use for"))
}

/// The two jumps of a condition, and their operands.
#[derive(Clone, Copy)]
struct Test {
    when: Run,
    unless: Run,
    a: u32,
    c: u32,
}

impl Test {
    const ALWAYS: Self = Self { when: control::JUMP, unless: control::JUMP, a: 0, c: 0 };
}

impl Body<'_, '_> {
    /// The statements of a block, whose values end with it.
    pub(super) fn block(&mut self, block: &Block) -> Result<(), Refusal> {
        let top = self.top();
        self.statements(block)?;
        self.release_to(top);
        Ok(())
    }

    fn statements(&mut self, block: &Block) -> Result<(), Refusal> {
        for (statement, span) in block.span_iter() {
            self.at(*span);
            let line = self.line;
            self.statement(statement).map_err(|refusal| Refusal { line: refusal.line.max(line), ..refusal })?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Refusal> {
        match statement {
            Statement::Emit(range) => range.clone().try_for_each(|handle| {
                self.at(self.function.expressions.get_span(handle));
                self.emit(handle)
            }),
            Statement::Block(block) => {
                self.unborrow_all()?;
                self.block(block)
            }
            Statement::If { condition, accept, reject } => self.branch(*condition, accept, reject),
            Statement::Switch { selector, cases } => self.switch(*selector, cases),
            Statement::Loop { body, continuing, break_if } => self.repeat(body, continuing, *break_if),
            Statement::Break => self.exit(&Statement::Break, control::JUMP, Test::ALWAYS),
            Statement::Continue => self.exit(&Statement::Continue, control::JUMP, Test::ALWAYS),
            Statement::Return { value } => self.leave(*value),
            Statement::ControlBarrier(flags) => self.barrier(*flags),
            Statement::MemoryBarrier(_) => Ok(()),
            Statement::Store { pointer, value } => self.store(*pointer, *value),
            Statement::Atomic { pointer, fun, value, result } => self.atomic(*pointer, *fun, *value, *result),
            Statement::WorkGroupUniformLoad { pointer, result } => self.uniform_load(*pointer, *result),
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result),
            Statement::SubgroupBallot { result, predicate } => self.ballot(*result, *predicate),
            Statement::SubgroupGather { mode, argument, result } => self.gather(*mode, *argument, *result),
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                self.collective(*op, *collective_op, *argument, *result)
            }
            Statement::Kill => Err(foreign("`discard`")),
            Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => Err(foreign("a texture")),
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => Err(foreign("a ray query")),
            Statement::CooperativeStore { .. } => Err(foreign("a cooperative matrix")),
        }
    }

    /// Append a jump to a place that is not known yet. What `a` and `c` are is up to it.
    pub(super) fn jump(&mut self, run: Run, a: u32, c: u32) -> usize {
        self.inst(Inst { dst: 0, a, b: 0, c, n: 0, m: 0, run })
    }

    /// Leave a loop or switch, or go on with its next round, if the jump's operands say so.
    fn exit(&mut self, statement: &Statement, run: Run, test: Test) -> Result<(), Refusal> {
        let pc = self.jump(run, test.a, test.c);
        let outside = || unsupported("a jump out of no loop");
        if matches!(statement, Statement::Break) {
            self.exits.last_mut().ok_or_else(outside)?.breaks.push(pc);
        } else {
            let around = self.exits.iter_mut().rev().find(|exits| exits.is_loop);
            around.ok_or_else(outside)?.continues.push(pc);
        }
        Ok(())
    }

    /// A condition as a jump. A comparison that was just made, and that nothing else uses, is made by the jump itself.
    fn test(&mut self, condition: Handle<Expression>) -> Result<Test, Refusal> {
        let slot = self.slot(condition)?;
        if let Some((inst, op, kind)) = self.last_test(condition, slot)
            && let Some((when, unless)) = control::tests(op, kind)
        {
            self.drop_last();
            return Ok(Test { when, unless, a: inst.a, c: inst.b });
        }
        Ok(Test { when: control::JUMP_TRUE, unless: control::JUMP_FALSE, a: slot, c: 0 })
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &Block, reject: &Block) -> Result<(), Refusal> {
        let test = self.test(condition)?;
        self.unborrow_all()?;
        // A loop's condition is a branch around a `break`: one jump does it.
        match (&accept[..], &reject[..]) {
            ([], [leave @ (Statement::Break | Statement::Continue)]) => return self.exit(leave, test.unless, test),
            ([leave @ (Statement::Break | Statement::Continue)], []) => return self.exit(leave, test.when, test),
            _ => {}
        }
        let to_reject = self.jump(test.unless, test.a, test.c);
        self.block(accept)?;
        if reject.is_empty() {
            self.land(vec![to_reject]);
            return Ok(());
        }
        let to_end = self.jump(control::JUMP, 0, 0);
        self.land(vec![to_reject]);
        self.block(reject)?;
        self.land(vec![to_end]);
        Ok(())
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &[SwitchCase]) -> Result<(), Refusal> {
        let selector = self.slot(selector)?;
        self.unborrow_all()?;
        let mut to_cases = Vec::with_capacity(cases.len());
        for case in cases {
            let value = match case.value {
                SwitchValue::I32(value) => value as u32,
                SwitchValue::U32(value) => value,
                SwitchValue::Default => {
                    to_cases.push(None);
                    continue;
                }
            };
            let run = control::JUMP_EQUAL;
            to_cases.push(Some(self.inst(Inst { dst: 0, a: selector, b: 0, c: value, n: 0, m: 0, run })));
        }
        let to_default = self.jump(control::JUMP, 0, 0);
        let mut default = Some(to_default);
        self.exits.push(Exits::default());
        for (case, to_case) in cases.iter().zip(to_cases) {
            self.land(to_case.or_else(|| default.take()).into_iter().collect());
            self.block(&case.body)?;
            if !case.fall_through {
                self.exit(&Statement::Break, control::JUMP, Test::ALWAYS)?;
            }
        }
        let exits = self.exits.pop().unwrap_or_default();
        self.land(exits.breaks.into_iter().chain(default).collect());
        Ok(())
    }

    fn repeat(
        &mut self,
        body: &Block,
        continuing: &Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<(), Refusal> {
        self.unborrow_all()?;
        let (top, head) = (self.top(), self.label());
        self.exits.push(Exits { is_loop: true, ..Exits::default() });
        self.statements(body)?;
        // Values of the body may be used to the end of the round, and others came here by `continue`.
        self.unborrow_all()?;
        let continues = self.exits.last_mut().map(|exits| std::mem::take(&mut exits.continues));
        self.land(continues.unwrap_or_default());
        self.statements(continuing)?;
        let (run, a) = match break_if {
            Some(condition) => (control::BACK_FALSE, self.slot(condition)?),
            None => (control::BACK, 0),
        };
        let steps = u32::try_from(self.t.code.len() + 1).expect("a text has fewer instructions") - head;
        self.inst(Inst { dst: 0, a, b: head, c: 0, n: steps, m: 0, run });
        self.release_to(top);
        let exits = self.exits.pop().unwrap_or_default();
        self.land(exits.breaks);
        Ok(())
    }

    /// Wait for other invocations.
    pub(super) fn wait(&mut self, wait: Wait) {
        self.t.tables.waits.push(wait);
        let a = u32::try_from(self.t.tables.waits.len() - 1).expect("a text has fewer statements");
        self.jump(control::WAIT, a, 0);
    }

    fn barrier(&mut self, flags: Barrier) -> Result<(), Refusal> {
        if flags.contains(Barrier::TEXTURE) {
            return Err(foreign("a texture"));
        }
        let (storage, workgroup) = (flags.contains(Barrier::STORAGE), flags.contains(Barrier::WORK_GROUP));
        self.wait(if storage || workgroup {
            Wait::Barrier { storage, workgroup }
        } else {
            Wait::Subgroup(Exchange { meeting: Meeting::Barrier, argument: 0, n: 0, dst: 0 })
        });
        Ok(())
    }
}
