//! A `continue` over a value that `continuing` reads. WGSL forbids it and naga does not look: the value would be whatever an earlier
//! round left, and nothing that is proven of it would hold.

use naga::{Block, Expression, Function, Handle, Span, Statement};

use super::hoist::{reads, result_of, visit};
use crate::ir;
use crate::refusal::{Refusal, Result};

/// Refuse a loop in which one is.
///
/// # Errors
///
/// [`Refusal`] at the `continue`.
pub(crate) fn check(
    function: &Function,
    body: &Block,
    continuing: &Block,
    break_if: Option<Handle<Expression>>,
) -> Result<()> {
    let mut wanted: Vec<_> = break_if.into_iter().collect();
    visit(continuing, |statement| reads(statement, &mut wanted));
    let mut statements = body.span_iter();
    let Some(span) = statements.by_ref().find_map(|(statement, span)| continue_in(statement, *span)) else {
        return Ok(());
    };
    // Only what the body itself makes is to be seen from `continuing`.
    let mut skipped = vec![false; function.expressions.len()];
    for (statement, _) in statements {
        if let Statement::Emit(range) = statement {
            range.clone().for_each(|handle| skipped[handle.index()] = true);
        }
        result_of(statement).into_iter().for_each(|result| skipped[result.index()] = true);
    }
    let mut seen = vec![false; function.expressions.len()];
    while let Some(handle) = wanted.pop() {
        if skipped[handle.index()] {
            let name = function.named_expressions.get(&handle).map_or("a value", String::as_str);
            let text = format!(
                "this `continue` skips `{name}`, which `continuing` reads; make it a `var` that is declared before the loop"
            );
            return Err(Refusal { span, text });
        }
        if !std::mem::replace(&mut seen[handle.index()], true) {
            wanted.extend(ir::operands(&function.expressions[handle]).unwrap_or_default());
        }
    }
    Ok(())
}

/// Where a statement goes on with the next round of the loop that it stands in.
fn continue_in(statement: &Statement, span: Span) -> Option<Span> {
    let mut open = vec![(statement, span)];
    while let Some((statement, span)) = open.pop() {
        let mut look = |block| open.extend(Block::span_iter(block).map(|(statement, span)| (statement, *span)));
        match statement {
            Statement::Continue => return Some(span),
            Statement::Block(inner) => look(inner),
            Statement::If { accept, reject, .. } => [accept, reject].into_iter().for_each(look),
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| look(&case.body)),
            _ => {}
        }
    }
    None
}
