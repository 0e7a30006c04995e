//! What a statement without blocks does to variables, and what it asks of the flow that it is in.

use naga::{
    AtomicFunction, Barrier, CollectiveOperation, Direction, Expression, Function, GatherMode, Handle, Span, Statement,
    SubgroupOperation,
};

use super::Rule;
use super::cause::{Cause, Note};
use super::graph::{Level, Node};
use super::operands;
use super::summary::{Input, Output, Requirement, Scope};
use super::value::Root;
use super::walk::{Need, Walk};

impl<'m> Walk<'m> {
    /// The variables that a statement writes.
    pub(super) fn written_by(&self, statement: &Statement) -> Vec<usize> {
        let followed = |pointer| match self.root(pointer) {
            Root::Variable { index, .. } => Some(index),
            Root::Global(_) | Root::Argument(_) | Root::Unknown => None,
        };
        match statement {
            Statement::Store { pointer, .. } => followed(*pointer).into_iter().collect(),
            Statement::Call { function, arguments, .. } => {
                let stored = self.summaries[function.index()].iter().flat_map(|summary| &summary.stored);
                let written = arguments.iter().zip(stored).filter(|(_, stored)| stored.is_some());
                written.filter_map(|(argument, _)| followed(*argument)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Walk one statement.
    pub(super) fn statement(&mut self, statement: &'m Statement, span: Span) {
        match statement {
            Statement::Emit(range) => range.clone().for_each(|handle| self.compute(handle)),
            Statement::Break => self.break_out(),
            Statement::Continue => self.go_on(),
            Statement::Return { value } => {
                if let Some(value) = value {
                    self.graph.edge(self.result, self.values[value.index()]);
                }
                self.graph.edge(self.result, self.flow);
                self.return_from(span);
            }
            Statement::Store { pointer, value } => {
                let value = self.values[value.index()];
                self.store(*pointer, &[value, self.flow], span);
            }
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result, span),
            Statement::ControlBarrier(barrier) => self.barrier(*barrier, span),
            Statement::WorkGroupUniformLoad { pointer, .. } => {
                let pointer = self.values[pointer.index()];
                let need = self.need(Rule::NonUniformBarrier, Scope::Workgroup, "workgroupUniformLoad", span);
                self.require(pointer, Requirement { operand: Some("pointer"), ..need });
            }
            Statement::Atomic { fun, result: Some(result), .. } => {
                let cause = Cause::Operation(atomic_name(*fun), span);
                self.values[result.index()] = self.source(Level::Invocation, cause, &[]);
            }
            Statement::RayQuery { .. } => {
                if let Some(result) = operands::result(statement) {
                    let cause = Cause::Operation("a ray query", span);
                    self.values[result.index()] = self.source(Level::Invocation, cause, &[]);
                }
            }
            Statement::SubgroupBallot { result, .. } => {
                self.subgroup(*result, "subgroupBallot", Level::Subgroup, None, span);
            }
            Statement::SubgroupGather { mode, result, .. } => self.gather(mode, *result, span),
            Statement::SubgroupCollectiveOperation { op, collective_op, result, .. } => {
                let shared = matches!(collective_op, CollectiveOperation::Reduce);
                let level = if shared { Level::Subgroup } else { Level::Invocation };
                self.subgroup(*result, collective_name(*op, *collective_op), level, None, span);
            }
            _ => {}
        }
    }

    /// `parts` are written where a pointer leads.
    fn store(&mut self, pointer: Handle<Expression>, parts: &[Node], span: Span) {
        let Root::Variable { index, whole } = self.root(pointer) else { return };
        let mut parts = parts.to_vec();
        if !whole {
            // The rest of it stays, and which part it was depends on the indices.
            parts.extend([self.variables[index], self.values[pointer.index()]]);
        }
        self.variables[index] = self.graph.join(Note::Stored(self.names[index], span), &parts);
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        span: Span,
    ) {
        let summaries = self.summaries;
        let Some(summary) = &summaries[function.index()] else { return };
        let name = self.module.functions[function].name.as_deref().unwrap_or_default();
        let contents: Vec<Node> = arguments
            .iter()
            .map(|argument| match self.root(*argument) {
                Root::Variable { index, .. } => self.variables[index],
                Root::Global(_) | Root::Argument(_) | Root::Unknown => Node::UNIFORM,
            })
            .collect();
        let values: Vec<Node> = arguments.iter().map(|argument| self.values[argument.index()]).collect();
        let flow = self.flow;
        let given = |input: &Input| match *input {
            Input::Flow => flow,
            Input::Value(argument) => values[argument],
            Input::Contents(argument) => contents[argument],
        };
        for demand in &summary.demands {
            let node = given(&demand.input);
            self.needs.push(Need { node, requirement: demand.requirement, call: Some((name, span)) });
        }
        let given_out = |walk: &mut Self, output: &Output| {
            let parts: Vec<Node> = output.inputs.iter().map(given).collect();
            match output.own {
                Some(level) => walk.source(level, Cause::Call(name, span), &parts),
                None => walk.graph.join(Note::None, &parts),
            }
        };
        for (argument, stored) in arguments.iter().zip(&summary.stored) {
            if let Some(stored) = stored {
                let node = given_out(self, stored);
                self.store(*argument, &[node, flow], span);
            }
        }
        if let (Some(result), Some(output)) = (result, &summary.result) {
            self.values[result.index()] = given_out(self, output);
        }
    }

    fn barrier(&mut self, barrier: Barrier, span: Span) {
        let (scope, operation) = match barrier {
            _ if barrier.contains(Barrier::WORK_GROUP) => (Scope::Workgroup, "workgroupBarrier"),
            _ if barrier.contains(Barrier::STORAGE) => (Scope::Workgroup, "storageBarrier"),
            _ if barrier.contains(Barrier::TEXTURE) => (Scope::Workgroup, "textureBarrier"),
            _ => (Scope::Subgroup, "subgroupBarrier"),
        };
        self.need(Rule::NonUniformBarrier, scope, operation, span);
    }

    fn gather(&mut self, mode: &GatherMode, result: Handle<Expression>, span: Span) {
        let lane = operands::lane(mode).map(|lane| self.values[lane.index()]);
        let (operation, level, operand) = match mode {
            GatherMode::BroadcastFirst => ("subgroupBroadcastFirst", Level::Subgroup, None),
            GatherMode::Broadcast(_) => ("subgroupBroadcast", Level::Subgroup, None),
            GatherMode::Shuffle(_) => ("subgroupShuffle", Level::Invocation, None),
            GatherMode::ShuffleDown(_) => ("subgroupShuffleDown", Level::Invocation, Some("distance")),
            GatherMode::ShuffleUp(_) => ("subgroupShuffleUp", Level::Invocation, Some("distance")),
            GatherMode::ShuffleXor(_) => ("subgroupShuffleXor", Level::Invocation, Some("mask")),
            GatherMode::QuadBroadcast(_) => ("quadBroadcast", Level::Invocation, None),
            GatherMode::QuadSwap(Direction::X) => ("quadSwapX", Level::Invocation, None),
            GatherMode::QuadSwap(Direction::Y) => ("quadSwapY", Level::Invocation, None),
            GatherMode::QuadSwap(Direction::Diagonal) => ("quadSwapDiagonal", Level::Invocation, None),
        };
        self.subgroup(result, operation, level, lane.zip(operand), span);
        if let (Level::Subgroup, Some(lane)) = (level, lane) {
            self.graph.edge(self.values[result.index()], lane);
        }
    }

    /// A subgroup operation, whose result differs so far, and the operand that has to be uniform for it.
    fn subgroup(
        &mut self,
        result: Handle<Expression>,
        operation: &'static str,
        level: Level,
        operand: Option<(Node, &'static str)>,
        span: Span,
    ) {
        if self.subgroups_checked {
            let need = self.need(Rule::NonUniformSubgroup, Scope::Subgroup, operation, span);
            if let Some((node, operand)) = operand {
                self.require(node, Requirement { operand: Some(operand), ..need });
            }
        }
        self.values[result.index()] = self.source(level, Cause::Operation(operation, span), &[]);
    }

    /// An operation asks for uniform flow.
    fn need(&mut self, rule: Rule, scope: Scope, operation: &'static str, span: Span) -> Requirement {
        let requirement = Requirement { rule, scope, operation, span, operand: None, left_by: None };
        self.require(self.flow, requirement);
        requirement
    }

    fn require(&mut self, node: Node, requirement: Requirement) {
        self.needs.push(Need { node, requirement, call: None });
    }
}

fn atomic_name(function: AtomicFunction) -> &'static str {
    match function {
        AtomicFunction::Add => "atomicAdd",
        AtomicFunction::Subtract => "atomicSub",
        AtomicFunction::And => "atomicAnd",
        AtomicFunction::ExclusiveOr => "atomicXor",
        AtomicFunction::InclusiveOr => "atomicOr",
        AtomicFunction::Min => "atomicMin",
        AtomicFunction::Max => "atomicMax",
        AtomicFunction::Exchange { compare: None } => "atomicExchange",
        AtomicFunction::Exchange { compare: Some(_) } => "atomicCompareExchangeWeak",
    }
}

fn collective_name(operation: SubgroupOperation, collective: CollectiveOperation) -> &'static str {
    use CollectiveOperation::{ExclusiveScan, InclusiveScan, Reduce};
    match (operation, collective) {
        (SubgroupOperation::Add, Reduce) => "subgroupAdd",
        (SubgroupOperation::Add, InclusiveScan) => "subgroupInclusiveAdd",
        (SubgroupOperation::Add, ExclusiveScan) => "subgroupExclusiveAdd",
        (SubgroupOperation::Mul, Reduce) => "subgroupMul",
        (SubgroupOperation::Mul, InclusiveScan) => "subgroupInclusiveMul",
        (SubgroupOperation::Mul, ExclusiveScan) => "subgroupExclusiveMul",
        (SubgroupOperation::All, _) => "subgroupAll",
        (SubgroupOperation::Any, _) => "subgroupAny",
        (SubgroupOperation::Min, _) => "subgroupMin",
        (SubgroupOperation::Max, _) => "subgroupMax",
        (SubgroupOperation::And, _) => "subgroupAnd",
        (SubgroupOperation::Or, _) => "subgroupOr",
        (SubgroupOperation::Xor, _) => "subgroupXor",
    }
}
