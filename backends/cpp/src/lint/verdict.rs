//! From a function's graph to what is wrong in it, and to what its callers have to know.

use std::collections::HashSet;

use naga::{AddressSpace, Span};

use super::cause::Note;
use super::graph::{Complete, Follow, Level, Node, Reach};
use super::lines::Lines;
use super::summary::{Demand, Input, Output, Requirement, Scope, Summary};
use super::walk::{Need, Walk};
use super::{Found, Rule};

/// What depends on values that differ so far.
struct Broken {
    by: Level,
    all: Reach,
    staying: Reach,
}

/// Judge a function that was walked: `inputs` are the nodes that its callers decide, none for an entry point.
pub(super) fn judge(walk: Walk<'_>, inputs: &[(Input, Node)], lines: &Lines<'_>) -> (Vec<Found>, Summary) {
    let pointers: Vec<bool> = (0..walk.function.arguments.len()).map(|at| is_written_pointer(&walk, at)).collect();
    let Walk { graph, needs, result, left, .. } = walk;
    let graph = Complete::new(graph);
    let broken = [Level::Subgroup, Level::Invocation].map(|by| Broken {
        by,
        all: graph.reach_level(by, Follow::All),
        staying: graph.reach_level(by, Follow::Staying),
    });
    let mut found: Vec<Found> = Vec::new();
    let mut seen = HashSet::new();
    let mut open = Vec::new();
    for need in &needs {
        let broken = &broken[usize::from(need.requirement.scope.broken_by() == Level::Invocation)];
        match complaint(&graph, broken, need, lines) {
            // One of a rule for each place: a `return` may be before a hundred barriers.
            Some(one) if seen.insert((one.rule, one.span.to_range())) => found.push(one),
            Some(_) => {}
            None => open.push(need),
        }
    }
    let mut summary = Summary { demands: Vec::new(), result: None, stored: Vec::new() };
    let level = |node: Node| broken.iter().rev().find(|broken| broken.all.has(node)).map(|broken| broken.by);
    let output = |node: Node| Output { own: level(node), inputs: Vec::new() };
    summary.result = Some(output(result));
    summary.stored = left.iter().zip(&pointers).map(|(node, written)| written.then(|| output(*node))).collect();
    for (input, node) in inputs {
        add_input(&graph, (*input, *node), &open, (result, &left), &mut summary);
    }
    (found, summary)
}

fn is_written_pointer(walk: &Walk<'_>, argument: usize) -> bool {
    let ty = &walk.module.types[walk.function.arguments[argument].ty].inner;
    ty.pointer_space() == Some(AddressSpace::Function) && walk.writes_behind(argument)
}

