//! Ways in for tests: a core without devices, and a construction of which the journal and the delivery lanes are in the test's
//! hands.

use std::time::Instant;

use crate::config::Config;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::checkpoint::GpuBackendConstructionProbe;
use crate::lifecycle::config::ValidatedGpuBackendConfig;
use crate::lifecycle::construct::{Construction, construct};
use crate::lifecycle::coordinator::CloseCoordinator;
use crate::lifecycle::core::{CoreParts, GpuBackendCore};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::factory::ServerFactory;
use crate::lifecycle::gate::BackendLifecycle;
use crate::lifecycle::identity::{GpuBackendCoreIdentity, next_identity};
use crate::lifecycle::inventory::BackendKind;
use crate::lifecycle::journal::{ConstructionResourceJournal, JournaledResource, WeakConstructionResourceJournal};
use crate::lifecycle::metrics::store::BackendMetricsStore;
use crate::lifecycle::observation::executor::ObservationCompletionExecutor;
use crate::lifecycle::observation::lane::ObservationLane;
use crate::lifecycle::resource::ResourceCore;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, thread};

/// A look into the journal of a construction, which it does not keep alive.
#[derive(Clone, Debug)]
pub struct JournalView(WeakConstructionResourceJournal);

impl JournalView {
    /// The kinds of what is journaled, in the order of their creation; `None` once the journal is gone.
    pub fn labels(&self) -> Option<Vec<&'static str>> {
        self.0.upgrade().map(|journal| journal.labels())
    }
}

/// How an [`Obstacle`] behaves when it is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draining {
    /// It is not done before [`Obstacle::give_way`].
    Slow,
    /// It fails for good.
    Fails,
    /// It panics.
    Panics,
}

/// A resource in the journal that stands in the way of a cleanup.
#[derive(Clone, Debug)]
pub struct Obstacle(Arc<Way>);

#[derive(Debug)]
struct Way {
    draining: Draining,
    open: AtomicBool,
}

impl Obstacle {
    /// One that behaves so.
    pub fn new(draining: Draining) -> Self {
        Self(Arc::new(Way { draining, open: AtomicBool::new(false) }))
    }

    /// A slow one is done from here on.
    pub fn give_way(&self) {
        self.0.open.store(true, Ordering::Release);
    }
}

impl JournaledResource for Way {
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
        match self.draining {
            Draining::Slow if self.open.load(Ordering::Acquire) => Ok(()),
            Draining::Slow => {
                thread::sleep(deadline.saturating_duration_since(Instant::now()));
                Err(QueryError::cleanup_deadline(operation::CLOSE))
            }
            Draining::Fails => {
                let error =
                    QueryError::new(QueryErrorCode::Internal, operation::CLOSE, "an obstacle does not give way");
                Err(error.with_reason("injected_drain_failure"))
            }
            Draining::Panics => panic!("an obstacle panics when it is drained"),
        }
    }
}

impl JournalView {
    /// Put an obstacle into the journal. False once the journal is gone.
    pub fn obstruct(&self, obstacle: &Obstacle) -> bool {
        self.0.upgrade().is_some_and(|journal| journal.record_execution_pool(obstacle.0.clone()).is_ok())
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
