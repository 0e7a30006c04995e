//! `graphreel devices`, with and without a device.

use serde_json::json;

use crate::program::{Run, graphreel, has_wgpu, run, without_adapters};

#[test]
fn every_backend_is_there_with_devices_or_a_reason() {
    let report = run(graphreel(&["devices", "--json"])).json();
    assert_eq!(report["schema"], json!("graphreel.devices/1"));
    let backends = report["backends"].as_array().expect("a list");
    let names: Vec<_> = backends.iter().map(|backend| backend["name"].clone()).collect();
    assert_eq!(names, ["cuda", "hip", "wgpu", "sim"].map(|name| json!(name)));
    for backend in backends {
        let none = backend["devices"].as_array().expect("a list").is_empty();
        assert_eq!(backend["absent"].is_string(), none, "{backend}");
    }
}

#[test]
fn a_machine_without_a_device_is_told_why() {
    let Run { code, stdout, stderr } = run(without_adapters(&["devices"]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for name in ["cuda: ", "hip: ", "wgpu: "] {
        let line = stdout.lines().find(|line| line.starts_with(name)).expect("a line for each backend");
        assert!(line.len() > name.len(), "{stdout}");
    }
}

#[test]
fn devices_tell_what_they_can_do() {
    if !has_wgpu("devices_tell_what_they_can_do") {
        return;
    }
    let text = run(graphreel(&["devices"]));
    assert_eq!(text.code, Some(0));
    for part in ["memory: ", "tiers: re-encoded", "workgroups: "] {
        assert!(text.stdout.contains(part), "`{part}` in {}", text.stdout);
    }
    let report = run(graphreel(&["devices", "--json"])).json();
    let wgpu = &report["backends"][2]["devices"][0];
    assert_eq!(wgpu["info"]["backend"], json!("wgpu"));
    // What is not known is left out, as in the rows of `bench`.
    assert!(!report.to_string().contains(":null"), "{report}");
    assert!(wgpu["caps"]["buffer_bytes_max"].as_u64() > Some(0), "{wgpu}");
}

#[test]
fn a_device_that_the_variable_asks_for_and_is_absent_is_told() {
    if !has_wgpu("a_device_that_the_variable_asks_for_and_is_absent_is_told") {
        return;
    }
    let mut command = graphreel(&["bench", "--workload", "chain", "--nodes", "1"]);
    command.env("GRAPHREEL_DEVICE", "index:99");
    let Run { code, stderr, .. } = run(command);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("index:99, which GRAPHREEL_DEVICE holds") && stderr.contains("the devices are: 0 "),
        "{stderr}"
    );
}

#[test]
fn json_goes_to_a_file_and_the_text_stays() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("devices.json");
    let Run { code, stdout, .. } = run(graphreel(&["devices", "--json", path.to_str().expect("UTF-8")]));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("cuda: "), "{stdout}");
    let text = std::fs::read_to_string(path).expect("the file was written");
    assert!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON").is_object());
}
