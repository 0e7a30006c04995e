//! Every expectation file, without a device: it decodes to its last byte, its lists all have a test, and each that is for
//! devices has a kernel that the core accepts at every width.

use graphreel::Wgsl;
use graphreel::kernel::reflect;
use graphreel_cts::suite::FILES;
use graphreel_cts::{Plan, PlanError, Scalar, ScalarKind, Shape, Value, folder, judge, load};
use graphreel_testkit::announce;

#[test]
fn every_file_has_a_test_and_every_test_a_file() {
    let Some(dir) = folder::named() else {
        announce("skipped, GRAPHREEL_CTS_DIR names no folder");
        return;
    };
    let found = folder::files(&dir).expect("the folder can be read");
    assert_eq!(found, FILES);
}

#[test]
fn every_list_is_decoded_and_planned() {
    let Some(dir) = folder::named() else {
        announce("skipped, GRAPHREEL_CTS_DIR names no folder");
        return;
    };
    let (mut lists, mut cases, mut running, mut kernels, mut gaps) = (0, 0, 0, 0, 0);
    for file in FILES {
        let content = load(&folder::path(&dir, file)).unwrap_or_else(|error| panic!("{error}"));
        lists += content.lists.len();
        cases += content.lists.iter().map(|list| list.cases.len()).sum::<usize>();
        for list in content.lists.iter().filter(|list| list.runs()) {
            running += 1;
            for lanes in 1..=4 {
                let plan = match Plan::new(file, list, lanes) {
                    Ok(plan) => plan,
                    Err(PlanError::Lanes) if lanes > 1 => continue,
                    Err(error) => panic!("{file}/{}: {error}", list.name),
                };
                let reflection = reflect(&Wgsl::new(plan.source.as_str()).into());
                if plan.gap.is_some() {
                    assert!(reflection.is_err(), "{file}/{} compiles now: it is no gap any more", list.name);
                    gaps += 1;
                    continue;
                }
                let reflection = reflection.unwrap_or_else(|error| panic!("{error}\n{}", plan.source));
                assert_eq!(reflection.needs, plan.needs, "{file}/{}", list.name);
                kernels += 1;
            }
        }
    }
    announce(&format!(
        "{lists} lists of {cases} cases; {running} lists are for devices, in {kernels} kernels; {gaps} are refused"
    ));
    assert!(running > 250, "only {running} lists are for devices");
}

/// A value with `part` in every component.
fn filled(shape: Shape, part: u8) -> Value {
    let part = match shape.kind() {
        ScalarKind::F32 => Scalar::F32(part.into()),
        ScalarKind::F16 => Scalar::F16(part.into()),
        ScalarKind::U32 => Scalar::U32(part.into()),
        ScalarKind::I32 => Scalar::I32(part.into()),
        ScalarKind::Bool => Scalar::Bool(part != 0),
        other => panic!("no device gives {}", other.name()),
    };
    Value::new(shape, vec![part; shape.components()]).expect("as many components as the shape has")
}

#[test]
fn no_list_takes_whatever_comes() {
    let Some(dir) = folder::named() else {
        announce("skipped, GRAPHREEL_CTS_DIR names no folder");
        return;
    };
    for file in FILES {
        let content = load(&folder::path(&dir, file)).unwrap_or_else(|error| panic!("{error}"));
        for list in content.lists.iter().filter(|list| list.runs()) {
            let shape = list.cases.iter().find_map(|case| case.expected.shape()).expect("a list says its result");
            for part in [0, 1] {
                let got = filled(shape, part);
                let accepted = list.cases.iter().filter(|case| judge(&case.expected, &got)).count();
                assert!(accepted < list.cases.len(), "{file}/{} takes {got} for every case", list.name);
            }
        }
    }
}
