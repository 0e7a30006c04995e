//! Closes on a real adapter: out of an activity's destructor, beside a slow observer, with a window open, over work in
//! flight.

use std::sync::mpsc;
use std::time::Duration;

use graphreel::Wgsl;
use graphreel::lifecycle::{
    AttemptOutcome, GpuBackendCore, QueryActivityLease, QueryErrorCode, claim_live_backend, one_claiming_test,
};
use graphreel_wgpu::WgpuFactory;

use crate::rig::{LONG, Watched, admit, admitted, built, close, present, profile, until, valid};

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

/// TB-13, XB-24: the destructor of an activity closes the backend and builds the next one, with and without a context.
#[test]
fn an_activity_closes_and_rebuilds_on_a_real_adapter() {
    if !present() {
        return;
    }
    for with_context in [false, true] {
        let _one = one_claiming_test();
        let core = built();
        let (told, seen) = mpsc::channel();
        let closer = {
            let core = core.clone();
            OnDrop(Some(Box::new(move || {
                let gpu = core.close_snapshot().active_gpu_permits;
                let closed = core.close_and_wait(LONG);
                drop(core);
                let next = GpuBackendCore::new(valid(profile()), &WgpuFactory);
                let next = next.and_then(|next| next.close_and_wait(LONG));
                told.send((gpu, closed, next)).unwrap();
            })))
        };
        let activity = QueryActivityLease::new(closer);
        let (begin, handle) =
            admit(&core.session_capability(), |request| request.with_runtime_observation_activity(activity)).unwrap();
        if with_context {
            let context = handle.acquire_context().unwrap();
            context.upload(&[1_u32; 1024]).unwrap();
        }
        assert_eq!(core.close_snapshot().active_gpu_permits, 1);
        drop((begin, handle));
        let (gpu, closed, next) = seen.recv_timeout(2 * LONG).unwrap();
        assert_eq!(gpu, 0, "the destructor runs behind the permit");
        for closed in [closed.unwrap(), next.unwrap()] {
            assert!(closed.gpu_resource_quiescent && closed.observation_quiescent, "{closed:?}");
        }
    }
}

/// TB-14, XB-24: the adapter is free, and can be claimed, while an observer still runs.
#[test]
fn a_slow_observer_does_not_hold_a_real_adapter() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let core = built();
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
    let context = handle.acquire_context().unwrap();
    context.upload(&[1_u32; 1024]).unwrap();
    drop((context, begin, handle));
    inside.recv_timeout(LONG).unwrap();
    core.close();
    until("the devices are quiescent", || core.close_snapshot().gpu_resource_quiescent);
    drop(claim_live_backend(&[0]).unwrap());
    let error = core.close_and_wait(Duration::from_millis(250)).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("backend_close_timeout")));
    let facts = ["gpu_resource_quiescent", "observation_quiescent", "active_gpu_permits", "active_observation_permits"];
    assert_eq!(facts.map(|key| error.fact_value(key).unwrap()), ["true", "false", "0", "1"]);
    open.send(()).unwrap();
    close(&core);
}

/// XB-25, XB-24, B-205: an attempt ends with its window open, and the close goes through.
#[test]
fn an_open_window_ends_on_a_real_adapter() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let core = built();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    context.stream().graph_prepare().unwrap();
    context.stream().begin_capture().unwrap();
    context.stream().fill(&buffer, 7).unwrap();
    core.close();
    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    assert!(begin.completion.wait_timeout(LONG).unwrap().backend_closing, "B-87");
    close(&core);
    assert!(context.stream().end_capture().unwrap_err().is_closed());
}

/// Words that the kernel below works on, one for each invocation.
const SPUN: usize = 1 << 14;

/// Work that takes a software device a while. It ends a loop after 65,535 steps, so one that is longer is no longer there.
const SPIN: &str = "
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn spin(@builtin(global_invocation_id) id: vec3<u32>) {
    var value = values[id.x];
    for (var step = 0u; step < 50000u; step++) { value = value * 1664525u + 1013904223u; }
    values[id.x] = value;
}
";

/// B-66, B-147, XB-24: a close waits for what the adapter still runs, and the claim with it.
#[test]
fn a_close_waits_for_work_in_flight() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let factory = Watched::default();
    let core = GpuBackendCore::new(valid(profile()), &factory).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let kernel = context.kernel(Wgsl::new(SPIN).entry("spin")).unwrap();
    let buffer = context.upload(&vec![1_u32; SPUN]).unwrap();
    let groups = [SPUN as u32 / 64, 1, 1];
    let (graph, ()) = context.capture(|c| c.launch(&kernel, groups, (&buffer,))).unwrap();
    let replays: Vec<_> = (0..4).map(|_| context.replay(&graph).unwrap()).collect();
    let software = context.info().kind == graphreel::DeviceKind::Software;
    assert!(!software || !factory.is_through(), "the work is too short to be met");
    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    core.close();
    until("the claim is free", || claim_live_backend(&[0]).is_ok());
    assert!(factory.is_through(), "the claim went before the work");
    drop(replays);
    close(&core);
}
