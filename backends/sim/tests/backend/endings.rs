//! What an attempt's end meets: calls that still run, handles that went elsewhere, a device that is lost meanwhile.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use graphreel::clock::Clock;
use graphreel::lifecycle::{
    AttemptOutcome, BeginAttemptRequest, GpuBackendCore, QueryAdmissionRequest, one_claiming_test,
};
use graphreel::sync::Arc;
use graphreel::{Account, Config, ServerError, Stream};
use graphreel_sim::{SimFactory, SimOptions};

use crate::rig::{LONG, MIB, admit, admitted, built, close, profile, simulators, valid};

/// B-148, B-177: the last handle goes inside of a load of the cache. The load keeps the devices from nobody.
#[test]
fn a_load_that_outlives_its_backend_keeps_nothing() {
    let _one = one_claiming_test();
    let factory = simulators(1);
    let core = GpuBackendCore::new(valid(vec![profile(0).with_cache_cap_bytes(MIB)]), &factory).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let loaded = context.cached("weights", 4096, |buffer| {
        drop(begin.owner);
        let closed = core.close_and_wait(LONG).unwrap();
        assert!(closed.gpu_resource_quiescent && closed.observation_quiescent);
        drop(core);
        let next = GpuBackendCore::new(valid(vec![profile(0)]), &factory).unwrap();
        close(next, &factory);
        buffer.write(&[1_u32; 4])
    });
    let error = loaded.unwrap_err();
    assert!(error.message().contains("closed"), "{error}");
}

/// B-115: a context that comes back while its attempt ends takes no stream from the next attempt.
#[test]
fn a_late_context_keeps_no_stream_from_the_next_attempt() {
    let _one = one_claiming_test();
    let factory = simulators(1);
    let core = GpuBackendCore::new(valid(vec![profile(0).with_max_active_attempts(1)]), &factory).unwrap();
    let session = core.session_capability();
    let (late, contexts) = mpsc::sync_channel(1);
    let dropper = thread::spawn(move || contexts.into_iter().for_each(drop));
    for round in 0..3000 {
        let (begin, handle) = admit(&session, |request| request).unwrap_or_else(|error| panic!("{round}: {error}"));
        late.send(handle.acquire_context().unwrap()).unwrap();
        drop(begin.owner);
    }
    drop(late);
    dropper.join().unwrap();
    close(core, &factory);
}

/// Uses the device as it is woken, as an executor that polls at once would.
struct UsesDevice {
    stream: Stream,
    woken: mpsc::Sender<bool>,
}

impl Wake for UsesDevice {
    fn wake(self: Arc<Self>) {
        let _ = self.woken.send(self.stream.capture_status().active);
    }
}

/// B-92, B-112: whoever waits hears of a loss outside of the lock of the device that is lost.
#[test]
fn a_loss_wakes_waiters_outside_of_the_devices_lock() {
    let _one = one_claiming_test();
    let factory = simulators(1);
    let core = GpuBackendCore::new(valid(vec![profile(0).with_max_active_attempts(1)]), &factory).unwrap();
    let session = core.session_capability();
    let (begin, handle) = admitted(&session);
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 4]).unwrap();
    let second = session.begin_attempt(BeginAttemptRequest::default()).unwrap();
    let mut waiting =
        pin!(session.admit_async_with_request(QueryAdmissionRequest::new(second.owner.admission_binding())));
    let (woken, heard) = mpsc::channel();
    let waker = Waker::from(Arc::new(UsesDevice { stream: context.stream().clone(), woken }));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    factory.probe(0).unwrap().lose("unplugged");
    let stream = context.stream().clone();
    let (told, answer) = mpsc::channel();
    // Not joined: with the fault that this looks for it never ends.
    thread::spawn(move || told.send(stream.fill(&buffer, 1)));
    assert!(!heard.recv_timeout(LONG).expect("the waiter is woken, and can use the device"));
    assert!(answer.recv_timeout(LONG).unwrap().unwrap_err().is_device_lost());
    let Poll::Ready(refused) = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it was woken")
    };
    assert_eq!(refused.unwrap_err().reason(), Some("no_healthy_device"));
    drop((begin, second, context, handle));
    let closed = core.close_and_wait(LONG).unwrap();
    assert!(closed.gpu_resource_quiescent && closed.observation_quiescent);
}