/// Note in a summary what depends on one input.
fn add_input(
    graph: &Complete<'_>,
    (input, node): (Input, Node),
    open: &[&Need<'_>],
    (result, left): (Node, &[Node]),
    summary: &mut Summary,
) {
    let all = graph.reach(&[node], Follow::All);
    let stored = summary.stored.iter_mut().zip(left).filter_map(|(stored, node)| Some((stored.as_mut()?, *node)));
    let outputs = summary.result.iter_mut().map(|output| (output, result)).chain(stored);
    outputs.filter(|(_, node)| all.has(*node)).for_each(|(output, _)| output.inputs.push(input));
    let asking: Vec<_> = open.iter().filter(|need| all.has(need.node)).collect();
    if asking.is_empty() {
        return;
    }
    let staying = graph.reach(&[node], Follow::Staying);
    for need in asking {
        let mut requirement = need.requirement;
        if requirement.left_by.is_none() && !staying.has(need.node) {
            requirement.left_by = graph.way(&all, need.node).iter().find_map(|(edge, _)| edge.left_by);
        }
        // One of a kind is enough: a caller that gives what it asks for gives it to the others too.
        let same = |other: &Demand| {
            let Requirement { rule, scope, left_by, .. } = other.requirement;
            other.input == input
                && (rule, scope, left_by.is_some())
                    == (requirement.rule, requirement.scope, requirement.left_by.is_some())
        };
        if !summary.demands.iter().any(same) {
            summary.demands.push(Demand { input, requirement });
        }
    }
}

/// What is wrong with something that has to be uniform; nothing when it is.
fn complaint(graph: &Complete<'_>, broken: &Broken, need: &Need<'_>, lines: &Lines<'_>) -> Option<Found> {
    let Need { node, requirement, call } = need;
    if !broken.all.has(*node) {
        return None;
    }
    let staying = broken.staying.has(*node);
    let way = graph.way(if staying { &broken.staying } else { &broken.all }, *node);
    let left = way.iter().position(|(edge, _)| edge.left_by.is_some());
    let after = left.unwrap_or(0);
    let notes: Vec<&Note<'_>> = if left.is_some() { None } else { Some(graph.note(*node)) }
        .into_iter()
        .chain(way[after..].iter().map(|(_, node)| graph.note(*node)))
        .collect();
    let because = because(&notes, requirement, lines);
    let left_by = left.and_then(|at| way[at].0.left_by).or(requirement.left_by);
    Some(match left_by {
        Some(span) => early_return(span, requirement, *call, &because, lines),
        None => non_uniform(requirement, *call, &because, lines),
    })
}

/// From what the flow or the value differs.
fn because(notes: &[&Note<'_>], requirement: &Requirement, lines: &Lines<'_>) -> String {
    let condition = notes.iter().position(|note| matches!(note, Note::Condition(_)));
    let mut text = match condition.map(|at| notes[at]) {
        Some(Note::Condition(span)) => format!("the condition at {} depends on ", lines.at(*span)),
        _ => "it depends on ".to_owned(),
    };
    let rest = &notes[condition.unwrap_or(0)..];
    match rest.last() {
        Some(Note::Source(_, cause)) => text.push_str(&cause.text(lines)),
        _ => text.push_str("what differs"),
    }
    let stored = rest.iter().find_map(|note| match note {
        Note::Stored(Some(name), span) => Some((name, span)),
        _ => None,
    });
    if let Some((name, span)) = stored {
        text.push_str(&format!(", through `{name}` (set at {})", lines.at(*span)));
    }
    if let (Scope::Workgroup, Some(Note::Source(Level::Subgroup, _))) = (requirement.scope, rest.last()) {
        text.push_str(", which differs between subgroups");
    }
    text
}

fn non_uniform(requirement: &Requirement, call: Option<(&str, Span)>, because: &str, lines: &Lines<'_>) -> Found {
    let Requirement { rule, scope, operation, span, operand, .. } = *requirement;
    let scope = scope.name();
    let place = call.map_or(span, |(_, at)| at);
    let within = call.map(|(name, _)| format!(" ({}, reached by this call of `{name}`)", lines.at(span)));
    let within = within.unwrap_or_default();
    let what = match operand {
        Some(operand) => format!("the {operand} of `{operation}`{within} is not the same for the whole {scope}"),
        None => format!("`{operation}`{within} is in flow that is not the same for the whole {scope}"),
    };
    let remedy = match (operand, rule) {
        (Some(operand), _) => format!("make the {operand} one that the {scope} shares"),
        (None, Rule::NonUniformSubgroup) => {
            "let every invocation come to it, with a neutral value where it has none".to_owned()
        }
        (None, _) => format!("move it out of the branch, or branch on what the {scope} shares"),
    };
    Found { rule, span: place, message: format!("{what}: {because}; {remedy}") }
}

fn early_return(
    left_by: Span,
    requirement: &Requirement,
    call: Option<(&str, Span)>,
    because: &str,
    lines: &Lines<'_>,
) -> Found {
    let Requirement { scope, operation, span, .. } = *requirement;
    let by_call = call.map(|(name, at)| format!(" when `{name}` is called ({})", lines.at(at))).unwrap_or_default();
    let message = format!(
        "this `return` takes some invocations of a {} away from `{operation}` ({}){by_call}: {because}; let every \
         invocation come to it, and guard what it reads and writes instead",
        scope.name(),
        lines.at(span)
    );
    Found { rule: Rule::EarlyReturn, span: left_by, message }
}
