//! The capture matrix on CUDA, by the same calls as on AMD's runtime: each is NVIDIA's own of that meaning, with nothing between. The
//! rows that the server needs are as it needs them, and all are as they were seen before of the same release.

use std::path::PathBuf;

use graphreel_testkit::announce;

use super::capture::{matrix, served};
use super::hip::Hip;
use super::promises::{NEEDED_ROWS, broken, different};
use super::{ground, hip};

/// What drivers were seen to answer, by the release of CUDA that they serve.
const GOLDEN: [(&str, &str); 1] = [("13.0", include_str!("../golden/capture-cuda-13.0.txt"))];

/// Names a folder for what a run leaves behind.
const RESULTS: &str = "GRAPHREEL_RESULTS";

/// The release of CUDA that the driver serves, as 13.0.
#[expect(unsafe_code, reason = "the driver is asked")]
fn release() -> String {
    type Call = unsafe extern "C" fn(*mut i32) -> u32;
    // SAFETY: the process has the driver already.
    let driver = unsafe { libloading::Library::new("libcuda.so.1") }.expect("the driver is there");
    // SAFETY: cuda.h declares the function with this type.
    let call = unsafe { driver.get::<Call>(b"cuDriverGetVersion\0") }.expect("every driver tells its version");
    let mut version = 0;
    // SAFETY: the call writes one number.
    hip::ok(unsafe { call(&raw mut version) });
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

#[test]
fn each_call_in_a_capture_does_what_it_did() {
    const TEST: &str = "matrix::each_call_in_a_capture_does_what_it_did";
    if !ground::there(TEST) {
        return;
    }
    let hip = Hip::open();
    let (release, found) = (release(), matrix(&hip));
    if let Some(folder) = std::env::var_os(RESULTS).map(PathBuf::from) {
        std::fs::write(folder.join(format!("capture-cuda-{release}.txt")), &found).expect("the folder can be written");
    }
    let missed = broken(&(found.clone() + &served(&hip))).join("\n");
    assert!(missed.is_empty(), "the server cannot work on CUDA {release}:\n{missed}\n{found}");
    let Some((_, expected)) = GOLDEN.iter().find(|(known, _)| *known == release) else {
        announce(&format!(
            "{TEST}: CUDA {release} has NO GOLDEN FILE: skipped, but for the {NEEDED_ROWS} rows that the server needs:\n{found}"
        ));
        return;
    };
    let other = different(&found, expected).join("\n");
    assert!(other.is_empty(), "CUDA {release} does otherwise than its file says:\n{other}");
}
