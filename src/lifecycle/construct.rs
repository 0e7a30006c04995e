//! Construction as a transaction: the claim first, then whoever cleans up, then the devices one by one, each resource
//! journaled before the next boundary; a failure or a panic on the way is undone by the same coordinator that closes (B-61
//! to B-71).

use std::time::Duration;

use crate::config::Config;
use crate::lifecycle::admission::controller::AdmissionController;
use crate::lifecycle::admission::ledger::DeviceEnvelope;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::cache::ResidentCache;
use crate::lifecycle::capacity::resolve_capacity;
use crate::lifecycle::checkpoint::{GpuBackendConstructionCheckpoint as Checkpoint, GpuBackendConstructionProbe};
use crate::lifecycle::config::{ValidatedGpuBackendConfig, ValidatedGpuBackendDevice};
use crate::lifecycle::context::DeviceContext;
use crate::lifecycle::coordinator::CloseCoordinator;
use crate::lifecycle::core::{CoreParts, GpuBackendCore};
use crate::lifecycle::error::{QueryError, QueryResult};
use crate::lifecycle::exit;
use crate::lifecycle::factory::ServerFactory;
use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::identity::{GpuBackendCoreIdentity, next_identity};
use crate::lifecycle::io::{IoPoolProcessConfig, configure_io_pool_process};
use crate::lifecycle::journal::ConstructionResourceJournal;
use crate::lifecycle::lanes::LaneSet;
use crate::lifecycle::lease::{LiveBackendLease, claim_live_backend};
use crate::lifecycle::memory::DeviceMemoryManager;
use crate::lifecycle::metrics::store::BackendMetricsStore;
use crate::lifecycle::observation::executor::ObservationCompletionExecutor;
use crate::lifecycle::pool::GpuExecutionPool;
use crate::lifecycle::records::{GpuBackendDeviceStartupRecord, Observed, startup_records};
use crate::lifecycle::resource::{ResourceCore, ResourceGeneration};
use crate::lifecycle::service::{BackendService, DeviceService};
use crate::lifecycle::standing;
use crate::lifecycle::streams::ServiceStreamPool;
use crate::lifecycle::watch;
use crate::sync::Arc;

/// How long a failed build waits for its cleanup, before that goes on without it (B-67).
const ROLLBACK_SLICE: Duration = Duration::from_secs(1);

/// What a build is made of. The parts but the first two are for tests to replace.
pub(crate) struct Construction<'a> {
    pub(crate) config: ValidatedGpuBackendConfig,
    pub(crate) factory: &'a dyn ServerFactory,
    /// Bounds and choices of each device's server; its memory limit and its exclusive streams are the declaration's.
    pub(crate) server: Config,
    pub(crate) probe: &'a dyn GpuBackendConstructionProbe,
    pub(crate) journal: ConstructionResourceJournal,
    pub(crate) spawn_executor: &'a dyn Fn() -> QueryResult<ObservationCompletionExecutor>,
}

/// Build a backend, or undo what was built.
pub(crate) fn construct(construction: Construction<'_>) -> QueryResult<GpuBackendCore> {
    let Construction { config, factory, probe, journal, spawn_executor, .. } = &construction;
    let ordinals = config.ordinals();
    let span = tracing::info_span!("build", kind = factory.kind().as_str(), ?ordinals);
    let _entered = span.enter();
    let generation_id = next_identity();
    let metrics = BackendMetricsStore::new(generation_id, &ordinals)?;
    let lease = claim(config, &ordinals)?;
    // The claim goes where a panic of this function does not free it.
    let generation = Arc::new(ResourceGeneration::new(generation_id, journal.clone(), lease));
    let resource = Arc::new(ResourceCore::new(next_identity(), Some(generation)));
    let lifecycle = BackendLifecycle::new();
    let clock = construction.server.clock.clone();
    let observation = ObservationCore::new(
        next_identity(),
        lifecycle.clone(),
        clock,
        metrics,
        config.attempt_completion_queue_capacity(),
        spawn_executor()?,
    );
    probe.checkpoint(Checkpoint::BeforeCleanupWorker)?;
    let coordinator = CloseCoordinator::spawn(resource.clone(), lifecycle)?;
    let rollback = ConstructionRollback { coordinator: coordinator.clone(), armed: true };
    let identity = GpuBackendCoreIdentity {
        resource_core: resource.identity(),
        observation_core: observation.identity(),
        resource_generation: generation_id,
    };
    let parts = Shell { resource, observation, coordinator, identity };
    match build(&construction, &parts) {
        Ok(core) => {
            rollback.disarm();
            tracing::info!(generation = generation_id, "backend built");
            Ok(core)
        }
        Err(error) => {
            drop(parts);
            Err(rollback.attach_cleanup_facts(error))
        }
    }
}

