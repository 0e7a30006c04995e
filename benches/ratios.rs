//! Prints the measured targets as a table. `--quick` runs little of each, to see that all of it works;
//! `--files` runs the reads of files alone, `--facade` the backend facade alone, `--translate` the C++ writer alone.

use std::process::ExitCode;

use comfy_table::Table;
use graphreel::{Device, DeviceKind};
use graphreel_backends::{Select, open};
use graphreel_bench::{Finding, bookkeeping, facade, files, growth, hardware, replay, translate};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]
fn main() -> ExitCode {
    let asked = |option: &str| std::env::args().any(|argument| argument == option);
    let (quick, files_alone, facade_alone) = (asked("--quick"), asked("--files"), asked("--facade"));
    let translate_alone = asked("--translate");
    let mut found = Vec::new();
    if !files_alone && !translate_alone {
        // Before a device is open: a backend wants the devices of its process for itself.
        match facade::findings(if quick { facade::Volume::QUICK } else { facade::Volume::FULL }) {
            Ok(findings) => found.extend(findings),
            Err(error) => return failed(&error),
        }
    }
    if !files_alone && !facade_alone {
        match translate::findings(if quick { 3 } else { 200 }) {
            Ok(findings) => found.extend(findings),
            Err(error) => return failed(&error),
        }
    }
    if !facade_alone && !translate_alone {
        match open(&Select::Auto) {
            Ok(device) => {
                println!("{} ({}, {})", device.info().name, device.info().api, device.info().driver);
                match if files_alone { file_reads(&device, quick) } else { findings(&device, quick) } {
                    Ok(findings) => found.extend(findings),
                    Err(error) => return failed(&error),
                }
            }
            Err(error) => eprintln!("skipped: {error}"),
        }
    }
    println!("{}", table(&found));
    ExitCode::SUCCESS
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
