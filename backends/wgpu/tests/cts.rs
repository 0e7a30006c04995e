//! The expectation files of the WebGPU conformance test suite on wgpu.

use std::path::Path;

use graphreel::{Config, Device};
use graphreel_cts::run_all;
use graphreel_testkit::{Expect, Faults, Fixture, Opened, opened};
use graphreel_wgpu::Options;

/// The backend as it opens by itself.
struct Wgpu;

impl Fixture for Wgpu {
    const NAME: &'static str = "wgpu";

    fn open(config: Config) -> Opened {
        if graphreel_wgpu::adapters().is_empty() {
            return Opened::Absent(graphreel_wgpu::absence());
        }
        let server = graphreel_wgpu::open(Options { config: config.clone(), ..Options::default() });
        Opened::Ready(Device::new(Box::new(server.expect("an adapter that is there opens")), config))
    }

    /// Every list passes on Mesa's software driver. One that a driver misses is `Broken` here, with the reason.
    fn expect(_list: &str) -> Expect {
        Expect::Pass
    }

    fn faults() -> Option<&'static dyn Faults> {
        None
    }

    fn audit(_test: &str) {}
}

graphreel_cts::lists!(Wgpu);

/// A file of one list, `f32`, with one case of `abs`: -1 gives `expected`.
fn one_case(expected: f32) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 3, 0, 0, 0, b'f', 0, b'3', 0, b'2', 0, 0, 0, 1, 0, 0, 0];
    // One value, a scalar of f32; then a value, likewise. Each float begins at a multiple of 4.
    for (tags, float) in [([0, 0, 2, 0], -1.0f32), ([0, 0, 2, 0], expected)] {
        bytes.extend(tags);
        bytes.extend(float.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes
}

#[test]
fn a_folder_is_run_whole() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cts-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("unary")).expect("the folder for test files is writable");
    std::fs::write(dir.join("abs.bin"), one_case(1.0)).expect("a file can be written there");
    std::fs::write(dir.join("unary/strange.bin"), one_case(2.0)).expect("a file can be written there");
    if let Some(device) = opened::<Wgpu>("a_folder_is_run_whole") {
        let report = run_all(&device, &dir).expect("both files are whole");
        let failed: Vec<&str> = report.failures().map(|list| list.file.as_str()).collect();
        assert!(run_all(&device, &dir.join("abs")).is_err(), "there is no such folder");
        assert_eq!((report.lists.len(), &failed[..]), (5, &["unary/strange"][..]), "{report}");
    }
    std::fs::remove_dir_all(&dir).expect("the folder is this test's own");
}
