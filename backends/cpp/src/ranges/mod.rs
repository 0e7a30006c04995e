//! Which checks a kernel does not need: intervals of its integers, followed through its statements, show that an index is in
//! range, a divisor is not zero, or a shift is by less than the width. Anything that is not shown is checked.

mod expression;
mod flow;
mod interval;
mod state;
#[cfg(test)]
mod tests;
mod value;

use naga::valid::ModuleInfo;
use naga::{Expression, Function, Handle, Module, Statement};

use self::flow::{Analysis, Proofs};
use self::value::{Known, Value};

/// What is proven of a module with one entry point.
#[derive(Debug, Default)]
pub(crate) struct Proven {
    entry: Proofs,
    functions: Vec<Proofs>,
}

impl Proven {
    fn of(&self, function: Option<Handle<Function>>) -> Option<&Proofs> {
        match function {
            Some(function) => self.functions.get(function.index()),
            None => Some(&self.entry),
        }
    }

    /// Whether an access by index is never out of range. The entry point is the function that is none.
    pub(crate) fn access(&self, function: Option<Handle<Function>>, access: Handle<Expression>) -> bool {
        self.of(function).is_some_and(|proofs| is(&proofs.inside, access))
    }

    /// Whether a division or remainder never has a divisor of zero, nor overflows.
    pub(crate) fn divides(&self, function: Option<Handle<Function>>, binary: Handle<Expression>) -> bool {
        self.of(function).is_some_and(|proofs| is(&proofs.divides, binary))
    }

    /// Whether a shift is always by less than the width.
    pub(crate) fn shifts(&self, function: Option<Handle<Function>>, binary: Handle<Expression>) -> bool {
        self.of(function).is_some_and(|proofs| is(&proofs.shifts, binary))
    }
}

fn is(proven: &[bool], handle: Handle<Expression>) -> bool {
    proven.get(handle.index()).copied().unwrap_or(false)
}

/// The results of statements that are no calls.
fn results(statement: &Statement) -> impl Iterator<Item = Handle<Expression>> {
    crate::writer::result_of(statement).into_iter()
}

/// Follow a module's one entry point and the functions that it calls. `subgroup_size` is that of the device, where all devices
/// have the same.
pub(crate) fn prove(module: &Module, info: &ModuleInfo, subgroup_size: Option<u32>) -> Proven {
    let mut proven = Proven { entry: Proofs::default(), functions: vec![Proofs::default(); module.functions.len()] };
    // What each function is given, joined over its calls.
    let mut given: Vec<Option<Vec<Value>>> = vec![None; module.functions.len()];
    let entry = &module.entry_points[0].function;
    let mut analysis = Analysis::new(module, info, entry, info.get_entry_point(0), subgroup_size);
    for argument in &entry.arguments {
        let value = analysis.told(argument.binding.as_ref(), argument.ty);
        analysis.arguments.push(value);
    }
    analysis.run();
    collect(&mut given, analysis.calls);
    proven.entry = analysis.proven;
    // A function stands after those that it calls, so that all calls of one are known when its turn comes.
    for (handle, function) in module.functions.iter().collect::<Vec<_>>().into_iter().rev() {
        let Some(arguments) = given[handle.index()].take() else { continue };
        let mut analysis = Analysis::new(module, info, function, &info[handle], subgroup_size);
        for (argument, value) in function.arguments.iter().zip(arguments) {
            let mut own = analysis.unknown_of(&module.types[argument.ty].inner);
            take(&mut own, &value);
            analysis.arguments.push(own);
        }
        analysis.run();
        collect(&mut given, analysis.calls);
        proven.functions[handle.index()] = analysis.proven;
    }
    proven
}

/// Give a value the ranges of another, and keep its names.
fn take(own: &mut Value, other: &Value) {
    match (&mut own.known, &other.known) {
        (Known::Int(_, own), Known::Int(_, other)) => *own = *other,
        (Known::Parts(own), Known::Parts(other)) => own.iter_mut().zip(other).for_each(|(own, other)| take(own, other)),
        _ => {}
    }
}

fn collect(given: &mut [Option<Vec<Value>>], calls: Vec<(Handle<Function>, Vec<Value>)>) {
    for (function, arguments) in calls {
        match &mut given[function.index()] {
            Some(known) => known.iter_mut().zip(&arguments).for_each(|(known, argument)| widen(known, argument)),
            none => *none = Some(arguments),
        }
    }
}

/// Let a value be another as well.
fn widen(known: &mut Value, other: &Value) {
    match (&mut known.known, &other.known) {
        (Known::Int(_, known), Known::Int(_, other)) => *known = known.join(*other),
        (Known::Parts(known), Known::Parts(other)) => {
            known.iter_mut().zip(other).for_each(|(known, other)| widen(known, other));
        }
        (known, _) => *known = Known::Other,
    }
}
