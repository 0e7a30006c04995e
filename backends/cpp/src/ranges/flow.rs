//! A function's statements as one list, so that nothing that reads them goes deep: nested as a text may be.

use naga::{Block, Expression, Function, Handle, Statement, SwitchCase, SwitchValue};

/// One step. What is nested lies between the step that opens it and the one that closes it.
#[derive(Debug)]
pub(super) enum Step<'m> {
    /// A statement with no other in it.
    Do(&'m Statement),
    If(Handle<Expression>),
    Else,
    EndIf,
    Switch(Handle<Expression>),
    /// A case, with the least and the greatest value that lead to it; none for the default.
    Case(Option<(i128, i128)>),
    /// The end of a case, and whether the next one follows.
    EndCase {
        falls: bool,
    },
    EndSwitch,
    Loop,
    Continuing,
    EndLoop(Option<Handle<Expression>>),
    Break,
    Continue,
    Return(Option<Handle<Expression>>),
}

enum Work<'m> {
    Block(&'m Block),
    Step(Step<'m>),
}

/// The steps of a function.
pub(super) fn steps(function: &Function) -> Vec<Step<'_>> {
    let (mut steps, mut work) = (Vec::new(), vec![Work::Block(&function.body)]);
    while let Some(next) = work.pop() {
        match next {
            Work::Step(step) => steps.push(step),
            Work::Block(block) => {
                let mut inside = Vec::new();
                block.iter().for_each(|statement| open(statement, &mut inside));
                work.extend(inside.into_iter().rev());
            }
        }
    }
    steps
}

fn open<'m>(statement: &'m Statement, work: &mut Vec<Work<'m>>) {
    let step = Work::Step;
    match statement {
        Statement::Block(block) => work.push(Work::Block(block)),
        Statement::If { condition, accept, reject } => work.extend([
            step(Step::If(*condition)),
            Work::Block(accept),
            step(Step::Else),
            Work::Block(reject),
            step(Step::EndIf),
        ]),
        Statement::Loop { body, continuing, break_if } => work.extend([
            step(Step::Loop),
            Work::Block(body),
            step(Step::Continuing),
            Work::Block(continuing),
            step(Step::EndLoop(*break_if)),
        ]),
        Statement::Switch { selector, cases } => {
            work.push(step(Step::Switch(*selector)));
            open_cases(cases, work);
            work.push(step(Step::EndSwitch));
        }
        Statement::Break => work.push(step(Step::Break)),
        Statement::Continue => work.push(step(Step::Continue)),
        Statement::Return { value } => work.push(step(Step::Return(*value))),
        other => work.push(step(Step::Do(other))),
    }
}

/// `case 1, 2` is a case without statements that falls into the next one: all of them together are one case.
fn open_cases<'m>(cases: &'m [SwitchCase], work: &mut Vec<Work<'m>>) {
    let none = Some((i128::MAX, i128::MIN));
    let mut values = none;
    for case in cases {
        let value = match case.value {
            SwitchValue::I32(value) => Some(i128::from(value)),
            SwitchValue::U32(value) => Some(i128::from(value)),
            SwitchValue::Default => None,
        };
        values = values.zip(value).map(|((low, high), value)| (low.min(value), high.max(value)));
        if case.fall_through && case.body.is_empty() {
            continue;
        }
        work.extend([
            Work::Step(Step::Case(values)),
            Work::Block(&case.body),
            Work::Step(Step::EndCase { falls: case.fall_through }),
        ]);
        values = none;
    }
}
