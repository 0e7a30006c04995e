//! P11: kernels in WGSL, with checked indices, against the same kernels written by hand in CUDA C++, by the device's own clock.
//! Data are small whole numbers, so that every order of a sum gives the same result.

use graphreel::{Buffer, Capture, Grid, shaders};

use super::raw::{Argument, Event, Launch, Memory, Module, Said};
use super::{NONE, Sides, Volume, text, times};
use crate::{Finding, median};

/// Launches of a kernel in one turn of a side.
const LAUNCHES: usize = 10;

/// Workgroups of the reduction, and invocations of each.
const PARTIALS: u32 = 1024;
const LANES: u32 = 256;

/// The most workgroups in a dimension.
const GROUPS_MAX: u32 = 65_535;

/// The width of a tile.
const TILE: u32 = 16;

/// Elements of a matrix that are held against the host's own sums.
const LOOKED_AT: usize = 64;

const BOUND: super::More = (1.10, "<= 1.10");

/// Every kernel.
///
/// # Errors
///
/// What a call that had to work answered, or a wrong result.
pub fn against_by_hand(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let mut found = saxpy(sides, volume)?;
    found.extend(reduce_sum(sides, volume)?);
    found.extend(matmul(sides, volume)?);
    Ok(found)
}

/// Small whole numbers, 0 to `below` - 1.
fn numbers(count: u32, below: u32) -> Vec<f32> {
    (0..count).map(|index| (index % below) as f32).collect()
}

fn upload(sides: &Sides, values: &[f32]) -> Said<(Buffer, Memory)> {
    Ok((sides.device.upload(values).map_err(text)?, sides.raw.upload(values)?))
}

fn saxpy(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let n = volume.elements;
    let kernel = sides.kernel(shaders::SAXPY)?;
    let x = numbers(n, 7);
    let (ours_x, hand_x) = upload(sides, &x)?;
    let (ours_y, hand_y) = upload(sides, &vec![0f32; n as usize])?;
    let groups = n.div_ceil(LANES).min(GROUPS_MAX);
    let arguments = [Argument::Memory(&hand_x), Argument::Memory(&hand_y), Argument::F32(1.0), Argument::U32(n)];
    let by_hand = |module: &Module| module.launch("saxpy", [groups, 1, 1], [LANES, 1, 1], &arguments);
    let by_hand = [by_hand(&sides.module)?, by_hand(&sides.unfused)?];
    let mut record = |c: &mut Capture| c.launch(&kernel, Grid::groups(groups), (&ours_x, &ours_y, 1f32));
    // Each run adds x once more; the two launches by hand share their vectors.
    let check = |[ours, hand]: [usize; 2]| {
        let right = |values: &[f32], runs: usize| values.iter().zip(&x).all(|(y, x)| *y == *x * runs as f32);
        if !right(&ours_y.read::<f32>().map_err(text)?, ours) {
            return Err(format!("saxpy of ours is wrong after {ours} runs"));
        }
        if !right(&hand_y.read()?, hand) {
            return Err(format!("saxpy by hand is wrong after {hand} runs"));
        }
        Ok(())
    };
    let figures = measure(sides, volume, &mut record, &by_hand, check)?;
    Ok(findings(&format!("saxpy, {n} elements"), figures))
}

fn reduce_sum(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let n = volume.elements;
    let kernel = sides.kernel(shaders::REDUCE_SUM)?;
    let input = numbers(n, 7);
    let (ours_in, hand_in) = upload(sides, &input)?;
    let (ours_out, hand_out) = upload(sides, &vec![0f32; PARTIALS as usize])?;
    let arguments = [Argument::Memory(&hand_in), Argument::Memory(&hand_out), Argument::U32(n)];
    let by_hand = |module: &Module| module.launch("reduce_sum", [PARTIALS, 1, 1], [LANES, 1, 1], &arguments);
    let by_hand = [by_hand(&sides.module)?, by_hand(&sides.unfused)?];
    let mut wanted = vec![0u64; PARTIALS as usize];
    for (block, values) in input.chunks(LANES as usize).enumerate() {
        wanted[block % PARTIALS as usize] += values.iter().map(|value| *value as u64).sum::<u64>();
    }
    let wanted: Vec<f32> = wanted.into_iter().map(|sum| sum as f32).collect();
    let mut record = |c: &mut Capture| c.launch(&kernel, Grid::groups(PARTIALS), (&ours_in, &ours_out));
    let check = |_| {
        let (ours, hand) = (ours_out.read::<f32>().map_err(text)?, hand_out.read()?);
        if ours == wanted && hand == wanted { Ok(()) } else { Err("partial sums are wrong".to_owned()) }
    };
    let figures = measure(sides, volume, &mut record, &by_hand, check)?;
    Ok(findings(&format!("sum of {n} elements, {PARTIALS} workgroups"), figures))
}

