//! `graphreel serve-check` on configurations that would build and on every kind that would not, with hostile files.

use std::fmt::Write as _;
use std::fs;
use std::io::pipe;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Run, graphreel, has_wgpu, run};

/// A device that owns all of its memory, with more fields behind.
fn device(ordinal: u32, rest: &str) -> String {
    format!("[[devices]]\ndevice_ordinal = {ordinal}\nmemory_ownership = \"whole_device_exclusive\"\n{rest}\n")
}

/// A file for the simulator, which has 1 GiB as device 0.
fn sim(rest: &str) -> String {
    format!("backend = \"sim\"\n{rest}")
}

fn file(text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("backend.toml");
    fs::write(&path, text).expect("the folder is writable");
    (folder, path)
}

fn check(text: impl AsRef<[u8]>) -> Run {
    let (_folder, path) = file(text);
    run(graphreel(&["serve-check", path.to_str().expect("UTF-8")]))
}

fn check_json(text: impl AsRef<[u8]>) -> (Option<i32>, Value) {
    let (_folder, path) = file(text);
    let run = run(graphreel(&["serve-check", path.to_str().expect("UTF-8"), "--json"]));
    (run.code, run.json())
}

/// The reasons of a file that is refused, in the order given.
fn reasons(text: impl AsRef<[u8]>) -> Vec<String> {
    let (code, report) = check_json(text);
    assert_eq!((code, &report["accepted"]), (Some(1), &json!(false)), "{report}");
    let refusals = report["refusals"].as_array().expect("a list");
    refusals.iter().map(|refusal| refusal["reason"].as_str().unwrap_or("none").to_owned()).collect()
}

#[test]
fn what_would_be_installed_is_printed() {
    let Run { code, stdout, stderr } = check(sim(&device(0, "max_active_attempts = 4\nsource_work_per_attempt = 3")));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for part in [
        "backend.toml: accepted on sim",
        "device 0 Graphreel simulator",
        "1073741824 bytes (1.00 GiB) visible (reported)",
        "limit 549453824 bytes (0.51 GiB)",
        "4 attempts of 3 source works, 16 streams, 5 workers, 4 lanes",
    ] {
        assert!(stdout.contains(part), "`{part}` in {stdout}");
    }
}

#[test]
fn what_would_be_installed_as_json() {
    let (code, report) = check_json(sim(&device(0, "cache_cap_bytes = 1048576\nbackend_reserve_bytes = 4096")));
    assert_eq!(code, Some(0), "{report}");
    assert_eq!((&report["schema"], &report["backend"]), (&json!("graphreel.serve-check/1"), &json!("sim")));
    assert_eq!((&report["accepted"], &report["refusals"]), (&json!(true), &json!([])));
    let device = &report["devices"][0];
    // The automatic limit leaves 500 MiB of the simulator's 1 GiB.
    let limit = (1_u64 << 30) - (500 << 20);
    let share = limit - 4096 - (1 << 20);
    for (field, expected) in [
        ("visible_total_bytes", 1 << 30),
        ("owned_capacity_bytes", 1 << 30),
        ("resolved_limit_bytes", limit),
        ("backend_reserve_bytes", 4096),
        ("cache_cap_bytes", 1 << 20),
        ("query_share_bytes", share),
        ("default_query_limit_bytes", share / 2),
        ("max_active_attempts", 2),
        ("source_work_per_attempt", 1),
        ("stream_pool_size", 4),
        ("worker_count", 3),
        ("lane_count", 2),
    ] {
        assert_eq!(device[field], json!(expected), "{field} in {device}");
    }
    assert!(!report.to_string().contains(":null"), "{report}");
}

#[test]
fn json_goes_to_a_file_and_the_text_stays() {
    let (folder, path) = file(sim(&device(0, "")));
    let json = folder.path().join("report.json");
    let args = ["serve-check", path.to_str().expect("UTF-8"), "--json", json.to_str().expect("UTF-8")];
    let Run { code, stdout, .. } = run(graphreel(&args));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("accepted on sim"), "{stdout}");
    let text = fs::read_to_string(json).expect("the file was written");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON")["accepted"], json!(true));
}

