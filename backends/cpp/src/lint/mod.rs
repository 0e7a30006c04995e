//! Lints: what a kernel does that is valid to naga and yet goes wrong on some device. Barriers and subgroup operations in flow
//! that is not uniform are found by the WGSL specification's analysis, which naga lacks.

mod cause;
mod continuing;
mod graph;
mod lines;
mod operands;
mod reached;
mod statement;
mod steps;
mod summary;
mod value;
mod verdict;
mod walk;

use graphreel::error::InvalidKernel;
use graphreel::kernel::{parse, refusal};
use naga::diagnostic_filter::{DiagnosticFilterNode, FilterableTriggeringRule, Severity};
use naga::{AddressSpace, Binding, EntryPoint, Function, Handle, Module, Span, TypeInner};

use self::cause::{Cause, Note, builtin_level};
use self::graph::Node;
use self::lines::Lines;
use self::summary::{Input, Summary};
use self::walk::Walk;

/// What a lint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// A barrier, or `workgroupUniformLoad`, that not all invocations of the workgroup come to together.
    NonUniformBarrier,
    /// A subgroup or quad operation that not all invocations of the subgroup come to together.
    NonUniformSubgroup,
    /// A `return` that only some invocations take, before a barrier or a subgroup operation.
    EarlyReturn,
    /// `continuing` or `break if` reads a `let` of the loop's body, which wgpu compiles wrongly for Metal.
    BodyLetInContinuing,
}

impl Rule {
    /// Its name in messages: `non-uniform-barrier`, and so on.
    pub fn name(self) -> &'static str {
        match self {
            Self::NonUniformBarrier => "non-uniform-barrier",
            Self::NonUniformSubgroup => "non-uniform-subgroup",
            Self::EarlyReturn => "early-return",
            Self::BodyLetInContinuing => "body-let-in-continuing",
        }
    }
}

/// Something that a kernel should not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// The rule that it breaks.
    pub rule: Rule,
    /// The compute entry point that does it: the first one, where several share the function.
    pub entry: String,
    /// 1-based line, 0 where no place is known.
    pub line: u32,
    /// 1-based column in characters, 0 where no place is known.
    pub column: u32,
    /// What is wrong, why, and what to do about it, in one line.
    pub message: String,
}

/// A lint of one function.
struct Found {
    rule: Rule,
    span: Span,
    message: String,
}

/// Look at every compute entry point of a WGSL text, and at what they call. Lints come in the order of the text.
///
/// # Errors
///
/// [`InvalidKernel`] when the text is not valid, or one of its functions is too large to be followed.
pub fn lint(wgsl: &str) -> Result<Vec<Lint>, InvalidKernel> {
    let (module, _) = parse(wgsl)?;
    lint_module(&module, wgsl)
}

/// Look at a module that is valid, and was made of `wgsl`.
fn lint_module(module: &Module, wgsl: &str) -> Result<Vec<Lint>, InvalidKernel> {
    let lines = Lines::new(wgsl);
    let mut lints = Vec::new();
    let mut put = |entry: &EntryPoint, found: Vec<Found>| {
        lints.extend(found.into_iter().map(|Found { rule, span, message }| {
            let (line, column) = lines.place(span);
            Lint { rule, entry: entry.name.clone(), line, column, message }
        }));
    };
    let too_large = |entry: &EntryPoint, function: &Function, span: Span| {
        let name = function.name.as_deref().unwrap_or(&entry.name);
        let message = format!("function `{name}` has too many variables and ways out to be followed; split it");
        InvalidKernel { kernel: Some(entry.name.clone()), problem: refusal(span, &message, wgsl) }
    };
    let mut summaries: Vec<Option<Summary>> = module.functions.iter().map(|_| None).collect();
    for (handle, entry) in reached::functions(module) {
        let function = &module.functions[handle];
        let judged = judge_function(module, function, &summaries, &lines);
        let (found, summary) = judged.ok_or_else(|| too_large(entry, function, module.functions.get_span(handle)))?;
        put(entry, found);
        put(entry, continuing::search(function, &lines));
        summaries[handle.index()] = Some(summary);
    }
    for entry in reached::compute_entries(module) {
        let judged = judge_entry(module, entry, &summaries, &lines);
        let found = judged.ok_or_else(|| too_large(entry, &entry.function, Span::UNDEFINED))?;
        put(entry, found);
        put(entry, continuing::search(&entry.function, &lines));
    }
    lints.sort_by(|a, b| (a.line, a.column, a.rule, &a.message).cmp(&(b.line, b.column, b.rule, &b.message)));
    Ok(lints)
}

