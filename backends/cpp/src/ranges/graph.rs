//! What one function is to the analysis: its values, what holds where, and the questions that it has to answer.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Binding, Expression, Function, GlobalVariable, Handle, Module, Scalar, Type, TypeInner};

use super::build::Builder;
use super::builtins::Launch;
use super::constants::Constants;
use super::interval::Interval;
use super::scope::{Facts, ScopeId};
use super::shape::Shapes;
use super::term::{Sym, Terms};

/// A question about an expression, at the place where it is evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    pub(super) expression: Handle<Expression>,
    pub(super) scope: ScopeId,
    pub(super) question: Question,
}

/// What has to be so always.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    /// The index is below a length.
    Index { index: Sym, length: u32 },
    /// The index is below the length of a runtime-sized array.
    Runtime { index: Sym, length: Sym },
    /// The divisor is not 0, and the quotient does not overflow.
    Divides { dividend: Sym, divisor: Sym },
    /// The amount is below the width of what is shifted.
    Shifts { amount: Sym, width: u32 },
}

/// A call, with the scalars of its arguments.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) function: Handle<Function>,
    pub(super) arguments: Vec<Sym>,
    pub(super) scope: ScopeId,
}

/// A function, read once.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) terms: Terms,
    pub(super) facts: Facts,
    pub(super) checks: Vec<Check>,
    pub(super) calls: Vec<Call>,
    pub(super) returns: Vec<(Vec<Sym>, ScopeId)>,
    /// What each scalar of the arguments can be by its type, or by what it is bound to.
    pub(super) arguments: Vec<Interval>,
    /// The types of the scalars of its result.
    pub(super) result: Vec<Scalar>,
}

/// What is read of a module.
pub(super) struct Source<'m> {
    pub(super) module: &'m Module,
    pub(super) info: &'m ModuleInfo,
    pub(super) shapes: Shapes,
    pub(super) constants: Constants,
    pub(super) launch: Launch,
}

impl<'m> Source<'m> {
    /// Read a function; with `info` of it.
    pub(super) fn graph(&self, function: &'m Function, info: &'m FunctionInfo) -> Graph {
        let arguments = self.arguments(function);
        let result = function.result.as_ref().map_or_else(Vec::new, |result| self.shapes.of(result.ty).to_vec());
        let (terms, scopes, found) = Builder::new(self, function, info).run();
        let facts = scopes.index(&terms);
        Graph { terms, facts, checks: found.checks, calls: found.calls, returns: found.returns, arguments, result }
    }

    fn arguments(&self, function: &Function) -> Vec<Interval> {
        let mut all = Vec::new();
        for argument in &function.arguments {
            match (&argument.binding, &self.module.types[argument.ty].inner) {
                (None, TypeInner::Struct { members, .. }) if !self.shapes.of(argument.ty).is_empty() => {
                    members.iter().for_each(|member| self.bound(member.binding.as_ref(), member.ty, &mut all));
                }
                (binding, _) => self.bound(binding.as_ref(), argument.ty, &mut all),
            }
        }
        all
    }

    fn bound(&self, binding: Option<&Binding>, ty: Handle<Type>, all: &mut Vec<Interval>) {
        for (component, scalar) in self.shapes.of(ty).iter().enumerate() {
            let known = match binding {
                Some(Binding::BuiltIn(builtin)) => self.launch.builtin(*builtin, component),
                _ => None,
            };
            all.push(known.map_or(Interval::of(*scalar), |known| known.wrapped(*scalar)));
        }
    }

    /// What an expression's type is made of, its pointer followed.
    pub(super) fn pointed<'t>(&'t self, inner: &'t TypeInner) -> &'t TypeInner {
        match inner {
            TypeInner::Pointer { base, .. } => &self.module.types[*base].inner,
            other => other,
        }
    }
}

/// The variable that an expression points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Global(Handle<GlobalVariable>),
    Local(Handle<naga::LocalVariable>),
    Other,
}

/// What a pointer, or a value made by indexing, is a part of.
pub(super) fn root(function: &Function, mut expression: Handle<Expression>) -> Root {
    loop {
        match function.expressions[expression] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => expression = base,
            Expression::GlobalVariable(variable) => return Root::Global(variable),
            Expression::LocalVariable(variable) => return Root::Local(variable),
            _ => return Root::Other,
        }
    }
}
