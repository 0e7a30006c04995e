//! Prints the measured targets as a table. `--quick` runs little of each, to see that all of it works; `--files` runs the reads
//! of files alone, `--facade` the backend facade alone, `--translate` the C++ writer alone. `--cuda` measures CUDA against its
//! driver called by hand, in place of wgpu, and `--hip-on-cuda` the HIP backend against the CUDA backend on one card. `--json FILE`
//! writes the figures too, after each target, so that a run that is ended leaves what it has.

use std::path::PathBuf;
use std::process::ExitCode;

use comfy_table::Table;
use graphreel::{Device, DeviceKind};
use graphreel_backends::{Select, open};
use graphreel_bench::{Finding, bookkeeping, cuda, facade, files, growth, hardware, hip_on_cuda, replay, translate};

/// The parts of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Files,
    Facade,
    Translate,
    Cuda,
    HipOnCuda,
}

fn main() -> ExitCode {
    let asked = |option: &str| std::env::args().any(|argument| argument == option);
    let parts = [
        ("--cuda", Part::Cuda),
        ("--hip-on-cuda", Part::HipOnCuda),
        ("--files", Part::Files),
        ("--facade", Part::Facade),
        ("--translate", Part::Translate),
    ];
    let part = parts.into_iter().find(|(option, _)| asked(option)).map_or(Part::All, |(_, part)| part);
    let json = std::env::args().skip_while(|argument| argument != "--json").nth(1).map(PathBuf::from);
    let mut told = Told { json, device: None, found: Vec::new() };
    let outcome = measure(part, asked("--quick"), &mut told);
    told.print();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Every figure of the part.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints what it measures")]
fn measure(part: Part, quick: bool, told: &mut Told) -> Result<(), String> {
    if part == Part::All || part == Part::Facade {
        // Before a device is open: a backend wants the devices of its process for itself.
        told.add(facade::findings(if quick { facade::Volume::QUICK } else { facade::Volume::FULL })?)?;
    }
    if part == Part::All || part == Part::Translate {
        told.add(translate::findings(if quick { 3 } else { 200 })?)?;
    }
    if part == Part::Facade || part == Part::Translate {
        return Ok(());
    }
    let device = match open(&selected(part)) {
        Ok(device) => device,
        Err(error) if matches!(part, Part::Cuda | Part::HipOnCuda) => return Err(error.to_string()),
        Err(error) => {
            eprintln!("skipped: {error}");
            return Ok(());
        }
    };
    let about = format!("{} ({}, {})", device.info().name, device.info().api, device.info().driver);
    println!("{about}");
    told.device = Some(about);
    match part {
        Part::Files => told.add(file_reads(&device, quick)?),
        Part::Cuda => {
            // What is ours of a call is told beside the whole of it.
            told.add(hardware::findings(if quick { 3 } else { 60 }).map_err(|error| error.to_string())?)?;
            let volume = if quick { cuda::Volume::QUICK } else { cuda::Volume::FULL };
            cuda::findings(&device, volume, |findings| told.add(findings))
        }
        Part::HipOnCuda => {
            let hip = open(&Select::Backend("hip".to_owned())).map_err(|error| error.to_string())?;
            println!("{} ({}, {})", hip.info().name, hip.info().api, hip.info().driver);
            told.add(hip_on_cuda::findings(&hip, &device, if quick { 3 } else { 61 })?)
        }
        Part::All | Part::Facade | Part::Translate => told.add(findings(&device, quick)?),
    }
}

/// The backend that a part measures; `GRAPHREEL_DEVICE` may name another device of wgpu.
fn selected(part: Part) -> Select {
    match std::env::var("GRAPHREEL_DEVICE") {
        Ok(device) if !device.trim().is_empty() => Select::Auto,
        _ if matches!(part, Part::Cuda | Part::HipOnCuda) => Select::Backend("cuda".to_owned()),
        _ => Select::Backend("wgpu".to_owned()),
    }
}

/// What was measured so far.
struct Told {
    json: Option<PathBuf>,
    device: Option<String>,
    found: Vec<Finding>,
}

impl Told {
    fn add(&mut self, findings: Vec<Finding>) -> Result<(), String> {
        self.found.extend(findings);
        let Some(path) = &self.json else { return Ok(()) };
        let whole = serde_json::json!({ "device": self.device, "findings": self.found });
        std::fs::write(path, format!("{whole:#}\n")).map_err(|error| format!("{}: {error}", path.display()))
    }

    #[expect(clippy::print_stdout, reason = "a program that prints a table")]
    fn print(&self) {
        println!("{}", table(&self.found));
    }
}

#[expect(clippy::print_stderr, reason = "a program that says what went wrong")]
fn failed(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn findings(device: &Device, quick: bool) -> Result<Vec<Finding>, String> {
    let rounds = if quick { 3 } else { 60 };
    let mut findings = hardware::findings(rounds).map_err(|error| error.to_string())?;
    for workload in ["chain", "independent", "fanout", "diamond"] {
        for nodes in [100, 1000] {
            findings.extend(replay::against_by_hand(device, workload, nodes, rounds)?);
        }
    }
    let bound = if device.info().kind == DeviceKind::Software { 2.0 } else { 4.0 };
    for nodes in [100, 1000] {
        findings.push(replay::against_one_submit_a_launch(device, nodes, rounds, bound)?);
    }
    findings.push(bookkeeping::eager_launch(device, rounds)?);
    findings.push(bookkeeping::alive_buffers(device, rounds)?);
    let (replays, updates) = if quick { (1000, 100) } else { (100_000, 10_000) };
    findings.extend(file_reads(device, quick)?);
    findings.push(growth::bytes_over_replays(device, replays, updates)?);
    Ok(findings)
}

fn file_reads(device: &Device, quick: bool) -> Result<Vec<Finding>, String> {
    let (bytes, rounds) = if quick { (8 << 20, 3) } else { (256 << 20, 25) };
    files::to_device(device, bytes, rounds)
}

fn table(findings: &[Finding]) -> Table {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(["target", "work", "ours / other side", "figure", "bound", "kept"]);
    for finding in findings {
        table.add_row([
            finding.target.to_owned(),
            finding.what.clone(),
            finding.sides.clone(),
            format!("{:.2}", finding.figure),
            finding.bound.to_owned(),
            finding.verdict().to_owned(),
        ]);
    }
    table
}
