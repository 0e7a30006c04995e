//! `graphreel check FILE.wgsl`: does it parse, is it valid, what do its entry points take, and what should they not do.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use comfy_table::Table;
use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::kernel::{BindingInfo, EntryInfo, OverrideInfo, Reflection, inspect, overrides};
use graphreel_cpp::lint;
use serde::Serialize;

use crate::args::CheckArgs;
use crate::emission;
use crate::failure::Failure;
use crate::linted::{self, Row};
use crate::output::{self, Json};
use crate::trial::{self, Trial};

/// The largest file that is read. No kernel is that long, and a device file has no end.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The object of `check --json`.
#[derive(Default, Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: &'a str,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<&'a [EntryInfo]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    overrides: &'a [OverrideInfo],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lints: Option<&'a [Row<'a>]>,
    /// Of `--sanitize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<&'a Trial>,
}

/// Where a file is at fault; line and column count from 1 and are absent where no place is known.
#[derive(Serialize)]
struct Fault<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<&'a str>,
}

/// Run the command.
///
/// # Errors
///
/// [`Failure::Read`]; [`Failure::Kernel`] when the file does not hold valid WGSL; [`Failure::Lints`] with `--deny-lints`; with
/// `--sanitize` what came of the runs, and with `--emit` why there is no C++.
pub(crate) fn run(args: CheckArgs) -> Result<(), Failure> {
    let json = Json::new(args.json.json.clone());
    groups_of(&args)?;
    json.check()?;
    let file = args.file.display().to_string();
    let text = read(&args.file).map_err(|source| Failure::Read { path: file.clone(), source })?;
    if let Some(language) = args.emit {
        return emission::run(&file, &text, language, &args);
    }
    let schema = "graphreel.check/1";
    match inspect(&text).and_then(|entries| Ok((entries, overrides(&text)?, lint(&text)?))) {
        Ok((entries, overrides, lints)) => {
            let entries = entries.as_slice();
            if json.leaves_stdout() {
                output::print(&(describe(&file, entries, &overrides) + &linted::listed(&file, &lints)))?;
            }
            let trial = args.sanitize.then(|| trial::run(&text, entries, &args)).transpose()?;
            let trial = trial.as_ref();
            if let Some(trial) = trial.filter(|_| json.leaves_stdout()) {
                output::print(&trial.describe())?;
            }
            let (entries, overrides) = (Some(entries), overrides.as_slice());
            let rows: Vec<Row<'_>> = lints.iter().map(Row::from).collect();
            let lints = Some(rows.as_slice());
            json.put(&Report {
                schema,
                file: &file,
                valid: true,
                entries,
                overrides,
                lints,
                trial,
                ..Report::default()
            })?;
            trial.map_or(Ok(()), Trial::outcome)?;
            linted::outcome(&file, rows.len(), &args)
        }
        Err(error) => {
            let message = error.problem.to_string();
            let fault = fault(&error.problem, &message);
            let report = Report { schema, file: &file, valid: false, error: Some(fault), ..Report::default() };
            json.put(&report)?;
            Err(Failure::Kernel { path: file, error: Box::new(error) })
        }
    }
}

/// There are three axes.
fn groups_of(args: &CheckArgs) -> Result<(), Failure> {
    match args.groups.len() {
        0..=3 => Ok(()),
        more => Err(Failure::Usage(format!("--groups has {more} numbers; x, y and z are the most"))),
    }
}

/// The file's text, when it is one of bearable length.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let bytes = File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if bytes as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it is longer than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    Ok(text)
}

fn fault<'a>(problem: &'a KernelProblem, text: &'a str) -> Fault<'a> {
    match problem {
        KernelProblem::Parse { line, column, message, rendered }
        | KernelProblem::Validate { line, column, message, rendered } => {
            let known = |place: u32| (place > 0).then_some(place);
            Fault { line: known(*line), column: known(*column), message, rendered: Some(rendered) }
        }
        _ => Fault { line: None, column: None, message: text, rendered: None },
    }
}

