//! Proof of the prelude.

use super::*;
use crate::dialect::Spelling;

mod conversions;
mod halves;
mod integers;
mod known;
mod program;
mod waits;

#[test]
fn a_text_has_what_is_used_and_no_more() {
    let text = text(Dialect::Cuda, FloatMode::Strict, &["index", "f32"]);
    assert!(text.contains("u32 index(const I k, const u32 len)"), "{text}");
    assert!(!text.contains("vec") && !text.contains("f16"), "{text}");
}

#[test]
fn every_name_is_known_by_whom_it_must_not_meet() {
    for name in ["vec", "f16", "add", "subgroup_exclusive_mul", "WG_KERNEL", "wg_host_run", "atomic_compare_exchange"] {
        assert!(NAMES.contains(&name), "{name}");
    }
    assert!(NAMES.is_sorted());
}

#[test]
fn nothing_at_the_margin_goes_unread() {
    let quiet = |line: &str| {
        let rest = ["", "}", "};", "//", "#if ", "#endif", "#else", "#error", "    "];
        rest.iter().any(|start| line.is_empty() || !start.is_empty() && line.starts_with(start))
    };
    for part in PARTS {
        // A macro goes on where a line ends so, and the line below a template belongs to it.
        let mut goes_on = false;
        for line in part.text.lines() {
            let of_before = std::mem::replace(&mut goes_on, line.ends_with('\\'));
            assert!(of_before || quiet(line) || item::declared(line).is_some() || line.ends_with('>'), "{line}");
        }
        let unnamed = part.text.split("\n\n").filter(|paragraph| {
            !item::is_call(paragraph) && !paragraph.lines().any(|line| item::declared(line).is_some())
        });
        assert_eq!(
            unnamed.count(),
            1,
            "the comment on a file is the one paragraph that declares nothing: {}",
            part.text
        );
    }
}

#[test]
fn macros_are_spelled_once() {
    let mut names: Vec<_> = SPELLINGS.iter().map(Spelling::name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// What a text declares must not depend on what else is asked for: each name brings all that it needs.
#[test]
fn every_name_stands_alone() {
    let texts: Vec<String> = NAMES.iter().map(|name| text(Dialect::Host, FloatMode::Strict, &[name])).collect();
    program::check_syntax(&texts);
}
