//! A cleanup that fails keeps its claim for the rest of the process, so each case runs in a process of its own: this test
//! binary again, with a variable that names the case.

use super::*;

const CASE: &str = "FAIL_CLOSED_CASE";
const TEST: &str = "lifecycle::coordinator::tests::fail_closed::a_cleanup_that_fails_keeps_its_claim_for_good";

/// How a resource breaks the cleanup.
#[derive(Clone, Copy, Debug)]
enum Breaks {
    DrainPanics,
    DrainFails,
    DrainFailsLate,
    DestructorPanics,
}

const CASES: [(&str, Breaks, &str); 4] = [
    ("drain panics", Breaks::DrainPanics, "it panicked: a drain's mistake"),
    ("drain fails", Breaks::DrainFails, "the device did not answer"),
    ("drain fails late", Breaks::DrainFailsLate, "the device did not answer"),
    ("destructor panics", Breaks::DestructorPanics, "it panicked: a destructor's mistake"),
];

#[derive(Debug)]
struct Broken {
    breaks: Breaks,
    drains: AtomicUsize,
    dropped: Signal,
}

impl JournaledResource for Broken {
    fn close_and_drain_until(&self, _deadline: Instant) -> QueryResult {
        let before = self.drains.fetch_add(1, Ordering::SeqCst);
        let permanent = Err(QueryError::new(QueryErrorCode::Internal, operation::CLOSE, "the device did not answer"));
        match self.breaks {
            Breaks::DrainPanics => panic!("a drain's mistake"),
            Breaks::DrainFails => permanent,
            Breaks::DrainFailsLate if before > 0 => permanent,
            Breaks::DrainFailsLate => Err(QueryError::cleanup_deadline(operation::CLOSE)),
            Breaks::DestructorPanics => Ok(()),
        }
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        self.dropped.set();
        assert!(!matches!(self.breaks, Breaks::DestructorPanics), "a destructor's mistake");
    }
}

/// A resource created before the broken one: it may not be let go of.
#[derive(Debug)]
struct Earlier(Signal);

impl JournaledResource for Earlier {
    fn close_and_drain_until(&self, _deadline: Instant) -> QueryResult {
        Ok(())
    }
}

impl Drop for Earlier {
    fn drop(&mut self) {
        self.0.set();
    }
}

fn run_case(breaks: Breaks, cause: &str) {
    let (earlier, dropped) = (Signal::new(), Signal::new());
    let broken = Broken { breaks, drains: AtomicUsize::new(0), dropped: dropped.clone() };
    let generation = generation(claim_live_backend(&[3]).unwrap(), Some(Arc::new(Earlier(earlier.clone()))));
    generation.journal().record_stream_pool(Arc::new(broken)).unwrap();
    let Parts { lifecycle, coordinator, .. } = parts(Some(generation));
    let observation = lifecycle.try_begin_observation().unwrap();
    for wait in [coordinator.wait(LONG), coordinator.wait(LONG), coordinator.wait_until(Instant::now())] {
        let error = wait.unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("cleanup_failed_closed")));
        assert!(error.fact_value("cause").unwrap().contains(cause), "{error}");
    }
    assert_eq!(coordinator.rollback_slice(Duration::ZERO), "failed_closed");
    let snapshot = coordinator.snapshot();
    assert!(snapshot.cleanup_failed_closed && !snapshot.gpu_resource_quiescent && !snapshot.observation_quiescent);
    assert_eq!(snapshot.cleanup_late_success_count, 0, "it did not succeed");
    drop(observation);
    coordinator.0.thread.lock().take().unwrap().join().unwrap();
    assert!(coordinator.snapshot().observation_quiescent, "the observation scope ends on its own");
    assert!(!coordinator.snapshot().gpu_resource_quiescent);
    drop((coordinator, lifecycle));
    assert_eq!(claim_live_backend(&[4]).unwrap_err().reason(), Some("backend_already_live"));
    assert!(!earlier.is_set(), "what was not reached leaks");
    assert_eq!(dropped.is_set(), matches!(breaks, Breaks::DestructorPanics));
}

/// XB-9, B-66, B-152.
#[test]
fn a_cleanup_that_fails_keeps_its_claim_for_good() {
    if let Ok(name) = std::env::var(CASE) {
        let (_, breaks, cause) = CASES.into_iter().find(|(known, ..)| *known == name).unwrap();
        run_case(breaks, cause);
        println!("case done: {name}");
        return;
    }
    for (name, ..) in CASES {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.args([TEST, "--exact", "--nocapture"]).env(CASE, name).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(&format!("case done: {name}")), "{name} did not run: {text}");
    }
}
