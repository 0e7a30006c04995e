//! Attempts that hold something of a device: what is given back, and in which order.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::fakes::{FakeResources, LONG, Log, Release, Tail, begin, closes, core, core_with, permits, thread_name};
use crate::clock::Clock;
use crate::lifecycle::attempt::activity::QueryActivityLease;
use crate::lifecycle::attempt::binding::AttachRefusal;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::report::{AttemptDisposition, AttemptOutcome};
use crate::lifecycle::reentrancy::refuse_reentrant_close;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex};

const LANE: &str = "graphreel-observation";
const TAIL: &str = "graphreel-activity_tail";

/// B-102, B-104, B-124, B-138: resources and grant, GPU permit, seal and its observers, observation permit, activity.
#[test]
fn an_admitted_attempt_ends_in_one_order() {
    let core = core();
    let (log, begun) = (Log::new(&core), begin(&core));
    let (done, is_done) = mpsc::channel();
    let (sink, observer) = (log.clone(), log.clone());
    begun.owner.register_sealed_report_sink(move |_| sink.note("sink")).unwrap();
    begun.owner.register_seal_observer(move |_| observer.note("observer")).unwrap();
    let binding = begun.owner.admission_binding();
    binding.attach(FakeResources::new(&log, Release::AtOnce), Duration::from_millis(3)).unwrap();
    let lease = QueryActivityLease::new(Tail { log: log.clone(), done });
    binding.attach_activity(lease.on_tail(core.dispatcher()));
    assert_eq!((permits(&core), binding.attempt_id()), ((1, 1), begun.owner.id()));
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    is_done.recv_timeout(LONG).unwrap();
    assert_eq!(
        log.lines(),
        [
            format!("release succeeded gpu=1 observation=1 {}", thread_name()),
            format!("sink gpu=0 observation=1 {LANE}"),
            format!("observer gpu=0 observation=1 {LANE}"),
            format!("activity gpu=0 observation=0 {TAIL}"),
        ]
    );
    let report = begun.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.disposition, report.device_ordinal), (AttemptDisposition::Native, Some(3)));
    assert_eq!((report.queue_wait, report.granted_bytes), (Duration::from_millis(3), 256));
    let metrics = core.metrics().snapshot();
    let device = metrics.devices[1];
    assert_eq!(device.attempts.completed(AttemptDisposition::Native, AttemptOutcome::Succeeded), 1);
    assert_eq!((device.device_ordinal, device.durations.queue_wait_ns), (3, 3_000_000));
    assert_eq!(metrics.durations.physical_execution_ns, 7_000_000);
    assert!(closes(&core));
}

/// B-123: the end of an attempt waits for its resources, and nobody's thread does.
#[test]
fn a_report_waits_for_the_resources() {
    let clock = Clock::manual();
    let core = core_with(&clock, None);
    let (log, begun) = (Log::new(&core), begin(&core));
    let (rest, released) = mpsc::channel();
    let binding = begun.owner.admission_binding();
    binding.attach(FakeResources::new(&log, Release::Later(rest)), Duration::ZERO).unwrap();
    begun.owner.mark_planned();
    drop(begun.owner);
    assert!(!begun.completion.is_ready());
    assert_eq!(permits(&core), (1, 1));
    clock.advance(Duration::from_secs(2));
    let (gpu, done) = released.recv_timeout(LONG).unwrap();
    drop(gpu);
    done(FakeResources::report());
    let report = begun.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.outcome, report.total), (AttemptOutcome::Dropped, Duration::from_secs(2)));
    assert!(closes(&core));
}

/// B-121, B-138: a blocked observer holds the observation scope alone, and its report is there already.
#[test]
fn a_blocked_observer_keeps_no_device() {
    let core = core();
    let (log, begun) = (Log::new(&core), begin(&core));
    let ((open, gate), (entered, has_entered)) = (mpsc::channel::<()>(), mpsc::channel());
    let observer = move |_| {
        entered.send(refuse_reentrant_close().is_err()).unwrap();
        gate.recv_timeout(LONG).unwrap();
    };
    begun.owner.register_seal_observer(observer).unwrap();
    begun.owner.admission_binding().attach(FakeResources::new(&log, Release::AtOnce), Duration::ZERO).unwrap();
    drop(begun.owner);
    assert!(has_entered.recv_timeout(LONG).unwrap(), "an observer cannot block in a close");
    assert!(begun.completion.is_ready());
    assert_eq!(permits(&core), (0, 1));
    core.lifecycle().close();
    assert!(!core.lifecycle().wait_observation_idle(Some(Instant::now() + Duration::from_millis(20))));
    open.send(()).unwrap();
    assert!(closes(&core));
}