/// B-104: work of an attempt that was given to a stream of everybody is waited for as well.
#[test]
fn a_grant_waits_for_work_on_shared_streams() {
    let _one = one_claiming_test();
    let factory = SimFactory::new([(0, SimOptions::manual())]);
    let core = GpuBackendCore::new(valid(vec![profile(0)]), &factory).unwrap();
    let session = core.session_capability();
    let probe = factory.probe(0).unwrap();
    let (begin, handle) = admitted(&session);
    let context = handle.acquire_context().unwrap();
    let buffer = context.alloc(4096).unwrap();
    let (graph, ()) = context.capture(|c| c.fill(&buffer, 3)).unwrap();
    // Its own streams are known to be idle.
    let synced = context.stream().sync_async().unwrap();
    probe.run_all();
    synced.wait().unwrap();
    graph.replay_on_stream(&context.stream().device().new_stream()).unwrap();
    assert!(probe.pending() > 0, "the replay has not run");
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert!(begin.completion.wait_timeout(Duration::from_millis(200)).is_none(), "the device is not through");
    assert_eq!(session.diagnostics().unwrap().admission.devices[0].active, 1);
    assert!(graph.replay().unwrap_err().is_closed(), "nothing more begins");
    let report = loop {
        probe.run_all();
        if let Some(report) = begin.completion.wait_timeout(Duration::from_millis(5)) {
            break report;
        }
    };
    assert_eq!(report.outcome, AttemptOutcome::Succeeded);
    drop((graph, buffer, context, handle));
    core.close();
    while core.close_and_wait(Duration::from_millis(20)).is_err() {
        probe.run_all();
    }
    close(core, &factory);
}

/// B-105: device memory of a backend is paid by grants and by its cache, whatever account a caller makes.
#[test]
fn no_account_of_a_callers_own_pays_on_a_managed_device() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let device = context.stream().device().clone();
    for account in [Account::new("mine", None), Account::revocable("mine", None)] {
        let refused = device.alloc_charged(4096, &account).unwrap_err();
        assert!(matches!(&refused, ServerError::Unsupported { .. }), "{refused}");
    }
    context.alloc(4096).unwrap();
    // Nor does a capture on a stream that is nobody's.
    for stream in [device.stream(), device.new_stream()] {
        let refused = stream.graph_prepare().unwrap_err();
        assert!(matches!(&refused, ServerError::Unsupported { .. }), "{refused}");
    }
    drop((context, handle, begin, device));
    close(core, &factory);
}

/// B-206: a graph that was recorded by explicit steps ends with its attempt too, before the grant is freed.
#[test]
fn a_graph_of_explicit_steps_ends_with_its_attempt() {
    let _one = one_claiming_test();
    let (core, factory) = built(1);
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    let stream = context.stream();
    stream.graph_prepare().unwrap();
    stream.begin_capture().unwrap();
    stream.fill(&buffer, 7).unwrap();
    let graph = stream.end_capture().unwrap();
    graph.replay_on_stream(stream).unwrap().wait().unwrap();
    let before = factory.probe(0).unwrap().live();
    assert!(before.execs > 0, "{before}");
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    begin.completion.wait_timeout(LONG).unwrap();
    let error = graph.replay().unwrap_err();
    assert!(error.is_closed() && error.to_string().contains("graph"), "{error}");
    drop((context, handle, begin));
    core.close_and_wait(LONG).unwrap();
    drop((graph, buffer));
    close(core, &factory);
}

/// B-13, B-131: of the servers' configuration the declaration replaces the memory limit, and every duration of a report goes by
/// its clock.
#[test]
fn the_servers_clock_measures_and_their_limit_is_the_declarations() {
    let _one = one_claiming_test();
    let factory = simulators(1);
    let clock = Clock::manual();
    let server = Config { memory_limit: Some(MIB), clock: clock.clone(), ..Config::default() };
    let core = GpuBackendCore::with_config(valid(vec![profile(0)]), &factory, server).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let more = context.alloc(2 * MIB).unwrap();
    thread::sleep(Duration::from_millis(5));
    clock.advance(Duration::from_secs(3));
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let report = begin.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.physical_execution, report.total), (Duration::from_secs(3), Duration::from_secs(3)));
    drop((more, context, handle, begin));
    close(core, &factory);
}
