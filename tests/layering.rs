//! Arrows between crates point one way: backends to the core, the facade to backends, the program to the facade.

use std::process::Command;

/// Packages of ours that `package` is built from, itself left out.
fn ours(package: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            package,
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--offline",
            "--all-features",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo prints utf-8");
    let mut names: Vec<String> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| (*name == "graphreel" || name.starts_with("graphreel-")) && *name != package)
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_core_depends_on_no_backend() {
    assert_eq!(ours("graphreel"), Vec::<String>::new());
}

#[test]
fn a_backend_depends_on_no_other_backend() {
    assert_eq!(ours("graphreel-sim"), ["graphreel"]);
    assert_eq!(ours("graphreel-wgpu"), ["graphreel"]);
    // Its kernels are C++, which the writer gives it.
    assert_eq!(ours("graphreel-cuda"), ["graphreel", "graphreel-cpp", "graphreel-loader"]);
}

#[test]
fn cuda_and_hip_stand_on_the_writer() {
    assert_eq!(ours("graphreel-cuda"), ["graphreel", "graphreel-cpp", "graphreel-loader"]);
    assert_eq!(ours("graphreel-hip"), ["graphreel", "graphreel-cpp", "graphreel-hip-sys", "graphreel-loader"]);
}

#[test]
fn bindings_and_the_loader_below_them_know_nothing_of_the_core() {
    assert_eq!(ours("graphreel-hip-sys"), ["graphreel-loader"]);
    assert_eq!(ours("graphreel-loader"), Vec::<String>::new());
}

#[test]
fn the_facade_depends_on_backends_and_not_on_the_program() {
    let built = [
        "graphreel",
        "graphreel-cpp",
        "graphreel-cuda",
        "graphreel-hip",
        "graphreel-hip-sys",
        "graphreel-loader",
        "graphreel-sim",
        "graphreel-wgpu",
    ];
    assert_eq!(ours("graphreel-backends"), built);
}

#[test]
fn the_program_opens_devices_through_the_facade() {
    let names = ours("graphreel-cli");
    // And it writes C++, for which it needs no device. Tests are no part of it.
    let built = [
        "graphreel",
        "graphreel-backends",
        "graphreel-cpp",
        "graphreel-cuda",
        "graphreel-hip",
        "graphreel-hip-sys",
        "graphreel-loader",
        "graphreel-sim",
        "graphreel-wgpu",
    ];
    assert_eq!(names, built);
}

#[test]
fn the_kit_names_no_backend() {
    assert_eq!(ours("graphreel-testkit"), ["graphreel"]);
    assert_eq!(ours("graphreel-cts"), ["graphreel", "graphreel-testkit"]);
}

#[test]
fn the_writer_and_what_compiles_its_text_know_only_the_core() {
    assert_eq!(ours("graphreel-cpp"), ["graphreel"]);
    assert_eq!(ours("graphreel-compilers"), ["graphreel"]);
}

#[test]
fn the_software_device_knows_nothing_of_ours() {
    assert_eq!(ours("graphreel-swhsa"), Vec::<String>::new());
    let built = ["graphreel", "graphreel-compilers", "graphreel-cpp", "graphreel-swhsa"];
    assert_eq!(ours("graphreel-swhsa-rig"), built);
}
