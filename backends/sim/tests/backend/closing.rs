//! Close: two scopes, late success, observers and destructors that close, windows that are open.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use graphreel::lifecycle::hooks::inert;
use graphreel::lifecycle::{
    AttemptDisposition, AttemptOutcome, BeginAttemptRequest, GpuBackendCore, GpuBackendSession, QueryActivityLease,
    QueryErrorCode, one_claiming_test,
};
use graphreel_sim::{SimFactory, SimOptions};

use crate::rig::{LONG, MIB, admit, admitted, built, clean, close, profile, simulators, valid};

/// Runs what it was given when it is dropped.
struct OnDrop(Option<Box<dyn FnOnce() + Send>>);

impl std::fmt::Debug for OnDrop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnDrop")
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

fn on_drop(run: impl FnOnce() + Send + 'static) -> QueryActivityLease {
    QueryActivityLease::new(OnDrop(Some(Box::new(run))))
}

/// TB-13, B-102, B-103: the activity goes last, and may close the backend and build the next one.
#[test]
fn the_activity_of_an_attempt_goes_last_and_may_close() {
    for with_context in [false, true] {
        let _one = one_claiming_test();
        let (core, factory) = built(1);
        let session = core.session_capability();
        let (told, seen) = mpsc::channel();
        let closer = {
            let (core, factory) = (core.clone(), factory.clone());
            on_drop(move || {
                let gpu = core.close_snapshot().active_gpu_permits;
                let closed = core.close_and_wait(Duration::from_secs(10));
                drop(core);
                let next = GpuBackendCore::new(valid(vec![profile(0)]), &factory);
                let next = next.and_then(|next| next.close_and_wait(Duration::from_secs(10)));
                told.send((gpu, closed, next)).unwrap();
            })
        };
        let (begin, handle) = admit(&session, |request| request.with_runtime_observation_activity(closer)).unwrap();
        if with_context {
            drop(handle.acquire_context().unwrap());
        }
        assert_eq!(core.close_snapshot().active_gpu_permits, 1);
        drop(begin);
        drop(handle);
        let (gpu, closed, next) = seen.recv_timeout(LONG).unwrap();
        assert_eq!(gpu, 0, "the destructor runs behind the permit");
        for closed in [closed.unwrap(), next.unwrap()] {
            assert!(closed.gpu_resource_quiescent && closed.observation_quiescent, "{closed:?}");
        }
        drop(core);
        clean(&factory);
    }
}

/// TB-14, B-147, B-153: the devices are free while an observer still runs, and the timeout says so.
#[test]
fn a_slow_observer_holds_its_own_scope_alone() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let (begin, handle) = admitted(&core.session_capability());
    let (entered, inside) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    begin
        .owner
        .register_seal_observer(move |_| {
            entered.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    drop(handle.acquire_context().unwrap());
    drop((begin, handle));
    inside.recv_timeout(LONG).unwrap();
    let until = Instant::now() + LONG;
    while core.close_snapshot().active_gpu_permits > 0 {
        assert!(Instant::now() < until, "the permit was not given back");
        std::thread::sleep(Duration::from_millis(1));
    }
    let error = core.close_and_wait(Duration::from_millis(250)).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("backend_close_timeout")));
    let facts = ["gpu_resource_quiescent", "observation_quiescent", "active_gpu_permits", "active_observation_permits"];
    assert_eq!(facts.map(|key| error.fact_value(key).unwrap()), ["true", "false", "0", "1"]);
    open.send(()).unwrap();
    close(core, &factory);
}

/// TB-15, B-135, B-142: a destructor inside a close does not hold up the report of another attempt.
#[test]
fn a_close_inside_a_destructor_ends_with_the_other_attempt() {
    let _one = one_claiming_test();
    let factory = simulators(1);
    let bounds = graphreel::lifecycle::config::GpuBackendDeviceInstallationBounds::new(6, 3, 2);
    let share = graphreel::lifecycle::config::GpuDeviceMemoryLimit::Explicit { limit_bytes: 768 * MIB };
    let profile = graphreel::lifecycle::config::GpuBackendDeviceProfile::new(0)
        .with_memory_limit(share)
        .with_default_query_limit_bytes(256 * MIB)
        .with_installation_bounds(bounds);
    let core = GpuBackendCore::new(valid(vec![profile]), &factory).unwrap();
    let session = core.session_capability();
    let (entered, inside) = mpsc::channel();
    let (told, seen) = mpsc::channel();
    let closer = {
        let core = core.clone();
        on_drop(move || {
            entered.send(()).unwrap();
            told.send(core.close_and_wait(Duration::from_secs(10))).unwrap();
        })
    };
    let first = admit(&session, |request| request.with_runtime_observation_activity(closer)).unwrap();
    let second = admitted(&session);
    assert_eq!(first.1.granted_bytes(), 256 * MIB);
    drop(first.1.acquire_context().unwrap());
    drop(second.1.acquire_context().unwrap());
    drop(first);
    inside.recv_timeout(LONG).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    drop(second);
    let closed = seen.recv_timeout(LONG).unwrap().unwrap();
    assert!(closed.gpu_resource_quiescent && closed.observation_quiescent);
    close(core, &factory);
}

