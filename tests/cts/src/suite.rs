//! One test for each file, for a backend's own tests to take in one line.

use graphreel_testkit::{Expect, Fixture, announce, opened};

use crate::report::{ListReport, Outcome, Report};
use crate::{Case, Expectation, List, Scalar, Value, folder, load, run_list, run_widths};

/// Makes `lists!`, which turns every file into a `#[test]` of the crate that uses it.
///
/// `$d` is a dollar sign: the macro that is made has a variable of its own.
macro_rules! registry {
    ($d:tt $($test:ident $file:literal)*) => {
        /// Every file that has a test, by its path in the folder without the ending.
        pub const FILES: &[&str] = &[$($file),*];

        /// One `#[test]` for each expectation file, run on the [`Fixture`] given, and one of the runner itself.
        ///
        /// `Fixture::expect` is asked for each list by file and list, as `acos/f32_non_const`.
        #[macro_export]
        macro_rules! lists {
            ($d fixture:ident) => {
                #[test]
                fn the_runner_tells_right_from_wrong() {
                    $d crate::suite::check_runner::<$d fixture>();
                }

                $(
                    #[test]
                    fn $test() {
                        $d crate::suite::check::<$d fixture>($file);
                    }
                )*
            };
        }
    };
}

registry! { $
    abs "abs"
    acos "acos"
    acosh "acosh"
    asin "asin"
    atan "atan"
    binary_f16_addition "binary/f16_addition"
    binary_f32_addition "binary/f32_addition"
    binary_f32_logical "binary/f32_logical"
    binary_f32_matrix_matrix_multiplication "binary/f32_matrix_matrix_multiplication"
    binary_f32_matrix_vector_multiplication "binary/f32_matrix_vector_multiplication"
    binary_f32_multiplication "binary/f32_multiplication"
    binary_f32_subtraction "binary/f32_subtraction"
    binary_i32_arithmetic "binary/i32_arithmetic"
    binary_u32_comparison "binary/u32_comparison"
    bitcast "bitcast"
    ceil "ceil"
    degrees "degrees"
    determinant "determinant"
    dot "dot"
    exp "exp"
    fma "fma"
    fract "fract"
    inverse_sqrt "inverseSqrt"
    ldexp "ldexp"
    length "length"
    log "log"
    min "min"
    modf "modf"
    pack2x16float "pack2x16float"
    quantize_to_f16 "quantizeToF16"
    saturate "saturate"
    sin "sin"
    sinh "sinh"
    smoothstep "smoothstep"
    step "step"
    tanh "tanh"
    transpose "transpose"
    unary_bool_conversion "unary/bool_conversion"
    unary_f16_arithmetic "unary/f16_arithmetic"
    unary_f32_arithmetic "unary/f32_arithmetic"
    unary_i32_arithmetic "unary/i32_arithmetic"
    unary_i32_conversion "unary/i32_conversion"
    unary_u32_conversion "unary/u32_conversion"
    unpack2x16float "unpack2x16float"
    unpack2x16snorm "unpack2x16snorm"
    unpack4x8unorm "unpack4x8unorm"
}

/// Run every list of `file` on a device of `F`, as the fixture expects of each.
///
/// # Panics
///
/// When the file cannot be read, a list fails that is to pass, or one passes at every width that is listed as broken.
pub fn check<F: Fixture>(file: &str) {
    let Some(dir) = folder::named() else {
        announce(&format!("{file}: skipped, GRAPHREEL_CTS_DIR names no folder"));
        return;
    };
    let content = load(&folder::path(&dir, file)).unwrap_or_else(|error| panic!("{error}"));
    let Some(device) = opened::<F>(file) else { return };
    let mut failed = Report::default();
    let mut repaired = Vec::new();
    let mut seen = 0;
    for list in content.lists.iter().filter(|list| list.runs()) {
        seen += 1;
        let name = format!("{file}/{}", list.name);
        let expect = F::expect(&name);
        if let Expect::Unsupported(why) = expect {
            announce(&format!("{name}: not supported by {}: {why}", F::NAME));
            continue;
        }
        let reports = run_widths(&device, file, list);
        reports.iter().for_each(|report| announce(&report.to_string()));
        match settle(expect, &reports) {
            Verdict::AsExpected => {}
            Verdict::Repaired(why) => repaired.push(format!("{name} ({why})")),
            Verdict::Failed => failed.lists.extend(reports),
        }
    }
    assert!(seen > 0, "{file} has no list for devices");
    assert!(repaired.is_empty(), "listed as broken on {} and passing, remove: {}", F::NAME, repaired.join(", "));
    assert!(failed.lists.is_empty(), "on {}:\n{failed}", device.info().name);
}

