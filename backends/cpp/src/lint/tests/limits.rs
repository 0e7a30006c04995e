//! Large, deep and bad texts.

use std::fmt::Write as _;
use std::time::Instant;

use super::{kernel, lint, lints, rules};

/// What a debug build may take on a machine that is busy: some ten times of what it takes alone.
const SECONDS_MAX: f64 = 30.0;

#[test]
fn a_long_kernel_is_looked_at_in_a_moment() {
    let mut body = String::from("var v = 0u;\n");
    for index in 0..2500 {
        let _ = writeln!(body, "var v{index} = {index}u;");
        let _ = writeln!(body, "if v{index} > scalar && group.x > {index}u {{ v{index} += v; workgroupBarrier(); }}");
        let _ = writeln!(body, "for (var i = 0u; i < v; i++) {{ v{index} = max(v{index}, table[i]); }}");
        let _ = writeln!(body, "if lane == {index}u {{ out[{index}] = v{index}; storageBarrier(); }}");
    }
    let text = kernel("", &body);
    assert!(text.lines().count() > 10_000);
    let begin = Instant::now();
    assert_eq!(lint(&text).map(|lints| lints.len()), Ok(2500));
    let seconds = begin.elapsed().as_secs_f64();
    assert!(seconds < SECONDS_MAX, "{seconds} s");
}

#[test]
fn many_functions_of_many_parameters_take_a_moment() {
    let mut functions = String::new();
    let list = |of: &dyn Fn(usize) -> String| (0..40).map(of).collect::<Vec<_>>().join(", ");
    for index in 0..200 {
        let parameters = list(&|at| format!("a{at}: u32"));
        let _ = writeln!(
            functions,
            "fn f{index}({parameters}) -> u32 {{ if a{} > 3u {{ workgroupBarrier(); }}",
            index % 40
        );
        if index > 0 {
            let (one, two) = (list(&|at| format!("a{at}")), list(&|at| format!("a{}", (at + 7) % 40)));
            let _ = writeln!(functions, "let x = f{0}({one}); return x + f{0}({two});", index - 1);
        } else {
            let _ = writeln!(functions, "return a0;");
        }
        functions.push_str("}\n");
    }
    let text = kernel(&functions, &format!("out[0] = f199({});", list(&|at| format!("{at}u + group.x"))));
    let begin = Instant::now();
    assert_eq!(lint(&text), Ok(Vec::new()));
    let seconds = begin.elapsed().as_secs_f64();
    assert!(seconds < SECONDS_MAX, "{seconds} s");
    let text = text.replace("out[0] = f199(0u + group.x", "out[0] = f199(lane");
    assert!(!lints(&text).is_empty());
}

#[test]
fn the_deepest_text_needs_little_stack() {
    let mut chain = String::from("if lane == 1000u { workgroupBarrier(); }");
    for index in 0..490 {
        let _ = write!(chain, " else if lane == {index}u {{ out[0] = {index}u; }}");
    }
    let nested = format!("{} workgroupBarrier(); {}", "loop { if lane == 3u { break; }".repeat(40), "}".repeat(40));
    let sum = format!("if {} == 0u {{ workgroupBarrier(); }}", "lane + ".repeat(900) + "1u");
    for body in [chain, nested, sum] {
        let text = kernel("", &body);
        // naga itself needs a thread's usual 2 MiB; what is looked at here is the rest.
        let (module, _) = graphreel::kernel::parse(&text).expect("valid");
        let look = move || super::super::lint_module(&module, &text).map(|lints| lints.len());
        let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(look).expect("a thread");
        assert_eq!(thread.join().expect("no overflow"), Ok(1));
    }
}

#[test]
fn a_text_that_is_not_valid_is_refused_with_its_place() {
    use graphreel::error::KernelProblem;
    let error = lint("@compute @workgroup_size(1)\nfn main() { let x = ; }").expect_err("no expression");
    assert!(matches!(error.problem, KernelProblem::Parse { line: 2, .. }), "{error:?}");
    assert_eq!(lint(""), Ok(Vec::new()));
}

#[test]
fn a_function_with_too_many_ways_out_is_refused() {
    let mut body = String::from("loop {\n");
    (0..2500).for_each(|index| _ = writeln!(body, "v{index} = scalar;"));
    (0..2500).for_each(|index| _ = writeln!(body, "if scalar == {index}u {{ break; }}"));
    let declared: String = (0..2500).map(|index| format!("var v{index} = 1u;\n")).collect();
    let text = kernel("", &format!("{declared}{body}}}"));
    let error = lint(&text).expect_err("6,250,000 edges");
    assert!(error.to_string().contains("function `main` has too many variables"), "{error}");
}

#[test]
fn the_order_is_that_of_the_text() {
    let body =
        "if lane > 1u {\nworkgroupBarrier(); out[0] = subgroupAdd(1u);\n}\nif lane > 2u { return; }\nstorageBarrier();";
    let text = kernel("fn f() {\nif flag > 1u { storageBarrier(); } }", &format!("f();\n{body}"));
    let expected = ["non-uniform-barrier", "non-uniform-barrier", "non-uniform-subgroup", "early-return"];
    assert_eq!(rules(&text), expected);
    assert_eq!(lints(&text), lints(&text));
    assert!(lints(&text).is_sorted_by_key(|lint| (lint.line, lint.column)));
}
