//! From sources to text, programs and results, many kernels at once.

use graphreel::kernel::{KernelSource, Variant};
use graphreel_compilers::host::{Host, Job, Kernel, Program, Unit};
use graphreel_cpp::{Dialect, FloatMode, HOST_RUNTIME, Loops, Options, Removed, Translation, join, translate};

/// Kernels of one text: more compile no faster, and a failure names fewer.
pub(crate) const KERNELS_PER_UNIT: usize = 50;

/// How long one job may take: a second's work at most, on a machine that does others beside it.
const SECONDS: u32 = 60;

/// A kernel to write.
#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) source: KernelSource,
}

/// Which of the texts of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) dialect: Dialect,
    pub(crate) variant: Variant,
    pub(crate) floats: FloatMode,
    pub(crate) loops: Loops,
}

impl Form {
    /// What tests run: host C++ in strict mode.
    pub(crate) fn host(variant: Variant) -> Self {
        Self { dialect: Dialect::Host, variant, floats: FloatMode::Strict, loops: Loops::Trusted }
    }
}

/// Whether full volumes are asked for.
pub(crate) fn thorough() -> bool {
    std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1")
}

/// The options of a form, for `subject` under a symbol that no other `number` has.
pub(crate) fn options(number: usize, subject: &Subject, form: Form) -> Options {
    let mut options = Options::new(form.dialect);
    options.variant = form.variant;
    options.floats = form.floats;
    options.loops = form.loops;
    if form.dialect == Dialect::Host {
        // A check that is wrongly proven to be needless ends the program.
        options.removed = Removed::Asserted;
    }
    options.file = Some(format!("{}.wgsl", subject.name));
    options.symbol = Some(format!("wgk_{number}"));
    options
}

/// Write `subject` under a symbol that no other `number` has.
pub(crate) fn written(number: usize, subject: &Subject, form: Form) -> Result<Translation, String> {
    translate(&subject.source, &options(number, subject, form)).map_err(|error| format!("{}: {error}", subject.name))
}

/// Write all subjects, and give those of a unit together.
pub(crate) fn units(subjects: &[Subject], form: Form) -> Vec<(Vec<&Subject>, Vec<Translation>)> {
    let numbered: Vec<(usize, &Subject)> = subjects.iter().enumerate().collect();
    let unit = |part: &[(usize, &'_ Subject)]| {
        part.iter()
            .map(|(number, subject)| written(*number, subject, form).unwrap_or_else(|why| panic!("{why}")))
            .collect()
    };
    numbered
        .chunks(KERNELS_PER_UNIT)
        .map(|part| (part.iter().map(|(_, subject)| *subject).collect(), unit(part)))
        .collect()
}

/// Programs of all subjects: subject `i` is kernel `i % KERNELS_PER_UNIT` of program `i / KERNELS_PER_UNIT`.
pub(crate) fn programs(host: &Host, subjects: &[Subject], form: Form) -> Vec<Program> {
    let units: Vec<Unit<'_>> = units(subjects, form).iter().map(|(subjects, texts)| unit(subjects, texts)).collect();
    let compiled = host.compile_all(&units);
    let failed: Vec<String> = compiled.iter().filter_map(|result| Some(result.as_ref().err()?.to_string())).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    compiled.into_iter().map(Result::unwrap).collect()
}

/// One translation unit.
pub(crate) fn unit(subjects: &[&Subject], texts: &[Translation]) -> Unit<'static> {
    let kernel = |(subject, text): (&&Subject, &Translation)| Kernel {
        name: subject.name.clone(),
        symbol: text.symbol.clone(),
        reflection: text.reflection.clone(),
        params: text.params.clone(),
    };
    let kernels = subjects.iter().zip(texts).map(kernel).collect();
    Unit { source: join(texts), kernels, runtime: HOST_RUNTIME }
}

/// Run jobs, whose `kernel` is the number of a subject, and give for each the buffers or the failure as text.
pub(crate) fn run(programs: &mut [Program], jobs: &[Job]) -> Vec<Result<Vec<Vec<u8>>, String>> {
    let mut results: Vec<Option<Result<Vec<Vec<u8>>, String>>> = vec![None; jobs.len()];
    for (number, program) in programs.iter_mut().enumerate() {
        let own = |index: &usize| jobs[*index].kernel / KERNELS_PER_UNIT == number;
        let indices: Vec<usize> = (0..jobs.len()).filter(own).collect();
        let own: Vec<Job> = indices
            .iter()
            .map(|index| Job { kernel: jobs[*index].kernel % KERNELS_PER_UNIT, ..jobs[*index].clone() })
            .collect();
        for (index, result) in indices.iter().zip(program.run(&own, SECONDS).unwrap()) {
            results[*index] = Some(result.map_err(|failure| failure.to_string()));
        }
    }
    results.into_iter().map(|result| result.expect("each job names a subject")).collect()
}
