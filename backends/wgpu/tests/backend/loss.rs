//! An adapter that is lost under a backend: its ledger closes, what holds it hears, the close goes through, and the next
//! backend has it whole.

use graphreel::lifecycle::{AttemptOutcome, GpuBackendCore, HealthReason, QueryErrorCode, one_claiming_test};
use graphreel_wgpu::WgpuFactory;

use crate::rig::{LONG, Watched, admit, admitted, close, present, profile, until, valid};

/// XB-30, XB-24, B-112: with the only device lost nothing is admitted, and the backend says why.
#[test]
fn a_lost_adapter_closes_its_ledger() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let factory = Watched::default();
    let core = GpuBackendCore::new(valid(profile()), &factory).unwrap();
    let generation = core.device_startup_records()[0].device_health_generation;
    let session = core.session_capability();
    let (begin, handle) = admitted(&session);
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    assert_eq!(context.stream().read::<u32>(&buffer).unwrap(), [1; 64]);
    factory.lose();
    // Nobody asks the device: its loss is heard of all the same.
    until("the backend hears of the loss", || core.health().degraded);
    let health = core.health();
    assert!(health.live && !health.ready && !health.restart_required, "{health:?}");
    assert!(health.reasons.contains(&HealthReason::NoEligibleDevice), "{health:?}");
    let error = admit(&session, |request| request).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::NoHealthyDevice, Some("no_healthy_device")));
    let diagnostics = session.diagnostics().unwrap();
    assert!(diagnostics.devices[0].lost.is_some() && diagnostics.admission.devices[0].closure.is_some());
    // The attempt that was there hears of it, ends, and reports.
    assert!(context.stream().read::<u32>(&buffer).unwrap_err().is_device_lost());
    assert!(context.upload(&[1_u32; 4]).unwrap_err().is_device_lost());
    let lost = context.stream().sync().unwrap_err();
    begin.owner.commit_failed(lost.into()).unwrap();
    let report = begin.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.outcome, report.device_ordinal), (AttemptOutcome::Failed, Some(0)));
    drop((context, buffer, handle));
    close(&core);
    let again = GpuBackendCore::new(valid(profile()), &WgpuFactory).unwrap();
    assert!(again.device_startup_records()[0].device_health_generation > generation, "B-75");
    assert!(again.health().ready);
    let (begin, handle) = admitted(&again.session_capability());
    assert!(handle.acquire_context().unwrap().upload(&[1_u32; 4]).is_ok());
    drop((begin, handle));
    close(&again);
}

/// XB-24, B-151: a close that finds its adapter lost, with an attempt and a graph still held, ends.
#[test]
fn a_close_over_a_lost_adapter_ends() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let factory = Watched::default();
    let core = GpuBackendCore::new(valid(profile()), &factory).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    let (graph, ()) = context.capture(|c| c.fill(&buffer, 3)).unwrap();
    let replay = context.replay(&graph).unwrap();
    core.close();
    factory.lose();
    drop((begin, handle));
    close(&core);
    assert!(replay.wait().is_ok() || graph.replay().is_err());
    drop((context, buffer, graph));
}
