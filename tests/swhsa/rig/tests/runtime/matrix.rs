//! The capture matrix, held against a file for each version of the runtime. It is AMD's own code that answers; the device below has no
//! say in it.

use graphreel_compilers::announce;
use graphreel_swhsa_rig::everywhere;

use super::capture::matrix;
use super::hip::Hip;

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
        let known = GOLDEN.iter().find(|(known, _)| *known == version);
        let (against, expected) = known.unwrap_or(GOLDEN.last().expect("there are versions"));
        let lines = found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected);
        let mut different: Vec<String> = lines.map(|(found, expected)| format!("- {expected}\n+ {found}")).collect();
        if found.lines().count() != expected.lines().count() {
            different.push(format!("{} rows, not {}", found.lines().count(), expected.lines().count()));
        }
        if known.is_some() {
            let different = different.join("\n");
            assert!(different.is_empty(), "HIP {version} does otherwise than its file says:\n{different}\n{found}");
        } else {
            let different = different.join("\n");
            announce(&format!("HIP {version} has no file: SKIPPED. Against {against}:\n{different}\n{found}"));
        }
    });
}
