//! From a function to its graph, by the uniformity rules of the WGSL specification: flow and variables are followed through the
//! body in the order of the text.

use naga::{Expression, Function, Handle, Module, Span};

use super::cause::{Cause, Note};
use super::graph::{Graph, Node};
use super::steps::{self, Step};
use super::summary::{Requirement, Summary};

/// Writes that are looked at in all to find which variables a statement with blocks writes: more than 600 levels, the deepest that
/// naga reads, of 10,000 writes.
const LOOKS_MAX: usize = 1 << 25;

/// How a part of a body may be left.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Behaviour {
    /// By its end.
    next: bool,
    breaks: bool,
    continues: bool,
    /// By this `return`, the first of them.
    returns: Option<Span>,
}

impl Behaviour {
    const NEXT: Self = Self { next: true, breaks: false, continues: false, returns: None };
    const BREAK: Self = Self { next: false, breaks: true, continues: false, returns: None };
    const CONTINUE: Self = Self { next: false, breaks: false, continues: true, returns: None };

    /// This, and then that.
    fn then(self, that: Self) -> Self {
        if self.next { Self { next: that.next, ..self.or(that) } } else { self }
    }

    /// This or that.
    fn or(self, that: Self) -> Self {
        Self {
            next: self.next || that.next,
            breaks: self.breaks || that.breaks,
            continues: self.continues || that.continues,
            returns: self.returns.or(that.returns),
        }
    }
}

/// What a statement with blocks is.
enum Kind {
    /// An `if`, with two arms.
    If,
    /// A `switch`, with an arm for each case.
    Switch,
    /// A loop: what its variables are at its head and at its `continuing`.
    Loop { head: Vec<Node>, head_flow: Node, continuing: Vec<Node> },
}

/// A statement with blocks that was begun.
struct Frame {
    kind: Kind,
    /// Variables that are written in it, and what they are where it begins and where it ends.
    variables: Vec<usize>,
    entry: Vec<Node>,
    exit: Vec<Node>,
    /// The flow before it, and at the beginning of each arm.
    flow_before: Node,
    flow_within: Node,
    /// The flow at the end of each arm.
    flow_after: Vec<Node>,
    before: Behaviour,
    within: Behaviour,
}

/// Something that has to be uniform.
pub(super) struct Need<'m> {
    pub(super) node: Node,
    pub(super) requirement: Requirement,
    /// The call of the function that asks for it, where it is not this one.
    pub(super) call: Option<(&'m str, Span)>,
}

/// A function that is being walked, or was.
pub(super) struct Walk<'m> {
    pub(super) module: &'m Module,
    pub(super) function: &'m Function,
    /// Of the functions before it.
    pub(super) summaries: &'m [Option<Summary>],
    pub(super) graph: Graph<'m>,
    /// Whether uniformity is asked for by subgroup operations.
    pub(super) subgroups_checked: bool,
    /// For each expression that was computed what it is.
    pub(super) values: Vec<Node>,
    /// For each argument of an entry point that is a struct its members.
    pub(super) members: Vec<Vec<Node>>,
    /// What each variable holds: local ones, then what each argument points to.
    pub(super) variables: Vec<Node>,
    /// Their names.
    pub(super) names: Vec<Option<&'m str>>,
    /// The flow where the walk is.
    pub(super) flow: Node,
    pub(super) needs: Vec<Need<'m>>,
    /// What each argument is.
    pub(super) given: Vec<Node>,
    /// What it returns, and leaves behind each pointer.
    pub(super) result: Node,
    pub(super) left: Vec<Node>,
    behaviour: Behaviour,
    frames: Vec<Frame>,
    /// Which variable is written by which step, in order of the steps.
    writes: Vec<(usize, usize)>,
    looks: usize,
}

impl<'m> Walk<'m> {
    /// A walk at the beginning of a function, with nothing known of its arguments.
    pub(super) fn new(
        module: &'m Module,
        function: &'m Function,
        summaries: &'m [Option<Summary>],
        subgroups_checked: bool,
    ) -> Self {
        let mut graph = Graph::new();
        let result = graph.node(Note::None);
        let locals = function.local_variables.iter().map(|(_, variable)| variable.name.as_deref());
        let names = locals.chain(function.arguments.iter().map(|argument| argument.name.as_deref())).collect();
        let left = function.arguments.iter().map(|_| graph.node(Note::None)).collect();
        Self {
            module,
            function,
            summaries,
            graph,
            subgroups_checked,
            values: vec![Node::UNIFORM; function.expressions.len()],
            members: vec![Vec::new(); function.arguments.len()],
            variables: vec![Node::UNIFORM; function.local_variables.len() + function.arguments.len()],
            names,
            flow: Node::UNIFORM,
            needs: Vec::new(),
            given: vec![Node::UNIFORM; function.arguments.len()],
            result,
            left,
            behaviour: Behaviour::NEXT,
            frames: Vec::new(),
            writes: Vec::new(),
            looks: 0,
        }
    }

