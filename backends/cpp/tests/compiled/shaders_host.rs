//! Every kernel of `shaders/` on the processor against the interpreter: several sizes, grids that cover the work and grids
//! that have to stride, in both variants.

use std::collections::BTreeSet;

use graphreel::kernel::{KernelSource, Variant};
use graphreel::sync::atomic::Ordering;
use graphreel_compilers::host::{Host, Job};
use graphreel_compilers::present;
use graphreel_sim::interp::{Dispatch, Program, ProgramOptions, View};
use graphreel_sim::memory::Memory;

use crate::corpus;
use crate::rig::{Form, programs, run};

/// How far a float may be from the interpreter's.
#[derive(Clone, Copy)]
enum Close {
    /// The same bits: moves, integers, and floats whose every step both sides round exactly and in the same order.
    Bits,
    /// `|got - want| <= absolute + relative * |want|`.
    Within { relative: f32, absolute: f32 },
}

/// `exp`, `tanh` and `inverseSqrt` are each library's own, a few units in the last place (6e-8) apart; the kernels that use
/// them scale that by what they multiply it with, which for the inputs here is below a hundred.
const LIBRARY: Close = Close::Within { relative: 1e-5, absolute: 1e-5 };

/// One launch.
struct Case {
    entry: &'static str,
    close: Close,
    groups: [u32; 2],
    scalars: Vec<u32>,
    buffers: Vec<Vec<u32>>,
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

fn case(entry: &'static str, groups: [u32; 2], scalars: &[u32], buffers: Vec<Vec<u32>>) -> Case {
    Case { entry, close: Close::Bits, groups, scalars: scalars.to_vec(), buffers }
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

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The buffers after the interpreter's run.
fn interpreted(source: &KernelSource, case: &Case) -> Vec<Vec<u32>> {
    let program = Program::new(source, ProgramOptions { subgroup_size: 32 }).unwrap();
    let memory = |words: &Vec<u32>| {
        let memory = Memory::new(words.len() as u64 * 4, 0);
        memory.words().iter().zip(words).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
        memory
    };
    let memories: Vec<Memory> = case.buffers.iter().map(memory).collect();
    let view = |memory| View { memory, start: 0, bytes: memory.words().len() as u64 * 4 };
    let buffers: Vec<View<'_>> = memories.iter().map(view).collect();
    let [x, y] = case.groups;
    let dispatch = Dispatch {
        groups: [x, y, 1],
        scalars: &bytes(&case.scalars),
        buffers: &buffers,
        steps_max: 1 << 32,
        sanitize: false,
        epoch: None,
        threads: 1,
    };
    program.run(&dispatch).unwrap();
    let words = |memory: &Memory| memory.words().iter().map(|word| word.load(Ordering::Relaxed)).collect();
    memories.iter().map(words).collect()
}

/// The first word that is too far off, if any.
fn wrong(close: Close, got: &[u8], want: &[u32]) -> Option<String> {
    let got = got.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    let near = |got: u32, want: u32| match close {
        Close::Bits => got == want,
        Close::Within { relative, absolute } => {
            let (got, want) = (f32::from_bits(got), f32::from_bits(want));
            (got - want).abs() <= absolute + relative * want.abs()
        }
    };
    let (index, (got, want)) = got.zip(want).enumerate().find(|(_, (got, want))| !near(*got, **want))?;
    Some(format!("word {index} is {got:#x} ({}) and not {want:#x} ({})", f32::from_bits(got), f32::from_bits(*want)))
}

/// In the indirect variant more workgroups are launched than counted.
fn job(kernel: usize, case: &Case, variant: Variant) -> Job {
    let [x, y] = case.groups;
    let groups = if variant == Variant::Direct { [x, y, 1] } else { [x + 1, y + 1, 1] };
    let buffers = case.buffers.iter().map(|words| bytes(words)).collect();
    Job { kernel, groups, scalars: bytes(&case.scalars), buffers, counts: [x, y, 1] }
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
        let what = format!("`{}` with {:?} workgroups over {} words", case.entry, case.groups, case.buffers[0].len());
        let want = interpreted(&subjects[number(case)].source, case);
        match result {
            Ok(got) => {
                let parts = got.iter().zip(&want).enumerate();
                let parts = parts.filter_map(|(part, (got, want))| Some((part, wrong(case.close, got, want)?)));
                failed.extend(parts.map(|(part, wrong)| format!("{what}: buffer {part}: {wrong}")));
            }
            Err(why) => failed.push(format!("{what}: {why}")),
        }
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
