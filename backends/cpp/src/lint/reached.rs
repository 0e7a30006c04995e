//! Which functions the compute entry points of a module call, and which of them calls one first.

use naga::{EntryPoint, Function, Handle, Module, ShaderStage, Statement};

use super::steps::{self, Step};

/// The compute entry points, in the order of the text.
pub(super) fn compute_entries(module: &Module) -> impl Iterator<Item = &EntryPoint> {
    module.entry_points.iter().filter(|entry| entry.stage == ShaderStage::Compute)
}

/// Each function that a compute entry point calls, with the first one that does: callees before their callers, as the module
/// has them.
pub(super) fn functions(module: &Module) -> Vec<(Handle<Function>, &EntryPoint)> {
    let mut by: Vec<Option<&EntryPoint>> = vec![None; module.functions.len()];
    for entry in compute_entries(module) {
        let mut pending = callees(&entry.function);
        while let Some(handle) = pending.pop() {
            if by[handle.index()].is_none() {
                by[handle.index()] = Some(entry);
                pending.extend(callees(&module.functions[handle]));
            }
        }
    }
    module.functions.iter().filter_map(|(handle, _)| Some((handle, by[handle.index()]?))).collect()
}

fn callees(function: &Function) -> Vec<Handle<Function>> {
    let called = steps::steps(&function.body).into_iter().filter_map(|step| match step {
        Step::Plain(Statement::Call { function, .. }, _) => Some(*function),
        _ => None,
    });
    called.collect()
}
