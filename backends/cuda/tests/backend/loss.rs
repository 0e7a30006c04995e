//! A device that is lost under a backend. The vendor's runtime keeps a broken context, so that the process gets over none: each case
//! has a process of its own.

use std::process::Command;

use graphreel::lifecycle::{AttemptOutcome, GpuBackendCore, HealthReason, one_claiming_test};

use crate::rig::{LONG, Watched, admitted, close, config, present, until};

/// The variable that makes a process a child.
const CASE: &str = "GRAPHREEL_FAULT_CASE";

/// The entry of a child, and nothing in any other run.
#[test]
fn loss_child_entry() {
    if std::env::var(CASE).is_ok_and(|case| case == "loss") {
        lose();
    }
}

/// XB-30, B-75, B-112, B-151: with the only device lost nothing is admitted, the attempt that was there hears of it, the close goes
/// through, and only a restart brings the device back.
#[test]
fn a_lost_device_needs_a_restart() {
    if !present() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "loss::loss_child_entry", "--nocapture", "--test-threads=1"]).env(CASE, "loss");
    let output = child.output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{}: {}", output.status, said.join("\n"));
}

fn lose() {
    let _one = one_claiming_test();
    let factory = Watched::default();
    let core = GpuBackendCore::new(config(), &factory).unwrap();
    let session = core.session_capability();
    let (begin, handle) = admitted(&session);
    let context = handle.acquire_context().unwrap();
    let buffer = context.upload(&[1_u32; 64]).unwrap();
    assert_eq!(context.stream().read::<u32>(&buffer).unwrap(), [1; 64]);
    factory.lose();
    until("the backend hears of the loss", || core.health().degraded);
    let health = core.health();
    assert!(health.live && !health.ready && health.restart_required, "{health:?}");
    assert!(health.reasons.contains(&HealthReason::NoEligibleDevice), "{health:?}");
    assert!(context.stream().read::<u32>(&buffer).unwrap_err().is_device_lost());
    assert!(context.upload(&[1_u32; 4]).unwrap_err().is_device_lost());
    let lost = context.stream().sync().unwrap_err();
    begin.owner.commit_failed(lost.into()).unwrap();
    assert_eq!(begin.completion.wait_timeout(LONG).unwrap().outcome, AttemptOutcome::Failed);
    drop((context, buffer, handle));
    close(&core);
    let error = GpuBackendCore::new(config(), &factory).unwrap_err();
    assert_eq!(error.reason(), Some("device_restart_required"), "{error}");
}
