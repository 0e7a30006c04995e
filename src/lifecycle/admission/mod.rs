//! Admission: a request waits here until one device has room for all it needs. What is decided is a pure state machine;
//! around it are one lock, a timer for deadlines, and the delivery of each outcome exactly once (B-107 to B-118).

pub(crate) mod cancel;
pub(crate) mod controller;
pub(crate) mod devices;
pub(crate) mod grant;
pub(crate) mod ledger;
pub(crate) mod outcome;
pub(crate) mod pending;
pub(crate) mod queue;
pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod timer;

pub use cancel::CancellationToken;
pub use ledger::DeviceClosure;
pub use request::AdmissionClass;
pub use snapshot::{AdmissionCounters, AdmissionSnapshot, DeviceAdmissionSnapshot};
