//! A backend over the first device with a small share, and the device to look at and to lose.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use graphreel::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit, GpuMemoryOwnership,
    MemoryManagerOptions, QueryExecutionConfig, QueueBounds, ValidatedGpuBackendConfig,
};
use graphreel::lifecycle::{
    AttemptBegin, BackendKind, BeginAttemptRequest, GpuBackendCore, GpuBackendSession, GpuInventory,
    QueryAdmissionRequest, QueryHandle, ServerFactory, TelemetrySource,
};
use graphreel::server::Server;
use graphreel::{Config, device::Monitor};
use graphreel_cuda::{CudaFactory, CudaOptions, absence, devices, open};
use graphreel_testkit::announce;

/// Far longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) const MIB: u64 = 1 << 20;

/// What queries of the device share, beside its cache.
pub(crate) const SHARE: u64 = 48 * MIB;

/// Of the resident cache.
pub(crate) const CACHE: u64 = 16 * MIB;

/// What an attempt is granted that does not say.
pub(crate) const GRANT: u64 = 16 * MIB;

/// Whether there is a device. The caller returns where there is none; it is said here, and where `GRAPHREEL_REQUIRE` names
/// cuda that is a failure.
pub(crate) fn present() -> bool {
    if devices().is_ok() {
        return true;
    }
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == "cuda"), "GRAPHREEL_REQUIRE names cuda: {}", absence());
    announce(&format!("skipped: {}", absence()));
    false
}

pub(crate) fn config() -> ValidatedGpuBackendConfig {
    let profile = GpuBackendDeviceProfile::new(0)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: SHARE + CACHE })
        .with_cache_cap_bytes(CACHE)
        .with_default_query_limit_bytes(GRANT);
    let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    let queue = QueueBounds::new(64, Duration::from_secs(30));
    GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), queue).validate().unwrap()
}

/// An attempt with its admission.
pub(crate) fn admitted(session: &GpuBackendSession) -> (AttemptBegin, QueryHandle) {
    let begin = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
    let request = QueryAdmissionRequest::new(begin.owner.admission_binding());
    let handle = session.admit_async_with_request(request).wait().unwrap();
    (begin, handle)
}

pub(crate) fn close(core: &GpuBackendCore) {
    let closed = core.close_and_wait(LONG).unwrap();
    assert!(closed.gpu_resource_quiescent && closed.observation_quiescent, "{closed:?}");
}

/// Wait for `condition`.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < end, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The backend's factory, which keeps a view of the device that it opened last, to lose it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched(Arc<Mutex<Option<graphreel::sync::Arc<Monitor>>>>);

impl Watched {
    /// Lose the device behind the server's back.
    pub(crate) fn lose(&self) {
        self.0.lock().unwrap().take().unwrap().lose("the test took it away");
    }
}

impl ServerFactory for Watched {
    fn kind(&self) -> BackendKind {
        BackendKind::Cuda
    }

    fn inventory(&self) -> graphreel::sync::Arc<dyn GpuInventory> {
        CudaFactory::default().inventory()
    }

    fn open(&self, _ordinal: usize, config: Config) -> graphreel::Result<Box<dyn Server>> {
        let server = open(&CudaOptions::default(), config)?;
        *self.0.lock().unwrap() = Some(server.monitor());
        Ok(Box::new(server))
    }

    fn validate_memory_options(&self, ordinal: usize, options: &MemoryManagerOptions) -> graphreel::Result<()> {
        CudaFactory::default().validate_memory_options(ordinal, options)
    }

    fn telemetry(&self, ordinal: usize) -> Option<graphreel::sync::Arc<dyn TelemetrySource>> {
        CudaFactory::default().telemetry(ordinal)
    }
}
