//! Errors of a declaration, in the two shapes that all of them have: of one device, and of the whole backend.

use crate::lifecycle::bytes::bytes_with_gib;
use crate::lifecycle::error::{QueryError, QueryErrorCode, operation};

/// A refusal of one device's field: `device {ordinal} {field} {tail}` (B-6).
pub(in crate::lifecycle) fn device(
    ordinal: usize,
    field: &'static str,
    reason: &'static str,
    tail: &str,
) -> QueryError {
    device_in(operation::BUILD, ordinal, field, reason, tail)
}

/// As [`device`], in an operation that is not the build.
pub(in crate::lifecycle) fn device_in(
    operation: &'static str,
    ordinal: usize,
    field: &'static str,
    reason: &'static str,
    tail: &str,
) -> QueryError {
    QueryError::new(QueryErrorCode::InvalidConfiguration, operation, format!("device {ordinal} {field} {tail}"))
        .with_fact("field", field)
        .with_fact("device_ordinal", ordinal)
        .with_reason(reason)
}

/// A refusal of a field of the backend: `{field} {tail}` (B-7).
pub(in crate::lifecycle) fn backend(field: &'static str, reason: &'static str, tail: &str) -> QueryError {
    QueryError::new(QueryErrorCode::InvalidConfiguration, operation::BUILD, format!("{field} {tail}"))
        .with_fact("field", field)
        .with_reason(reason)
}

/// The tail for a value that leaves nothing of what it is taken from (B-33, first template).
pub(in crate::lifecycle) fn at_or_above(value: u64, label: &str, whole: u64) -> String {
    let largest = bytes_with_gib(whole.saturating_sub(1));
    let (value, whole) = (bytes_with_gib(value), bytes_with_gib(whole));
    format!("is {value}, at or above {label} of {whole}; the largest accepted value is {largest}")
}

/// The tail for a value above a bound that it may reach (B-33, second template).
pub(in crate::lifecycle) fn above(value: u64, label: &str, bound: u64) -> String {
    let (value, bound) = (bytes_with_gib(value), bytes_with_gib(bound));
    format!("is {value}, above {label} of {bound}; the largest accepted value is {bound}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-6, B-7, B-3.
    #[test]
    fn a_refusal_names_its_field_and_has_one_reason() {
        let error = device(3, "lane_count", "zero", "must be greater than zero").with_fact("installation_bound", 0);
        assert_eq!(error.message(), "device 3 lane_count must be greater than zero");
        assert_eq!(
            error.facts().collect::<Vec<_>>(),
            [("field", "lane_count"), ("device_ordinal", "3"), ("reason", "zero"), ("installation_bound", "0"),]
        );
        let error = backend("max_active_attempts", "zero", "must be positive");
        assert_eq!(error.message(), "max_active_attempts must be positive");
        assert_eq!(error.facts().collect::<Vec<_>>(), [("field", "max_active_attempts"), ("reason", "zero")]);
        assert_eq!((error.code(), error.operation()), (QueryErrorCode::InvalidConfiguration, operation::BUILD));
    }

    /// B-33: a bound of zero names zero as the largest value, and does not wrap.
    #[test]
    fn templates_do_not_wrap_at_zero() {
        assert!(
            at_or_above(0, "the static partition", 0).ends_with("the largest accepted value is 0 bytes (0.00 GiB)")
        );
        assert!(above(1, "the static partition", 0).ends_with("the largest accepted value is 0 bytes (0.00 GiB)"));
    }
}