/// Text that is no configuration, with its place.
#[test]
fn a_file_that_does_not_read_has_its_place() {
    let sized = |field: &str, value: &str| sim(&device(0, &format!("{field} = {value}")));
    let limit =
        |fraction: &str| sim(&device(0, &format!("memory_limit = {{ automatic = {{ fraction = {fraction} }} }}")));
    for (text, line, parts) in [
        ("backend = ".to_owned(), 1, &["backend"][..]),
        (
            sized("max_actve_attempts", "3"),
            5,
            &["devices[0].max_actve_attempts", "unknown field", "max_active_attempts"],
        ),
        (sim("[queue]\nmax_wait = 3\n"), 3, &["queue.max_wait", "default_wait_ms"]),
        (sim("[[devices]]\ndevice_ordinal = 0\n"), 2, &["devices[0]", "memory_ownership"]),
        (sim("[[devices]]\nmemory_ownership = \"whole_device_exclusive\"\n"), 2, &["device_ordinal"]),
        ("backend = \"warp\"\n".to_owned(), 1, &["unknown backend `warp`", "auto, cuda, hip, wgpu, sim"]),
        (sized("backend_reserve_bytes", "-1"), 5, &["devices[0].backend_reserve_bytes", "-1"]),
        (sized("backend_reserve_bytes", "99999999999999999999"), 5, &["devices[0].backend_reserve_bytes"]),
        (sized("cache_cap_bytes", "1e3"), 5, &["devices[0].cache_cap_bytes"]),
        (sized("install_telemetry", "\"yes\""), 5, &["devices[0].install_telemetry", "boolean"]),
        (limit("nan"), 5, &["fraction", "NaN", "(0, 1]"]),
        (limit("inf"), 5, &["fraction", "(0, 1]"]),
        (limit("0.0"), 5, &["fraction", "(0, 1]"]),
        (limit("1.0000001"), 5, &["fraction", "(0, 1]"]),
        (format!("{}backend = \"sim\"\n", sim("")), 2, &["duplicate key"]),
    ] {
        let Run { code, stdout, stderr } = check(&text);
        assert_eq!(code, Some(1), "{text}: {stdout}{stderr}");
        assert!(stdout.contains(&format!("backend.toml line {line}: ")), "line {line} of {text}: {stdout}");
        for part in parts {
            assert!(stdout.contains(part), "`{part}` for {text}: {stdout}");
        }
        assert_eq!(reasons(&text), ["invalid_config_file"], "{text}");
    }
}

/// Each rule of validation that a file can break, with the line of its device.
#[test]
fn what_validation_refuses_has_its_reason() {
    let one = |rest: &str| sim(&device(0, rest));
    let partition = |bytes: u64, rest: &str| {
        let owned = format!("memory_ownership = {{ static_partition = {{ allocation_limit_bytes = {bytes} }} }}");
        sim(&format!("[[devices]]\ndevice_ordinal = 0\n{owned}\n{rest}\n"))
    };
    let bounds = |streams: u32, workers: u32, lanes: u32| {
        one(&format!(
            "installation_bounds = {{ stream_pool_size = {streams}, worker_count = {workers}, lane_count = {lanes} }}"
        ))
    };
    let most = i64::MAX;
    for (text, reason) in [
        (sim(""), "no_devices"),
        (one(&device(0, "max_active_attempts = 1")), "duplicate_device_ordinal"),
        (sim(&device(64, "")), "backend_metrics_device_ordinal_out_of_range"),
        (one(&format!("max_active_attempts = {most}\nsource_work_per_attempt = 4")), "aux_source_work_overflow"),
        (bounds(3, 3, 2), "stream_pool_below_required_formula"),
        (one("max_active_attempts = 0"), "zero"),
        (one("source_work_per_attempt = 0"), "zero"),
        (one("default_query_limit_bytes = 0"), "zero"),
        (bounds(4, 2, 2), "worker_count_below_active_limit_and_lifecycle_reserve"),
        (bounds(4, 3, 1), "installation_bound_below_active_limit"),
        (one("memory_limit = { automatic = { fallback_bytes = 0 } }"), "zero"),
        (one("backend_reserve_bytes = 268435456"), "reserve_exhausts_fallback"),
        (one("memory_limit = { explicit = { limit_bytes = 0 } }"), "zero"),
        (
            one("memory_limit = { explicit = { limit_bytes = 4096 } }\nbackend_reserve_bytes = 4096"),
            "reserve_exhausts_explicit_limit",
        ),
        (partition(0, ""), "zero"),
        (partition(4096, "backend_reserve_bytes = 4096"), "reserve_exhausts_static_partition"),
        (partition(4096, "memory_limit = { explicit = { limit_bytes = 4097 } }"), "limit_exceeds_static_partition"),
        (one("[queue]\nmax_queued_requests = 0"), "zero"),
        (one("[queue]\ndefault_wait_ms = 0"), "zero"),
        (one("[execution]\nsource_scheduler_policy = { prefetch = 1025 }"), "out_of_range"),
    ] {
        assert_eq!(reasons(&text), [reason], "{text}");
        let Run { code, stdout, stderr } = check(&text);
        assert_eq!(code, Some(1), "{text}");
        assert!(stdout.contains("refused: ") && stdout.contains(&format!("({reason})")), "{text}: {stdout}");
        assert!(stderr.trim_end().ends_with("backend.toml: refused for 1 reason"), "{stderr}");
    }
}

