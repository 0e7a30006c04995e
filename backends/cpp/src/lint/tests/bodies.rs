//! Values, branches and returns.

use super::{BARRIER, CLEAN, RETURN, SUBGROUP, check, kernel, lints, rules};

#[test]
fn what_a_branch_may_depend_on_around_a_barrier() {
    check(&[
        ("workgroupBarrier();", CLEAN),
        ("if lane < 3u { workgroupBarrier(); }", BARRIER),
        ("if lane < 3u { storageBarrier(); }", BARRIER),
        ("if id.x < 3u { out[0] = workgroupUniformLoad(&flag); }", BARRIER),
        ("if group.x < 3u { workgroupBarrier(); }", CLEAN),
        ("if group.y + groups.x * 2u < scalar { workgroupBarrier(); }", CLEAN),
        ("if width == 32u { workgroupBarrier(); }", CLEAN),
        ("if level == 3u && FOUR > 2u { workgroupBarrier(); }", CLEAN),
        ("if sub == 0u { workgroupBarrier(); }", BARRIER),
        ("if subs == 2u { workgroupBarrier(); }", BARRIER),
        ("if sublane == 0u { workgroupBarrier(); }", BARRIER),
        ("if params.n > 2u { workgroupBarrier(); }", CLEAN),
        ("if params.limits[group.x].x > 2u { workgroupBarrier(); }", CLEAN),
        ("if params.limits[lane % 4u].x > 2u { workgroupBarrier(); }", BARRIER),
        ("if table[group.x] > 2u { workgroupBarrier(); }", CLEAN),
        ("if table[lane] > 2u { workgroupBarrier(); }", BARRIER),
        ("if table[table[group.x]] > 2u { workgroupBarrier(); }", CLEAN),
        ("if table[table[lane]] > 2u { workgroupBarrier(); }", BARRIER),
        ("if arrayLength(&table) > 2u { workgroupBarrier(); }", CLEAN),
        ("if arrayLength(&out) > 2u { workgroupBarrier(); }", CLEAN),
        ("if out[0] > 2u { workgroupBarrier(); }", BARRIER),
        ("if shared_[0] > 2u { workgroupBarrier(); }", BARRIER),
        ("if flag > 2u { workgroupBarrier(); }", BARRIER),
        ("if workgroupUniformLoad(&flag) > 2u { workgroupBarrier(); }", CLEAN),
        ("if workgroupUniformLoad(&shared_[group.x]) > 2u { workgroupBarrier(); }", CLEAN),
        ("if workgroupUniformLoad(&shared_[lane]) > 2u { }", BARRIER),
        ("if own > 2u { workgroupBarrier(); }", BARRIER),
        ("own = 1u; if own > 2u { workgroupBarrier(); }", BARRIER),
        ("if atomicAdd(&counter, 1u) == 0u { workgroupBarrier(); }", BARRIER),
        ("if atomicLoad(&counter) == 0u { workgroupBarrier(); }", BARRIER),
        ("if subgroupAny(lane == 0u) { workgroupBarrier(); }", BARRIER),
        ("if select(1u, 2u, group.x == 0u) == 1u { workgroupBarrier(); }", CLEAN),
        ("if select(1u, 2u, lane == 0u) == 1u { workgroupBarrier(); }", BARRIER),
        ("if vec2(group.x, lane).x == 1u { workgroupBarrier(); }", BARRIER),
        ("if lane < 3u { out[lane] = 1u; } workgroupBarrier();", CLEAN),
        ("if lane < 3u { out[lane] = 1u; } else { out[lane] = 2u; } workgroupBarrier();", CLEAN),
        ("if lane < 3u { } else { workgroupBarrier(); }", BARRIER),
        ("if group.x < 3u { if lane < 3u { workgroupBarrier(); } }", BARRIER),
        ("if lane < 3u { if group.x < 3u { workgroupBarrier(); } }", BARRIER),
        ("if group.x < 3u && lane < 3u { workgroupBarrier(); }", BARRIER),
        ("if group.x < 3u || groups.x < 3u { workgroupBarrier(); }", CLEAN),
        ("switch group.x { case 0u, 1u: { workgroupBarrier(); } default: {} }", CLEAN),
        ("switch lane { case 0u, 1u: { } case 2u: { workgroupBarrier(); } default: {} }", BARRIER),
        ("switch lane { case 0u: { if group.x == 0u { break; } } default: {} } workgroupBarrier();", CLEAN),
        ("switch group.x { case 0u: { if lane == 0u { break; } workgroupBarrier(); } default: {} }", BARRIER),
        ("switch group.x { case 0u: { if groups.x == 0u { break; } workgroupBarrier(); } default: {} }", CLEAN),
    ]);
}

