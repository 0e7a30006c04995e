//! A function's body as one list, its nested blocks marked by where they begin and end: what walks it needs no recursion, which
//! a deep chain of `else if` would turn into a stack overflow.

use naga::{Block, Expression, Handle, Span, Statement};

/// One step through a body, in the order of the text.
pub(super) enum Step<'m> {
    /// A statement without blocks of its own.
    Plain(&'m Statement, Span),
    /// The first arm of an `if` follows.
    If(Handle<Expression>, Span),
    /// Its second arm follows.
    Else,
    /// The `if` is over.
    EndIf,
    /// The cases of a `switch` follow.
    Switch(Handle<Expression>, Span),
    /// A case follows.
    Case,
    /// The `switch` is over.
    EndSwitch,
    /// The body of a loop follows.
    Loop,
    /// Its `continuing` follows.
    Continuing,
    /// The loop is over; with the condition of its `break if`.
    EndLoop(Option<Handle<Expression>>),
}

/// What is still to be listed.
enum Pending<'m> {
    Block(&'m Block),
    Statement(&'m Statement, Span),
    Step(Step<'m>),
}

/// The steps of a body.
pub(super) fn steps(body: &Block) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut pending = vec![Pending::Block(body)];
    while let Some(next) = pending.pop() {
        match next {
            Pending::Step(step) => steps.push(step),
            Pending::Block(block) => {
                let from = pending.len();
                pending.extend(block.span_iter().map(|(statement, span)| Pending::Statement(statement, *span)));
                pending[from..].reverse();
            }
            Pending::Statement(statement, span) => open(statement, span, &mut steps, &mut pending),
        }
    }
    steps
}

/// List a statement, or its first step and what follows it, the last first.
fn open<'m>(statement: &'m Statement, span: Span, steps: &mut Vec<Step<'m>>, pending: &mut Vec<Pending<'m>>) {
    match statement {
        Statement::Block(block) => pending.push(Pending::Block(block)),
        Statement::If { condition, accept, reject } => {
            steps.push(Step::If(*condition, span));
            pending.extend([Pending::Step(Step::EndIf), Pending::Block(reject), Pending::Step(Step::Else)]);
            pending.push(Pending::Block(accept));
        }
        Statement::Switch { selector, cases } => {
            steps.push(Step::Switch(*selector, span));
            pending.push(Pending::Step(Step::EndSwitch));
            // A case that only falls through is one more value of the case after it.
            for case in cases.iter().rev().filter(|case| !(case.fall_through && case.body.is_empty())) {
                pending.extend([Pending::Block(&case.body), Pending::Step(Step::Case)]);
            }
        }
        Statement::Loop { body, continuing, break_if } => {
            steps.push(Step::Loop);
            pending.extend([Pending::Step(Step::EndLoop(*break_if)), Pending::Block(continuing)]);
            pending.extend([Pending::Step(Step::Continuing), Pending::Block(body)]);
        }
        _ => steps.push(Step::Plain(statement, span)),
    }
}

/// For each step that opens an `if`, a `switch` or a loop, the step that ends it; for others, itself.
pub(super) fn ends(steps: &[Step<'_>]) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..steps.len()).collect();
    let mut open = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::If(..) | Step::Switch(..) | Step::Loop => open.push(at),
            Step::EndIf | Step::EndSwitch | Step::EndLoop(_) => {
                ends[open.pop().expect("what ends was opened")] = at;
            }
            Step::Plain(..) | Step::Else | Step::Case | Step::Continuing => {}
        }
    }
    ends
}
