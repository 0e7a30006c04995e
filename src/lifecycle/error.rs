//! The one error of the backend facade: a code to branch on, the operation it belongs to, a sentence for people, and
//! facts as text in the order they were added (B-1).

use std::error::Error;
use std::fmt;

use crate::error::ServerError;
use crate::sync::Arc;

/// The result of a call of the backend facade.
pub type QueryResult<T = ()> = Result<T, QueryError>;

/// The operations that errors name.
pub mod operation {
    /// Validating and building a backend.
    pub const BUILD: &str = "gpu_backend_core.build";
    /// Closing a backend.
    pub const CLOSE: &str = "gpu_backend_core.close";
    /// Taking hold of a backend's resources.
    pub const RESOURCE: &str = "gpu_backend_core.resource";
    /// Asking what may be declared for a device.
    pub const PROBE_CAPACITY: &str = "gpu_backend_core.probe_capacity";
    /// Undoing a failed construction.
    pub const ROLLBACK: &str = "gpu_backend_core.rollback";
    /// Admitting a request.
    pub const ADMISSION: &str = "gpu_backend_core.admission";
    /// Running an attempt.
    pub const ATTEMPT: &str = "gpu_backend_core.attempt";
    /// Reading a source to device memory.
    pub const SOURCE: &str = "gpu_backend_core.source";
}

/// What kind of failure it is. Callers branch on this and on [`QueryError::reason`], never on the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueryErrorCode {
    /// A declaration that cannot work.
    InvalidConfiguration,
    /// A broken invariant, or machinery that failed.
    Internal,
    /// The backend is closing, or the caller gave up.
    Cancelled,
    /// A queue is full or a wait ran out; trying again may succeed.
    ServiceOverloaded,
    /// The native layer does not have the feature.
    UnsupportedOperation,
    /// No device of the backend has the required capabilities.
    NoCapableDevice,
    /// Every capable device is quarantined.
    NoHealthyDevice,
    /// The request is larger than any eligible device can ever grant.
    GrantExceedsDeviceCapacity,
}

const REASON: &str = "reason";
const CLEANUP_DEADLINE: &str = "cleanup_deadline_elapsed";

