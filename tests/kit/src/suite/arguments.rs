//! Launch arguments and grids that do not fit: each is a typed error that names the argument, at the call, and costs no
//! earlier result.

use graphreel::device::{ArgList, WritePart};
use graphreel::error::{ArgumentProblem, InvalidArguments};
use graphreel::{Buffer, Grid, Kernel, Result, ServerError};

use crate::env::{failure, says};
use crate::{Env, kernels};

/// An earlier result, and a check that a bad call cost nothing.
struct Bench<'a> {
    env: &'a Env,
    earlier: Buffer,
}

impl<'a> Bench<'a> {
    fn new(env: &'a Env) -> Self {
        Self { env, earlier: env.buffer(&[77; 64]) }
    }

    /// The problem of a refused launch, after checking that its text names the kernel and each of `parts`.
    #[track_caller]
    fn problem(&self, result: Result<()>, parts: &[&str]) -> ArgumentProblem {
        let error = failure(result);
        says(&error, parts);
        match &error {
            ServerError::InvalidArguments(problem) => {
                let InvalidArguments { kernel, problem } = &**problem;
                says(&error, &[kernel]);
                problem.clone()
            }
            other => panic!("arguments that do not fit were expected: {other:?}"),
        }
    }

    fn unharmed(&self) -> Result<()> {
        assert_eq!(self.earlier.read::<u32>()?, [77; 64], "a refused call cost an earlier result");
        self.env.assert_usable(&self.env.device.stream());
        Ok(())
    }
}

fn words(n: u64) -> Grid {
    Grid::stride(n)
}

/// Too few and too many buffers; the text lists what the kernel takes.
pub fn a_wrong_number_of_buffers(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let add = env.kernel(kernels::ADD);
    let x = &bench.earlier;
    let few = bench.problem(env.device.launch(&add, words(64), (x,)), &["add", "x, y, o"]);
    assert!(matches!(few, ArgumentProblem::BufferCount { expected: 3, given: 1, .. }), "{few:?}");
    let none = bench.problem(env.device.launch(&add, words(64), ()), &["x, y, o"]);
    assert!(matches!(none, ArgumentProblem::BufferCount { given: 0, .. }), "{none:?}");
    let many = (0..5).fold(ArgList::new(), |list, _| list.with(x));
    let many = bench.problem(env.device.launch(&add, words(64), many), &["add"]);
    assert!(matches!(many, ArgumentProblem::BufferCount { given: 5, .. }), "{many:?}");
    bench.unharmed()
}

/// Too few and too many scalars, and one of another type; the text names the scalar and both types.
pub fn scalars_that_do_not_fit(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let fill = env.kernel(kernels::FILL);
    let o = &bench.earlier;
    let few = bench.problem(env.device.launch(&fill, words(64), (o,)), &["value"]);
    assert!(matches!(few, ArgumentProblem::ScalarCount { expected: 1, given: 0, .. }), "{few:?}");
    let many = bench.problem(env.device.launch(&fill, words(64), (o, 1u32, 2u32)), &["value"]);
    assert!(matches!(many, ArgumentProblem::ScalarCount { expected: 1, given: 2, .. }), "{many:?}");
    for result in [
        env.device.launch(&fill, words(64), (o, 1.0f32)),
        env.device.launch(&fill, words(64), (o, 1i32)),
        env.device.launch(&fill, words(64), (o, [1u32, 2])),
    ] {
        let typed = bench.problem(result, &["`value`", "u32"]);
        assert!(matches!(typed, ArgumentProblem::ScalarType { .. }), "{typed:?}");
    }
    bench.unharmed()
}

/// A buffer smaller than the kernel's type needs.
pub fn a_buffer_that_is_too_small(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let hist = env.kernel(kernels::HIST);
    let bins = env.buffer(&[0; 15]);
    let problem = bench.problem(env.device.launch(&hist, words(64), (&bench.earlier, &bins)), &["`bins`", "64", "60"]);
    assert!(matches!(problem, ArgumentProblem::BufferTooSmall { need: 64, have: 60, .. }), "{problem:?}");
    assert_eq!(bins.read::<u32>()?, [0; 15]);
    bench.unharmed()
}

/// A bound offset that the device does not allow; the text tells the rule.
pub fn a_bound_offset_that_is_not_aligned(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let alignment = env.device.caps().binding_alignment;
    assert!(alignment >= 4);
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&vec![1; alignment as usize / 4 + 64]);
    let half = buffer.slice(alignment / 2..alignment / 2 + 64)?;
    if alignment > 4 {
        let problem = bench.problem(env.device.launch(&inc, words(16), (&half,)), &["`b`", &alignment.to_string()]);
        assert!(matches!(problem, ArgumentProblem::BufferAlignment { .. }), "{problem:?}");
    }
    env.device.launch(&inc, words(16), (&buffer.slice(alignment..alignment + 64)?,))?;
    let result = buffer.read::<u32>()?;
    let start = alignment as usize / 4;
    assert!((0..result.len()).all(|index| result[index] == 1 + u32::from((start..start + 16).contains(&index))));
    bench.unharmed()
}

/// `WritePart` on a binding that the kernel only reads.
pub fn an_access_that_the_kernel_does_not_have(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let mul2 = env.kernel(kernels::MUL2);
    let output = env.buffer(&[0; 64]);
    let launch = env.device.launch(&mul2, words(64), (WritePart(&bench.earlier), &output));
    let problem = bench.problem(launch, &["`a`", "WritePart"]);
    assert!(matches!(problem, ArgumentProblem::Access { .. }), "{problem:?}");
    bench.unharmed()
}

