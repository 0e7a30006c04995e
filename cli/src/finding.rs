//! What the sanitizer found, for people and as JSON.

use std::fmt;

use serde::Serialize;

use crate::simulated::NO_DEVICE;

/// One thing that a kernel does and should not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The kernel's entry point.
    pub(crate) kernel: String,
    /// The line of its WGSL, from 1; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
    /// `race`, `divergence` or `out-of-range`.
    pub(crate) kind: &'static str,
    /// What happened, with names and numbers.
    pub(crate) text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, line, kind, text } = self;
        write!(f, "kernel `{kernel}`")?;
        line.map_or(Ok(()), |line| write!(f, ", line {line}"))?;
        write!(f, ": {kind}: {text}")
    }
}

/// All of them, a line each, and how many there are.
pub(crate) fn listed(findings: &[Finding]) -> String {
    let count = match findings.len() {
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        more => format!("{more} findings"),
    };
    let lines: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    format!("sanitizer ({NO_DEVICE}): {count}\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_its_kernel_and_its_line_where_that_is_known() {
        let race = Finding { kernel: "k".to_owned(), line: Some(7), kind: "race", text: "on `sums`".to_owned() };
        assert_eq!(race.to_string(), "kernel `k`, line 7: race: on `sums`");
        let unknown = Finding { line: None, ..race };
        assert_eq!(unknown.to_string(), "kernel `k`: race: on `sums`");
        assert!(serde_json::to_string(&unknown).is_ok_and(|json| !json.contains("line")));
        assert_eq!(listed(&[unknown]), "sanitizer (sim: no device): 1 finding\nkernel `k`: race: on `sums`\n");
    }
}
