//! What running lists came to, as values and as text for people.

use std::fmt;

use crate::{Case, Expectation, List, RunError, Value, judge};

/// Failures of a list that are kept whole; the others are counted.
pub const FAILURES_KEPT: usize = 5;

/// A case that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which case of its list, from 0.
    pub case: usize,
    /// Its operands.
    pub inputs: Vec<Value>,
    /// What the device gave.
    pub got: Value,
    /// What is accepted.
    pub expected: Expectation,
}

/// What became of one dispatch.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It ran, and each case was judged.
    Ran {
        /// How many cases failed.
        failed: usize,
        /// The first of them.
        failures: Vec<Failure>,
    },
    /// The device lacks this feature of WGSL.
    Lacks(&'static str),
    /// The core does not take the kernel, although it is valid: see [`Plan::gap`](crate::Plan::gap).
    Gap(&'static str),
    /// It could not be run.
    Error(RunError),
}

impl Outcome {
    /// The judgement of `results`, one for each case of `list`, as [`Plan::results`](crate::Plan::results) gives them.
    ///
    /// # Panics
    ///
    /// When there are more or fewer results than cases.
    pub fn judged(list: &List, results: Vec<Value>) -> Self {
        assert_eq!(results.len(), list.cases.len(), "each case of {} has one result", list.name);
        let judged = list.cases.iter().zip(results).enumerate();
        let mut wrong = judged.filter(|(_, (case, got))| !judge(&case.expected, got));
        let failure = |(index, (case, got)): (usize, (&Case, Value))| Failure {
            case: index,
            inputs: case.inputs.clone(),
            got,
            expected: case.expected.clone(),
        };
        let failures: Vec<Failure> = wrong.by_ref().take(FAILURES_KEPT).map(failure).collect();
        Self::Ran { failed: failures.len() + wrong.count(), failures }
    }
}

/// One list at one width.
#[derive(Clone, Debug)]
pub struct ListReport {
    /// The file, as `binary/f32_addition`.
    pub file: String,
    /// The list.
    pub list: String,
    /// Cases evaluated together as the components of a vector; 1 leaves them as they are.
    pub lanes: u8,
    /// How many cases there are.
    pub cases: usize,
    /// What became of them.
    pub outcome: Outcome,
}

impl ListReport {
    /// Whether it ran and every case passed.
    pub fn passed(&self) -> bool {
        matches!(self.outcome, Outcome::Ran { failed: 0, .. })
    }

    /// Whether there was nothing to run: the device lacks a feature, or the core does not take the kernel.
    pub fn skipped(&self) -> bool {
        matches!(self.outcome, Outcome::Lacks(_) | Outcome::Gap(_))
    }

    /// Whether it ran and a case failed, or it could not be run.
    pub fn failed(&self) -> bool {
        !self.passed() && !self.skipped()
    }
}

/// Every list that a device can run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One entry for each dispatch, in the order they were made.
    pub lists: Vec<ListReport>,
}

impl Report {
    /// The dispatches that failed.
    pub fn failures(&self) -> impl Iterator<Item = &ListReport> {
        self.lists.iter().filter(|list| list.failed())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<String> = self.inputs.iter().map(ToString::to_string).collect();
        write!(f, "case {}: {}: got {}, expected {}", self.case, inputs.join(", "), self.got, self.expected)
    }
}

/// One line, and one for each failure that was kept.
impl fmt::Display for ListReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, list, lanes, cases, outcome } = self;
        write!(f, "{file}/{list}")?;
        if *lanes > 1 {
            write!(f, " as vec{lanes}")?;
        }
        match outcome {
            Outcome::Ran { failed, failures } => {
                write!(f, ": {cases} cases, {} passed, {failed} failed", cases - failed)?;
                failures.iter().try_for_each(|failure| write!(f, "\n  {failure}"))
            }
            Outcome::Lacks(feature) => write!(f, ": {cases} cases skipped, the device lacks {feature}"),
            Outcome::Gap(why) => write!(f, ": {cases} cases skipped: {why}"),
            Outcome::Error(error) => write!(f, ": {cases} cases not run: {error}"),
        }
    }
}

/// Every failure, then the sum.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failures().try_for_each(|list| writeln!(f, "{list}"))?;
        let count = |pick: fn(&ListReport) -> bool| self.lists.iter().filter(|list| pick(list)).count();
        let skipped = count(ListReport::skipped);
        let cases: usize = self.lists.iter().filter(|list| !list.skipped()).map(|list| list.cases).sum();
        write!(
            f,
            "{} dispatches of {cases} cases: {} passed, {} failed; {skipped} skipped",
            self.lists.len() - skipped,
            count(ListReport::passed),
            count(ListReport::failed),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanError, Scalar};

    fn report(outcome: Outcome, lanes: u8) -> ListReport {
        ListReport { file: "abs".into(), list: "f16".into(), lanes, cases: 3, outcome }
    }

    #[test]
    fn the_first_failures_are_kept_and_all_are_counted() {
        let expected = |value: i32| Expectation::Value(Scalar::I32(value).into());
        let case = |value| Case { inputs: vec![Scalar::I32(value).into()], expected: expected(value) };
        let list = List { name: "i32".into(), cases: (0..9).map(case).collect() };
        let results = |wrong: i32| (0..9).map(|value| Scalar::I32(value + i32::from(value >= wrong)).into()).collect();
        let of = |wrong| match Outcome::judged(&list, results(wrong)) {
            Outcome::Ran { failed, failures } => {
                (failed, failures.iter().map(|failure| failure.case).collect::<Vec<_>>())
            }
            other => panic!("it ran: {other:?}"),
        };
        assert_eq!(of(9), (0, vec![]));
        assert_eq!(of(2), (7, vec![2, 3, 4, 5, 6]));
    }

    #[test]
    fn a_report_names_what_failed_and_how() {
        let failure = Failure {
            case: 2,
            inputs: vec![Scalar::I32(-1).into()],
            got: Scalar::I32(-1).into(),
            expected: Expectation::Value(Scalar::I32(1).into()),
        };
        let lists = vec![
            report(Outcome::Ran { failed: 0, failures: Vec::new() }, 1),
            report(Outcome::Ran { failed: 1, failures: vec![failure] }, 4),
            report(Outcome::Lacks("f16"), 1),
            report(Outcome::Gap("not yet"), 1),
            report(Outcome::Error(PlanError::Empty.into()), 1),
        ];
        let text = Report { lists }.to_string();
        let expected = "abs/f16 as vec4: 3 cases, 2 passed, 1 failed
  case 2: i32(-1): got i32(-1), expected i32(1)
abs/f16: 3 cases not run: the list has no case; fetch the file again
3 dispatches of 9 cases: 1 passed, 2 failed; 2 skipped";
        assert_eq!(text, expected);
    }
}
