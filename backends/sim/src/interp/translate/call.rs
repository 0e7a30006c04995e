//! Calls, returns, the entry point's arguments, and subgroup operations.

use naga::{
    Binding, Block, BuiltIn, CollectiveOperation, Direction, Expression, Function, GatherMode, GlobalVariable, Handle,
    Statement, SubgroupOperation, TypeInner,
};

use super::body::Body;
use super::{GlobalPlace, Translator};
use crate::interp::access;
use crate::interp::constant::Kept;
use crate::interp::control;
use crate::interp::inst::Inst;
use crate::interp::ops::{self, Join};
use crate::interp::program::Wait;
use crate::interp::refusal::{Refusal, unsupported};
use crate::interp::subgroup::{Exchange, From, Meeting, Scan};

/// The functions that a block calls.
fn calls(block: &Block, found: &mut Vec<Handle<Function>>) {
    for statement in block.iter() {
        match statement {
            Statement::Call { function, .. } => found.push(*function),
            Statement::Block(block) => calls(block, found),
            Statement::If { accept, reject, .. } => {
                calls(accept, found);
                calls(reject, found);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| calls(&case.body, found)),
            Statement::Loop { body, continuing, .. } => {
                calls(body, found);
                calls(continuing, found);
            }
            _ => {}
        }
    }
}

impl Translator<'_> {
    /// The first slot that a function may have: above those of all that it calls.
    pub(super) fn first_free(&self, function: &Function) -> u32 {
        let mut found = Vec::new();
        calls(&function.body, &mut found);
        found.into_iter().map(|handle| self.functions[handle.index()].top).fold(self.private.1, u32::max)
    }
}

impl Body<'_, '_> {
    /// Translate the entry point: the slots of an invocation, and where its builtins go.
    pub(super) fn entry(
        mut self,
        inits: &[(Handle<GlobalVariable>, Kept)],
    ) -> Result<(u32, Vec<(BuiltIn, u32)>), Refusal> {
        let mut builtins = Vec::new();
        let function = self.function;
        for (argument, slot) in function.arguments.iter().zip(self.arguments.clone()) {
            if let Some(Binding::BuiltIn(builtin)) = argument.binding {
                builtins.push((builtin, slot));
            } else if let TypeInner::Struct { members, .. } = &self.t.module.types[argument.ty].inner {
                let mut slot = slot;
                for member in members {
                    if let Some(Binding::BuiltIn(builtin)) = member.binding {
                        builtins.push((builtin, slot));
                    }
                    slot += self.t.layout.slots(member.ty);
                }
            }
        }
        for (handle, kept) in inits {
            let GlobalPlace::Lane(dst) = self.t.globals[handle.index()] else { continue };
            let n = self.t.layout.slots(self.t.module.global_variables[*handle].ty);
            match *kept {
                Kept::Zero => self.zero(dst, n),
                Kept::Pool(slot) => self.copy(dst, slot, n),
                Kept::Table(b) => {
                    self.inst(Inst { dst, a: 0, b, c: 0, n, m: 0, run: access::TABLE });
                }
            }
        }
        Ok((self.begin()?, builtins))
    }

    pub(super) fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<(), Refusal> {
        let place = self.t.functions[function.index()].clone();
        self.unborrow_all()?;
        for (argument, dst) in arguments.iter().zip(&place.arguments) {
            if self.is_pointer(*argument)? {
                let address = self.address(*argument)?;
                self.copy(*dst, address, 1);
            } else {
                let n = self.len(*argument)?;
                self.copy_to(*argument, *dst, n)?;
            }
        }
        let (a, b, n) = (place.back, place.start, place.cost);
        self.inst(Inst { dst: 0, a, b, c: 0, n, m: 0, run: control::CALL });
        if let Some(result) = result {
            let n = self.len(result)?;
            let dst = self.temp(n)?;
            self.copy(dst, place.result, n);
            self.set(result, dst, n);
        }
        Ok(())
    }

    /// Return from the function, or end the invocation.
    pub(super) fn leave(&mut self, value: Option<Handle<Expression>>) -> Result<(), Refusal> {
        match self.back {
            Some(back) => {
                if let Some(value) = value {
                    let n = self.len(value)?;
                    self.copy_to(value, self.result, n)?;
                }
                self.jump(control::RETURN, back, 0);
            }
            None => {
                self.jump(control::END, 0, 0);
            }
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        meeting: Meeting,
        argument: Option<Handle<Expression>>,
        result: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let argument = argument.map(|argument| self.slot(argument)).transpose()?.unwrap_or(0);
        let n = self.len(result)?;
        let dst = self.temp(n)?;
        self.wait(Wait::Subgroup(Exchange { meeting, argument, n, dst }));
        self.set(result, dst, n);
        Ok(())
    }

    pub(super) fn ballot(
        &mut self,
        result: Handle<Expression>,
        predicate: Option<Handle<Expression>>,
    ) -> Result<(), Refusal> {
        self.exchange(Meeting::Ballot { all: predicate.is_none() }, predicate, result)
    }

    pub(super) fn gather(
        &mut self,
        mode: GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let from = match mode {
            GatherMode::BroadcastFirst => From::First,
            GatherMode::Broadcast(index) | GatherMode::Shuffle(index) => From::Lane(self.slot(index)?),
            GatherMode::ShuffleDown(delta) => From::Down(self.slot(delta)?),
            GatherMode::ShuffleUp(delta) => From::Up(self.slot(delta)?),
            GatherMode::ShuffleXor(mask) => From::Xor(self.slot(mask)?),
            GatherMode::QuadBroadcast(index) => From::Quad(self.slot(index)?),
            GatherMode::QuadSwap(Direction::X) => From::QuadXor(1),
            GatherMode::QuadSwap(Direction::Y) => From::QuadXor(2),
            GatherMode::QuadSwap(Direction::Diagonal) => From::QuadXor(3),
        };
        self.exchange(Meeting::Gather(from), Some(argument), result)
    }

    pub(super) fn collective(
        &mut self,
        op: SubgroupOperation,
        collective: CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Refusal> {
        let kind = self.kind_of(argument)?;
        let join = match op {
            SubgroupOperation::All | SubgroupOperation::And => Join::And,
            SubgroupOperation::Any | SubgroupOperation::Or => Join::Or,
            SubgroupOperation::Add => Join::Add,
            SubgroupOperation::Mul => Join::Multiply,
            SubgroupOperation::Min => Join::Min,
            SubgroupOperation::Max => Join::Max,
            SubgroupOperation::Xor => Join::Xor,
        };
        let two =
            ops::two(join, kind).ok_or_else(|| unsupported("a subgroup operation that its type does not have"))?;
        let scan = match collective {
            CollectiveOperation::Reduce => Scan::Reduce,
            CollectiveOperation::InclusiveScan => Scan::Inclusive,
            CollectiveOperation::ExclusiveScan => {
                let neutral = if op == SubgroupOperation::Mul { kind.one() } else { 0 };
                Scan::Exclusive { neutral }
            }
        };
        self.exchange(Meeting::Collective { two, scan }, Some(argument), result)
    }
}
