//! Which index checks, and which cares for divisors and shifts, a kernel does not need: an analysis of the ranges of integers.
//!
//! Each function is read once to a graph of values ([`graph`]), whose ranges are then found from what its callers give it and
//! what those that it calls give back. What is not followed may be anything: an answer of `true` is a proof.

mod arithmetic;
mod assume;
mod build;
mod builtins;
mod constants;
mod control;
mod expression;
mod flow;
mod graph;
mod interval;
mod place;
mod relation;
mod scope;
mod shape;
mod solve;
mod term;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;

use naga::valid::ModuleInfo;
use naga::{Expression, Function, Handle, Module};

use self::builtins::Launch;
use self::constants::Constants;
use self::graph::{Graph, Question, Source};
use self::interval::Interval;
use self::shape::Shapes;
use self::solve::solve;
use self::view::{Given, View};
use crate::Loops;

/// What is known of one function's expressions, whether it is proven.
#[derive(Debug, Default)]
struct Answers {
    access: HashMap<Handle<Expression>, bool>,
    divides: HashMap<Handle<Expression>, bool>,
    shifts: HashMap<Handle<Expression>, bool>,
}

/// What was proven of a module. A function is named by its handle; none is the entry point.
#[derive(Debug, Default)]
pub(crate) struct Proven {
    /// Of each function, and of the entry point last.
    of: Vec<Answers>,
}

impl Proven {
    /// Whether the index of an [`Expression::Access`] is always in range of what it indexes: a vector, a matrix, an array, or the
    /// runtime-sized array of a binding. So also for an [`Expression::AccessIndex`] into one of the latter.
    pub(crate) fn access(&self, function: Option<Handle<Function>>, access: Handle<Expression>) -> bool {
        self.answers(function).is_some_and(|answers| answers.access.get(&access) == Some(&true))
    }

    /// Whether the divisor of an integer `/` or `%` is never 0, nor -1 where the dividend can be the least number of its type; in
    /// each component.
    pub(crate) fn divides(&self, function: Option<Handle<Function>>, binary: Handle<Expression>) -> bool {
        self.answers(function).is_some_and(|answers| answers.divides.get(&binary) == Some(&true))
    }

    /// Whether the amount of a shift is always below the width of what is shifted, in each component.
    pub(crate) fn shifts(&self, function: Option<Handle<Function>>, binary: Handle<Expression>) -> bool {
        self.answers(function).is_some_and(|answers| answers.shifts.get(&binary) == Some(&true))
    }

    fn answers(&self, function: Option<Handle<Function>>) -> Option<&Answers> {
        let (entry, functions) = self.of.split_last()?;
        match function {
            Some(function) => functions.get(function.index()),
            None => Some(entry),
        }
    }
}

/// Find what can be proven of a valid module with one entry point and no override. `subgroup_size` is that of the device, where
/// it is known; `loops` says whether each is left by its own conditions alone.
pub(crate) fn prove(module: &Module, info: &ModuleInfo, subgroup_size: Option<u32>, loops: Loops) -> Proven {
    let Some(entry) = module.entry_points.first() else { return Proven { of: vec![Answers::default()] } };
    let shapes = Shapes::new(module);
    let constants = Constants::new(module, &shapes);
    let launch = Launch { workgroup: entry.workgroup_size, subgroup: subgroup_size, loops };
    let source = Source { module, info, shapes, constants, launch };
    // A function comes after all that it calls.
    let functions = module.functions.iter();
    let mut graphs: Vec<Graph> = functions.map(|(handle, it)| source.graph(it, &source.info[handle])).collect();
    graphs.push(source.graph(&entry.function, info.get_entry_point(0)));
    let mut known = Known::new(&graphs);
    if graphs.len() > 1 {
        known.find_results(&graphs);
        known.find_arguments(&graphs);
        known.find_results(&graphs);
    }
    Proven { of: known.find_arguments(&graphs) }
}

/// What functions are given and give back.
struct Known {
    /// Of each function each scalar of its arguments.
    arguments: Vec<Vec<Interval>>,
    /// Of each function each scalar of its result.
    results: Vec<Vec<Interval>>,
}

impl Known {
    fn new(graphs: &[Graph]) -> Self {
        let any = |graph: &Graph| graph.result.iter().map(|scalar| Interval::of(*scalar)).collect();
        Self {
            arguments: graphs.iter().map(|graph| graph.arguments.clone()).collect(),
            results: graphs.iter().map(any).collect(),
        }
    }

    fn view<'a>(&'a self, graphs: &'a [Graph], at: usize) -> View<'a> {
        solve(&graphs[at], Given { arguments: &self.arguments[at], results: &self.results })
    }

    /// From the functions that call none up to the entry point.
    fn find_results(&mut self, graphs: &[Graph]) {
        for at in 0..graphs.len() {
            let view = self.view(graphs, at);
            let mut result = vec![Interval::NONE; graphs[at].result.len()];
            for (scalars, scope) in &graphs[at].returns {
                for (number, range) in result.iter_mut().enumerate() {
                    let given = scalars.get(number).map(|scalar| view.at(*scalar, *scope));
                    *range = range.join(given.unwrap_or(Interval::of(graphs[at].result[number])));
                }
            }
            self.results[at] = result;
        }
    }

    /// From the entry point down to the functions that call none: what each is given by all that call it, and what is proven
    /// of it then.
    fn find_arguments(&mut self, graphs: &[Graph]) -> Vec<Answers> {
        let mut answers = Vec::new();
        let mut given: Vec<Option<Vec<Interval>>> = vec![None; graphs.len()];
        for at in (0..graphs.len()).rev() {
            if let Some(arguments) = given[at].take() {
                self.arguments[at] = arguments;
            }
            let view = self.view(graphs, at);
            for call in &graphs[at].calls {
                let ranges = call.arguments.iter().map(|argument| view.at(*argument, call.scope));
                let before = given[call.function.index()].take();
                let joined = match before {
                    Some(before) => ranges.zip(before).map(|(range, before)| range.join(before)).collect(),
                    None => ranges.collect(),
                };
                given[call.function.index()] = Some(joined);
            }
            answers.push(answered(&view));
        }
        answers.reverse();
        answers
    }
}

fn answered(view: &View<'_>) -> Answers {
    let mut answers = Answers::default();
    for check in &view.graph.checks {
        let of = match check.question {
            Question::Index { .. } | Question::Runtime { .. } => &mut answers.access,
            Question::Divides { .. } => &mut answers.divides,
            Question::Shifts { .. } => &mut answers.shifts,
        };
        *of.entry(check.expression).or_insert(true) &= view.holds(check);
    }
    answers
}