/// XB-25, B-205, B-206: an attempt that ends with its window open, before and during a close.
#[test]
fn an_open_window_ends_with_its_attempt() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    context.stream().graph_prepare().unwrap();
    context.stream().begin_capture().unwrap();
    context.stream().fill(&buffer, 7).unwrap();
    assert!(context.stream().capture_status().recording);
    core.close();
    let error = core.close_and_wait(Duration::from_millis(50)).unwrap_err();
    assert_eq!(error.fact_value("active_gpu_permits"), Some("1"));
    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    let report = begin.completion.wait_timeout(LONG).unwrap();
    assert!(report.backend_closing, "B-87");
    let closed = core.close_and_wait(LONG).unwrap();
    assert!(closed.gpu_resource_quiescent);
    assert!(context.stream().end_capture().unwrap_err().is_closed());
    drop((context, buffer, handle, begin));
    close(core, &factory);
}

/// XB-11, B-78, B-83, B-85: sessions keep nothing open, and still answer what needs no device.
#[test]
fn a_thousand_sessions_keep_no_backend_open() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let sessions: Vec<GpuBackendSession> = (0..1000).map(|_| core.session_capability()).collect();
    let (begin, handle) = admitted(&sessions[0]);
    drop((begin, handle));
    drop(core);
    let until = Instant::now() + LONG;
    while graphreel::lifecycle::claim_live_backend(&[3]).is_err() {
        assert!(Instant::now() < until, "the last handle's drop did not close the backend");
        std::thread::sleep(Duration::from_millis(1));
    }
    clean(&factory);
    while sessions[0].attempt_counters_snapshot().reports_ready == 0 {
        assert!(Instant::now() < until, "the attempt was not reported");
        std::thread::sleep(Duration::from_millis(1));
    }
    for session in &sessions {
        assert!(session.is_closing() && session.same_backend(&sessions[0]));
        let closing = |reason: Option<&str>| assert_eq!(reason, Some("backend_closing"));
        closing(session.begin_attempt(BeginAttemptRequest::default()).unwrap_err().reason());
        closing(session.diagnostics().unwrap_err().reason());
        closing(session.device_telemetry_snapshots().unwrap_err().reason());
        assert_eq!(session.attempt_counters_snapshot().reports_ready, 1);
        assert_eq!(session.backend_metrics_snapshot().attempts.completed_total(), 1);
        assert!(session.take_abandoned_attempt_reports(4).is_empty());
    }
}

/// XB-12, B-79, B-80: one signal, by the last of many handles on many threads.
#[test]
fn the_last_handle_closes_once() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let session = core.session_capability();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            let mine = core.clone();
            let session = &session;
            scope.spawn(move || {
                for _ in 0..200 {
                    drop(mine.clone());
                }
                assert!(!session.is_closing(), "a handle is still held");
            });
        }
    });
    assert!(!session.is_closing());
    let observer = core.clone();
    drop(core);
    assert!(!session.is_closing());
    assert!(!observer.close_snapshot().closing);
    close(observer, &factory);
    assert!(session.is_closing());
}

/// XB-18, B-154: a timeout that no moment can hold waits not at all, and closes.
#[test]
fn a_timeout_without_a_moment_is_none() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let held = admitted(&core.session_capability());
    let started = Instant::now();
    let error = core.close_and_wait(Duration::MAX).unwrap_err();
    assert_eq!(error.reason(), Some("backend_close_timeout"));
    assert!(started.elapsed() < Duration::from_secs(5) && core.close_snapshot().closing);
    drop(held);
    close(core, &factory);
}

