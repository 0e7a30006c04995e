//! Models of attempts: each tries every interleaving of a few steps, and panics at one that breaks a rule. They are here
//! and not among the tests because what they explore is private to the crate.

use std::time::Duration;

use crate::clock::Clock;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::owner::{AttemptBegin, BeginAttemptRequest};
use crate::lifecycle::attempt::report::AttemptOutcome;
use crate::lifecycle::attempt::resources::{AttemptEnd, AttemptResources, ReleaseDone, ReleaseReport};
use crate::lifecycle::gate::{BackendLifecycle, GpuPermit};
use crate::lifecycle::metrics::store::BackendMetricsStore;
use crate::lifecycle::observation::executor::{ObservationCompletionExecutor, ObservationLane};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Condvar, Mutex, thread};

/// A core whose lanes have stopped: what it would hand to them runs where it is.
fn core(queue: Option<usize>) -> Arc<ObservationCore> {
    let metrics = BackendMetricsStore::new(1, &[0]).expect("ordinal 0 has a label");
    let executor = ObservationCompletionExecutor::stopped();
    ObservationCore::new(2, BackendLifecycle::new(), Clock::manual(), metrics, queue, executor)
}

fn begin(core: &Arc<ObservationCore>) -> AttemptBegin {
    core.begin_attempt(BeginAttemptRequest::default()).expect("nothing has closed it")
}