#[test]
fn what_a_branch_may_depend_on_around_a_subgroup_operation() {
    check(&[
        ("out[lane] = subgroupAdd(lane);", CLEAN),
        ("if lane < 3u { out[lane] = subgroupAdd(lane); }", SUBGROUP),
        ("if sublane == 0u { out[lane] = subgroupMax(lane); }", SUBGROUP),
        ("if sub == 0u { out[lane] = subgroupAdd(lane); }", CLEAN),
        ("if subs > sub { out[lane] = subgroupAdd(lane); }", CLEAN),
        ("if group.x == 0u { out[lane] = quadSwapX(lane); }", CLEAN),
        ("if lane == 0u { out[lane] = quadSwapDiagonal(lane); }", SUBGROUP),
        ("if lane == 0u { out[lane] = quadBroadcast(lane, 1u); }", SUBGROUP),
        ("if subgroupAny(lane == 3u) { out[lane] = subgroupAdd(lane); }", CLEAN),
        ("if subgroupAdd(lane) > 3u { out[lane] = subgroupMul(lane); }", CLEAN),
        ("if subgroupBallot(lane > 3u).x == 3u { out[lane] = subgroupAdd(lane); }", CLEAN),
        ("if subgroupBroadcast(lane, 3u) == 3u { out[lane] = subgroupAdd(lane); }", CLEAN),
        ("if subgroupBroadcastFirst(lane) == 3u { out[lane] = subgroupAdd(lane); }", CLEAN),
        ("if subgroupExclusiveAdd(lane) > 3u { out[lane] = subgroupAdd(lane); }", SUBGROUP),
        ("if subgroupInclusiveMul(lane) > 3u { out[lane] = subgroupAdd(lane); }", SUBGROUP),
        ("if subgroupShuffle(lane, 3u) > 3u { out[lane] = subgroupAdd(lane); }", SUBGROUP),
        ("if quadSwapY(lane) > 3u { out[lane] = subgroupAdd(lane); }", SUBGROUP),
        ("out[lane] = subgroupShuffle(lane, table[lane]);", CLEAN),
        ("out[lane] = subgroupShuffleUp(lane, group.x);", CLEAN),
        ("out[lane] = subgroupShuffleUp(lane, table[lane]);", SUBGROUP),
        ("out[lane] = subgroupShuffleDown(lane, sublane);", SUBGROUP),
        ("out[lane] = subgroupShuffleXor(lane, sub);", CLEAN),
        ("out[lane] = subgroupShuffleXor(lane, lane);", SUBGROUP),
        ("if lane > 3u { subgroupBarrier(); }", BARRIER),
        ("if sub > 3u { subgroupBarrier(); }", CLEAN),
        ("if lane > 3u { let all = subgroupAll(true); }", SUBGROUP),
        ("var x = 0u; if lane > 3u { x = 1u; } if x == 1u { out[0] = subgroupAdd(1u); }", SUBGROUP),
        ("var x = 0u; if sub > 3u { x = 1u; } if x == 1u { out[0] = subgroupAdd(1u); }", CLEAN),
    ]);
}