/// XB-20, B-139: the last handle may go on any thread of the backend's own.
#[test]
fn the_last_handle_may_go_on_a_thread_of_the_backend() {
    let _one = one_claiming_test();
    for place in ["lane", "worker"] {
        let (core, factory) = built(1);
        let session = core.session_capability();
        let (begin, handle) = admitted(&session);
        let (told, seen) = mpsc::channel();
        let last = Arc::new(Mutex::new(Some(core)));
        let drop_it = {
            let last = last.clone();
            move || {
                drop(last.lock().unwrap().take());
                told.send(()).unwrap();
            }
        };
        if place == "lane" {
            begin.owner.register_seal_observer(move |_| drop_it()).unwrap();
        } else {
            handle.acquire_context().unwrap().spawn(async move { drop_it() }).unwrap();
            seen.recv_timeout(LONG).unwrap();
        }
        drop((begin, handle));
        let until = Instant::now() + LONG;
        while graphreel::lifecycle::claim_live_backend(&[3]).is_err() {
            assert!(Instant::now() < until, "{place}: the backend did not close");
            std::thread::sleep(Duration::from_millis(1));
        }
        clean(&factory);
    }
}

/// XB-27, XB-28, B-87, B-106: an attempt without an admission holds no device, and says that the backend was closing.
#[test]
fn an_attempt_that_is_not_admitted_holds_no_device() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let begin = core.begin_attempt(BeginAttemptRequest::default()).unwrap();
    assert_eq!(core.close_snapshot().active_gpu_permits, 0);
    core.close();
    let until = Instant::now() + LONG;
    while !core.close_snapshot().gpu_resource_quiescent {
        assert!(Instant::now() < until, "an attempt without a device held the devices");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(begin.owner.is_closing());
    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    let report = begin.completion.wait_timeout(LONG).unwrap();
    assert!(report.backend_closing);
    assert_eq!(report.disposition, AttemptDisposition::Unplanned);
    close(core, &factory);
}

/// TB-2, TB-20, TB-22: a core without devices begins, reports and closes.
#[test]
fn a_core_without_devices_closes() {
    let core = inert(None).unwrap();
    let begin = core.begin_attempt(BeginAttemptRequest::default()).unwrap();
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert!(begin.completion.wait_timeout(LONG).is_some());
    assert!(core.close(), "B-145");
    assert!(!core.close());
    let error = core.session_capability().begin_attempt(BeginAttemptRequest::default()).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::Cancelled, Some("backend_closing")));
    assert_eq!(core.session_capability().attempt_counters_snapshot().attempts_begun, 1);
    let closed = core.close_and_wait(Duration::from_secs(2)).unwrap();
    assert!(closed.gpu_resource_quiescent && closed.observation_quiescent);
    assert!(begin.completion.is_ready(), "a receiver stays readable");
}

/// L12, B-150, B-160: a close over work that never ends times out with what explains it, and finishes once the work does.
#[test]
fn a_close_over_hung_work_ends_late() {
    let _one = one_claiming_test();
    let faults =
        graphreel_sim::FaultPlan::one(graphreel_sim::When::Nth { call: "launch", nth: 0 }, graphreel_sim::Then::Hang);
    let factory = SimFactory::new([(0, SimOptions { faults, ..SimOptions::default() })]);
    let core = GpuBackendCore::new(valid(vec![profile(0)]), &factory).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    let kernel = context
        .kernel(graphreel::Wgsl::new(
            "@group(0) @binding(0) var<storage, read_write> v: array<u32>;
             @compute @workgroup_size(1) fn main() { v[0] = 5u; }",
        ))
        .unwrap();
    context.stream().launch(&kernel, [1, 1, 1], (&buffer,)).unwrap();
    drop((context, kernel, buffer, begin, handle));
    let error = core.close_and_wait(Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.reason(), Some("backend_close_timeout"));
    assert_eq!(error.fact_value("active_gpu_permits"), Some("1"), "the grant waits for the device");
    factory.probe(0).unwrap().release_hangs();
    close(core, &factory);
}

/// B-137: without lanes delivery is on the submitting thread, under the guard, and nothing is lost.
#[test]
fn delivery_without_lanes_is_on_the_submitting_thread() {
    let core = graphreel::lifecycle::hooks::inert_without_lanes().unwrap();
    let begin = core.begin_attempt(BeginAttemptRequest::default()).unwrap();
    let (told, seen) = mpsc::channel();
    let closer = core.clone();
    begin.owner.register_seal_observer(move |_| told.send(closer.close_and_wait(LONG).unwrap_err()).unwrap()).unwrap();
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert_eq!(seen.recv_timeout(LONG).unwrap().reason(), Some("reentrant_observation_close"));
    assert!(begin.completion.is_ready() && !core.close_snapshot().closing, "R-11: a refused call has no effect");
    core.close_and_wait(LONG).unwrap();
}

