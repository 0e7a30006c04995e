//! How much code calls come to when every callee is written into its caller, and which functions are too large for that.

use naga::{Block, Module, Statement};

use super::hoist::visit;

/// Expressions of a function, its callees' included, above which its callers call it.
const FUNCTION_MAX: u64 = 2_000;

/// Expressions of the whole kernel above which only small functions are written into their callers.
const KERNEL_MAX: u64 = 20_000;

/// Expressions of a function that is small.
const SMALL: u64 = 40;

/// For each function, whether it is called and not written into its callers. Otherwise a chain of functions, each calling the
/// one before it twice, would double with every link.
pub(crate) fn large(module: &Module) -> Vec<bool> {
    let first = large_above(module, FUNCTION_MAX);
    let entry = &module.entry_points[0].function;
    let total = entry.expressions.len() as u64 + called(&entry.body, &first.0, &first.1);
    if total <= KERNEL_MAX { first.1 } else { large_above(module, SMALL).1 }
}

fn large_above(module: &Module, most: u64) -> (Vec<u64>, Vec<bool>) {
    let (mut weights, mut large) = (Vec::new(), Vec::new());
    // A function stands after those that it calls.
    for (_, function) in module.functions.iter() {
        let weight = function.expressions.len() as u64 + called(&function.body, &weights, &large);
        weights.push(weight);
        large.push(weight > most);
    }
    (weights, large)
}

fn called(body: &Block, weights: &[u64], large: &[bool]) -> u64 {
    let mut sum = 0u64;
    visit(body, |statement| {
        if let Statement::Call { function, .. } = statement {
            let index = function.index();
            let inlined = !large.get(index).copied().unwrap_or(true);
            sum = sum.saturating_add(if inlined { weights.get(index).copied().unwrap_or(1) } else { 1 });
        }
    });
    sum
}
