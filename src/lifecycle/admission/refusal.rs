//! Why a request got no grant, as a value, and each as the facade's error.

use crate::lifecycle::bytes::bytes_with_gib;
use crate::lifecycle::error::{QueryError, QueryErrorCode, operation};

/// Why a request got no grant. Small, so that the state decides without building texts under its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No device of the request has what it requires.
    NoCapableDevice,
    /// Every device that has it is closed.
    NoHealthyDevice,
    /// More than any open device can ever grant.
    ExceedsCapacity { bytes: u64, largest: u64 },
    /// As many wait as may.
    QueueFull { bound: usize },
    /// The deadline came first.
    WaitElapsed,
    /// The caller withdrew it.
    Cancelled,
    /// Admission has ended.
    Closing,
}

impl Refusal {
    /// The error that callers branch on (B-99, B-109, B-112).
    pub(crate) fn into_error(self) -> QueryError {
        use QueryErrorCode as Code;
        let error =
            |code, message: &str, reason| QueryError::new(code, operation::ADMISSION, message).with_reason(reason);
        match self {
            Self::NoCapableDevice => error(
                Code::NoCapableDevice,
                "no device of the request has the required capabilities; require less or name other devices",
                "no_capable_device",
            ),
            Self::NoHealthyDevice => error(
                Code::NoHealthyDevice,
                "every capable device is out of service; build the backend again or name other devices",
                "no_healthy_device",
            ),
            Self::ExceedsCapacity { bytes, largest } => error(
                Code::GrantExceedsDeviceCapacity,
                &format!(
                    "a grant of {} is above the query share of every eligible device; the largest accepted value is {}",
                    bytes_with_gib(bytes),
                    bytes_with_gib(largest)
                ),
                "grant_exceeds_device_capacity",
            )
            .with_fact("requested_bytes", bytes)
            .with_fact("largest_query_share_bytes", largest),
            Self::QueueFull { bound } => error(
                Code::ServiceOverloaded,
                &format!("{bound} requests wait for admission already; try again later or raise max_queued_requests"),
                "admission_queue_full",
            )
            .with_fact("max_queued_requests", bound),
            Self::WaitElapsed => error(
                Code::ServiceOverloaded,
                "the deadline came before a device had room; try again later or wait longer",
                "admission_wait_elapsed",
            ),
            Self::Cancelled => {
                error(Code::Cancelled, "the request was cancelled before it was admitted", "admission_cancelled")
            }
            Self::Closing => {
                error(Code::Cancelled, "admission has ended with its backend; build a new one", "backend_closing")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-99, B-108, B-109, B-112: code and reason of each, with one reason each.
    #[test]
    fn each_refusal_has_its_code_and_reason() {
        use QueryErrorCode as Code;
        let table = [
            (Refusal::NoCapableDevice, Code::NoCapableDevice, "no_capable_device"),
            (Refusal::NoHealthyDevice, Code::NoHealthyDevice, "no_healthy_device"),
            (
                Refusal::ExceedsCapacity { bytes: 9, largest: 8 },
                Code::GrantExceedsDeviceCapacity,
                "grant_exceeds_device_capacity",
            ),
            (Refusal::QueueFull { bound: 3 }, Code::ServiceOverloaded, "admission_queue_full"),
            (Refusal::WaitElapsed, Code::ServiceOverloaded, "admission_wait_elapsed"),
            (Refusal::Cancelled, Code::Cancelled, "admission_cancelled"),
            (Refusal::Closing, Code::Cancelled, "backend_closing"),
        ];
        for (refusal, code, reason) in table {
            let error = refusal.into_error();
            assert_eq!((error.code(), error.reason(), error.operation()), (code, Some(reason), operation::ADMISSION));
            assert_eq!(error.facts().filter(|(key, _)| *key == "reason").count(), 1);
        }
        let error = Refusal::ExceedsCapacity { bytes: 9, largest: 8 }.into_error();
        assert!(error.message().ends_with("the largest accepted value is 8 bytes (0.00 GiB)"), "{error}");
        assert_eq!(error.fact_value("requested_bytes"), Some("9"));
    }
}