#[test]
fn what_is_said_after_a_return() {
    check(&[
        ("if lane > 3u { return; } workgroupBarrier();", RETURN),
        ("if lane > 3u { return; } out[lane] = subgroupAdd(1u);", RETURN),
        ("if lane > 3u { return; } workgroupBarrier(); storageBarrier(); out[0] = subgroupAdd(1u);", RETURN),
        ("if sub > 3u { return; } out[lane] = subgroupAdd(1u);", CLEAN),
        ("if sub > 3u { return; } workgroupBarrier();", RETURN),
        ("if group.x > 3u { return; } workgroupBarrier();", CLEAN),
        ("workgroupBarrier(); if lane > 3u { return; } out[lane] = 1u;", CLEAN),
        ("if lane > 3u { return; } if lane > 2u { workgroupBarrier(); }", BARRIER),
        ("if lane > 3u { out[0] = 1u; } else { return; } workgroupBarrier();", RETURN),
        ("if group.x > 3u { if lane > 3u { return; } } workgroupBarrier();", RETURN),
        ("if lane > 3u { if group.x > 3u { return; } } workgroupBarrier();", RETURN),
        ("switch lane { case 3u: { return; } default: {} } workgroupBarrier();", RETURN),
        ("for (var i = 0u; i < 4u; i++) { if table[lane] == i { return; } } workgroupBarrier();", RETURN),
        ("for (var i = 0u; i < 4u; i++) { if table[group.x] == i { return; } } workgroupBarrier();", CLEAN),
        ("var x = 0u; if lane > 3u { return; } x = 1u; if x == 1u { workgroupBarrier(); }", RETURN),
        ("if lane > 3u { return; } else { return; }", CLEAN),
        ("if lane > 3u { workgroupBarrier(); }", BARRIER),
    ]);
}

#[test]
fn variables_are_followed_one_by_one() {
    check(&[
        ("var x = lane; if x > 3u { workgroupBarrier(); }", BARRIER),
        ("var x = lane; x = group.x; if x > 3u { workgroupBarrier(); }", CLEAN),
        ("var x = group.x; let y = x; x = lane; if y > 3u { workgroupBarrier(); }", CLEAN),
        ("var x = 0u; var y = lane; y += 1u; if x == 0u { workgroupBarrier(); }", CLEAN),
        ("var x = 0u; if lane > 3u { x = 1u; } if x == 0u { workgroupBarrier(); }", BARRIER),
        ("var x = 0u; if group.x > 3u { x = 1u; } if x == 0u { workgroupBarrier(); }", CLEAN),
        ("var x = 0u; if lane > 3u { x = 1u; } else { x = 1u; } if x == 1u { workgroupBarrier(); }", BARRIER),
        ("var x = 0u; if lane > 3u { x = 1u; } x = 2u; if x == 2u { workgroupBarrier(); }", CLEAN),
        ("var x = lane; if group.x > 3u { x = 1u; } if x == 2u { workgroupBarrier(); }", BARRIER),
        ("var x = lane; if group.x > 3u { x = 1u; } else { x = 2u; } if x == 2u { workgroupBarrier(); }", CLEAN),
        ("var x = lane; if group.x > 3u { x = 1u; } else { return; } if x == 1u { workgroupBarrier(); }", CLEAN),
        ("var a: array<u32, 4>; a[1] = lane; if a[0] > 3u { workgroupBarrier(); }", BARRIER),
        ("var a: array<u32, 4>; a[lane % 4u] = 1u; if a[0] > 3u { workgroupBarrier(); }", BARRIER),
        ("var a: array<u32, 4>; a[group.x % 4u] = 1u; if a[0] > 3u { workgroupBarrier(); }", CLEAN),
        ("var a: array<u32, 4>; if a[lane % 4u] == 3u { workgroupBarrier(); }", BARRIER),
        ("var a: array<u32, 4>; a[1] = lane; a = array<u32, 4>(); if a[0] > 3u { workgroupBarrier(); }", CLEAN),
        ("var x = 0u; let p = &x; *p = lane; if x > 3u { workgroupBarrier(); }", BARRIER),
        ("var x = lane; let p = &x; *p = 1u; if *p > 3u { workgroupBarrier(); }", CLEAN),
        (
            "var x = 0u; switch group.x { case 0u: { x = 1u; } case 1u: { x = lane; } default: { x = 2u; } } \
          if x == 0u { workgroupBarrier(); }",
            BARRIER,
        ),
        (
            "var x = lane; switch group.x { case 0u: { x = 1u; } default: { x = 2u; } } \
          if x == 0u { workgroupBarrier(); }",
            CLEAN,
        ),
        (
            "var x = lane; switch group.x { case 0u: { if groups.x == 1u { break; } x = 1u; } default: { x = 2u; } } \
          if x == 0u { workgroupBarrier(); }",
            BARRIER,
        ),
    ]);
}

