//! Random kernels, run by the simulator: an index that is proven is never found out of range, nor a divisor or an amount that
//! is proven one that has to be mended. `GRAPHREEL_SEED` repeats a failure; `GRAPHREEL_THOROUGH=1` runs 20,000.

use std::collections::BTreeSet;

use graphreel::kernel::KernelSource;
use graphreel::sync::atomic::Ordering;
use graphreel_sim::interp::{Dispatch, FindingKind, Program, ProgramOptions, View};
use graphreel_sim::memory::Memory;

use super::generate::{BAD, generate};
use super::lines;
use crate::Loops;

/// What a kernel showed.
#[derive(Debug, Default)]
struct Seen {
    questions: usize,
    proven: usize,
    out_of_range: usize,
    bad: usize,
    refused: usize,
}

/// Words of `data`, small ones and great ones.
fn words(rng: &mut fastrand::Rng) -> Vec<u32> {
    let small = rng.bool();
    (0..3 + rng.usize(..20)).map(|_| if small || rng.bool() { rng.u32(..20) } else { rng.u32(..) }).collect()
}

fn memory(words: &[u32]) -> Memory {
    let memory = Memory::new(words.len() as u64 * 4, 0);
    memory.words().iter().zip(words).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
    memory
}

/// Run a kernel over several inputs: the lines with an index out of range, and the elements of `bad` that were set.
fn run(source: &KernelSource, rng: &mut fastrand::Rng) -> (BTreeSet<u32>, BTreeSet<usize>) {
    let program = Program::new(source, ProgramOptions { subgroup_size: 32 }).unwrap();
    let (mut lines, mut noted) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..3 {
        let buffers = [memory(&words(rng)), memory(&[0; BAD])];
        let views: Vec<_> =
            buffers.iter().map(|memory| View { memory, start: 0, bytes: memory.words().len() as u64 * 4 }).collect();
        let mut scalars = rng.u32(..24).to_le_bytes().to_vec();
        scalars.extend(rng.u32(..).to_le_bytes());
        scalars.truncate(program.reflection().immediates.iter().map(|_| 8).next().unwrap_or(0));
        let dispatch = Dispatch {
            groups: [2, 1, 1],
            scalars: &scalars,
            buffers: &views,
            steps_max: 1 << 20,
            sanitize: true,
            epoch: None,
            threads: 1,
        };
        let report = program.run(&dispatch).unwrap_or_else(|trap| panic!("{trap}"));
        let found = report.findings.iter().filter(|finding| finding.kind == FindingKind::OutOfRange);
        lines.extend(found.map(|finding| finding.line));
        let bad = buffers[1].words().iter().map(|word| word.load(Ordering::Relaxed));
        noted.extend(bad.enumerate().skip(1).filter(|(_, word)| *word != 0).map(|(at, _)| at));
    }
    (lines, noted)
}

fn check_seed(seed: u64, seen: &mut Seen) {
    let generated = generate(seed);
    let source: KernelSource = generated.wgsl.as_str().into();
    if graphreel::kernel::inspect(&generated.wgsl).is_err() {
        // The front end computes what it can, and refuses what wraps there.
        seen.refused += 1;
        return;
    }
    let answers = lines(&source, Some(32), Loops::Trusted);
    let (out_of_range, bad) = run(&source, &mut fastrand::Rng::with_seed(seed));
    let noted: Vec<u32> = generated.noted.iter().filter(|(_, at)| bad.contains(at)).map(|(line, _)| *line).collect();
    let is_noted = |line: &u32| generated.noted.iter().any(|(noted, _)| noted == line);
    for (line, asked) in &answers {
        let all = asked.iter().all(|(_, proven)| *proven);
        let wrong = out_of_range.contains(line) || noted.contains(line);
        let accesses = asked.iter().any(|(asked, _)| *asked == super::Asked::Access);
        if !accesses && !is_noted(line) {
            continue;
        }
        let kind = |(asked, _): &&(super::Asked, bool)| !accesses || *asked == super::Asked::Access;
        let claimed = asked.iter().filter(kind).all(|(_, proven)| *proven);
        seen.questions += 1;
        seen.proven += usize::from(claimed);
        let text = generated.wgsl.lines().nth(*line as usize - 1).unwrap();
        assert!(!(claimed && wrong), "seed {seed}, line {line}: `{text}` was proven ({all})\n{}", generated.wgsl);
    }
    seen.out_of_range += out_of_range.len();
    seen.bad += noted.len();
}

#[test]
fn what_is_proven_holds() {
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let given = std::env::var("GRAPHREEL_SEED").ok().map(|text| text.parse::<u64>().unwrap());
    let (first, count) = match given {
        Some(seed) => (seed, 1),
        None => (0, if thorough { 20_000 } else { 300 }),
    };
    let mut seen = Seen::default();
    (first..first + count).for_each(|seed| check_seed(seed, &mut seen));
    if given.is_none() {
        let Seen { questions, proven, out_of_range, bad, refused } = seen;
        // A test that proves nothing, or in which nothing goes wrong, would be no test.
        let enough =
            proven * 5 > questions && out_of_range * 12 > questions && bad > 50 && refused * 5 < count as usize;
        assert!(enough, "{seen:?}");
    }
}