/// Two bindings of one launch that overlap while one is written, whole or in part; read-only ones may be the same.
pub fn written_ranges_that_overlap(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let (add, mul2) = (env.kernel(kernels::ADD), env.kernel(kernels::MUL2));
    let step = env.device.caps().binding_alignment.max(256);
    let buffer = env.buffer(&vec![3; step as usize / 2]);
    let (front, back) = (buffer.slice(0..step + 4)?, buffer.slice(step..2 * step)?);
    for (first, second) in [(&buffer, &buffer), (&front, &back), (&back, &front), (&buffer, &back)] {
        let problem = bench.problem(env.device.launch(&mul2, words(4), (first, second)), &["`a`", "`o`", "disjoint"]);
        assert!(matches!(problem, ArgumentProblem::Overlap { .. }), "{problem:?}");
    }
    let output = env.unwritten(64);
    env.device.launch(&add, words(64), (&bench.earlier, &bench.earlier, &output))?;
    assert_eq!(output.read::<u32>()?, [154; 64], "one buffer may be read twice");
    bench.unharmed()
}

/// Copies of unequal lengths, and of ranges that overlap.
pub fn copies_that_do_not_fit(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let stream = env.device.stream();
    let buffer = env.buffer(&[1; 64]);
    let short = bench.problem(stream.copy(&bench.earlier, &buffer.slice(0..128)?), &["256", "128"]);
    assert!(matches!(short, ArgumentProblem::Copy(_)));
    let (front, back) = (buffer.slice(0..128)?, buffer.slice(64..192)?);
    let overlap = bench.problem(stream.copy(&front, &back), &["overlap"]);
    assert!(matches!(overlap, ArgumentProblem::Copy(_)));
    assert_eq!(buffer.read::<u32>()?, [1; 64]);
    bench.unharmed()
}

/// Grids with a zero, and beyond what a dimension can have; the text names the kernel, the grid and the bound.
pub fn grids_out_of_bounds(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let inc = env.kernel(kernels::INC);
    let buffer = env.buffer(&[1; 64]);
    let bound = env.device.caps().groups_max.min(65_535);
    let grids = [
        Grid::groups(0),
        Grid::new(1, 0, 1),
        Grid::new(1, 1, 0),
        Grid::groups(65_536),
        Grid::new(1, u32::MAX, 1),
        Grid::cover(0),
        Grid::cover(64 * 65_535 + 1),
        Grid::cover(u64::MAX),
        Grid::cover_2d(1, 65_536),
        Grid::stride(0),
    ];
    for grid in grids {
        let error = failure(env.device.launch(&inc, grid, (&buffer,)));
        assert!(matches!(error, ServerError::InvalidGrid { .. }), "{grid:?}: {error:?}");
        says(&error, &["inc", &bound.to_string()]);
        let captured = failure(env.device.capture(|c| c.launch(&inc, grid, (&buffer,))));
        assert!(matches!(captured, ServerError::InvalidGrid { .. }), "{grid:?}: {captured:?}");
    }
    assert_eq!(buffer.read::<u32>()?, [1; 64]);
    env.device.launch(&inc, Grid::groups(bound), (&buffer,))?;
    env.device.launch(&inc, Grid::stride(u64::MAX), (&buffer,))?;
    assert_eq!(buffer.read::<u32>()?, [3; 64]);
    bench.unharmed()
}

/// The counts of an indirect launch: too short, or written by the launch itself.
pub fn indirect_counts_that_do_not_fit(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let count = env.kernel(kernels::COUNT_GROUPS);
    let (counts, seen) = (env.buffer(&[2, 1, 1, 0]), env.buffer(&[0]));
    let stream = env.device.stream();
    let short = failure(stream.launch_indirect(&count, &counts.slice(0..8)?, Grid::groups(4), (&seen,)));
    assert!(matches!(short, ServerError::InvalidRange { .. }), "{short:?}");
    says(&short, &["launch_indirect", "12 bytes"]);
    let own = bench.problem(stream.launch_indirect(&count, &counts, Grid::groups(4), (&counts,)), &["counts"]);
    assert!(matches!(own, ArgumentProblem::Overlap { .. }), "{own:?}");
    let grid = failure(stream.launch_indirect(&count, &counts, Grid::groups(0), (&seen,)));
    assert!(matches!(grid, ServerError::InvalidGrid { .. }), "{grid:?}");
    assert_eq!((counts.read::<u32>()?, seen.read::<u32>()?), (vec![2, 1, 1, 0], vec![0]));
    bench.unharmed()
}

/// C-30: the same mistakes in a window are errors at the call, doom it, and leave the device usable.
pub fn a_mistake_in_a_window_dooms_it_only(env: &Env) -> Result<()> {
    let bench = Bench::new(env);
    let (inc, fill) = (env.kernel(kernels::INC), env.kernel(kernels::FILL));
    let (owner, _) = env.folded();
    let launch = |kernel: &Kernel, grid: Grid, args: ArgList| owner.launch(kernel, grid, args);
    let mistakes: [&dyn Fn() -> Result<()>; 4] = [
        &|| launch(&inc, words(8), ArgList::new()),
        &|| launch(&fill, words(8), ArgList::new().with(&env.unwritten(8)).with(1.0f32)),
        &|| launch(&inc, Grid::groups(0), ArgList::new().with(&env.unwritten(8))),
        &|| owner.copy(&env.unwritten(8), &env.unwritten(4)),
    ];
    for mistake in mistakes {
        owner.graph_prepare()?;
        owner.begin_capture()?;
        owner.fill(&env.unwritten(8), 1)?;
        let refused = failure(mistake());
        assert_eq!(failure(owner.end_capture()).to_string(), refused.to_string());
        env.assert_usable(&owner);
    }
    bench.unharmed()
}
