//! What a case accepts, and the judgement of what a device gave.

use std::fmt;

use crate::{Scalar, ScalarKind, Shape, Value};

/// Floats that are near enough to the true result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The type of float it is for: `AbstractFloat`, `F32` or `F16`.
    pub kind: ScalarKind,
    /// The lowest and the highest value that passes, either of which may be infinite; `None` where anything passes, NaN
    /// too, since WGSL does not say what the result is.
    pub bounds: Option<(f64, f64)>,
}

impl Interval {
    /// Whether `got` is a float of its type and within. NaN is within no bounds, not even infinite ones.
    pub fn accepts(&self, got: Scalar) -> bool {
        let Some(value) = got.float().filter(|_| got.kind() == self.kind) else { return false };
        self.bounds.is_none_or(|(lower, upper)| lower <= value && value <= upper)
    }
}

/// What a case accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// This value; of zeros either.
    Value(Value),
    /// A scalar within.
    Interval(Interval),
    /// A vector, each component within its own.
    Vector(Vec<Interval>),
    /// A matrix, each component within its own.
    Matrix {
        /// Columns.
        columns: u8,
        /// Rows.
        rows: u8,
        /// Column by column.
        intervals: Vec<Interval>,
    },
    /// What any of these accepts; several where WGSL leaves a choice, as whether denormals are flushed.
    AnyOf(Vec<Expectation>),
    /// What this accepts, or anything where the result is undefined.
    SkipUndefined(Option<Box<Expectation>>),
    /// Anything, for this reason.
    Pass(String),
}

impl Expectation {
    /// The type of result that it is for; `None` where it accepts anything.
    pub fn shape(&self) -> Option<Shape> {
        match self {
            Self::Value(value) => Some(value.shape()),
            Self::Interval(interval) => Some(Shape::Scalar(interval.kind)),
            Self::Vector(intervals) => {
                let width = u8::try_from(intervals.len()).ok()?;
                Some(Shape::Vector(width, intervals.first()?.kind))
            }
            Self::Matrix { columns, rows, intervals } => {
                Some(Shape::Matrix { columns: *columns, rows: *rows, kind: intervals.first()?.kind })
            }
            Self::AnyOf(choices) => choices.iter().find_map(Self::shape),
            Self::SkipUndefined(inner) => inner.as_ref()?.shape(),
            Self::Pass(_) => None,
        }
    }
}

/// Whether `expectation` accepts `got`.
pub fn judge(expectation: &Expectation, got: &Value) -> bool {
    let within = |intervals: &[Interval]| {
        intervals.len() == got.parts().len()
            && intervals.iter().zip(got.parts()).all(|(interval, part)| interval.accepts(*part))
    };
    match expectation {
        Expectation::Value(value) => same(value, got),
        Expectation::Interval(interval) => {
            matches!(got.shape(), Shape::Scalar(_)) && within(std::slice::from_ref(interval))
        }
        Expectation::Vector(intervals) => matches!(got.shape(), Shape::Vector(..)) && within(intervals),
        Expectation::Matrix { columns, rows, intervals } => {
            let shape = Shape::Matrix { columns: *columns, rows: *rows, kind: got.shape().kind() };
            got.shape() == shape && within(intervals)
        }
        Expectation::AnyOf(choices) => choices.iter().any(|choice| judge(choice, got)),
        Expectation::SkipUndefined(inner) => inner.as_ref().is_none_or(|inner| judge(inner, got)),
        Expectation::Pass(_) => true,
    }
}

