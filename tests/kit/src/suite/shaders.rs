//! Every kernel of `shaders/`, run through the handles eagerly, then captured and replayed, against the host's reference.
//!
//! Lengths of one element, odd ones and large ones; grids that cover the work and grids far too small for it; results that
//! lie before words which nothing may touch. A shader has to have an entry of its name here.

use graphreel::device::{ArgList, Args};
use graphreel::shaders::{self, Shader};
use graphreel::{Buffer, Device, Grid, Kernel, Result};

use super::work::{is_software_device, rounds};
use crate::Env;
use crate::reference::{self, Expected};

/// What output words hold before a run, and the words behind them also after it. A NaN to a kernel that reads it as f32.
const POISON: u32 = 0x7fc1_2345;

/// Words behind each output.
const GUARD: u64 = 64;

/// A result's place.
struct Output {
    whole: Buffer,
    part: Buffer,
    /// What it holds before a run, for kernels that read it.
    start: Vec<u32>,
}

impl Output {
    /// Room for `n` words, which hold nothing of use.
    fn blank(device: &Device, n: usize) -> Result<Self> {
        let whole = device.alloc_for::<u32>(n as u64 + GUARD)?;
        let part = whole.elements::<u32>(0..n as u64)?;
        Ok(Self { whole, part, start: Vec::new() })
    }

    /// Words that a kernel changes in place.
    fn holding(device: &Device, start: Vec<u32>) -> Result<Self> {
        let blank = Self::blank(device, start.len())?;
        Ok(Self { start, ..blank })
    }

    fn reset(&self) -> Result<()> {
        self.whole.fill(POISON)?;
        if self.start.is_empty() { Ok(()) } else { self.part.write(&self.start) }
    }

    fn read(&self, what: &str) -> Result<Vec<u32>> {
        let mut words = self.whole.read::<u32>()?;
        let guard = words.split_off(self.part.len_of::<u32>() as usize);
        assert!(guard.iter().all(|word| *word == POISON), "{what}: it wrote behind its output");
        Ok(words)
    }
}

/// A launch: kernel, workgroups in x and y, arguments.
type Step<'a> = (&'a Kernel, [u32; 2], ArgList);

/// Says what is wrong with a result.
type Check = Box<dyn Fn(&[u32]) -> std::result::Result<(), String>>;

/// Held to the reference's bounds.
fn close(expected: Expected) -> Check {
    Box::new(move |words| expected.check(&words.iter().map(|word| f32::from_bits(*word)).collect::<Vec<_>>()))
}

/// Held to the reference's bits.
fn exact(expected: Vec<u32>) -> Check {
    Box::new(move |words| match words.iter().zip(&expected).position(|(got, want)| got != want) {
        Some(index) => Err(format!("word {index} is {:#x} instead of {:#x}", words[index], expected[index])),
        None if words.len() != expected.len() => Err(format!("{} words instead of {}", words.len(), expected.len())),
        None => Ok(()),
    })
}

/// Run `steps` eagerly against the reference, then as a graph twice against the eager bytes (D32).
fn run(device: &Device, what: &str, output: &Output, steps: &[Step<'_>], check: &Check) -> Result<()> {
    output.reset()?;
    for (kernel, [x, y], args) in steps {
        device.launch(kernel, Grid::new(*x, *y, 1), args.clone())?;
    }
    let eager = output.read(what)?;
    if let Err(wrong) = check(&eager) {
        panic!("{what}: {wrong}");
    }
    let record = |c: &mut graphreel::Capture| {
        steps.iter().try_for_each(|(kernel, [x, y], args)| c.launch(kernel, Grid::new(*x, *y, 1), args.clone()))
    };
    let (graph, ()) = device.capture(record)?;
    for replay in ["first", "second"] {
        output.reset()?;
        graph.replay()?;
        assert!(output.read(what)? == eager, "{what}: the {replay} replay gives other bytes than eager work");
    }
    Ok(())
}

/// `short`, or `long` when thorough; `least` on the software device unless thorough, where 256 invocations share a processor.
fn volume(device: &Device, least: u32, short: u32, long: u32) -> u32 {
    rounds(if is_software_device(device) { least } else { short }, long)
}

/// Lengths of vectors: one, beside the size of a workgroup and of a block, above the most workgroups, large.
fn lengths(device: &Device) -> Vec<usize> {
    vec![1, 257, 1023, 65_537, 1 << volume(device, 18, 20, 24)]
}

/// Grids over `n` elements, `each` of them per workgroup: the natural one, and one that has to stride where that is smaller.
///
/// It strides a thousand times at most: Mesa's software device lets an invocation do 65,535 rounds of loops in all, nested
/// ones counted too, and then leaves them without a word.
fn grids(n: usize, each: usize) -> Vec<[u32; 2]> {
    let natural = n.div_ceil(each).min(65_535) as u32;
    let few = n.div_ceil(each * 1000).max(3) as u32;
    if natural > few { vec![[natural, 1], [few, 1]] } else { vec![[natural, 1]] }
}

/// As [`grids`], over the tiles of a matrix.
fn tiles(rows: usize, columns: usize) -> Vec<[u32; 2]> {
    let natural = [columns, rows].map(|side| side.div_ceil(16).min(65_535) as u32);
    if natural.iter().any(|side| *side > 2) { vec![natural, natural.map(|side| side.min(2))] } else { vec![natural] }
}

/// `n` numbers between -3 and 3 that follow from the seed.
fn floats(n: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.f32() * 6.0 - 3.0).collect()
}