/// What only the device tells, with the largest value that it would take.
#[test]
fn what_the_device_refuses_has_its_reason() {
    let one = |rest: &str| sim(&device(0, rest));
    let limit = "memory_limit = { explicit = { limit_bytes = 1048576 } }\n";
    for (text, reason, largest) in [
        (
            one(&format!("memory_limit = {{ explicit = {{ limit_bytes = {} }} }}", i64::MAX)),
            "limit_exceeds_owned_capacity",
            Some("1073741824"),
        ),
        (one(&format!("{limit}cache_cap_bytes = 1048577")), "cache_cap_exceeds_managed_capacity", Some("1048576")),
        (
            one(&format!("{limit}default_query_limit_bytes = 1048577")),
            "default_query_limit_exceeds_query_share",
            Some("1048576"),
        ),
        (one(&format!("{limit}cache_cap_bytes = 1048576")), "default_query_limit_resolves_to_zero", None),
        (one("memory_limit = { automatic = { fraction = 1e-12 } }"), "backend_reserve_exhausts_capacity", None),
        (
            sim("[[devices]]\ndevice_ordinal = 0\n\
                 memory_ownership = { static_partition = { allocation_limit_bytes = 1073741825 } }\n"),
            "static_partition_exceeds_physical_capacity",
            Some("1073741824"),
        ),
    ] {
        assert_eq!(reasons(&text), [reason], "{text}");
        let Run { stdout, .. } = check(&text);
        assert!(stdout.contains("backend.toml line 3: device 0 "), "where it is declared: {stdout}");
        if let Some(bytes) = largest {
            assert!(stdout.contains(&format!("the largest accepted value is {bytes} bytes")), "{stdout}");
        }
    }
}

/// B-36: a fault of one device hides none of another, and each says where it is declared.
#[test]
fn each_device_is_refused_for_its_own_reason() {
    let text =
        sim(&format!("{}{}", device(1, "max_active_attempts = 0"), device(0, "cache_cap_bytes = 1099511627776")));
    let (code, report) = check_json(&text);
    assert_eq!(code, Some(1));
    let told: Vec<_> = (0..2)
        .map(|index| {
            let refusal = &report["refusals"][index];
            (refusal["reason"].clone(), refusal["facts"]["device_ordinal"].clone(), refusal["facts"]["line"].clone())
        })
        .collect();
    assert_eq!(
        told,
        [
            (json!("cache_cap_exceeds_managed_capacity"), json!("0"), json!("7")),
            (json!("zero"), json!("1"), json!("3")),
        ]
    );
    let Run { stdout, stderr, .. } = check(&text);
    assert!(stdout.contains("line 7: device 0 cache_cap_bytes") && stdout.contains("line 3: device 1 max_active"));
    assert!(stderr.contains("refused for 2 reasons"), "{stderr}");
    // One that is not there beside one that is.
    let text = sim(&format!("{}{}", device(0, ""), device(7, "")));
    let (code, report) = check_json(&text);
    assert_eq!((code, report["devices"].as_array().map(Vec::len)), (Some(1), Some(1)));
    assert_eq!(report["refusals"][0]["facts"]["device_ordinal"], json!("7"), "{report}");
    assert!(report["refusals"][0]["message"].as_str().is_some_and(|text| text.contains("ordinals are 0")), "{report}");
}

#[test]
fn a_backend_that_is_not_here_says_why() {
    // Where there is a driver, its own variable hides its devices.
    for name in ["cuda", "hip"] {
        let (_folder, path) = file(format!("backend = \"{name}\"\n{}", device(0, "")));
        let Run { code, stdout, .. } =
            run(crate::program::without_adapters(&["serve-check", path.to_str().expect("UTF-8")]));
        assert_eq!(code, Some(1));
        assert!(
            stdout.contains(&format!("backend `{name}` has no device here: "))
                && stdout.contains("(backend_unavailable)"),
            "{stdout}"
        );
    }
    let (_folder, path) = file(device(0, ""));
    let Run { code, stdout, .. } =
        run(crate::program::without_adapters(&["serve-check", path.to_str().expect("UTF-8")]));
    assert_eq!(code, Some(1));
    assert!(stdout.contains("`auto` has no device here: ") && stdout.contains("`backend = \"sim\"`"), "{stdout}");
}

