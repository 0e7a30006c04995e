//! The capture matrix: of each release the rows that the server needs, and all of them where a file has them. It is AMD's own code that
//! answers; the device below has no say in it.

use graphreel_compilers::announce;
use graphreel_swhsa_rig::everywhere;

use super::capture::{matrix, served};
use super::hip::Hip;
use super::promises::{NEEDED_ROWS, broken, different};

/// The rows that versions were seen to give.
const GOLDEN: [(&str, &str); 2] =
    [("6.4", include_str!("../golden/capture-6.4.txt")), ("7.2", include_str!("../golden/capture-7.2.txt"))];

#[test]
fn each_call_in_a_capture_does_what_it_did() {
    everywhere("matrix::each_call_in_a_capture_does_what_it_did", || {
        let hip = Hip::open();
        let (major, minor) = hip.library.version.release();
        let version = format!("{major}.{minor}");
        let found = matrix(&hip);
        let missed = broken(&(found.clone() + &served(&hip))).join("\n");
        assert!(missed.is_empty(), "the server cannot work on HIP {version}:\n{missed}\n{found}");
        let Some((_, expected)) = GOLDEN.iter().find(|(known, _)| *known == version) else {
            let (against, expected) = GOLDEN.last().expect("there are versions");
            let other = different(&found, expected).join("\n");
            announce(&format!(
                "HIP {version} has NO GOLDEN FILE: SKIPPED, but for the {NEEDED_ROWS} rows that the server needs, which are as they \
                 have to be. Against HIP {against}:\n{other}\n{found}"
            ));
            return;
        };
        let other = different(&found, expected).join("\n");
        assert!(other.is_empty(), "HIP {version} does otherwise than its file says:\n{other}\n{found}");
    });
}