fn matmul(sides: &Sides, volume: Volume) -> Said<Vec<Finding>> {
    let n = volume.rows;
    let kernel = sides.kernel(shaders::MATMUL)?;
    let (a, b) = (numbers(n * n, 3), numbers(n * n, 5));
    let ((ours_a, hand_a), (ours_b, hand_b)) = (upload(sides, &a)?, upload(sides, &b)?);
    let (ours_c, hand_c) = upload(sides, &vec![0f32; (n * n) as usize])?;
    let memories = [&hand_a, &hand_b, &hand_c].map(Argument::Memory);
    let arguments: Vec<Argument<'_>> = memories.into_iter().chain([Argument::U32(n); 3]).collect();
    let tiles = n.div_ceil(TILE);
    let by_hand = |module: &Module| module.launch("matmul", [tiles, tiles, 1], [TILE, TILE, 1], &arguments);
    let by_hand = [by_hand(&sides.module)?, by_hand(&sides.unfused)?];
    let mut record =
        |c: &mut Capture| c.launch(&kernel, Grid::new(tiles, tiles, 1), (&ours_a, &ours_b, &ours_c, n, n, n));
    let check = |_| {
        let (ours, hand) = (ours_c.read::<f32>().map_err(text)?, hand_c.read()?);
        if ours != hand {
            return Err("the products of matrices differ".to_owned());
        }
        let width = n as usize;
        for index in (0..width * width).step_by((width * width / LOOKED_AT).max(1) + 1) {
            let (row, column) = (index / width, index % width);
            let wanted: f32 = (0..width).map(|k| a[row * width + k] * b[k * width + column]).sum();
            if ours[index] != wanted {
                return Err(format!("element {row}, {column} of a product is {}, not {wanted}", ours[index]));
            }
        }
        Ok(())
    };
    let figures = measure(sides, volume, &mut record, &by_hand, check)?;
    Ok(findings(&format!("product of matrices {n} x {n}, tiles of {TILE} x {TILE}"), figures))
}

/// Microseconds of one launch: ours, by hand, and by hand without fused multiply-adds.
type Figures = [f64; 3];

/// Let the sides take turns. `check` gets how often each ran, ours and by hand.
fn measure(
    sides: &Sides,
    volume: Volume,
    record: &mut dyn FnMut(&mut Capture) -> graphreel::Result<()>,
    by_hand: &[Launch; 2],
    check: impl Fn([usize; 2]) -> Said<()>,
) -> Said<Figures> {
    let mut times: [Vec<f64>; 3] = Default::default();
    let mut runs = [0; 2];
    // The first round only warms up.
    for round in 0..=volume.rounds.div_ceil(3) {
        for turn in 0..3 {
            let side = (turn + round as usize) % 3;
            let taken = if side == 0 { ours(sides, record)? } else { hand(sides, &by_hand[side - 1])? };
            runs[side.min(1)] += LAUNCHES;
            if round > 0 {
                times[side].extend(taken);
            }
        }
        if round == 0 {
            check(runs)?;
        }
    }
    check(runs)?;
    Ok(times.map(median))
}

/// Times of some launches of ours, an event before and after each.
fn ours(sides: &Sides, record: &mut dyn FnMut(&mut Capture) -> graphreel::Result<()>) -> Said<Vec<f64>> {
    let all = |c: &mut Capture| (0..LAUNCHES).try_for_each(|_| record(c));
    let (profile, ()) = sides.device.profile(all).map_err(text)?;
    let times = profile.operations.iter().map(|time| time.nanoseconds.map(|nanoseconds| nanoseconds as f64 / 1e3));
    times.collect::<Option<Vec<f64>>>().ok_or_else(|| "the device cannot time its work".to_owned())
}

/// The same by hand.
fn hand(sides: &Sides, launch: &Launch) -> Said<Vec<f64>> {
    let events = (0..LAUNCHES).map(|_| Ok((Event::new()?, Event::new()?))).collect::<Said<Vec<_>>>()?;
    for (before, after) in &events {
        before.record(&sides.stream)?;
        launch.issue(&sides.stream)?;
        after.record(&sides.stream)?;
    }
    sides.stream.wait()?;
    events.iter().map(|(before, after)| before.micros_to(after)).collect()
}

fn findings(what: &str, [ours, by_hand, unfused]: Figures) -> Vec<Finding> {
    vec![
        times("P11 kernel", what.to_owned(), [ours, by_hand], BOUND),
        times("P11 kernel", format!("{what}: by hand without fused multiply-adds"), [ours, unfused], NONE),
    ]
}
