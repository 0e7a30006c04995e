//! The expected results of WGSL on the software device, in strict floating-point mode: what the launches of AMD's runtime give to a
//! kernel and fetch from it. A sample, and under `GRAPHREEL_THOROUGH` every list.

use graphreel::{Config, Device};
use graphreel_cts::suite::FILES;
use graphreel_cts::{Report, folder, load, run_file, run_list};
use graphreel_testkit::announce;
use graphreel_testkit::watched::Live;

use super::ground::{self, settled};

/// Parts that the files are dealt to, so that they run beside each other.
const PARTS: usize = 12;

/// File, list and lanes of the sample: numbers of each kind, one and more operands, matrices, vectors, booleans, a structure as
/// result.
const SAMPLE: [(&str, &str, u8); 8] = [
    ("abs", "f32", 4),
    ("bitcast", "f32_to_i32", 3),
    ("binary/f16_addition", "scalar", 2),
    ("binary/f32_matrix_vector_multiplication", "mat3x3_vec3", 1),
    ("binary/u32_comparison", "less_than", 1),
    ("modf", "f32_fract", 1),
    ("transpose", "f32_mat4x3_non_const", 1),
    ("unary/bool_conversion", "f32", 1),
];

/// The device, given back once `body` has run.
fn on_device(test: &str, body: impl FnOnce(&Device, &std::path::Path) -> Report) {
    if !ground::there(test) {
        return;
    }
    let Some(dir) = folder::named() else {
        announce(&format!("{test}: SKIPPED, GRAPHREEL_CTS_DIR names no folder"));
        return;
    };
    let (device, watch) = ground::device(&Config::default().tiers, Vec::new()).expect("the device opens");
    let report = body(&device, &dir);
    drop(device);
    assert_eq!(settled(&watch), Live::default(), "{test}");
    assert!(!report.lists.is_empty(), "{test}: nothing was run");
    assert_eq!(report.failures().count(), 0, "{report}");
    announce(&format!("{test}: {report}"));
}

#[test]
fn a_sample_of_the_lists_is_met() {
    on_device("cts::a_sample_of_the_lists_is_met", |device, dir| {
        let mut report = Report::default();
        for (file, name, lanes) in SAMPLE {
            let content = load(&folder::path(dir, file)).unwrap_or_else(|error| panic!("{error}"));
            let list = content.lists.iter().find(|list| list.name == name);
            let names = || content.lists.iter().map(|list| list.name.as_str()).collect::<Vec<_>>();
            let list = list.unwrap_or_else(|| panic!("{file} has no {name}, but {:?}", names()));
            report.lists.push(run_list(device, file, list, lanes));
        }
        assert!(report.lists.iter().all(|list| list.passed()), "{report}");
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
        let run = |file: &&str| {
            let content = load(&folder::path(dir, file)).unwrap_or_else(|error| panic!("{error}"));
            run_file(device, file, &content)
        };
        Report { lists: files.flat_map(|file| run(&file)).collect() }
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