#[test]
fn the_examples_of_the_specification() {
    // Two periods of one variable.
    let periods =
        "var x: u32; x = out[0]; if x > 0u { workgroupBarrier(); } x = params.n; if x < 9u { storageBarrier(); }";
    check(&[(periods, BARRIER)]);
    // Members of the inputs are told apart, which the specification leaves to the author.
    let inputs = "struct Inputs { @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32 }
        @compute @workgroup_size(16) fn main(inputs: Inputs) { if inputs.WHICH == 1u { workgroupBarrier(); } }";
    assert_eq!(rules(&inputs.replace("WHICH", "group.x")), CLEAN);
    assert_eq!(rules(&inputs.replace("WHICH", "lane")), BARRIER);
    let copied = inputs.replace("if inputs.WHICH", "let copy = inputs; if copy.group.x");
    assert_eq!(rules(&copied), CLEAN, "a `let` is the value itself");
    let stored = inputs.replace("if inputs.WHICH", "var copy = inputs; if copy.group.x");
    assert_eq!(rules(&stored), BARRIER, "a variable is followed as a whole");
}

#[test]
fn subgroup_uniformity_can_be_turned_off() {
    let body = "if lane < 3u { out[lane] = subgroupAdd(lane); }";
    let text = kernel("", body);
    assert_eq!(rules(&text), SUBGROUP);
    assert_eq!(rules(&format!("diagnostic(off, subgroup_uniformity);{text}")), CLEAN);
    assert_eq!(rules(&format!("diagnostic(warning, subgroup_uniformity);{text}")), SUBGROUP);
    assert_eq!(rules(&text.replace("@compute", "@diagnostic(off, subgroup_uniformity) @compute")), CLEAN);
    let barrier = kernel("", "if lane < 3u { workgroupBarrier(); }");
    assert_eq!(rules(&format!("diagnostic(off, subgroup_uniformity);{barrier}")), BARRIER);
}

#[test]
fn messages_tell_what_why_and_what_to_do() {
    let text =
        kernel("", "var stop = 0u;\nif lane > 3u {\n  stop = 1u;\n}\nif stop == 1u {\n    workgroupBarrier();\n}");
    let line = |of: &str| text.lines().position(|line| line.contains(of)).expect("it is there") + 1;
    let [lint] = &lints(&text)[..] else { panic!() };
    assert_eq!((lint.line as usize, lint.column, lint.entry.as_str()), (line("workgroupBarrier"), 5, "main"));
    assert_eq!(
        lint.message,
        format!(
            "`workgroupBarrier` is in flow that is not the same for the whole workgroup: the condition at line {} depends \
             on `local_invocation_index`, through `stop` (set at line {}); move it out of the branch, or branch on what \
             the workgroup shares",
            line("stop == 1u"),
            line("stop = 1u;")
        )
    );
    let text = kernel("", "if table[id.x] == 0u {\n    return;\n}\nout[0] = subgroupMin(lane);");
    let [lint] = &lints(&text)[..] else { panic!() };
    assert_eq!((lint.line as usize, lint.column), (line_of(&text, "return;"), 5));
    for part in
        ["this `return`", "`subgroupMin` (line ", "of a subgroup", "`global_invocation_id`", "guard what it reads"]
    {
        assert!(lint.message.contains(part), "`{part}` in {}", lint.message);
    }
    let text = kernel("", "if sub == 0u { workgroupBarrier(); }");
    assert!(lints(&text)[0].message.contains("`subgroup_id`, which differs between subgroups"));
    let text = kernel("", "if shared_[3] == 0u { workgroupBarrier(); }");
    assert!(lints(&text)[0].message.contains("depends on `shared_` (read line "), "{:?}", lints(&text));
}

fn line_of(text: &str, of: &str) -> usize {
    text.lines().position(|line| line.contains(of)).expect("it is there") + 1
}
