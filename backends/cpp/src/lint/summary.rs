//! What callers have to know of a function: what it asks of them, and what its results depend on.

use naga::Span;

use super::Rule;
use super::graph::Level;

/// What a caller gives to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// The flow in which it is called.
    Flow,
    /// An argument; of a pointer, the indices in it.
    Value(usize),
    /// What the variable holds that an argument points to.
    Contents(usize),
}

/// Who has to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All invocations of the workgroup.
    Workgroup,
    /// Those of each subgroup.
    Subgroup,
}

impl Scope {
    /// How far values have to differ at least to break it.
    pub(super) fn broken_by(self) -> Level {
        match self {
            Self::Workgroup => Level::Subgroup,
            Self::Subgroup => Level::Invocation,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Workgroup => "workgroup",
            Self::Subgroup => "subgroup",
        }
    }
}

/// What an operation asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requirement {
    /// The rule that is broken where it does not get it.
    pub(super) rule: Rule,
    /// Who has to agree.
    pub(super) scope: Scope,
    /// The operation, as WGSL spells it.
    pub(super) operation: &'static str,
    /// Its place.
    pub(super) span: Span,
    /// The operand that has to be uniform; without one it is the flow.
    pub(super) operand: Option<&'static str>,
    /// The `return` after which it stands, of the function that it is in.
    pub(super) left_by: Option<Span>,
}

/// What a function asks of its callers.
pub(super) struct Demand {
    /// What has to be uniform.
    pub(super) input: Input,
    /// For what.
    pub(super) requirement: Requirement,
}

/// What a value of the callee's depends on.
pub(super) struct Output {
    /// How far it differs whatever the caller gives.
    pub(super) own: Option<Level>,
    /// What it depends on.
    pub(super) inputs: Vec<Input>,
}

/// What callers have to know of a function.
pub(super) struct Summary {
    /// What it asks of them, in the order of its text.
    pub(super) demands: Vec<Demand>,
    /// What it returns.
    pub(super) result: Option<Output>,
    /// For each argument what it leaves in the variable that it points to; nothing where it leaves it alone.
    pub(super) stored: Vec<Option<Output>>,
}