/// `n` words below `bound` that follow from the seed.
fn whole(n: usize, bound: u32, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.u32(0..bound)).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn described(shader: Shader, size: &str, grid: [u32; 2]) -> String {
    format!("`{}` over {size} with {} x {} workgroups", shader.name, grid[0], grid[1])
}

/// A kernel of one vector in place or out: for each length, `case` gives the output, the check, and the arguments.
fn vectors(
    env: &Env,
    shader: Shader,
    each: usize,
    case: impl Fn(usize) -> Result<(Output, Check, Vec<Buffer>, ArgList)>,
) -> Result<()> {
    let kernel = env.device.kernel(shader)?;
    for n in lengths(&env.device) {
        let (output, check, inputs, scalars) = case(n)?;
        let buffers = inputs.iter().chain([&output.part]).fold(scalars, |list, buffer| list.with(buffer));
        for grid in grids(n, each) {
            let what = described(shader, &n.to_string(), grid);
            run(&env.device, &what, &output, &[(&kernel, grid, buffers.clone())], &check)?;
        }
    }
    Ok(())
}

fn zipped(env: &Env, shader: Shader, reference: fn(&[f32], &[f32]) -> Expected) -> Result<()> {
    vectors(env, shader, 256, |n| {
        let (a, b) = (floats(n, 1), floats(n, 2));
        let inputs = vec![env.device.upload(&a)?, env.device.upload(&b)?];
        Ok((Output::blank(&env.device, n)?, close(reference(&a, &b)), inputs, ArgList::new()))
    })
}

/// Sums of elements.
pub fn add(env: &Env) -> Result<()> {
    zipped(env, shaders::ADD, reference::add)
}

/// Products of elements.
pub fn mul(env: &Env) -> Result<()> {
    zipped(env, shaders::MUL, reference::mul)
}

/// A function of each element.
pub fn gelu(env: &Env) -> Result<()> {
    vectors(env, shaders::GELU, 256, |n| {
        let x = floats(n, 3);
        let inputs = vec![env.device.upload(&x)?];
        Ok((Output::blank(&env.device, n)?, close(reference::gelu(&x)), inputs, ArgList::new()))
    })
}

/// A scalar and a vector that changes in place.
pub fn saxpy(env: &Env) -> Result<()> {
    vectors(env, shaders::SAXPY, 256, |n| {
        let (x, y) = (floats(n, 4), floats(n, 5));
        let check = close(reference::saxpy(0.37, &x, &y));
        let output = Output::holding(&env.device, bits(&y))?;
        Ok((output, check, vec![env.device.upload(&x)?], ArgList::new().with(0.37f32)))
    })
}

/// A scalar alone.
pub fn fill(env: &Env) -> Result<()> {
    vectors(env, shaders::FILL, 256, |n| {
        let check = exact(bits(&reference::fill(n, -1.5)));
        Ok((Output::blank(&env.device, n)?, check, vec![], ArgList::new().with(-1.5f32)))
    })
}

/// Words that change in place, the greatest of them too.
pub fn increment(env: &Env) -> Result<()> {
    vectors(env, shaders::INCREMENT, 256, |n| {
        let mut values = whole(n, u32::MAX, 6);
        values[n - 1] = u32::MAX;
        let check = exact(reference::increment(&values, 1));
        Ok((Output::holding(&env.device, values)?, check, vec![], ArgList::new()))
    })
}

/// A loop whose length is a scalar.
pub fn spin(env: &Env) -> Result<()> {
    vectors(env, shaders::SPIN, 64, |n| {
        let check = exact(reference::spin(n as u32, 20));
        Ok((Output::blank(&env.device, n)?, check, vec![], ArgList::new().with(20u32)))
    })
}

