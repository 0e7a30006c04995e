//! Ways in for tests: a core without devices, and a construction of which the journal and the delivery lanes are in the test's
//! hands.

use crate::config::Config;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::checkpoint::GpuBackendConstructionProbe;
use crate::lifecycle::config::ValidatedGpuBackendConfig;
use crate::lifecycle::construct::{Construction, construct};
use crate::lifecycle::coordinator::CloseCoordinator;
use crate::lifecycle::core::{CoreParts, GpuBackendCore};
use crate::lifecycle::error::QueryResult;
use crate::lifecycle::factory::ServerFactory;
use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::identity::{GpuBackendCoreIdentity, next_identity};
use crate::lifecycle::inventory::BackendKind;
use crate::lifecycle::journal::{ConstructionResourceJournal, WeakConstructionResourceJournal};
use crate::lifecycle::metrics::store::BackendMetricsStore;
use crate::lifecycle::observation::executor::ObservationCompletionExecutor;
use crate::lifecycle::observation::lane::ObservationLane;
use crate::lifecycle::resource::ResourceCore;
use crate::sync::Arc;

/// A look into the journal of a construction, which it does not keep alive.
#[derive(Clone, Debug)]
pub struct JournalView(WeakConstructionResourceJournal);

impl JournalView {
    /// The kinds of what is journaled, in the order of their creation; `None` once the journal is gone.
    pub fn labels(&self) -> Option<Vec<&'static str>> {
        self.0.upgrade().map(|journal| journal.labels())
    }
}

/// Build with a probe that sees the journal, and perhaps with a delivery lane (`observation` or `activity_tail`) whose thread
/// does not start.
///
/// # Errors
///
/// As [`GpuBackendCore::new`].
pub fn build_with(
    config: ValidatedGpuBackendConfig,
    factory: &dyn ServerFactory,
    server: Config,
    probe: impl FnOnce(JournalView) -> Arc<dyn GpuBackendConstructionProbe>,
    failing_lane: Option<&str>,
) -> QueryResult<GpuBackendCore> {
    let journal = ConstructionResourceJournal::default();
    let probe = probe(JournalView(journal.downgrade()));
    let lanes = [ObservationLane::Observation, ObservationLane::ActivityTail];
    let failing = failing_lane.and_then(|name| lanes.into_iter().find(|lane| lane.as_str() == name));
    let spawn_executor = move || match failing {
        Some(lane) => ObservationCompletionExecutor::spawn_failing_at(lane),
        None => ObservationCompletionExecutor::spawn(),
    };
    construct(Construction { config, factory, server, probe: &*probe, journal, spawn_executor: &spawn_executor })
}

/// As [`inert`], over delivery lanes whose threads have ended: what is delivered runs on the thread that submits it.
///
/// # Errors
///
/// A thread that does not start.
pub fn inert_without_lanes() -> QueryResult<GpuBackendCore> {
    inert_over(None, ObservationCompletionExecutor::stopped())
}

/// A core with an empty generation, no claim and no device, but with delivery, coordinator and handles.
///
/// # Errors
///
/// A thread that does not start.
pub fn inert(completion_queue_capacity: Option<usize>) -> QueryResult<GpuBackendCore> {
    inert_over(completion_queue_capacity, ObservationCompletionExecutor::spawn()?)
}

fn inert_over(
    completion_queue_capacity: Option<usize>,
    executor: ObservationCompletionExecutor,
) -> QueryResult<GpuBackendCore> {
    let lifecycle = BackendLifecycle::new();
    let generation = next_identity();
    let resource = Arc::new(ResourceCore::new(next_identity(), None));
    let observation = ObservationCore::new(
        next_identity(),
        lifecycle.clone(),
        Config::default().clock,
        BackendMetricsStore::new(generation, &[])?,
        completion_queue_capacity,
        executor,
    );
    let coordinator = CloseCoordinator::spawn(resource.clone(), lifecycle)?;
    let identity = GpuBackendCoreIdentity {
        resource_core: resource.identity(),
        observation_core: observation.identity(),
        resource_generation: generation,
    };
    let (records, kind) = (Arc::from([]), BackendKind::Sim);
    Ok(GpuBackendCore::publish(CoreParts {
        resource,
        observation,
        coordinator,
        records,
        io_pool: None,
        identity,
        kind,
    }))
}
