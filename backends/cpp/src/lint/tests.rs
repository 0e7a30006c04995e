//! Kernels that break a rule and kernels that just do not, in tables: each a body, and the lints that it gets.

mod bodies;
mod continuing;
mod functions;
mod limits;
mod loops;

use super::{Lint, lint};

/// What every kernel of the tables may name.
const HEAD: &str = "
struct Params { n: u32, limits: array<vec4<u32>, 4> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(0) @binding(3) var<storage, read_write> counter: atomic<u32>;
var<immediate> scalar: u32;
var<workgroup> shared_: array<u32, 64>;
var<workgroup> flag: u32;
var<private> own: u32;
override level: u32 = 3;
const FOUR = 4u;
";

const ENTRY: &str = "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) lane: u32, \
                     @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>, \
                     @builtin(num_workgroups) groups: vec3<u32>, @builtin(subgroup_id) sub: u32, \
                     @builtin(subgroup_invocation_id) sublane: u32, @builtin(subgroup_size) width: u32, \
                     @builtin(num_subgroups) subs: u32)";

/// The rules that a text breaks, in order.
fn rules(wgsl: &str) -> Vec<&'static str> {
    lints(wgsl).iter().map(|lint| lint.rule.name()).collect()
}

fn lints(wgsl: &str) -> Vec<Lint> {
    lint(wgsl).unwrap_or_else(|error| panic!("{error}\n{wgsl}"))
}

/// A kernel with functions and a body.
fn kernel(functions: &str, body: &str) -> String {
    format!("{HEAD}{functions}\n{ENTRY} {{\n{body}\n}}\n")
}

const CLEAN: &[&str] = &[];
const BARRIER: &[&str] = &["non-uniform-barrier"];
const SUBGROUP: &[&str] = &["non-uniform-subgroup"];
const RETURN: &[&str] = &["early-return"];
const LET: &[&str] = &["body-let-in-continuing"];

/// Hold a table of bodies against the rules that each breaks.
fn check(table: &[(&str, &[&str])]) {
    let failed: Vec<String> = table
        .iter()
        .filter_map(|(body, expected)| {
            let lints = lints(&kernel("", body));
            let found: Vec<_> = lints.iter().map(|lint| lint.rule.name()).collect();
            (found != *expected).then(|| format!("{body}\n  expected {expected:?}, found {lints:#?}"))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
