//! Every driver call of a backend's whole life made to fail in turn: the failure is typed, the close ends, nothing is left.

use std::time::Duration;

use graphreel::Wgsl;
use graphreel::lifecycle::{AttemptOutcome, GpuBackendCore, QueryContext, QueryError, QueryResult, one_claiming_test};
use graphreel_sim::{Failure, FaultPlan, SimFactory, SimOptions, Then, When};

use crate::rig::{LONG, admitted, claimable, profile, valid};

const SCALE: &str = "
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) { values[id.x] = values[id.x] * 3u; }
";

/// Upload, capture, replay, read, a window by steps, source stream work.
fn work(context: &QueryContext) -> graphreel::Result<()> {
    let kernel = context.kernel(Wgsl::new(SCALE).entry("scale"))?;
    let buffer = context.upload(&[2_u32; 256])?;
    let (graph, ()) = context.capture(|c| {
        let scratch = c.alloc(1024)?;
        c.copy(&buffer, &scratch)?;
        c.launch(&kernel, [4, 1, 1], (&buffer,))
    })?;
    graph.replay_on_stream(context.stream())?.wait()?;
    let other = context.alloc(1024)?;
    context.auxiliary_streams()[0].write(&other, &[1_u32; 256])?;
    context.stream().copy(&other, &buffer)?;
    context.stream().graph_prepare()?;
    context.stream().begin_capture()?;
    context.stream().fill(&buffer, 9)?;
    let open = context.stream().end_capture()?;
    open.replay_on_stream(context.stream())?.wait()?;
    let read = context.stream().read::<u32>(&buffer)?;
    assert_eq!(read, [9; 256], "a result that was not refused is right");
    Ok(())
}

/// One life. `Ok` with whether its work failed.
fn life(factory: &SimFactory) -> QueryResult<bool> {
    let core = GpuBackendCore::new(valid(vec![profile(0)]), factory)?;
    let mut failed = false;
    for _ in 0..2 {
        let session = core.session_capability();
        let (begin, handle) = match crate::rig::admit(&session, |request| request) {
            Ok(admitted) => admitted,
            Err(error) => {
                let reason = error.reason().unwrap_or_default().to_owned();
                assert!(["no_healthy_device", "device_lost"].contains(&reason.as_str()), "{error}");
                failed = true;
                continue;
            }
        };
        let done = handle.acquire_context().and_then(|context| work(&context).map_err(QueryError::from));
        failed |= done.is_err();
        let committed = match done {
            Ok(()) => begin.owner.commit_terminal(AttemptOutcome::Succeeded),
            Err(error) => begin.owner.commit_failed(error),
        };
        committed.unwrap();
        assert!(begin.completion.wait_timeout(LONG).is_some(), "every attempt reports");
    }
    let counters = core.session_capability().attempt_counters_snapshot();
    core.close_and_wait(LONG)?;
    assert_eq!(counters.attempts_begun, 2);
    assert_eq!(core.session_capability().attempt_counters_snapshot().reports_ready, 2);
    Ok(failed)
}

fn calls_of_a_life() -> u64 {
    let factory = SimFactory::new([(0, SimOptions::default())]);
    assert!(!life(&factory).unwrap());
    factory.probe(0).unwrap().calls()
}

/// B-66, B-152, XB-5: each call before and after its effect, in four ways.
#[test]
fn a_life_whose_driver_fails_anywhere_ends_cleanly() {
    let _one = one_claiming_test();
    let calls = calls_of_a_life();
    assert!(calls > 40, "only {calls} calls");
    let thorough = std::env::var_os("GRAPHREEL_THOROUGH").is_some();
    let (mut lives, mut failures) = (0, 0);
    for call in 0..calls {
        let ways: [fn(Failure) -> Then; 2] = [Then::Before, Then::After];
        let kinds = [Failure::REFUSED, Failure::OUT_OF_MEMORY, Failure::CONTEXT, Failure::DEVICE];
        for (index, then) in ways.iter().flat_map(|way| kinds.map(way)).enumerate() {
            if !thorough && !(call as usize + index).is_multiple_of(4) {
                continue;
            }
            let options = SimOptions { faults: FaultPlan::one(When::Call(call), then), ..SimOptions::default() };
            let factory = SimFactory::new([(0, options)]);
            lives += 1;
            match life(&factory) {
                Ok(failed) => failures += usize::from(failed),
                Err(error) => {
                    failures += 1;
                    assert!(error.fact_value("rollback_cleanup").is_some(), "call {call}, {then:?}: {error}");
                }
            }
            claimable();
            if let Some(probe) = factory.probe(0) {
                assert_eq!(probe.misuse(), Vec::new(), "call {call}, {then:?}");
            }
        }
    }
    assert!(failures > lives / 4, "only {failures} of {lives} lives met their fault");
}

/// A hung call is waited for without a claim being freed under it.
#[test]
fn a_claim_outlives_work_that_hangs() {
    let _one = one_claiming_test();
    let faults = FaultPlan::one(When::Nth { call: "exec_launch", nth: 0 }, Then::Hang);
    let factory = SimFactory::new([(0, SimOptions { faults, ..SimOptions::default() })]);
    let core = GpuBackendCore::new(valid(vec![profile(0)]), &factory).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[2_u32; 256]).unwrap();
    let (graph, ()) = context.capture(|c| c.fill(&buffer, 3)).unwrap();
    let replay = graph.replay_on_stream(context.stream());
    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    let error = core.close_and_wait(Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.reason(), Some("backend_close_timeout"));
    assert!(graphreel::lifecycle::claim_live_backend(&[5]).is_err(), "the claim went with work outstanding");
    factory.probe(0).unwrap().release_hangs();
    core.close_and_wait(LONG).unwrap();
    drop((replay, graph, buffer, context, handle));
    claimable();
}
