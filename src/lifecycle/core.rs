//! The public handle of a live backend: counted, so that the last one's drop signals the close (B-77 to B-82).

use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::owner::{AttemptBegin, BeginAttemptRequest};
use crate::lifecycle::checkpoint::{GpuBackendConstructionProbe, NoopConstructionProbe};
use crate::lifecycle::config::ValidatedGpuBackendConfig;
use crate::lifecycle::construct::{Construction, construct};
use crate::lifecycle::coordinator::{CloseCoordinator, GpuBackendCloseSnapshot};
use crate::lifecycle::error::QueryResult;
use crate::lifecycle::factory::ServerFactory;
use crate::lifecycle::health::{BackendHealth, HealthInput};
use crate::lifecycle::identity::GpuBackendCoreIdentity;
use crate::lifecycle::inventory::BackendKind;
use crate::lifecycle::io::IoPoolProcessConfig;
use crate::lifecycle::journal::ConstructionResourceJournal;
use crate::lifecycle::metrics::prometheus::PrometheusPage;
use crate::lifecycle::metrics::store::BackendMetricsSnapshot;
use crate::lifecycle::observation::executor::ObservationCompletionExecutor;
use crate::lifecycle::records::GpuBackendDeviceStartupRecord;
use crate::lifecycle::resource::ResourceCore;
use crate::lifecycle::session::GpuBackendSession;
use crate::lifecycle::tracker::{PublicHandleLease, PublicHandleTracker};
use crate::sync::Arc;

/// A live backend over its devices. Each clone is a counted handle; dropping the last one signals the close without
/// waiting for it. Who must know when the devices are free again calls [`GpuBackendCore::close_and_wait`].
#[derive(Clone)]
pub struct GpuBackendCore {
    shared: Arc<Shared>,
    _handle: PublicHandleLease,
}

struct Shared {
    resource: Arc<ResourceCore>,
    observation: Arc<ObservationCore>,
    coordinator: CloseCoordinator,
    records: Arc<[GpuBackendDeviceStartupRecord]>,
    io_pool: Option<IoPoolProcessConfig>,
    identity: GpuBackendCoreIdentity,
    kind: BackendKind,
}

/// What a construction publishes.
pub(crate) struct CoreParts {
    pub(crate) resource: Arc<ResourceCore>,
    pub(crate) observation: Arc<ObservationCore>,
    pub(crate) coordinator: CloseCoordinator,
    pub(crate) records: Arc<[GpuBackendDeviceStartupRecord]>,
    pub(crate) io_pool: Option<IoPoolProcessConfig>,
    pub(crate) identity: GpuBackendCoreIdentity,
    pub(crate) kind: BackendKind,
}

impl GpuBackendCore {
    /// Build a backend. Blocks until every device is installed.
    ///
    /// # Errors
    ///
    /// `backend_already_live` while another backend of the process lives, or is still draining; what the inventory, the
    /// resolution of capacity and the native layer answer. An error from behind the claim has the fact `rollback_cleanup`.
    pub fn new(config: ValidatedGpuBackendConfig, factory: &dyn ServerFactory) -> QueryResult<Self> {
        Self::with_config(config, factory, Config::default())
    }

    /// As [`GpuBackendCore::new`], with the bounds and the clock of the devices' servers.
    ///
    /// # Errors
    ///
    /// As [`GpuBackendCore::new`].
    pub fn with_config(
        config: ValidatedGpuBackendConfig,
        factory: &dyn ServerFactory,
        server: Config,
    ) -> QueryResult<Self> {
        Self::probed(config, factory, server, &NoopConstructionProbe)
    }

    /// As [`GpuBackendCore::with_config`], with a probe that is told of each boundary of the construction.
    ///
    /// # Errors
    ///
    /// As [`GpuBackendCore::new`], and what the probe answers.
    pub fn probed(
        config: ValidatedGpuBackendConfig,
        factory: &dyn ServerFactory,
        server: Config,
        probe: &dyn GpuBackendConstructionProbe,
    ) -> QueryResult<Self> {
        let journal = ConstructionResourceJournal::default();
        let spawn_executor = &ObservationCompletionExecutor::spawn;
        construct(Construction { config, factory, server, probe, journal, spawn_executor })
    }

    /// The first handle.
    pub(crate) fn publish(parts: CoreParts) -> Self {
        let CoreParts { resource, observation, coordinator, records, io_pool, identity, kind } = parts;
        let closer = coordinator.clone();
        let tracker = PublicHandleTracker::new(move || {
            closer.signal();
        });
        let handle = tracker.acquire().expect("a tracker that nobody has used gives out its first lease");
        let shared = Shared { resource, observation, coordinator, records, io_pool, identity, kind };
        Self { shared: Arc::new(shared), _handle: handle }
    }