/// `FILE:LINE:COLUMN: message`, as editors read it, and naga's rendering below.
pub(crate) fn complaint(path: &str, error: &InvalidKernel) -> String {
    let message = error.problem.to_string();
    let fault = fault(&error.problem, &message);
    let mut text = path.to_owned();
    if let (Some(line), Some(column)) = (fault.line, fault.column) {
        let _ = write!(text, ":{line}:{column}");
    }
    let _ = write!(text, ": {}", fault.message);
    if let Some(rendered) = fault.rendered {
        let _ = write!(text, "\n{}", rendered.trim_end());
    }
    text
}

fn describe(file: &str, entries: &[EntryInfo], overrides: &[OverrideInfo]) -> String {
    let mut text =
        format!("{file}: valid, {} entry point{}\n", entries.len(), if entries.len() == 1 { "" } else { "s" });
    for declared in overrides {
        let _ = writeln!(text, "{}", describe_override(declared));
    }
    for entry in entries {
        let _ = write!(text, "\n@{} {}", entry.stage, entry.name);
        match &entry.reflection {
            Some(reflection) => describe_entry(&mut text, reflection),
            None if entry.stage == "compute" => text.push_str(": shown in full once its overrides have values\n"),
            None => text.push_str(": cannot be launched, only compute entry points can\n"),
        }
    }
    text
}

/// `override NAME: TYPE`, with the number by which it may be given too, and whether it has to be.
fn describe_override(declared: &OverrideInfo) -> String {
    let OverrideInfo { name, id, ty, required } = declared;
    let id = id.map(|id| format!("@id({id})"));
    let label = [id.as_deref(), name.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    format!("override {label}: {ty}, {}", if *required { "needs a value" } else { "has a default" })
}

fn describe_entry(text: &mut String, reflection: &Reflection) {
    let [x, y, z] = reflection.workgroup_size;
    let _ = writeln!(text, ": workgroups of {x} x {y} x {z}, {} bytes of workgroup memory", reflection.workgroup_bytes);
    if !reflection.needs.is_empty() {
        let _ = writeln!(text, "needs {}", reflection.needs.join(", "));
    }
    if !reflection.bindings.is_empty() {
        let mut table = Table::new();
        table.load_preset(comfy_table::presets::UTF8_BORDERS_ONLY);
        table.set_header(["binding", "name", "space", "access", "bytes at least", "and then each"]);
        for binding in &reflection.bindings {
            table.add_row(binding_row(binding));
        }
        let _ = writeln!(text, "{table}");
    }
    for member in &reflection.immediates {
        let _ = writeln!(text, "scalar {}: {} at byte {}", member.name, member.ty, member.offset);
    }
}

fn binding_row(binding: &BindingInfo) -> [String; 6] {
    [
        format!("{}.{}", binding.group, binding.binding),
        binding.name.clone(),
        match binding.space {
            graphreel::kernel::BindingSpace::Storage => "storage".to_owned(),
            graphreel::kernel::BindingSpace::Uniform => "uniform".to_owned(),
        },
        binding.access.map_or_else(|| "unused".to_owned(), |access| access.to_string()),
        binding.min_bytes.to_string(),
        binding.runtime_stride.map_or_else(String::new, |stride| stride.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_begins_with_the_place() {
        let problem = KernelProblem::Parse {
            line: 3,
            column: 7,
            message: "expected `;`".to_owned(),
            rendered: "error: expected `;`\n".to_owned(),
        };
        let error = InvalidKernel { kernel: Some("k".to_owned()), problem };
        assert_eq!(complaint("a.wgsl", &error), "a.wgsl:3:7: expected `;`\nerror: expected `;`");
    }

    #[test]
    fn a_problem_without_a_place_names_none() {
        let problem =
            KernelProblem::Validate { line: 0, column: 0, message: "no".to_owned(), rendered: "no".to_owned() };
        let fault = fault(&problem, "");
        assert_eq!((fault.line, fault.column), (None, None));
    }
}
