//! A core without devices, resources that only pretend, and what they log.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::owner::{AttemptBegin, BeginAttemptRequest};
use crate::lifecycle::attempt::resources::{AttemptEnd, AttemptResources, ReleaseDone, ReleaseReport};
use crate::lifecycle::gate::{BackendLifecycle, GpuPermit};
use crate::lifecycle::metrics::store::BackendMetricsStore;
use crate::lifecycle::observation::executor::ObservationCompletionExecutor;
use crate::sync::{Arc, Mutex, thread};

pub(super) const LONG: Duration = Duration::from_secs(20);

pub(super) fn core_with(clock: &Clock, queue: Option<usize>) -> Arc<ObservationCore> {
    let metrics = BackendMetricsStore::new(1, &[0, 3]).unwrap();
    let executor = ObservationCompletionExecutor::spawn().unwrap();
    ObservationCore::new(2, BackendLifecycle::new(), clock.clone(), metrics, queue, executor)
}

pub(super) fn core() -> Arc<ObservationCore> {
    core_with(&Clock::system(), None)
}

pub(super) fn begin(core: &Arc<ObservationCore>) -> AttemptBegin {
    core.begin_attempt(BeginAttemptRequest::default()).unwrap()
}

/// Signal close and wait for both scopes.
pub(super) fn closes(core: &ObservationCore) -> bool {
    core.lifecycle().close();
    let deadline = Some(Instant::now() + LONG);
    core.lifecycle().wait_gpu_idle(deadline) && core.lifecycle().wait_observation_idle(deadline)
}

/// Permits of the GPU scope and of the observation scope.
pub(super) fn permits(core: &ObservationCore) -> (u64, u64) {
    let snapshot = core.lifecycle().snapshot();
    (snapshot.active_gpu_permits, snapshot.active_observation_permits)
}

pub(super) fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Lines in the order they happened, each with the permits of that moment.
#[derive(Clone, Debug)]
pub(super) struct Log {
    core: Arc<ObservationCore>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Log {
    pub(super) fn new(core: &Arc<ObservationCore>) -> Self {
        Self { core: core.clone(), lines: Arc::default() }
    }

    pub(super) fn note(&self, what: &str) {
        let (gpu, observation) = permits(&self.core);
        self.lines.lock().push(format!("{what} gpu={gpu} observation={observation} {}", thread_name()));
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }
}

/// An activity that logs its end, and says so.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) log: Log,
    pub(super) done: mpsc::Sender<()>,
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.log.note("activity");
        let _ = self.done.send(());
    }
}

/// What pretended resources do when they are told to go.
pub(super) enum Release {
    AtOnce,
    /// Hand the rest to whoever has the other end.
    Later(mpsc::Sender<(GpuPermit, ReleaseDone)>),
    Panic,
    Forget,
}

pub(super) struct FakeResources {
    pub(super) gpu: GpuPermit,
    pub(super) log: Log,
    pub(super) release: Release,
}

impl FakeResources {
    pub(super) fn new(log: &Log, release: Release) -> Box<Self> {
        let gpu = log.core.lifecycle().try_begin_gpu_resource().unwrap();
        Box::new(Self { gpu, log: log.clone(), release })
    }

    pub(super) fn report() -> ReleaseReport {
        ReleaseReport {
            device_ordinal: Some(3),
            granted_bytes: 256,
            native_work: true,
            physical_execution: Duration::from_millis(7),
            error: None,
        }
    }
}

impl AttemptResources for FakeResources {
    fn release(self: Box<Self>, ended: AttemptEnd, done: ReleaseDone) {
        self.log.note(&format!("release {}", ended.outcome.as_str()));
        match self.release {
            Release::AtOnce => {
                drop(self.gpu);
                done(Self::report());
            }
            Release::Later(rest) => rest.send((self.gpu, done)).unwrap(),
            Release::Panic => panic!("a release that panics"),
            Release::Forget => {}
        }
    }
}
