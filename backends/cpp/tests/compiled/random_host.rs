//! Random kernels on the processor against the interpreter, byte for byte. 400 of them, 2,000 with `GRAPHREEL_THOROUGH=1`;
//! `GRAPHREEL_SEED` repeats one. The first that fails is printed as small as it could be made.

#[path = "../../../../tests/wgslgen/tests/simulator/oracle.rs"]
mod oracle;

use graphreel::kernel::Variant;
use graphreel_compilers::host::{CompileError, Host, Job, Kernel as Symbol, Program, Unit};
use graphreel_compilers::present;
use graphreel_cpp::{HOST_RUNTIME, Translation, join};
use graphreel_wgslgen::{Kernel, Options, Subgroups, generate, shrink};

use self::oracle::{Run, outcome, source};
use crate::rig::{Form, KERNELS_PER_UNIT, Subject, thorough, written};

/// Seconds that one launch may take.
const SECONDS: u32 = 60;

/// Kernels that are compiled to make a failing one small, each in a second or two.
const COMPILES_MAX: u32 = 120;

/// The size of subgroups on the processor.
const RUN: Run = Run { threads: 1, subgroup_size: 32 };

/// What the kernels of a seed may use.
fn options(seed: u64) -> Options {
    match seed % 3 {
        0 => Options::full(),
        1 => Options { subgroups: Subgroups::Exact(32), ..Options::full() },
        _ => Options::portable(),
    }
}

/// The seeds of one of four parts, which tests take side by side; the first part has the seed that was given.
fn seeds(part: u64) -> std::ops::Range<u64> {
    let given = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.trim().parse::<u64>().ok());
    let many = if thorough() { 500 } else { 100 };
    match (given, part) {
        (Some(seed), 0) => seed..seed + 1,
        (Some(_), _) => 0..0,
        (None, part) => part * many..(part + 1) * many,
    }
}

/// A kernel as C++, or what the writer has against it.
fn text(number: usize, kernel: &Kernel) -> Result<Translation, String> {
    written(number, &subject(kernel), Form::host(Variant::Direct))
}

fn subject(kernel: &Kernel) -> Subject {
    Subject { name: format!("seed{}", kernel.seed()), source: source(kernel) }
}

/// The program of some kernels.
fn program(host: &Host, kernels: &[&Kernel], texts: &[Translation]) -> Result<Program, CompileError> {
    let symbol = |(kernel, text): (&&Kernel, &Translation)| Symbol {
        name: subject(kernel).name,
        symbol: text.symbol.clone(),
        reflection: text.reflection.clone(),
        params: text.params.clone(),
    };
    let symbols = kernels.iter().zip(texts).map(symbol).collect();
    host.compile(&Unit { source: join(texts), kernels: symbols, runtime: HOST_RUNTIME })
}

/// What is wrong with each of some kernels that share a unit; none for those that do what the interpreter does.
fn failures(host: &Host, kernels: &[&Kernel]) -> Vec<Option<String>> {
    if kernels.is_empty() {
        return Vec::new();
    }
    let texts: Result<Vec<Translation>, String> =
        kernels.iter().enumerate().map(|(number, kernel)| text(number, kernel)).collect();
    let compiled = texts.map(|texts| program(host, kernels, &texts));
    let mut program = match (compiled, kernels) {
        (Ok(Ok(program)), _) => program,
        (Ok(Err(error)), [_]) => return vec![Some(error.to_string())],
        (Err(why), [_]) => return vec![Some(why)],
        // Whose fault it is shows when the two are apart.
        (Ok(Err(CompileError::Refused { kernels: blamed, .. })), _) => return apart(host, kernels, &blamed),
        (Ok(Err(_)) | Err(_), _) => return kernels.iter().flat_map(|kernel| failures(host, &[kernel])).collect(),
    };
    let job = |(number, kernel): (usize, &&Kernel)| Job {
        kernel: number,
        groups: kernel.groups(),
        scalars: kernel.scalars(),
        buffers: kernel.buffers().into_iter().map(|buffer| buffer.bytes).collect(),
        counts: kernel.groups(),
    };
    let jobs: Vec<Job> = kernels.iter().enumerate().map(job).collect();
    let results = program.run(&jobs, SECONDS).unwrap();
    kernels
        .iter()
        .zip(results)
        .map(|(kernel, result)| wrong(kernel, result.map_err(|failure| failure.to_string())))
        .collect()
}

