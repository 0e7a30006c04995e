//! The place of a type that the validator refuses. Types of the language stand nowhere in a text, so it names none: what is
//! declared with the type does.

use naga::valid::ValidationError;
use naga::{Handle, Module, Span, Type, TypeInner, WithSpan};

/// The error with the place of the first declaration that has the refused type, where it has no place of its own.
pub(super) fn placed(error: Box<WithSpan<ValidationError>>, module: &Module) -> Box<WithSpan<ValidationError>> {
    let has_place = error.spans().any(|(span, _)| span.is_defined());
    let ValidationError::Type { handle, .. } = error.as_inner() else { return error };
    match first_use(module, *handle).filter(|_| !has_place) {
        Some(span) => Box::new(WithSpan::new(error.into_inner()).with_span(span, "declared here")),
        None => error,
    }
}

fn first_use(module: &Module, refused: Handle<Type>) -> Option<Span> {
    let own = module.types.get_span(refused);
    if own.is_defined() {
        return Some(own);
    }
    // A type stands after those that it is made of.
    let mut holds = vec![false; module.types.len()];
    for (handle, ty) in module.types.iter() {
        let made_of = |base: &Handle<Type>| holds[base.index()];
        holds[handle.index()] = handle == refused
            || match &ty.inner {
                TypeInner::Pointer { base, .. }
                | TypeInner::Array { base, .. }
                | TypeInner::BindingArray { base, .. } => made_of(base),
                TypeInner::Struct { members, .. } => members.iter().any(|member| made_of(&member.ty)),
                _ => false,
            };
    }
    let globals = module.global_variables.iter();
    let globals = globals.filter(|(_, variable)| holds[variable.ty.index()]);
    let mut spans = globals.map(|(handle, _)| module.global_variables.get_span(handle));
    if let Some(span) = spans.find(Span::is_defined) {
        return Some(span);
    }
    let functions = module.functions.iter().map(|(handle, function)| (function, module.functions.get_span(handle)));
    let entries = module.entry_points.iter().map(|entry| (&entry.function, Span::default()));
    functions.chain(entries).find_map(|(function, whole)| {
        let locals = function.local_variables.iter().filter(|(_, local)| holds[local.ty.index()]);
        let mut spans = locals.map(|(handle, _)| function.local_variables.get_span(handle));
        let taken = function.arguments.iter().any(|argument| holds[argument.ty.index()]);
        spans.find(Span::is_defined).or_else(|| Some(whole).filter(|span| taken && span.is_defined()))
    })
}
