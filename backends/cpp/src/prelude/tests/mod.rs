//! Proof of the prelude.

use super::*;

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
