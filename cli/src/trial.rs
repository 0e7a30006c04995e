//! One run of every kernel of a file on the simulator, on zeros, with the sanitizer watching.

use std::fmt::Write as _;

use graphreel::device::{ArgList, Device, Grid};
use graphreel::kernel::{EntryInfo, MemberInfo, Reflection, ScalarType, Value};
use graphreel::{ServerError, Wgsl};
use serde::Serialize;

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::finding::{Finding, listed};
use crate::sanitizer::Sanitizer;
use crate::simulated::NO_DEVICE;

/// Elements of each runtime-sized array unless the caller says: no multiple of a workgroup, so that a kernel which does not
/// look where its data ends is found out.
const ELEMENTS: u32 = 1000;

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Trial {
    /// Always: the simulator is no device.
    simulated: bool,
    /// Elements of each runtime-sized array.
    elements: u32,
    /// One for each compute entry point.
    runs: Vec<Run>,
    /// What the sanitizer found.
    findings: Vec<Finding>,
}

/// One kernel's run.
#[derive(Debug, Serialize)]
struct Run {
    entry: String,
    /// Why it did not come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Run every compute entry point once, each on a simulator of its own, so that one that fails leaves the others alone.
///
/// # Errors
///
/// [`Failure::Usage`] for a scalar that no kernel takes; what opening a simulator answers.
pub(crate) fn run(text: &str, entries: &[EntryInfo], args: &CheckArgs) -> Result<Trial, Failure> {
    let takes =
        |name: &str| entries.iter().filter_map(|entry| entry.reflection.as_ref()).any(|kernel| has(kernel, name));
    if let Some((name, _)) = args.scalar.iter().find(|(name, _)| !takes(name)) {
        return Err(Failure::Usage(format!("--scalar {name}: no kernel of the file takes a scalar of that name")));
    }
    let mut trial =
        Trial { simulated: true, elements: args.elements.unwrap_or(ELEMENTS), runs: Vec::new(), findings: Vec::new() };
    for entry in entries.iter().filter(|entry| entry.stage == "compute") {
        let (device, sanitizer) = Sanitizer::open()?;
        let outcome = match &entry.reflection {
            Some(kernel) => launch(&device, text, kernel, args, trial.elements),
            None => Err("its overrides need values, which cannot be given here".to_owned()),
        };
        trial.findings.extend(sanitizer.findings());
        trial.runs.push(Run { entry: entry.name.clone(), error: outcome.err() });
    }
    Ok(trial)
}

fn has(kernel: &Reflection, name: &str) -> bool {
    kernel.immediates.iter().any(|member| member.name == name)
}

fn launch(device: &Device, text: &str, kernel: &Reflection, args: &CheckArgs, elements: u32) -> Result<(), String> {
    let told = |error: ServerError| error.to_string();
    let compiled = device.kernel(Wgsl::new(text).entry(&*kernel.entry)).map_err(told)?;
    let mut list = ArgList::new();
    for binding in &kernel.bindings {
        let array = u64::from(binding.runtime_stride.unwrap_or(0)) * u64::from(elements);
        let bytes = (u64::from(binding.runtime_offset) + array).max(binding.min_bytes).next_multiple_of(4);
        let buffer = device.alloc(bytes).map_err(told)?;
        buffer.fill(0).map_err(told)?;
        list = list.with(&buffer);
    }
    for member in &kernel.immediates {
        list = list.with(scalar(member, &args.scalar)?);
    }
    let grid = match args.groups.as_slice() {
        [] => Grid::cover(elements.into()),
        groups => Grid::Groups([0, 1, 2].map(|axis| groups.get(axis).copied().unwrap_or(1))),
    };
    device.launch(&compiled, grid, list).and_then(|()| device.sync()).map_err(told)
}

/// The value that was given for a scalar.
fn scalar(member: &MemberInfo, given: &[(String, String)]) -> Result<Value, String> {
    let MemberInfo { name, ty, .. } = member;
    let Some((_, text)) = given.iter().rfind(|(known, _)| known == name) else {
        return Err(format!("its scalar {name}: {ty} needs a value; give it with --scalar {name}=.."));
    };
    let refused = || format!("--scalar {name}={text} is no {ty}; components of a vector are separated by commas");
    let mut bytes = Vec::new();
    for part in text.split(',').map(str::trim) {
        bytes.extend(component(ty.scalar, part).ok_or_else(refused)?);
    }
    Value::from_bytes(*ty, &bytes).ok_or_else(refused)
}

fn component(ty: ScalarType, text: &str) -> Option<Vec<u8>> {
    Some(match ty {
        ScalarType::I32 => text.parse::<i32>().ok()?.to_le_bytes().to_vec(),
        ScalarType::U32 => text.parse::<u32>().ok()?.to_le_bytes().to_vec(),
        ScalarType::F32 => text.parse::<f32>().ok()?.to_le_bytes().to_vec(),
        ScalarType::I64 => text.parse::<i64>().ok()?.to_le_bytes().to_vec(),
        ScalarType::U64 => text.parse::<u64>().ok()?.to_le_bytes().to_vec(),
        ScalarType::F64 => text.parse::<f64>().ok()?.to_le_bytes().to_vec(),
        // The standard library has no such type on all compilers that this is built with.
        ScalarType::F16 => return None,
    })
}

impl Trial {
    /// For people.
    pub(crate) fn describe(&self) -> String {
        let Self { elements, runs, findings, .. } = self;
        if runs.is_empty() {
            return format!("\n{NO_DEVICE}: there is no compute entry point to run\n");
        }
        let mut text = format!("\n{NO_DEVICE}: kernels run once, on zeros, {elements} elements in an array\n");
        for Run { entry, error } in runs {
            if let Some(error) = error {
                let _ = writeln!(text, "FAILED: {entry}: {error}");
            }
        }
        text + &listed(findings)
    }

