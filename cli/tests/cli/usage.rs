//! Help, versions, wrong command lines, closed pipes and full disks.

use std::io::pipe;
use std::process::Stdio;

use crate::program::{Run, graphreel, run};

#[test]
fn help_and_version_are_answers() {
    let help = run(graphreel(&["--help"]));
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for command in ["devices", "bench", "check", "cache"] {
        assert!(help.stdout.contains(command), "{}", help.stdout);
        let own = run(graphreel(&[command, "--help"]));
        assert_eq!(own.code, Some(0));
        assert!(own.stdout.contains("--json"), "{}", own.stdout);
    }
    let version = run(graphreel(&["--version"]));
    assert_eq!((version.code, version.stdout.trim()), (Some(0), concat!("graphreel ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_wrong_command_line_is_code_2_and_goes_to_standard_error() {
    for args in [
        &[][..],
        &["fly"],
        &["check"],
        &["bench", "--nodes", "0"],
        &["bench", "--nodes", "many"],
        &["bench", "--workload", "mine"],
        &["bench", "--tier", "warp"],
        &["bench", "--backend", "warp"],
        &["bench", "--backend", "auto,wgpu"],
        &["devices", "--unknown"],
    ] {
        let Run { code, stdout, stderr } = run(graphreel(args));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
        assert!(!stderr.contains("error: error:"), "{stderr}");
        assert!(stderr.starts_with("error: ") || args.is_empty(), "{args:?}: {stderr}");
    }
}

#[test]
fn a_bad_log_filter_is_named() {
    let mut command = graphreel(&["devices"]);
    command.env("GRAPHREEL_LOG", "a=b=c");
    let Run { code, stderr, .. } = run(command);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("GRAPHREEL_LOG"), "{stderr}");
}

#[test]
fn a_reader_that_went_away_is_success() {
    for args in [&["--help"][..], &["devices"], &["devices", "--json"]] {
        // The reading end is closed before the program starts, so that its first write finds nobody.
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let mut command = graphreel(args);
        command.stdout(writer).stderr(Stdio::piped());
        let output = command.spawn().expect("the program starts").wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        // A driver may say something there; we do not.
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("standard output") && !stderr.contains("panicked"), "{args:?}: {stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = graphreel(&["--help"]);
    command.stdout(full).stderr(Stdio::piped());
    let output = command.spawn().expect("the program starts").wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}
