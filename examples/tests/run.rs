//! Runs every example, each of which checks its own result.
//!
//! Without a device each is skipped and says so; `GRAPHREEL_REQUIRE=wgpu` makes that a failure.

use std::error::Error;

#[path = "../bring_your_own_device.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod bring_your_own_device;
#[path = "../capture_replay.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod capture_replay;
#[path = "../saxpy.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod saxpy;
#[path = "../two_streams.rs"]
#[expect(dead_code, reason = "`main` is for `cargo run`")]
mod two_streams;

#[expect(clippy::print_stderr, reason = "a test that is left out has to say so where people look")]
fn check(name: &str, run: fn() -> Result<(), Box<dyn Error>>) {
    // A device that is there and does not open is no reason to skip.
    if graphreel_wgpu::adapters().is_empty() {
        let why = graphreel_wgpu::absence();
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|wanted| wanted.trim() == "wgpu"), "{name}: a device is required: {why}");
        eprintln!("{name}: skipped, no device: {why}");
        return;
    }
    if let Err(error) = run() {
        panic!("{name}: {error}");
    }
}

#[test]
fn saxpy_is_right() {
    check("saxpy", saxpy::run);
}

#[test]
fn capture_replay_is_right() {
    check("capture_replay", capture_replay::run);
}

#[test]
fn two_streams_is_right() {
    check("two_streams", two_streams::run);
}

#[test]
fn bring_your_own_device_is_right() {
    check("bring_your_own_device", bring_your_own_device::run);
}
