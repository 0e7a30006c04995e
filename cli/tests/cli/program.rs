//! Runs the program, and tells whether this machine has a device for it.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What a run left.
pub(crate) struct Run {
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// The program with `args`, and no variable that would change what it does.
pub(crate) fn graphreel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphreel"));
    command.args(args).stdin(Stdio::null());
    for variable in ["GRAPHREEL_DEVICE", "GRAPHREEL_TIERS", "GRAPHREEL_LOG", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Run it to its end.
pub(crate) fn run(mut command: Command) -> Run {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Run { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

impl Run {
    /// Standard output as the one JSON object that it must be.
    pub(crate) fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in `{}`, stderr `{}`", self.stdout, self.stderr));
        assert!(value.is_object(), "{value}");
        value
    }
}

/// A command whose Vulkan loader finds no driver.
pub(crate) fn without_adapters(args: &[&str]) -> Command {
    let mut command = graphreel(args);
    command
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("HIP_VISIBLE_DEVICES", "-1");
    command
}

/// Whether the wgpu backend has a device. Where it has none the caller returns, and says so here; where
/// `GRAPHREEL_REQUIRE` names wgpu that is a failure.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub(crate) fn has_wgpu(test: &str) -> bool {
    let report = run(graphreel(&["devices", "--json"])).json();
    let backends = report["backends"].as_array().expect("a list of backends");
    let wgpu = backends.iter().find(|backend| backend["name"] == "wgpu").expect("wgpu is always listed");
    let Some(why) = wgpu["absent"].as_str() else { return true };
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == "wgpu"), "wgpu is required and absent: {why}");
    println!("skipped {test}: {why}");
    false
}