/// TB-5, B-139 to B-141: an observer of any owner is refused every blocking close, before anything is signalled.
#[test]
fn an_observer_is_refused_every_blocking_close() {
    use graphreel::lifecycle::{ObservationBounds, ObservationOwner};
    let core = inert(None).unwrap();
    let owner = ObservationOwner::new("a query", None, ObservationBounds::default());
    let (told, seen) = mpsc::channel();
    let closer = core.clone();
    owner.register_seal_observer(move |_| {
        let waits = closer.close_and_wait(LONG).unwrap_err();
        let until = closer.close_and_wait_until(Instant::now() + LONG).unwrap_err();
        let awaited = pollster::block_on(closer.close_and_wait_async(LONG)).unwrap_err();
        told.send(([waits, until, awaited], closer.close_snapshot())).unwrap();
    });
    assert!(owner.finish_query(Some(AttemptOutcome::Succeeded)));
    let (errors, snapshot) = seen.recv_timeout(LONG).unwrap();
    for error in errors {
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("reentrant_observation_close")));
    }
    assert!(!snapshot.closing);
    core.close_and_wait(LONG).unwrap();
}

/// TB-18, TB-19, B-150, B-170: a real execution pool whose lifecycle job is stuck holds the claim until it ends; then the
/// cleanup is late, its supervisor is joined, and the claim is free at once.
#[test]
fn a_stuck_cleanup_holds_the_claim() {
    let _one = one_claiming_test();
    for by_handle in [false, true] {
        let (core, factory) = built(1);
        let (begin, handle) = admitted(&core.session_capability());
        let (open, gate) = mpsc::channel::<()>();
        let (entered, inside) = mpsc::channel();
        let context = handle.acquire_context().unwrap();
        context
            .spawn(async move {
                entered.send(()).unwrap();
                let _ = gate.recv();
            })
            .unwrap();
        inside.recv_timeout(LONG).unwrap();
        let watcher = core.clone();
        drop((context, handle, begin));
        if by_handle {
            drop(core);
            watcher.close();
        } else {
            assert!(core.close());
            drop(core);
        }
        let error = watcher.close_and_wait(Duration::from_millis(250)).unwrap_err();
        assert_eq!(error.reason(), Some("backend_close_timeout"));
        assert_eq!(error.fact_value("gpu_resource_quiescent"), Some("false"));
        let claim = graphreel::lifecycle::claim_live_backend(&[usize::MAX - 2]).unwrap_err();
        assert_eq!(claim.reason(), Some("backend_already_live"));
        open.send(()).unwrap();
        let closed = watcher.close_and_wait(Duration::from_secs(5)).unwrap();
        assert!(closed.gpu_resource_quiescent && closed.cleanup_late_success_count > 0, "{closed:?}");
        drop(graphreel::lifecycle::claim_live_backend(&[usize::MAX - 2]).unwrap());
        clean(&factory);
    }
}

/// The threads of this process with names of ours, and how many there are of each.
#[cfg(target_os = "linux")]
fn threads() -> std::collections::BTreeMap<String, usize> {
    let mut found = std::collections::BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().map_while(Result::ok) {
        // One that ended meanwhile has no name any more.
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if name.starts_with("graphreel") {
            *found.entry(name.trim().to_owned()).or_insert(0) += 1;
        }
    }
    found
}

/// B-199: after a close that was waited for only delivery is left, and that goes with the last session. The process's readers
/// stay.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_backend_has_no_thread() {
    let _one = one_claiming_test();
    let ours = || {
        let mut found = threads();
        found.remove("graphreel-io");
        found
    };
    let (core, factory) = built(2);
    let session = core.session_capability();
    drop(admitted(&session));
    // Coordinator, timer, two lanes, and for each device three workers and a supervisor; simulators have their own.
    let until = Instant::now() + LONG;
    while ours().values().sum::<usize>() < 4 + 2 * 4 {
        assert!(Instant::now() < until, "{:?}", threads());
        std::thread::sleep(Duration::from_millis(1));
    }
    close(core, &factory);
    let left = ours();
    assert!(left.len() == 2 && left.values().sum::<usize>() == 2, "only delivery's two threads are left: {left:?}");
    drop(session);
    while !ours().is_empty() {
        assert!(Instant::now() < until, "{:?}", threads());
        std::thread::sleep(Duration::from_millis(1));
    }
}
