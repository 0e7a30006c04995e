//! The simulator: by name and as the last resort, marked wherever it is named; and its sanitizer.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Run, graphreel, has_wgpu, run, without_adapters};

const SHORT: [&str; 7] = ["bench", "--workload", "chain,digits", "--nodes", "3", "--replays", "1"];

/// What tells a reader of the text, and of the JSON, that this was no device.
const NO_DEVICE: &str = "sim: no device";

/// Lines 3, 9 and 14 are at fault; the first has a partner at line 4.
const FAULTY: &str = "\
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> tile: array<u32, 64>;
@compute @workgroup_size(64) fn race(@builtin(local_invocation_index) i: u32) { tile[i] = i;
    let other = tile[63u - i];
    if i == 0u { out[0] = other; }
}
@compute @workgroup_size(64)
fn past(@builtin(global_invocation_id) id: vec3<u32>) {
    out[id.x] = id.x;
}
@compute @workgroup_size(64)
fn endless() {
    var i = 0u;
    while out[0] == 0u {
        i += 1u;
    }
    out[1] = i;
}
";

fn check(text: &str, args: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("kernel.wgsl");
    fs::write(&path, text).expect("the folder is writable");
    let mut command = graphreel(&["check", path.to_str().expect("UTF-8"), "--sanitize"]);
    command.args(args);
    run(command)
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("a list of rows")
}

#[test]
fn without_a_device_the_simulator_stands_in_and_one_line_says_so() {
    let Run { code, stdout, stderr } = run(without_adapters(&SHORT));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with("no device was found (cuda: ") && stderr.contains("using the simulator"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    for part in ["sim: no device: the times are those of the CPU interpreter", "97.78 % read right"] {
        assert!(stdout.contains(part), "`{part}` in {stdout}");
    }
    let digits = stdout.lines().find(|line| line.starts_with("digits: ")).expect("its remark");
    assert!(digits.contains(NO_DEVICE), "{digits}");
}

#[test]
fn what_the_simulator_measured_is_marked_in_json() {
    let mut command = without_adapters(&SHORT);
    command.arg("--json");
    let run = run(command);
    let report = run.json();
    assert_eq!(run.code, Some(0), "{} {report}", run.stderr);
    assert_eq!(report["devices"][0]["kind"], json!("simulated"));
    assert_eq!(rows(&report).len(), 2);
    for row in rows(&report) {
        assert_eq!((&row["backend"], &row["simulated"], &row["verified"]), (&json!("sim"), &json!(true), &json!(true)));
        assert_eq!(row["tier"], json!("captured"));
    }
}

#[test]
fn the_simulator_that_is_asked_for_needs_no_announcement() {
    let mut by_backend = graphreel(&SHORT);
    by_backend.args(["--backend", "sim"]);
    let mut by_variable = without_adapters(&SHORT);
    by_variable.env("GRAPHREEL_DEVICE", "sim");
    let mut by_name = without_adapters(&SHORT);
    by_name.env("GRAPHREEL_DEVICE", "name:simulator");
    for command in [by_backend, by_variable, by_name] {
        let Run { code, stdout, stderr } = run(command);
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        assert!(stdout.contains(NO_DEVICE), "{stdout}");
    }
}

#[test]
fn a_device_comes_before_the_simulator() {
    if !has_wgpu("a_device_comes_before_the_simulator") {
        return;
    }
    let run = run(graphreel(&["bench", "--workload", "chain", "--nodes", "2", "--replays", "1", "--json"]));
    let report = run.json();
    assert_eq!(rows(&report)[0]["backend"], json!("wgpu"));
    assert!(rows(&report)[0].get("simulated").is_none(), "{report}");
    assert!(!run.stderr.contains("simulator"), "{}", run.stderr);
}

#[test]
fn who_insists_on_a_device_gets_no_simulator_and_is_told_of_it() {
    let mut command = without_adapters(&SHORT);
    command.env("GRAPHREEL_DEVICE", "auto");
    let Run { code, stdout, stderr } = run(command);
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("wgpu: ") && stderr.contains("ask for `sim`"), "{stderr}");
}