fn claim(config: &ValidatedGpuBackendConfig, ordinals: &[usize]) -> QueryResult<LiveBackendLease> {
    if config.is_leased() { claim_live_backend(ordinals) } else { LiveBackendLease::unleased(ordinals) }
}

/// What exists before the first device does.
struct Shell {
    resource: Arc<ResourceCore>,
    observation: Arc<ObservationCore>,
    coordinator: CloseCoordinator,
    identity: GpuBackendCoreIdentity,
}

/// From the first device to the first handle. Whatever it made is in the journal when it fails.
fn build(construction: &Construction<'_>, shell: &Shell) -> QueryResult<GpuBackendCore> {
    let Construction { config, factory, probe, .. } = construction;
    probe.checkpoint(Checkpoint::AfterCleanupWorker)?;
    let generation = shell.resource.generation().ok_or_else(gone)?;
    let service = Arc::new(install(construction, &generation)?);
    generation.publish_service(service.clone())?;
    exit::register(factory.kind().as_str(), &shell.observation, &shell.coordinator);
    let io_pool = configure_io(config)?;
    let health = standing::next_backend_generation();
    let records: Arc<[GpuBackendDeviceStartupRecord]> =
        startup_records(config.validated_devices(), &observe(&service), factory.kind(), health)?.into();
    probe.checkpoint(Checkpoint::BeforeStartupRecords)?;
    generation.journal().record_startup_records(records.clone())?;
    generation.publish_startup_records(records.clone())?;
    probe.checkpoint(Checkpoint::AfterStartupRecords)?;
    watch::losses(&service);
    drop((service, generation));
    let core = GpuBackendCore::publish(CoreParts {
        resource: shell.resource.clone(),
        observation: shell.observation.clone(),
        coordinator: shell.coordinator.clone(),
        records,
        io_pool,
        identity: shell.identity,
        kind: factory.kind(),
    });
    probe.checkpoint(Checkpoint::Published)?;
    Ok(core)
}

fn configure_io(config: &ValidatedGpuBackendConfig) -> QueryResult<Option<IoPoolProcessConfig>> {
    let first = config.ordinals().into_iter().next().unwrap_or(0);
    configure_io_pool_process(first, &IoPoolProcessConfig::DEFAULT)
}

/// Every device, one after the other, and the admission over them.
fn install(construction: &Construction<'_>, generation: &ResourceGeneration) -> QueryResult<BackendService> {
    let config = &construction.config;
    let mut devices = Vec::new();
    let mut envelopes = Vec::new();
    for device in config.validated_devices() {
        let (installed, envelope) = install_device(construction, generation, device)?;
        devices.push(Arc::new(installed));
        envelopes.push(envelope);
    }
    let clock = construction.server.clock.clone();
    let admission = AdmissionController::new(clock, config.queue_bounds(), envelopes)?;
    Ok(BackendService { kind: construction.factory.kind(), admission, devices })
}