/// The failures of kernels of which the compiler blames some, by name: those one by one, and the others together.
fn apart(host: &Host, kernels: &[&Kernel], blamed: &str) -> Vec<Option<String>> {
    let is_blamed = |kernel: &Kernel| blamed.split(", ").any(|name| name == subject(kernel).name);
    let others: Vec<&Kernel> = kernels.iter().copied().filter(|kernel| !is_blamed(kernel)).collect();
    let others = if others.is_empty() || others.len() == kernels.len() { Vec::new() } else { others };
    let mut results = failures(host, &others).into_iter();
    let mut own = |kernel: &&Kernel| {
        let known = others.iter().any(|other| other.seed() == kernel.seed());
        if known { results.next().flatten() } else { failures(host, &[kernel]).remove(0) }
    };
    kernels.iter().map(&mut own).collect()
}

/// How a result differs from the interpreter's.
fn wrong(kernel: &Kernel, result: Result<Vec<Vec<u8>>, String>) -> Option<String> {
    let expected =
        outcome(kernel, RUN).unwrap_or_else(|why| panic!("seed {}: {why}\n{}", kernel.seed(), kernel.wgsl()));
    let got = match result {
        Ok(got) => got,
        Err(why) => return Some(why),
    };
    kernel.buffers().iter().zip(got.into_iter().zip(expected)).find_map(|(buffer, (got, expected))| {
        let got = buffer.normal(got);
        let at = got.iter().zip(&expected).position(|(got, expected)| got != expected)?;
        let part = |bytes: &[u8]| bytes[at..(at + 8).min(bytes.len())].to_vec();
        Some(format!("binding {}, byte {at}: {:?} and not {:?}", buffer.binding, part(&got), part(&expected)))
    })
}

/// The kind of a failure, so that shrinking does not go from one to another.
fn kind(failure: &str) -> &str {
    let kinds = ["g++ refuses", "a sanitizer's finding", "no end within", "a crash", "and not ["];
    kinds.into_iter().find(|kind| failure.contains(kind)).unwrap_or("the writer refuses")
}

/// The failing kernel made small, with all that it says.
fn told(host: &Host, kernel: Kernel, first: &str) -> String {
    let (seed, mut compiles) = (kernel.seed(), 0);
    let small = shrink(kernel, |kernel| {
        compiles += 1;
        compiles <= COMPILES_MAX
            && failures(host, &[kernel])[0].as_ref().is_some_and(|failure| kind(failure) == kind(first))
    });
    let last = failures(host, &[&small]).remove(0).unwrap_or_default();
    format!("GRAPHREEL_SEED={seed}: {first}\nthe smallest kernel, over {:?}: {last}\n{}", small.groups(), small.wgsl())
}

fn check(test: &str, part: u64) {
    let Some(host) = present(test, Host::find()) else { return };
    let kernels: Vec<Kernel> = seeds(part).map(|seed| generate(seed, options(seed))).collect();
    let mut units = kernels.chunks(KERNELS_PER_UNIT);
    let failed = units.find_map(|unit| {
        let unit: Vec<&Kernel> = unit.iter().collect();
        let found = failures(&host, &unit);
        let failed = found.iter().filter(|failure| failure.is_some()).count();
        let (at, first) = found.into_iter().enumerate().find_map(|(at, failure)| Some((at, failure?)))?;
        Some(format!("{failed} of {} kernels fail\n{}", unit.len(), told(&host, unit[at].clone(), &first)))
    });
    assert!(failed.is_none(), "{}", failed.unwrap_or_default());
}

#[test]
fn the_first_quarter_does_what_the_interpreter_does() {
    check("the_first_quarter_does_what_the_interpreter_does", 0);
}

#[test]
fn the_second_quarter_does_what_the_interpreter_does() {
    check("the_second_quarter_does_what_the_interpreter_does", 1);
}

#[test]
fn the_third_quarter_does_what_the_interpreter_does() {
    check("the_third_quarter_does_what_the_interpreter_does", 2);
}

#[test]
fn the_fourth_quarter_does_what_the_interpreter_does() {
    check("the_fourth_quarter_does_what_the_interpreter_does", 3);
}
