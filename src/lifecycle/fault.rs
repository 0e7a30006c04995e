//! Fault injection for qualification: closing one device to admission, as a proven fault of it does (B-185 to B-187).

use crate::lifecycle::admission::DeviceClosure;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::resource::with_service;
use crate::lifecycle::session::GpuBackendSession;

/// A capability to inject faults into one backend. Having it changes nothing.
#[derive(Clone, Debug)]
pub struct GpuBackendFaultInjector {
    session: GpuBackendSession,
}

/// What an injected quarantine did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceQuarantineInjection {
    /// The device.
    pub device_ordinal: usize,
    /// Whether it was closed before.
    pub already_quarantined: bool,
}

impl GpuBackendFaultInjector {
    pub(crate) fn new(session: GpuBackendSession) -> Self {
        Self { session }
    }

    /// Close admission on exactly that device. Attempts that are active on it go on, and others are placed elsewhere.
    ///
    /// # Errors
    ///
    /// `backend_closing`; `quarantine_device_not_installed`.
    pub fn quarantine_device(&self, ordinal: usize) -> QueryResult<DeviceQuarantineInjection> {
        let session = &self.session;
        with_service(&session.resource, session.observation.lifecycle(), |service| {
            if service.device(ordinal).is_none() {
                let message = format!("device {ordinal} is not installed in this backend; name one that is");
                let error = QueryError::new(QueryErrorCode::InvalidConfiguration, operation::RESOURCE, message);
                let error = error.with_reason("quarantine_device_not_installed");
                return Err(error.with_fact("device_ordinal", ordinal));
            }
            let closure = DeviceClosure::Quarantined { reason: "injected for qualification".into() };
            let already_quarantined = service.admission.close_device(ordinal, closure)?;
            Ok(DeviceQuarantineInjection { device_ordinal: ordinal, already_quarantined })
        })?
    }
}