#[test]
fn the_simulator_is_listed_as_no_device() {
    let text = run(without_adapters(&["devices"]));
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    for part in [NO_DEVICE, "(simulated, sim, ", "tiers: captured, built, eager"] {
        assert!(text.stdout.contains(part), "`{part}` in {}", text.stdout);
    }
    let report = run(without_adapters(&["devices", "--json"])).json();
    let sim = &report["backends"][3]["devices"][0];
    assert_eq!((&sim["simulated"], &sim["info"]["kind"]), (&json!(true), &json!("simulated")));
    assert_eq!(sim["caps"]["tiers"][0], json!("captured"));
}

#[test]
fn the_shipped_work_passes_the_sanitizer_untimed() {
    let run = run(graphreel(&["bench", "--sanitize", "--workload", "diamond,digits", "--nodes", "9", "--json"]));
    let report = run.json();
    assert_eq!(run.code, Some(0), "{} {report}", run.stderr);
    assert_eq!(report["findings"], json!([]));
    for row in rows(&report) {
        assert_eq!((&row["verified"], &row["simulated"]), (&json!(true), &json!(true)));
        assert!(row.get("total_us").is_none(), "{row}");
    }
}

#[test]
fn the_sanitizer_is_the_simulators_alone() {
    for backend in ["wgpu", "all", "sim,wgpu"] {
        let Run { code, stdout, stderr } = run(graphreel(&["bench", "--sanitize", "--backend", backend]));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.contains("say --backend sim"), "{stderr}");
    }
}

#[test]
fn what_the_sanitizer_finds_has_its_kernel_and_line_and_fails() {
    let Run { code, stdout, stderr } =
        check(FAULTY.split("@compute @workgroup_size(64)\nfn endless").next().expect("all but one"), &[]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stderr.contains("the sanitizer found"), "{stderr}");
    // Either of the two lines that race may be the one it is told by.
    assert!(
        stdout.lines().any(|line| line.starts_with("kernel `race`, line ") && line.contains(": race: ")),
        "{stdout}"
    );
    for part in ["kernel `past`, line 9: out-of-range: ", NO_DEVICE] {
        assert!(stdout.contains(part), "`{part}` in {stdout}");
    }
}

#[test]
fn a_kernel_that_never_ends_is_stopped_and_named_and_the_others_run() {
    let run = check(FAULTY, &["--elements", "64", "--json"]);
    let report = run.json();
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("1 of 3 kernels did not run to the end"), "{}", run.stderr);
    let runs = report["trial"]["runs"].as_array().expect("one for each kernel");
    assert!(runs[0].get("error").is_none() && runs[1].get("error").is_none(), "{report}");
    let error = runs[2]["error"].as_str().expect("it was stopped");
    assert!(error.contains("kernel `endless`, line 1") && error.contains("steps"), "{error}");
    // 64 elements are just what the workgroup covers.
    let findings = report["trial"]["findings"].as_array().expect("a list");
    assert!(findings.iter().all(|finding| finding["kernel"] == "race"), "{report}");
}

#[test]
fn scalars_are_given_by_name_and_grids_by_number() {
    let text = "var<immediate> n: vec2<u32>;\n@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n\
                @compute @workgroup_size(1) fn k() { a[n.y] = n.x; }\n";
    let missing = check(text, &[]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stdout.contains("give it with --scalar n="), "{}", missing.stdout);
    assert_eq!(check(text, &["--scalar", "n=1,999", "--groups", "1"]).code, Some(0));
    let past = check(text, &["--scalar", "n=1,1000", "--groups", "1"]);
    assert!(past.code == Some(1) && past.stdout.contains("line 3: out-of-range"), "{}", past.stdout);
    for bad in [&["--scalar", "m=1"][..], &["--scalar", "n"], &["--groups", "1,1,1,1"], &["--groups", "0"]] {
        assert_eq!(check(text, bad).code, Some(2), "{bad:?}");
    }
}
