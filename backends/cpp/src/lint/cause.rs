//! Why a value differs between invocations, and what is told of the nodes on the way from it.

use naga::{BuiltIn, Span};

use super::graph::Level;
use super::lines::Lines;

/// What is told of a node.
#[derive(Clone, Copy)]
pub(super) enum Note<'m> {
    /// Nothing.
    None,
    /// Its values differ, whatever it depends on.
    Source(Level, Cause<'m>),
    /// It is the flow under a condition that is written there.
    Condition(Span),
    /// It is the value of a variable from there on; those that the compiler made have no name.
    Stored(Option<&'m str>, Span),
}

impl Note<'_> {
    /// How far the values of the node differ by themselves.
    pub(super) fn level(&self) -> Option<Level> {
        match self {
            Self::Source(level, _) => Some(*level),
            Self::None | Self::Condition(_) | Self::Stored(..) => None,
        }
    }
}

/// Where a value comes from that differs between invocations.
#[derive(Clone, Copy)]
pub(super) enum Cause<'m> {
    /// A value that each invocation begins with.
    BuiltIn(BuiltIn),
    /// Memory that somebody writes.
    Memory(&'m str, Span),
    /// A private variable: it is not followed.
    Private(&'m str, Span),
    /// What an operation answers.
    Operation(&'static str, Span),
    /// What a function answers, or leaves in a variable.
    Call(&'m str, Span),
}

impl Cause<'_> {
    /// As it is named in a message.
    pub(super) fn text(&self, lines: &Lines<'_>) -> String {
        match self {
            Self::BuiltIn(builtin) => format!("`{}`", builtin_name(*builtin)),
            Self::Memory(name, span) => format!("`{name}` (read {}), which invocations write", lines.at(*span)),
            Self::Private(name, span) => format!("the private variable `{name}` (read {})", lines.at(*span)),
            Self::Operation(name, span) => format!("the result of `{name}` ({})", lines.at(*span)),
            Self::Call(name, span) => format!("what the function `{name}` gives ({})", lines.at(*span)),
        }
    }
}

/// How far a value differs that an invocation begins with; nothing for one that a workgroup shares.
pub(super) fn builtin_level(builtin: BuiltIn) -> Option<Level> {
    match builtin {
        BuiltIn::WorkGroupId | BuiltIn::NumWorkGroups | BuiltIn::WorkGroupSize | BuiltIn::SubgroupSize => None,
        // The specification counts the number of subgroups among the values that differ, and browsers go by it.
        BuiltIn::SubgroupId | BuiltIn::NumSubgroups => Some(Level::Subgroup),
        _ => Some(Level::Invocation),
    }
}

fn builtin_name(builtin: BuiltIn) -> &'static str {
    match builtin {
        BuiltIn::GlobalInvocationId => "global_invocation_id",
        BuiltIn::LocalInvocationId => "local_invocation_id",
        BuiltIn::LocalInvocationIndex => "local_invocation_index",
        BuiltIn::SubgroupId => "subgroup_id",
        BuiltIn::NumSubgroups => "num_subgroups",
        BuiltIn::SubgroupInvocationId => "subgroup_invocation_id",
        _ => "an input of the entry point",
    }
}