/// Whether two values are one. A NaN where one is expected is right, whatever its bits are: WGSL does not fix them.
fn same(expected: &Value, got: &Value) -> bool {
    let is_nan = |part: &Scalar| part.float().is_some_and(f64::is_nan);
    expected.shape() == got.shape()
        && expected.parts().iter().zip(got.parts()).all(|(a, b)| a == b || (is_nan(a) && is_nan(b)))
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bounds {
            Some((lower, upper)) => write!(f, "[{lower:?}, {upper:?}]"),
            None => f.write_str("anything"),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |items: &[Interval]| items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Interval(interval) => interval.fmt(f),
            Self::Vector(intervals) => write!(f, "({})", joined(intervals)),
            Self::Matrix { columns, rows, intervals } => write!(f, "mat{columns}x{rows}({})", joined(intervals)),
            Self::AnyOf(choices) => {
                f.write_str(&choices.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "))
            }
            Self::SkipUndefined(Some(inner)) => inner.fmt(f),
            Self::SkipUndefined(None) => f.write_str("anything"),
            Self::Pass(why) => write!(f, "anything ({why})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn within(lower: f64, upper: f64) -> Interval {
        Interval { kind: ScalarKind::F32, bounds: Some((lower, upper)) }
    }

    fn vector(parts: &[f32]) -> Value {
        let width = u8::try_from(parts.len()).expect("a short vector");
        let parts = parts.iter().copied().map(Scalar::F32).collect();
        Value::new(Shape::Vector(width, ScalarKind::F32), parts).expect("components of the type")
    }

    fn float(value: f32) -> Value {
        Scalar::F32(value).into()
    }

    #[test]
    fn values_are_compared_with_their_types() {
        let three = Expectation::Value(Scalar::U32(3).into());
        assert!(judge(&three, &Scalar::U32(3).into()));
        assert!(!judge(&three, &Scalar::U32(4).into()));
        assert!(!judge(&three, &Scalar::I32(3).into()));
        let yes = Expectation::Value(Scalar::Bool(true).into());
        assert!(judge(&yes, &Scalar::Bool(true).into()) && !judge(&yes, &Scalar::Bool(false).into()));
    }

    #[test]
    fn zeros_are_one_value_and_so_are_nans() {
        assert!(judge(&Expectation::Value(float(0.0)), &float(-0.0)));
        let nan = Expectation::Value(float(f32::NAN));
        assert!(judge(&nan, &float(f32::from_bits(0xffc0_0001))));
        assert!(!judge(&nan, &float(1.0)));
        assert!(!judge(&Expectation::Value(float(1.0)), &float(f32::NAN)));
    }

    #[test]
    fn a_vector_is_right_when_every_component_is() {
        let expected = Expectation::Value(vector(&[1.0, 2.0]));
        assert!(judge(&expected, &vector(&[1.0, 2.0])));
        assert!(!judge(&expected, &vector(&[1.0, 3.0])));
        assert!(!judge(&expected, &vector(&[1.0, 2.0, 3.0])));
    }

    #[test]
    fn the_bounds_of_an_interval_are_within_it() {
        let interval = Expectation::Interval(within(1.0, 2.0));
        assert!([1.0, 1.5, 2.0].iter().all(|value| judge(&interval, &float(*value))));
        assert!([0.999, 2.001, f32::NAN, f32::INFINITY].iter().all(|value| !judge(&interval, &float(*value))));
        assert!(!judge(&interval, &Scalar::F16(f16::from_f32_const(1.5)).into()));
        assert!(!judge(&interval, &Scalar::I32(1).into()));
        assert!(!judge(&interval, &vector(&[1.0, 1.0])));
    }

    #[test]
    fn infinite_bounds_let_infinities_pass_and_no_nan() {
        let interval = Expectation::Interval(within(f64::NEG_INFINITY, f64::INFINITY));
        assert!(judge(&interval, &float(f32::NEG_INFINITY)) && judge(&interval, &float(1.0)));
        assert!(!judge(&interval, &float(f32::NAN)));
    }

    #[test]
    fn where_nothing_is_said_every_float_of_the_type_passes() {
        let any = Expectation::Interval(Interval { kind: ScalarKind::F32, bounds: None });
        assert!(judge(&any, &float(f32::NAN)) && judge(&any, &float(f32::INFINITY)));
        assert!(!judge(&any, &Scalar::U32(0).into()));
    }

    #[test]
    fn vectors_and_matrices_have_an_interval_for_each_component() {
        let pair = Expectation::Vector(vec![within(0.0, 1.0), within(2.0, 3.0)]);
        assert!(judge(&pair, &vector(&[0.5, 2.5])));
        assert!(!judge(&pair, &vector(&[2.5, 0.5])) && !judge(&pair, &vector(&[0.5, 2.5, 0.0])));
        let intervals = (0..6).map(|i| within(f64::from(i), f64::from(i))).collect();
        let expected = Expectation::Matrix { columns: 3, rows: 2, intervals };
        let matrix = |columns, rows| {
            let parts = (0..6u8).map(|i| Scalar::F32(f32::from(i))).collect();
            Value::new(Shape::Matrix { columns, rows, kind: ScalarKind::F32 }, parts).expect("six components")
        };
        assert!(judge(&expected, &matrix(3, 2)) && !judge(&expected, &matrix(2, 3)));
    }

    #[test]
    fn any_of_takes_one_and_of_none_nothing() {
        let choices = Expectation::AnyOf(vec![
            Expectation::Value(float(1.0)),
            Expectation::Interval(within(5.0, 6.0)),
            Expectation::SkipUndefined(Some(Box::new(Expectation::Value(float(9.0))))),
        ]);
        assert!([1.0, 5.5, 9.0].iter().all(|value| judge(&choices, &float(*value))));
        assert!(!judge(&choices, &float(2.0)));
        assert!(!judge(&Expectation::AnyOf(Vec::new()), &float(2.0)));
    }

    #[test]
    fn the_undefined_and_the_unjudged_pass() {
        assert!(judge(&Expectation::SkipUndefined(None), &Scalar::U32(7).into()));
        assert!(judge(&Expectation::Pass("no rule".into()), &float(f32::NAN)));
        let defined = Expectation::SkipUndefined(Some(Box::new(Expectation::Value(Scalar::U32(7).into()))));
        assert!(judge(&defined, &Scalar::U32(7).into()) && !judge(&defined, &Scalar::U32(8).into()));
    }

    #[test]
    fn the_type_of_the_result_is_found_where_it_is_said() {
        let pair = Expectation::Vector(vec![within(0.0, 1.0), within(2.0, 3.0)]);
        let nested = Expectation::AnyOf(vec![Expectation::SkipUndefined(None), pair]);
        assert_eq!(nested.shape(), Some(Shape::Vector(2, ScalarKind::F32)));
        assert_eq!(Expectation::SkipUndefined(None).shape(), None);
    }
}