/// B-103, B-135: a close from an activity's destructor reaches the end, though another attempt is still open
/// when it begins.
#[test]
fn an_activity_may_wait_for_a_close() {
    struct Closes(Arc<ObservationCore>, mpsc::Sender<&'static str>);
    impl std::fmt::Debug for Closes {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Closes")
        }
    }
    impl Drop for Closes {
        fn drop(&mut self) {
            let _ = self.1.send("entered");
            let closed = refuse_reentrant_close().is_ok() && closes(&self.0);
            let _ = self.1.send(if closed { "closed" } else { "refused" });
        }
    }
    let core = core();
    let log = Log::new(&core);
    let (first, second) = (begin(&core), begin(&core));
    for begun in [&first, &second] {
        begun.owner.admission_binding().attach(FakeResources::new(&log, Release::AtOnce), Duration::ZERO).unwrap();
    }
    let (said, says) = mpsc::channel();
    let lease = QueryActivityLease::new(Closes(core.clone(), said)).on_tail(core.dispatcher());
    first.owner.admission_binding().attach_activity(lease);
    drop(first);
    assert_eq!(says.recv_timeout(LONG), Ok("entered"));
    drop(second);
    assert_eq!(says.recv_timeout(LONG), Ok("closed"));
}

#[derive(Debug)]
struct PanicsAtEnd;

impl Drop for PanicsAtEnd {
    fn drop(&mut self) {
        panic!("an activity that panics");
    }
}

/// XB-17; B-136: a panic of a sink, an observer, an activity or a release costs neither a lane nor a permit.
#[test]
fn panics_of_callers_cost_nothing() {
    for release in [Release::AtOnce, Release::Panic, Release::Forget] {
        let core = core();
        let (log, begun) = (Log::new(&core), begin(&core));
        let (observed, is_observed) = mpsc::channel();
        begun.owner.register_sealed_report_sink(|_| panic!("a sink that panics")).unwrap();
        begun.owner.register_seal_observer(|_| panic!("an observer that panics")).unwrap();
        begun.owner.register_seal_observer(move |report| observed.send(report.outcome).unwrap()).unwrap();
        let binding = begun.owner.admission_binding();
        let (done, is_done) = mpsc::channel();
        binding.attach_activity(QueryActivityLease::new(PanicsAtEnd).on_tail(core.dispatcher()));
        binding.attach_activity(QueryActivityLease::new(Tail { log: log.clone(), done }).on_tail(core.dispatcher()));
        binding.attach(FakeResources::new(&log, release), Duration::ZERO).unwrap();
        begun.owner.commit_terminal(AttemptOutcome::Failed).unwrap();
        assert_eq!(is_observed.recv_timeout(LONG), Ok(AttemptOutcome::Failed));
        is_done.recv_timeout(LONG).unwrap();
        assert!(begun.completion.is_ready());
        assert!(closes(&core));
        assert_eq!(core.metrics().snapshot().attempts.completed_total(), 1);
    }
}

/// B-104: a terminal takes a queued request out before the seal; what is granted too late comes back.
#[test]
fn a_terminal_cancels_what_is_queued() {
    let core = core();
    let (log, begun) = (Log::new(&core), begin(&core));
    let (binding, cancel) = (begun.owner.admission_binding(), log.clone());
    binding.attach_pending(|| unreachable!("this request was refused")).unwrap();
    binding.clear_pending();
    binding.attach_pending(move || cancel.note("cancel")).unwrap();
    assert_eq!(binding.attach_pending(|| unreachable!("it did not enter")), Err(AttachRefusal::Busy));
    let observer = log.clone();
    begun.owner.register_seal_observer(move |_| observer.note("observer")).unwrap();
    begun.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    let here = thread_name();
    assert_eq!(
        log.lines(),
        [format!("cancel gpu=0 observation=1 {here}"), format!("observer gpu=0 observation=1 {here}")]
    );
    let late = binding.attach(FakeResources::new(&log, Release::Panic), Duration::ZERO);
    drop(late.unwrap_err());
    assert_eq!(binding.attach_pending(|| unreachable!("it has ended")), Err(AttachRefusal::Terminal));
    drop(begun);
    assert!(binding.attach(FakeResources::new(&log, Release::Panic), Duration::ZERO).is_err());
    assert_eq!(binding.attach_pending(|| unreachable!("it is gone")), Err(AttachRefusal::Terminal));
    assert!(closes(&core));
}