/// Atomics over more values than bins, some of which have none.
pub fn histogram(env: &Env) -> Result<()> {
    for bins in [1usize, 50, 5000] {
        vectors(env, shaders::HISTOGRAM, 256, |n| {
            let values = whole(n, 60, 7);
            let check = exact(reference::histogram(&values, bins));
            let output = Output::holding(&env.device, vec![0; bins])?;
            Ok((output, check, vec![env.device.upload(&values)?], ArgList::new().with(bins as u32)))
        })?;
    }
    Ok(())
}

/// Two launches, the second over what the first left.
pub fn reduce_sum(env: &Env) -> Result<()> {
    let kernel = env.device.kernel(shaders::REDUCE_SUM)?;
    for n in lengths(&env.device) {
        let x = floats(n, 8);
        let (input, output) = (env.device.upload(&x)?, Output::blank(&env.device, 1)?);
        for groups in grids(n, 256).into_iter().map(|[x, _]| x.min(1024)) {
            let partials = env.device.alloc_for::<f32>(u64::from(groups))?;
            let steps = [
                (&kernel, [groups, 1], (&input, &partials).into_list()),
                (&kernel, [1, 1], (&partials, &output.part).into_list()),
            ];
            let check = close(reference::reduce_sum(&x, groups as usize));
            run(&env.device, &described(shaders::REDUCE_SUM, &n.to_string(), [groups, 1]), &output, &steps, &check)?;
        }
    }
    Ok(())
}

/// Three launches of three entry points over shared buffers.
pub fn prefix_sum(env: &Env) -> Result<()> {
    let entry = |name: &str| env.device.kernel(shaders::PREFIX_SUM.entry(name));
    let (scan_blocks, scan_sums, add_sums) = (entry("scan_blocks")?, entry("scan_sums")?, entry("add_sums")?);
    for n in lengths(&env.device) {
        let values = whole(n, u32::MAX, 9);
        let (input, output) = (env.device.upload(&values)?, Output::blank(&env.device, n)?);
        let sums = env.device.alloc_for::<u32>(reference::prefix_sum_blocks(n) as u64)?;
        let check = exact(reference::prefix_sum(&values));
        for grid in grids(n, 1024) {
            let steps = [
                (&scan_blocks, grid, (&input, &output.part, &sums).into_list()),
                (&scan_sums, [1, 1], (&sums,).into_list()),
                (&add_sums, grid, (&output.part, &sums).into_list()),
            ];
            run(&env.device, &described(shaders::PREFIX_SUM, &n.to_string(), grid), &output, &steps, &check)?;
        }
    }
    Ok(())
}

/// Rows and columns of matrices: one element, odd ones, long rows, many rows, which are more than workgroups when thorough.
fn shapes(device: &Device) -> Vec<(usize, usize)> {
    let many = volume(device, 1_031, 4_099, 70_000) as usize;
    vec![(1, 1), (5, 3), (33, 257), (300, 1_000), (7, 70_001), (many, 3)]
}

/// A kernel of one workgroup per row: for each shape, `case` gives the output, the check, and the arguments but the output.
fn rows(
    env: &Env,
    shader: Shader,
    case: impl Fn(usize, usize) -> Result<(Output, Check, Vec<Buffer>, ArgList)>,
) -> Result<()> {
    let kernel = env.device.kernel(shader)?;
    for (rows, columns) in shapes(&env.device) {
        let (output, check, inputs, scalars) = case(rows, columns)?;
        let args = inputs.iter().chain([&output.part]).fold(scalars, |list, buffer| list.with(buffer));
        for grid in grids(rows, 1) {
            let what = described(shader, &format!("{rows} x {columns}"), grid);
            run(&env.device, &what, &output, &[(&kernel, grid, args.clone())], &check)?;
        }
    }
    Ok(())
}

/// Rows with a few elements far above the others.
fn peaked(rows: usize, columns: usize) -> Vec<f32> {
    let mut values = floats(rows * columns, 10);
    values.iter_mut().step_by(7).for_each(|value| *value *= 20.0);
    values
}

/// Rows, by their greatest element and their sum.
pub fn softmax(env: &Env) -> Result<()> {
    rows(env, shaders::SOFTMAX, |rows, columns| {
        let x = peaked(rows, columns);
        let output = Output::blank(&env.device, x.len())?;
        let check = close(reference::softmax(&x, columns));
        Ok((output, check, vec![env.device.upload(&x)?], ArgList::new().with(columns as u32)))
    })
}

