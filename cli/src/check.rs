//! `graphreel check FILE.wgsl`: does it parse, is it valid, and what do its entry points take.

use std::fmt::Write as _;
use std::fs;

use comfy_table::Table;
use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::kernel::{BindingInfo, EntryInfo, Reflection, inspect};
use serde::Serialize;

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::output::{self, Json};

/// The object of `check --json`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: &'a str,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<&'a [EntryInfo]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault<'a>>,
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
/// [`Failure::Read`]; [`Failure::Kernel`] when the file does not hold valid WGSL.
pub(crate) fn run(args: CheckArgs) -> Result<(), Failure> {
    let json = Json::new(args.json.json);
    json.check()?;
    let file = args.file.display().to_string();
    let text = fs::read_to_string(&args.file).map_err(|source| Failure::Read { path: file.clone(), source })?;
    let schema = "graphreel.check/1";
    match inspect(&text) {
        Ok(entries) => {
            json.put(&Report { schema, file: &file, valid: true, entries: Some(&entries), error: None })?;
            if json.leaves_stdout() { output::print(&describe(&file, &entries)) } else { Ok(()) }
        }
        Err(error) => {
            let message = error.problem.to_string();
            let fault = fault(&error.problem, &message);
            json.put(&Report { schema, file: &file, valid: false, entries: None, error: Some(fault) })?;
            Err(Failure::Kernel { path: file, error: Box::new(error) })
        }
    }
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

fn describe(file: &str, entries: &[EntryInfo]) -> String {
    let mut text =
        format!("{file}: valid, {} entry point{}\n", entries.len(), if entries.len() == 1 { "" } else { "s" });
    for entry in entries {
        let _ = write!(text, "\n@{} {}", entry.stage, entry.name);
        match &entry.reflection {
            Some(reflection) => describe_entry(&mut text, reflection),
            None if entry.stage == "compute" => text.push_str(": needs values for its overrides\n"),
            None => text.push_str(": cannot be launched, only compute entry points can\n"),
        }
    }
    text
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