/// Reports that had no receiver.
fn abandoned(core: &ObservationCore) -> u64 {
    let counters = core.counters_snapshot();
    counters.completion_queue_pushed + counters.completion_queue_overflowed + counters.reports_discarded
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// A report goes to its receiver or to the queue, never to both and never nowhere (B-129); who sees it sees the counter
/// (B-124), which never exceeds the begins (B-130).
pub fn a_report_goes_to_one_place() {
    explore(|| {
        let core = core(Some(1));
        let AttemptBegin { owner, completion } = begin(&core);
        let ender = thread::spawn(move || drop(owner));
        let receiver = thread::spawn({
            let core = core.clone();
            move || {
                let seen = completion.is_ready();
                let counters = core.counters_snapshot();
                assert!(counters.reports_ready <= counters.attempts_begun);
                assert!(!seen || counters.reports_ready == 1, "the report was seen before its counter");
                completion.into_report().is_some()
            }
        });
        ender.join().expect("the owner ends");
        let received = receiver.join().expect("the receiver ends");
        let queued = core.take_abandoned_attempt_reports(8).len() as u64;
        assert_eq!((queued, abandoned(&core)), (u64::from(!received), u64::from(!received)));
        assert_eq!(core.counters_snapshot().reports_ready, 1);
        assert_eq!(core.metrics().snapshot().generation, 1);
    });
}

/// A view that is left has the report, whoever else lets go meanwhile; without any, the queue has it (QB-16).
pub fn the_last_view_decides() {
    explore(|| {
        let core = core(Some(1));
        let AttemptBegin { owner, completion } = begin(&core);
        let view = completion.completion();
        let dropper = thread::spawn(move || drop(completion));
        let cloner = thread::spawn(move || view.clone());
        drop(owner);
        dropper.join().expect("the receiver is let go");
        let view = cloner.join().expect("the view is cloned");
        assert!(view.is_ready());
        assert_eq!(abandoned(&core), 0);

        let AttemptBegin { owner, completion } = begin(&core);
        drop((completion.completion(), completion));
        drop(owner);
        assert_eq!(abandoned(&core), 1);
    });
}

/// Of two terminals the first wins, and the drop of the owner adds none (B-122).
pub fn one_terminal_wins() {
    explore(|| {
        let core = core(None);
        let AttemptBegin { owner, completion } = begin(&core);
        let owner = Arc::new(owner);
        let other = thread::spawn({
            let owner = owner.clone();
            move || owner.commit_terminal(AttemptOutcome::Failed).is_ok()
        });
        let mine = owner.commit_terminal(AttemptOutcome::Succeeded).is_ok();
        drop(owner);
        let other = other.join().expect("the other ends");
        assert_ne!(mine, other);
        let expected = if mine { AttemptOutcome::Succeeded } else { AttemptOutcome::Failed };
        assert_eq!(completion.completion().report().map(|report| report.outcome), Some(expected));
        assert_eq!(core.counters_snapshot().reports_ready, 1);
        assert_eq!(core.lifecycle().snapshot().active_observation_permits, 0);
    });
}

struct Held {
    gpu: GpuPermit,
    released: Arc<AtomicUsize>,
}

impl AttemptResources for Held {
    fn release(self: Box<Self>, _ended: AttemptEnd, done: ReleaseDone) {
        let Self { gpu, released } = *self;
        released.fetch_add(1, Ordering::SeqCst);
        drop(gpu);
        done(ReleaseReport::default());
    }
}

/// What was granted while the attempt ended comes back or is released, once, and the attempt is reported either way
/// (B-104). A way out of the queue is used by the attempt that did not get its grant alone.
pub fn a_grant_is_held_or_comes_back() {
    explore(|| {
        let core = core(None);
        let AttemptBegin { owner, completion } = begin(&core);
        let binding = owner.admission_binding();
        let (released, cancelled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let cancel = cancelled.clone();
        let pending = binding.attach_pending(move || _ = cancel.fetch_add(1, Ordering::SeqCst));
        assert!(pending.is_ok());
        let gpu = core.lifecycle().try_begin_gpu_resource().expect("nothing has closed it");
        let held = Box::new(Held { gpu, released: released.clone() });
        let granter = thread::spawn(move || binding.attach(held, Duration::ZERO).is_ok());
        drop(owner);
        let attached = granter.join().expect("the granter ends");
        assert_eq!(released.load(Ordering::SeqCst), usize::from(attached));
        assert_eq!(cancelled.load(Ordering::SeqCst), usize::from(!attached));
        assert!(completion.is_ready());
        let gate = core.lifecycle().snapshot();
        assert_eq!((gate.active_gpu_permits, gate.active_observation_permits), (0, 0));
        assert_eq!(core.counters_snapshot().reports_ready, 1);
    });
}

/// A begin that is counted is reported before the observation scope is idle (B-119, B-120).
pub fn a_counted_begin_is_reported_before_close_is_done() {
    explore(|| {
        let core = core(None);
        let beginner = thread::spawn({
            let core = core.clone();
            move || core.begin_attempt(BeginAttemptRequest::default()).is_ok()
        });
        core.lifecycle().close();
        assert!(core.lifecycle().wait_observation_idle(None));
        let idle = core.counters_snapshot();
        assert_eq!(idle.attempts_begun, idle.reports_ready);
        let begun = beginner.join().expect("the beginner ends");
        assert_eq!(idle.attempts_begun, u64::from(begun));
        assert_eq!(core.counters_snapshot(), idle);
    });
}

/// A job given to a lane runs once, though nobody holds the lanes any more; then they end (B-143).
pub fn a_lane_does_what_it_was_given() {
    explore(|| {
        let executor = ObservationCompletionExecutor::spawn().expect("a model has threads");
        let ran = Arc::new((Mutex::new(0), Condvar::new()));
        let job = ran.clone();
        executor.dispatcher().dispatch(
            ObservationLane::Observation,
            Box::new(move || {
                *job.0.lock() += 1;
                job.1.notify_all();
            }),
        );
        drop(executor);
        let mut count = ran.0.lock();
        while *count == 0 {
            count = ran.1.wait(count);
        }
        assert_eq!(*count, 1);
    });
}

/// A job given while the lanes are detached runs at most once, wherever; a later one runs where it is given (B-137), and the
/// lanes end.
pub fn a_detachment_is_no_second_run() {
    explore(|| {
        let executor = ObservationCompletionExecutor::spawn().expect("a model has threads");
        let ran = Arc::new(AtomicUsize::new(0));
        let give = |ran: &Arc<AtomicUsize>| {
            let ran = ran.clone();
            Box::new(move || _ = ran.fetch_add(1, Ordering::SeqCst))
        };
        let giver = thread::spawn({
            let (dispatcher, job) = (executor.dispatcher(), give(&ran));
            move || dispatcher.dispatch(ObservationLane::Observation, job)
        });
        executor.detach_for_exit();
        giver.join().expect("the giver ends");
        let late = Arc::new(AtomicUsize::new(0));
        executor.dispatcher().dispatch(ObservationLane::Observation, give(&late));
        assert_eq!(late.load(Ordering::SeqCst), 1);
        assert!(ran.load(Ordering::SeqCst) <= 1);
    });
}