/// Rows in which the greatest element often occurs more than once.
pub fn argmax(env: &Env) -> Result<()> {
    rows(env, shaders::ARGMAX, |rows, columns| {
        let x: Vec<f32> = floats(rows * columns, 11).into_iter().map(f32::round).collect();
        let check = exact(reference::argmax(&x, columns));
        let output = Output::blank(&env.device, rows)?;
        Ok((output, check, vec![env.device.upload(&x)?], ArgList::new().with(columns as u32)))
    })
}

/// Rows, with vectors that all of them share and scalars of two types.
pub fn layer_norm(env: &Env) -> Result<()> {
    rows(env, shaders::LAYER_NORM, |rows, columns| {
        let (x, gamma, beta) = (peaked(rows, columns), floats(columns, 12), floats(columns, 13));
        let check = close(reference::layer_norm(&x, &gamma, &beta, 1e-5));
        let inputs = vec![env.device.upload(&x)?, env.device.upload(&gamma)?, env.device.upload(&beta)?];
        let scalars = ArgList::new().with(columns as u32).with(1e-5f32);
        Ok((Output::blank(&env.device, x.len())?, check, inputs, scalars))
    })
}

/// Tiles of matrices, also of ones that are a row, a column or not a multiple of a tile.
pub fn transpose(env: &Env) -> Result<()> {
    let kernel = env.device.kernel(shaders::TRANSPOSE)?;
    let large = 1 << volume(&env.device, 8, 10, 12);
    for (rows, columns) in shapes(&env.device).into_iter().chain([(1, 4_099), (4_099, 1), (16, 16), (large, large + 1)])
    {
        let x = floats(rows * columns, 14);
        let (input, output) = (env.device.upload(&x)?, Output::blank(&env.device, x.len())?);
        let check = exact(bits(&reference::transpose(&x, rows, columns)));
        let args = (&input, &output.part, rows as u32, columns as u32).into_list();
        for grid in tiles(rows, columns) {
            let what = described(shaders::TRANSPOSE, &format!("{rows} x {columns}"), grid);
            run(&env.device, &what, &output, &[(&kernel, grid, args.clone())], &check)?;
        }
    }
    Ok(())
}

/// m, n and k of products.
fn products(device: &Device) -> Vec<[usize; 3]> {
    let large = volume(device, 64, 128, 512) as usize;
    vec![[1, 1, 1], [17, 5, 33], [1, 257, 1_023], [257, 1, 65], [100, 130, 7], [16, 16, 16], [large; 3]]
}

/// Products of matrices.
pub fn matmul(env: &Env) -> Result<()> {
    let kernel = env.device.kernel(shaders::MATMUL)?;
    for [m, n, k] in products(&env.device) {
        let (a, b) = (floats(m * k, 15), floats(k * n, 16));
        let (left, right) = (env.device.upload(&a)?, env.device.upload(&b)?);
        let output = Output::blank(&env.device, m * n)?;
        let check = close(reference::matmul(&a, &b, m, n, k));
        let args = (&left, &right, &output.part, m as u32, n as u32, k as u32).into_list();
        for grid in tiles(m, n) {
            let what = described(shaders::MATMUL, &format!("{m} x {n} x {k}"), grid);
            run(&env.device, &what, &output, &[(&kernel, grid, args.clone())], &check)?;
        }
    }
    Ok(())
}

/// A layer with and without its rectifier.
pub fn dense(env: &Env) -> Result<()> {
    let kernel = env.device.kernel(shaders::DENSE)?;
    for ([batch, outputs, inputs], relu) in
        products(&env.device).into_iter().flat_map(|shape| [(shape, false), (shape, true)])
    {
        let (x, w, b) = (floats(batch * inputs, 17), floats(inputs * outputs, 18), floats(outputs, 19));
        let (input, weights, bias) = (env.device.upload(&x)?, env.device.upload(&w)?, env.device.upload(&b)?);
        let output = Output::blank(&env.device, batch * outputs)?;
        let check = close(reference::dense(&x, &w, &b, batch, relu));
        let scalars = ArgList::new().with(batch as u32).with(inputs as u32).with(outputs as u32).with(u32::from(relu));
        let args = scalars.with(&input).with(&weights).with(&bias).with(&output.part);
        for grid in tiles(batch, outputs) {
            let what = described(shaders::DENSE, &format!("{batch} x {outputs} x {inputs}"), grid);
            run(&env.device, &what, &output, &[(&kernel, grid, args.clone())], &check)?;
        }
    }
    Ok(())
}
