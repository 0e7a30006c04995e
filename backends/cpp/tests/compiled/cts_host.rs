//! What the written kernels compute on the processor, against the results that WGSL accepts.

use graphreel::kernel::Variant;
use graphreel_compilers::host::{Host, Job};
use graphreel_compilers::{announce, present};
use graphreel_cts::report::Outcome;
use graphreel_cts::{ListReport, Report};

use crate::corpus::{Listed, lists};
use crate::rig::{Form, Subject, programs, run, written};

const TEST: &str = "every_list_is_met_on_the_processor";

/// The job of a list: the operands of every case in, and room for every result, which holds what no case gives.
fn job(kernel: usize, listed: &Listed) -> Job {
    let plan = &listed.plan;
    let groups = [plan.invocations.div_ceil(64), 1, 1];
    Job { kernel, groups, buffers: vec![plan.inputs.clone(), vec![0xa5; plan.output_bytes]], ..Job::default() }
}

fn report(listed: &Listed, outcome: Outcome) -> ListReport {
    let Listed { file, lanes, list, .. } = listed;
    ListReport { file: file.clone(), list: list.name.clone(), lanes: *lanes, cases: list.cases.len(), outcome }
}

#[test]
fn every_list_is_met_on_the_processor() {
    let Some(host) = present(TEST, Host::find()) else { return };
    let Some(lists) = lists() else {
        return announce(&format!("{TEST}: SKIPPED, GRAPHREEL_CTS_DIR names no folder"));
    };
    let form = Form::host(Variant::Direct);
    let (mut reports, mut broken) = (Report::default(), Vec::new());
    let mut known: Vec<(&Listed, Subject)> = Vec::new();
    for listed in &lists {
        let subject = listed.subject();
        match (written(0, &subject, form), listed.plan.gap) {
            (Ok(_), _) => known.push((listed, subject)),
            (Err(_), Some(why)) => reports.lists.push(report(listed, Outcome::Gap(why))),
            (Err(why), None) => broken.push(why),
        }
    }
    assert!(broken.is_empty(), "{} lists are not written:\n{}", broken.len(), broken.join("\n"));
    let subjects: Vec<Subject> = known.iter().map(|(_, subject)| subject.clone()).collect();
    let jobs: Vec<Job> = known.iter().enumerate().map(|(number, (listed, _))| job(number, listed)).collect();
    let results = run(&mut programs(&host, &subjects, form), &jobs);
    for ((listed, _), result) in known.iter().zip(results) {
        match result.and_then(|buffers| listed.plan.results(&buffers[1]).map_err(|error| error.to_string())) {
            Ok(values) => reports.lists.push(report(listed, Outcome::judged(&listed.list, values))),
            Err(why) => broken.push(why),
        }
    }
    announce(&format!("{TEST}: {} lists", reports.lists.len()));
    assert!(broken.is_empty(), "{} lists did not run:\n{}", broken.len(), broken.join("\n"));
    assert!(reports.failures().next().is_none(), "{reports}");
}