/// Judge a function whose flow and arguments its callers give. Nothing where it is too large.
fn judge_function(
    module: &Module,
    function: &Function,
    summaries: &[Option<Summary>],
    lines: &Lines<'_>,
) -> Option<(Vec<Found>, Summary)> {
    let checked = subgroups_checked(module, function.diagnostic_filter_leaf.or(module.diagnostic_filter_leaf));
    let mut walk = Walk::new(module, function, summaries, checked);
    let mut inputs = vec![(Input::Flow, walk.graph.node(Note::None))];
    walk.flow = inputs[0].1;
    for (at, argument) in function.arguments.iter().enumerate() {
        walk.given[at] = walk.graph.node(Note::None);
        inputs.push((Input::Value(at), walk.given[at]));
        if module.types[argument.ty].inner.pointer_space() == Some(AddressSpace::Function) {
            let contents = walk.graph.node(Note::None);
            walk.variables[function.local_variables.len() + at] = contents;
            inputs.push((Input::Contents(at), contents));
        }
    }
    walk.run().then(|| verdict::judge(walk, &inputs, lines))
}

/// Judge an entry point: its flow is uniform, its arguments are what they are declared. Nothing where it is too large.
fn judge_entry(
    module: &Module,
    entry: &EntryPoint,
    summaries: &[Option<Summary>],
    lines: &Lines<'_>,
) -> Option<Vec<Found>> {
    let function = &entry.function;
    let checked = subgroups_checked(module, function.diagnostic_filter_leaf.or(module.diagnostic_filter_leaf));
    let mut walk = Walk::new(module, function, summaries, checked);
    for (at, argument) in function.arguments.iter().enumerate() {
        walk.given[at] = match &module.types[argument.ty].inner {
            TypeInner::Struct { members, .. } if argument.binding.is_none() => {
                let members: Vec<Node> = members.iter().map(|of| input(&mut walk, of.binding.as_ref())).collect();
                let whole = walk.graph.join(Note::None, &members);
                walk.members[at] = members;
                whole
            }
            _ => input(&mut walk, argument.binding.as_ref()),
        };
    }
    walk.run().then(|| verdict::judge(walk, &[], lines).0)
}

/// What an invocation begins with.
fn input(walk: &mut Walk<'_>, binding: Option<&Binding>) -> Node {
    let Some(Binding::BuiltIn(builtin)) = binding else { return Node::UNIFORM };
    let level = builtin_level(*builtin);
    level.map_or(Node::UNIFORM, |level| walk.graph.node(Note::Source(level, Cause::BuiltIn(*builtin))))
}

/// Whether a text asks that subgroup operations be in uniform flow: it does unless `diagnostic(off, subgroup_uniformity)` is
/// said of the function or of the whole.
fn subgroups_checked(module: &Module, leaf: Option<Handle<DiagnosticFilterNode>>) -> bool {
    let mut next = leaf;
    while let Some(handle) = next {
        let node = &module.diagnostic_filters[handle];
        if matches!(&node.inner.triggering_rule, FilterableTriggeringRule::Unknown(name) if &**name == "subgroup_uniformity")
        {
            return node.inner.new_severity != Severity::Off;
        }
        next = node.parent;
    }
    true
}

#[cfg(test)]
mod tests;
