//! Lints of a file, for people and as JSON.

use std::fmt::Write as _;

use graphreel_cpp::Lint;
use serde::Serialize;

use crate::args::CheckArgs;
use crate::failure::Failure;

/// One lint of `check --json`; line and column count from 1 and are absent where no place is known.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    rule: &'static str,
    entry: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: &'a str,
}

impl<'a> From<&'a Lint> for Row<'a> {
    fn from(lint: &'a Lint) -> Self {
        let Lint { rule, entry, line, column, message } = lint;
        let known = |place: u32| (place > 0).then_some(place);
        Self { rule: rule.name(), entry, line: known(*line), column: known(*column), message }
    }
}

/// A line for each, as editors read it: `FILE:LINE:COLUMN: warning[RULE]: message`.
pub(crate) fn listed(file: &str, lints: &[Lint]) -> String {
    let mut text = String::new();
    for Lint { rule, line, column, message, .. } in lints {
        text.push_str(file);
        if *line > 0 {
            let _ = write!(text, ":{line}:{column}");
        }
        let _ = writeln!(text, ": warning[{}]: {message}", rule.name());
    }
    text
}

/// Lints are warnings unless they are denied.
///
/// # Errors
///
/// [`Failure::Lints`].
pub(crate) fn outcome(file: &str, count: usize, args: &CheckArgs) -> Result<(), Failure> {
    if args.deny_lints && count > 0 { Err(Failure::Lints { path: file.to_owned(), count }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use graphreel_cpp::Rule;

    use super::*;

    #[test]
    fn a_lint_has_its_place_where_that_is_known() {
        let known = Lint {
            rule: Rule::EarlyReturn,
            entry: "main".to_owned(),
            line: 3,
            column: 7,
            message: "this `return`".to_owned(),
        };
        let unknown = Lint { line: 0, column: 0, ..known.clone() };
        assert_eq!(
            listed("a.wgsl", &[known.clone(), unknown.clone()]),
            "a.wgsl:3:7: warning[early-return]: this `return`\na.wgsl: warning[early-return]: this `return`\n"
        );
        let json = |lint: &Lint| serde_json::to_string(&Row::from(lint)).expect("it is text and numbers");
        assert!(json(&known).contains("\"line\":3") && !json(&unknown).contains("line"));
    }
}