/// What the reports of a list are to its expectation.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    AsExpected,
    /// It passes at every width, and is listed as broken for this reason.
    Repaired(&'static str),
    Failed,
}

fn settle(expect: Expect, reports: &[ListReport]) -> Verdict {
    match expect {
        // What was skipped says nothing about how it fails.
        Expect::Broken(why) if reports.iter().all(ListReport::passed) => Verdict::Repaired(why),
        Expect::Pass if reports.iter().any(ListReport::failed) => Verdict::Failed,
        Expect::Pass | Expect::Broken(_) | Expect::Unsupported(_) => Verdict::AsExpected,
    }
}

/// Check, without any file, that a device of `F` is judged by what it gives: that right results pass at every width, and
/// that a wrong one is reported with its case.
///
/// # Panics
///
/// When it is not.
pub fn check_runner<F: Fixture>() {
    let Some(device) = opened::<F>("the_runner_tells_right_from_wrong") else { return };
    let float = |value: f32| Value::from(Scalar::F32(value));
    let case = |input, expected| Case { inputs: vec![float(input)], expected: Expectation::Value(float(expected)) };
    let mut list =
        List { name: "f32".into(), cases: vec![case(-1.0, 1.0), case(2.0, 2.0), case(-3.0, 3.0), case(4.0, 4.0)] };
    list.cases.push(case(-5.0, 5.0));
    let right = run_widths(&device, "abs", &list);
    assert_eq!(right.len(), 4, "scalars run at four widths");
    right.iter().for_each(|report| assert!(report.passed(), "{report}"));
    list.cases[2].expected = Expectation::Value(float(-3.0));
    for report in run_widths(&device, "abs", &list) {
        let Outcome::Ran { failed: 1, failures } = &report.outcome else { panic!("one case is wrong: {report}") };
        assert_eq!((failures[0].case, &failures[0].got), (2, &float(3.0)), "{report}");
    }
    let unknown = run_list(&device, "no_such_builtin", &list, 1);
    assert!(unknown.failed(), "an unknown list is no pass: {unknown}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanError;

    fn report(outcome: Outcome) -> ListReport {
        ListReport { file: "abs".into(), list: "f32".into(), lanes: 1, cases: 1, outcome }
    }

    #[test]
    fn each_list_is_held_to_its_expectation() {
        let passed = || report(Outcome::Ran { failed: 0, failures: Vec::new() });
        let failed = || report(Outcome::Ran { failed: 1, failures: Vec::new() });
        let broken = Expect::Broken("why");
        assert_eq!(settle(Expect::Pass, &[passed(), passed()]), Verdict::AsExpected);
        assert_eq!(settle(Expect::Pass, &[passed(), failed()]), Verdict::Failed);
        assert_eq!(settle(Expect::Pass, &[report(Outcome::Error(PlanError::Empty.into()))]), Verdict::Failed);
        assert_eq!(settle(broken, &[passed(), failed()]), Verdict::AsExpected);
        assert_eq!(settle(broken, &[passed(), passed()]), Verdict::Repaired("why"));
    }

    #[test]
    fn what_is_skipped_neither_fails_nor_repairs() {
        for outcome in [Outcome::Lacks("f16"), Outcome::Gap("not yet")] {
            assert_eq!(settle(Expect::Pass, &[report(outcome.clone())]), Verdict::AsExpected);
            assert_eq!(settle(Expect::Broken("why"), &[report(outcome)]), Verdict::AsExpected);
        }
    }

    #[test]
    fn a_file_has_one_test() {
        let mut files = FILES.to_vec();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files, FILES, "the list is in order and names each file once");
    }
}
