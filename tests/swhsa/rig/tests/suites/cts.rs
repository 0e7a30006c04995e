//! The expected results of WGSL on the software device, in strict floating-point mode: what the launches of AMD's runtime give to a
//! kernel and fetch from it. A sample, and under `GRAPHREEL_THOROUGH` every list.

use std::path::Path;

use graphreel::Device;
use graphreel::recording::Tier;
use graphreel_cts::report::ListReport;
use graphreel_cts::suite::FILES;
use graphreel_cts::{File, Plan, Report, folder, load, run_file, run_list};
use graphreel_testkit::announce;
use graphreel_testkit::watched::Live;

use super::ground::{self, settled};

/// Parts that the files are dealt to, so that they run beside each other.
const PARTS: usize = 12;

/// The files of the sample: numbers of each kind, one and more operands, matrices, vectors, booleans, a structure as result.
const SAMPLE: [&str; 8] = [
    "abs",
    "binary/f16_addition",
    "binary/f32_matrix_vector_multiplication",
    "binary/u32_comparison",
    "ldexp",
    "modf",
    "pack2x16float",
    "transpose",
];

/// The device, given back once `body` has run.
fn on_device(test: &str, body: impl FnOnce(&Device, &Path) -> Report) {
    if !ground::there(test) {
        return;
    }
    let Some(dir) = folder::named() else {
        announce(&format!("{test}: SKIPPED, GRAPHREEL_CTS_DIR names no folder"));
        return;
    };
    let (device, watch) = ground::device(&Tier::ALL, Vec::new()).expect("the device opens");
    let report = body(&device, &dir);
    drop(device);
    assert_eq!(settled(&watch), Live::default(), "{test}");
    assert!(!report.lists.is_empty(), "{test}: nothing was run");
    assert_eq!(report.failures().count(), 0, "{report}");
    announce(&format!("{test}: {report}"));
}

/// The content of a file.
fn content(dir: &Path, file: &str) -> File {
    load(&folder::path(dir, file)).unwrap_or_else(|error| panic!("{error}"))
}

/// The first list of each file of the sample, as vectors of four where it has them.
#[test]
fn a_sample_of_the_lists_is_met() {
    on_device("cts::a_sample_of_the_lists_is_met", |device, dir| {
        let run = |file: &str| {
            let content = content(dir, file);
            let list = content.lists.iter().find(|list| list.runs()).expect("the file has a list for devices");
            let lanes = if Plan::new(file, list, 4).is_ok() { 4 } else { 1 };
            run_list(device, file, list, lanes)
        };
        let report = Report { lists: SAMPLE.map(run).into() };
        assert!(report.lists.iter().all(ListReport::passed), "nothing of it is skipped: {report}");
        report
    });
}

/// Every list of each `PARTS`-th file, at every width.
fn part(test: &str, part: usize) {
    if !ground::thorough() {
        announce(&format!("{test}: SKIPPED, GRAPHREEL_THOROUGH runs it"));
        return;
    }
    on_device(test, |device, dir| {
        let files = FILES.iter().skip(part).step_by(PARTS);
        Report { lists: files.flat_map(|file| run_file(device, file, &content(dir, file))).collect() }
    });
}

macro_rules! parts {
    ($($name:ident $part:literal)*) => {
        $(
            #[test]
            fn $name() {
                part(concat!("cts::", stringify!($name)), $part);
            }
        )*

        #[test]
        fn every_file_is_in_a_part() {
            assert_eq!([$($part),*], std::array::from_fn::<usize, PARTS, _>(|part| part));
        }
    };
}

parts! {
    part_0 0 part_1 1 part_2 2 part_3 3 part_4 4 part_5 5 part_6 6 part_7 7 part_8 8 part_9 9 part_10 10 part_11 11
}
