//! Which expressions of a function get a variable of their own, and which are written where they are used.

use naga::proc::TypeResolution;
use naga::valid::FunctionInfo;
use naga::{Block, Expression, Function, Handle, MemoryDecorations, Module, Statement, TypeInner};

use super::hoist::reads;
use crate::ir;
use crate::refusal::{At, Result};

/// Operators that are written into one another. Deeper expressions are cut, for readers, and because compilers bound brackets
/// within brackets (clang at 256).
const DEPTH_MAX: u32 = 8;

/// For each expression that is emitted, whether it gets a variable when it is.
pub(crate) fn plan(module: &Module, function: &Function, info: &FunctionInfo) -> Result<Vec<bool>> {
    let stretches = Stretches::new(function);
    let soon = used_soon(module, function, info, &stretches)?;
    let mut baked = vec![false; function.expressions.len()];
    let mut depths = vec![0u32; function.expressions.len()];
    for (handle, expression) in function.expressions.iter() {
        let operands = ir::operands(expression).at(function.expressions.get_span(handle))?;
        let depth = operands.iter().map(|operand| depths[operand.index()]).max().map_or(0, |deepest| deepest + 1);
        let bake = match expression {
            _ if is_given(expression) || is_pointer(module, &info[handle].ty) => false,
            // What is loaded is loaded when it is emitted: a later store must not be seen.
            Expression::Load { pointer } => {
                let unseen = soon[handle.index()] && !is_seen_by_others(module, function, *pointer, info);
                info[handle].ref_count > 0 && (depth > DEPTH_MAX || !unseen || is_named(function, handle))
            }
            _ => depth > DEPTH_MAX || is_kept(function, info, handle),
        };
        baked[handle.index()] = bake;
        depths[handle.index()] = if bake { 0 } else { depth };
    }
    Ok(baked)
}

fn is_named(function: &Function, handle: Handle<Expression>) -> bool {
    function.named_expressions.contains_key(&handle)
}

/// Whether an expression that is no load has a variable whatever stands around it.
fn is_kept(function: &Function, info: &FunctionInfo, handle: Handle<Expression>) -> bool {
    let uses = info[handle].ref_count;
    match function.expressions[handle] {
        // A member or component of a value is as cheap as the value.
        Expression::AccessIndex { .. } => uses > 0 && is_named(function, handle),
        _ => uses > 1 || (uses > 0 && is_named(function, handle)),
    }
}

/// Whether an expression is there before any statement.
fn is_given(expression: &Expression) -> bool {
    matches!(
        expression,
        Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::ZeroValue(_)
            | Expression::FunctionArgument(_)
            | Expression::GlobalVariable(_)
            | Expression::LocalVariable(_)
            | Expression::ArrayLength(_)
    )
}

fn is_pointer(module: &Module, ty: &TypeResolution) -> bool {
    matches!(ty.inner_with(&module.types), TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. })
}

/// Whether the order of a load among others matters: atomics, and memory that others are said to watch.
fn is_seen_by_others(module: &Module, function: &Function, pointer: Handle<Expression>, info: &FunctionInfo) -> bool {
    let atomic = match info[pointer].ty.inner_with(&module.types) {
        TypeInner::Pointer { base, .. } => matches!(module.types[*base].inner, TypeInner::Atomic(_)),
        _ => false,
    };
    let global = function.originating_global(pointer);
    atomic
        || global.is_some_and(|global| module.global_variables[global].memory_decorations != MemoryDecorations::empty())
}

/// Which expressions are emitted with nothing between them that could change memory: a stretch is some emitting statements in a row
/// and the statement after them, which reads before it acts.
struct Stretches {
    /// The stretch in which each expression is emitted; none is 0.
    emitted: Vec<u32>,
    /// The stretch of the last statement that reads each.
    read: Vec<u32>,
}

impl Stretches {
    fn new(function: &Function) -> Self {
        let count = function.expressions.len();
        let mut found = Self { emitted: vec![0; count], read: vec![0; count] };
        let mut stretch = 1;
        let mut open: Vec<&Block> = vec![&function.body];
        let mut operands = Vec::new();
        while let Some(block) = open.pop() {
            stretch += 1;
            for statement in block.iter() {
                if let Statement::Emit(range) = statement {
                    range.clone().for_each(|handle| found.emitted[handle.index()] = stretch);
                    continue;
                }
                // A loop reads its `break if` at the end of each round, long after what was emitted before it.
                if !matches!(statement, Statement::Loop { .. }) {
                    operands.clear();
                    reads(statement, &mut operands);
                    operands.iter().for_each(|operand| found.read[operand.index()] = stretch);
                }
                stretch += 1;
                match statement {
                    Statement::Block(inner) => open.push(inner),
                    Statement::If { accept, reject, .. } => open.extend([accept, reject]),
                    Statement::Switch { cases, .. } => open.extend(cases.iter().map(|case| &case.body)),
                    Statement::Loop { body, continuing, .. } => open.extend([body, continuing]),
                    _ => {}
                }
            }
        }
        found
    }
}

/// For each expression, whether its one use is evaluated in the stretch that emits it, when neither has a variable.
fn used_soon(module: &Module, function: &Function, info: &FunctionInfo, stretches: &Stretches) -> Result<Vec<bool>> {
    let count = function.expressions.len();
    let mut user: Vec<Option<Handle<Expression>>> = vec![None; count];
    for (handle, expression) in function.expressions.iter() {
        for operand in ir::operands(expression).at(function.expressions.get_span(handle))? {
            user[operand.index()] = Some(handle);
        }
    }
    let mut soon = vec![false; count];
    // A user stands after what it uses.
    for (handle, _) in function.expressions.iter().collect::<Vec<_>>().into_iter().rev() {
        let at = stretches.emitted[handle.index()];
        soon[handle.index()] = info[handle].ref_count == 1
            && at > 0
            && match user[handle.index()] {
                None => stretches.read[handle.index()] == at,
                Some(user) => {
                    let pointer = is_pointer(module, &info[user].ty);
                    let kept = !pointer && is_kept(function, info, user);
                    stretches.emitted[user.index()] == at && (kept || soon[user.index()])
                }
            };
    }
    Ok(soon)
}
