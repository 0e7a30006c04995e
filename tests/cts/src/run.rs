//! Runs lists on a device: one dispatch each, and each result judged.

use std::path::Path;

use graphreel::{Device, Grid, ServerError, Wgsl};

use crate::report::{ListReport, Outcome, Report};
use crate::{File, List, LoadError, Plan, PlanError, RunError, folder, load};

/// Run `list` of `file`, which is its path in the folder without the ending. `lanes` as for [`Plan::new`].
pub fn run_list(device: &Device, file: &str, list: &List, lanes: u8) -> ListReport {
    let outcome = dispatch(device, file, list, lanes).unwrap_or_else(Outcome::Error);
    ListReport { file: file.to_owned(), list: list.name.clone(), lanes, cases: list.cases.len(), outcome }
}

/// Run `list` as it is, and where it is of scalars and works by component, as vectors of 2, 3 and 4 too.
pub fn run_widths(device: &Device, file: &str, list: &List) -> Vec<ListReport> {
    // What cannot be planned at all is reported once.
    let widest = if Plan::new(file, list, 1).is_ok() { 4 } else { 1 };
    let possible = |lanes: &u8| *lanes == 1 || !matches!(Plan::new(file, list, *lanes), Err(PlanError::Lanes));
    (1..=widest).filter(possible).map(|lanes| run_list(device, file, list, lanes)).collect()
}

/// Run every list of `content` that is for devices.
pub fn run_file(device: &Device, file: &str, content: &File) -> Vec<ListReport> {
    content.lists.iter().filter(|list| list.runs()).flat_map(|list| run_widths(device, file, list)).collect()
}

/// Run every file of the folder `dir`.
///
/// # Errors
///
/// [`LoadError`] where the folder or a file of it cannot be read.
pub fn run_all(device: &Device, dir: &Path) -> Result<Report, LoadError> {
    let mut report = Report::default();
    for file in folder::files(dir)? {
        report.lists.extend(run_file(device, &file, &load(&folder::path(dir, &file))?));
    }
    Ok(report)
}

fn dispatch(device: &Device, file: &str, list: &List, lanes: u8) -> Result<Outcome, RunError> {
    let plan = Plan::new(file, list, lanes)?;
    let has = |feature: &&str| device.caps().features.iter().any(|known| known == feature);
    if let Some(feature) = plan.needs.iter().find(|feature| !has(feature)) {
        return Ok(Outcome::Lacks(feature));
    }
    let written = match (execute(device, &plan), plan.gap) {
        (Err(ServerError::InvalidKernel(_)), Some(why)) => return Ok(Outcome::Gap(why)),
        (written, _) => written?,
    };
    Ok(Outcome::judged(list, plan.results(&written)?))
}

fn execute(device: &Device, plan: &Plan) -> graphreel::Result<Vec<u8>> {
    let kernel = device.kernel(Wgsl::new(plan.source.as_str()).entry(plan.entry))?;
    let inputs = device.upload(&plan.inputs)?;
    let outputs = device.alloc(plan.output_bytes as u64)?;
    device.launch(&kernel, Grid::cover(u64::from(plan.invocations)), (&inputs, &outputs))?;
    outputs.read()
}