/// B-104: an attempt holds one grant, and having it ends the wait for it.
#[test]
fn an_attempt_holds_one_grant() {
    let core = core();
    let (log, begun) = (Log::new(&core), begin(&core));
    let binding = begun.owner.admission_binding();
    binding.attach_pending(|| unreachable!("it was granted")).unwrap();
    binding.attach(FakeResources::new(&log, Release::AtOnce), Duration::ZERO).unwrap();
    assert_eq!(binding.attach_pending(|| unreachable!("it holds one")), Err(AttachRefusal::Busy));
    assert!(binding.attach(FakeResources::new(&log, Release::AtOnce), Duration::ZERO).is_err());
    binding.clear_pending();
    assert_eq!(permits(&core), (1, 1));
    drop(begun);
    assert!(closes(&core));
    assert_eq!(log.lines().len(), 1, "one release");
}

/// B-102, B-103: the activity of a refused request goes on its lane, whoever lets it go, and so does one that comes late.
#[test]
fn an_activity_ends_on_its_lane() {
    #[derive(Debug)]
    struct Names(Arc<Mutex<Vec<String>>>, mpsc::Sender<()>);
    impl Drop for Names {
        fn drop(&mut self) {
            self.0.lock().push(thread_name());
            let _ = self.1.send(());
        }
    }
    let core = core();
    let names = Arc::new(Mutex::new(Vec::new()));
    let (done, is_done) = mpsc::channel();
    let lease = || QueryActivityLease::new(Names(names.clone(), done.clone())).on_tail(core.dispatcher());
    drop(lease());
    let begun = begin(&core);
    let binding = begun.owner.admission_binding();
    begun.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    binding.attach_activity(lease());
    drop(begun);
    binding.attach_activity(lease());
    (0..3).for_each(|_| is_done.recv_timeout(LONG).unwrap());
    assert_eq!(*names.lock(), [TAIL, TAIL, TAIL]);
}

/// B-122, B-123: of many who end an attempt one does, whatever is attached meanwhile.
#[test]
fn commits_and_attaches_race_to_one_end() {
    for _ in 0..50 {
        let core = core_with(&Clock::system(), Some(1));
        let (log, begun) = (Log::new(&core), begin(&core));
        let (binding, won) = (begun.owner.admission_binding(), AtomicUsize::new(0));
        let refused = crate::sync::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let committed = begun.owner.commit_terminal(AttemptOutcome::Succeeded).is_ok();
                    won.fetch_add(usize::from(committed), Ordering::Relaxed);
                });
            }
            let attach = || binding.attach(FakeResources::new(&log, Release::AtOnce), Duration::ZERO).is_err();
            scope.spawn(attach).join().unwrap()
        });
        assert_eq!(won.load(Ordering::Relaxed), 1);
        assert!(begun.completion.wait_timeout(LONG).is_some());
        assert_eq!(log.lines().len(), usize::from(!refused));
        assert!(closes(&core));
        assert_eq!(core.counters_snapshot().reports_ready, 1);
    }
}

/// B-137: at the exit of the process nothing is begun on a lane; an attempt that ends then is sealed by whoever ends it.
#[test]
fn an_attempt_still_ends_once_the_lanes_are_detached() {
    let core = core();
    let (log, begun) = (Log::new(&core), begin(&core));
    begun.owner.admission_binding().attach(FakeResources::new(&log, Release::AtOnce), Duration::ZERO).unwrap();
    core.detach_for_exit();
    core.detach_for_exit();
    drop(begun.owner);
    assert!(begun.completion.is_ready());
    assert!(closes(&core));
    assert_eq!(core.identity(), 2);
}
