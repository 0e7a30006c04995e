//! Values that a loop's body makes and its `continuing` block or `break if` reads. They are variables of the scope around the loop,
//! since the body has a scope of its own.

use naga::{Block, Expression, Function, Handle, Statement};

use crate::ir;

/// Visit every statement of a block, those within others too, without recursion.
pub(crate) fn visit<'a>(block: &'a Block, mut see: impl FnMut(&'a Statement)) {
    let mut open = vec![block];
    while let Some(block) = open.pop() {
        for statement in block.iter() {
            see(statement);
            match statement {
                Statement::Block(inner) => open.push(inner),
                Statement::If { accept, reject, .. } => open.extend([accept, reject]),
                Statement::Switch { cases, .. } => open.extend(cases.iter().map(|case| &case.body)),
                Statement::Loop { body, continuing, .. } => open.extend([body, continuing]),
                _ => {}
            }
        }
    }
}

/// The expression that a statement gives its result to.
pub(crate) fn result_of(statement: &Statement) -> Option<Handle<Expression>> {
    match statement {
        Statement::Atomic { result, .. } | Statement::Call { result, .. } => *result,
        Statement::WorkGroupUniformLoad { result, .. }
        | Statement::SubgroupBallot { result, .. }
        | Statement::SubgroupGather { result, .. }
        | Statement::SubgroupCollectiveOperation { result, .. } => Some(*result),
        _ => None,
    }
}

/// The expressions that a statement reads.
pub(crate) fn reads(statement: &Statement, found: &mut Vec<Handle<Expression>>) {
    match statement {
        Statement::Emit(range) => found.extend(range.clone()),
        Statement::If { condition, .. } => found.push(*condition),
        Statement::Switch { selector, .. } => found.push(*selector),
        Statement::Loop { break_if, .. } => found.extend(*break_if),
        Statement::Return { value } => found.extend(*value),
        Statement::Store { pointer, value } => found.extend([*pointer, *value]),
        Statement::Atomic { pointer, fun, value, .. } => {
            found.extend([*pointer, *value]);
            found.extend(ir::atomic(*fun).1);
        }
        Statement::WorkGroupUniformLoad { pointer, .. } => found.push(*pointer),
        Statement::Call { arguments, .. } => found.extend(arguments),
        Statement::SubgroupBallot { predicate, .. } => found.extend(*predicate),
        Statement::SubgroupGather { mode, argument, .. } => {
            found.push(*argument);
            found.extend(ir::gather(*mode).1);
        }
        Statement::SubgroupCollectiveOperation { argument, .. } => found.push(*argument),
        _ => {}
    }
}

/// The values of `body` that `continuing` and `break_if` read, in order. `baked` says which expressions get a variable.
pub(crate) fn hoisted(
    function: &Function,
    baked: &[bool],
    body: &Block,
    continuing: &Block,
    break_if: Option<Handle<Expression>>,
) -> Vec<Handle<Expression>> {
    let mut wanted: Vec<_> = break_if.into_iter().collect();
    visit(continuing, |statement| reads(statement, &mut wanted));
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut made = vec![false; function.expressions.len()];
    visit(body, |statement| {
        if let Statement::Emit(range) = statement {
            range.clone().for_each(|handle| made[handle.index()] = baked[handle.index()]);
        }
        if let Some(result) = result_of(statement) {
            made[result.index()] = true;
        }
    });
    let mut seen = vec![false; function.expressions.len()];
    let mut found = Vec::new();
    while let Some(handle) = wanted.pop() {
        if std::mem::replace(&mut seen[handle.index()], true) {
            continue;
        }
        if made[handle.index()] {
            found.push(handle);
        } else {
            wanted.extend(ir::operands(&function.expressions[handle]).unwrap_or_default());
        }
    }
    found.sort_unstable();
    found
}
