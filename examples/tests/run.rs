//! Runs every example, each of which checks its own result: on wgpu and on the simulator where it takes any device.
//!
//! Without a device of wgpu that part is skipped and says so; `GRAPHREEL_REQUIRE=wgpu` makes it a failure.

use std::error::Error;
use std::sync::{PoisonError, RwLock};

use graphreel::lifecycle::BackendKind;
use graphreel_backends::Select;

#[path = "../bring_your_own_device.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod bring_your_own_device;
#[path = "../capture_replay.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod capture_replay;
#[path = "../injected_fault.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod injected_fault;
#[path = "../saxpy.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod saxpy;
#[path = "../serve_jobs.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod serve_jobs;
#[path = "../two_streams.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod two_streams;

#[expect(clippy::print_stderr, reason = "a test that is left out has to say so where people look")]
fn has_wgpu(name: &str) -> bool {
    // A device that is there and does not open is no reason to skip.
    if !graphreel_wgpu::adapters().is_empty() {
        return true;
    }
    let why = graphreel_wgpu::absence();
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|wanted| wanted.trim() == "wgpu"), "{name}: a device is required: {why}");
    eprintln!("{name}: skipped on wgpu, no device: {why}");
    false
}

fn check(name: &str, outcome: Result<(), Box<dyn Error>>) {
    if let Err(error) = outcome {
        panic!("{name}: {error}");
    }
}

/// Devices in direct use and a backend refuse each other, so the examples of one sort share this and the other has it alone.
static DEVICES: RwLock<()> = RwLock::new(());

fn check_on_each(name: &str, run: fn(&Select) -> Result<(), Box<dyn Error>>) {
    let _direct = DEVICES.read().unwrap_or_else(PoisonError::into_inner);
    check(name, run(&Select::Backend("sim".to_owned())));
    if has_wgpu(name) {
        check(name, run(&Select::Backend("wgpu".to_owned())));
    }
}

#[test]
fn saxpy_is_right() {
    check_on_each("saxpy", saxpy::run);
}

#[test]
fn capture_replay_is_right() {
    check_on_each("capture_replay", capture_replay::run);
}

#[test]
fn two_streams_is_right() {
    check_on_each("two_streams", two_streams::run);
}

#[test]
fn injected_fault_is_right() {
    check("injected_fault", injected_fault::run());
}

#[test]
fn bring_your_own_device_is_right() {
    if has_wgpu("bring_your_own_device") {
        check("bring_your_own_device", bring_your_own_device::run());
    }
}

#[test]
fn serve_jobs_is_right() {
    let _alone = DEVICES.write().unwrap_or_else(PoisonError::into_inner);
    check("serve_jobs", serve_jobs::run(BackendKind::Sim, 120));
    if has_wgpu("serve_jobs") {
        check("serve_jobs", serve_jobs::run(BackendKind::Wgpu, 120));
    }
}
