//! `graphreel bench`: verified rows, the schema, and what happens without a device.

use std::io::pipe;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Run, graphreel, has_wgpu, run, without_adapters};

/// Whether a value has the JSON type of a field.
type IsTyped = fn(&Value) -> bool;

/// The fields that a row may have, with the JSON type of each.
const FIELDS: [(&str, IsTyped); 24] = [
    ("backend", Value::is_string),
    ("device", Value::is_string),
    ("simulated", Value::is_boolean),
    ("workload", Value::is_string),
    ("nodes", Value::is_u64),
    ("tier", Value::is_string),
    ("policy", Value::is_string),
    ("verified", Value::is_boolean),
    ("error", Value::is_string),
    ("replays", Value::is_u64),
    ("eager_us", Value::is_f64),
    ("issue_us", Value::is_f64),
    ("total_us", Value::is_f64),
    ("cpu_us_per_node", Value::is_f64),
    ("capture_us", Value::is_f64),
    ("seal_us", Value::is_f64),
    ("pinned_bytes", Value::is_u64),
    ("submits", Value::is_u64),
    ("baseline_one_submit_us", Value::is_f64),
    ("baseline_cut_submits_us", Value::is_f64),
    ("baseline_cut_nodes", Value::is_u64),
    ("baseline_cpu_us_per_node", Value::is_f64),
    ("accuracy", Value::is_f64),
    ("images", Value::is_u64),
];

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("a list of rows")
}

#[test]
fn every_workload_is_verified_and_measured() {
    if !has_wgpu("every_workload_is_verified_and_measured") {
        return;
    }
    let run = run(graphreel(&["bench", "--nodes", "1,7,40", "--replays", "2", "--json"]));
    let report = run.json();
    assert_eq!(run.code, Some(0), "{} {report}", run.stderr);
    assert_eq!(report["schema"], json!("graphreel.bench/1"));
    assert!(report["machine"]["os"].is_string() && report["devices"][0]["name"].is_string(), "{report}");
    assert_eq!(rows(&report).len(), 5 * 3 + 1);
    for row in rows(&report) {
        assert_eq!(row["verified"], json!(true), "{row}");
        for (name, value) in row.as_object().expect("a row is an object") {
            let known = FIELDS.iter().find(|(field, _)| field == name);
            assert!(known.is_some_and(|(_, is_typed)| is_typed(value)), "{name} in {row}");
        }
        for field in ["eager_us", "issue_us", "total_us", "capture_us", "seal_us", "baseline_one_submit_us"] {
            assert!(row[field].as_f64() > Some(0.0), "{field} in {row}");
        }
        assert_eq!(row["accuracy"].is_number(), row["workload"] == "digits", "{row}");
        // Only what is longer than a cut can be cut.
        assert_eq!(row["baseline_cut_submits_us"].is_number(), row["nodes"].as_u64() > Some(16), "{row}");
    }
}

#[test]
fn digits_are_read_as_the_host_reads_them() {
    if !has_wgpu("digits_are_read_as_the_host_reads_them") {
        return;
    }
    let Run { code, stdout, stderr } = run(graphreel(&["bench", "--workload", "digits", "--replays", "1"]));
    assert_eq!(code, Some(0), "{stderr}");
    // 352 of 360, as the README beside the weights says.
    assert!(stdout.contains("360 handwritten digits, 97.78 % read right"), "{stdout}");
}

#[test]
fn a_tier_that_the_device_lacks_fails_its_rows() {
    if !has_wgpu("a_tier_that_the_device_lacks_fails_its_rows") {
        return;
    }
    let args = ["bench", "--workload", "chain", "--nodes", "3", "--tier", "captured", "--backend", "wgpu", "--json"];
    let run = run(graphreel(&args));
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stderr.contains("1 of 1 rows failed"), "{}", run.stderr);
    let report = run.json();
    let row = &rows(&report)[0];
    assert_eq!((&row["verified"], &row["policy"]), (&json!(false), &json!("require:captured")));
    assert!(row["error"].as_str().is_some_and(|error| error.contains("captured")), "{row}");
    // Absent, since nothing was replayed.
    assert!(row.get("total_us").is_none() && row.get("tier").is_none(), "{row}");
}

#[test]
fn a_table_for_a_reader_that_went_away_is_success() {
    if !has_wgpu("a_table_for_a_reader_that_went_away_is_success") {
        return;
    }
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut command = graphreel(&["bench", "--workload", "chain", "--nodes", "1", "--replays", "1"]);
    command.stdout(writer).stderr(Stdio::piped());
    let output = command.spawn().expect("the program starts").wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_a_device_of_a_backend_the_reason_is_the_error() {
    let Run { code, stdout, stderr } = run(without_adapters(&["bench", "--backend", "wgpu"]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains("wgpu") && stderr.contains("install"), "{stderr}");
}

#[test]
fn a_backend_that_does_not_open_is_an_entry_of_all_and_the_end_alone() {
    if !has_wgpu("a_backend_that_does_not_open_is_an_entry_of_all_and_the_end_alone") {
        return;
    }
    let broken = |args: &[&str]| {
        let mut command = graphreel(args);
        command.args(["--workload", "chain", "--nodes", "1"]).env("GRAPHREEL_TIERS", "warp");
        run(command)
    };
    let run = broken(&["bench", "--backend", "all", "--json"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("a device of wgpu, sim does not open"), "{}", run.stderr);
    let report = run.json();
    assert_eq!(report["failed"][0]["backend"], json!("wgpu"));
    assert!(report["failed"][0]["error"].as_str().is_some_and(|error| error.contains("warp")), "{report}");
    let text = broken(&["bench", "--backend", "all"]);
    assert!(text.stdout.contains("wgpu: FAILED: ") && text.stdout.contains("warp"), "{}", text.stdout);
    let alone = broken(&["bench", "--backend", "wgpu"]);
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(1), ""), "{}", alone.stderr);
    assert!(alone.stderr.contains("warp"), "{}", alone.stderr);
}

#[test]
fn a_backend_without_a_device_says_why() {
    let Run { code, stderr, .. } = run(without_adapters(&["bench", "--backend", "hip"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("opening backend:hip is not supported: ") && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn an_unwritable_json_file_is_found_before_the_work() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("absent").join("bench.json");
    let Run { code, stdout, stderr } = run(graphreel(&["bench", "--json", path.to_str().expect("UTF-8")]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("bench.json"), "{stderr}");
}