    /// A capability for downstream code, which keeps no device owned.
    pub fn session_capability(&self) -> GpuBackendSession {
        GpuBackendSession {
            resource: Arc::downgrade(&self.shared.resource),
            observation: self.shared.observation.clone(),
            identity: self.shared.identity,
        }
    }

    /// What was found and installed, by ordinal. Readable after close (B-74).
    pub fn device_startup_records(&self) -> &Arc<[GpuBackendDeviceStartupRecord]> {
        &self.shared.records
    }

    /// The effective configuration of the process's I/O pool; `None` where the native layer has none (B-195).
    pub fn io_pool_process_config(&self) -> Option<IoPoolProcessConfig> {
        self.shared.io_pool
    }

    /// Which backend it is.
    pub fn identity(&self) -> GpuBackendCoreIdentity {
        self.shared.identity
    }

    /// As [`GpuBackendSession::begin_attempt`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn begin_attempt(&self, request: BeginAttemptRequest) -> QueryResult<AttemptBegin> {
        self.shared.observation.begin_attempt(request)
    }

    /// As [`GpuBackendSession::backend_metrics_snapshot`].
    pub fn backend_metrics_snapshot(&self) -> BackendMetricsSnapshot {
        self.shared.observation.metrics().snapshot()
    }

    /// Whether the backend lives, can take work, and at full strength; with the reasons. Works after close.
    pub fn health(&self) -> BackendHealth {
        let close = self.close_snapshot();
        let session = self.session_capability();
        let devices = session.device_standings();
        BackendHealth::assess(&HealthInput {
            closing: close.closing,
            failed_closed: close.cleanup_failed_closed,
            devices,
        })
    }

    /// Metrics, counters, admission and health as text for Prometheus ([`PROMETHEUS_CONTENT_TYPE`]). Works after close,
    /// without admission then.
    ///
    /// [`PROMETHEUS_CONTENT_TYPE`]: crate::lifecycle::PROMETHEUS_CONTENT_TYPE
    pub fn prometheus_text(&self) -> String {
        let session = self.session_capability();
        PrometheusPage {
            backend: self.shared.kind.as_str(),
            metrics: &self.backend_metrics_snapshot(),
            counters: &session.attempt_counters_snapshot(),
            admission: session.admission_gauges().as_ref(),
            health: Some(&self.health()),
        }
        .text()
    }

    /// A capability to inject faults, for qualification (B-185).
    #[cfg(feature = "qualification")]
    pub fn fault_injector(&self) -> crate::lifecycle::fault::GpuBackendFaultInjector {
        crate::lifecycle::fault::GpuBackendFaultInjector::new(self.session_capability())
    }

    /// Signal close and return at once; true for the one call that set it. From any thread, destructor or observer.
    pub fn close(&self) -> bool {
        self.shared.coordinator.signal()
    }

    /// How far the close has come. Blocks on nothing.
    pub fn close_snapshot(&self) -> GpuBackendCloseSnapshot {
        self.shared.coordinator.snapshot()
    }

    /// Signal close, and block until both scopes are quiescent: a backend over the same devices can be built then. A
    /// `timeout` that no moment can hold counts as zero, so that no wait is unbounded (B-154).
    ///
    /// # Errors
    ///
    /// `reentrant_observation_close` inside an observer, with nothing signalled; `backend_close_timeout` with what is still
    /// held, while the cleanup goes on; `cleanup_failed_closed`.
    pub fn close_and_wait(&self, timeout: Duration) -> QueryResult<GpuBackendCloseSnapshot> {
        self.shared.coordinator.wait(timeout)
    }

    /// As [`GpuBackendCore::close_and_wait`], until `deadline`.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn close_and_wait_until(&self, deadline: Instant) -> QueryResult<GpuBackendCloseSnapshot> {
        self.shared.coordinator.wait_until(deadline)
    }

    /// As [`GpuBackendCore::close_and_wait`], without blocking the executor that polls it: any one will do. Nothing is
    /// signalled before the first poll, and dropping it later takes nothing back.
    ///
    /// # Errors
    ///
    /// As there; `close_wait_task_failed`.
    pub fn close_and_wait_async(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = QueryResult<GpuBackendCloseSnapshot>> + Send + 'static {
        self.shared.coordinator.wait_async(timeout)
    }
}

impl fmt::Debug for GpuBackendCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuBackendCore").field("identity", &self.shared.identity).finish_non_exhaustive()
    }
}
