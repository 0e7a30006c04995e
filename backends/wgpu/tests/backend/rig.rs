//! A backend over the first adapter with a small share, and the adapter to lose.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use graphreel::Config;
use graphreel::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit, GpuMemoryOwnership,
    MemoryManagerOptions, QueryExecutionConfig, QueueBounds, ValidatedGpuBackendConfig,
};
use graphreel::lifecycle::{
    AttemptBegin, BackendKind, BeginAttemptRequest, GpuBackendCore, GpuBackendSession, GpuInventory,
    QueryAdmissionRequest, QueryHandle, QueryResult, ServerFactory, TelemetrySource,
};
use graphreel::server::Server;
use graphreel_wgpu::{Options, Select, WgpuFactory, absence, adapters, open};

/// Far longer than anything here takes, also on one core.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) const MIB: u64 = 1 << 20;

/// What queries of the device share, beside its cache.
pub(crate) const SHARE: u64 = 48 * MIB;

/// Of the resident cache.
pub(crate) const CACHE: u64 = 16 * MIB;

/// What an attempt is granted that does not say.
pub(crate) const GRANT: u64 = 16 * MIB;

/// Whether there is an adapter. The caller returns where there is none; it is said here, and where `GRAPHREEL_REQUIRE` names
/// wgpu that is a failure.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn present() -> bool {
    if !adapters().is_empty() {
        return true;
    }
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == "wgpu"), "GRAPHREEL_REQUIRE names wgpu: {}", absence());
    eprintln!("skipped: {}", absence());
    false
}

pub(crate) fn profile() -> GpuBackendDeviceProfile {
    GpuBackendDeviceProfile::new(0)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: SHARE + CACHE })
        .with_cache_cap_bytes(CACHE)
        .with_default_query_limit_bytes(GRANT)
}

pub(crate) fn valid(profile: GpuBackendDeviceProfile) -> ValidatedGpuBackendConfig {
    let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    let queue = QueueBounds::new(64, Duration::from_secs(30));
    GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), queue).validate().unwrap()
}

pub(crate) fn built() -> GpuBackendCore {
    GpuBackendCore::new(valid(profile()), &WgpuFactory).unwrap()
}

/// An attempt with its admission.
pub(crate) fn admit(
    session: &GpuBackendSession,
    ask: impl FnOnce(QueryAdmissionRequest) -> QueryAdmissionRequest,
) -> QueryResult<(AttemptBegin, QueryHandle)> {
    let begin = session.begin_attempt(BeginAttemptRequest::default())?;
    let request = ask(QueryAdmissionRequest::new(begin.owner.admission_binding()));
    let handle = session.admit_async_with_request(request).wait()?;
    Ok((begin, handle))
}

pub(crate) fn admitted(session: &GpuBackendSession) -> (AttemptBegin, QueryHandle) {
    admit(session, |request| request).unwrap()
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

/// wgpu's factory, which keeps a hold of the device that it opened last, so that a test can look at it and lose it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched(Arc<Mutex<Option<wgpu::Device>>>);

impl Watched {
    /// Whether nothing is left of all that was submitted.
    pub(crate) fn is_through(&self) -> bool {
        let device = self.0.lock().unwrap().clone().unwrap();
        device.poll(wgpu::PollType::Poll).is_ok_and(|status| status.is_queue_empty())
    }

    /// End the device behind the server's back, as a driver's loss does.
    pub(crate) fn lose(&self) {
        let device = self.0.lock().unwrap().take().unwrap();
        device.destroy();
        // wgpu tells of it at a poll, which whoever waits for the device does; here nobody may.
        let _ = device.poll(wgpu::PollType::Poll);
    }
}

impl ServerFactory for Watched {
    fn kind(&self) -> BackendKind {
        WgpuFactory.kind()
    }

    fn inventory(&self) -> graphreel::sync::Arc<dyn GpuInventory> {
        WgpuFactory.inventory()
    }

    fn open(&self, ordinal: usize, config: Config) -> graphreel::Result<Box<dyn Server>> {
        let options = Options { select: Select::Index(ordinal), config, unleased: true, ..Options::default() };
        let server = open(options)?;
        *self.0.lock().unwrap() = Some(server.raw_device().0.clone());
        Ok(Box::new(server))
    }

    fn validate_memory_options(&self, ordinal: usize, options: &MemoryManagerOptions) -> graphreel::Result<()> {
        WgpuFactory.validate_memory_options(ordinal, options)
    }

    fn telemetry(&self, ordinal: usize) -> Option<graphreel::sync::Arc<dyn TelemetrySource>> {
        WgpuFactory.telemetry(ordinal)
    }
}