#[test]
fn a_real_device_is_looked_at() {
    if !has_wgpu("a_real_device_is_looked_at") {
        return;
    }
    let (code, report) = check_json(device(0, ""));
    assert_eq!((code, &report["backend"]), (Some(0), &json!("wgpu")), "{report}");
    assert!(report["devices"][0]["query_share_bytes"].as_u64() > Some(0), "{report}");
    let (code, report) = check_json(device(63, ""));
    assert_eq!((code, &report["devices"]), (Some(1), &json!([])), "{report}");
    assert!(report["refusals"][0]["facts"]["device_count"].is_string(), "{report}");
}

/// Files that are made to cost a reader time, memory or its stack.
#[test]
fn hostile_files_are_refused_at_once() {
    let nested = |open: &str, close: &str| format!("backend = {}{}", open.repeat(100_000), close.repeat(100_000));
    let many: String = (0..10_000).fold(sim(""), |text, ordinal| text + &device(ordinal, ""));
    let dotted = format!("{}a = 1", "a.".repeat(100_000));
    let mut wide = sim("");
    for field in 0..50_000 {
        let _ = writeln!(wide, "field_{field} = 1");
    }
    let long = format!("backend = \"{}\"", "x".repeat(1 << 19));
    for (name, text) in [
        ("arrays", nested("[", "]")),
        ("tables", nested("{a=", "}")),
        ("dotted", dotted),
        ("open", "[".repeat(1 << 19)),
        ("devices", many),
        ("fields", wide),
        ("word", long),
        ("escape", "backend = \"\\u001b[31mred\\u0000\\n\"".to_owned()),
    ] {
        let started = Instant::now();
        let Run { code, stdout, stderr } = check(&text);
        assert_eq!(code, Some(1), "{name}: {stderr}");
        assert!(started.elapsed() < Duration::from_secs(20), "{name}: {:?}", started.elapsed());
        assert!(stdout.contains("refused: ") && !stdout.contains('\u{1b}'), "{name}: {stdout}");
        let longest = stdout.lines().map(str::len).max();
        assert!(longest < Some(2_000), "{name}: a line of {longest:?} bytes");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let absent = folder.path().join("nothing.toml");
    let refused = |path: &str| {
        let Run { code, stdout, stderr } = run(graphreel(&["serve-check", path]));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.starts_with(&format!("error: cannot read {path}: ")), "{stderr}");
        stderr
    };
    refused(absent.to_str().expect("UTF-8"));
    refused(folder.path().to_str().expect("UTF-8"));
    let (_folder, binary) = file([0xff, 0xfe, 0x00]);
    assert!(refused(binary.to_str().expect("UTF-8")).contains("UTF-8"));
    let (_folder, long) = file("#".repeat(2 << 20));
    assert!(refused(long.to_str().expect("UTF-8")).contains("longer than 1 MiB"));
    #[cfg(target_os = "linux")]
    assert!(refused("/dev/zero").contains("longer than 1 MiB"), "a file without an end");
}

#[test]
fn a_wrong_command_line_is_code_2() {
    for args in [&["serve-check"][..], &["serve-check", "a.toml", "b.toml"], &["serve-check", "a.toml", "--fast"]] {
        let Run { code, stdout, stderr } = run(graphreel(args));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
    }
    assert!(run(graphreel(&["--help"])).stdout.contains("serve-check"));
}

/// A reader that went away makes nothing a failure, and no failure a success.
#[test]
fn a_reader_that_went_away_changes_no_answer() {
    let (_accepted, good) = file(sim(&device(0, "")));
    let (_refused, bad) = file(sim(""));
    for (path, json, code) in [(&good, false, 0), (&good, true, 0), (&bad, false, 1), (&bad, true, 1)] {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let mut args = vec!["serve-check", path.to_str().expect("UTF-8")];
        args.extend(json.then_some("--json"));
        let mut command = graphreel(&args);
        command.stdout(writer).stderr(Stdio::piped());
        let output = command.spawn().expect("the program starts").wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    }
}

/// The file that docs/backend.example.toml ships is one that builds, with every field in it.
#[test]
fn the_shipped_example_is_accepted() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/backend.example.toml");
    let shipped = fs::read_to_string(path).expect("it is in the repository");
    let text = shipped.replace("backend = \"auto\"", "backend = \"sim\"");
    assert_ne!(text, shipped, "it asks for any backend");
    let (code, report) = check_json(&text);
    assert_eq!(code, Some(0), "{report}");
}
