//! Every kernel of `shaders/` on the processor against the interpreter: several sizes, grids that cover the work and grids
//! that have to stride, in both variants.

use std::collections::BTreeSet;

use graphreel::kernel::{KernelSource, Variant};
use graphreel_compilers::host::{Host, Job};
use graphreel_compilers::present;

use crate::corpus;
use crate::interpreter::{Close, Launch};
use crate::rig::{Form, programs, run};

/// `exp`, `tanh` and `inverseSqrt` are each library's own, a few units in the last place (6e-8) apart; the kernels that use
/// them scale that by what they multiply it with, which for the inputs here is below a hundred.
const LIBRARY: Close = Close::Within { relative: 1e-5, absolute: 1e-5 };

/// One launch.
struct Case {
    entry: &'static str,
    close: Close,
    launch: Launch,
}

fn floats(n: usize, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| (random.f32() * 6.0 - 3.0).to_bits()).collect()
}

fn whole(n: usize, bound: u32, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.u32(0..bound)).collect()
}

/// What an output holds that a kernel writes whole: a NaN where it is read as a float.
fn blank(n: usize) -> Vec<u32> {
    vec![0x7fc1_2345; n]
}

fn case(entry: &'static str, [x, y]: [u32; 2], scalars: &[u32], buffers: Vec<Vec<u32>>) -> Case {
    let launch = Launch { groups: [x, y, 1], scalars: scalars.to_vec(), buffers };
    Case { entry, close: Close::Bits, launch }
}

/// Kernels over vectors of `n` elements.
fn vectors(n: usize, cases: &mut Vec<Case>) {
    let (a, b) = (floats(n, 1), floats(n, 2));
    let natural = n.div_ceil(256) as u32;
    for groups in [natural, natural.min(3)].map(|x| [x, 1]) {
        let words = whole(n, u32::MAX, 3);
        cases.push(case("add", groups, &[], vec![a.clone(), b.clone(), blank(n)]));
        cases.push(case("mul", groups, &[], vec![a.clone(), b.clone(), blank(n)]));
        cases.push(case("saxpy", groups, &[0.37f32.to_bits()], vec![a.clone(), b.clone()]));
        cases.push(case("fill", groups, &[(-1.5f32).to_bits()], vec![a.clone()]));
        cases.push(Case { close: LIBRARY, ..case("gelu", groups, &[], vec![a.clone(), blank(n)]) });
        cases.push(case("increment", groups, &[], vec![words]));
        cases.push(case("spin", groups, &[20], vec![blank(n)]));
        cases.push(case("histogram", groups, &[50], vec![whole(n, 60, 4), vec![0; 50]]));
        cases.push(case("reduce_sum", groups, &[], vec![a.clone(), blank(groups[0] as usize)]));
    }
    let (words, blocks) = (whole(n, u32::MAX, 5), n.div_ceil(1024));
    let sums = whole(blocks, u32::MAX, 6);
    for groups in [blocks as u32, 1].map(|x| [x, 1]) {
        cases.push(case("scan_blocks", groups, &[], vec![words.clone(), blank(n), blank(blocks)]));
        cases.push(case("add_sums", groups, &[], vec![words.clone(), sums.clone()]));
    }
    cases.push(case("scan_sums", [1, 1], &[], vec![words]));
}

/// Kernels over matrices.
fn matrices(rows: usize, columns: usize, cases: &mut Vec<Case>) {
    let n = rows * columns;
    let x = floats(n, 7);
    let (gamma, beta) = (floats(columns, 8), floats(columns, 9));
    let rounded = floats(n, 10).into_iter().map(|bits| f32::from_bits(bits).round().to_bits()).collect();
    let (height, width) = (rows as u32, columns as u32);
    let epsilon = 1e-5f32.to_bits();
    let softmax = case("softmax", [height, 1], &[width], vec![x.clone(), blank(n)]);
    cases.push(Case { close: LIBRARY, ..softmax });
    let norm = case("layer_norm", [height.min(3), 1], &[width, epsilon], vec![x.clone(), gamma, beta, blank(n)]);
    cases.push(Case { close: LIBRARY, ..norm });
    cases.push(case("argmax", [height, 1], &[width], vec![rounded, blank(rows)]));
    for groups in [[width.div_ceil(16), height.div_ceil(16)], [1, 2]] {
        cases.push(case("transpose", groups, &[height, width], vec![x.clone(), blank(n)]));
    }
}

/// Products of an m x k and a k x n matrix.
fn products([m, n, k]: [usize; 3], cases: &mut Vec<Case>) {
    let (a, b, bias) = (floats(m * k, 11), floats(k * n, 12), floats(n, 13));
    let sizes = [m, n, k].map(|size| size as u32);
    for groups in [[sizes[1].div_ceil(16), sizes[0].div_ceil(16)], [2, 1]] {
        cases.push(case("matmul", groups, &sizes, vec![a.clone(), b.clone(), blank(m * n)]));
        let scalars = [sizes[0], sizes[2], sizes[1], u32::from(groups[1] == 1)];
        let buffers = vec![a.clone(), b.clone(), bias.clone(), blank(m * n)];
        cases.push(case("dense", groups, &scalars, buffers));
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    [1, 257, 1023, 3000].into_iter().for_each(|n| vectors(n, &mut cases));
    [(1, 1), (5, 3), (7, 300), (40, 33)].into_iter().for_each(|(rows, columns)| matrices(rows, columns, &mut cases));
    [[1, 1, 1], [17, 5, 33], [40, 50, 7]].into_iter().for_each(|sizes| products(sizes, &mut cases));
    cases
}

/// In the indirect variant more workgroups are launched than counted.
fn job(kernel: usize, case: &Case, variant: Variant) -> Job {
    let job = case.launch.job(kernel);
    let [x, y, z] = job.groups;
    let groups = if variant == Variant::Direct { job.groups } else { [x + 1, y + 1, z] };
    Job { groups, ..job }
}

fn compare(test: &str, variant: Variant) {
    let Some(host) = present(test, Host::find()) else { return };
    let (subjects, cases) = (corpus::shaders(), cases());
    let number = |case: &Case| {
        let named = |source: &KernelSource| source.entry.as_deref() == Some(case.entry);
        subjects.iter().position(|subject| named(&subject.source)).unwrap()
    };
    let covered: BTreeSet<usize> = cases.iter().map(number).collect();
    assert_eq!(covered.len(), subjects.len(), "every entry point has a case");
    let jobs: Vec<Job> = cases.iter().map(|case| job(number(case), case, variant)).collect();
    let results = run(&mut programs(&host, &subjects, Form::host(variant)), &jobs);
    let mut failed = Vec::new();
    for (case, result) in cases.iter().zip(results) {
        let Launch { groups, buffers, .. } = &case.launch;
        let what = format!("`{}` with {groups:?} workgroups over {} words", case.entry, buffers[0].len());
        failed.extend(case.launch.wrong(&what, case.close, (&subjects[number(case)].source, 32), result));
    }
    assert!(failed.is_empty(), "{} of {} launches fail:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn every_shader_computes_what_the_interpreter_does() {
    compare("every_shader_computes_what_the_interpreter_does", Variant::Direct);
}

#[test]
fn every_shader_takes_its_grid_from_memory() {
    compare("every_shader_takes_its_grid_from_memory", Variant::Indirect);
}
