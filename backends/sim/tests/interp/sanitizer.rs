//! Races, divergence and indexes out of range: what is found, where, and what is not.

use graphreel_sim::interp::{Finding, FindingKind};

use crate::rig::Rig;

const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
var<workgroup> shared_: array<u32, 64>;
var<workgroup> count: atomic<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {\n";

/// Findings of a body whose first line is line 5.
fn findings(body: &str) -> Vec<Finding> {
    let rig = Rig::with_subgroups(&*format!("{HEAD}_ = &data; {body}\n}}"), 32);
    rig.buffer(&[0; 64]).groups(2, 1, 1).threads(2).sanitized().try_run().unwrap().findings
}

fn one(body: &str, kind: FindingKind, line: u32, words: &[&str]) {
    let found = findings(body);
    assert_eq!(found.len(), 1, "{body}: {found:?}");
    assert_eq!((found[0].kind, found[0].line), (kind, line), "{found:?}");
    for word in words {
        assert!(found[0].text.contains(word), "{found:?} says nothing of {word}");
    }
}

#[test]
fn races_in_workgroup_memory() {
    one(
        "shared_[i] = i;\ndata[i] = shared_[63u - i];",
        FindingKind::Race,
        6,
        &["shared_", "reads", "writes", "(0, 0, 0)"],
    );
    one("shared_[0] = i;", FindingKind::Race, 5, &["invocation 1", "invocation 0"]);
    one("let x = shared_[(i + 1u) % 64u];\nshared_[i] = x;", FindingKind::Race, 6, &["shared_"]);
    assert_eq!(findings("shared_[i] = i;\nworkgroupBarrier();\ndata[i] = shared_[63u - i];"), []);
    assert_eq!(findings("shared_[i] = i;\ndata[i] = shared_[i];"), []);
    assert_eq!(findings("data[i] = shared_[0] + shared_[1];"), []);
    assert_eq!(findings("atomicAdd(&count, 1u);"), []);
}

#[test]
fn races_in_storage() {
    one("data[i] = i;\nlet x = data[63u - i];\nshared_[i] = x;", FindingKind::Race, 6, &["data", "byte"]);
    one("data[i / 2u] = i;", FindingKind::Race, 5, &["data"]);
    // A barrier of workgroup memory orders no other.
    one("data[i] = i;\nworkgroupBarrier();\nshared_[i] = data[63u - i];", FindingKind::Race, 7, &["data"]);
    assert_eq!(findings("data[i] = i;\nstorageBarrier();\nshared_[i] = data[63u - i];"), []);
    // Within a subgroup its own barrier is enough.
    assert_eq!(findings("data[i] = i;\nsubgroupBarrier();\nshared_[i] = data[i ^ 1u];"), []);
    assert_eq!(findings("data[i] = i;\nsubgroupBarrier();\nshared_[i] = data[i ^ 32u];").len(), 1);
}

#[test]
fn halves_of_a_word_are_apart() {
    let rig = Rig::new(
        "enable f16;
         @group(0) @binding(0) var<storage, read_write> data: array<f16>;
         @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { data[i] = f16(i); }",
    );
    let rig = rig.buffer(&[0; 32]).sanitized();
    assert_eq!(rig.try_run().unwrap().findings, []);
    assert_eq!(rig.words(0)[1], 0x4200_4000);
}

#[test]
fn indexes_out_of_range() {
    one(
        "let x = data[i + 1u];\nshared_[i] = x;",
        FindingKind::OutOfRange,
        5,
        &["index 64", "`data`", "64 elements", "invocation 63"],
    );
    let own = "var a = array(1u, 2u);\na[i / 32u + 1u] = 3u;\ndata[i] = a[0];";
    one(own, FindingKind::OutOfRange, 6, &["index 2", "`a`"]);
    assert_eq!(findings("data[min(i, 63u)] = i;"), []);
}

#[test]
fn subgroup_operations_that_only_some_reach() {
    one("if i < 40u {\ndata[i] = subgroupAdd(1u);\n}", FindingKind::Divergence, 6, &["only 8 of the 32"]);
    assert_eq!(findings("if i < 32u {\ndata[i] = subgroupAdd(1u);\n}"), []);
}

#[test]
fn each_place_is_told_once_and_nothing_without_the_wish() {
    let body = "for (var k = 0u; k < 10u; k++) {\nshared_[k] = i;\n}";
    assert_eq!(findings(body).len(), 1);
    let rig = Rig::new(&*format!("{HEAD}_ = &data;\n{body}\n}}")).buffer(&[0; 64]);
    assert_eq!(rig.try_run().unwrap().findings, []);
    let many: String = (0..200).map(|k| format!("shared_[{}] = i;\n", k % 64)).collect();
    let found = findings(&many);
    assert_eq!(found.len(), 64);
    let again = findings(&many);
    assert_eq!(found, again);
}
