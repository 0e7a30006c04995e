//! A storm of attempts against a close, with lanes that are threads: checked by what is counted at the end. It is here and
//! not among the tests because what it explores is private to the crate.

use std::time::Duration;

use crate::clock::Clock;
use crate::lifecycle::attempt::activity::QueryActivityLease;
use crate::lifecycle::attempt::core::ObservationCore;
use crate::lifecycle::attempt::owner::{AttemptBegin, BeginAttemptRequest};
use crate::lifecycle::attempt::report::AttemptOutcome;
use crate::lifecycle::attempt::resources::{AttemptEnd, AttemptResources, ReleaseDone, ReleaseReport};
use crate::lifecycle::gate::{BackendLifecycle, GpuPermit};
use crate::lifecycle::metrics::store::BackendMetricsStore;
use crate::lifecycle::observation::executor::ObservationCompletionExecutor;
use crate::sync::{Arc, Condvar, Mutex, thread};

/// A count to wait for.
#[derive(Debug, Default)]
struct Tally(Mutex<usize>, Condvar);

impl Tally {
    fn add(&self) {
        *self.0.lock() += 1;
        self.1.notify_all();
    }

    fn reach(&self, count: usize) {
        let mut now = self.0.lock();
        while *now < count {
            now = self.1.wait(now);
        }
        assert_eq!(*now, count);
    }
}

/// Resources that another thread gives back.
struct Held(GpuPermit);

impl AttemptResources for Held {
    fn release(self: Box<Self>, _ended: AttemptEnd, done: ReleaseDone) {
        thread::spawn(move || {
            drop(self.0);
            done(ReleaseReport { native_work: true, ..ReleaseReport::default() });
        });
    }
}

#[derive(Debug)]
struct Counted(Arc<Tally>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// What came of one begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Refused,
    Received,
    Abandoned,
}

fn attempt(core: &Arc<ObservationCore>, seat: usize, activities: &Arc<Tally>, observed: &Arc<Tally>) -> Ended {
    let lease = QueryActivityLease::new(Counted(activities.clone())).on_tail(core.dispatcher());
    let Ok(AttemptBegin { owner, completion }) = core.begin_attempt(BeginAttemptRequest::default()) else {
        return Ended::Refused;
    };
    let observer = observed.clone();
    owner.register_seal_observer(move |_| observer.add()).expect("it has not ended");
    let binding = owner.admission_binding();
    binding.attach_activity(lease);
    let granter = thread::spawn({
        let core = core.clone();
        move || {
            let Ok(gpu) = core.lifecycle().try_begin_gpu_resource() else { return };
            drop(binding.attach(Box::new(Held(gpu)), Duration::ZERO));
        }
    });
    if seat == 0 {
        assert!(owner.commit_terminal(AttemptOutcome::Succeeded).is_ok());
    }
    drop(owner);
    let received = completion.into_report();
    granter.join().expect("the granter ends");
    if received.is_some() { Ended::Received } else { Ended::Abandoned }
}

/// Whatever the order of begins, grants, ends and the close: every counted begin has one report, which went to one place,
/// and all permits, observers and activities are gone through.
pub fn attempts_meet_a_close() {
    let metrics = BackendMetricsStore::new(1, &[0]).expect("ordinal 0 has a label");
    let executor = ObservationCompletionExecutor::spawn().expect("a model has threads");
    let core = ObservationCore::new(2, BackendLifecycle::new(), Clock::manual(), metrics, Some(1), executor);
    let (activities, observed) = (Arc::new(Tally::default()), Arc::new(Tally::default()));
    let attempts: Vec<_> = (0..2)
        .map(|seat| {
            let (core, activities, observed) = (core.clone(), activities.clone(), observed.clone());
            thread::spawn(move || attempt(&core, seat, &activities, &observed))
        })
        .collect();
    assert!(core.lifecycle().close());
    assert!(core.lifecycle().wait_observation_idle(None));
    let idle = core.counters_snapshot();
    assert_eq!(idle.attempts_begun, idle.reports_ready);
    let ended: Vec<Ended> = attempts.into_iter().map(|attempt| attempt.join().expect("an attempt ends")).collect();
    let count = |what| ended.iter().filter(|ended| **ended == what).count();
    assert!(core.lifecycle().wait_gpu_idle(None));
    assert_eq!(core.counters_snapshot(), idle);
    assert_eq!(idle.attempts_begun as usize, ended.len() - count(Ended::Refused));
    let kept = core.take_abandoned_attempt_reports(8).len() as u64;
    assert_eq!(idle.completion_queue_pushed, kept);
    assert_eq!((kept + idle.completion_queue_overflowed) as usize, count(Ended::Abandoned));
    assert_eq!(core.metrics().snapshot().generation, idle.reports_ready);
    activities.reach(ended.len());
    observed.reach(ended.len() - count(Ended::Refused));
}
