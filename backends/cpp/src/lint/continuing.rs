//! The rule on `continuing`: it reads no `let` of the loop's body. wgpu writes it for Metal at the head of the loop, before what
//! the body computes.

use naga::{Expression, Function, Handle, Span, Statement};

use super::lines::Lines;
use super::operands;
use super::steps::{self, Step};
use super::{Found, Rule};

/// A loop that is open: how much was computed when its body began, and when it ended.
struct Open {
    from: usize,
    until: Option<usize>,
}

struct Search<'m> {
    function: &'m Function,
    /// For each expression the number of those computed before it; nothing for one that no statement computes.
    order: Vec<Option<usize>>,
    computed: usize,
    loops: Vec<Open>,
    found: Vec<(usize, Handle<Expression>, Span)>,
}

/// Every `let` of a loop's body that its `continuing` or `break if` reads, once for each loop.
pub(super) fn search(function: &Function, lines: &Lines<'_>) -> Vec<Found> {
    let order = vec![None; function.expressions.len()];
    let mut search = Search { function, order, computed: 0, loops: Vec::new(), found: Vec::new() };
    for step in steps::steps(&function.body) {
        search.step(&step);
    }
    search.found.sort_by_key(|(from, read, _)| (*from, *read));
    search.found.dedup_by_key(|(from, read, _)| (*from, *read));
    search.found.iter().map(|(_, read, span)| found(function, *read, *span, lines)).collect()
}

fn found(function: &Function, read: Handle<Expression>, span: Span, lines: &Lines<'_>) -> Found {
    let computed = lines.at(function.expressions.get_span(read));
    let what = match function.named_expressions.get(&read) {
        Some(name) => format!("`{name}`, a `let` of the loop's body ({computed})"),
        None => format!("a value of the loop's body ({computed})"),
    };
    let message = format!(
        "`continuing` reads {what}, which wgpu compiles wrongly for Metal; make it a `var` declared before the loop, or \
         compute it in `continuing`"
    );
    Found { rule: Rule::BodyLetInContinuing, span, message }
}

impl Search<'_> {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Loop => self.loops.push(Open { from: self.computed, until: None }),
            Step::Continuing => {
                if let Some(innermost) = self.loops.last_mut() {
                    innermost.until = Some(self.computed);
                }
            }
            Step::EndLoop(break_if) => {
                if let Some(condition) = break_if {
                    self.read(*condition, self.function.expressions.get_span(*condition));
                }
                self.loops.pop();
            }
            Step::If(condition, span) | Step::Switch(condition, span) => self.read(*condition, *span),
            Step::Plain(Statement::Emit(range), _) => {
                for handle in range.clone() {
                    let span = self.function.expressions.get_span(handle);
                    operands::of_expression(&self.function.expressions[handle], |operand| self.read(operand, span));
                    self.computes(handle);
                }
            }
            Step::Plain(statement, span) => {
                operands::of_statement(statement, |operand| self.read(operand, *span));
                if let Some(result) = operands::result(statement) {
                    self.computes(result);
                }
            }
            Step::Else | Step::EndIf | Step::Case | Step::EndSwitch => {}
        }
    }

    fn computes(&mut self, handle: Handle<Expression>) {
        self.order[handle.index()] = Some(self.computed);
        self.computed += 1;
    }

    fn read(&mut self, operand: Handle<Expression>, span: Span) {
        let Some(order) = self.order[operand.index()] else { return };
        let within = |open: &&Open| open.until.is_some_and(|until| (open.from..until).contains(&order));
        if let Some(open) = self.loops.iter().find(within)
            && !self.is_fixed_place(operand)
        {
            self.found.push((open.from, operand, span));
        }
    }

    /// Whether it is a variable, or a member of one: such a place is written out wherever it is named.
    fn is_fixed_place(&self, mut at: Handle<Expression>) -> bool {
        while let Expression::AccessIndex { base, .. } = self.function.expressions[at] {
            at = base;
        }
        matches!(self.function.expressions[at], Expression::LocalVariable(_) | Expression::GlobalVariable(_))
    }
}