    /// Whether the file passed.
    ///
    /// # Errors
    ///
    /// [`Failure::Runs`] and [`Failure::Findings`].
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        let failed = self.runs.iter().filter(|run| run.error.is_some()).count();
        match (failed, self.findings.len()) {
            (0, 0) => Ok(()),
            (0, findings) => Err(Failure::Findings(findings)),
            (failed, _) => Err(Failure::Runs { failed, runs: self.runs.len() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use graphreel::kernel::ValueType;

    use super::*;

    fn member(scalar: ScalarType, lanes: u8) -> MemberInfo {
        MemberInfo { name: "n".to_owned(), ty: ValueType { scalar, lanes }, offset: 0 }
    }

    #[test]
    fn a_file_without_kernels_does_not_look_as_if_they_passed() {
        let trial = Trial { simulated: true, elements: 1, runs: Vec::new(), findings: Vec::new() };
        assert!(trial.describe().contains("no compute entry point") && trial.outcome().is_ok());
    }

    #[test]
    fn scalars_are_read_by_their_types() {
        let given = |text: &str| [("n".to_owned(), text.to_owned())];
        assert_eq!(scalar(&member(ScalarType::U32, 1), &given("7")), Ok(Value::from(7u32)));
        assert_eq!(scalar(&member(ScalarType::F32, 2), &given("1, -0.5")), Ok(Value::from([1.0f32, -0.5])));
        for (ty, lanes, bad) in [(ScalarType::U32, 1, "-1"), (ScalarType::F32, 3, "1,2"), (ScalarType::F16, 1, "1")] {
            let error = scalar(&member(ty, lanes), &given(bad)).expect_err("no such value");
            assert!(error.contains(bad), "{error}");
        }
        let error = scalar(&member(ScalarType::U32, 1), &[]).expect_err("nothing is given");
        assert!(error.contains("--scalar n=.."), "{error}");
    }
}