fn install_device(
    construction: &Construction<'_>,
    generation: &ResourceGeneration,
    device: &ValidatedGpuBackendDevice,
) -> QueryResult<(DeviceService, DeviceEnvelope)> {
    let Construction { config, factory, probe, .. } = construction;
    let (declared, bounds, journal) = (device.config(), device.installation_bounds(), generation.journal());
    let device_ordinal = declared.device_ordinal();
    let span = tracing::info_span!("install", device_ordinal);
    let _entered = span.enter();
    probe.checkpoint(Checkpoint::BeforeDeviceDiscovery { device_ordinal })?;
    standing::check(factory.kind(), device_ordinal)?;
    let facts = factory.inventory().facts(device_ordinal)?;
    let capacity = resolve_capacity(&facts, declared)?;
    probe.checkpoint(Checkpoint::AfterDeviceDiscovery { device_ordinal })?;

    probe.checkpoint(Checkpoint::BeforeMemoryManager { device_ordinal })?;
    let options = device.memory_manager_options();
    let server = construction.server.clone();
    let memory = DeviceMemoryManager::install(*factory, device_ordinal, options, server, bounds.stream_pool_size)?;
    journal.record_memory_manager(Arc::new(memory.clone()))?;
    probe.checkpoint(Checkpoint::AfterMemoryManager { device_ordinal })?;

    probe.checkpoint(Checkpoint::BeforeStreamPool { device_ordinal })?;
    let streams = ServiceStreamPool::install(memory.device(), device_ordinal, bounds.stream_pool_size)?;
    journal.record_stream_pool(Arc::new(streams.clone()))?;
    probe.checkpoint(Checkpoint::AfterStreamPool { device_ordinal })?;

    probe.checkpoint(Checkpoint::BeforeDeviceContext { device_ordinal })?;
    let context = DeviceContext::create(&memory)?;
    journal.record_device_context(Arc::new(context.clone()))?;
    probe.checkpoint(Checkpoint::AfterDeviceContext { device_ordinal })?;

    probe.checkpoint(Checkpoint::BeforeWorkerPool { device_ordinal })?;
    let pool = GpuExecutionPool::new(device_ordinal, bounds.worker_count)?;
    journal.record_execution_pool(Arc::new(pool.clone()))?;
    probe.checkpoint(Checkpoint::AfterWorkerPool { device_ordinal })?;

    let per_attempt = declared.source_work_per_attempt();
    let envelope = DeviceEnvelope {
        ordinal: device_ordinal,
        capacity_bytes: capacity.query_share_bytes,
        default_bytes: capacity.default_query_limit_bytes,
        max_active: declared.max_active_attempts(),
        source_slots: declared.max_active_attempts().saturating_mul(per_attempt),
        source_slots_per_attempt: per_attempt,
        capabilities: declared.device_capabilities().clone(),
    };
    let installed = DeviceService {
        facts,
        capacity,
        source_policy: config.execution_config().source_scheduler_policy(),
        auxiliary_streams: per_attempt,
        cache: ResidentCache::new(memory.device(), capacity.cache_cap_bytes),
        memory,
        streams,
        context,
        pool,
        lanes: LaneSet::new(bounds.lane_count),
        telemetry: declared.install_telemetry().then(|| factory.telemetry(device_ordinal)),
    };
    Ok((installed, envelope))
}

/// What the installed service says of itself, to be held against what was validated (B-72).
fn observe(service: &BackendService) -> Observed {
    Observed {
        devices: service.devices.iter().map(|device| (device.facts.clone(), device.capacity)).collect(),
        memory_managers: service
            .devices
            .iter()
            .map(|device| (device.ordinal(), device.memory.installation()))
            .collect(),
        worker_pools: service
            .devices
            .iter()
            .map(|device| device.pool.report())
            .map(|report| (report.device_ordinal, report.worker_count))
            .collect(),
    }
}

fn gone() -> QueryError {
    use crate::lifecycle::error::{QueryErrorCode, operation};
    let message = "the generation of a backend under construction is gone; build it again";
    QueryError::new(QueryErrorCode::Internal, operation::BUILD, message).with_reason("resource_generation_unpublished")
}

/// Signals the close of what was built, unless the build came to its end: on an error and on a panic.
struct ConstructionRollback {
    coordinator: CloseCoordinator,
    armed: bool,
}

impl ConstructionRollback {
    fn disarm(mut self) {
        self.armed = false;
    }

    /// The same error, with how far its cleanup has come (B-67). Everything of the generation that the builder held is
    /// dropped by now.
    fn attach_cleanup_facts(mut self, error: QueryError) -> QueryError {
        self.armed = false;
        self.coordinator.signal();
        let cleanup = self.coordinator.rollback_slice(ROLLBACK_SLICE);
        tracing::warn!(%error, cleanup, "a backend was not built");
        error.with_fact("rollback_cleanup", cleanup)
    }
}

impl Drop for ConstructionRollback {
    fn drop(&mut self) {
        if self.armed {
            self.coordinator.signal();
        }
    }
}