    /// Walk the body. False where it is larger than what can be followed.
    pub(super) fn run(&mut self) -> bool {
        self.compute_leaves();
        let steps = steps::steps(&self.function.body);
        let ends = steps::ends(&steps);
        for (at, step) in steps.iter().enumerate() {
            if let Step::Plain(statement, _) = step {
                let written = self.written_by(statement);
                self.writes.extend(written.into_iter().map(|variable| (at, variable)));
            }
        }
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Plain(statement, span) => self.statement(statement, *span),
                Step::If(condition, span) => self.branch(Kind::If, *condition, *span, at..ends[at]),
                Step::Switch(selector, span) => self.branch(Kind::Switch, *selector, *span, at..ends[at]),
                Step::Else | Step::Case => self.next_arm(),
                Step::EndIf | Step::EndSwitch => self.end_branch(),
                Step::Loop => self.begin_loop(at..ends[at]),
                Step::Continuing => self.begin_continuing(),
                Step::EndLoop(break_if) => self.end_loop(*break_if),
            }
            if self.graph.is_full() || self.looks > LOOKS_MAX {
                return false;
            }
        }
        if self.behaviour.next {
            self.leave();
        }
        true
    }

    /// Whether anything is written behind an argument that is a pointer.
    pub(super) fn writes_behind(&self, argument: usize) -> bool {
        let variable = self.function.local_variables.len() + argument;
        self.writes.iter().any(|(_, written)| *written == variable)
    }

    /// The variables that are written in a range of steps.
    fn written(&mut self, range: std::ops::Range<usize>) -> Vec<usize> {
        let from = self.writes.partition_point(|(step, _)| *step < range.start);
        let until = self.writes.partition_point(|(step, _)| *step < range.end);
        self.looks += until - from;
        let mut variables: Vec<usize> = self.writes[from..until].iter().map(|(_, variable)| *variable).collect();
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// What variables hold here.
    fn held(&self, variables: &[usize]) -> Vec<Node> {
        variables.iter().map(|variable| self.variables[*variable]).collect()
    }

    fn fresh(&mut self, variables: &[usize]) -> Vec<Node> {
        variables.iter().map(|_| self.graph.node(Note::None)).collect()
    }

    fn set(&mut self, variables: &[usize], held: &[Node]) {
        variables.iter().zip(held).for_each(|(variable, node)| self.variables[*variable] = *node);
    }

    /// Add what variables hold here to what they may be elsewhere.
    fn flow_into(&mut self, variables: &[usize], there: &[Node]) {
        variables.iter().zip(there).for_each(|(variable, node)| self.graph.edge(*node, self.variables[*variable]));
    }

    fn open(&mut self, kind: Kind, variables: Vec<usize>, flow_within: Node) {
        let (entry, exit) = (self.held(&variables), self.fresh(&variables));
        let (flow_before, before) = (self.flow, self.behaviour);
        let (flow_after, within) = (Vec::new(), Behaviour::default());
        self.frames.push(Frame { kind, variables, entry, exit, flow_before, flow_within, flow_after, before, within });
    }

    /// The frame of the innermost statement with blocks, taken out for the time that it is worked on.
    fn innermost(&mut self) -> Frame {
        self.frames.pop().expect("a step within a statement follows its beginning")
    }

    /// The flow under a condition.
    fn under(&mut self, condition: Handle<Expression>, span: Span) -> Node {
        let value = self.values[condition.index()];
        if value == Node::UNIFORM {
            return self.flow;
        }
        let own = self.function.expressions.get_span(condition);
        let span = if own.is_defined() { own } else { span };
        let node = self.graph.node(Note::Condition(span));
        self.graph.edge(node, value);
        self.graph.edge(node, self.flow);
        node
    }

    fn branch(&mut self, kind: Kind, condition: Handle<Expression>, span: Span, steps: std::ops::Range<usize>) {
        let flow = self.under(condition, span);
        let first_arm = matches!(kind, Kind::If);
        let variables = self.written(steps);
        self.open(kind, variables, flow);
        self.flow = flow;
        // Each case has a step of its own, the first one too; before it nothing runs.
        self.behaviour = if first_arm { Behaviour::NEXT } else { Behaviour::default() };
    }

    fn end_arm(&mut self, frame: &mut Frame) {
        if self.behaviour.next {
            self.flow_into(&frame.variables, &frame.exit);
        }
        frame.within = frame.within.or(self.behaviour);
        frame.flow_after.push(self.flow);
    }

    fn next_arm(&mut self) {
        let mut frame = self.innermost();
        self.end_arm(&mut frame);
        self.set(&frame.variables, &frame.entry);
        self.flow = frame.flow_within;
        self.behaviour = Behaviour::NEXT;
        self.frames.push(frame);
    }

    fn end_branch(&mut self) {
        let mut frame = self.innermost();
        self.end_arm(&mut frame);
        let mut within = frame.within;
        if matches!(frame.kind, Kind::Switch) {
            within.next |= within.breaks;
            within.breaks = false;
        }
        let after = std::mem::take(&mut frame.flow_after);
        self.close(&frame, within, &after);
    }

    /// Go on behind a statement with blocks. Flow is as it was before where it can only have come to the end; else it depends
    /// on what led to the other ways out.
    fn close(&mut self, frame: &Frame, within: Behaviour, flow_after: &[Node]) {
        self.set(&frame.variables, &frame.exit);
        self.behaviour = frame.before.then(within);
        self.flow = frame.flow_before;
        if within == Behaviour::NEXT {
            return;
        }
        let parts: Vec<Node> = flow_after.iter().copied().filter(|node| *node != Node::UNIFORM).collect();
        if parts.is_empty() {
            return;
        }
        let flow = self.graph.node(Note::None);
        self.graph.edge(flow, frame.flow_before);
        for part in parts.into_iter().filter(|part| *part != frame.flow_before) {
            match within.returns {
                Some(span) if !within.breaks && !within.continues => self.graph.edge_left_by(flow, part, span),
                _ => self.graph.edge(flow, part),
            }
        }
        self.flow = flow;
    }

    fn begin_loop(&mut self, steps: std::ops::Range<usize>) {
        let variables = self.written(steps);
        let (head, continuing) = (self.fresh(&variables), self.fresh(&variables));
        let head_flow = self.graph.node(Note::None);
        self.graph.edge(head_flow, self.flow);
        self.flow_into(&variables, &head);
        let kind = Kind::Loop { head: head.clone(), head_flow, continuing };
        self.open(kind, variables.clone(), head_flow);
        self.set(&variables, &head);
        self.flow = head_flow;
        self.behaviour = Behaviour::NEXT;
    }

    fn begin_continuing(&mut self) {
        let mut frame = self.innermost();
        if let Kind::Loop { continuing, .. } = &frame.kind {
            if self.behaviour.next {
                self.flow_into(&frame.variables, continuing);
            }
            self.set(&frame.variables, continuing);
        }
        frame.within = self.behaviour;
        self.behaviour = Behaviour::NEXT;
        self.frames.push(frame);
    }

    fn end_loop(&mut self, break_if: Option<Handle<Expression>>) {
        let frame = self.innermost();
        let Kind::Loop { head, head_flow, .. } = &frame.kind else { return };
        self.flow_into(&frame.variables, head);
        self.graph.edge(*head_flow, self.flow);
        if let Some(condition) = break_if {
            let flow = self.under(condition, Span::UNDEFINED);
            self.graph.edge(*head_flow, flow);
            self.flow_into(&frame.variables, &frame.exit);
        }
        let mut within = frame.within.or(self.behaviour);
        within.next = within.breaks || break_if.is_some();
        (within.breaks, within.continues) = (false, false);
        self.close(&frame, within, &[*head_flow]);
    }

    /// `break` leaves a loop or a `switch`, whichever is nearer.
    pub(super) fn break_out(&mut self) {
        if let Some(at) = self.frames.iter().rposition(|frame| !matches!(frame.kind, Kind::If)) {
            let Frame { variables, exit, .. } = &self.frames[at];
            for (variable, node) in variables.iter().zip(exit) {
                self.graph.edge(*node, self.variables[*variable]);
            }
        }
        self.behaviour = self.behaviour.then(Behaviour::BREAK);
    }

    /// `continue` goes to the `continuing` of the nearest loop.
    pub(super) fn go_on(&mut self) {
        for frame in self.frames.iter().rev() {
            if let Kind::Loop { continuing, .. } = &frame.kind {
                for (variable, node) in frame.variables.iter().zip(continuing) {
                    self.graph.edge(*node, self.variables[*variable]);
                }
                break;
            }
        }
        self.behaviour = self.behaviour.then(Behaviour::CONTINUE);
    }

    /// `return`.
    pub(super) fn return_from(&mut self, span: Span) {
        self.leave();
        self.behaviour = self.behaviour.then(Behaviour { returns: Some(span), ..Behaviour::default() });
    }

    /// The function ends here, and what variables hold is what its arguments point to afterwards.
    fn leave(&mut self) {
        let locals = self.function.local_variables.len();
        for (argument, node) in self.left.iter().enumerate() {
            self.graph.edge(*node, self.variables[locals + argument]);
        }
    }

    /// A node for a value that differs by itself, and depends on `others` too.
    pub(super) fn source(&mut self, level: super::graph::Level, cause: Cause<'m>, others: &[Node]) -> Node {
        let node = self.graph.node(Note::Source(level, cause));
        others.iter().for_each(|other| self.graph.edge(node, *other));
        node
    }
}