/// Why a call of the backend facade did not do what was asked.
#[derive(Clone, Debug)]
pub struct QueryError {
    code: QueryErrorCode,
    operation: &'static str,
    message: String,
    facts: Vec<(&'static str, String)>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl QueryError {
    /// An error without facts. One that this library raises gets a `reason` next (B-3).
    pub fn new(code: QueryErrorCode, operation: &'static str, message: impl Into<String>) -> Self {
        Self { code, operation, message: message.into(), facts: Vec::new(), source: None }
    }

    /// A bounded wait of a cleanup ran out; the cleanup goes on and may succeed later (B-8).
    pub fn cleanup_deadline(operation: &'static str) -> Self {
        let message = "the cleanup was not done within its slice; it goes on, wait again";
        Self::new(QueryErrorCode::ServiceOverloaded, operation, message).with_reason(CLEANUP_DEADLINE)
    }

    /// Add a fact behind those that are there. Code, message and earlier facts stay as they are.
    #[must_use]
    pub fn with_fact(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.facts.push((key, value.to_string()));
        self
    }

    /// Add the `reason`, once for each error.
    #[must_use]
    pub fn with_reason(self, reason: &'static str) -> Self {
        debug_assert!(self.reason().is_none(), "an error has one reason");
        self.with_fact(REASON, reason)
    }

    /// The same failure as one of another kind.
    #[must_use]
    pub(super) fn with_code(self, code: QueryErrorCode) -> Self {
        Self { code, ..self }
    }

    /// Keep the native failure below.
    #[must_use]
    pub fn with_source(mut self, source: ServerError) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Add what the native layer said as facts, and keep it as the source.
    #[must_use]
    pub fn with_native(self, error: &ServerError) -> Self {
        let error_with_facts = match error {
            ServerError::Driver(driver) => {
                let named = match native_api(driver.call) {
                    Some(api) => self.with_fact("native_api", api),
                    None => self,
                };
                named.with_fact("native_code", driver.code)
            }
            _ => self,
        };
        error_with_facts.with_fact("native_message", error).with_source(error.clone())
    }

    /// What kind of failure it is.
    pub fn code(&self) -> QueryErrorCode {
        self.code
    }

    /// The operation that failed, one of [`operation`].
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// The sentence for people, without operation and facts.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The facts, in the order they were added.
    pub fn facts(&self) -> impl ExactSizeIterator<Item = (&'static str, &str)> {
        self.facts.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// The first fact of that name.
    pub fn fact_value(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// The fact `reason`; `None` for what an inventory or the native layer passed through.
    pub fn reason(&self) -> Option<&str> {
        self.fact_value(REASON)
    }

    /// Whether a bounded wait of a cleanup ran out. Every other error is permanent to a cleanup (B-8).
    pub fn is_cleanup_deadline_elapsed(&self) -> bool {
        self.reason() == Some(CLEANUP_DEADLINE)
    }
}

/// An error of the native layer in the facade's terms (B-9). The message begins with `context`; the facts are
/// `native_api` and `native_code` where a driver call failed, and `native_message`.
pub fn native_error(operation: &'static str, context: &str, error: &ServerError) -> QueryError {
    let code = native_code(error, QueryErrorCode::Internal);
    QueryError::new(code, operation, format!("{context}: {error}")).with_native(error)
}

/// The code of a native failure: what is absent is unsupported, anything else is `otherwise`.
pub(super) fn native_code(error: &ServerError, otherwise: QueryErrorCode) -> QueryErrorCode {
    if matches!(error, ServerError::Unsupported { .. }) { QueryErrorCode::UnsupportedOperation } else { otherwise }
}

/// The vendor interface that a driver call belongs to, by its prefix.
fn native_api(call: &str) -> Option<&'static str> {
    [("cu", "cuda"), ("hip", "hip"), ("wgpu", "wgpu"), ("vk", "wgpu")]
        .into_iter()
        .find(|(prefix, _)| {
            call.strip_prefix(prefix).is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
        })
        .map(|(_, api)| api)
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.message)?;
        for (index, (key, value)) in self.facts.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { " (" } else { ", " })?;
        }
        if self.facts.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl Error for QueryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{DriverError, DriverErrorKind, FaultClass};

    fn driver(call: &'static str) -> ServerError {
        let (kind, class) = (DriverErrorKind::Refused, FaultClass::CallLocal);
        DriverError { call, code: 801, name: "not supported".to_owned(), kind, class, log: None }.into()
    }

    /// B-1, B-2.
    #[test]
    fn facts_keep_their_order_and_change_nothing_before_them() {
        let error = QueryError::new(QueryErrorCode::Internal, operation::BUILD, "it broke").with_reason("zero");
        let more = error.clone().with_fact("count", 3_u64).with_fact("ready", true).with_fact("count", 4);
        assert_eq!(
            more.facts().collect::<Vec<_>>(),
            [("reason", "zero"), ("count", "3"), ("ready", "true"), ("count", "4")]
        );
        assert_eq!((more.code(), more.message(), more.operation()), (error.code(), error.message(), error.operation()));
        assert_eq!((more.fact_value("count"), more.fact_value("absent")), (Some("3"), None));
        assert_eq!((error.reason(), more.reason()), (Some("zero"), Some("zero")));
    }

    /// B-8: nothing but an elapsed cleanup wait is one, whatever its code says.
    #[test]
    fn only_an_elapsed_cleanup_wait_says_so() {
        let elapsed = QueryError::cleanup_deadline(operation::CLOSE);
        assert!(elapsed.is_cleanup_deadline_elapsed());
        assert!(elapsed.with_fact("device_ordinal", 3).is_cleanup_deadline_elapsed());
        let timeout = QueryError::new(QueryErrorCode::ServiceOverloaded, operation::CLOSE, "too late");
        assert!(!timeout.clone().is_cleanup_deadline_elapsed());
        assert!(!timeout.with_reason("backend_close_timeout").is_cleanup_deadline_elapsed());
    }

    /// B-9.
    #[test]
    fn a_native_error_keeps_what_the_native_layer_said() {
        for (call, api) in [("cuMemAlloc", Some("cuda")), ("hipMalloc", Some("hip")), ("simAlloc", None)] {
            let native = driver(call);
            let error = native_error(operation::BUILD, "the pool could not be made", &native);
            assert_eq!(error.code(), QueryErrorCode::Internal);
            assert!(error.message().starts_with("the pool could not be made"), "{error}");
            assert_eq!(error.fact_value("native_api"), api);
            assert_eq!(error.fact_value("native_code"), Some("801"));
            assert_eq!(error.fact_value("native_message"), Some(native.to_string().as_str()));
            assert!(error.source().is_some_and(|source| source.downcast_ref::<ServerError>().is_some()));
            assert_eq!(error.reason(), None, "B-3: the reason is its caller's to add");
        }
        let absent = native_error(operation::BUILD, "no telemetry", &ServerError::unsupported("it", "not here"));
        assert_eq!(absent.code(), QueryErrorCode::UnsupportedOperation);
    }

    /// B-10.
    #[test]
    fn the_text_has_operation_message_and_facts() {
        fn shared<T: Error + Send + Sync + 'static>(_: &T) {}
        let error = QueryError::new(QueryErrorCode::Cancelled, operation::RESOURCE, "it is closing");
        shared(&error);
        assert_eq!(error.to_string(), "gpu_backend_core.resource: it is closing");
        let error = error.with_reason("backend_closing").with_fact("ordinal", 2);
        let text = "gpu_backend_core.resource: it is closing (reason=backend_closing, ordinal=2)";
        assert_eq!(error.to_string(), text);
        assert!(format!("{error:?}").contains("Cancelled"));
    }
}
